/* SPDX-License-Identifier: GPL-2.0-only */
/* Latency of each level alone, from miss rates. */
#ifndef CALM_DERIVE_E1_H
#define CALM_DERIVE_E1_H

#include "data.h"

/**
 * calm_derive_e1() - take the means of a chase apart by where its loads were served
 * @points: points of a chase, with cycles and the events l1-miss, l2-miss and l3-miss
 * @n_points: how many
 * @derived: its levels and memory get isolated latencies
 *
 * With miss rates m1, m2, m3 the mean time of a load is T = (1 - m1) t1 + (m1 - m2) t2 +
 * (m2 - m3) t3 + m3 tD. Sizes at which m1 is below 0.01 % give t1; those where m2 is, but not m1,
 * give t2 from it, and so on outward. Several sizes: the median. Memory is behind the last level
 * that the system claims; of more than three the outer ones and memory are not known.
 */
void calm_derive_e1(const struct calm_measured *points, size_t n_points,
		    struct calm_derived *derived);

#endif
