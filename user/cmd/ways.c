// SPDX-License-Identifier: GPL-2.0-only
/* calm ways: conflicting lines; ways, sets and line of the first two caches. */
#include "cmd.h"
#include "derive/layout.h"
#include "derive/ways.h"
#include "measure.h"
#include "opt.h"

/* What tells of a conflict without looking at the time. */
#define EVENTS "l1-miss,l2-miss"

static const struct calm_opt *const groups[] = {
	calm_opts_place,    calm_opts_conflict, calm_opts_sampling_settled, calm_opts_events,
	calm_opts_prefetch, calm_opts_output,	calm_opts_work,	    NULL,
};

static void derive(const struct calm_run_opts *opts, const struct calm_measured *points,
		   size_t n_points, const struct calm_machine *machine,
		   struct calm_derived *derived)
{
	struct calm_layout wanted;

	(void)opts;
	calm_derive_ways(points, n_points, machine->caches, machine->n_caches, derived, &wanted);
}

/* The next layout that the search wants, as long as there is memory for it. */
static void search(const struct calm_plan_input *input, const struct calm_measured *points,
		   size_t n_points, struct calm_plan *plan)
{
	struct calm_derived derived;
	struct calm_layout wanted;

	if (calm_derive_ways(points, n_points, input->caches, input->n_caches, &derived, &wanted) &&
	    calm_layout_bytes(&wanted) <= input->max_bytes)
		calm_plan_add(input, plan, calm_layout_bytes(&wanted), &wanted, 1);
}

/* The curve: so many lines at each distance. */
static void list_curve(const struct calm_plan_input *input, const struct calm_measured *points,
		       size_t n_points, struct calm_plan *plan)
{
	const struct calm_run_opts *opts = input->opts;
	size_t i, j;

	(void)points;
	if (n_points)
		return;
	for (i = 0; i < opts->strides.count; i++) {
		for (j = 0; j < opts->lines.count; j++) {
			const struct calm_layout layout = {
				.name = "curve",
				.lines = opts->lines.bytes[j],
				.block = 1,
				.stride_bytes = opts->strides.bytes[i],
				.step_bytes = CALM_STRIDE_MIN,
				.places = 1,
				.place_bytes = CALM_STRIDE_MIN,
			};

			calm_plan_add(input, plan, calm_layout_bytes(&layout), &layout, 1);
		}
	}
}

/* A curve is a list of what was asked for, from which nothing is derived. */
static int choose(struct calm_run_opts *opts, struct calm_job *job, struct calm_error *error)
{
	(void)error;
	opts->contig = opts->pages != CALM_PAGES_4K;
	if (opts->strides.count) {
		job->explore = list_curve;
		job->derive = NULL;
	}
	return 0;
}

static const struct calm_job job = {
	.groups = groups,
	.order = CALM_ORDER_RANDOM,
	.choose = choose,
	.explore = search,
	.subject = CALM_SUBJECT_POINTS,
	.loop = "chase",
	.counters = CALM_COUNTERS_MAX,
	.events = EVENTS,
	.derive = derive,
};

int calm_cmd_ways(const struct calm_cmd *cmd, int argc, char **argv)
{
	return calm_measure(&job, cmd->summary, argc, argv);
}
