/* SPDX-License-Identifier: GPL-2.0-only */
/* A processor's description as the parser leaves it. Read-only for everybody else. */
#ifndef SIMCPU_MODEL_H
#define SIMCPU_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "raw.h"
#include "sim.h"

#define SIM_TEXT_MAX	192
#define SIM_LIST_MAX	32
#define SIM_EVENTS_MAX	64
#define SIM_GP_MAX	8
#define SIM_FIXED_MAX	4
#define SIM_PREFETCHERS_MAX	16
#define SIM_NAME_MAX	24
#define SIM_ROB_MAX	1023
#define SIM_BANDWIDTH_MAX 4095	/* bytes a cycle; all bits one */
#define SIM_STORE_BUFFER_MAX	255
#define SIM_TLBS_MAX	8
#define SIM_ALLOCATIONS_MAX	16

enum sim_vendor { SIM_INTEL, SIM_AMD };
enum sim_core_type { SIM_CORE_PLAIN, SIM_CORE_PERFORMANCE, SIM_CORE_EFFICIENT };
enum sim_index { SIM_INDEX_PHYSICAL, SIM_INDEX_VIRTUAL };
enum sim_replace {
	SIM_LRU,
	SIM_PLRU,
	SIM_FIFO,
	SIM_MRU,
	SIM_RANDOM,
	SIM_QLRU_FIRST,
	SIM_QLRU_H11_M1_R0_U0 = SIM_QLRU_FIRST,
	SIM_QLRU_H00_M1_R0_U1,
	SIM_QLRU_H00_M1_R2_U1,
	SIM_QLRU_H11_M1_R1_U2,
	SIM_QLRU_H00_M2_R0_U0_UMO,
};

enum sim_scope { SIM_SCOPE_CORE, SIM_SCOPE_CLUSTER, SIM_SCOPE_PACKAGE, SIM_SCOPE_THREAD };
enum sim_inclusion { SIM_NEITHER, SIM_INCLUSIVE, SIM_EXCLUSIVE };
enum sim_pmu_style { SIM_PMU_NONE, SIM_PMU_INTEL, SIM_PMU_LEGACY, SIM_PMU_EXTCORE, SIM_PMU_V2 };
enum sim_absent { SIM_ABSENT_FAULT, SIM_ABSENT_ZERO };

/**
 * struct sim_identity - section [cpu]
 * @vendor: decides which registers and CPUID leaves exist
 * @qemu_cpu: for QEMU's -cpu
 * @microarch: rows of the event table, or "none"
 * @threads: vCPUs to a core
 * @cluster: cores to a cluster
 * @core_type: reported by CPUID leaf 0x1A
 */
struct sim_identity {
	unsigned int vendor;
	char qemu_cpu[SIM_TEXT_MAX];
	char microarch[SIM_TEXT_MAX];
	unsigned int threads;
	unsigned int cluster;
	unsigned int core_type;
};

/**
 * struct sim_ratio - a fraction in lowest terms
 * @num: numerator
 * @den: denominator
 */
struct sim_ratio {
	unsigned int num;
	unsigned int den;
};

/**
 * struct sim_timing - section [timing]
 * @width: instructions issued per cycle
 * @tsc_hz: rate of the TSC
 * @core_ratio: core clock divided by TSC rate
 * @memory: cycles of a load served by memory
 * @memory_bandwidth: bytes that memory delivers or takes in a cycle; 0: without limit
 * @rob: instructions in the reorder buffer
 * @fill_buffers: lines that level 1 waits for at a time
 * @store_buffer: stores that wait to be written to level 1
 * @load_ports: loads that start in a cycle
 * @clock: cycles that reading the TSC or a counter takes
 */
struct sim_timing {
	unsigned int width;
	uint64_t tsc_hz;
	struct sim_ratio core_ratio;
	unsigned int memory;
	unsigned int memory_bandwidth;
	unsigned int rob;
	unsigned int fill_buffers;
	unsigned int store_buffer;
	unsigned int load_ports;
	unsigned int clock;
};

/**
 * struct sim_cache_model - section [cache NAME]
 * @name: l1d, l1i, l2 ...
 * @level: 1 for l1d
 * @instruction: an instruction cache: reported by CPUID, nothing is fetched through it
 * @line_no: of the section's head in the file
 * @size: bytes
 * @ways: lines to a set
 * @line: bytes to a line
 * @sets: follows from the three
 * @latency: cycles of a load served by it
 * @bandwidth: bytes that it delivers in a cycle; 0: without limit
 * @index: address that selects the set
 * @replace: policy
 * @seed: of random replacement
 * @slices: parts between which a hash of the line number chooses
 * @scope: who shares an instance
 * @inclusion: what it holds of the levels inside it
 * @masked: some section [allocation NAME] is about it
 */
