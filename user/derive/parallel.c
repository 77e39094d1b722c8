// SPDX-License-Identifier: GPL-2.0-only
/* How many misses a core has under way at a time. */
#include <math.h>
#include <string.h>

#include "parallel.h"

/* Lanes are as fast as independent loads if they take no more than this times their time. */
#define AS_FAST 1.02

/* Buffers are whole in number; what else limits loads makes such a number by chance alone. */
#define WHOLE_SHARE 0.015
#define WHOLE_MOST  0.25

/* A buffer of so many first caches finds few enough of its loads there. */
#define MISSES_TIMES 64

static double median_of(const struct calm_measured *measured)
{
	const struct calm_stats *stats = &measured->stats;

	return stats->cycles_per_access.valid ? stats->cycles_per_access.median :
						stats->tsc_per_access.median;
}

static bool is_like(const struct calm_measured *measured, const struct calm_measured *other)
{
	const struct calm_point *a = &measured->result.effective, *b = &other->result.effective;

	return measured->stats.tsc_per_access.valid && a->size_bytes == b->size_bytes &&
	       a->stride_bytes == b->stride_bytes &&
	       measured->stats.cycles_per_access.valid == other->stats.cycles_per_access.valid;
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

static uint32_t fewest_lanes(const struct calm_measured *points, size_t n_points,
			     const struct calm_measured *like, double saturated)
{
	uint32_t fewest = 0;
	size_t i;

	for (i = 0; i < n_points; i++) {
		uint32_t lanes = points[i].point.lanes;

		if (lanes && is_like(&points[i], like) &&
		    median_of(&points[i]) <= AS_FAST * saturated && (!fewest || lanes < fewest))
			fewest = lanes;
	}
	return fewest;
}

static const char *reason_against(const struct calm_parallelism *row,
				  const struct calm_machine *machine)
{
	double off = fabs(row->in_flight - round(row->in_flight));

	if (machine->n_caches &&
	    row->size_bytes < MISSES_TIMES * machine->caches[0].size_bytes)
		return "the first cache serves a part of the loads";
	if (off > fmin(WHOLE_SHARE * row->in_flight, WHOLE_MOST))
		return "no whole number: bandwidth, page walks or the reorder buffer is the limit";
	return NULL;
}

void calm_derive_parallel(const struct calm_measured *points, size_t n_points,
			  const struct calm_machine *machine, struct calm_derived *derived)
{
	size_t i;

	memset(derived, 0, sizeof(*derived));
	for (i = 0; i < n_points && derived->n_parallelism < CALM_PARALLELISM_MAX; i++) {
		const struct calm_measured *one;
		struct calm_parallelism *row;
		double saturated;

		one = points[i].point.lanes ? NULL : find(points, n_points, &points[i], 1);
		if (!one || !points[i].stats.tsc_per_access.valid)
			continue;
		saturated = median_of(&points[i]);
		if (!(saturated > 0))
			continue;
		row = &derived->parallelism[derived->n_parallelism++];
		row->size_bytes = one->result.effective.size_bytes;
		row->stride_bytes = one->result.effective.stride_bytes;
		row->in_cycles = one->stats.cycles_per_access.valid;
		row->latency = median_of(one);
		row->saturated = saturated;
		row->in_flight = row->latency / saturated;
		row->reason = reason_against(row, machine);
		row->lanes = fewest_lanes(points, n_points, one, saturated);
	}
}
