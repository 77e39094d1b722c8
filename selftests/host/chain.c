// SPDX-License-Identifier: GPL-2.0-only
/* The chain is one random cycle over exactly the elements asked for, for many sizes and seeds. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "chain.h"
#include "kselftest_harness.h"
#include "loops/random.h"

struct row {
	uint64_t bytes;
	uint32_t stride;
	uint64_t seed;
};

static const struct row rows[] = {
	{ 16, 8, 1 },		 { 128, 64, 1 },	   { 192, 64, 2 },
	{ 4096, 64, 0 },	 { 4096, 8, 3 },	   { 4160, 64, 4 },
	{ 4096 + 63, 64, 5 },	 { 12345, 24, 6 },	   { 32768, 64, ~0ULL },
	{ 65536, 72, 7 },	 { 65536, 128, 8 },	   { 262144, 256, 9 },
	{ 1 << 20, 64, 10 },	 { 1 << 20, 4096, 11 },	   { 1 << 20, 4160, 12 },
	{ 1 << 22, 64, 13 },	 { 1 << 22, 65536, 14 },   { 3 << 20, 1 << 20, 15 },
	{ (1 << 22) - 8, 8, 16 }, { 17 * 64, 64, 17 },	   { 15 * 64, 64, 18 },
	{ 16 * 64, 64, 19 },	 { 1 << 21, 64, 1ULL << 63 },
};

#define NR_ROWS (sizeof(rows) / sizeof(rows[0]))

static enum calm_chain_phase build(struct calm_chain *chain, void *base, const struct row *row,
				   uint64_t budget)
{
	enum calm_chain_phase phase;

	calm_chain_init(chain, base, row->bytes, row->stride, row->seed);
	do {
		phase = calm_chain_step(chain, budget);
	} while (phase < CALM_CHAIN_DONE);
	return phase;
}

/* Follows pointers, knowing nothing of how they were made. Returns the cycle's length, 0 if bad. */
static uint64_t follow(char *base, const struct row *row)
{
	uint64_t lines = row->bytes / row->stride, steps = 0, i;
	bool *seen = calloc(lines, sizeof(*seen));
	char *start = NULL, *at;

	/* The first element lies somewhere in the first stride: the only word there that is set. */
	for (i = 0; i < row->stride && !start; i += 8)
		if (*(char **)(base + i))
			start = base + i;
	at = start;
	do {
		uint64_t slot = (uint64_t)(at - base) / row->stride;

		if (at < base || at + 8 > base + row->bytes || slot >= lines || seen[slot]) {
			steps = 0;
			break;
		}
		seen[slot] = true;
		steps++;
		at = *(char **)at;
	} while (at != start);
	free(seen);
	return steps;
}

TEST(one_cycle_over_exactly_the_asked_lines)
{
	static const uint64_t budgets[] = { 1 << 16, 7, ~0ULL };
	size_t i, j;

	for (i = 0; i < NR_ROWS; i++) {
		for (j = 0; j < 3; j++) {
			struct calm_chain chain;
			char *base = aligned_alloc(4096, (rows[i].bytes + 4095) & ~4095ULL);

			ASSERT_NE(NULL, base);
			memset(base, 0, rows[i].bytes);
			EXPECT_EQ(CALM_CHAIN_DONE, build(&chain, base, &rows[i], budgets[j]));
			EXPECT_EQ(rows[i].bytes / rows[i].stride, chain.lines);
			EXPECT_EQ(chain.lines, follow(base, &rows[i]))
			{
				TH_LOG("row %zu: %llu bytes, stride %u", i,
				       (unsigned long long)rows[i].bytes, rows[i].stride);
			}
			free(base);
		}
	}
}

/* Follows the whole cycle: steps that are not a stride upward, and steps into another page. */
static void look_at_order(char *base, const struct row *row, uint64_t *jumps, uint64_t *pages)
{
	uint64_t lines = row->bytes / row->stride, i;
	char *at = base;

	/* the first element, wherever in its stride */
	while (!*(char **)at)
		at += 8;
	*jumps = 0;
	*pages = 0;
	for (i = 0; i < lines; i++) {
		char *next = *(char **)at;

		*jumps += next != at + row->stride;
		*pages += (next - base) / 4096 != (at - base) / 4096;
		at = next;
	}
}

