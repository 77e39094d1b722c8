// SPDX-License-Identifier: GPL-2.0-only
/* calm noise: how much the passes of one loop differ. */
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

int calm_cmd_noise(const struct calm_cmd *cmd, int argc, char **argv)
{
	const struct calm_job job = {
		.command = cmd->name,
		.subject = CALM_SUBJECT_NOISE,
		.loop = "chase",
		.counters = CALM_COUNTERS_MAX,
		.events = EVENTS,
		.derive = derive,
	};
	struct calm_run_opts opts;
	struct calm_error error;
	int status;

	if (calm_opt_parse(groups, NULL, cmd->summary, argc, argv, &opts, &error)) {
		calm_say("%s", error.text);
		status = error.status;
	} else if (opts.sizes.count > 1) {
		calm_say("size: expected one size, found %zu", opts.sizes.count);
		status = CALM_EXIT_USAGE;
	} else {
		opts.order = CALM_ORDER_RANDOM;
		status = calm_measure(&job, &opts);
	}
	calm_opt_free(&opts);
	return status;
}
