// SPDX-License-Identifier: GPL-2.0-only
/* Tests for values that come in pairs, and for many of them at once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loops/random.h"
#include "paired.h"
#include "stats.h"
#include "util.h"

#define EXACT_MAX 100
#define RESAMPLES 999

/**
 * struct difference - a difference that is not zero
 * @size: its absolute value
 * @positive: its sign
 * @rank: twice its rank, which is whole even where ranks are shared
 */
struct difference {
	double size;
	bool positive;
	size_t rank;
};

static int by_size(const void *left, const void *right)
{
	const struct difference *a = left, *b = right;

	return (a->size > b->size) - (a->size < b->size);
}

static size_t rank(struct difference *list, const double *differences, size_t count)
{
	size_t n = 0, i, j;

	for (i = 0; i < count; i++)
		if (differences[i] != 0)
			list[n++] = (struct difference){ fabs(differences[i]), differences[i] > 0,
							 0 };
	qsort(list, n, sizeof(*list), by_size);
	for (i = 0; i < n; i = j) {
		for (j = i + 1; j < n && list[j].size <= list[i].size; j++)
			;
		/* places i + 1 to j share their mean */
		for (size_t k = i; k < j; k++)
			list[k].rank = i + 1 + j;
	}
	return n;
}

/* Share of all 2^n signs whose sum of ranks is at most, and at least, the one found. */
static double exact(const struct difference *list, size_t n, size_t sum)
{
	size_t total = 0, i, s;
	double *share, below = 0, above = 0;

	for (i = 0; i < n; i++)
		total += list[i].rank;
	share = calm_alloc(total + 1, sizeof(*share));
	share[0] = 1;
	for (i = 0; i < n; i++)
		for (s = total + 1; s-- > 0;)
			share[s] = (share[s] + (s >= list[i].rank ? share[s - list[i].rank] : 0)) /
				   2;
	for (s = 0; s <= total; s++) {
		below += s <= sum ? share[s] : 0;
		above += s >= sum ? share[s] : 0;
	}
	free(share);
	return fmin(1, 2 * fmin(below, above));
}

static double normal(const struct difference *list, size_t n, size_t sum)
{
	double mean = 0, variance = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		mean += (double)list[i].rank / 2;
		variance += (double)list[i].rank * (double)list[i].rank / 4;
	}
	return erfc(fabs((double)sum - mean) / sqrt(2 * variance));
}

double calm_paired_p(const double *differences, size_t count)
{
	struct difference *list = calm_alloc(count + 1, sizeof(*list));
	size_t n = rank(list, differences, count), sum = 0, i;
	double p = 1;

	for (i = 0; i < n; i++)
		sum += list[i].positive ? list[i].rank : 0;
	if (n)
		p = n <= EXACT_MAX ? exact(list, n, sum) : normal(list, n, sum);
	free(list);
	return p;
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

void calm_paired_interval(const double *values, size_t count, uint64_t seed, double *low,
			  double *high)
{
	double *medians = calm_alloc(RESAMPLES, sizeof(*medians));
	double *drawn = calm_alloc(count, sizeof(*drawn));
	size_t i, j;

	for (i = 0; i < RESAMPLES; i++) {
		for (j = 0; j < count; j++) {
			__u64 state = seed;

			drawn[j] = values[calm_random_below(&state, count)];
			seed = state;
		}
		medians[i] = calm_stats_median(drawn, count);
	}
	qsort(medians, RESAMPLES, sizeof(*medians), by_value);
	*low = calm_stats_quantile(medians, RESAMPLES, 0.025);
	*high = calm_stats_quantile(medians, RESAMPLES, 0.975);
	free(drawn);
	free(medians);
}

double calm_paired_discoveries(const double *p, size_t count, double rate)
{
	double *sorted = calm_alloc(count + 1, sizeof(*sorted)), limit = -1;
	size_t i;

	memcpy(sorted, p, count * sizeof(*p));
	qsort(sorted, count, sizeof(*sorted), by_value);
	for (i = 0; i < count; i++)
		if (sorted[i] <= rate * (double)(i + 1) / (double)count)
			limit = sorted[i];
	free(sorted);
	return limit;
}
