// SPDX-License-Identifier: GPL-2.0-only
/* Latency of each level that the system claims to have. */
#include <string.h>

#include "levels.h"

/**
 * struct range - points that lie inside a level
 * @low: least size of their buffers
 * @high: greatest size
 * @least_stride: least stride: in a longer line inside the level an element finds its neighbour's
 * @most_stride: greatest one, 0 if no line is known: beyond it lines are left out
 * @two_lengths: the value from two lengths is wanted
 */
struct range {
	uint64_t low;
	uint64_t high;
	uint32_t least_stride;
	uint32_t most_stride;
	bool two_lengths;
};

static bool lies_in(const struct calm_point *point, const struct range *range)
{
	return point->size_bytes >= range->low && point->size_bytes <= range->high &&
	       point->stride_bytes >= range->least_stride &&
	       (!range->most_stride || point->stride_bytes <= range->most_stride);
}

/* Least median of the points in a range, of ticks or of cycles; false if there is none. */
static bool least_median(const struct calm_measured *points, size_t n_points,
			 const struct range *range, bool cycles, double *least)
{
	bool found = false;
	size_t i;

	*least = 0;
	for (i = 0; i < n_points; i++) {
		const struct calm_stats *stats = &points[i].stats;
		const struct calm_summary *two =
			cycles ? &stats->cycles_two_lengths : &stats->tsc_two_lengths;
		const struct calm_summary *single =
			cycles ? &stats->cycles_per_access : &stats->tsc_per_access;
		const struct calm_summary *summary = range->two_lengths ? two : single;

		if (!summary->valid || !lies_in(&points[i].result.effective, range))
			continue;
		if (!found || summary->median < *least)
			*least = summary->median;
		found = true;
	}
	return found;
}

void calm_derive_levels(const struct calm_measured *points, size_t n_points,
			const struct calm_machine *machine, struct calm_derived *derived)
{
	double ns_per_tick = machine->tsc_hz > 0 ? 1e9 / machine->tsc_hz : 0;
	struct range range = { .two_lengths = true };
	double ticks;
	size_t i;

	memset(derived, 0, sizeof(*derived));
	for (i = 0; i < machine->n_caches; i++) {
		struct calm_level *level = &derived->levels[derived->n_levels++];

		level->claimed = machine->caches[i];
		range.high = level->claimed.size_bytes / 2;
		if (!i)
			range.most_stride = level->claimed.line_bytes;
		level->has_latency = ns_per_tick > 0 &&
				     least_median(points, n_points, &range, false, &ticks);
		if (level->has_latency)
			level->latency_ns = ticks * ns_per_tick;
		level->has_cycles = least_median(points, n_points, &range, true,
						 &level->latency_cycles);
		range.low = 2 * level->claimed.size_bytes;
		range.most_stride = level->claimed.line_bytes;
		if (range.least_stride < range.most_stride)
			range.least_stride = range.most_stride;
		range.two_lengths = false;
	}
	range.low *= 2;
	range.high = UINT64_MAX;
	derived->has_memory = ns_per_tick > 0 && range.low &&
			      least_median(points, n_points, &range, false, &ticks);
	if (derived->has_memory)
		derived->memory_latency_ns = ticks * ns_per_tick;
	derived->has_memory_cycles = range.low && least_median(points, n_points, &range, true,
							       &derived->memory_latency_cycles);
}
