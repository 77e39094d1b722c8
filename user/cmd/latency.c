// SPDX-License-Identifier: GPL-2.0-only
/* calm latency: a pointer chase over buffer sizes. */
#include <linux/calm.h>

#include "cmd.h"
#include "derive/e1.h"
#include "derive/levels.h"
#include "events.h"
#include "measure.h"
#include "opt.h"

static const struct calm_opt *const groups[] = {
	calm_opts_place,    calm_opts_buffer_lines, calm_opts_sweep,
	calm_opts_sampling, calm_opts_scheme, calm_opts_events,
	calm_opts_prefetch, calm_opts_output, calm_opts_work,
	calm_opts_loop,     NULL,
};

static const char *const loops[] = {
	[CALM_CHASE_LOAD] = "chase",
	[CALM_CHASE_STORE] = "store",
	[CALM_CHASE_ATOMIC] = "atomic",
	[CALM_CHASE_FLUSH] = "flush",
};

/* In an order that prefetchers foresee a load does not take what its level does. */
static bool tells_levels(const struct calm_run_opts *opts, const struct calm_machine *machine)
{
	return opts->order == CALM_ORDER_RANDOM || machine->prefetch_off;
}

static void derive(const struct calm_run_opts *opts, const struct calm_measured *points,
		   size_t n_points, const struct calm_machine *machine,
		   struct calm_derived *derived)
{
	if (!tells_levels(opts, machine))
		n_points = 0;
	calm_derive_levels(points, n_points, machine, derived);
	calm_derive_e1(points, n_points, derived);
}

static int choose(struct calm_run_opts *opts, struct calm_job *job, struct calm_error *error)
{
	(void)error;
	job->loop = loops[opts->loop];
	/* a level's latency is that of loads */
	if (opts->loop == CALM_CHASE_LOAD)
		job->derive = derive;
	return 0;
}

static const struct calm_job job = {
	.groups = groups,
	.choose = choose,
	.subject = CALM_SUBJECT_POINTS,
	.counters = CALM_COUNTERS_MAX,
	.events = CALM_EVENTS_DEFAULT,
	.wants_lines = true,
};

int calm_cmd_latency(const struct calm_cmd *cmd, int argc, char **argv)
{
	return calm_measure(&job, cmd->summary, argc, argv);
}
