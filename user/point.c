// SPDX-License-Identifier: GPL-2.0-only
/* A point of the plan: planned, measured in all its runs, and shared out to the document. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <linux/calm.h>

#include "loops/loops.h"
#include "session.h"

static size_t runs(const struct calm_session *session)
{
	return session->n_groups ? session->n_groups : 1;
}

static void show_progress(const struct calm_result *result, void *arg)
{
	struct calm_session *session = arg;

	double share = result->total ? (double)result->n_samples / result->total : 0;

	calm_progress_update(&session->progress,
			     ((double)session->group + share) / (double)runs(session));
}

static size_t settings_of(const struct calm_session *session)
{
	return session->settings.count ? session->settings.count : 1;
}

static size_t layouts_of(const struct calm_point *point)
{
	return point->n_layouts ? point->n_layouts : 1;
}

/* Points of the document that one point of the plan becomes. */
static size_t variants_of(const struct calm_session *session, const struct calm_point *point)
{
	return settings_of(session) * layouts_of(point);
}

double calm_session_estimate(const struct calm_session *session, size_t index)
{
	const struct calm_machine *machine = &session->document.machine;

	return (double)(runs(session) * variants_of(session, &session->plan.points[index])) *
	       calm_plan_estimate(&session->plan.points[index], machine->caches,
				  machine->n_caches);
}

/* Elements that are further apart than lines are long take a line each. */
static const struct calm_cache *cache_for(const struct calm_session *session,
					  const struct calm_measured *measured)
{
	const struct calm_machine *machine = &session->document.machine;
	const struct calm_point *point = &measured->point;
	uint64_t elements = point->n_layouts ? point->layouts[measured->layout].lines :
					       point->size_bytes / point->stride_bytes;
	size_t i;

	for (i = 0; i < machine->n_caches; i++) {
		const struct calm_cache *cache = &machine->caches[i];
		uint64_t touched = elements * cache->line_bytes;

		if (!touched || point->size_bytes < touched)
			touched = point->size_bytes;
		if (touched <= cache->size_bytes)
			return cache;
	}
	return NULL;
}

static void init_point(const struct calm_session *session, size_t index, uint32_t layout,
		       struct calm_measured *measured)
{
	measured->point = session->plan.points[index];
	measured->place = index;
	measured->result.effective = measured->point;
	measured->layout = layout;
	measured->access_bytes = calm_loop_find(measured->point.loop)->access_bytes;
	measured->fits = cache_for(session, measured);
	measured->estimate_s = calm_session_estimate(session, index);
}

static struct calm_measured *add_point(struct calm_session *session)
{
	struct calm_document *document = &session->document;
	struct calm_measured *point;

	document->points = calm_grow(document->points, document->n_points,
				     &session->points_capacity, sizeof(*document->points));
	point = &document->points[document->n_points++];
	memset(point, 0, sizeof(*point));
	return point;
}

void calm_session_print_plan(struct calm_session *session)
{
	uint32_t layout;
	size_t i;

	session->document.planned = true;
	session->document.ended_by = "dry-run";
	for (i = 0; i < session->plan.count; i++) {
		for (layout = 0; layout < layouts_of(&session->plan.points[i]); layout++) {
			init_point(session, i, layout, add_point(session));
			calm_out_point(session->out, &session->document);
		}
	}
}

static void note_refusal(struct calm_session *session, const struct calm_measured *measured)
{
	char size[CALM_SIZE_TEXT_MAX];

	if (measured->stats.refused)
		calm_session_note(session, "size %s: no statistics: %s",
				  calm_size_text(size, measured->result.effective.size_bytes),
				  measured->stats.refused);
}

/* Room for what each event that is shown counts. */
static void list_counted(struct calm_session *session, struct calm_measured *measured)
{
	size_t i;

	measured->counted = calm_alloc(session->events.count, sizeof(*measured->counted));
	for (i = 0; i < session->events.count; i++) {
		const struct calm_event *event = &session->events.events[i];

		measured->counted[i].event = event;
		measured->counted[i].reason = event->reason ? event->reason : "not measured";
	}
	measured->n_counted = session->events.count;
}

