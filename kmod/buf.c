// SPDX-License-Identifier: GPL-2.0-only
/* Allocates buffers by leaf size and verifies each leaf of what it got. */
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/nodemask.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>
#include <asm/pgtable.h>
#include <uapi/linux/calm.h>

#include "buf.h"
#include "loops/random.h"

/* Work between two chances for others to run, in frames. */
#define FRAMES_AT_ONCE 1024

static unsigned long max_bytes = ULONG_MAX;
module_param(max_bytes, ulong, 0444);
MODULE_PARM_DESC(max_bytes, "all buffers of a job, in bytes (default: what free memory allows)");

u64 calm_buf_limit(void)
{
	u64 available = (u64)max(si_mem_available(), 0L) << PAGE_SHIFT;
	u64 reserve = max_t(u64, SZ_256M, available / 10);

	return min_t(u64, max_bytes, available > reserve ? available - reserve : 0);
}

static bool stopped(const struct calm_buf_spec *spec)
{
	return spec->stop && READ_ONCE(*spec->stop);
}

static int refuse(struct calm_buf_spec *spec, int err, const char *why)
{
	spec->why = why;
	return err;
}

/* Exchanges frames at random, so that neighbours in the mapping are strangers. */
static int shuffle_frames(struct page **pages, unsigned long nr, const struct calm_buf_spec *spec)
{
	unsigned long i, other;
	u64 random = spec->seed;

	for (i = nr - 1; i; i--) {
		other = calm_random_below(&random, i + 1);	/* swap() takes it twice */
		swap(pages[i], pages[other]);
		if (i % FRAMES_AT_ONCE)
			continue;
		cond_resched();
		if (stopped(spec))
			return -ECANCELED;
	}
	return 0;
}

static int alloc_frames(struct calm_buf *buf, struct calm_buf_spec *spec)
{
	const gfp_t gfp = GFP_KERNEL | __GFP_THISNODE | __GFP_NORETRY | __GFP_NOWARN;
	unsigned long wanted = DIV_ROUND_UP_ULL(spec->bytes, PAGE_SIZE);

	buf->pages = kvmalloc_array(wanted, sizeof(*buf->pages), GFP_KERNEL | __GFP_NOWARN);
	if (!buf->pages)
		return refuse(spec, -ENOMEM, "no memory for the list of frames");

	while (buf->nr_pages < wanted) {
		struct page *page;

		if (buf->nr_pages % FRAMES_AT_ONCE == 0) {
			u64 left = (u64)(wanted - buf->nr_pages) << PAGE_SHIFT;

			cond_resched();
			if (stopped(spec))
				return -ECANCELED;
			if (calm_buf_limit() < left)
				return refuse(spec, -ENOMEM, "free memory shrank below the limit");
		}
		page = alloc_pages_node(spec->node, gfp, 0);
		if (!page)
			return refuse(spec, -ENOMEM, "the node has too few free 4 KiB frames");
		buf->pages[buf->nr_pages++] = page;
	}
	return 0;
}

static int get_4k(struct calm_buf *buf, struct calm_buf_spec *spec)
{
	int err = alloc_frames(buf, spec);

	if (!err)
		err = shuffle_frames(buf->pages, buf->nr_pages, spec);
	if (err)
		return err;
	buf->base = vmap(buf->pages, buf->nr_pages, VM_MAP, PAGE_KERNEL);
	if (!buf->base)
		return refuse(spec, -ENOMEM, "no address range for the buffer");
	return 0;
}

/*
 * vmalloc_huge() takes frames of the calling thread's node first, which is
 * that of the CPU it is bound to; it falls back to 4 KiB leaves without a
 * word, which inspect() notices. It tries large leaves only if each node's
 * even share of the size would fill one (Linux 6.12, __vmalloc_node_range()).
 */
static int get_2m(struct calm_buf *buf, struct calm_buf_spec *spec)
{
	u64 bytes = max_t(u64, round_up(spec->bytes, PMD_SIZE), num_online_nodes() * PMD_SIZE);

	if (stopped(spec))
		return -ECANCELED;
	if (calm_buf_limit() < bytes)
		return refuse(spec, -ENOMEM, "free memory shrank below the limit");
	buf->base = vmalloc_huge(bytes, GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);
	if (!buf->base)
		return refuse(spec, -ENOMEM, "no 2 MiB frames; ask for 4k pages");
	return 0;
}