static const struct {
	int line;
	enum calm_chain_order order;
	struct row row;
	bool jumps;		/* it does not go upward */
	uint64_t pages;		/* changes of page in a lap, 0: not told */
} orders[] = {
	{ __LINE__, CALM_CHAIN_LINEAR, { 1 << 16, 64, 3 }, false, 16 },
	{ __LINE__, CALM_CHAIN_LINEAR, { 1 << 16, 256, 3 }, false, 16 },
	{ __LINE__, CALM_CHAIN_LINEAR, { 9000, 72, 3 }, false, 3 },
	{ __LINE__, CALM_CHAIN_LINEAR, { 16384, 4096, 3 }, false, 4 },
	{ __LINE__, CALM_CHAIN_PAGE_LOCAL, { 1 << 16, 64, 3 }, true, 16 },
	{ __LINE__, CALM_CHAIN_PAGE_LOCAL, { 1 << 16, 8, 3 }, true, 16 },
	{ __LINE__, CALM_CHAIN_PAGE_LOCAL, { 1 << 16, 512, 3 }, true, 16 },
	/* the last page holds one element */
	{ __LINE__, CALM_CHAIN_PAGE_LOCAL, { 8192 + 64, 64, 3 }, true, 3 },
	{ __LINE__, CALM_CHAIN_PAGE_LOCAL, { 1 << 16, 4096, 3 }, true, 16 },
	{ __LINE__, CALM_CHAIN_PAGE_LOCAL, { 1 << 17, 8192, 3 }, true, 16 },
	{ __LINE__, CALM_CHAIN_RANDOM, { 1 << 16, 64, 3 }, true, 0 },
};

TEST(order_is_the_one_asked_for)
{
	static const uint64_t budgets[] = { 1 << 16, 7, ~0ULL };
	size_t i, j;

	for (i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		for (j = 0; j < 3; j++) {
			const struct row *row = &orders[i].row;
			char *base = aligned_alloc(4096, (row->bytes + 4095) & ~4095ULL);
			uint64_t lines = row->bytes / row->stride, jumps, pages;
			enum calm_chain_phase phase;
			struct calm_chain chain;

			memset(base, 0, row->bytes);
			calm_chain_init(&chain, base, row->bytes, row->stride, row->seed);
			calm_chain_set_order(&chain, orders[i].order);
			do {
				phase = calm_chain_step(&chain, budgets[j]);
			} while (phase < CALM_CHAIN_DONE);
			EXPECT_EQ(CALM_CHAIN_DONE, phase);
			EXPECT_EQ(lines, follow(base, row));
			look_at_order(base, row, &jumps, &pages);
			/* the last element goes back to the first */
			EXPECT_TRUE(orders[i].jumps ? jumps > lines / 4 : jumps == 1)
			{
				TH_LOG("line %d: %llu jumps", orders[i].line,
				       (unsigned long long)jumps);
			}
			EXPECT_TRUE(orders[i].pages ? pages == orders[i].pages : pages > lines / 2)
			{
				TH_LOG("line %d: %llu changes of page", orders[i].line,
				       (unsigned long long)pages);
			}
			free(base);
		}
	}
}

TEST(steps_do_not_change_the_chain)
{
	const struct row row = { 1 << 16, 64, 77 };
	char *whole = aligned_alloc(4096, row.bytes), *copy = malloc(row.bytes);
	struct calm_chain chain;

	memset(whole, 0, row.bytes);
	build(&chain, whole, &row, ~0ULL);
	memcpy(copy, whole, row.bytes);
	memset(whole, 0, row.bytes);
	build(&chain, whole, &row, 3);
	EXPECT_EQ(0, memcmp(whole, copy, row.bytes));
	free(whole);
	free(copy);
}

TEST(seed_decides_the_chain)
{
	struct row row = { 1 << 16, 64, 77 };
	char *base = aligned_alloc(4096, row.bytes), *copy = malloc(row.bytes);
	struct calm_chain chain;

	memset(base, 0, row.bytes);
	build(&chain, base, &row, ~0ULL);
	memcpy(copy, base, row.bytes);
	row.seed++;
	build(&chain, base, &row, ~0ULL);
	EXPECT_NE(0, memcmp(base, copy, row.bytes));
	free(base);
	free(copy);
}

