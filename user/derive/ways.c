// SPDX-License-Identifier: GPL-2.0-only
/* Ways, sets and line of the first two caches: which layout to chase next, and what follows. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "derive/conflict.h"
#include "derive/layout.h"
#include "util.h"
#include "ways.h"

/* Where nothing is claimed: the largest distance at which lines of a page meet in few sets. */
#define START_BYTES 4096ULL
#define PAGE_BYTES  4096ULL

#define WAYS_MOST	64
#define ELEMENT_BYTES	8ULL
#define LINE_LEAST	16ULL
#define LINE_MOST	512ULL
#define LINE_USUAL	64ULL

/*
 * One line more than a set has ways, again and again in the same order: whatever the policy, no
 * more accesses hit between two misses than there are ways less one (Belady, "A study of
 * replacement algorithms", 1966). A lower rate has another cause: with tree-PLRU a line of the
 * module's own stays in a set that the others would fill. Below MISSES_LEAST nothing is told.
 */
#define MISSES_SHARE 0.8
#define MISSES_LEAST 0.03
#define TIME_MARGIN  0.08

/* A buffer of so many first caches misses in all of them, and fits the next one. */
#define REFERENCE_TIMES 3

/* One of so many of the level itself misses there too, or mostly if that replaces at random. */
#define BEYOND_TIMES 2

/* Members of a test of the second cache fill the first one so often, if its sets are enough. */
#define FILL_TIMES 2

static const char *const misses[] = { "l1-miss", "l2-miss" };

#define LEVELS CALM_ARRAY_SIZE(misses)

/**
 * struct search - a search for one level
 * @points: what was measured
 * @n_points: how many
 * @wanted: the layout that is missing
 * @number: the level, from 0
 * @inner: the level inside it, or NULL
 * @block: lines of a member
 * @line_bytes: distance of these
 * @reference: time of an access that the level serves
 * @beyond: time of one that it does not, as far as is known; else that time or less
 */
struct search {
	const struct calm_measured *points;
	size_t n_points;
	struct calm_layout *wanted;
	size_t number;
	const struct calm_level *inner;
	uint64_t block;
	uint64_t line_bytes;
	double reference;
	double beyond;
};

static int find_point(const struct search *search, const struct calm_layout *layout,
		      const struct calm_measured **point)
{
	*point = calm_layout_find(search->points, search->n_points, layout);
	if (*point)
		return 0;
	*search->wanted = *layout;
	return -EAGAIN;
}

/* Rate of misses from which so many lines of a set do not fit it. */
static double least_misses(uint64_t members)
{
	double least = members > 1 ? MISSES_SHARE / (double)(members - 1) : MISSES_SHARE;

	return least > MISSES_LEAST ? least : MISSES_LEAST;
}

/* Whether @members of a layout in each set do not fit it: 1 or 0, or a negative errno. */
static int evicts(const struct search *search, const struct calm_layout *layout, uint64_t members)
{
	const struct calm_measured *point;
	double rate, cycles;
	int err = find_point(search, layout, &point);

	if (err)
		return err;
	if (calm_layout_rate(point, misses[search->number], &rate))
		return rate > least_misses(members);
	if (!calm_layout_cycles(point, &cycles))
		return -ENODATA;
	if (cycles <= search->reference * (1 + TIME_MARGIN))
		return 0;
	rate = (cycles - search->reference) / (search->beyond - search->reference);
	return search->beyond <= search->reference * (1 + TIME_MARGIN) ||
	       rate > least_misses(members);
}

static struct calm_layout dense(const char *name, uint64_t lines, uint64_t line_bytes)
{
	return (struct calm_layout){
		.name = name,
		.lines = lines,
		.block = 1,
		.stride_bytes = line_bytes,
		.step_bytes = ELEMENT_BYTES,
		.places = 1,
		.place_bytes = ELEMENT_BYTES,
	};
}

/* Members so many bytes apart, each a block of lines. */
static struct calm_layout members(const struct search *search, uint64_t distance, uint64_t count)
{
	uint64_t block = search->block;

