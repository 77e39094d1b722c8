/* SPDX-License-Identifier: GPL-2.0-only */
/* Interrupts: when a counter may have overflowed, and how the guest learns it. */
#ifndef SIMCPU_PMI_H
#define SIMCPU_PMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

struct sim_machine;
struct vcpu;

/* See whether this machine has such interrupts; without them the others do nothing. */
void pmi_init(const struct sim_machine *machine);

/* Register what a block needs: @n instructions, from module text or not. */
void pmi_block(struct qemu_plugin_tb *tb, size_t n, bool module);

/* A register was written: counters may run that did not, or have been stopped. */
void pmi_written(struct vcpu *v);

/* A clock or register was read or written: a script may want a non-maskable interrupt now. */
void pmi_scripted(struct vcpu *v);

#endif
