/* SPDX-License-Identifier: GPL-2.0-only */
/* Ways, sets and line of the first two caches: which layout to chase next, and what follows. */
#ifndef CALM_DERIVE_WAYS_H
#define CALM_DERIVE_WAYS_H

#include "data.h"

/**
 * calm_derive_ways() - what the points measured so far tell of the caches
 * @points: points over layouts, in any order
 * @n_points: how many
 * @caches: caches as claimed, nearest first; where a search begins
 * @n_caches: how many
 * @derived: out: the levels
 * @wanted: out: the layout to be measured next
 *
 * Lines conflict where one more makes some miss for good, after so many laps that a policy has
 * settled: by the level's count of misses, else by time. The claims are but a place to begin.
 *
 * Return: true if the next layout is wanted, false if nothing more can be found.
 */
bool calm_derive_ways(const struct calm_measured *points, size_t n_points,
		      const struct calm_cache *caches, size_t n_caches,
		      struct calm_derived *derived, struct calm_layout *wanted);

#endif