	if (block > distance / search->line_bytes)
		block = distance / search->line_bytes;
	if (!block)
		block = 1;
	return (struct calm_layout){
		.name = "conflict",
		.lines = count * block,
		.block = block,
		.stride_bytes = distance,
		.step_bytes = search->line_bytes,
		.places = 1,
		.place_bytes = ELEMENT_BYTES,
	};
}

static int ask(void *arg, uint64_t distance, uint64_t count)
{
	struct search *search = arg;
	struct calm_layout layout = members(search, distance, count);

	/* no element may lie on another one, and all are words */
	if (distance % ELEMENT_BYTES)
		return 0;
	return evicts(search, &layout, count);
}

/* Blocks large enough that the inner cache holds few of their lines, and none meets itself. */
static void choose_block(struct search *search, uint64_t way_bytes)
{
	uint64_t inner;

	search->block = 1;
	search->line_bytes = LINE_USUAL;
	if (!search->inner)
		return;
	search->line_bytes = search->inner->line_bytes;
	inner = FILL_TIMES * search->inner->ways * search->inner->sets;
	search->block = way_bytes / search->line_bytes;
	if (search->block > inner)
		search->block = inner;
}

static int find_time(const struct search *search, const struct calm_layout *layout, double *cycles)
{
	const struct calm_measured *point;
	int err = find_point(search, layout, &point);

	if (err)
		return err;
	return calm_layout_cycles(point, cycles) ? 0 : -ENODATA;
}

/* Accesses that the level serves, and some that it does not if it is what it is claimed to be. */
static int find_reference(struct search *search, const struct calm_cache *claimed, uint64_t start)
{
	struct calm_layout layout = members(search, start, 2);
	uint64_t lines, most;
	int err;

	search->beyond = 0;
	if (!search->inner)
		return find_time(search, &layout, &search->reference);
	most = claimed->size_bytes / search->line_bytes / 2;
	lines = REFERENCE_TIMES * search->inner->ways * search->inner->sets;
	layout = dense("reference", lines < most ? lines : most, search->line_bytes);
	err = find_time(search, &layout, &search->reference);
	if (err)
		return err;
	layout = dense("beyond", BEYOND_TIMES * 2 * most, search->line_bytes);
	return find_time(search, &layout, &search->beyond);
}

/*
 * Lines of the line's test for each set: one more than it holds, and what the inner cache may hold
 * besides, if the outer one has no copy of that; but no more than two sets hold.
 */
static uint64_t crowd(const struct search *search, uint64_t ways, uint64_t block)
{
	uint64_t sets, more = 1;

	if (search->inner) {
		sets = search->inner->sets * search->inner->line_bytes / (2 * LINE_MOST);
		more += (search->inner->ways * (sets ? sets : 1) + block - 1) / block;
	}
	return ways + (more < ways ? more : ways);
}

/*
 * The line: more lines than the set holds, each second one so many bytes farther on. If these
 * are still in the same lines of the set they conflict, else half of them are in another set
 * (Yotov et al., "Automatic measurement of memory hierarchy parameters", 2005).
 */
static int find_line(const struct search *search, uint64_t ways, uint64_t way_bytes, uint64_t *line)
{
	uint64_t bytes, count, block = search->inner ? way_bytes / (2 * LINE_MOST) : 1;
	int conflict;

	/* odd, so that of each block's first elements each second one is moved */
	block = block ? block - !(block & 1) : 1;
	count = crowd(search, ways, block);
	for (bytes = LINE_LEAST; bytes <= LINE_MOST && 2 * bytes <= way_bytes; bytes *= 2) {
		const struct calm_layout layout = {
			.name = "line",
			.lines = count * block,
			.block = block,
			.stride_bytes = way_bytes,
			.step_bytes = 2 * LINE_MOST,
			.places = 2,
			.place_bytes = bytes,
		};

		conflict = evicts(search, &layout, count);
		if (conflict < 0)
			return conflict;
		if (!conflict)
			break;
	}
	*line = bytes;
	return bytes <= LINE_MOST ? 0 : -ERANGE;
}

