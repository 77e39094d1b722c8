// SPDX-License-Identifier: GPL-2.0-only
/* calm copy: bytes copied at fixed distances, as many for each, and the line from it. */
#include "cmd.h"
#include "derive/line.h"
#include "events.h"
#include "loops/loops.h"
#include "measure.h"
#include "opt.h"

static const struct calm_opt *const groups[] = {
	calm_opts_place,    calm_opts_copy,   calm_opts_sampling, calm_opts_events,
	calm_opts_prefetch, calm_opts_output, calm_opts_work,	  NULL,
};

static void derive(const struct calm_run_opts *opts, const struct calm_measured *points,
		   size_t n_points, const struct calm_machine *machine,
		   struct calm_derived *derived)
{
	(void)opts;
	(void)machine;
	calm_derive_line(points, n_points, derived);
}

static const struct calm_job job = {
	.groups = groups,
	.order = CALM_ORDER_LINEAR,
	.subject = CALM_SUBJECT_POINTS,
	.loop = "copy",
	.counters = CALM_LOOP_COPY_COUNTERS,
	.events = CALM_EVENTS_DEFAULT,
	.derive = derive,
	.copies = true,
	.wants_memory = true,
};

int calm_cmd_copy(const struct calm_cmd *cmd, int argc, char **argv)
{
	return calm_measure(&job, cmd->summary, argc, argv);
}
