// SPDX-License-Identifier: GPL-2.0-only
/* Layouts of chains: their size, and which point has one. */
#include <string.h>

#include "layout.h"

#define ELEMENT_BYTES 8
#define PAGE_BYTES    4096ULL

uint64_t calm_layout_bytes(const struct calm_layout *layout)
{
	uint64_t bytes = (layout->lines - 1) / layout->block * layout->stride_bytes;

	bytes += (layout->block - 1) * layout->step_bytes;
	bytes += (layout->places - 1) * layout->place_bytes + ELEMENT_BYTES;
	return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

const struct calm_layout *calm_layout_of(const struct calm_measured *point)
{
	return point->point.n_layouts ? &point->point.layouts[point->layout] : NULL;
}

static bool is_same(const struct calm_layout *one, const struct calm_layout *other)
{
	return !strcmp(one->name, other->name) && one->lines == other->lines &&
	       one->block == other->block && one->stride_bytes == other->stride_bytes &&
	       one->step_bytes == other->step_bytes && one->places == other->places &&
	       one->place_bytes == other->place_bytes;
}

const struct calm_measured *calm_layout_find(const struct calm_measured *points, size_t n_points,
					     const struct calm_layout *layout)
{
	size_t i;

	for (i = 0; i < n_points; i++) {
		const struct calm_layout *other = calm_layout_of(&points[i]);

		if (other && is_same(layout, other))
			return &points[i];
	}
	return NULL;
}

bool calm_layout_cycles(const struct calm_measured *point, double *cycles)
{
	const struct calm_stats *stats = &point->stats;
	const struct calm_summary *best = stats->cycles_per_access.valid ?
		&stats->cycles_per_access : &stats->tsc_per_access;

	*cycles = best->median;
	return best->valid;
}

bool calm_layout_rate(const struct calm_measured *point, const char *name, double *rate)
{
	size_t i;

	for (i = 0; i < point->n_counted; i++) {
		const struct calm_counted *counted = &point->counted[i];

		if (strcmp(counted->event->name, name))
			continue;
		*rate = counted->per_access.median;
		return !counted->reason && counted->per_access.valid;
	}
	return false;
}
