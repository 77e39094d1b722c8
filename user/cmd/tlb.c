// SPDX-License-Identifier: GPL-2.0-only
/* calm tlb: lines on many pages beside as many side by side; translation buffers. */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "derive/layout.h"
#include "derive/tlb.h"
#include "measure.h"
#include "opt.h"

/* What every processor with counters can count, and most of them; more where prefetchers are on. */
#define EVENTS	  "cycles," CALM_TLB_EVENT
#define EVENTS_ON EVENTS "," CALM_TLB_FIRST_EVENT "," CALM_TLB_SECOND_EVENT

static const struct calm_opt *const groups[] = {
	calm_opts_place,    calm_opts_tlb,    calm_opts_sampling, calm_opts_events,
	calm_opts_prefetch, calm_opts_output, calm_opts_work,	  NULL,
};

static void derive(const struct calm_run_opts *opts, const struct calm_measured *points,
		   size_t n_points, const struct calm_machine *machine,
		   struct calm_derived *derived)
{
	struct calm_tlb_pair wanted;

	calm_derive_tlbs(points, n_points, machine, (uint32_t)opts->pages, derived, &wanted);
}

/* The next pair that the search wants. */
static void search(const struct calm_plan_input *input, const struct calm_measured *points,
		   size_t n_points, struct calm_plan *plan)
{
	struct calm_machine machine = {
		.n_caches = input->n_caches,
		.max_bytes = input->max_bytes,
		.prefetch_off = input->prefetch_off,
	};
	struct calm_derived derived;
	struct calm_tlb_pair wanted;
	size_t i;

	for (i = 0; i < input->n_caches; i++)
		machine.caches[i] = input->caches[i];
	if (!calm_derive_tlbs(points, n_points, &machine, (uint32_t)input->opts->pages, &derived,
			      &wanted))
		return;
	calm_plan_add(input, plan,
		      calm_larger(calm_layout_bytes(&wanted.layouts[0]),
				  calm_layout_bytes(&wanted.layouts[1])),
		      wanted.layouts, CALM_ARRAY_SIZE(wanted.layouts));
	plan->points[plan->count - 1].pages = wanted.pages;
}

static int choose(struct calm_run_opts *opts, struct calm_job *job, struct calm_error *error)
{
	(void)error;
	if (strcmp(opts->prefetch, "off"))
		job->events = EVENTS_ON;
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

int calm_cmd_tlb(const struct calm_cmd *cmd, int argc, char **argv)
{
	return calm_measure(&job, cmd->summary, argc, argv);
}
