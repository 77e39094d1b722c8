// SPDX-License-Identifier: GPL-2.0-only
/* The line of the caches from a strided copy. */
#include <math.h>
#include <string.h>

#include "line.h"

/* Of the cost beyond the line: half a line costs half of it. */
#define LINE_SHARE 0.75

#define LONGEST 3

/* Ticks of the point of a distance, on the largest buffer. */
static bool find(const struct calm_measured *points, size_t n_points, uint64_t stride,
		 double *ticks)
{
	uint64_t size = 0;
	size_t i;

	for (i = 0; i < n_points; i++) {
		const struct calm_point *point = &points[i].result.effective;

		if (point->stride_bytes != stride || point->size_bytes < size ||
		    !points[i].stats.tsc_per_access.valid)
			continue;
		size = point->size_bytes;
		*ticks = points[i].stats.tsc_per_access.median;
	}
	return size;
}

static uint64_t longest_below(const struct calm_measured *points, size_t n_points, uint64_t limit)
{
	uint64_t longest = 0;
	size_t i;

	for (i = 0; i < n_points; i++)
		if (points[i].result.effective.stride_bytes < limit &&
		    points[i].result.effective.stride_bytes > longest)
			longest = points[i].result.effective.stride_bytes;
	return longest;
}

static double middle(double a, double b, double c)
{
	return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

static bool cost_beyond(const struct calm_measured *points, size_t n_points, double *cost)
{
	uint64_t stride = UINT64_MAX;
	double ticks[LONGEST];
	size_t i;

	for (i = 0; i < LONGEST; i++) {
		stride = longest_below(points, n_points, stride);
		if (!stride || !find(points, n_points, stride, &ticks[i]))
			return false;
	}
	*cost = middle(ticks[0], ticks[1], ticks[2]);
	return true;
}

/* Ticks of a byte at a power of two, or better one above it: multiples may contend for few sets. */
static bool cost_at(const struct calm_measured *points, size_t n_points, uint64_t bytes,
		    double *ticks)
{
	return find(points, n_points, bytes + 1, ticks) || find(points, n_points, bytes, ticks);
}

/* Each of the longest powers of two costs much more than the one before: the line is longer yet. */
static bool still_rises(const struct calm_measured *points, size_t n_points, uint64_t longest)
{
	double ticks[LONGEST];
	uint64_t bytes;
	size_t n = 0;

	for (bytes = 1ULL << 62; bytes && n < LONGEST; bytes /= 2)
		if (bytes <= longest && cost_at(points, n_points, bytes, &ticks[n]))
			n++;
	return n == LONGEST && ticks[1] <= LINE_SHARE * ticks[0] &&
	       ticks[2] <= LINE_SHARE * ticks[1];
}

/* At half of the line a byte costs half of a line at most, and at twice it no more than a line. */
static bool is_bracketed(const struct calm_measured *points, size_t n_points, uint64_t bytes,
			 double ticks, double beyond)
{
	double half, twice;

	return cost_at(points, n_points, bytes / 2, &half) && half <= LINE_SHARE * beyond &&
	       cost_at(points, n_points, 2 * bytes, &twice) && ticks > LINE_SHARE * twice;
}

void calm_derive_line(const struct calm_measured *points, size_t n_points,
		      struct calm_derived *derived)
{
	uint64_t longest = longest_below(points, n_points, UINT64_MAX), bytes;
	double beyond, ticks;

	memset(derived, 0, sizeof(*derived));
	if (!cost_beyond(points, n_points, &beyond) || still_rises(points, n_points, longest))
		return;
	for (bytes = 8; bytes <= longest; bytes *= 2) {
		if (!cost_at(points, n_points, bytes, &ticks) || ticks <= LINE_SHARE * beyond)
			continue;
		if (is_bracketed(points, n_points, bytes, ticks, beyond))
			derived->line_bytes = bytes;
		return;
	}
}
