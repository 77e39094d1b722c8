/* SPDX-License-Identifier: GPL-2.0-only */
/* A vCPU as the plugin sees it: registers, what it has executed, its modelled processor. */
#ifndef SIMCPU_VCPU_H
#define SIMCPU_VCPU_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"

#define REG_RAX 0
#define REG_RCX 1
#define REG_RDX 2
#define REG_RBX 3
#define REG_RSP 4
#define GENERAL_REGS 16

#define VCPU_MAX 256

struct sim_cpu;

/**
 * struct score - words that translated code reads and adds to by itself
 * @insns: instructions executed
 * @user_insns: those of them outside the kernel's half of the address space
 * @pending: nonzero: the next kernel block must call intercept.c first
 * @alarm: at PMI_ALARM or above: the next block must call pmi.c; grows by one with each instruction
 *
 * QEMU lays the vCPUs' entries side by side: a pair of cache lines each keeps them apart.
 */
struct score {
	uint64_t insns, user_insns, pending, alarm;
	uint8_t pad[128 - 4 * sizeof(uint64_t)];
};

extern struct qemu_plugin_scoreboard *vcpu_scores;
/* the guest's -smp */
extern unsigned int vcpu_count;

/**
 * struct fixup - registers to be written once the native instruction has run
 * @pc: the instruction after it
 * @rsp: stack pointer, which tells apart tasks at the same place
 * @value: what rdmsr or rdtsc gave
 * @cpuid: correct the answer of cpuid to @leaf and @subleaf instead
 */
struct fixup {
	uint64_t pc, rsp, value;
	uint32_t leaf, subleaf;
	bool armed, cpuid;
};

/**
 * struct rdpmc - an rdpmc on its way to the #UD that QEMU raises for it
 * @pc: where it stands
 * @length: its length
 * @value: the answer
 * @handler: entry of the #UD handler, once QEMU has reported it
 * @fault: the index is bad: it must become a #GP
 */
struct rdpmc {
	uint64_t pc, value, handler;
	unsigned int length;
	bool fault;
};

/*
 * An NMI can come at the very entry of the #UD handler, and its own handlers execute rdpmc too;
 * a machine check might come once more.
 */
#define RDPMC_DEPTH 4

/* pages whose frames the plugin remembers, by vCPU */
#define PAGE_ENTRIES 1024
#define PAGE_SHIFT 12
/* page numbers have 52 bits: the generation stands above them */
#define PAGE_GENERATION (1ULL << 52)

/**
 * struct page - where a page lies, asked of QEMU once
 * @tag: page number, and the generation in which this was true
 * @frame: physical address
 */
struct page {
	uint64_t tag, frame;
};

/**
 * struct vcpu - one vCPU
 * @sim: its modelled processor
 * @score: its entry of the scoreboard
 * @module_store: instruction count at the last store of module text, 0 after an interrupt
 * @wide: instruction count at the last access of more than 16 bytes
 * @fixup: of the instruction that runs now
 * @gp_pc: where a #GP is being raised, or 0
 * @gp_rcx: rcx there
 * @exception_from: place of an exception whose delivery QEMU has still to report, or 0
 * @table_levels: of page tables, 4 or 5; 0: not known yet
 * @generation: of the pages, a new one whenever the guest invalidates its TLB
 * @page: pages by the low bits of their number
 */
struct vcpu {
	struct sim_cpu *sim;
	struct score *score;
	unsigned int index;
	struct qemu_plugin_register *general[GENERAL_REGS], *eflags, *fs_base, *gs_base,
		*cr4;
	GByteArray *buf;
	uint64_t module_store;
	uint64_t wide;
	struct fixup fixup;
	struct rdpmc rdpmc[RDPMC_DEPTH];	/* the last one began last */
	unsigned int rdpmcs;
	uint64_t gp_pc, gp_rcx;
	uint64_t exception_from;
	unsigned int table_levels;
	uint64_t generation;
	struct page page[PAGE_ENTRIES];
};

/* To be called on the vCPU's own thread; NULL with a message where QEMU lacks a register. */
struct vcpu *vcpu_new(unsigned int index, struct sim_cpu *sim);
extern struct vcpu *vcpus[VCPU_MAX];

static inline struct vcpu *vcpu_get(unsigned int index)
{
	return vcpus[index];
}

uint64_t vcpu_read(struct vcpu *v, struct qemu_plugin_register *reg);
void vcpu_write(struct vcpu *v, struct qemu_plugin_register *reg, uint64_t value);
/* eflags is the one register of 32 bits */
void vcpu_write_eflags(struct vcpu *v, uint32_t value);

static inline uint64_t vcpu_reg(struct vcpu *v, unsigned int number)
{
	return vcpu_read(v, v->general[number]);
}

static inline void vcpu_set_reg(struct vcpu *v, unsigned int number, uint64_t value)
{
	vcpu_write(v, v->general[number], value);
}

/* the module area of an image that is mapped at its usual place (Documentation/x86/x86_64/mm) */
static inline bool in_module(uint64_t vaddr)
{
	return vaddr >= 0xffffffffc0000000 && vaddr < 0xffffffffff000000;
}

static inline bool in_kernel(uint64_t vaddr)
{
	return vaddr >= 0xffff800000000000;
}

#endif
