/* SPDX-License-Identifier: GPL-2.0-only */
/* Buffers whose page size, frames and node are as asked, or not given at all. */
#ifndef CALM_BUF_H
#define CALM_BUF_H

#include <linux/types.h>

#include "data.h"

struct page;

/**
 * struct calm_buf - a virtually contiguous buffer and what it was found to be
 * @base: its start
 * @bytes: its usable size
 * @pages: frames of a buffer of single ones in mapping order, else NULL
 * @nr_pages: number of @pages
 * @mapping: how it is mapped
 */
struct calm_buf {
	void *base;
	u64 bytes;
	struct page **pages;
	unsigned long nr_pages;
	struct calm_mapping mapping;
};

/**
 * struct calm_buf_spec - the buffer that is wanted
 * @bytes: size
 * @pages: enum calm_pages
 * @node: memory node of all frames
 * @seed: shuffles single frames
 * @stop: set by others to give up; may be NULL
 * @why: out: on failure, the reason for people
 */
struct calm_buf_spec {
	u64 bytes;
	u32 pages;
	int node;
	u64 seed;
	const int *stop;
	const char *why;
};

/**
 * calm_buf_limit() - how much a job's buffers may take now
 *
 * What is available less a reserve of 256 MiB or a tenth, whichever is more,
 * and not above module parameter max_bytes.
 *
 * Return: bytes.
 */
u64 calm_buf_limit(void);

/**
 * calm_buf_get() - get a buffer just as specified
 * @buf: out: the buffer
 * @spec: what is wanted
 *
 * May sleep, and takes time in proportion to the size.
 *
 * Return: 0; -ENOMEM when memory of that kind is not to be had, -EXDEV when it
 * came from another node, -ECANCELED when @spec->stop was set; nothing is kept
 * then and @spec->why says more.
 */
int calm_buf_get(struct calm_buf *buf, struct calm_buf_spec *spec);

/**
 * calm_buf_put() - give a buffer back
 * @buf: the buffer; an empty one is fine
 */
void calm_buf_put(struct calm_buf *buf);

#endif
