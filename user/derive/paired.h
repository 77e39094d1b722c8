/* SPDX-License-Identifier: GPL-2.0-only */
/* Tests for values that come in pairs, and for many of them at once. */
#ifndef CALM_DERIVE_PAIRED_H
#define CALM_DERIVE_PAIRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fewer pairs cannot show a difference at 5 %, whatever they are: 2 / 2^5 is above it. */
#define CALM_PAIRS_MIN 6

/**
 * calm_paired_p() - Wilcoxon's signed-rank test, two-sided
 * @differences: of each pair
 * @count: how many
 *
 * Pairs without a difference are left out, equal sizes share their mean rank. Up to 100
 * differences the distribution is exact, ties included; above that the normal one is near enough
 * (Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", section 3.1).
 *
 * Return: the probability of a sum of ranks at least as far from its mean.
 */
double calm_paired_p(const double *differences, size_t count);

/**
 * calm_paired_interval() - 95 % interval of a median, by bootstrap
 * @values: the values
 * @count: how many, at least 1
 * @seed: same seed, same interval
 * @low: out: 2.5 % quantile of the medians of resamples
 * @high: out: 97.5 % quantile
 */
void calm_paired_interval(const double *values, size_t count, uint64_t seed, double *low,
			  double *high);

/**
 * calm_paired_discoveries() - which of many tests hold (Benjamini and Hochberg, 1995)
 * @p: their probabilities
 * @count: how many
 * @rate: share of false ones to be accepted
 *
 * Return: the largest probability that still holds, or a negative number if none does.
 */
double calm_paired_discoveries(const double *p, size_t count, double rate);

#endif
