/* SPDX-License-Identifier: GPL-2.0-only */
/* What a state of the prefetchers does to a point, beside the same point as found. */
#ifndef CALM_DERIVE_PREFETCH_H
#define CALM_DERIVE_PREFETCH_H

#include "data.h"

/**
 * calm_derive_prefetch() - compare points under a setting with the same points as found
 * @points: points in the order of their settings, each with its first setting as found
 * @n_points: how many
 * @derived: gets the effects; to be freed by the caller
 *
 * A pair is a round: both values come from the same buffer, in an order that balances drift. A
 * difference counts if Wilcoxon's signed-rank test does, with Benjamini and Hochberg's limit at
 * 5 % over all effects, and if it is at least 1 % and at least 0.1 core cycle.
 */
void calm_derive_prefetch(const struct calm_measured *points, size_t n_points,
			  struct calm_derived *derived);

#endif
