// SPDX-License-Identifier: GPL-2.0-only
/* How many misses a core has under way at a time. */
#include <math.h>
#include <string.h>

#include <linux/calm.h>

#include "parallel.h"

/* Lanes are as fast as independent loads if they take no more than this times their time. */
#define AS_FAST 1.02

/* Buffers are whole in number; what else limits loads makes such a number by chance alone. */
#define WHOLE_SHARE 0.015
#define WHOLE_MOST  0.25

/* A buffer of so many first caches finds few enough of its loads there. */
#define MISSES_TIMES 64

/* Twice the last cache finds few enough of its lines there. */
#define MEMORY_TIMES 2

/* By so much more, more loads are under way, or loads take longer: noise is below. */
#define MORE 1.03

/* Memory may have lines in order sooner than others, but not by so much where nobody prefetches. */
#define FAR_LESS 1.25

/* Loads that wait for lines take so much longer where these come from farther away. */
#define SLOWER 1.1

/* Where a line is copied it comes, and the one that it is copied to comes and goes. */
#define COPIED_LINES 3

/*
 * Large pages that first levels of translations hold, and what a hit in the second one adds at
 * most, cycles, in which a load has no fill buffer: published are 32 to 72 and 5 to 12.
 */
#define PAGES_HELD   64
#define PENALTY_MOST 12
#define PENALTY_PART 0.5

/**
 * struct view - a row's own points among all
 * @points: all
 * @n_points: how many
 * @free: its independent loads
 * @machine: what measures
 */
struct view {
	const struct calm_measured *points;
	size_t n_points;
	const struct calm_measured *free;
	const struct calm_machine *machine;
};

static bool is_loop(const struct calm_measured *measured, const char *name)
{
	const char *loop = measured->point.loop;

	return loop && !strcmp(loop, name);
}

/* Loads that do not wait for each other. */
static bool is_free(const struct calm_measured *measured)
{
	return !measured->point.lanes && !is_loop(measured, CALM_PARALLEL_COPY) &&
	       !is_loop(measured, CALM_PARALLEL_LINEAR);
}

static double median_of(const struct calm_measured *measured)
{
	const struct calm_stats *stats = &measured->stats;

	return stats->cycles_per_access.valid ? stats->cycles_per_access.median :
						stats->tsc_per_access.median;
}

/* The same elements and prefetchers, in a buffer of any size. */
static bool is_alike(const struct calm_measured *measured, const struct calm_measured *other)
{
	const struct calm_point *a = &measured->result.effective, *b = &other->result.effective;

	return measured->stats.tsc_per_access.valid && measured->setting == other->setting &&
	       a->stride_bytes == b->stride_bytes &&
	       measured->stats.cycles_per_access.valid == other->stats.cycles_per_access.valid;
}

static bool is_like(const struct calm_measured *measured, const struct calm_measured *other)
{
	return is_alike(measured, other) &&
	       measured->result.effective.size_bytes == other->result.effective.size_bytes;
}

static const struct calm_measured *find(const struct calm_measured *points, size_t n_points,
					const struct calm_measured *like, uint32_t lanes)
{
	size_t i;

	for (i = 0; i < n_points; i++)
		if (points[i].point.lanes == lanes && is_like(&points[i], like))
			return &points[i];
	return NULL;
}

static uint32_t fewest_lanes(const struct view *view, double saturated)
{
	uint32_t fewest = 0;
	size_t i;

	for (i = 0; i < view->n_points; i++) {
		uint32_t lanes = view->points[i].point.lanes;

		if (lanes && is_like(&view->points[i], view->free) &&
		    median_of(&view->points[i]) <= AS_FAST * saturated &&
		    (!fewest || lanes < fewest))
			fewest = lanes;
	}
	return fewest;
}

/* Of a buffer's lines, elements that lie farther apart touch one each. */
static uint64_t touched_bytes(const struct calm_machine *machine,
			      const struct calm_measured *measured)
{
	const struct calm_point *point = &measured->result.effective;
	const uint64_t line = machine->caches[0].line_bytes;

	return line < point->stride_bytes ? point->size_bytes / point->stride_bytes * line :
					    point->size_bytes;
}

/* Whether nearly all loads miss the first cache. */
static bool misses(const struct calm_machine *machine, const struct calm_measured *measured)
{
	return !machine->n_caches || touched_bytes(machine, measured) >=
					     MISSES_TIMES * machine->caches[0].size_bytes;
}