TEST(element_is_anywhere_in_a_page_long_stride)
{
	const struct row row = { 1000 * 4096, 4096, 5 };
	char *base = aligned_alloc(4096, row.bytes);
	unsigned int places[64] = {}, i, used = 0;
	struct calm_chain chain;

	calm_chain_init(&chain, base, row.bytes, row.stride, row.seed);
	for (i = 0; i < 1000; i++) {
		uint64_t offset = (char *)calm_chain_element(&chain, i) - base - i * 4096UL;

		ASSERT_LT(offset, 4096);
		ASSERT_EQ(0, offset % 64);
		places[offset / 64]++;
	}
	for (i = 0; i < 64; i++)
		used += places[i] > 0;
	/* 1000 draws leave a given one of 64 places empty with probability 1.4e-7. */
	EXPECT_EQ(64, used);
	free(base);
}

/* Of 4 elements there are 6 cycles; each must be drawn about as often. */
TEST(cycles_are_uniform)
{
	unsigned int count[64] = {}, i, kinds = 0;
	const unsigned int draws = 60000;
	uint64_t area[4], seed;
	struct calm_chain chain;
	double chi2 = 0;

	for (seed = 0; seed < draws; seed++) {
		const struct row row = { 32, 8, seed };
		unsigned int code = 0;

		ASSERT_EQ(CALM_CHAIN_DONE, build(&chain, area, &row, ~0ULL));
		for (i = 0; i < 3; i++)
			code = code * 4 + (unsigned int)((area[i] - (uintptr_t)area) / 8);
		count[code]++;
	}
	for (i = 0; i < 64; i++) {
		if (!count[i])
			continue;
		kinds++;
		chi2 += (count[i] - draws / 6.0) * (count[i] - draws / 6.0) / (draws / 6.0);
	}
	EXPECT_EQ(6, kinds);
	/* 5 degrees of freedom: above 20.5 with probability 0.001; the seeds are fixed. */
	EXPECT_LT(chi2, 20.5);
}

/* Where elements lie in buffers that no machine here has: nothing is touched. */
TEST(places_beyond_32_bits)
{
	static const struct row large[] = {
		{ 5ULL << 30, 64, 1 },	    { 5ULL << 30, 8, 2 },	{ 1ULL << 46, 64, 3 },
		{ (1ULL << 46) - 8, 24, 4 }, { 1ULL << 46, 1 << 20, 5 }, { 9ULL << 30, 4160, 6 },
	};
	char *base = (char *)(1ULL << 32);
	size_t i, j;

	for (i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
		const struct row *row = &large[i];
		struct calm_chain chain;

		calm_chain_init(&chain, base, row->bytes, row->stride, row->seed);
		ASSERT_EQ(row->bytes / row->stride, chain.lines);
		const uint64_t indices[] = { 0, 1, chain.lines / 2, chain.lines - 2,
					     chain.lines - 1 };

		for (j = 0; j < sizeof(indices) / sizeof(indices[0]); j++) {
			uint64_t place = (char *)calm_chain_element(&chain, indices[j]) - base;

			EXPECT_EQ(indices[j], place / row->stride);
			EXPECT_LE(place % row->stride, row->stride - 8);
			if (row->stride <= 64)
				EXPECT_EQ(0, place % row->stride);
		}
	}
}

/* A limit beyond 32 bits is drawn from as a whole: each of 16 parts about as often. */
TEST(random_numbers_beyond_32_bits)
{
	const uint64_t limit = 5ULL << 40;
	unsigned int parts[16] = {}, i;
	__u64 state = 1;

	for (i = 0; i < 16000; i++) {
		uint64_t value = calm_random_below(&state, limit);

		ASSERT_LT(value, limit);
		parts[value / (limit / 16)]++;
	}
	/* Standard deviation is 31. */
	for (i = 0; i < 16; i++) {
		EXPECT_GT(parts[i], 850);
		EXPECT_LT(parts[i], 1150);
	}
}

