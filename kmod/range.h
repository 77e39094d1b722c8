/* SPDX-License-Identifier: GPL-2.0-only */
/* Physically contiguous frames of one node, by the leaves that the kernel maps them with. */
#ifndef CALM_RANGE_H
#define CALM_RANGE_H

#include <linux/types.h>

#include "stop.h"

/**
 * struct calm_range_spec - the run of frames that is wanted
 * @frames: its length
 * @node: memory node of all frames
 * @level: enum pg_level of the leaves that map it in the kernel's own mapping of all
 *	memory, PG_LEVEL_NONE for any
 * @seed: where the search begins, so that rounds get different frames
 * @stop: when to give up; may be NULL
 */
struct calm_range_spec {
	unsigned long frames;
	int node;
	unsigned int level;
	u64 seed;
	const struct calm_stop *stop;
};

/**
 * calm_range_get() - get a run of frames
 * @spec: what is wanted
 * @first: out: number of its first frame
 *
 * As few leaves as can hold it are tried first, and free frames before such as
 * can be moved. May sleep, and takes
 * time in proportion to the node's memory at worst.
 *
 * Return: 0; -ENOSPC if there is none, -ECANCELED when @spec->stop said so.
 */
int calm_range_get(const struct calm_range_spec *spec, unsigned long *first);

/**
 * calm_range_put() - give frames back
 * @first: number of the first frame
 * @frames: how many
 */
void calm_range_put(unsigned long first, unsigned long frames);

/**
 * calm_range_has_level() - see whether any memory of a node is mapped by such leaves
 * @node: the node
 * @level: enum pg_level
 *
 * Return: true if the kernel's own mapping has one.
 */
bool calm_range_has_level(int node, unsigned int level);

#endif
