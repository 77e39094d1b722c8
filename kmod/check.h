/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a job can be run, or what is wrong with it. */
#ifndef CALM_CHECK_H
#define CALM_CHECK_H

#include "data.h"

/**
 * struct calm_refusal - why a specification cannot be run
 * @err: negative errno
 * @attr: the CALM_A_* at fault
 * @nth: which of them, where it may come more than once
 * @why: a clause for people
 */
struct calm_refusal {
	int err;
	u32 attr;
	u32 nth;
	const char *why;
};

/**
 * calm_check_job() - see whether a job can be run
 * @spec: the job; its size is rounded down to whole strides
 * @refusal: out: what is wrong with it
 *
 * Return: true if it can.
 */
bool calm_check_job(struct calm_job_spec *spec, struct calm_refusal *refusal);

#endif
