// SPDX-License-Identifier: GPL-2.0-only
/* TLBs over page tables that the test has written: who holds a page, what a miss costs. */
#include "kselftest_harness.h"
#include "modeltext.h"

#define CACHE	"[cache l1d]\nsize = 4K\nways = 8\nline = 64\nlatency = 4\n"
#define PAGE	4096ull
#define HUGE	(2ull << 20)
#define GIANT	(1ull << 30)
#define ROOT	0x1000
#define FREE	0x10000000ull
#define BASE	0xffff888000000000ull

/* Tables in memory that is otherwise empty: 8 bytes at each address that was written. */
struct tables {
	uint64_t word[1 << 17];
	uint64_t next;
	unsigned int depth;
};

static struct tables tables;

struct bench {
	struct sim_model *model;
	struct sim_machine *machine;
	struct sim_cpu *cpu;
};

static bool read_physical(void *data, uint64_t paddr, uint64_t *value)
{
	const struct tables *t = data;

	if (paddr / 8 >= ARRAY_SIZE(t->word))
		return false;
	*value = t->word[paddr / 8];
	return true;
}

/* Map an address to a frame by a leaf of a level, 1 for 4 KiB; upper tables are made as needed. */
static void map(uint64_t vaddr, uint64_t frame, unsigned int level, uint64_t flags)
{
	uint64_t table = ROOT, *entry;
	unsigned int depth;

	for (depth = tables.depth;; depth--) {
		entry = &tables.word[table / 8 + (vaddr >> (3 + 9 * depth) & 511)];
		if (depth == level)
			break;
		if (!*entry) {
			*entry = tables.next | 3;
			tables.next += PAGE;
		}
		table = *entry & -PAGE;
	}
	*entry = frame | flags | 1 | (level > 1 ? 0x80 : 0);
}

static struct bench bench_on(const char *sections, unsigned int depth)
{
	const struct sim_memory memory = { .read_physical = read_physical, .data = &tables };
	struct bench b = { .model = model_from(CPU_INTEL TIMING PMU_NONE CACHE "%s", sections) };

	memset(&tables, 0, sizeof(tables));
	tables.next = 0x2000;
	tables.depth = depth;
	b.machine = machine_from(b.model, 1, NULL);
	b.cpu = sim_cpu_new(b.machine, 0);
	sim_machine_set_memory(b.machine, &memory);
	sim_tlb_tables(b.cpu, ROOT, depth, false);
	return b;
}

static void bench_end(struct bench *b)
{
	sim_machine_free(b->machine);
	sim_model_free(b->model);
}

/* Cycles beyond those of the cache. */
static uint64_t extra(struct bench *b, uint64_t vaddr, uint64_t paddr)
{
	sim_mem_access(b->cpu, b->cpu->insns + 1, vaddr, paddr, 8, SIM_LOAD);
	return b->cpu->extra;
}

/* Sum over n pages @step apart, of scattered frames, after a first lap. */
static uint64_t lap(struct bench *b, unsigned int n, uint64_t step)
{
	uint64_t sum = 0;
	unsigned int i, round;

	for (round = 0; round < 3; round++)
		for (i = 0, sum = 0; i < n; i++)
			sum += extra(b, BASE + i * step, FREE + i * 3 * step);
	return sum;
}

static void map_pages(unsigned int n, uint64_t step, unsigned int level)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		map(BASE + i * step, FREE + i * 3 * step, level, 0);
}

#define L1_4K	"[tlb a]\nlevel = 1\npages = 4k\nentries = 16\nways = 4\n"
#define L1_BIG	"[tlb b]\nlevel = 1\npages = 2m, 1g\nentries = 4\nways = 4\n"
#define L2_ALL	"[tlb c]\nlevel = 2\npages = 4k, 2m\nentries = 96\nways = 6\npenalty = 7\n"
#define WALK	"[walk]\nread = 10\n"

/* Each array's pages fit, and with one more its set misses: the next array, or a walk. */
TEST(levels)
{
	struct bench b = bench_on(L1_4K L1_BIG L2_ALL WALK, 4);

	map_pages(200, PAGE, 1);
	EXPECT_EQ(0, lap(&b, 16, PAGE));
	/* five pages of the set of the seventeenth */
	EXPECT_EQ(5 * 7, lap(&b, 17, PAGE));
	EXPECT_EQ(96 * 7, lap(&b, 96, PAGE));
	/* seven pages of one set of level 2: four tables */
	EXPECT_EQ(97 * 7 + 7 * 4 * 10, lap(&b, 97, PAGE));
	bench_end(&b);
}