/* No event that the program knows of happens more often than this in a tick of the TSC. */
#define COUNTS_PER_TICK 32

/*
 * Whether a counter may have wrapped more than once in a window. Processors have 40 bits and more
 * (SDM vol. 3, CPUID 0AH), a hypervisor may say less.
 */
static bool may_wrap(const struct calm_session *session, const struct calm_result *result,
		     const struct calm_event *event)
{
	const struct calm_pmu_info *pmu = &session->processor.pmu;
	uint32_t width = event->is_fixed ? pmu->fixed_width : pmu->width;
	double most = 0;
	size_t i;

	for (i = 0; i < result->n_samples; i++) {
		const struct calm_sample *sample = &result->samples[i];

		most = fmax(most, (double)sample->tsc / (sample->windows ? sample->windows : 1));
		most = fmax(most, (double)sample->tsc_double);
	}
	return width && most * COUNTS_PER_TICK >= ldexp(1, (int)width);
}

static void take_counts(struct calm_session *session, struct calm_measured *measured, size_t group,
			const struct calm_result *result, const struct calm_stats *stats)
{
	size_t i;

	for (i = 0; group < session->n_groups && i < session->groups[group].count; i++) {
		struct calm_counted *counted = &measured->counted[session->groups[group].place[i]];
		struct calm_count count;

		calm_stats_count(result, i, &count);
		counted->per_access = count.per_access;
		counted->reason = stats->refused;
		if (may_wrap(session, result, counted->event))
			counted->reason = "the counter is too short for a window";
	}
}

/* From samples to numbers; the first run of a point gives its times. */
static void take_result(struct calm_session *session, struct calm_measured *measured, size_t group,
			struct calm_result *result)
{
	const struct calm_machine *machine = &session->document.machine;
	struct calm_clock clock = session->clock;
	struct calm_stats stats;

	clock.has_event = clock.has_event && !group &&
			  !may_wrap(session, result, session->groups[0].events[0]);
	calm_stats_mark_frequency(result);
	if (session->opts->scheme == CALM_SCHEME_E1)
		calm_stats_keep_fastest(result, &clock);
	calm_stats_point(result, &stats);
	take_counts(session, measured, group, result, &stats);
	if (group)
		return;
	calm_stats_cycles(result, &clock, &stats);
	if (stats.tsc_per_access.valid && measured->access_bytes && machine->tsc_hz > 0)
		stats.bytes_per_second =
			calm_stats_rate(result, measured->access_bytes * machine->tsc_hz);
	measured->stats = stats;
}

/* More than one setting: each is visited twice, so half of the samples each time. */
static void put_settings(const struct calm_session *session, struct calm_point *point)
{
	const struct calm_machine *machine = &session->document.machine;

	point->settings = session->settings.settings;
	point->n_settings = session->settings.count;
	point->toggle_laps = 1;
	if (machine->n_caches > 1 && point->size_bytes > machine->caches[1].size_bytes)
		point->toggle_laps = 2;
	if (point->n_settings > 1)
		point->samples = (point->samples + 1) / 2;
	if (session->opts->unsafe_prefetch)
		point->flags |= CALM_F_UNSAFE_PREFETCH;
}

/* The samples of one setting and layout, numbered anew, with all that the rounds have in common. */
static void split(const struct calm_result *all, size_t setting, size_t layout,
		  struct calm_result *one)
{
	size_t i;

	*one = *all;
	one->samples = calm_alloc(all->n_samples + 1, sizeof(*one->samples));
	one->rounds = calm_alloc(all->n_rounds + 1, sizeof(*one->rounds));
	if (all->n_rounds)
		memcpy(one->rounds, all->rounds, all->n_rounds * sizeof(*one->rounds));
	one->n_samples = 0;
	for (i = 0; i < all->n_samples; i++) {
		if (all->samples[i].setting != setting || all->samples[i].layout != layout)
			continue;
		one->samples[one->n_samples] = all->samples[i];
		one->samples[one->n_samples].index = (uint32_t)one->n_samples;
		one->n_samples++;
	}
}

