/* SPDX-License-Identifier: GPL-2.0-only */
/* How the passes of a loop are spread around the fastest one. */
#ifndef CALM_DERIVE_NOISE_H
#define CALM_DERIVE_NOISE_H

#include "data.h"

/**
 * calm_derive_noise() - distribution of the usable samples of a point
 * @point: the point
 * @tsc_hz: rate of the time stamp counter
 * @noise: out
 *
 * Return: false if there is no usable sample, if too much of each is overhead, or if the rate is
 * not known.
 */
bool calm_derive_noise(const struct calm_measured *point, double tsc_hz, struct calm_noise *noise);

#endif