/* Whether no cache holds more than a part of the lines. */
static bool are_of_memory(const struct calm_machine *machine, const struct calm_measured *measured)
{
	return !machine->n_caches ||
	       touched_bytes(machine, measured) >=
		       MEMORY_TIMES * machine->caches[machine->n_caches - 1].size_bytes;
}

/* Whether lanes have more under way, whose loads take one instruction each, not six. */
static bool have_lanes_more(const struct view *view, const struct calm_parallelism *row)
{
	size_t i;

	for (i = 0; i < view->n_points; i++)
		if (view->points[i].point.lanes && is_like(&view->points[i], view->free) &&
		    median_of(&view->points[i]) * MORE < row->saturated)
			return true;
	return false;
}

/* Whether there are lanes that would have more under way, were there buffers, and have as many. */
static bool has_enough_lanes(const struct view *view, const struct calm_parallelism *row)
{
	size_t i;

	for (i = 0; i < view->n_points; i++)
		if (view->points[i].point.lanes > MORE * row->in_flight &&
		    is_like(&view->points[i], view->free) &&
		    median_of(&view->points[i]) <= MORE * row->saturated)
			return true;
	return false;
}

/* Whether a buffer of another size has more of them, which wait for other lines. */
static bool has_size_more(const struct view *view, const struct calm_parallelism *row)
{
	const struct calm_measured *other, *one;
	size_t i;

	for (i = 0; i < view->n_points; i++) {
		other = &view->points[i];
		if (!is_free(other) || !is_alike(other, view->free) ||
		    !misses(view->machine, other))
			continue;
		one = find(view->points, view->n_points, other, 1);
		if (one && median_of(one) > MORE * row->in_flight * median_of(other))
			return true;
	}
	return false;
}

/* A loop of another kind over the same elements. */
static const struct calm_measured *find_loop(const struct view *view, const char *name)
{
	size_t i;

	for (i = 0; i < view->n_points; i++)
		if (is_loop(&view->points[i], name) && is_like(&view->points[i], view->free))
			return &view->points[i];
	return NULL;
}

/*
 * Independent loads of a smaller buffer take less time, unless the core's own instructions are the
 * limit. One that takes more has a limit of its own, one that takes as long perhaps the same.
 */
static const char *reason_of_smaller(const struct view *view, const struct calm_parallelism *row)
{
	bool is_faster = false;
	size_t i;

	for (i = 0; i < view->n_points; i++) {
		const struct calm_measured *other = &view->points[i];

		if (!is_free(other) || !is_alike(other, view->free) ||
		    other->result.effective.size_bytes >= row->size_bytes ||
		    row->saturated * MORE < median_of(other))
			continue;
		if (row->saturated < SLOWER * median_of(other))
			return "a smaller buffer takes as long: the core's own instructions may be "
			       "the limit";
		is_faster = true;
	}
	return is_faster ? NULL :
			   "no smaller buffer was measured whose loads take less time, which would "
			   "tell how fast the core's own instructions are: give --size one within a "
			   "cache, too";
}

static bool are_off(const struct view *view)
{
	const struct calm_setting *setting = view->free->setting;

	return setting ? setting->all == CALM_PREFETCH_OFF && !setting->n_names :
			 view->machine->prefetch_off;
}

static bool is_as_long(double a, double b)
{
	return a <= AS_FAST * b && b <= AS_FAST * a;
}

/* Whether a smaller buffer's independent loads take as long as this. */
static bool takes_smaller_as_long(const struct view *view, double cycles)
{
	size_t i;

	for (i = 0; i < view->n_points; i++)
		if (is_free(&view->points[i]) && is_alike(&view->points[i], view->free) &&
		    view->points[i].result.effective.size_bytes <
			    view->free->result.effective.size_bytes &&
		    is_as_long(median_of(&view->points[i]), cycles))
			return true;
	return false;
}

/*
 * A linear order has two instructions for each load, and would make more of a reorder buffer. Nor
 * does it take as long where prefetchers act: those that random loads set off take fill buffers
 * from them or bring lines that they find, and in a linear order these are the ones that come next,
 * as soon as the cache that has them by then, or memory, can deliver.
 */
