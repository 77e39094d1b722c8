/* SPDX-License-Identifier: GPL-2.0-only */
/* Blocks of module code: what the time of their instructions depends on, told when they run. */
#ifndef SIMCPU_BLOCK_H
#define SIMCPU_BLOCK_H

#include <stddef.h>

#include "abi.h"
#include "micro.h"

/* Have a block of translated code tell its instructions to the model whenever it begins. */
void block_register(struct qemu_plugin_tb *tb, const struct sim_micro *micro, size_t count);

#endif
