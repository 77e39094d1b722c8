/* SPDX-License-Identifier: GPL-2.0-only */
/* The line of the caches from a strided copy. */
#ifndef CALM_DERIVE_LINE_H
#define CALM_DERIVE_LINE_H

#include "data.h"

/**
 * calm_derive_line() - the distance from which on each byte is of another line
 * @points: points of a strided copy
 * @n_points: how many
 * @derived: out
 *
 * Beyond all caches a byte costs its share of a line: d / B of one at a distance d below a line
 * of B bytes, and a whole one from there on. So at half a line it costs half of what it does
 * beyond, and the line is the least power of two that costs more than 3/4 of the median of the
 * three longest distances. Each power of two is judged by the distance one above it, if that was
 * measured: powers of two themselves may be slower for the few sets that they use. A shorter
 * distance must have cost less, so nothing is told if the shortest one costs that much already,
 * nor if the cost still rises by more than a third to each of the longest.
 */
void calm_derive_line(const struct calm_measured *points, size_t n_points,
		      struct calm_derived *derived);

#endif
