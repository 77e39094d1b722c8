/* SPDX-License-Identifier: GPL-2.0-only */
/* The quiet section: slices in which nothing but the measured loop runs on a CPU. */
#ifndef CALM_QUIET_H
#define CALM_QUIET_H

#include <linux/types.h>

#include "pmu.h"
#include "prefetch.h"
#include "stop.h"

/**
 * struct calm_quiet - a slice; filled by begin, consumed by end
 * @cpu: CPU that the thread must be on
 * @nr_cpus: CPUs of the job
 * @stop: when the job has to end
 * @limit_tsc: longest that a slice should take, TSC ticks
 * @irq_flags: saved by begin
 * @begin_tsc: when interrupts went off
 * @span_tsc: out of end: how long they were off
 * @busy_tsc: time with interrupts off since the thread last slept
 * @prefetch: what prefetchers' registers must hold, NULL if that is left open
 * @plan: counters that slices borrow if told to
 * @counting: this slice borrowed them
 * @nmis: NMIs that the CPU had seen at begin
 * @counts_smis: MSR_SMI_COUNT exists
 * @smi_count: at begin
 * @smis: out of end: system management interrupts in the slice
 * @end_interrupts: interrupts that the CPU had taken at the end of the slice before
 * @gap_interrupts: out of begin: those that it took since then
 * @why: out: the reason of an error, for people
 */
struct calm_quiet {
	unsigned int cpu;
	u32 nr_cpus;
	const struct calm_stop *stop;
	u64 limit_tsc;
	unsigned long irq_flags;
	u64 begin_tsc;
	u64 span_tsc;
	u64 busy_tsc;
	const struct calm_prefetch_watch *prefetch;
	struct calm_pmu_plan plan;
	bool counting;
	u32 nmis;
	bool counts_smis;
	u32 smi_count;
	u32 smis;
	u64 end_interrupts;
	u64 gap_interrupts;
	const char *why;
};

/**
 * calm_quiet_slice_us() - longest stretch with interrupts off that is aimed at
 * @nr_cpus: CPUs that have them off at the same time
 *
 * Module parameter slice_us, and at most 2 ms where those are all that are
 * online, since nobody else could answer then.
 *
 * Return: microseconds.
 */
u32 calm_quiet_slice_us(u32 nr_cpus);

/**
 * calm_quiet_init() - prepare slices of a thread on one CPU
 * @quiet: the slice
 * @cpu: CPU that the calling thread is bound to
 * @stop: when the job has to end
 * @spec: what slices count, and how many CPUs do
 *
 * Return: 0, or what calm_pmu_assign() and calm_pmu_prepare() return, with @quiet->why.
 */
int calm_quiet_init(struct calm_quiet *quiet, unsigned int cpu, const struct calm_stop *stop,
		    const struct calm_job_spec *spec);

/**
 * calm_quiet_begin() - turn preemption and interrupts off
 * @quiet: the slice
 * @count: borrow the counters too
 *
 * Return: 0; -ECANCELED when the job has to end or -EXDEV when the thread is not
 * on its CPU, both tested with interrupts already off; what calm_pmu_borrow()
 * returns. Interrupts are on again then, and @quiet->why says more.
 */
int calm_quiet_begin(struct calm_quiet *quiet, bool count);

/**
 * calm_quiet_left() - how much of the slice is left
 * @quiet: the slice
 *
 * Return: TSC ticks, 0 when it is used up.
 */
u64 calm_quiet_left(const struct calm_quiet *quiet);

/**
 * calm_quiet_perf_clocks() - read APERF, the TSC and MPERF
 * @aperf: out: ticks at the core's frequency
 * @mperf: out: ticks at the frequency that it has without turbo; both 0 if they fault
 * @tsc: out: TSC right behind the reading of APERF
 */
void calm_quiet_perf_clocks(u64 *aperf, u64 *mperf, u64 *tsc);

/**
 * calm_quiet_end() - turn interrupts and preemption on again
 * @quiet: the slice
 * @disturb: CALM_DISTURB_* bits of what disturbed the slice are added here
 *
 * Return: 0; what calm_pmu_give_back() returns, or -EIO when a prefetcher was changed, with
 * @quiet->why.
 */
int calm_quiet_end(struct calm_quiet *quiet, u32 *disturb);

/**
 * calm_quiet_verify() - prove that counters are put back as they were found
 * @quiet: between slices
 *
 * Return: 0, or what calm_quiet_begin() and calm_quiet_end() return.
 */
int calm_quiet_verify(struct calm_quiet *quiet);

/**
 * calm_quiet_rest() - let others run between slices
 * @quiet: the slice that ended last
 *
 * Sleeps after each 100 ms with interrupts off, for a tick and a ninth of that
 * time at least: interrupts are off for at most nine tenths of the time.
 */
void calm_quiet_rest(struct calm_quiet *quiet);

#endif