struct sim_cache_model {
	char name[8];
	unsigned int level;
	bool instruction;
	unsigned int line_no;
	uint64_t size;
	unsigned int ways;
	unsigned int line;
	uint64_t sets;
	unsigned int latency;
	unsigned int bandwidth;
	unsigned int index;
	unsigned int replace;
	unsigned int seed;
	unsigned int slices;
	unsigned int scope;
	unsigned int inclusion;
	bool masked;
};

/**
 * struct sim_allocation_model - section [allocation NAME]: ways of a cache that a core may fill
 * @name: for error messages
 * @line_no: of the section's head in the file
 * @level: of the cache
 * @core: number of the core
 * @mask: the ways, a bit each
 */
struct sim_allocation_model {
	char name[SIM_NAME_MAX];
	unsigned int line_no;
	unsigned int level;
	unsigned int core;
	uint64_t mask;
};

enum sim_page_size { SIM_PAGE_4K, SIM_PAGE_2M, SIM_PAGE_1G, SIM_PAGE_SIZES };

/**
 * struct sim_tlb_model - section [tlb NAME]
 * @name: for error messages
 * @line_no: of the section's head in the file
 * @level: 1 or 2
 * @pages: sizes of pages that it holds, a bit each
 * @entries: how many
 * @ways: entries to a set
 * @penalty: cycles that looking into it adds to an access
 * @coalesce: pages of 4 KiB beside each other that one entry holds at most
 */
struct sim_tlb_model {
	char name[SIM_NAME_MAX];
	unsigned int line_no;
	unsigned int level;
	unsigned int pages;
	unsigned int entries;
	unsigned int ways;
	unsigned int penalty;
	unsigned int coalesce;
};

/**
 * struct sim_walk_model - section [walk]
 * @read: cycles for each table that is read
 * @pde: entries of the cache of page directory entries
 * @pdpte: of that of the level above
 * @pml4e: of that of the level above it
 */
struct sim_walk_model {
	unsigned int read;
	unsigned int pde;
	unsigned int pdpte;
	unsigned int pml4e;
};

enum sim_prefetch_kind {
	SIM_PREFETCH_NEXT_LINE,
	SIM_PREFETCH_ADJACENT,
	SIM_PREFETCH_STREAM,
	SIM_PREFETCH_IP_STRIDE,
	SIM_PREFETCH_REGION,
	SIM_PREFETCH_UP_DOWN,
	SIM_PREFETCH_MULTIPATH,
	SIM_PREFETCH_NEXT_PAGE,
	SIM_PREFETCH_POINTERS,
};

/**
 * struct sim_switch - a bit of a register that turns something off while it is 1
 * @msr: number of the register, 0 where there is no switch
 * @bit: the bit
 */
struct sim_switch {
	uint32_t msr;
	unsigned int bit;
};

/**
 * struct sim_prefetch_model - section [prefetch NAME]
 * @name: for error messages
 * @line_no: of the section's head in the file
 * @kind: what it looks for
 * @level: the innermost level that it fills, 1 for l1d
 * @train: steps that it must have seen before it fetches
 * @degree: lines that it fetches at a time
 * @distance: how many lines ahead it goes at most
 * @entries: streams, instructions or regions that it follows at a time
 * @page_bound: it stops at the end of a page of 4 KiB
 * @disable: the bit that turns it off
 */
struct sim_prefetch_model {
	char name[SIM_NAME_MAX];
	unsigned int line_no;
	unsigned int kind;
	unsigned int level;
	unsigned int train;
	unsigned int degree;
	unsigned int distance;
	unsigned int entries;
	bool page_bound;
	struct sim_switch disable;
};

/**
 * struct sim_pmu_model - section [pmu]
 * @style: register layout
 * @version: Intel's architectural version
 * @gp: general counters
 * @fixed: fixed counters
 * @width: bits of a counter
 * @full_width: counters can be written in full at 0x4C1 and up
 * @anythread: bit 21 of an event select and bit 2 of a fixed control nibble exist
 * @absent: what a PMU register that this model lacks does
 * @pmi: an overflow interrupts, if its counter says so
 */
struct sim_pmu_model {
	unsigned int style;
	unsigned int version;
	unsigned int gp;
	unsigned int fixed;
	unsigned int width;
	bool full_width;
	bool anythread;
	unsigned int absent;
	bool pmi;
};

/**
 * struct sim_event_code - a row of section [event]
 * @event: event number
 * @umask: unit mask
 * @raws: set of raw totals
 */
struct sim_event_code {
	uint16_t event;
	uint8_t umask;
	uint64_t raws;
};

/**
 * struct sim_msr_plain - a row of section [msr]: a register that stores what is written
 * @msr: number
 * @mask: bits that exist; a write of others is #GP
 * @reset: value at start
 * @scope: who shares it
 */
struct sim_msr_plain {
	uint32_t msr;
	uint64_t mask;
	uint64_t reset;
	unsigned int scope;
};

/**
 * struct sim_msr_list - numbers of registers
 * @count: how many
 * @msr: the numbers
 */
struct sim_msr_list {
	unsigned int count;
	uint32_t msr[SIM_LIST_MAX];
};

