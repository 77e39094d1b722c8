// SPDX-License-Identifier: GPL-2.0-only
/* calm random: chases side by side and independent loads, what a core does at a time. */
#include "cmd.h"
#include "derive/parallel.h"
#include "events.h"
#include "loops/loops.h"
#include "measure.h"
#include "opt.h"

static const struct calm_opt *const groups[] = {
	calm_opts_place,    calm_opts_random, calm_opts_sampling, calm_opts_events,
	calm_opts_prefetch, calm_opts_output, calm_opts_work,	  NULL,
};

static void derive(const struct calm_run_opts *opts, const struct calm_measured *points,
		   size_t n_points, const struct calm_machine *machine,
		   struct calm_derived *derived)
{
	(void)opts;
	calm_derive_parallel(points, n_points, machine, derived);
}

static const struct calm_job job = {
	.groups = groups,
	.order = CALM_ORDER_RANDOM,
	.subject = CALM_SUBJECT_POINTS,
	.loop = "parallel",
	.free_loop = "random",
	.copy_loop = CALM_PARALLEL_COPY,
	.linear_loop = CALM_PARALLEL_LINEAR,
	/* those of the copy, which has fewest */
	.counters = CALM_LOOP_COPY_COUNTERS,
	.events = CALM_EVENTS_DEFAULT,
	.derive = derive,
	.wants_memory = true,
	.wants_lines = true,
};

int calm_cmd_random(const struct calm_cmd *cmd, int argc, char **argv)
{
	return calm_measure(&job, cmd->summary, argc, argv);
}
