// SPDX-License-Identifier: GPL-2.0-only
/* Latency of each level that the system claims to have. */
#include <string.h>

#include "levels.h"

/* Least median in TSC ticks of the points between two sizes; false if there is none. */
static bool least_median(const struct calm_measured *points, size_t n_points, uint64_t low,
			 uint64_t high, bool two_lengths, double *least)
{
	bool found = false;
	size_t i;

	*least = 0;
	for (i = 0; i < n_points; i++) {
		const struct calm_stats *stats = &points[i].stats;
		const struct calm_summary *summary =
			two_lengths ? &stats->tsc_two_lengths : &stats->tsc_per_access;
		uint64_t bytes = points[i].result.effective.size_bytes;

		if (!summary->valid || bytes < low || bytes > high)
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
	uint64_t below = 0;
	double ticks;
	size_t i;

	memset(derived, 0, sizeof(*derived));
	for (i = 0; i < machine->n_caches; i++) {
		struct calm_level *level = &derived->levels[derived->n_levels++];
		uint64_t capacity = machine->caches[i].size_bytes;

		level->claimed = machine->caches[i];
		level->has_latency = ns_per_tick > 0 &&
				     least_median(points, n_points, 2 * below, capacity / 2, i == 0,
						  &ticks);
		if (level->has_latency)
			level->latency_ns = ticks * ns_per_tick;
		below = capacity;
	}
	derived->has_memory = ns_per_tick > 0 && below &&
			      least_median(points, n_points, 4 * below, UINT64_MAX, false, &ticks);
	if (derived->has_memory)
		derived->memory_latency_ns = ticks * ns_per_tick;
}