/**
 * struct sim_fault_model - section [fault]: what is wrong with the machine
 * @counter_zero: general counter that always reads 0, or -1
 * @counter_held: general counter that firmware left running, or -1
 * @held_select: its event select
 * @counter_start: what all counters hold at start
 * @msr_zero: registers that read 0 and swallow writes
 * @msr_fault: registers that raise #GP
 * @msr_drop: registers that keep their value without a fault
 * @drop_cpu: the one vCPU on which they do, or -1: on each
 */
struct sim_fault_model {
	int counter_zero;
	int counter_held;
	uint64_t held_select;
	uint64_t counter_start;
	struct sim_msr_list msr_zero;
	struct sim_msr_list msr_fault;
	struct sim_msr_list msr_drop;
	int drop_cpu;
};

/**
 * struct sim_noise_model - section [noise]: what disturbs measured loops by chance
 * @seed: of all that is drawn
 * @jitter: percent of its time that a loop takes longer at most
 * @outlier: one loop in so many is an outlier; 0: none
 * @outlier_cycles: core cycles that it takes longer
 * @neighbour: lines that others bring into the outermost cache in 1000 cycles
 */
struct sim_noise_model {
	unsigned int seed;
	unsigned int jitter;
	unsigned int outlier;
	unsigned int outlier_cycles;
	unsigned int neighbour;
};

/**
 * struct sim_script - section [script WINDOW]: what happens in the middle of a counter window
 * @window: number of the window of each vCPU, from 0
 * @line_no: of the section's head in the file
 * @smi: added to the SMI count
 * @aperf: added to APERF
 * @mperf: added to MPERF
 * @cycles: core cycles that pass
 * @fast: core cycles more than the TSC's steps tell: the core's clock is faster for a while
 * @nmi: a non-maskable interrupt comes that nobody has asked for
 * @after: loads of the window that come before it
 */
struct sim_script {
	unsigned int window;
	unsigned int line_no;
	uint64_t smi;
	uint64_t aperf;
	uint64_t mperf;
	uint64_t cycles;
	uint64_t fast;
	bool nmi;
	uint64_t after;
};

/**
 * struct sim_hybrid_model - section [hybrid]: two kinds of cores in one machine
 * @cores: file of the first vCPUs' cores
 * @others: file of the other ones'
 * @first: the first vCPU of those
 * @model: what @others describes, or NULL: there is one kind of cores
 */
struct sim_hybrid_model {
	char cores[SIM_TEXT_MAX];
	char others[SIM_TEXT_MAX];
	unsigned int first;
	struct sim_model *model;
};

/**
 * struct sim_model - all of it
 * @name: for sim_model_name()
 * @cpu: section [cpu]
 * @timing: section [timing]
 * @caches: how many data levels there are
 * @cache: data levels, inner first
 * @instruction: level 1 instruction cache; its size is 0 where there is none
 * @allocations: how many sections [allocation NAME] there are
 * @allocation: those sections
 * @tlbs: how many sections [tlb NAME] there are
 * @tlb: those sections
 * @walk: section [walk]
 * @prefetchers: how many sections [prefetch NAME] there are
 * @prefetch: those sections
 * @pmu: section [pmu]
 * @events: how many rows section [event] has
 * @event: its rows
 * @msrs: how many rows section [msr] has
 * @msr: its rows
 * @fault: section [fault]
 * @noise: section [noise]
 * @hybrid: section [hybrid]
 * @scripts: how many sections [script WINDOW] there are
 * @script: those sections
 */
struct sim_model {
	char name[SIM_TEXT_MAX];
	struct sim_identity cpu;
	struct sim_timing timing;
	unsigned int caches;
	struct sim_cache_model cache[SIM_CACHES_MAX];
	struct sim_cache_model instruction;
	unsigned int allocations;
	struct sim_allocation_model allocation[SIM_ALLOCATIONS_MAX];
	unsigned int tlbs;
	struct sim_tlb_model tlb[SIM_TLBS_MAX];
	struct sim_walk_model walk;
	unsigned int prefetchers;
	struct sim_prefetch_model prefetch[SIM_PREFETCHERS_MAX];
	struct sim_pmu_model pmu;
	unsigned int events;
	struct sim_event_code event[SIM_EVENTS_MAX];
	unsigned int msrs;
	struct sim_msr_plain msr[SIM_LIST_MAX];
	struct sim_fault_model fault;
	struct sim_noise_model noise;
	struct sim_hybrid_model hybrid;
	unsigned int scripts;
	struct sim_script script[SIM_LIST_MAX];
};

/* The description of a vCPU's core. */
const struct sim_model *sim_model_of(const struct sim_model *model, unsigned int cpu);

/* Cores (threads counted) that share one instance of a scope; 0: all of the machine. */
unsigned int sim_model_sharers(const struct sim_model *model, unsigned int scope);

/* Write each key with its range and default, a line each, for the documentation's test. */
void sim_model_print_keys(FILE *out);

#endif
