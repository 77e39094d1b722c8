// SPDX-License-Identifier: GPL-2.0-only
/* How the passes of a loop are spread around the fastest one. */
#include <stdlib.h>
#include <string.h>

#include "noise.h"
#include "stats.h"
#include "util.h"

static const double shares[CALM_NOISE_QUANTILES] = {
	0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1,
};

static const double percents[CALM_NOISE_BINS] = { 0, 0.1, 0.3, 1, 3, 10, 30, 100 };

static int by_value(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static bool is_usable(const struct calm_sample *sample)
{
	return !sample->disturb && !sample->other_frequency && !sample->passed_over;
}

static size_t bin_of(double percent)
{
	size_t bin = 0;

	while (bin + 1 < CALM_NOISE_BINS && percent >= percents[bin + 1])
		bin++;
	return bin;
}

bool calm_derive_noise(const struct calm_measured *point, double tsc_hz, struct calm_noise *noise)
{
	const struct calm_result *result = &point->result;
	double *ns = calm_alloc(result->n_samples + 1, sizeof(*ns));
	double to_ns = tsc_hz > 0 ? 1e9 / tsc_hz / (double)result->effective.loads : 0;
	size_t i, n = 0;

	memset(noise, 0, sizeof(*noise));
	memcpy(noise->share, shares, sizeof(shares));
	memcpy(noise->percent, percents, sizeof(percents));
	for (i = 0; i < result->n_samples; i++) {
		const struct calm_sample *sample = &result->samples[i];

		if (is_usable(sample))
			ns[n++] = to_ns * ((double)sample->tsc -
					   sample->windows * point->stats.overhead_tsc);
	}
	noise->samples = n;
	noise->dropped = result->n_samples - n;
	qsort(ns, n, sizeof(*ns), by_value);
	for (i = 0; n && i < CALM_NOISE_QUANTILES; i++)
		noise->quantile_ns[i] = calm_stats_quantile(ns, n, shares[i]);
	for (i = 0; i < n; i++)
		noise->bin[bin_of(ns[0] > 0 ? (ns[i] / ns[0] - 1) * 100 : 0)]++;
	free(ns);
	/* passes that are mostly overhead do not differ by what their loads do */
	return n && to_ns > 0 && !point->stats.refused;
}