/**
 * struct amount - so many lines side by side, and whether some of them miss
 * @halves: in each two sets, lines more than these have ways
 * @one_in: of so many sets one has a line too many, if any has
 * @evicts: whether some miss
 */
static const struct amount {
	uint64_t halves;
	uint64_t one_in;
	bool evicts;
} amounts[] = {
	{ 0, 1, false },
	/* sets of a hash that have more ways may look full with all of a line more */
	{ 1, 2, true },
	{ 2, 1, true },
};

static bool is_claimed(const struct calm_level *level)
{
	return level->claimed.size_bytes == level->ways * level->sets * level->line_bytes;
}

static uint64_t inner_lines(const struct search *search)
{
	return search->inner->ways * search->inner->sets;
}

/*
 * Whether the level has no copy of what the inner cache holds: the lines of some sets, one more
 * than each of them has ways, and in all twice what the inner cache holds, so that half of them
 * are missing in the sets.
 */
static int has_no_copies(const struct search *search, const struct calm_level *level)
{
	uint64_t block = 2 * inner_lines(search) / (level->ways + 1) + 1, distance;
	struct calm_layout layout = {
		.name = "copies",
		.stride_bytes = level->sets * level->line_bytes,
		.places = 1,
		.place_bytes = ELEMENT_BYTES,
	};
	int found;

	if (block > level->sets)
		block = level->sets;
	/* odd, for sets of the inner cache are a power of two as a rule */
	distance = level->sets / block;
	distance -= !(distance & 1);
	layout.step_bytes = distance * level->line_bytes;
	layout.block = block;
	layout.lines = (level->ways + 1) * block;
	found = evicts(search, &layout, level->ways + 1);
	return found < 0 ? found : !found;
}

/* All sets together hold what they should, but not a line more each, nor every second one. */
static int check_capacity(const struct search *search, struct calm_level *level, bool alone)
{
	size_t i, right = 0;

	for (i = 0; i < CALM_ARRAY_SIZE(amounts); i++) {
		const struct amount *amount = &amounts[i];
		uint64_t more = (level->sets * amount->halves + 1) / 2;
		struct calm_layout layout;
		int found;

		/* the inner cache may have those that are too many */
		if (alone && amount->evicts)
			more += inner_lines(search);
		layout = dense("capacity", level->ways * level->sets + more, level->line_bytes);
		found = evicts(search, &layout, amount->one_in * level->ways + 1);
		if (found < 0)
			return found;
		right += found == amount->evicts;
	}
	level->has_confidence = true;
	level->confidence = (double)right / CALM_ARRAY_SIZE(amounts);
	return 0;
}

static uint64_t least_multiple(uint64_t one, uint64_t other)
{
	uint64_t a = one, b = other, rest;

	while (b) {
		rest = a % b;
		a = b;
		b = rest;
	}
	return one / a * other;
}

/*
 * Lines of one set in each of the two caches: where the outer one has no copies, as many fit as
 * both have ways together, exactly. Found before were the outer one's, and what else the inner one
 * held of a set.
 */
static int find_own_ways(const struct search *search, struct calm_level *level)
{
	const struct calm_level *inner = search->inner;
	uint64_t fits = inner->ways + level->ways;
	struct calm_layout layout = {
		.name = "together",
		.block = 1,
		.stride_bytes = least_multiple(level->sets * level->line_bytes,
					       inner->sets * inner->line_bytes),
		.step_bytes = ELEMENT_BYTES,
		.places = 1,
		.place_bytes = ELEMENT_BYTES,
	};
	int found;

	do {
		layout.lines = fits;
		found = evicts(search, &layout, fits);
	} while (found > 0 && --fits > inner->ways);
	if (found < 0)
		return found;
	layout.lines = fits + 1;
	found = evicts(search, &layout, fits + 1);
	if (found < 0)
		return found;
	if (!found || fits == inner->ways)
		return -EXDEV;
	level->ways = fits - inner->ways;
	return 0;
}

