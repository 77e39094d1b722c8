// SPDX-License-Identifier: GPL-2.0-only
/* Allocates buffers by leaf size and verifies each leaf of what it got. */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/moduleparam.h>
#include <linux/nodemask.h>
#include <linux/numa.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>
#include <linux/vmstat.h>
#include <asm/pgtable.h>
#include <uapi/linux/calm.h>

#include "buf.h"
#include "compat.h"
#include "loops/random.h"
#include "range.h"

/* Work between two chances for others to run, in frames. */
#define FRAMES_AT_ONCE 1024

/* Neighbouring frames come in the largest blocks that the allocator has. */
#define BLOCK_FRAMES MAX_ORDER_NR_PAGES

#define RESERVE_BYTES SZ_256M
/* as many as an entry of a TLB may hold: AMD at Hot Chips 28, "PTE coalescing", 32 KiB */
#define ALIKE_FRAMES 8
#define ALIKE_TRIES 64

static unsigned long max_bytes = ULONG_MAX;
module_param(max_bytes, ulong, 0444);
MODULE_PARM_DESC(max_bytes, "all buffers of a job, in bytes (default: what free memory allows)");

static u64 less_reserve(u64 available, u64 reserve)
{
	reserve = max(reserve, available / 10);
	return min_t(u64, max_bytes, available > reserve ? available - reserve : 0);
}

u64 calm_buf_limit(void)
{
	return less_reserve((u64)max(si_mem_available(), 0L) << PAGE_SHIFT, RESERVE_BYTES);
}

/* Half of it, or what the zones keep free at least, is not given up. */
static u64 pages_to_spare(s64 pages, u64 low)
{
	return pages > 0 ? pages - min_t(u64, pages / 2, low) : 0;
}

static s64 node_pages(struct pglist_data *pgdat, enum node_stat_item item)
{
	return atomic_long_read(&pgdat->vm_stat[item]);
}

/* What si_mem_available() adds up, for one node and the zones that kernel memory may use. */
static u64 node_available(int node)
{
	struct pglist_data *pgdat = NODE_DATA(node);
	u64 low = 0, pages = 0;
	int i;

	for (i = 0; i <= ZONE_NORMAL; i++) {
		struct zone *zone = &pgdat->node_zones[i];

		if (!populated_zone(zone))
			continue;
		pages += zone_page_state(zone, NR_FREE_PAGES);
		low += low_wmark_pages(zone);
	}
	pages -= min_t(u64, pages, pgdat->totalreserve_pages);
	pages += pages_to_spare(node_pages(pgdat, NR_ACTIVE_FILE) +
				node_pages(pgdat, NR_INACTIVE_FILE), low);
	pages += pages_to_spare(node_pages(pgdat, NR_SLAB_RECLAIMABLE_B) +
				node_pages(pgdat, NR_KERNEL_MISC_RECLAIMABLE), low);
	return pages << PAGE_SHIFT;
}

/*
 * Not cpu_to_mem(): x86 has no CONFIG_HAVE_MEMORYLESS_NODES, without which that is the CPU's own
 * node, also where that has no memory (include/linux/topology.h, arch/x86/mm/numa.c).
 */
int calm_buf_node_of(unsigned int cpu)
{
	int own = cpu_to_node(cpu), nearest = first_node(node_states[N_NORMAL_MEMORY]), node;

	if (own == NUMA_NO_NODE)
		return nearest;
	if (node_state(own, N_NORMAL_MEMORY))
		return own;
	for_each_node_state(node, N_NORMAL_MEMORY)
		if (node_distance(own, node) < node_distance(own, nearest))
			nearest = node;
	return nearest;
}

u64 calm_buf_node_limit(int node)
{
	u64 limit = calm_buf_limit();

	if (num_node_state(N_MEMORY) == 1)
		return limit;
	return min(limit, less_reserve(node_available(node),
				       RESERVE_BYTES / num_node_state(N_MEMORY)));
}

static bool stopped(const struct calm_buf_spec *spec)
{
	return spec->stop && calm_is_stopped(spec->stop);
}

__printf(3, 4)
static int refuse(struct calm_buf_spec *spec, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(spec->why, sizeof(spec->why), format, args);
	va_end(args);
	return err;
}

/* " on node 1", or nothing where there is one node only. */
static const char *on_node(const struct calm_buf_spec *spec, char text[24])
{
	if (num_node_state(N_MEMORY) > 1)
		snprintf(text, 24, " on node %d", spec->node);
	else
		text[0] = '\0';
	return text;
}

