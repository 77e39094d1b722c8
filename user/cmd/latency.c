// SPDX-License-Identifier: GPL-2.0-only
/* calm latency: a pointer chase over buffer sizes. */
#include <stdlib.h>

#include "cmd.h"
#include "derive/levels.h"
#include "measure.h"
#include "opt.h"

static const struct calm_opt *const groups[] = {
	calm_opts_place,    calm_opts_buffer, calm_opts_sweep,
	calm_opts_sampling, calm_opts_output, calm_opts_work,
	NULL,
};

int calm_cmd_latency(const struct calm_cmd *cmd, int argc, char **argv)
{
	const struct calm_job job = { cmd->name, "chase", calm_derive_levels };
	struct calm_run_opts opts;
	struct calm_error error;
	int status;

	if (calm_opt_parse(groups, cmd->summary, argc, argv, &opts, &error)) {
		calm_say("%s", error.text);
		status = error.status;
	} else {
		status = calm_measure(&job, &opts);
	}
	free(opts.sizes.bytes);
	return status;
}
