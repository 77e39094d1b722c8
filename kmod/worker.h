/* SPDX-License-Identifier: GPL-2.0-only */
/* What a job does on one of its CPUs: rounds of buffer, chain, warm-up and samples. */
#ifndef CALM_WORKER_H
#define CALM_WORKER_H

#include <linux/types.h>

#include "buf.h"
#include "data.h"
#include "loops/loops.h"
#include "quiet.h"
#include "stop.h"
#include "visit.h"

struct calm_worker;

/**
 * struct calm_worker_sink - where a worker's findings go
 * @round: a buffer was set up, its samples follow
 * @sample: a sample was taken
 * @setting: the prefetchers have to change; returns 0 or a negative errno with worker->why
 */
struct calm_worker_sink {
	void (*round)(struct calm_worker *worker, const struct calm_round *round);
	void (*sample)(struct calm_worker *worker, const struct calm_sample *sample,
		       const struct calm_counts *counts);
	int (*setting)(struct calm_worker *worker, u32 index);
};

/**
 * struct calm_worker - a thread's work
 * @spec: what to measure
 * @cpu: where; the thread is bound to it
 * @stop: ends the work after the slice in progress
 * @sink: takes what is found
 * @prefetch: what prefetchers' registers must hold in slices, NULL if that is left open
 * @why: out: the reason of an error, for people
 * @buf: buffer of the round
 * @buf_spec: what it was got by; holds the reason when that failed
 * @visit: the loop's way through it
 * @quiet: slice
 * @pilot: accesses of the window that others are planned by
 * @pilot_ticks: TSC ticks that it took
 * @lead: accesses that a lead-in repeats
 * @rehearsal: of these, in one go before a rehearsed window
 * @rehearsals: how many of them there are
 * @window: accesses that a window may hold so that its slice keeps its limit
 * @setting: state of prefetchers in effect, by its place in @spec
 * @layout: where elements lie now, by its place in @spec
 */
struct calm_worker {
	const struct calm_job_spec *spec;
	u32 cpu;
	const struct calm_stop *stop;
	const struct calm_worker_sink *sink;
	const struct calm_prefetch_watch *prefetch;
	const char *why;

	/* private: */
	struct calm_buf buf;
	struct calm_buf_spec buf_spec;
	struct calm_visit visit;
	struct calm_quiet quiet;
	u64 pilot;
	u64 pilot_ticks;
	u64 lead;
	u64 rehearsal;
	u64 rehearsals;
	u64 window;
	u32 setting;
	u32 layout;
};

/**
 * calm_worker_visits() - how often a round takes its samples
 * @spec: the job
 *
 * Return: once, or with several settings of prefetchers twice under each, for
 * each layout.
 */
u32 calm_worker_visits(const struct calm_job_spec *spec);

/**
 * calm_worker_run() - do all rounds
 * @worker: the work
 *
 * Runs in a thread bound to the worker's CPU.
 *
 * Return: 0; -ECANCELED when told to stop; another negative errno with
 * @worker->why on failure.
 */
int calm_worker_run(struct calm_worker *worker);

#endif
