// SPDX-License-Identifier: GPL-2.0-only
/* From the samples of a point to its statistics. Pure: nothing but numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <linux/calm.h>

#include "stats.h"
#include "util.h"

static const struct cause {
	uint32_t bit;
	const char *name;
} causes[] = {
	{ CALM_DISTURB_SLICE, "slice" },
	{ CALM_DISTURB_SMI, "smi" },
	{ CALM_DISTURB_NMI, "nmi" },
};

/* A bit that this program knows no name for still drops its sample. */
#define CAUSE_UNKNOWN "unknown"

/**
 * struct values - one quantity of a point's usable samples
 * @all: of all rounds
 * @n_all: how many
 * @medians: of each round
 * @n_medians: how many
 * @mads: of each round with at least two values
 * @n_mads: how many
 */
struct values {
	double *all;
	size_t n_all;
	double *medians;
	size_t n_medians;
	double *mads;
	size_t n_mads;
};

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double calm_stats_quantile(const double *sorted, size_t count, double share)
{
	double place = (double)(count - 1) * share;
	size_t below = (size_t)floor(place);

	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

double calm_stats_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return calm_stats_quantile(values, count, 0.5);
}

double calm_stats_mad(double *values, size_t count)
{
	double *distances = calm_alloc(count, sizeof(*distances));
	double median = calm_stats_median(values, count), mad;
	size_t i;

	for (i = 0; i < count; i++)
		distances[i] = fabs(values[i] - median);
	mad = calm_stats_median(distances, count);
	free(distances);
	return mad;
}

static void values_init(struct values *values, size_t samples)
{
	values->all = calm_alloc(samples, sizeof(double));
	values->medians = calm_alloc(samples, sizeof(double));
	values->mads = calm_alloc(samples, sizeof(double));
	values->n_all = 0;
	values->n_medians = 0;
	values->n_mads = 0;
}

static void values_exit(struct values *values)
{
	free(values->all);
	free(values->medians);
	free(values->mads);
}

/* The values from @first on are a round of their own. */
static void end_round(struct values *values, size_t first)
{
	size_t count = values->n_all - first;

	if (!count)
		return;
	if (count > 1)
		values->mads[values->n_mads++] = calm_stats_mad(values->all + first, count);
	values->medians[values->n_medians++] = calm_stats_median(values->all + first, count);
}

static struct calm_summary summarize(struct values *values)
{
	struct calm_summary summary = { .valid = values->n_medians > 0 };

	if (!summary.valid)
		return summary;
	qsort(values->all, values->n_all, sizeof(double), by_value);
	summary.min = values->all[0];
	summary.p5 = calm_stats_quantile(values->all, values->n_all, 0.05);
	summary.p95 = calm_stats_quantile(values->all, values->n_all, 0.95);
	summary.median = calm_stats_median(values->medians, values->n_medians);
	summary.has_mad = values->n_all > 1;
	if (summary.has_mad)
		summary.mad = calm_stats_mad(values->all, values->n_all);
	summary.has_within = values->n_mads > 0;
	if (summary.has_within)
		summary.within_mad = calm_stats_median(values->mads, values->n_mads);
	summary.has_between = values->n_medians > 1;
	if (summary.has_between)
		summary.between_mad = calm_stats_mad(values->medians, values->n_medians);
	return summary;
}

static void count_cause(struct calm_stats *stats, const char *name)
{
	size_t i;

	for (i = 0; i < stats->n_disturbed; i++)
		if (!strcmp(stats->disturbed[i].cause, name))
			break;
	if (i == stats->n_disturbed)
		stats->disturbed[stats->n_disturbed++] = (struct calm_disturbed){ name, 0 };
	stats->disturbed[i].samples++;
}

static void count_sample(struct calm_stats *stats, const struct calm_sample *sample)
{
	uint32_t rest = sample->disturb;
	size_t i;

	stats->samples++;
	stats->windows += sample->windows;
	if (sample->slice_tsc > stats->slice_tsc)
		stats->slice_tsc = sample->slice_tsc;
	if (!sample->disturb)
		return;
	stats->dropped++;
	for (i = 0; i < CALM_ARRAY_SIZE(causes); i++) {
		if (sample->disturb & causes[i].bit)
			count_cause(stats, causes[i].name);
		rest &= ~causes[i].bit;
	}
	if (rest)
		count_cause(stats, CAUSE_UNKNOWN);
}

static int by_round(const void *left, const void *right)
{
	const struct calm_sample *a = *(const struct calm_sample *const *)left;
	const struct calm_sample *b = *(const struct calm_sample *const *)right;

	if (a->round != b->round)
		return a->round < b->round ? -1 : 1;
	return a->index < b->index ? -1 : 1;
}

