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

int calm_cmd_stride(const struct calm_cmd *cmd, int argc, char **argv)
{
	struct calm_job job = {
		.command = cmd->name,
		.subject = CALM_SUBJECT_POINTS,
		.counters = CALM_LOOP_STRIDE_COUNTERS,
		.events = CALM_EVENTS_DEFAULT,
	};
	struct calm_run_opts opts;
	struct calm_error error;
	int status;

	if (calm_opt_parse(groups, NULL, cmd->summary, argc, argv, &opts, &error)) {
		calm_say("%s", error.text);
		status = error.status;
	} else {
		opts.order = CALM_ORDER_LINEAR;
		job.loop = calm_word_name(loops, opts.width);
		status = calm_measure(&job, &opts);
	}
	calm_opt_free(&opts);
	return status;
}
