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
	{ CALM_DISTURB_PREFETCHER, "prefetcher" },
};

/* A bit that this program knows no name for still drops its sample. */
#define CAUSE_UNKNOWN "unknown"

/* Found here and not by the module: see calm_stats_mark_frequency(). */
#define CAUSE_FREQUENCY "frequency"

/* Below this many ticks of MPERF around a pass, reading the clocks is too much of it. */
#define MPERF_LEAST 20000

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
	stats->has_interrupts = sample->has_interrupts;
	stats->interrupts += sample->interrupts;
	if (sample->slice_tsc > stats->slice_tsc)
		stats->slice_tsc = sample->slice_tsc;
	if (!sample->disturb && !sample->other_frequency)
		return;
	stats->dropped++;
	if (sample->other_frequency)
		count_cause(stats, CAUSE_FREQUENCY);
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

static bool is_usable(const struct calm_sample *sample)
{
	return !sample->disturb && !sample->other_frequency && !sample->passed_over;
}

/* Usable samples, ordered by round. */
static size_t usable(const struct calm_result *result, const struct calm_sample **samples)
{
	size_t i, count = 0;

	for (i = 0; i < result->n_samples; i++)
		if (is_usable(&result->samples[i]))
			samples[count++] = &result->samples[i];
	if (count)
		qsort(samples, count, sizeof(*samples), by_round);
	return count;
}

/* Behind the last sample of the round that begins at @first. */
static size_t end_of_round(const struct calm_sample *const *samples, size_t count, size_t first)
{
	size_t i = first + 1;

	while (i < count && samples[i]->round == samples[first]->round)
		i++;
	return i;
}

/**
 * struct reading - one quantity in one sample
 * @pass: over all windows of the pass
 * @empty: in a window without an access
 * @has_twice: the next is known
 * @twice: in the pass of twice the length
 */
struct reading {
	double pass;
	double empty;
	bool has_twice;
	double twice;
};

typedef void reader(const struct calm_sample *sample, size_t index, struct reading *reading);

static void read_tsc(const struct calm_sample *sample, size_t index, struct reading *reading)
{
	(void)index;
	*reading = (struct reading){ (double)sample->tsc, (double)sample->tsc_empty,
				     sample->has_double, (double)sample->tsc_double };
}

static void read_count(const struct calm_sample *sample, size_t index, struct reading *reading)
{
	*reading = (struct reading){ (double)sample->count[index],
				     (double)sample->count_empty[index],
				     sample->n_counts_double > 0,
				     (double)sample->count_double[index] };
}

static bool has_clocks(const struct calm_sample *sample)
{
	return sample->has_clocks && sample->mperf > 0 && sample->aperf > 0;
}

/*
 * By TSC ticks and not by those of MPERF, which need not have the TSC's rate: turbostat of Linux
 * 6.12 takes another for it on Skylake, Cannon, Alder and Arrow Lake (enable_tsc_tweak). Samples
 * that were recorded without the former have the latter only.
 */
static void read_by_aperf(const struct calm_sample *sample, size_t index, struct reading *reading)
{
	uint64_t ticks = sample->clock_tsc ? sample->clock_tsc : sample->mperf;
	double ratio = (double)sample->aperf / (double)ticks;

	read_tsc(sample, index, reading);
	reading->pass *= ratio;
	reading->empty *= ratio;
	reading->twice *= ratio;
}

/* Largest part of a sample that is overhead, by the round's median sample. */
static double overhead_share(const struct calm_sample *const *samples, size_t count, reader *read,
			     size_t index, double overhead, double *scratch)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct reading reading;

		read(samples[i], index, &reading);
		scratch[i] = reading.pass > 0 ? samples[i]->windows * overhead / reading.pass : 1;
	}
	return calm_stats_median(scratch, count);
}

/**
 * struct rounds - a point while its rounds are gone through
 * @read: the quantity
 * @index: which of its kind
 * @loads: accesses of one pass
 * @amount: 0, or what is divided by a value to be one of its own
 * @overheads: of each round
 * @n_overheads: how many
 * @number: number of each round
 * @share: largest share of overhead
 * @single: of the pass, per access
 * @two: per access from two lengths
 * @scratch: room for as many values as there are samples
 */
