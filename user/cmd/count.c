// SPDX-License-Identifier: GPL-2.0-only
/* calm count: any loop with any events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/calm.h>

#include "cmd.h"
#include "loops/loops.h"
#include "measure.h"
#include "opt.h"

/* What every processor with counters can count. */
#define EVENTS "cycles,instructions"

static const struct calm_opt *const groups[] = {
	calm_opts_place,  calm_opts_buffer, calm_opts_sizes, calm_opts_sampling,
	calm_opts_events, calm_opts_prefetch, calm_opts_output, calm_opts_work,
	NULL,
};

static int refuse_loop(const char *word, struct calm_error *error)
{
	char *names = calm_text("%s", calm_loop_name(0));
	const char *name;
	unsigned int i;

	for (i = 1; (name = calm_loop_name(i)); i++) {
		char *longer = calm_text("%s, %s", names, name);

		free(names);
		names = longer;
	}
	if (word)
		calm_error_set(error, CALM_EXIT_USAGE, -EINVAL,
			       "unknown loop '%s' (allowed %s)", word, names);
	else
		calm_error_set(error, CALM_EXIT_USAGE, -EINVAL, "which loop? (allowed %s)", names);
	free(names);
	return -EINVAL;
}

/* The only order that a loop visits elements in, 0 if it is any that their chain has. */
static uint32_t order_of(const struct calm_loop *loop)
{
	switch (loop->visit) {
	case CALM_VISIT_LINEAR:
	case CALM_VISIT_COPY:
		return CALM_ORDER_LINEAR;
	case CALM_VISIT_SCATTER:
		return CALM_ORDER_RANDOM;
	default:
		return 0;
	}
}

static int set_order(const struct calm_loop *loop, struct calm_run_opts *opts,
		     struct calm_error *error)
{
	uint32_t order = order_of(loop);

	if (order && opts->order_given && opts->order != order)
		return calm_error_set(error, CALM_EXIT_USAGE, -EINVAL,
				      "order: '%s' is not that of loop %s (allowed %s)",
				      calm_word_name(calm_words_order, opts->order), loop->name,
				      calm_word_name(calm_words_order, order));
	if (order)
		opts->order = order;
	return 0;
}

/* What the loop cannot work with is refused before any of it is measured. */
static int choose(struct calm_run_opts *opts, struct calm_job *job, struct calm_error *error)
{
	const struct calm_loop *loop = opts->word ? calm_loop_find(opts->word) : NULL;

	if (!loop)
		return refuse_loop(opts->word, error);
	if (opts->events && !strcmp(opts->events, "none"))
		return calm_error_set(error, CALM_EXIT_USAGE, -EINVAL,
				      "events: 'none' leaves nothing to count (allowed names and "
				      "codes, see calm events)");
	if (loop->visit == CALM_VISIT_SCATTER && calm_opt_check_powers(opts, error))
		return -EINVAL;
	job->loop = loop->name;
	job->counters = loop->counters;
	return set_order(loop, opts, error);
}

static const struct calm_job job = {
	.groups = groups,
	.word = "LOOP",
	.choose = choose,
	.subject = CALM_SUBJECT_COUNTS,
	.events = EVENTS,
};

int calm_cmd_count(const struct calm_cmd *cmd, int argc, char **argv)
{
	return calm_measure(&job, cmd->summary, argc, argv);
}