/* Arrays apart by size: pages of one size do not drive out those of another. */
TEST(sizes)
{
	struct bench b = bench_on(L1_4K L1_BIG L2_ALL WALK, 4);
	unsigned int i;

	map_pages(6, HUGE, 2);
	EXPECT_EQ(0, lap(&b, 4, HUGE));
	EXPECT_EQ(5 * 7, lap(&b, 5, HUGE));
	for (i = 0; i < 5; i++)
		map(BASE + 512 * GIANT + i * GIANT, i * GIANT, 3, 0);
	/* two tables for a page of 1 GiB, which level 2 does not hold */
	for (i = 0; i < 5; i++)
		EXPECT_EQ(20, extra(&b, BASE + 512 * GIANT + i * GIANT, i * GIANT));
	EXPECT_EQ(20, extra(&b, BASE + 512 * GIANT, 0));
	EXPECT_EQ(0, extra(&b, BASE + 512 * GIANT + 5 * PAGE, 5 * PAGE));
	bench_end(&b);
}

/* A size that no array holds is kept in pieces. */
TEST(pieces)
{
	struct bench b = bench_on(L1_4K WALK, 4);

	map_pages(1, HUGE, 2);
	EXPECT_EQ(30, extra(&b, BASE, FREE));
	EXPECT_EQ(30, extra(&b, BASE + PAGE, FREE + PAGE));
	EXPECT_EQ(0, extra(&b, BASE, FREE));
	bench_end(&b);
}

/* Caches of upper entries shorten walks: one table less for each level that is known. */
TEST(walk_caches)
{
	struct bench b = bench_on("[tlb a]\nlevel = 1\npages = 4k, 2m\nentries = 1\nways = 1\n"
				  "[walk]\nread = 10\npde = 2\npdpte = 1\n", 4);

	map_pages(3, PAGE, 1);
	map_pages(3, HUGE, 1);
	map(BASE + GIANT, FREE + 3 * GIANT, 1, 0);
	EXPECT_EQ(40, extra(&b, BASE, FREE));
	EXPECT_EQ(10, extra(&b, BASE + PAGE, FREE + 3 * PAGE));
	EXPECT_EQ(20, extra(&b, BASE + HUGE, FREE + 3 * HUGE));
	EXPECT_EQ(10, extra(&b, BASE + 2 * PAGE, FREE + 6 * PAGE));
	EXPECT_EQ(20, extra(&b, BASE + 2 * HUGE, FREE + 6 * HUGE));
	/* of two page directory entries the one of HUGE has gone */
	EXPECT_EQ(10, extra(&b, BASE, FREE));
	EXPECT_EQ(20, extra(&b, BASE + HUGE, FREE + 3 * HUGE));
	/* another 1 GiB: from the top */
	EXPECT_EQ(40, extra(&b, BASE + GIANT, FREE + 3 * GIANT));
	bench_end(&b);
}

TEST(five_levels)
{
	struct bench b = bench_on(L1_4K WALK, 5);

	map_pages(2, PAGE, 1);
	EXPECT_EQ(50, extra(&b, BASE, FREE));
	EXPECT_EQ(0, extra(&b, BASE, FREE));
	bench_end(&b);
}

#define COALESCE	"[tlb a]\nlevel = 1\npages = 4k\nentries = 4\nways = 4\ncoalesce = 4\n"

/* Four pages beside each other in both spaces are one entry, aligned ones only. */
TEST(coalescing)
{
	struct bench b = bench_on(COALESCE WALK, 4);
	unsigned int i, n;
	uint64_t sum = 0;

	for (i = 0; i < 64; i++)
		map(BASE + i * PAGE, FREE + i * PAGE, 1, 0);
	for (i = 0; i < 64; i++)
		map(BASE + HUGE + i * PAGE, FREE + HUGE + (i + 1) * PAGE, 1, 0);
	for (n = 0; n < 2; n++)
		for (i = 0, sum = 0; i < 16; i++)
			sum += extra(&b, BASE + i * PAGE, FREE + i * PAGE);
	EXPECT_EQ(0, sum);
	for (n = 0; n < 2; n++)
		for (i = 0, sum = 0; i < 17; i++)
			sum += extra(&b, BASE + i * PAGE, FREE + i * PAGE);
	EXPECT_EQ(5 * 40, sum);
	/* frames not aligned: an entry each */
	for (n = 0; n < 2; n++)
		for (i = 0, sum = 0; i < 5; i++)
			sum += extra(&b, BASE + HUGE + i * PAGE, FREE + HUGE + (i + 1) * PAGE);
	EXPECT_EQ(5 * 40, sum);
	bench_end(&b);
}

#define PAIRS	"[tlb b]\nlevel = 2\npages = 4k\nentries = 8\nways = 8\npenalty = 7\n" \
		"coalesce = 2\n"

