/* SPDX-License-Identifier: GPL-2.0-only */
/* Hardware prefetchers of a vCPU: what they have seen, and which of them are on. */
#ifndef SIMCPU_PREFETCH_H
#define SIMCPU_PREFETCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lru.h"
#include "model.h"

#define SIM_TRACKS_MAX	SIM_LRU_MAX
#define SIM_DELTAS	4
#define SIM_VALUES	8

struct sim_cpu;
struct sim_machine;

/**
 * struct sim_touch - an access as prefetchers see it
 * @vaddr: virtual address of its first byte in the line
 * @line: physical line number
 * @vline: virtual line number
 * @source: index of the level that had the line, or SIM_SOURCE_MEM
 * @write: a store
 */
struct sim_touch {
	uint64_t vaddr;
	uint64_t line;
	uint64_t vline;
	unsigned int source;
	bool write;
};

/**
 * struct sim_track - a stream, instruction, page or region that is followed
 * @last: last line or address
 * @step: last steps, the youngest first; region: the instruction and line that opened it
 * @count: how often what is looked for has been seen
 * @ahead: stream: the line fetched last
 * @lines: region: lines that were touched, a bit each
 */
struct sim_track {
	uint64_t last;
	int64_t step[SIM_DELTAS];
	unsigned int count;
	int64_t ahead;
	uint64_t lines;
};

/**
 * struct sim_pattern - what followed an instruction's first access to a region
 * @key: instruction and line
 * @lines: the lines touched, a bit each
 * @count: how many regions in a row had the same
 */
struct sim_pattern {
	uint64_t key;
	uint64_t lines;
	unsigned int count;
};

/**
 * struct sim_value - a loaded value that looks like an address
 * @vline: virtual line that it points to
 * @track: the instruction that loaded it, as a place in the table
 */
struct sim_value {
	uint64_t vline;
	unsigned int track;
};

/**
 * struct sim_unit - a prefetcher
 * @model: its description
 * @see: what its kind does with an access
 * @from: innermost source that it sees
 * @balance: up_down: steps up less steps down
 * @last: next_line, next_page: last address
 * @count: next_line: ascending accesses in a row; next_page: page that it was done for, plus one
 * @next: pointers: place of the oldest value
 * @lru: what it follows: stream, instruction, page or region, by place
 * @track: what it knows of each
 * @pattern: region: what it has learned
 * @value: pointers: what was loaded last
 */
struct sim_unit {
	const struct sim_prefetch_model *model;
	void (*see)(struct sim_cpu *cpu, struct sim_unit *u, const struct sim_touch *touch);
	unsigned int from;
	int balance;
	uint64_t last;
	uint64_t count;
	unsigned int next;
	struct sim_lru lru;
	struct sim_track track[SIM_TRACKS_MAX];
	struct sim_pattern pattern[SIM_TRACKS_MAX];
	struct sim_value value[SIM_VALUES];
};

/**
 * struct sim_prefetch - all prefetchers of a vCPU
 * @on: those that are not switched off, a bit each; written by whichever vCPU writes the register
 * @stale: those that were switched off since the last access and shall forget what they have seen
 * @watching: those that see hits in level 1 too
 * @line_shift: binary logarithm of the line size
 * @page_shift: binary logarithm of the number of lines to a page
 * @pc: the instruction that makes the access
 * @units: how many there are
 * @unit: they
 */
struct sim_prefetch {
	atomic_uint on;
	atomic_uint stale;
	unsigned int watching;
	unsigned int line_shift;
	unsigned int page_shift;
	uint64_t pc;
	unsigned int units;
	struct sim_unit *unit;
};

/* Whether there was memory for it. */
bool sim_prefetch_init(struct sim_prefetch *p, const struct sim_model *model);
void sim_prefetch_free(struct sim_prefetch *p);

/* A register was written, 0 for any: which prefetchers are on now, on each vCPU? */
void sim_prefetch_switch(struct sim_machine *machine, uint32_t msr);

/* Show an access to all prefetchers that are on. */
void sim_prefetch_access(struct sim_cpu *cpu, const struct sim_touch *touch);

static inline unsigned int sim_prefetch_on(const struct sim_prefetch *p)
{
	return atomic_load_explicit(&p->on, memory_order_relaxed);
}

#endif