struct rounds {
	reader *read;
	size_t index;
	double loads;
	double amount;
	double *overheads;
	size_t n_overheads;
	uint32_t *number;
	double share;
	struct values single;
	struct values two;
	double *scratch;
};

static double per_access(const struct rounds *rounds, double value)
{
	value /= rounds->loads;
	return rounds->amount > 0 ? rounds->amount / value : value;
}

static void add_round(struct rounds *rounds, const struct calm_sample *const *samples,
		      size_t count)
{
	size_t single = rounds->single.n_all, two = rounds->two.n_all, i;
	struct reading reading;
	double overhead, share;

	for (i = 0; i < count; i++) {
		rounds->read(samples[i], rounds->index, &reading);
		rounds->scratch[i] = reading.empty;
	}
	overhead = calm_stats_median(rounds->scratch, count);
	rounds->number[rounds->n_overheads] = samples[0]->round;
	rounds->overheads[rounds->n_overheads++] = overhead;
	share = overhead_share(samples, count, rounds->read, rounds->index, overhead,
			       rounds->scratch);
	if (share > rounds->share)
		rounds->share = share;
	for (i = 0; i < count; i++) {
		rounds->read(samples[i], rounds->index, &reading);
		rounds->single.all[rounds->single.n_all++] =
			per_access(rounds, reading.pass - samples[i]->windows * overhead);
		if (reading.has_twice)
			rounds->two.all[rounds->two.n_all++] =
				per_access(rounds, reading.twice - reading.pass);
	}
	end_round(&rounds->single, single);
	end_round(&rounds->two, two);
}

/* Goes through all rounds of a point; to be undone by rounds_exit(). */
static void rounds_init(struct rounds *rounds, const struct calm_result *result, reader *read,
			size_t index, double amount)
{
	const struct calm_sample **samples = calm_alloc(result->n_samples, sizeof(*samples));
	size_t first, next, count;

	*rounds = (struct rounds){ .read = read, .index = index, .amount = amount };
	rounds->loads = (double)result->effective.loads;
	rounds->overheads = calm_alloc(result->n_samples, sizeof(double));
	rounds->number = calm_alloc(result->n_samples, sizeof(*rounds->number));
	rounds->scratch = calm_alloc(result->n_samples, sizeof(double));
	values_init(&rounds->single, result->n_samples);
	values_init(&rounds->two, result->n_samples);
	count = usable(result, samples);
	for (first = 0; first < count; first = next) {
		next = end_of_round(samples, count, first);
		add_round(rounds, samples + first, next - first);
	}
	free(samples);
}

static void rounds_exit(struct rounds *rounds)
{
	values_exit(&rounds->two);
	values_exit(&rounds->single);
	free(rounds->scratch);
	free(rounds->number);
	free(rounds->overheads);
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
	struct rounds rounds;
	size_t i;

	memset(stats, 0, sizeof(*stats));
	for (i = 0; i < result->n_samples; i++)
		count_sample(stats, &result->samples[i]);
	rounds_init(&rounds, result, read_tsc, 0, 0);
	finish(&rounds, stats);
	rounds_exit(&rounds);
}

size_t calm_stats_rounds(const struct calm_result *result, uint32_t *numbers, double *values)
{
	struct rounds rounds;
	size_t count;

	rounds_init(&rounds, result, read_tsc, 0, 0);
	count = rounds.n_overheads;
	memcpy(numbers, rounds.number, count * sizeof(*numbers));
	memcpy(values, rounds.single.medians, count * sizeof(*values));
	rounds_exit(&rounds);
	return count;
}

struct calm_summary calm_stats_rate(const struct calm_result *result, double amount)
{
	struct calm_summary summary;
	struct rounds rounds;
	bool known = true;
	size_t i;

	rounds_init(&rounds, result, read_tsc, 0, amount);
	/* what the overhead has left nothing of has no rate */
	for (i = 0; i < rounds.single.n_all; i++)
		known = known && rounds.single.all[i] > 0 && isfinite(rounds.single.all[i]);
	summary = summarize(&rounds.single);
	summary.valid = summary.valid && known;
	rounds_exit(&rounds);
	return summary;
}

static double overhead_of(struct rounds *rounds)
{
	return rounds->n_overheads ? calm_stats_median(rounds->overheads, rounds->n_overheads) : 0;
}