/* Called before memory is taken, and again while it is. */
static int check_limit(struct calm_buf_spec *spec, u64 bytes)
{
	u64 limit = calm_buf_node_limit(spec->node);
	char where[24];

	if (stopped(spec))
		return -ECANCELED;
	if (bytes <= limit)
		return 0;
	return refuse(spec, -ENOMEM,
		      "free memory%s shrank: %llu MiB are wanted, %llu MiB can be had",
		      on_node(spec, where), DIV_ROUND_UP_ULL(bytes, SZ_1M), limit / SZ_1M);
}

static unsigned long frames_of(const struct calm_buf_spec *spec)
{
	return DIV_ROUND_UP_ULL(spec->bytes, PAGE_SIZE);
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

void *calm_buf_alloc_list(size_t bytes)
{
	const gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_NORETRY | __GFP_NOWARN;

	return bytes <= PAGE_SIZE ? kmalloc(bytes, gfp) : __vmalloc(bytes, gfp);
}

/* The places in front are for map_alike(). */
static int alloc_list(struct calm_buf *buf, struct calm_buf_spec *spec)
{
	unsigned long bytes = (frames_of(spec) + ALIKE_FRAMES - 1) * sizeof(*buf->list);
	int err = check_limit(spec, spec->bytes + bytes);

	if (err)
		return err;
	buf->list = calm_buf_alloc_list(bytes);
	if (!buf->list)
		return refuse(spec, -ENOMEM, "no memory for the list of frames");
	buf->pages = buf->list + ALIKE_FRAMES - 1;
	return 0;
}

static struct page *alloc_on_node(const struct calm_buf_spec *spec, unsigned int order)
{
	return alloc_pages_node(spec->node, GFP_KERNEL | __GFP_THISNODE | __GFP_NORETRY |
				__GFP_NOWARN, order);
}

/* Adds a block of frames, each of which can be given back on its own. */
static int add_block(struct calm_buf *buf, struct calm_buf_spec *spec, unsigned long frames)
{
	unsigned int order = get_order(frames << PAGE_SHIFT);
	struct page *page = alloc_on_node(spec, order);
	unsigned long i;

	if (!page)
		return -ENOSPC;
	split_page(page, order);
	for (i = 0; i < frames; i++)
		buf->pages[buf->nr_pages++] = page + i;
	for (; i < 1UL << order; i++)
		__free_page(page + i);
	return 0;
}

static int alloc_blocks(struct calm_buf *buf, struct calm_buf_spec *spec, unsigned long most)
{
	unsigned long wanted = frames_of(spec), checked = 0;
	int err = alloc_list(buf, spec);

	while (!err && buf->nr_pages < wanted) {
		if (buf->nr_pages - checked >= FRAMES_AT_ONCE) {
			cond_resched();
			checked = buf->nr_pages;
			err = check_limit(spec, (u64)(wanted - checked) << PAGE_SHIFT);
		}
		if (!err)
			err = add_block(buf, spec, min(most, wanted - buf->nr_pages));
	}
	return err;
}

/* Maps the frames behind @pad more, which are only there for the address of the first. */
static int map_frames_behind(struct calm_buf *buf, struct calm_buf_spec *spec, unsigned int pad)
{
	buf->map = vmap(buf->pages - pad, buf->nr_pages + pad, VM_MAP, PAGE_KERNEL);
	if (!buf->map)
		return refuse(spec, -ENOMEM, "no address range for the buffer");
	buf->base = (char *)buf->map + pad * PAGE_SIZE;
	return 0;
}

static int map_frames(struct calm_buf *buf, struct calm_buf_spec *spec)
{
	return map_frames_behind(buf, spec, 0);
}

/* How many pages behind an address a frame has its place in a group that a TLB may keep as one. */
static unsigned int pages_to_alike(const void *addr, const struct page *frame)
{
	return (page_to_pfn(frame) - ((unsigned long)addr >> PAGE_SHIFT)) % ALIKE_FRAMES;
}

/*
 * Maps contiguous frames so that their addresses are aligned as they are: only
 * then can a TLB that keeps neighbouring pages as one do so. vmap() chooses the
 * address: the lowest that is free. What it chose wrongly stays mapped until
 * the end, and the next try reckons to lie right behind it and its guard page.
 * That fails where the one before filled a hole, so there are many tries.
 */
static int map_alike(struct calm_buf *buf, struct calm_buf_spec *spec)
{
	void *tried[ALIKE_TRIES];
	unsigned int tries, pad;
	int err = 0;

	for (pad = 1; pad < ALIKE_FRAMES; pad++)
		*(buf->pages - pad) = buf->pages[0];
	for (tries = 0, pad = 0; tries < ALIKE_TRIES; tries++) {
		err = stopped(spec) ? -ECANCELED : map_frames_behind(buf, spec, pad);
		if (err || !pages_to_alike(buf->base, buf->pages[0]))
			break;
		pad = pages_to_alike((char *)buf->base + (buf->nr_pages + 1) * PAGE_SIZE,
				     buf->pages[0]);
		tried[tries] = buf->map;
		buf->map = NULL;
	}
	if (!err && !buf->map)
		err = refuse(spec, -ENOMEM, "no address range that is aligned as the frames are");
	while (tries--)
		vunmap(tried[tries]);
	return err;
}

static int get_4k(struct calm_buf *buf, struct calm_buf_spec *spec)
{
	int err = alloc_blocks(buf, spec, 1);
	char where[24];

	if (err == -ENOSPC)
		return refuse(spec, -ENOMEM, "no free frame left%s after %lu of %lu",
			      on_node(spec, where), buf->nr_pages, frames_of(spec));
	if (!err)
		err = shuffle_frames(buf->pages, buf->nr_pages, spec);
	return err ?: map_frames(buf, spec);
}

static int get_range(struct calm_buf_spec *spec, unsigned int level, unsigned long *first)
{
	const struct calm_range_spec range = {
		.frames = frames_of(spec),
		.node = spec->node,
		.level = level,
		.seed = spec->seed,
		.stop = spec->stop,
	};
	int err = check_limit(spec, spec->bytes);

	return err ?: calm_range_get(&range, first);
}

static int by_first_frame(const void *a, const void *b)
{
	const struct page *const *left = a, *const *right = b;

	return *left < *right ? -1 : *left > *right;
}

/*
 * Blocks in the order of their addresses: many of them adjoin. A short one stays the last. Only the
 * first frame of each is sorted, since sort() lets nobody else run meanwhile; the others follow it.
 */
static void sort_blocks(struct calm_buf *buf)
{
	unsigned long i, frame, nr = buf->nr_pages / BLOCK_FRAMES;

	for (i = 0; i < nr; i++)
		buf->pages[i] = buf->pages[i * BLOCK_FRAMES];
	sort(buf->pages, nr, sizeof(*buf->pages), by_first_frame, NULL);
	for (i = nr; i--; cond_resched()) {
		struct page *first = buf->pages[i];

		for (frame = 0; frame < BLOCK_FRAMES; frame++)
			buf->pages[i * BLOCK_FRAMES + frame] = first + frame;
	}
}

static int get_blocks(struct calm_buf *buf, struct calm_buf_spec *spec)
{
	int err = alloc_blocks(buf, spec, BLOCK_FRAMES);

	if (err)
		return err;
	sort_blocks(buf);
	return map_alike(buf, spec);
}

static int get_run(struct calm_buf *buf, struct calm_buf_spec *spec)
{
	unsigned long first;
	int err = alloc_list(buf, spec);

	if (!err)
		err = get_range(spec, PG_LEVEL_NONE, &first);
	if (err)
		return err;
	while (buf->nr_pages < frames_of(spec)) {
		buf->pages[buf->nr_pages] = pfn_to_page(first + buf->nr_pages);
		buf->nr_pages++;
	}
	return map_alike(buf, spec);
}

static int get_4k_contig(struct calm_buf *buf, struct calm_buf_spec *spec)
{
	int err = -ENOSPC;

	if (!spec->contiguous)
		err = get_blocks(buf, spec);
	if (err != -ENOSPC)
		return err;
	calm_buf_put(buf);
	return get_run(buf, spec);
}

/* A run of frames where the kernel's mapping of all memory has the leaf that is wanted. */
static int get_direct(struct calm_buf *buf, struct calm_buf_spec *spec, unsigned int level)
{
	unsigned long first;
	int err = get_range(spec, level, &first);

	if (err)
		return err;
	buf->first_frame = first;
	buf->nr_frames = frames_of(spec);
	buf->base = __va(PFN_PHYS(first));
	return 0;
}

/*
 * vmalloc_huge() falls back to 4 KiB leaves without a word, which inspect()
 * notices. It tries large leaves only if each node's even share of the size
 * would fill one (Linux 6.12, __vmalloc_node_range()).
 */
static int get_vmalloc(struct calm_buf *buf, struct calm_buf_spec *spec)
{
	u64 bytes = max_t(u64, round_up(spec->bytes, PMD_SIZE), num_online_nodes() * PMD_SIZE);
	int err = check_limit(spec, bytes);

	if (err)
		return err;
	buf->base = calm_vmalloc_huge(bytes, spec->node);
	return buf->base ? 0 : -ENOSPC;
}

static int get_2m_direct(struct calm_buf *buf, struct calm_buf_spec *spec)
{
	return get_direct(buf, spec, PG_LEVEL_2M);
}

static int get_1g(struct calm_buf *buf, struct calm_buf_spec *spec)
{
	return get_direct(buf, spec, PG_LEVEL_1G);
}

#define WAYS 2

/**
 * struct kind - how buffers of one leaf size are got
 * @name: what users call it
 * @leaf: name of its leaf
 * @level: the leaf that each part must be mapped by
 * @run_bytes: some part of this size, or all of a smaller buffer, must be contiguous
 * @ways: to get one, tried in order, or the other way round where all must be contiguous; each
 *	fills base and what is given back
 */
struct kind {
	const char *name;
	const char *leaf;
	unsigned int level;
	u64 run_bytes;
	int (*ways[WAYS])(struct calm_buf *buf, struct calm_buf_spec *spec);
};

static const struct kind kinds[] = {
	[CALM_PAGES_4K] = { "4k", "4 KiB", PG_LEVEL_4K, 0, { get_4k } },
	[CALM_PAGES_2M] = { "2m", "2 MiB", PG_LEVEL_2M, 0, { get_vmalloc, get_2m_direct } },
	[CALM_PAGES_4K_CONTIG] = { "4k-contig", "4 KiB", PG_LEVEL_4K,
				   BLOCK_FRAMES * PAGE_SIZE, { get_4k_contig } },
	[CALM_PAGES_1G] = { "1g", "1 GiB", PG_LEVEL_1G, 0, { get_1g } },
};

/* What can be asked for instead, as far as that is known without trying. */
static const char *alternatives(const struct calm_buf_spec *spec, char *text, size_t size)
{
	static const u32 order[] = {
		CALM_PAGES_2M, CALM_PAGES_1G, CALM_PAGES_4K, CALM_PAGES_4K_CONTIG,
	};
	int len = 0, i;

	text[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		if (order[i] == spec->pages ||
		    (order[i] == CALM_PAGES_4K && spec->contiguous) ||
		    (order[i] == CALM_PAGES_1G &&
		     !calm_range_has_level(spec->node, PG_LEVEL_1G)))
			continue;
		len += scnprintf(text + len, size - len, "%s%s", len ? ", " : "",
				 kinds[order[i]].name);
	}
	return text;
}

/* Says what was not to be had, and names what else there is. */
static int refuse_kind(struct calm_buf_spec *spec)
{
	const struct kind *kind = &kinds[spec->pages];
	bool exists = kind->level != PG_LEVEL_1G ||
		      calm_range_has_level(spec->node, PG_LEVEL_1G);
	char others[48], node[24];
	const char *where = num_node_state(N_MEMORY) > 1 ? on_node(spec, node) : " here";

	alternatives(spec, others, sizeof(others));
	if (!exists)
		return refuse(spec, -EADDRNOTAVAIL, "no %s leaves%s: pages %s", kind->leaf, where,
			      others);
	return refuse(spec, -EADDRNOTAVAIL, "no %llu KiB free in %s leaves%s%s: pages %s%s",
		      DIV_ROUND_UP_ULL(spec->bytes, SZ_1K), kind->leaf,
		      spec->contiguous ? " and one run" : "", where, others,
		      spec->contiguous ? ", or without contig" : "");
}

/**
 * struct walk - a way through the leaves of a buffer
 * @addr: what comes next
 * @end: end of the buffer, whole frames
 * @next_frame: the frame that would be adjacent
 * @run_bytes: contiguous up to here
 */
struct walk {
	unsigned long addr;
	unsigned long end;
	unsigned long next_frame;
	u64 run_bytes;
};

static unsigned long leaf_frame(const pte_t *entry, unsigned int level)
{
	switch (level) {
	case PG_LEVEL_1G:
		return pud_pfn(*(const pud_t *)entry);
	case PG_LEVEL_2M:
		return pmd_pfn(*(const pmd_t *)entry);
	default:
		return pte_pfn(*entry);
	}
}

/* Takes the walk over a leaf. Returns its level, PG_LEVEL_NONE if unmapped, and its @node. */
static unsigned int inspect_leaf(struct walk *walk, struct calm_mapping *map, int *node)
{
	unsigned int level;
	const pte_t *entry = lookup_address(walk->addr, &level);
	unsigned long frame, leaf_bytes, part;

	if (!entry || !pte_present(*entry))
		return PG_LEVEL_NONE;
	leaf_bytes = page_level_size(level);
	frame = leaf_frame(entry, level);
	part = min(round_down(walk->addr, leaf_bytes) + leaf_bytes, walk->end) - walk->addr;

	map->leaves_4k += level == PG_LEVEL_4K;
	map->leaves_2m += level == PG_LEVEL_2M;
	map->leaves_1g += level == PG_LEVEL_1G;
	map->adjacent_frames += (leaf_bytes >> PAGE_SHIFT) - 1;
	if (frame == walk->next_frame)
		map->adjacent_frames++;
	else
		walk->run_bytes = 0;
	walk->next_frame = frame + (leaf_bytes >> PAGE_SHIFT);
	walk->run_bytes += part;
	walk->addr += part;
	map->contiguous_bytes = max(map->contiguous_bytes, walk->run_bytes);
	*node = page_to_nid(pfn_to_page(frame));
	if (*node < 64)
		map->node_mask |= BIT_ULL(*node);
	return level;
}

/*
 * Verifies each leaf of a buffer: its size, and that its frames are the node's.
 * Returns -ENOSPC for what another way of getting it may do better.
 */
static int inspect(struct calm_buf *buf, struct calm_buf_spec *spec, struct calm_mapping *map)
{
	struct walk walk = {
		.addr = (unsigned long)buf->base,
		.end = (unsigned long)buf->base + round_up(spec->bytes, PAGE_SIZE),
	};
	const struct kind *kind = &kinds[spec->pages];
	unsigned long i = 0;
	u64 run_bytes;
	int node;

	*map = (struct calm_mapping){};
	while (walk.addr < walk.end) {
		if (inspect_leaf(&walk, map, &node) != kind->level ||
		    node != spec->node)
			return -ENOSPC;
		if (++i % FRAMES_AT_ONCE)
			continue;
		cond_resched();
		if (stopped(spec))
			return -ECANCELED;
	}
	run_bytes = spec->contiguous ? spec->bytes : min(spec->bytes, kind->run_bytes);
	return map->contiguous_bytes < run_bytes ? -ENOSPC : 0;
}

int calm_buf_get(struct calm_buf *buf, struct calm_buf_spec *spec)
{
	const struct kind *kind = &kinds[spec->pages];
	int i, err = -ENOSPC;

	*buf = (struct calm_buf){};
	for (i = 0; i < WAYS && err == -ENOSPC; i++) {
		int way = spec->contiguous ? WAYS - 1 - i : i;

		if (!kind->ways[way])
			continue;
		err = kind->ways[way](buf, spec);
		if (!err)
			err = inspect(buf, spec, &buf->mapping);
		if (err)
			calm_buf_put(buf);
	}
	return err == -ENOSPC ? refuse_kind(spec) : err;
}

int calm_buf_verify(struct calm_buf *buf, struct calm_buf_spec *spec)
{
	struct calm_mapping now;
	int err;

	if (!buf->nr_frames)	/* a mapping of its own, which nobody else changes */
		return 0;
	err = inspect(buf, spec, &now);
	if (err == -ENOSPC)
		return refuse(spec, -EIO, "the kernel split a leaf that mapped the buffer");
	return err;
}

void calm_buf_put(struct calm_buf *buf)
{
	unsigned long i;

	if (buf->nr_frames) {
		calm_range_put(buf->first_frame, buf->nr_frames);
	} else if (!buf->list) {
		vfree(buf->base);
	} else {
		vunmap(buf->map);
		for (i = 0; i < buf->nr_pages; i++) {
			__free_page(buf->pages[i]);
			if (i % FRAMES_AT_ONCE == 0)
				cond_resched();
		}
		kvfree(buf->list);
	}
	*buf = (struct calm_buf){};
}