/**
 * struct kind - how buffers of one leaf size are got
 * @get: fills base and pages
 * @level: the leaf that each part must be mapped by
 * @missing: what to say if another leaf is found
 */
struct kind {
	int (*get)(struct calm_buf *buf, struct calm_buf_spec *spec);
	unsigned int level;
	const char *missing;
};

static const struct kind kinds[] = {
	[CALM_PAGES_4K] = { get_4k, PG_LEVEL_4K, "mapped by larger leaves than 4 KiB" },
	[CALM_PAGES_2M] = { get_2m, PG_LEVEL_2M, "no 2 MiB leaves to be had; ask for 4k pages" },
};

/* Adds a leaf to what is known of a buffer. Returns its size, 0 if unmapped. */
static u64 inspect_leaf(struct calm_mapping *map, unsigned long addr, unsigned int *level,
			u64 *run_bytes, unsigned long *next_pfn)
{
	unsigned long pfn;
	struct page *page;
	u64 bytes;

	if (!lookup_address(addr, level))
		return 0;
	page = vmalloc_to_page((void *)addr);
	if (!page)
		return 0;

	bytes = page_level_size(*level);
	pfn = page_to_pfn(page);
	map->leaves_4k += *level == PG_LEVEL_4K;
	map->leaves_2m += *level == PG_LEVEL_2M;
	map->leaves_1g += *level == PG_LEVEL_1G;
	map->adjacent_frames += (bytes >> PAGE_SHIFT) - 1;
	if (pfn == *next_pfn)
		map->adjacent_frames++;
	else
		*run_bytes = 0;
	*run_bytes += bytes;
	*next_pfn = pfn + (bytes >> PAGE_SHIFT);
	map->contiguous_bytes = max(map->contiguous_bytes, *run_bytes);
	if (page_to_nid(page) < 64)
		map->node_mask |= BIT_ULL(page_to_nid(page));
	return bytes;
}

/* Verifies each leaf of a buffer: its size, and that its frames are the node's. */
static int inspect(struct calm_buf *buf, struct calm_buf_spec *spec, const struct kind *kind)
{
	unsigned long addr = (unsigned long)buf->base, next_pfn = 0;
	unsigned long end = addr + spec->bytes;
	unsigned int level, i = 0;
	u64 bytes, run_bytes = 0;
	bool local = true;

	for (; addr < end; addr += bytes) {
		bytes = inspect_leaf(&buf->mapping, addr, &level, &run_bytes, &next_pfn);
		if (!bytes || level != kind->level)
			return refuse(spec, -ENOMEM, kind->missing);
		local &= page_to_nid(vmalloc_to_page((void *)addr)) == spec->node;
		if (++i % FRAMES_AT_ONCE)
			continue;
		cond_resched();
		if (stopped(spec))
			return -ECANCELED;
	}
	return local ? 0 : refuse(spec, -EXDEV,
				  "memory came from another node; ask for 4k pages or a CPU of that node");
}

int calm_buf_get(struct calm_buf *buf, struct calm_buf_spec *spec)
{
	const struct kind *kind = &kinds[spec->pages];
	int err;

	*buf = (struct calm_buf){ .bytes = spec->bytes };
	err = kind->get(buf, spec);
	if (!err)
		err = inspect(buf, spec, kind);
	if (err)
		calm_buf_put(buf);
	return err;
}

void calm_buf_put(struct calm_buf *buf)
{
	unsigned long i;

	if (!buf->pages) {
		vfree(buf->base);
	} else {
		vunmap(buf->base);
		for (i = 0; i < buf->nr_pages; i++) {
			__free_page(buf->pages[i]);
			if (i % FRAMES_AT_ONCE == 0)
				cond_resched();
		}
		kvfree(buf->pages);
	}
	*buf = (struct calm_buf){};
}
