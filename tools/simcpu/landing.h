/* SPDX-License-Identifier: GPL-2.0-only */
/* Which blocks of the kernel must call back at their start. */
#ifndef SIMCPU_LANDING_H
#define SIMCPU_LANDING_H

#include <stdbool.h>
#include <stdint.h>

/* @everywhere: each block must. False where there is no memory. */
bool landing_init(bool everywhere);

/* A block that begins at @pc must; it is not translated yet, or that is told on stderr. */
void landing_add(uint64_t pc);

/* Whether the block that is translated at @pc must. */
bool landing_at(uint64_t pc);

#endif
