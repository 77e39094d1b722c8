// SPDX-License-Identifier: GPL-2.0-only
/* calm noise: how much the passes of one loop differ. */
#include <errno.h>
#include <string.h>

#include "cmd.h"
#include "derive/noise.h"
#include "measure.h"
#include "opt.h"

#define EVENTS "cycles"

static const struct calm_opt *const groups[] = {
	calm_opts_place,  calm_opts_noise,    calm_opts_sampling_many,
	calm_opts_events, calm_opts_prefetch, calm_opts_output, calm_opts_work, NULL,
};

static void derive(const struct calm_run_opts *opts, const struct calm_measured *points,
		   size_t n_points, const struct calm_machine *machine,
		   struct calm_derived *derived)
{
	(void)opts;
	memset(derived, 0, sizeof(*derived));
	derived->has_noise = n_points &&
			     calm_derive_noise(&points[0], machine->tsc_hz, &derived->noise);
}

static int choose(struct calm_run_opts *opts, struct calm_job *job, struct calm_error *error)
{
	(void)job;
	if (opts->sizes.count <= 1)
		return 0;
	return calm_error_set(error, CALM_EXIT_USAGE, -EINVAL, "size: expected one size, found %zu",
			      opts->sizes.count);
}

static const struct calm_job job = {
	.groups = groups,
	.order = CALM_ORDER_RANDOM,
	.choose = choose,
	.subject = CALM_SUBJECT_NOISE,
	.loop = "chase",
	.counters = CALM_COUNTERS_MAX,
	.events = EVENTS,
	.derive = derive,
};

int calm_cmd_noise(const struct calm_cmd *cmd, int argc, char **argv)
{
	return calm_measure(&job, cmd->summary, argc, argv);
}