/*
 * What may be wrong with what was found: the lines of a hashed set may conflict like those of a
 * smaller cache, and ways of an inner cache add to those of one that has no copies.
 */
static int check(const struct search *search, struct calm_level *level)
{
	bool fits;
	int alone, err = check_capacity(search, level, false);

	if (err)
		return err;
	fits = level->confidence >= 1;
	if (fits && (!search->inner || is_claimed(level)))
		return 0;
	alone = search->inner ? has_no_copies(search, level) : 0;
	if (alone < 0)
		return alone;
	if (!alone)
		return fits ? 0 : -EDOM;
	err = find_own_ways(search, level);
	if (!err)
		err = check_capacity(search, level, true);
	return err || level->confidence >= 1 ? err : -EXDEV;
}

/* Bits of an address above the page are the frame's. */
static bool has_frames_in_order(const struct search *search)
{
	return search->n_points && search->points[0].point.flags & CALM_F_CONTIGUOUS;
}

static int find_level(struct search *search, struct calm_level *level)
{
	struct calm_conflict conflict = {
		.ask = ask, .arg = search, .least = 1, .most = WAYS_MOST, .factor = 7,
	};
	const struct calm_cache *claimed = &level->claimed;
	uint64_t line_bytes;
	int err;

	if (search->inner && !has_frames_in_order(search))
		return -EADDRNOTAVAIL;
	conflict.start = claimed->ways ? claimed->size_bytes / claimed->ways : START_BYTES;
	choose_block(search, conflict.start);
	err = find_reference(search, claimed, conflict.start);
	if (!err)
		err = calm_conflict_search(&conflict);
	if (!err && conflict.sets > PAGE_BYTES && !has_frames_in_order(search))
		err = -EADDRNOTAVAIL;
	if (!err)
		err = find_line(search, conflict.ways, conflict.sets, &line_bytes);
	if (err)
		return err;
	level->ways = conflict.ways;
	level->line_bytes = line_bytes;
	level->sets = conflict.sets / line_bytes;
	err = check(search, level);
	if (!err)
		return 0;
	level->ways = 0;
	level->sets = 0;
	level->line_bytes = 0;
	level->has_confidence = false;
	return err;
}

static const char *reason_of(int err)
{
	switch (err) {
	case -EAGAIN:
		return "a layout that it needs was not measured";
	case -EADDRNOTAVAIL:
		return "its index goes beyond a page: contiguous memory is needed";
	case -EDOM:
		return "lines side by side fit otherwise than its sets: is its index a hash?";
	case -EXDEV:
		return "it has no copies of what the cache within holds, whose ways add to its own";
	case -ERANGE:
		return "no set of lines conflicts: is its index a hash?";
	default:
		return "a measurement has no value";
	}
}

static void list_levels(const struct calm_cache *caches, size_t n_caches,
			struct calm_derived *derived)
{
	size_t i;

	memset(derived, 0, sizeof(*derived));
	for (i = 0; i < n_caches; i++)
		derived->levels[derived->n_levels++].claimed = caches[i];
	if (!n_caches) {
		strcpy(derived->levels[0].claimed.name, "L1d");
		derived->n_levels = 1;
	}
}

bool calm_derive_ways(const struct calm_measured *points, size_t n_points,
		      const struct calm_cache *caches, size_t n_caches,
		      struct calm_derived *derived, struct calm_layout *wanted)
{
	struct search search = { .points = points, .n_points = n_points, .wanted = wanted };
	int err = 0;

	list_levels(caches, n_caches, derived);
	for (; search.number < LEVELS && search.number < derived->n_levels; search.number++) {
		struct calm_level *level = &derived->levels[search.number];

		err = find_level(&search, level);
		if (err) {
			level->reason = reason_of(err);
			break;
		}
		search.inner = level;
	}
	return err == -EAGAIN;
}
