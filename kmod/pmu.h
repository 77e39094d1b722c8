/* SPDX-License-Identifier: GPL-2.0-only */
/* Performance counters, borrowed for a slice so that perf and the watchdog lose nothing. */
#ifndef CALM_PMU_H
#define CALM_PMU_H

#include <linux/types.h>
#include <uapi/linux/calm.h>

#include "data.h"
#include "pmu_layout.h"

/**
 * struct calm_pmu_counter - where an event is counted
 * @index: number of the counter
 * @fixed: it is a fixed one
 * @select: what its event select gets
 */
struct calm_pmu_counter {
	u32 index;
	bool fixed;
	u64 select;
};

/**
 * struct calm_pmu_plan - the counters of a job on a CPU
 * @info: the CPU's counters
 * @nr: counters
 * @counter: in the order of the events
 * @list: the same for RDPMC, as calm_pass.counters takes it
 * @counter_msr: where counters are written: in full if possible
 * @full_width: they are
 * @guilty: on failure of calm_pmu_assign(), the event at fault
 */
struct calm_pmu_plan {
	const struct calm_pmu_info *info;
	u32 nr;
	struct calm_pmu_counter counter[CALM_COUNTERS_MAX];
	u64 list;
	u32 counter_msr;
	bool full_width;
	u32 guilty;
};

/**
 * calm_pmu_probe() - find out what counters the calling CPU has
 *
 * Uses CPUID only.
 */
void calm_pmu_probe(void);

/**
 * calm_pmu_info() - counters of a CPU
 * @cpu: CPU that was probed
 *
 * Return: what is known; style 0 if there are none.
 */
const struct calm_pmu_info *calm_pmu_info(unsigned int cpu);

/**
 * calm_pmu_assign() - find a counter for each event
 * @plan: out: the counters
 * @cpu: CPU
 * @events: what to count
 * @nr: number of @events
 * @why: out: on failure, a clause for people
 *
 * Touches no register.
 *
 * Return: 0; -EOPNOTSUPP without counters, -EINVAL for bits that are not the user's, -ENOSPC
 * when there are not enough counters of the kind.
 */
int calm_pmu_assign(struct calm_pmu_plan *plan, unsigned int cpu, const struct calm_event *events,
		    u32 nr, const char **why);

/**
 * calm_pmu_prepare() - read what only registers tell, once a job
 * @plan: the counters; the calling thread is on their CPU
 * @why: out: on failure, a clause for people
 *
 * Return: 0, or -EBUSY while a branch or processor trace runs.
 */
int calm_pmu_prepare(struct calm_pmu_plan *plan, const char **why);

/**
 * calm_pmu_borrow() - save the PMU's state and count our events
 * @plan: the counters
 * @why: out: on failure, a clause for people
 *
 * With interrupts off. Counters keep the values that they had; the difference of two readings
 * counts, modulo their width.
 *
 * Return: 0; -EAGAIN when an overflow is pending that its owner has to see first: open
 * interrupts and try again; -EBUSY or -EIO, and nothing is changed.
 */
int calm_pmu_borrow(struct calm_pmu_plan *plan, const char **why);

/**
 * calm_pmu_give_back() - stop counting and put everything back as it was
 * @plan: the counters
 * @verify: read back what was put back; a register that does not keep values never does, so that
 *	once a round is enough
 * @why: out: on failure, a clause for people
 *
 * With interrupts still off. Does nothing if an NMI has already done so.
 *
 * Return: 0, or -EIO when a register does not read back as it was written.
 */
int calm_pmu_give_back(struct calm_pmu_plan *plan, bool verify, const char **why);

/**
 * calm_pmu_nmis() - NMIs that the calling CPU has seen
 *
 * Return: a number that grows by one with each.
 */
u32 calm_pmu_nmis(void);

/**
 * calm_pmu_cut() - a difference of two readings of a counter
 * @plan: the counters
 * @index: which
 * @difference: modulo 2^64
 *
 * Return: what it counted.
 */
u64 calm_pmu_cut(const struct calm_pmu_plan *plan, u32 index, u64 difference);

/**
 * calm_pmu_init() - watch NMIs
 *
 * Return: 0 or a negative errno.
 */
int calm_pmu_init(void);

/**
 * calm_pmu_exit() - no longer watch them
 */
void calm_pmu_exit(void);

#endif
