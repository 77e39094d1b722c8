/* SPDX-License-Identifier: GPL-2.0-only */
/* The quiet section: slices in which nothing but the measured loop runs on a CPU. */
#ifndef CALM_QUIET_H
#define CALM_QUIET_H

#include <linux/types.h>

/**
 * struct calm_quiet - a slice; filled by begin, consumed by end
 * @cpu: CPU that the thread must be on
 * @stop: set by others when the job has to end
 * @limit_tsc: longest that a slice should take, TSC ticks
 * @irq_flags: saved by begin
 * @begin_tsc: when interrupts went off
 * @span_tsc: out of end: how long they were off
 * @busy_tsc: time with interrupts off since the thread last slept
 */
struct calm_quiet {
	unsigned int cpu;
	const int *stop;
	u64 limit_tsc;
	unsigned long irq_flags;
	u64 begin_tsc;
	u64 span_tsc;
	u64 busy_tsc;
};

/**
 * calm_quiet_slice_us() - longest stretch with interrupts off that is aimed at
 *
 * Module parameter slice_us, at most 50 ms, and at most 2 ms while a single CPU
 * is online, since nobody else could answer then.
 *
 * Return: microseconds.
 */
u32 calm_quiet_slice_us(void);

/**
 * calm_quiet_init() - prepare slices of a thread on one CPU
 * @quiet: the slice
 * @cpu: CPU that the thread is bound to
 * @stop: non-zero ends the job
 */
void calm_quiet_init(struct calm_quiet *quiet, unsigned int cpu, const int *stop);

/**
 * calm_quiet_begin() - turn preemption and interrupts off
 * @quiet: the slice
 *
 * Return: 0; -ECANCELED when the job has to end or -EXDEV when the thread is not
 * on its CPU, both tested with interrupts already off and then on again.
 */
int calm_quiet_begin(struct calm_quiet *quiet);

/**
 * calm_quiet_left() - how much of the slice is left
 * @quiet: the slice
 *
 * Return: TSC ticks, 0 when it is used up.
 */
u64 calm_quiet_left(const struct calm_quiet *quiet);

/**
 * calm_quiet_end() - turn interrupts and preemption on again
 * @quiet: the slice
 *
 * Return: CALM_DISTURB_* bits of what disturbed the slice.
 */
u32 calm_quiet_end(struct calm_quiet *quiet);

/**
 * calm_quiet_rest() - let others run between slices
 * @quiet: the slice that ended last
 *
 * Sleeps after each 100 ms with interrupts off, for a tick and a ninth of that
 * time at least: interrupts are off for at most nine tenths of the time.
 */
void calm_quiet_rest(struct calm_quiet *quiet);

#endif