static const char *reason_of_order(const struct view *view, const struct calm_parallelism *row)
{
	const struct calm_measured *linear = find_loop(view, CALM_PARALLEL_LINEAR);
	bool off = are_off(view);

	if (off && has_enough_lanes(view, row))
		return linear && median_of(linear) * FAR_LESS < row->saturated ?
			       "a linear order takes far less time: prefetchers that nothing is "
			       "known of may be on" :
			       NULL;
	if (!linear)
		return "no linear order was measured, which would tell of a reorder buffer, and of "
		       "prefetchers: buffers of twice the last cache have one";
	if (is_as_long(median_of(linear), row->saturated) &&
	    (off || !takes_smaller_as_long(view, median_of(linear))))
		return NULL;
	return off ? "a linear order takes another time: the reorder buffer may be the limit, or "
		     "prefetchers that nothing is known of are on" :
		     "prefetchers are on, or may be, or the reorder buffer is the limit: give "
		     "--prefetch off";
}

/*
 * Of two lines that a copy brings and one that goes nothing waits for the last: where fill buffers
 * are the limit it takes as long as two loads, and where bandwidth is as long as three.
 */
static const char *reason_of_copy(const struct view *view, const struct calm_parallelism *row)
{
	double line = view->machine->n_caches ? view->machine->caches[0].line_bytes : 0;
	double share = line > row->stride_bytes ? row->stride_bytes / line : 1;
	const struct calm_measured *copy = find_loop(view, CALM_PARALLEL_COPY);

	if (!copy || !are_of_memory(view->machine, copy))
		return "no copy was measured of so many lines that it would tell whether memory's "
		       "bandwidth is the limit: buffers of twice the last cache have one";
	if (median_of(copy) * MORE > COPIED_LINES * share * row->saturated)
		return "a line copied takes as long as three loads: bandwidth may be the limit";
	return NULL;
}

/* Why the latency may have a part in which a load has no fill buffer yet. */
static const char *reason_of_pages(const struct view *view, const struct calm_parallelism *row)
{
	const struct calm_point *point = &view->free->result.effective;

	if (point->pages == CALM_PAGES_4K || point->pages == CALM_PAGES_4K_CONTIG)
		return "page walks are a part of the latency: --pages 2m has none";
	if (point->pages == CALM_PAGES_2M && row->size_bytes > PAGES_HELD * (2ULL << 20) &&
	    row->in_flight * PENALTY_MOST > PENALTY_PART * row->latency)
		return "translations may be a part of the latency: --pages 1g has fewer";
	return NULL;
}

/*
 * Nothing but fill buffers may explain the number. Where the core's own instructions are the limit
 * a buffer that caches hold takes as long; the reorder buffer holds more loads of fewer
 * instructions; and a bandwidth gives another number where lines come from elsewhere, and is not
 * exceeded.
 */
static const char *reason_against(const struct view *view, const struct calm_parallelism *row)
{
	double off = fabs(row->in_flight - round(row->in_flight));
	const char *reason = reason_of_pages(view, row);

	if (!misses(view->machine, view->free))
		return "the first cache serves a part of the loads";
	if (reason)
		return reason;
	if (off > fmin(WHOLE_SHARE * row->in_flight, WHOLE_MOST))
		return "no whole number: bandwidth, page walks, prefetchers, the reorder buffer or "
		       "the core's own instructions are the limit";
	if (have_lanes_more(view, row))
		return "lanes have more under way: the reorder buffer or the core's own "
		       "instructions are the limit";
	if (has_size_more(view, row))
		return "a buffer of another size has more under way: bandwidth is the limit";
	reason = reason_of_smaller(view, row);
	if (!reason)
		reason = reason_of_copy(view, row);
	return reason ? reason : reason_of_order(view, row);
}

static void fill(const struct view *view, const struct calm_measured *one,
		 struct calm_parallelism *row)
{
	row->size_bytes = one->result.effective.size_bytes;
	row->stride_bytes = one->result.effective.stride_bytes;
	row->in_cycles = one->stats.cycles_per_access.valid;
	row->latency = median_of(one);
	row->saturated = median_of(view->free);
	row->in_flight = row->latency / row->saturated;
	row->reason = reason_against(view, row);
	row->lanes = fewest_lanes(view, row->saturated);
}

void calm_derive_parallel(const struct calm_measured *points, size_t n_points,
			  const struct calm_machine *machine, struct calm_derived *derived)
{
	struct view view = { points, n_points, NULL, machine };
	const struct calm_measured *one;
	size_t i;

	memset(derived, 0, sizeof(*derived));
	for (i = 0; i < n_points && derived->n_parallelism < CALM_PARALLELISM_MAX; i++) {
		view.free = &points[i];
		one = is_free(view.free) ? find(points, n_points, view.free, 1) : NULL;
		if (one && view.free->stats.tsc_per_access.valid && median_of(view.free) > 0)
			fill(&view, one, &derived->parallelism[derived->n_parallelism++]);
	}
}