/* Frames in pairs: pages by themselves where an entry holds four, and pairs where one holds two. */
TEST(coalescing_of_each_array)
{
	struct bench b = bench_on(COALESCE PAIRS WALK, 4);
	unsigned int i, n, pages;
	uint64_t sum = 0;

	for (i = 0; i < 18; i++)
		map(BASE + i * PAGE, FREE + (i ^ 2) * PAGE, 1, 0);
	for (pages = 16; pages <= 18; pages += 2) {
		for (n = 0; n < 3; n++)
			for (i = 0, sum = 0; i < pages; i++)
				sum += extra(&b, BASE + i * PAGE, FREE + (i ^ 2) * PAGE);
		EXPECT_EQ(pages * 7 + (pages > 16 ? 9 * 40 : 0), sum);
	}
	bench_end(&b);
}

/* What drops translations, and which ones. */
TEST(invalidation)
{
	struct bench b = bench_on(L1_4K L2_ALL WALK, 4);

	map(BASE, FREE, 1, 0x100);
	map(BASE + PAGE, FREE + PAGE, 1, 0);
	lap(&b, 1, PAGE);
	EXPECT_EQ(47, extra(&b, BASE + PAGE, FREE + PAGE));
	sim_tlb_flush_page(b.cpu, BASE + PAGE + 5);
	EXPECT_EQ(0, extra(&b, BASE, FREE));
	EXPECT_EQ(47, extra(&b, BASE + PAGE, FREE + PAGE));
	/* a write to CR3 that keeps, one that keeps global pages, and all */
	sim_tlb_tables(b.cpu, ROOT, 4, true);
	EXPECT_EQ(0, extra(&b, BASE + PAGE, FREE + PAGE));
	sim_tlb_tables(b.cpu, ROOT, 4, false);
	EXPECT_EQ(0, extra(&b, BASE, FREE));
	EXPECT_EQ(47, extra(&b, BASE + PAGE, FREE + PAGE));
	sim_tlb_flush(b.cpu);
	EXPECT_EQ(47, extra(&b, BASE, FREE));
	bench_end(&b);
}

/* Tables that changed are read anew once the guest says so; a wrong root is not believed. */
TEST(tables_change)
{
	struct bench b = bench_on(L1_4K "[tlb b]\nlevel = 1\npages = 2m\nentries = 4\nways = 4\n"
				  WALK, 4);

	map(BASE, FREE, 2, 0);
	EXPECT_EQ(30, extra(&b, BASE, FREE));
	EXPECT_EQ(0, extra(&b, BASE + PAGE, FREE + PAGE));
	memset(&tables, 0, sizeof(tables));
	tables.next = 0x2000;
	tables.depth = 4;
	map(BASE, FREE, 1, 0);
	map(BASE + PAGE, FREE + 7 * PAGE, 1, 0);
	sim_tlb_flush(b.cpu);
	EXPECT_EQ(40, extra(&b, BASE, FREE));
	EXPECT_EQ(40, extra(&b, BASE + PAGE, FREE + 7 * PAGE));
	/* a frame that the tables do not lead to: a page by itself, not remembered */
	EXPECT_EQ(0, extra(&b, BASE + PAGE, FREE + 9 * PAGE));
	bench_end(&b);
}

/* Loads and stores count apart; over a page's end both pages are looked up. */
TEST(counts)
{
	struct bench b = bench_on(L1_4K L2_ALL WALK, 4);

	map_pages(3, PAGE, 1);
	sim_mem_access(b.cpu, b.cpu->insns + 1, BASE, FREE, 8, SIM_STORE);
	EXPECT_EQ(1, b.cpu->raw[RAW_WALK_STORE]);
	sim_mem_access_pages(b.cpu, b.cpu->insns + 1, BASE + 2 * PAGE - 4, FREE + 4 * PAGE - 4,
			     FREE + 6 * PAGE, 8, SIM_LOAD);
	EXPECT_EQ(2, b.cpu->raw[RAW_WALK_LOAD]);
	EXPECT_EQ(2 * 47, b.cpu->extra);
	bench_end(&b);
}

/* A load takes its penalty in time, too. */
TEST(time)
{
	struct bench b = bench_on(L1_4K L2_ALL WALK, 4);
	uint64_t start;
	unsigned int i;

	map_pages(32, PAGE, 1);
	lap(&b, 32, PAGE);
	/* the walk over lines of one set misses the cache each time */
	start = sim_tsc(b.cpu);
	for (i = 0; i < 32; i++)
		extra(&b, BASE + i * PAGE, FREE + i * 3 * PAGE);
	EXPECT_EQ(32 * (200 + 7), sim_tsc(b.cpu) - start);
	bench_end(&b);
}

TEST_HARNESS_MAIN