void calm_stats_count(const struct calm_result *result, size_t index, struct calm_count *count)
{
	struct rounds rounds;

	rounds_init(&rounds, result, read_count, index, 0);
	count->per_access = summarize(&rounds.single);
	count->two_lengths = summarize(&rounds.two);
	count->overhead = overhead_of(&rounds);
	rounds_exit(&rounds);
}

bool calm_stats_has_clocks(const struct calm_result *result)
{
	size_t i;

	for (i = 0; i < result->n_samples; i++)
		if (!has_clocks(&result->samples[i]))
			return false;
	return result->n_samples > 0;
}

static void set_cycles(struct calm_stats *stats, const char *source,
		       const struct calm_summary *single, const struct calm_summary *two,
		       double overhead)
{
	if (!single->valid || stats->tsc_per_access.median <= 0)
		return;
	stats->clock_source = source;
	stats->core_per_tsc = single->median / stats->tsc_per_access.median;
	stats->cycles_per_access = *single;
	stats->cycles_two_lengths = *two;
	stats->overhead_cycles = overhead;
}

static void cycles_by_aperf(const struct calm_result *result, struct calm_stats *stats)
{
	struct calm_summary single, two;
	struct rounds rounds;

	rounds_init(&rounds, result, read_by_aperf, 0, 0);
	single = summarize(&rounds.single);
	two = summarize(&rounds.two);
	set_cycles(stats, "aperf", &single, &two, overhead_of(&rounds));
	rounds_exit(&rounds);
}

void calm_stats_cycles(const struct calm_result *result, const struct calm_clock *clock,
		       struct calm_stats *stats)
{
	struct calm_summary single, two;
	struct calm_count count;

	if (!stats->tsc_per_access.valid)
		return;
	if (clock->has_event) {
		calm_stats_count(result, clock->event, &count);
		set_cycles(stats, "fixed", &count.per_access, &count.two_lengths, count.overhead);
	} else if (calm_stats_has_clocks(result)) {
		cycles_by_aperf(result, stats);
	} else if (clock->core_per_tsc > 0) {
		single = calm_stats_scale(&stats->tsc_per_access, clock->core_per_tsc);
		two = calm_stats_scale(&stats->tsc_two_lengths, clock->core_per_tsc);
		set_cycles(stats, "calibrated", &single, &two,
			   stats->overhead_tsc * clock->core_per_tsc);
	}
}

/* Marks those of one round whose frequency is off. */
static void mark_round(struct calm_sample **samples, size_t count)
{
	double *ratios = calm_alloc(count, sizeof(*ratios)), median;
	size_t i;

	for (i = 0; i < count; i++)
		ratios[i] = (double)samples[i]->aperf / (double)samples[i]->mperf;
	median = calm_stats_median(ratios, count);
	for (i = 0; i < count; i++) {
		double ratio = (double)samples[i]->aperf / (double)samples[i]->mperf;

		samples[i]->other_frequency = fabs(ratio / median - 1) > CALM_FREQUENCY_SHARE_MAX;
	}
	free(ratios);
}

void calm_stats_mark_frequency(struct calm_result *result)
{
	struct calm_sample **samples = calm_alloc(result->n_samples, sizeof(*samples));
	size_t i, count = 0, first, next;

	for (i = 0; i < result->n_samples; i++)
		if (has_clocks(&result->samples[i]) && result->samples[i].mperf >= MPERF_LEAST)
			samples[count++] = &result->samples[i];
	if (count)
		qsort(samples, count, sizeof(*samples), by_round);
	for (first = 0; first < count; first = next) {
		next = end_of_round((const struct calm_sample *const *)samples, count, first);
		mark_round(samples + first, next - first);
	}
	free(samples);
}

void calm_stats_keep_fastest(struct calm_result *result, const struct calm_clock *clock)
{
	size_t i, j;

	for (i = 0; i < result->n_samples; i++) {
		struct calm_sample *sample = &result->samples[i];

		for (j = 0; j < result->n_samples && !sample->passed_over; j++) {
			const struct calm_sample *other = &result->samples[j];
			struct reading mine, its;
			reader *read = clock->has_event ? read_count : read_tsc;

			if (i == j || other->round != sample->round || !is_usable(other))
				continue;
			read(sample, clock->event, &mine);
			read(other, clock->event, &its);
			sample->passed_over = its.pass < mine.pass ||
					      (its.pass == mine.pass && j < i);
		}
	}
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
