/* SPDX-License-Identifier: GPL-2.0-only */
/* From the samples of a point to its statistics. Pure: nothing but numbers. */
#ifndef CALM_STATS_H
#define CALM_STATS_H

#include "data.h"

/* An overhead above this share of a sample leaves too little to trust. */
#define CALM_OVERHEAD_SHARE_MAX 0.1

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
 * calm_stats_scale() - a summary in another unit
 * @summary: the summary
 * @factor: what its values are multiplied by
 *
 * Return: the scaled summary.
 */
struct calm_summary calm_stats_scale(const struct calm_summary *summary, double factor);

#endif
