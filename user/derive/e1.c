// SPDX-License-Identifier: GPL-2.0-only
/* Latency of each level alone, from miss rates. */
#include <stdlib.h>
#include <string.h>

#include "e1.h"
#include "util.h"

/* A share of loads below this is none. */
#define THRESHOLD 0.0001

/* Levels of caches that misses are counted of. */
#define LEVELS 3

/* A source that is not known. */
#define UNKNOWN SIZE_MAX

static const char *const miss_names[LEVELS] = { "l1-miss", "l2-miss", "l3-miss" };

/**
 * struct mix - a point, as shares of its loads; source @caches is memory
 * @cycles: mean of a load
 * @misses: loads that level i did not serve
 * @known: levels whose misses are known
 * @caches: levels that there are
 */
struct mix {
	double cycles;
	double misses[LEVELS];
	size_t known;
	size_t caches;
};

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static const struct calm_counted *find(const struct calm_measured *point, const char *name)
{
	size_t i;

	for (i = 0; i < point->n_counted; i++)
		if (!strcmp(point->counted[i].event->name, name))
			return &point->counted[i];
	return NULL;
}

static struct mix mix_of(const struct calm_measured *point, size_t caches)
{
	struct mix mix = { .cycles = point->stats.cycles_per_access.median, .caches = caches };
	size_t i;

	for (i = 0; i < LEVELS && i < caches; i++) {
		const struct calm_counted *counted = find(point, miss_names[i]);

		if (!counted || counted->reason || !counted->per_access.valid)
			break;
		mix.misses[i] = counted->per_access.median;
	}
	mix.known = i;
	return mix;
}

/* The outermost source that serves a share of the loads. */
static size_t outermost(const struct mix *mix)
{
	size_t i;

	for (i = 0; i < mix->known; i++)
		if (mix->misses[i] < THRESHOLD)
			return i;
	return mix->known == mix->caches ? mix->caches : UNKNOWN;
}

static double share(const struct mix *mix, size_t source)
{
	double inside = source ? mix->misses[source - 1] : 1;

	return inside - (source < mix->caches ? mix->misses[source] : 0);
}

/*
 * Latency of one source by each point of which it is the outermost; the ones inside are known. The
 * first level's is the mean itself: what little misses it then is left in.
 */
static bool solve(const struct mix *mixes, size_t count, double *latency, size_t source)
{
	double *values = calm_alloc(count, sizeof(*values));
	size_t i, j, n = 0;

	for (i = 0; i < count; i++) {
		double rest = mixes[i].cycles;

		if (outermost(&mixes[i]) != source)
			continue;
		for (j = 0; j < source; j++)
			rest -= share(&mixes[i], j) * latency[j];
		values[n++] = source ? rest / share(&mixes[i], source) : rest;
	}
	if (n)
		latency[source] = median(values, n);
	free(values);
	return n > 0;
}

void calm_derive_e1(const struct calm_measured *points, size_t n_points,
		    struct calm_derived *derived)
{
	struct mix *mixes = calm_alloc(n_points, sizeof(*mixes));
	/* where the system tells of none, those that have events */
	size_t caches = derived->n_levels ? derived->n_levels : LEVELS;
	double latency[LEVELS + 1];
	size_t i, count = 0;

	for (i = 0; i < n_points; i++)
		if (points[i].stats.cycles_per_access.valid)
			mixes[count++] = mix_of(&points[i], caches);
	for (i = 0; i <= LEVELS && i <= caches && solve(mixes, count, latency, i); i++) {
		if (i == caches) {
			derived->has_memory_isolated = true;
			derived->memory_isolated_cycles = latency[i];
		} else if (i < derived->n_levels) {
			derived->levels[i].has_isolated = true;
			derived->levels[i].isolated_cycles = latency[i];
		}
	}
	free(mixes);
}