/* A real chain whose elements lie 6 GiB apart, in memory of which only they are there. */
TEST(one_cycle_over_more_than_4_gib)
{
	const struct row row = { 6ULL << 30, 1 << 20, 9 };
	char *base = mmap(NULL, row.bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct calm_chain chain;
	uint64_t far = 0, i;

	ASSERT_NE(MAP_FAILED, base);
	ASSERT_EQ(0, madvise(base, row.bytes, MADV_NOHUGEPAGE));
	ASSERT_EQ(CALM_CHAIN_DONE, build(&chain, base, &row, 1000));
	EXPECT_EQ(6144, chain.lines);
	EXPECT_EQ(6144, follow(base, &row));
	for (i = 0; i < chain.lines; i++) {
		char *element = calm_chain_element(&chain, i);
		int64_t jump = *(char **)element - element;

		far += llabs(jump) > (4LL << 30);
	}
	/* A ninth of all jumps are expected to be longer than two thirds of the buffer: 683. */
	EXPECT_GT(far, 550);
	EXPECT_LT(far, 820);
	munmap(base, row.bytes);
}

/* Damage done between linking and walking, as faulty memory would. */
struct damage {
	const char *what;
	void (*apply)(struct calm_chain *chain);
};

static uint64_t *element(struct calm_chain *chain, uint64_t index)
{
	return calm_chain_element(chain, index);
}

static void self_loop(struct calm_chain *chain)
{
	*element(chain, 5) = (uintptr_t)element(chain, 5);
}

static void two_cycles(struct calm_chain *chain)
{
	uint64_t a = *element(chain, 1);

	*element(chain, 1) = *element(chain, 2);
	*element(chain, 2) = a;
}

static void outside(struct calm_chain *chain)
{
	*element(chain, 7) = (uintptr_t)chain->base + chain->lines * chain->stride;
}

static void between(struct calm_chain *chain)
{
	*element(chain, 7) += 8;
}

static void short_cut(struct calm_chain *chain)
{
	*element(chain, 9) = *(uint64_t *)*element(chain, 9);
}

static void null(struct calm_chain *chain)
{
	*element(chain, 3) = 0;
}

TEST(damage_is_noticed)
{
	static const struct damage damages[] = {
		{ "an element points to itself", self_loop },
		{ "two cycles", two_cycles },
		{ "a pointer behind the buffer", outside },
		{ "a pointer between elements", between },
		{ "an element is skipped", short_cut },
		{ "a null pointer", null },
	};
	const struct row row = { 64 * 100, 64, 3 };
	char *base = aligned_alloc(4096, 8192);
	struct calm_chain chain;
	size_t i;

	for (i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		enum calm_chain_phase phase;

		calm_chain_init(&chain, base, row.bytes, row.stride, row.seed);
		do {
			phase = calm_chain_step(&chain, ~0ULL);
		} while (phase < CALM_CHAIN_WALK);
		damages[i].apply(&chain);
		do {
			phase = calm_chain_step(&chain, 10);
		} while (phase < CALM_CHAIN_DONE);
		EXPECT_EQ(CALM_CHAIN_BROKEN, phase)
		{
			TH_LOG("not noticed: %s", damages[i].what);
		}
	}
	free(base);
}

/* The same by the words of the interface, told another way. */
static uint64_t layout_place(const struct calm_layout *layout, uint64_t index)
{
	return index / layout->block * layout->stride + index % layout->block * layout->step +
	       index % layout->places * layout->place;
}

#define LAYOUT_BYTES (1ULL << 20)

static const struct {
	int line;
	struct calm_layout layout;
	bool fits;
} layouts[] = {
	{ __LINE__, { 2, 1, 8, 8, 1, 8 }, true },
	{ __LINE__, { 9, 1, 4096, 8, 1, 8 }, true },
	{ __LINE__, { 9 * 16, 16, 4096, 64, 1, 8 }, true },
	{ __LINE__, { 9 * 16 + 3, 16, 1024, 64, 1, 8 }, true },
	{ __LINE__, { 256, 1, 4096, 8, 64, 64 }, true },
	{ __LINE__, { 255, 1, 4096, 8, 64, 64 }, true },
	{ __LINE__, { 75, 5, 8192, 1024, 2, 512 }, true },
	{ __LINE__, { 7, 3, 6144, 2048, 32, 64 }, true },
	/* the last word of the buffer */
	{ __LINE__, { LAYOUT_BYTES / 8, 1, 8, 8, 1, 8 }, true },
	{ __LINE__, { LAYOUT_BYTES / 8 + 1, 1, 8, 8, 1, 8 }, false },
	{ __LINE__, { 257, 1, 4096, 8, 1, 8 }, false },
	{ __LINE__, { 1, LAYOUT_BYTES / 8, LAYOUT_BYTES, 8, 1, 8 }, true },
	{ __LINE__, { 1, LAYOUT_BYTES / 8 + 1, 2 * LAYOUT_BYTES, 8, 1, 8 }, false },
	/* on each other */
	{ __LINE__, { 4, 2, 64, 64, 1, 8 }, false },
	{ __LINE__, { 4, 2, 72, 64, 1, 8 }, true },
	{ __LINE__, { 4, 1, 512, 8, 9, 64 }, false },
	{ __LINE__, { 4, 2, 1024, 512, 9, 64 }, false },
	/* no such numbers */
	{ __LINE__, { 0, 1, 64, 8, 1, 8 }, false },
	{ __LINE__, { 4, 0, 64, 8, 1, 8 }, false },
	{ __LINE__, { 4, 1, 0, 8, 1, 8 }, false },
	{ __LINE__, { 4, 1, 68, 8, 1, 8 }, false },
	{ __LINE__, { 4, 1, 64, 0, 1, 8 }, false },
	{ __LINE__, { 4, 1, 64, 12, 1, 8 }, false },
	{ __LINE__, { 4, 1, 64, 8, 0, 8 }, false },
	{ __LINE__, { 4, 1, 64, 8, 1, 0 }, false },
	{ __LINE__, { 1ULL << 62, 1ULL << 62, 1ULL << 62, 8, 1, 8 }, false },
	{ __LINE__, { ~0ULL, 1, 8, 8, 1, 8 }, false },
	{ __LINE__, { 4, 1ULL << 31, 1ULL << 31, 1ULL << 31, 1ULL << 31, 1ULL << 31 }, false },
};

/* Each element of a layout is visited, at its place, in one cycle. */
TEST(one_cycle_over_a_layout)
{
	char *base = aligned_alloc(4096, LAYOUT_BYTES);
	bool *seen = calloc(LAYOUT_BYTES / 8, sizeof(*seen));
	size_t i;

	for (i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		const struct calm_layout *layout = &layouts[i].layout;
		struct calm_chain chain;
		uint64_t j, steps = 0;
		char *at, *start;

		ASSERT_EQ(layouts[i].fits, calm_chain_fits(layout, LAYOUT_BYTES))
			TH_LOG("row of line %d", layouts[i].line);
		if (!layouts[i].fits)
			continue;
		memset(base, 0, LAYOUT_BYTES);
		memset(seen, 0, LAYOUT_BYTES / 8);
		calm_chain_init_layout(&chain, base, layout, i);
		while (calm_chain_step(&chain, 100) < CALM_CHAIN_DONE)
			;
		ASSERT_EQ(CALM_CHAIN_DONE, chain.phase)
			TH_LOG("row of line %d", layouts[i].line);
		start = calm_chain_element(&chain, 0);
		for (at = start; !steps || at != start; at = *(char **)at, steps++)
			seen[(at - base) / 8] = true;
		EXPECT_EQ(layout->lines, steps);
		for (j = 0; j < layout->lines; j++)
			ASSERT_TRUE(seen[layout_place(layout, j) / 8])
				TH_LOG("row of line %d, element %llu", layouts[i].line,
				       (unsigned long long)j);
	}
	free(base);
	free(seen);
}

/* A pointer that leads beside the elements is found. */
TEST(a_layout_with_a_stray_pointer_is_broken)
{
	const struct calm_layout layout = { 64, 8, 4096, 64, 1, 8 };
	char *base = aligned_alloc(4096, LAYOUT_BYTES);
	struct calm_chain chain;
	size_t i;

	for (i = 0; i < 2; i++) {
		memset(base, 0, LAYOUT_BYTES);
		calm_chain_init_layout(&chain, base, &layout, i);
		while (calm_chain_step(&chain, 100) < CALM_CHAIN_WALK)
			;
		*(char **)calm_chain_element(&chain, 20) = base + (i ? 8 * 64 : 64 * 4096);
		while (calm_chain_step(&chain, 100) < CALM_CHAIN_DONE)
			;
		EXPECT_EQ(CALM_CHAIN_BROKEN, chain.phase);
	}
	free(base);
}

TEST_HARNESS_MAIN
