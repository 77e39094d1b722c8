/* SPDX-License-Identifier: GPL-2.0-only */
/* Latency of each level that the system claims to have. */
#ifndef CALM_DERIVE_LEVELS_H
#define CALM_DERIVE_LEVELS_H

#include "data.h"

/**
 * calm_derive_levels() - latency of caches and memory from a curve over sizes
 * @points: points of a chase, in any order
 * @n_points: how many
 * @machine: claimed caches, and the rate of the TSC
 * @derived: out
 *
 * A point lies inside the first level up to half its capacity, inside another
 * one from twice the capacity of the level before up to half its own, and in
 * memory from four times the last capacity on. That holds for points that touch
 * every line: those with a stride above a level's line say nothing of it. The
 * first level's latency comes from two lengths, in which every constant cost
 * cancels.
 */
void calm_derive_levels(const struct calm_measured *points, size_t n_points,
			const struct calm_machine *machine, struct calm_derived *derived);

#endif
