/* SPDX-License-Identifier: GPL-2.0-only */
/* What tells the workers of a job to end. */
#ifndef CALM_STOP_H
#define CALM_STOP_H

#include <linux/compiler.h>
#include <linux/sched/signal.h>
#include <linux/types.h>

/**
 * struct calm_stop - whether a job has to end
 * @cause: not 0 if it has
 * @owner: who asked for the job, held by it; it ends too when that one is killed
 *
 * The owner's sockets are closed, and @cause is set, by the owner itself while it
 * exits: that is after it has been run once more, some time after the signal.
 */
struct calm_stop {
	int cause;
	struct task_struct *owner;
};

/* Both fields are set before kill() returns, and stay as long as the task is held. */
static inline bool calm_is_killed(const struct task_struct *task)
{
	const struct signal_struct *signal = task->signal;

	return READ_ONCE(signal->flags) & SIGNAL_GROUP_EXIT &&
	       READ_ONCE(signal->group_exit_code) & 0x7f;	/* the signal, as in wait() */
}

/**
 * calm_is_stopped() - see whether a job has to end
 * @stop: what tells
 *
 * Return: true if it has.
 */
static inline bool calm_is_stopped(const struct calm_stop *stop)
{
	return READ_ONCE(stop->cause) || calm_is_killed(stop->owner);
}

#endif
