/* SPDX-License-Identifier: GPL-2.0-only */
/* Answering rdmsr, wrmsr, rdpmc, rdtsc, rdtscp and cpuid of kernel code from the model. */
#ifndef SIMCPU_INTERCEPT_H
#define SIMCPU_INTERCEPT_H

#include <stdbool.h>

#include "abi.h"
#include "decode.h"

/* Whether the model answers this instruction where it stands. */
bool intercept_wants(enum sim_op op, uint64_t vaddr);

/**
 * intercept_insn - register what the instruction needs
 * @insn: the instruction
 * @op: what it is
 * @next: the instruction behind it in the same block, or NULL if it is the last
 */
void intercept_insn(struct qemu_plugin_insn *insn, enum sim_op op, struct qemu_plugin_insn *next);

/* Register what a block of kernel code needs; before anything else of the block. */
void intercept_block(struct qemu_plugin_tb *tb);

/* Every interrupt and exception. */
void intercept_discon(unsigned int cpu, int type, uint64_t from, uint64_t to, void *data);

#endif