static void free_result(struct calm_result *result)
{
	free(result->samples);
	free(result->rounds);
}

/* Gives each point of the document its part of a run; the first run's samples stay with it. */
static void share_out(struct calm_session *session, struct calm_measured *points, size_t group,
		      const struct calm_result *all)
{
	size_t k, settings = settings_of(session);

	for (k = 0; k < variants_of(session, &points->point); k++) {
		struct calm_result one;

		split(all, k % settings, k / settings, &one);
		if (one.n_samples)
			take_result(session, &points[k], group, &one);
		if (group)
			free_result(&one);
		else
			points[k].result = one;
	}
}

/* A point is run again for each group of events that the counters hold at once. */
static int run_group(struct calm_session *session, struct calm_measured *points, size_t group,
		     struct calm_error *error)
{
	const struct calm_watch watch = { calm_session_ended, show_progress, session };
	struct calm_result result = { .total = 0 };
	struct calm_point point = points->point;
	size_t k;
	int err;

	session->group = group;
	point.flags |= CALM_F_APERF;
	if (session->settings.count)
		put_settings(session, &point);
	if (group < session->n_groups) {
		point.events = session->groups[group].events;
		point.n_events = session->groups[group].count;
	}
	err = session->backend->measure(session->state, &point, &result, &watch, error);
	/* the reply tells of the stride that a layout takes the place of */
	if (point.n_layouts)
		result.effective.stride_bytes = point.stride_bytes;
	/* what is not here is a status of its own only where it was asked for */
	if (err == -EADDRNOTAVAIL && !session->opts->memory_given)
		error->status = CALM_EXIT_FAILED;
	share_out(session, points, group, &result);
	for (k = 0; k < variants_of(session, &points->point); k++)
		points[k].complete = points[k].complete && !err &&
				     result.state == CALM_STATE_DONE;
	free_result(&result);
	return err;
}

static int run_groups(struct calm_session *session, struct calm_measured *points,
		      struct calm_error *error)
{
	size_t group = 0, k, variants = variants_of(session, &points->point);
	int err;

	for (k = 0; k < variants; k++) {
		points[k].complete = true;
		list_counted(session, &points[k]);
	}
	do {
		err = run_group(session, points, group++, error);
	} while (!err && !calm_session_ended(session) && group < session->n_groups);
	for (k = 0; k < variants; k++)
		points[k].complete = points[k].complete && group >= session->n_groups;
	return err;
}

/* The points that a point of the plan becomes; those without samples go. */
static void show_points(struct calm_session *session, struct calm_measured *points)
{
	size_t k, variants = variants_of(session, &points->point);

	for (k = 0; k < variants; k++) {
		struct calm_measured *measured = &points[k];

		if (!measured->result.n_samples) {
			free_result(&measured->result);
			free(measured->counted);
			*measured = (struct calm_measured){ .complete = false };
			continue;
		}
		*add_point(session) = *measured;
		note_refusal(session, measured);
		calm_out_point(session->out, &session->document);
	}
}

int calm_session_point(struct calm_session *session, size_t index, struct calm_error *error)
{
	size_t k, settings = settings_of(session);
	size_t variants = variants_of(session, &session->plan.points[index]);
	struct calm_measured *points = calm_alloc(variants, sizeof(*points));
	int err;

	for (k = 0; k < variants; k++) {
		init_point(session, index, (uint32_t)(k / settings), &points[k]);
		if (session->settings.count)
			points[k].setting = &session->settings.settings[k % settings];
	}
	calm_progress_point(&session->progress, points->estimate_s);
	err = run_groups(session, points, error);
	calm_progress_clear(&session->progress);
	show_points(session, points);
	free(points);
	return err;
}
