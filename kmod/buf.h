/* SPDX-License-Identifier: GPL-2.0-only */
/* Buffers whose page size, frames and node are as asked, or not given at all. */
#ifndef CALM_BUF_H
#define CALM_BUF_H

#include <linux/types.h>

#include "data.h"
#include "stop.h"

struct page;

#define CALM_BUF_WHY_MAX 128

/**
 * struct calm_buf - a virtually contiguous buffer and what it was found to be
 * @base: its start
 * @mapping: how it is mapped
 * @map: mapping of its own frame by frame, if any: starts at most a few pages before @base
 * @list: where @pages are kept, else NULL
 * @pages: frames of a buffer with such a mapping
 * @nr_pages: number of @pages
 * @first_frame: first frame of a buffer in the kernel's mapping of all memory
 * @nr_frames: number of its frames, 0 for other buffers
 */
struct calm_buf {
	void *base;
	struct calm_mapping mapping;

	/* private: what is given back */
	void *map;
	struct page **list;
	struct page **pages;
	unsigned long nr_pages;
	unsigned long first_frame;
	unsigned long nr_frames;
};

/**
 * struct calm_buf_spec - the buffer that is wanted
 * @bytes: size
 * @pages: enum calm_pages
 * @contiguous: all of it in one physically contiguous run
 * @node: memory node of all frames
 * @seed: shuffles single frames, and decides where others are looked for
 * @stop: when to give up; may be NULL
 * @why: out: on failure, the reason for people
 */
struct calm_buf_spec {
	u64 bytes;
	u32 pages;
	bool contiguous;
	int node;
	u64 seed;
	const struct calm_stop *stop;
	char why[CALM_BUF_WHY_MAX];
};

/**
 * calm_buf_alloc_list() - memory for a list that may be as long as a user likes
 * @bytes: its size
 *
 * Neither from the emergency reserves nor by killing others. A list of a page or less has no
 * mapping of its own.
 *
 * Return: zeroed memory for kvfree(), or NULL.
 */
void *calm_buf_alloc_list(size_t bytes);

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
 * calm_buf_node_of() - the node that a CPU's buffers come from
 * @cpu: the CPU
 *
 * Return: its own, or the nearest that has memory for the kernel.
 */
int calm_buf_node_of(unsigned int cpu);

/**
 * calm_buf_node_limit() - how much a job's buffers may take of a node now
 * @node: a node that has memory
 *
 * The same for the node alone, whose reserve is its share of the 256 MiB or a
 * tenth, and not above calm_buf_limit().
 *
 * Return: bytes.
 */
u64 calm_buf_node_limit(int node);

/**
 * calm_buf_get() - get a buffer just as specified
 * @buf: out: the buffer
 * @spec: what is wanted
 *
 * May sleep, and takes time in proportion to the size.
 *
 * Return: 0; -EADDRNOTAVAIL when memory of that kind is not to be had, -ENOMEM
 * when there is too little of any, -ECANCELED when @spec->stop said so; nothing
 * is kept then and @spec->why says more.
 */
int calm_buf_get(struct calm_buf *buf, struct calm_buf_spec *spec);

/**
 * calm_buf_verify() - see that a buffer is still mapped as it was
 * @buf: the buffer
 * @spec: what it was got by
 *
 * The kernel's own mapping of all memory loses large leaves when the
 * protection of a page of it is changed, whoever's page that is.
 *
 * Return: 0; -EIO with @spec->why, or -ECANCELED.
 */
int calm_buf_verify(struct calm_buf *buf, struct calm_buf_spec *spec);

/**
 * calm_buf_put() - give a buffer back
 * @buf: the buffer; an empty one is fine
 */
void calm_buf_put(struct calm_buf *buf);

#endif