/* Usable samples, ordered by round. */
static size_t usable(const struct calm_result *result, const struct calm_sample **samples)
{
	size_t i, count = 0;

	for (i = 0; i < result->n_samples; i++)
		if (!result->samples[i].disturb)
			samples[count++] = &result->samples[i];
	if (count)
		qsort(samples, count, sizeof(*samples), by_round);
	return count;
}

/* Largest part of a sample that is overhead, by the round's median sample. */
static double overhead_share(const struct calm_sample *const *samples, size_t count,
			     double overhead, double *scratch)
{
	size_t i;

	for (i = 0; i < count; i++) {
		double whole = (double)samples[i]->tsc;

		scratch[i] = whole > 0 ? samples[i]->windows * overhead / whole : 1;
	}
	return calm_stats_median(scratch, count);
}

/**
 * struct rounds - a point while its rounds are gone through
 * @loads: accesses of one pass
 * @overheads: of each round
 * @n_overheads: how many
 * @share: largest share of overhead
 * @single: ticks per access of the pass
 * @two: ticks per access from two lengths
 * @scratch: room for as many values as there are samples
 */
struct rounds {
	double loads;
	double *overheads;
	size_t n_overheads;
	double share;
	struct values single;
	struct values two;
	double *scratch;
};

static void add_round(struct rounds *rounds, const struct calm_sample *const *samples,
		      size_t count)
{
	size_t single = rounds->single.n_all, two = rounds->two.n_all, i;
	double overhead, share;

	for (i = 0; i < count; i++)
		rounds->scratch[i] = (double)samples[i]->tsc_empty;
	overhead = calm_stats_median(rounds->scratch, count);
	rounds->overheads[rounds->n_overheads++] = overhead;
	share = overhead_share(samples, count, overhead, rounds->scratch);
	if (share > rounds->share)
		rounds->share = share;
	for (i = 0; i < count; i++) {
		const struct calm_sample *sample = samples[i];
		double net = (double)sample->tsc - sample->windows * overhead;

		rounds->single.all[rounds->single.n_all++] = net / rounds->loads;
		if (sample->has_double)
			rounds->two.all[rounds->two.n_all++] =
				(double)(sample->tsc_double - sample->tsc) / rounds->loads;
	}
	end_round(&rounds->single, single);
	end_round(&rounds->two, two);
}

static void finish(struct rounds *rounds, struct calm_stats *stats)
{
	stats->rounds = (uint32_t)rounds->n_overheads;
	if (!rounds->n_overheads) {
		stats->refused = stats->samples ? "every sample was disturbed" :
						  "no sample was taken";
		return;
	}
	stats->has_overhead = true;
	stats->overhead_tsc = calm_stats_median(rounds->overheads, rounds->n_overheads);
	stats->overhead_share = rounds->share;
	if (rounds->share > CALM_OVERHEAD_SHARE_MAX) {
		stats->refused = "the overhead is above 10 % of a sample; more loads are needed";
		return;
	}
	stats->tsc_per_access = summarize(&rounds->single);
	stats->tsc_two_lengths = summarize(&rounds->two);
}

void calm_stats_point(const struct calm_result *result, struct calm_stats *stats)
{
	const struct calm_sample **samples = calm_alloc(result->n_samples, sizeof(*samples));
	struct rounds rounds = { .loads = (double)result->effective.loads };
	size_t i, first, count;

	memset(stats, 0, sizeof(*stats));
	for (i = 0; i < result->n_samples; i++)
		count_sample(stats, &result->samples[i]);
	rounds.overheads = calm_alloc(result->n_samples, sizeof(double));
	rounds.scratch = calm_alloc(result->n_samples, sizeof(double));
	values_init(&rounds.single, result->n_samples);
	values_init(&rounds.two, result->n_samples);

	count = usable(result, samples);
	for (first = 0; first < count; first = i) {
		for (i = first + 1; i < count && samples[i]->round == samples[first]->round; i++)
			;
		add_round(&rounds, samples + first, i - first);
	}
	finish(&rounds, stats);

	values_exit(&rounds.two);
	values_exit(&rounds.single);
	free(rounds.scratch);
	free(rounds.overheads);
	free(samples);
}

struct calm_summary calm_stats_scale(const struct calm_summary *summary, double factor)
{
	struct calm_summary scaled = *summary;

	scaled.min *= factor;
	scaled.p5 *= factor;
	scaled.median *= factor;
	scaled.p95 *= factor;
	scaled.mad *= factor;
	scaled.within_mad *= factor;
	scaled.between_mad *= factor;
	return scaled;
}
