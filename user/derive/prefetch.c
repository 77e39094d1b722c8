// SPDX-License-Identifier: GPL-2.0-only
/* What a state of the prefetchers does to a point, beside the same point as found. */
#include <math.h>
#include <stdlib.h>

#include "derive/paired.h"
#include "prefetch.h"
#include "stats.h"
#include "util.h"

#define FALSE_DISCOVERIES 0.05
#define LEAST_SHARE	  0.01
#define LEAST_CYCLES	  0.1

/**
 * struct pairs - rounds that both points have
 * @found: TSC ticks per access as found
 * @other: the same under the setting
 * @count: how many
 */
struct pairs {
	double *found;
	double *other;
	size_t count;
};

static struct pairs pair(const struct calm_measured *found, const struct calm_measured *other)
{
	size_t n = found->result.n_samples, m = other->result.n_samples, i, j;
	uint32_t *rounds = calm_alloc(n + m + 1, sizeof(*rounds));
	double *values = calm_alloc(n + m + 1, sizeof(*values));
	struct pairs pairs = { calm_alloc(n + 1, sizeof(double)),
			       calm_alloc(n + 1, sizeof(double)), 0 };

	n = calm_stats_rounds(&found->result, rounds, values);
	m = calm_stats_rounds(&other->result, rounds + n, values + n);
	for (i = 0; i < n; i++)
		for (j = n; j < n + m; j++)
			if (rounds[i] == rounds[j]) {
				pairs.found[pairs.count] = values[i];
				pairs.other[pairs.count++] = values[j];
			}
	free(values);
	free(rounds);
	return pairs;
}

/* Ratio and interval; the difference's median is returned. */
static double compare(const struct pairs *pairs, struct calm_effect *effect)
{
	double *values = calm_alloc(pairs->count, sizeof(*values)), median;
	size_t i;

	for (i = 0; i < pairs->count; i++)
		values[i] = pairs->other[i] / pairs->found[i];
	effect->has_interval = pairs->count > 1;
	calm_paired_interval(values, pairs->count, pairs->count, &effect->low, &effect->high);
	effect->ratio = calm_stats_median(values, pairs->count);
	for (i = 0; i < pairs->count; i++)
		values[i] = pairs->other[i] - pairs->found[i];
	effect->has_p = pairs->count >= CALM_PAIRS_MIN;
	if (effect->has_p)
		effect->p = calm_paired_p(values, pairs->count);
	median = calm_stats_median(values, pairs->count);
	free(values);
	return median;
}

/* Large enough to matter: whether it is also no accident is seen when all are there. */
static bool matters(const struct calm_effect *effect, double ticks)
{
	const struct calm_stats *stats = &effect->found->stats;
	double cycles = stats->clock_source ? ticks * stats->core_per_tsc : ticks;

	return fabs(cycles) >= LEAST_CYCLES &&
	       fabs(ticks) >= LEAST_SHARE * stats->tsc_per_access.median;
}

static void add_effect(struct calm_derived *derived, const struct calm_measured *found,
		       const struct calm_measured *point)
{
	struct calm_effect *effect = &derived->effects[derived->n_effects];
	struct pairs pairs = pair(found, point);

	if (pairs.count) {
		*effect = (struct calm_effect){ .point = point, .found = found,
						.pairs = pairs.count };
		effect->significant = matters(effect, compare(&pairs, effect));
		derived->n_effects++;
	}
	free(pairs.found);
	free(pairs.other);
}

static void keep_discoveries(struct calm_derived *derived)
{
	double *p = calm_alloc(derived->n_effects + 1, sizeof(*p)), limit;
	size_t count = 0, i;

	for (i = 0; i < derived->n_effects; i++)
		if (derived->effects[i].has_p)
			p[count++] = derived->effects[i].p;
	limit = calm_paired_discoveries(p, count, FALSE_DISCOVERIES);
	for (i = 0; i < derived->n_effects; i++) {
		struct calm_effect *effect = &derived->effects[i];

		effect->significant = effect->significant && effect->has_p && effect->p <= limit;
	}
	free(p);
}

static bool is_found(const struct calm_measured *point)
{
	return point->setting && !point->setting->all && !point->setting->n_names;
}

/* What was ended early may lack the one as found: every second round comes to that last. */
static bool is_same(const struct calm_measured *found, const struct calm_measured *point)
{
	return found->place == point->place && found->layout == point->layout;
}

void calm_derive_prefetch(const struct calm_measured *points, size_t n_points,
			  struct calm_derived *derived)
{
	const struct calm_measured *found = NULL;
	size_t i;

	derived->effects = calm_alloc(n_points + 1, sizeof(*derived->effects));
	for (i = 0; i < n_points; i++) {
		if (is_found(&points[i]))
			found = &points[i];
		else if (points[i].setting && found && is_same(found, &points[i]) &&
			 !points[i].stats.refused && !found->stats.refused)
			add_effect(derived, found, &points[i]);
	}
	keep_discoveries(derived);
}
