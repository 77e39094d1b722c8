// SPDX-License-Identifier: GPL-2.0-only
/* calm stride: independent loads at fixed distances, what prefetchers act on. */
#include "cmd.h"
#include "events.h"
#include "loops/loops.h"
#include "measure.h"
#include "opt.h"

static const struct calm_opt *const groups[] = {
	calm_opts_place,    calm_opts_stride, calm_opts_sampling, calm_opts_events,
	calm_opts_prefetch, calm_opts_output, calm_opts_work,	  NULL,
};

/* The loop for each width of loads. */
static const struct calm_word loops[] = {
	{ "stride", 8 },
	{ "stride16", 16 },
	{ "stride32", 32 },
	{ "stride64", 64 },
	{ NULL, 0 },
};

static int choose(struct calm_run_opts *opts, struct calm_job *job, struct calm_error *error)
{
	(void)error;
	job->loop = calm_word_name(loops, opts->width);
	return 0;
}

static const struct calm_job job = {
	.groups = groups,
	.order = CALM_ORDER_LINEAR,
	.choose = choose,
	.subject = CALM_SUBJECT_POINTS,
	.counters = CALM_LOOP_STRIDE_COUNTERS,
	.events = CALM_EVENTS_DEFAULT,
};

int calm_cmd_stride(const struct calm_cmd *cmd, int argc, char **argv)
{
	return calm_measure(&job, cmd->summary, argc, argv);
}
