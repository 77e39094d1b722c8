/* SPDX-License-Identifier: GPL-2.0-only */
/* State of the modelled machine, shared by the files that make it up; the plugin uses sim.h. */
#ifndef SIMCPU_MACHINE_H
#define SIMCPU_MACHINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "memsys.h"
#include "model.h"
#include "noise.h"
#include "prefetch.h"
#include "raw.h"
#include "sim.h"
#include "timing.h"
#include "tlb.h"

#define SIM_COUNTERS	(SIM_GP_MAX + SIM_FIXED_MAX)

/**
 * struct sim_counter - a performance counter
 * @running: it is enabled
 * @raws: what it counts, 0 while it does not run
 * @base: its value when it was last touched
 * @snapshot: sum of @raws at that time
 * @overflow: it wrapped since its status bit was last taken
 * @interrupt: it wrapped, and its owner wants an interrupt for that, which is still to be raised
 * @first: value at the first rdpmc of the window
 * @last: value at the last one
 * @reads: number of rdpmc in the window
 */
struct sim_counter {
	bool running;
	uint64_t raws;
	uint64_t base;
	uint64_t snapshot;
	bool overflow;
	bool interrupt;
	uint64_t first;
	uint64_t last;
	unsigned int reads;
};

/**
 * struct sim_pmu - a vCPU's counters and their control registers
 * @counter: general ones from 0, fixed ones from SIM_GP_MAX
 * @select: event selects
 * @fixed_ctrl: Intel's FIXED_CTR_CTRL
 * @global_ctrl: enable bits
 * @global_status: overflow bits and what was set by hand
 * @offcore: Intel's two OFFCORE_RSP registers, which count nothing here
 * @uncore: AMD's L3 and data fabric event selects, which count nothing here
 */
struct sim_pmu {
	struct sim_counter counter[SIM_COUNTERS];
	uint64_t select[SIM_GP_MAX];
	uint64_t fixed_ctrl;
	uint64_t global_ctrl;
	uint64_t global_status;
	uint64_t offcore[2];
	uint64_t uncore[16];
};

/**
 * struct sim_window - from the enabling of a first counter to the disabling of the last one
 * @open: whether one is open
 * @number: of the open or the next one
 * @start: raw totals at its begin
 * @at_read: raw totals at the last clock or counter read in it
 * @best: raw totals between the two neighbouring reads with most instructions between them
 * @tsc_start: time stamp counter at its begin
 * @interrupts: taken from module text in it
 * @exceptions: likewise
 * @script: what is to happen in it, NULL when done
 * @sum: raw totals of all closed windows
 */
struct sim_window {
	bool open;
	unsigned int number;
	uint64_t start[RAW_COUNT];
	uint64_t at_read[RAW_COUNT];
	uint64_t best[RAW_COUNT];
	uint64_t tsc_start;
	uint64_t interrupts;
	uint64_t exceptions;
	const struct sim_script *script;
	uint64_t sum[RAW_COUNT];
};

/**
 * struct sim_cpu - a vCPU
 * @mem: its way through the caches; first, as each access uses it
 * @extra: cycles that the access under way takes beyond those of the level that serves it
 * @mmu: its TLBs
 * @prefetch: its hardware prefetchers
 * @insns: instructions executed
 * @user_insns: instructions executed in ring 3
 * @raw: the totals; those of time are brought up to date by sim_time_refresh()
 * @machine: where it stands
 * @model: what its core is
 * @index: its number
 * @pmu: its counters
 * @window: for the truth log
 * @aperf: added to APERF by a script or a write
 * @mperf: added to MPERF likewise
 * @of_module: the register access under way is a module's
 * @fast: core cycles beyond those that belong to the TSC's steps, by a script
 * @nmi: a script wants a non-maskable interrupt that is still to be raised
 * @exit_msrs: registers in the log's exit line so far
 * @noise: what disturbs it
 * @time: its clock and what is in flight
 */
struct sim_cpu {
	struct sim_mem mem;
	uint64_t extra;
	struct sim_mmu mmu;
	struct sim_prefetch prefetch;
	uint64_t insns;
	uint64_t user_insns;
	uint64_t raw[RAW_COUNT];
	struct sim_machine *machine;
	const struct sim_model *model;
	unsigned int index;
	struct sim_pmu pmu;
	struct sim_window window;
	uint64_t aperf;
	uint64_t mperf;
	bool of_module;
	uint64_t fast;
	bool nmi;
	unsigned int exit_msrs;
	struct sim_noise noise;
	struct sim_time time;
};

/**
 * struct sim_machine - all vCPUs and what they share
 * @model: the description
 * @cpus: number of vCPUs
 * @cpu: the vCPUs
 * @mem: the caches
 * @plain: values of the registers of section [msr], one for each vCPU; the vCPUs of one instance
 *	   of the register's scope use the first one's
 * @memory: how to read the guest's memory
 * @truth: the log, or NULL
 * @detail: each read of a clock or counter is logged, and each write
 * @truth_lock: one line at a time
 */
struct sim_machine {
	const struct sim_model *model;
	unsigned int cpus;
	struct sim_cpu *cpu;
	struct sim_memsys *mem;
	atomic_uint_least64_t *plain[SIM_LIST_MAX];
	struct sim_memory memory;
	FILE *truth;
	bool detail;
	atomic_flag truth_lock;
};

/*
 * Find out what time it is for the instruction that has begun last: when it reads a clock if it
 * does so by itself, else all that has begun completes first.
 */
void sim_time_settle(struct sim_cpu *cpu);

/* The same up to an edge of the TSC, so that what follows does not depend on the phase. */
void sim_time_edge(struct sim_cpu *cpu);

/* Settle, and bring the totals of time and instructions up to date. */
void sim_time_refresh(struct sim_cpu *cpu);

/* Whether a register is in a list. */
bool sim_msr_listed(const struct sim_msr_list *list, uint32_t msr);

/* Value of a register of section [msr] on a vCPU; 0 if it is not one. */
uint64_t sim_machine_plain(const struct sim_machine *machine, unsigned int cpu, uint32_t msr);

/* The totals as they are now, without settling: looking on shall not change the time. */
void sim_time_peek(const struct sim_cpu *cpu, uint64_t *raw);

/* The first vCPU of the instance of a scope that a vCPU belongs to. */
unsigned int sim_machine_instance(const struct sim_machine *machine, unsigned int cpu,
				  unsigned int scope);

#endif
