/* SPDX-License-Identifier: GPL-2.0-only */
/* Values of a model file: text to number, size, word, fraction or list. */
#ifndef SIMCPU_VALUE_H
#define SIMCPU_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model.h"

/* All return whether the whole text was understood; 0x introduces hexadecimal. */
bool sim_value_number(const char *text, uint64_t *value);

/* A number with an optional K, M or G, powers of 1024. */
bool sim_value_size(const char *text, uint64_t *value);

/* "3/2" or "1", reduced to lowest terms; zero is no term. */
bool sim_value_ratio(const char *text, struct sim_ratio *value);

/* Position of a word in a list that ends with NULL. */
bool sim_value_word(const char *text, const char *const *words, unsigned int *value);

/* Register numbers and ranges: "0xc1-0xc4, 0x38d". False also where there are too many. */
bool sim_value_msrs(const char *text, struct sim_msr_list *list);

/* "msr 0x1a4 bit 2", or "none". */
bool sim_value_switch(const char *text, struct sim_switch *value);

/* Cut blanks off both ends, in place. */
char *sim_value_strip(char *text);

#endif
