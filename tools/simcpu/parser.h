/* SPDX-License-Identifier: GPL-2.0-only */
/* What the two halves of reading a model share: lines to values, values to a machine. */
#ifndef SIMCPU_PARSER_H
#define SIMCPU_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model.h"

struct section;

/**
 * struct parser - a model file while it is read
 * @model: what it becomes
 * @path: of the file
 * @line: number of the line that is read, of the last one after the end
 * @err: where an error goes
 * @len: room at @err
 * @section: the open one
 * @base: its struct in @model
 * @head: number of the line with its head
 * @given: its keys so far, a bit each
 * @opened: sections so far, a bit each
 * @inner: a file that the one of a hybrid names
 */
struct parser {
	struct sim_model *model;
	const char *path;
	unsigned int line;
	char *err;
	size_t len;
	const struct section *section;
	void *base;
	unsigned int head;
	uint32_t given;
	uint32_t opened;
	bool inner;
};

/* Say what is wrong with a line. Return false. */
bool sim_parser_fail(struct parser *p, unsigned int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Whether the values make a machine that can be; sets what follows from others. */
bool sim_model_check(struct parser *p);

/* Whether the two kinds of cores can be in one machine. */
bool sim_model_check_hybrid(struct parser *p);

/* Divide the sets of every cache. */
bool sim_model_scale(struct parser *p, uint64_t divisor);

/* The name of a counter style. */
const char *sim_style_name(unsigned int style);

#endif
