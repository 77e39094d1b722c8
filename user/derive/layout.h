/* SPDX-License-Identifier: GPL-2.0-only */
/* Layouts of chains: their size, and which point has one. */
#ifndef CALM_DERIVE_LAYOUT_H
#define CALM_DERIVE_LAYOUT_H

#include "data.h"

/**
 * calm_layout_bytes() - the buffer that a layout needs
 * @layout: the layout
 *
 * Return: bytes, whole pages of 4 KiB.
 */
uint64_t calm_layout_bytes(const struct calm_layout *layout);

/**
 * calm_layout_of() - the layout of a measured point
 * @point: the point
 *
 * Return: the layout, or NULL if its elements lie one in each stride.
 */
const struct calm_layout *calm_layout_of(const struct calm_measured *point);

/**
 * calm_layout_find() - the point with a layout
 * @points: points
 * @n_points: how many
 * @layout: the layout
 *
 * Return: the point, or NULL.
 */
const struct calm_measured *calm_layout_find(const struct calm_measured *points, size_t n_points,
					     const struct calm_layout *layout);

/**
 * calm_layout_cycles() - time of an access in a point
 * @point: the point
 * @cycles: out: core cycles where they are known, else TSC ticks
 *
 * Return: false if the point has no such value.
 */
bool calm_layout_cycles(const struct calm_measured *point, double *cycles);

/**
 * calm_layout_rate() - how often an event happened at an access
 * @point: the point
 * @name: name of the event
 * @rate: out: counts per access
 *
 * Return: false if it was not counted, or cannot be trusted.
 */
bool calm_layout_rate(const struct calm_measured *point, const char *name, double *rate);

#endif
