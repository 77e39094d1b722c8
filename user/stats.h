/* SPDX-License-Identifier: GPL-2.0-only */
/* From the samples of a point to its statistics. Pure: nothing but numbers. */
#ifndef CALM_STATS_H
#define CALM_STATS_H

#include "data.h"

/* An overhead above this share of a sample leaves too little to trust. */
#define CALM_OVERHEAD_SHARE_MAX 0.1

/* A core frequency that is off its round's median by more makes a sample unusable. */
#define CALM_FREQUENCY_SHARE_MAX 0.02

/**
 * struct calm_count - statistics of one event over a point
 * @per_access: counts per access
 * @two_lengths: the same from two lengths
 * @overhead: median over rounds of the counts of an empty window
 */
struct calm_count {
	struct calm_summary per_access;
	struct calm_summary two_lengths;
	double overhead;
};

/**
 * struct calm_clock - what tells core cycles, best first; else APERF of the samples
 * @has_event: an event counts them
 * @event: its place among the events of the point
 * @core_per_tsc: core cycles in a TSC tick as calibrated, or 0
 */
struct calm_clock {
	bool has_event;
	size_t event;
	double core_per_tsc;
};

/**
 * calm_stats_quantile() - quantile of type 7: linear between order statistics
 * @sorted: values in rising order
 * @count: how many, at least 1
 * @share: 0 to 1
 *
 * Return: the quantile.
 */
double calm_stats_quantile(const double *sorted, size_t count, double share);

/**
 * calm_stats_median() - median of values in any order
 * @values: the values; they are sorted
 * @count: how many, at least 1
 *
 * Return: the median.
 */
double calm_stats_median(double *values, size_t count);

/**
 * calm_stats_mad() - median absolute deviation from the median, unscaled
 * @values: the values; they are sorted
 * @count: how many, at least 1
 *
 * Return: the deviation.
 */
double calm_stats_mad(double *values, size_t count);

/**
 * calm_stats_point() - statistics of a point
 * @result: its samples
 * @stats: out
 *
 * The unit of replication is the round. Of each round's undisturbed samples
 * the median of the empty windows is the overhead, subtracted once for each
 * window of a pass, signed and never clamped.
 */
void calm_stats_point(const struct calm_result *result, struct calm_stats *stats);

/**
 * calm_stats_rounds() - value of each round of a point
 * @result: its samples
 * @rounds: out: numbers of the rounds with a usable sample; room for as many as samples
 * @values: out: median TSC ticks per access of each, overhead taken off; the same room
 *
 * Return: how many.
 */
size_t calm_stats_rounds(const struct calm_result *result, uint32_t *rounds, double *values);

/**
 * calm_stats_rate() - statistics of an amount by the time that it takes
 * @result: the samples
 * @amount: of one access
 *
 * Return: the amount per tick of the TSC; not valid if a pass took no longer than an empty one.
 */
struct calm_summary calm_stats_rate(const struct calm_result *result, double amount);

/**
 * calm_stats_count() - statistics of one event of a point
 * @result: its samples
 * @index: place of the event among the point's
 * @count: out
 *
 * As with ticks, the median count of the round's empty windows is taken off.
 */
void calm_stats_count(const struct calm_result *result, size_t index, struct calm_count *count);

/**
 * calm_stats_has_clocks() - whether every sample knows APERF and MPERF
 * @result: the samples
 *
 * Return: true if so.
 */
bool calm_stats_has_clocks(const struct calm_result *result);

/**
 * calm_stats_cycles() - add core cycles to the statistics of a point
 * @result: its samples
 * @clock: what tells them
 * @stats: as calm_stats_point() left them
 */
void calm_stats_cycles(const struct calm_result *result, const struct calm_clock *clock,
		       struct calm_stats *stats);

/**
 * calm_stats_mark_frequency() - find samples that the core clock changed in
 * @result: the samples, to be marked
 *
 * Those whose ratio of APERF to MPERF is off the median of their round by more than 2 %.
 */
void calm_stats_mark_frequency(struct calm_result *result);

/**
 * calm_stats_keep_fastest() - pass over all but the fastest usable sample of each round
 * @result: the samples, to be marked
 * @clock: tells what they are compared by: cycles if they were counted, else ticks
 */
void calm_stats_keep_fastest(struct calm_result *result, const struct calm_clock *clock);

/**
 * calm_stats_scale() - a summary in another unit
 * @summary: the summary
 * @factor: what its values are multiplied by
 *
 * Return: the scaled summary.
 */
struct calm_summary calm_stats_scale(const struct calm_summary *summary, double factor);

#endif
