/* SPDX-License-Identifier: GPL-2.0-only */
/* One job at a time: its workers, its samples, and everything that may end it. */
#ifndef CALM_JOB_H
#define CALM_JOB_H

#include <linux/types.h>

#include "data.h"

struct calm_job;
struct net;

/**
 * struct calm_job_progress - how far a job is
 * @state: enum calm_state; samples and rounds are final once it has ended
 * @rounds: rounds that can be read
 * @ready: samples that can be read
 * @total: samples that were asked for
 * @built_bytes: buffers set up so far
 * @error: positive errno of a failed job
 * @why: why it ended early, NULL if it did not
 */
struct calm_job_progress {
	u32 state;
	u32 rounds;
	u32 ready;
	u32 total;
	u64 built_bytes;
	int error;
	const char *why;
};

/**
 * calm_job_start() - take the job slot and start the job
 * @spec: a checked job; its list of CPUs is the job's from here on if this succeeds
 * @portid: netlink port whose end ends the job
 * @net: network namespace of that port
 * @id: out: number of the job
 *
 * The job also ends when the calling process is killed by a signal. Does not
 * wait: the job begins in a work item of its first CPU.
 *
 * Return: 0; -EBUSY while a job is running, -EAGAIN during suspend, -ESHUTDOWN
 * while the module goes, -ENOMEM.
 */
int calm_job_start(const struct calm_job_spec *spec, u32 portid, struct net *net, u32 *id);

/**
 * calm_job_get() - find a job by its number
 * @id: the number
 *
 * Return: the job, to be put, or NULL.
 */
struct calm_job *calm_job_get(u32 id);

/**
 * calm_job_put() - done with a job
 * @job: the job
 */
void calm_job_put(struct calm_job *job);

/**
 * calm_job_id() - number of a job
 * @job: the job
 *
 * Return: its number, never 0.
 */
u32 calm_job_id(const struct calm_job *job);

/**
 * calm_job_total() - samples that a job was asked for
 * @job: the job
 *
 * Return: their number.
 */
u32 calm_job_total(const struct calm_job *job);

/**
 * calm_job_has_settings() - whether a job sets prefetchers
 * @job: the job
 *
 * Return: true if its samples have a setting.
 */
bool calm_job_has_settings(const struct calm_job *job);

/**
 * calm_job_cancel() - end a job after the slice in progress
 * @job: the job
 */
void calm_job_cancel(struct calm_job *job);

/**
 * calm_job_orphan() - the owner of a job may have gone
 * @portid: netlink port that was closed
 * @net: its network namespace
 *
 * If it owned the job, the job ends and is forgotten.
 */
void calm_job_orphan(u32 portid, struct net *net);

/**
 * calm_job_progress() - see how far a job is
 * @job: the job
 * @progress: out: how far
 */
void calm_job_progress(struct calm_job *job, struct calm_job_progress *progress);

/**
 * calm_job_wait() - wait for more samples or the end, at most 100 ms
 * @job: the job
 * @seen: samples known
 *
 * A signal cuts the wait short: there may be no news then.
 */
void calm_job_wait(struct calm_job *job, u32 seen);

/**
 * calm_job_sample() - a sample of a job
 * @job: the job
 * @index: below the progress's ready
 *
 * Return: the sample.
 */
const struct calm_sample *calm_job_sample(const struct calm_job *job, u32 index);

/**
 * struct calm_job_counts - counts of a sample
 * @nr: events, the length of each list
 * @pass: of the pass
 * @empty: of an empty window
 * @twice: of the pass of twice the length, NULL if it was not taken
 */
struct calm_job_counts {
	u32 nr;
	const u64 *pass;
	const u64 *empty;
	const u64 *twice;
};

/**
 * calm_job_counts() - counts of a sample
 * @job: the job
 * @index: below the progress's ready
 * @counts: out: the counts
 */
void calm_job_counts(const struct calm_job *job, u32 index, struct calm_job_counts *counts);

/**
 * calm_job_round() - a round of a job
 * @job: the job
 * @index: below the progress's rounds
 *
 * Return: the round.
 */
const struct calm_round *calm_job_round(const struct calm_job *job, u32 index);

/**
 * calm_job_init() - get ready to run jobs
 *
 * Return: 0 or a negative errno.
 */
int calm_job_init(void);

/**
 * calm_job_stop_all() - accept no more jobs, end the one there is and wait for it
 */
void calm_job_stop_all(void);

/**
 * calm_job_exit() - undo calm_job_init() and forget the job that ended last
 */
void calm_job_exit(void);

#endif
