/* SPDX-License-Identifier: GPL-2.0-only */
/* Raw totals: what the model counts, always and for every vCPU. A PMU event is a set of them. */
#ifndef SIMCPU_RAW_H
#define SIMCPU_RAW_H

#include <stdint.h>

/* Levels of data caches; one more source, memory, stands behind them whatever their number is. */
#define SIM_CACHES_MAX	5
#define SIM_SOURCE_MEM	SIM_CACHES_MAX
#define SIM_SOURCES	(SIM_CACHES_MAX + 1)

/**
 * enum sim_raw - index of a raw total
 * @RAW_CYCLES: core cycles in ring 0; the user half stands behind it, likewise the next three
 * @RAW_INSNS: instructions
 * @RAW_REF: cycles at the rate of the TSC
 * @RAW_SLOTS: issue slots, width to a cycle
 * @RAW_LOAD: loads by the source that served them, the farther one where a load crosses a line
 * @RAW_STORE: the same for stores
 * @RAW_FILL_LOAD: lines brought into level 1 for a load, by source
 * @RAW_FILL_STORE: the same for stores
 * @RAW_FILL_PREFETCH: the same for prefetch instructions
 * @RAW_WRITEBACK: dirty lines that left a level, by level
 * @RAW_MEM_WRITE: lines written to memory
 * @RAW_STORE_NT: non-temporal stores
 * @RAW_PREFETCH: prefetch instructions
 * @RAW_FLUSH: CLFLUSH, CLFLUSHOPT, CLWB and CLDEMOTE instructions
 * @RAW_SMI: system management interrupts, all of them scripted
 * @RAW_FILL_HW: lines that hardware prefetchers brought into level 1, by source
 * @RAW_HW_OUTER_HIT: requests of prefetchers of outer levels for lines that were there already
 * @RAW_HW_OUTER_CACHE: those for lines that a cache farther out had
 * @RAW_HW_OUTER_MEM: those for lines that came from memory
 * @RAW_STLB_LOAD: loads whose page only a TLB of level 2 knew
 * @RAW_STLB_STORE: the same for stores
 * @RAW_WALK_LOAD: page walks for loads
 * @RAW_WALK_STORE: the same for stores
 * @RAW_COUNT: their number, at most 64: a set is a bit mask
 */
enum sim_raw {
	RAW_CYCLES,
	RAW_CYCLES_USER,
	RAW_INSNS,
	RAW_INSNS_USER,
	RAW_REF,
	RAW_REF_USER,
	RAW_SLOTS,
	RAW_SLOTS_USER,
	RAW_LOAD,
	RAW_STORE = RAW_LOAD + SIM_SOURCES,
	RAW_FILL_LOAD = RAW_STORE + SIM_SOURCES,
	RAW_FILL_STORE = RAW_FILL_LOAD + SIM_SOURCES,
	RAW_FILL_PREFETCH = RAW_FILL_STORE + SIM_SOURCES,
	RAW_WRITEBACK = RAW_FILL_PREFETCH + SIM_SOURCES,
	RAW_MEM_WRITE = RAW_WRITEBACK + SIM_CACHES_MAX,
	RAW_STORE_NT,
	RAW_PREFETCH,
	RAW_FLUSH,
	RAW_SMI,
	RAW_FILL_HW,
	RAW_HW_OUTER_HIT = RAW_FILL_HW + SIM_SOURCES,
	RAW_HW_OUTER_CACHE,
	RAW_HW_OUTER_MEM,
	RAW_STLB_LOAD,
	RAW_STLB_STORE,
	RAW_WALK_LOAD,
	RAW_WALK_STORE,
	RAW_COUNT,
};

_Static_assert(RAW_COUNT <= 64, "a set of raw totals is a 64-bit mask");

/* What user code adds to; everything else happens in ring 0, as memory is modelled there alone. */
#define SIM_RAWS_USER							\
	(1ull << RAW_CYCLES_USER | 1ull << RAW_INSNS_USER |		\
	 1ull << RAW_REF_USER | 1ull << RAW_SLOTS_USER)

#endif
