// SPDX-License-Identifier: GPL-2.0-only
/* Caches against closed forms, against a slow model written another way, and shared by threads. */
#include <pthread.h>

#include "kselftest_harness.h"
#include "modeltext.h"

#define HEAD	CPU_INTEL TIMING PMU_NONE

/* One vCPU or more on a model, and the number of instructions so far. */
struct bench {
	struct sim_model *model;
	struct sim_machine *machine;
	struct sim_cpu *cpu;
	uint64_t insns;
};

static struct bench bench_on(struct sim_model *model, unsigned int cpus)
{
	struct bench b = { .model = model };

	b.machine = machine_from(model, cpus, NULL);
	b.cpu = sim_cpu_new(b.machine, 0);
	return b;
}

static void bench_end(struct bench *b)
{
	sim_machine_free(b->machine);
	sim_model_free(b->model);
}

static void act(struct bench *b, struct sim_cpu *cpu, uint64_t addr, enum sim_kind kind)
{
	sim_mem_access(cpu, ++b->insns, addr, addr, 8, kind);
}

static void load(struct bench *b, uint64_t addr)
{
	act(b, b->cpu, addr, SIM_LOAD);
}

/* Loads that this many laps over n addresses @step apart take from a source, after a first lap. */
static uint64_t walk(struct bench *b, unsigned int n, uint64_t step, unsigned int laps,
		     unsigned int source)
{
	uint64_t before = 0;
	unsigned int lap, i;

	for (lap = 0; lap <= laps; lap++) {
		if (lap == 1)
			before = b->cpu->raw[RAW_LOAD + source];
		for (i = 0; i < n; i++)
			load(b, i * step);
	}
	return b->cpu->raw[RAW_LOAD + source] - before;
}

static struct sim_model *one_level(unsigned int ways, unsigned int line, unsigned int sets,
				   const char *more)
{
	return model_from(HEAD "[cache l1d]\nsize = %u\nways = %u\nline = %u\nlatency = 4\n%s",
			  ways * line * sets, ways, line, more);
}

static const struct {
	unsigned int ways, line, sets;
	const char *more;
} shapes[] = {
	{ 1, 64, 64, "" },	 { 2, 32, 64, "" },	{ 4, 256, 16, "" },
	{ 8, 64, 64, "" },	 { 8, 128, 32, "" },	{ 10, 64, 2048, "" },
	{ 11, 64, 20480, "" },	 { 12, 64, 64, "" },	{ 12, 64, 40960, "" },
	{ 16, 64, 1, "" },	 { 20, 64, 1024, "" },	{ 64, 32, 3, "" },
	{ 8, 64, 64, "replace = plru\n" }, { 2, 64, 7, "replace = plru\n" },
	{ 32, 64, 8, "replace = plru\n" },
};

/* As many lines as ways in one set never miss; with one more an LRU set always misses. */
TEST(ways_of_a_set)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		const unsigned int ways = shapes[i].ways;
		const uint64_t step = (uint64_t)shapes[i].line * shapes[i].sets;
		struct bench b = bench_on(one_level(ways, shapes[i].line, shapes[i].sets,
						    shapes[i].more), 1);

		EXPECT_EQ(0, walk(&b, ways, step, 3, SIM_SOURCE_MEM)) TH_LOG("shape %u", i);
		if (!*shapes[i].more)
			EXPECT_EQ(3 * (ways + 1), walk(&b, ways + 1, step, 3, SIM_SOURCE_MEM))
				TH_LOG("shape %u", i);
		bench_end(&b);
	}
}

/* The capacity exactly fits; one line more costs its set all hits, and no other set any. */
TEST(capacity)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		const unsigned int lines = shapes[i].ways * shapes[i].sets;
		struct bench b = bench_on(one_level(shapes[i].ways, shapes[i].line,
						    shapes[i].sets, shapes[i].more), 1);

		EXPECT_EQ(0, walk(&b, lines, shapes[i].line, 2, SIM_SOURCE_MEM))
			TH_LOG("shape %u", i);
		if (!*shapes[i].more)
			EXPECT_EQ(2 * (shapes[i].ways + 1),
				  walk(&b, lines + 1, shapes[i].line, 2, SIM_SOURCE_MEM))
				TH_LOG("shape %u", i);
		bench_end(&b);
	}
}

/*
 * Tree-PLRU of 4 ways, by hand: fill a b c d, use a: the tree points to the right half, there to c
 * (d was used after it). The next line takes the place of c, where LRU would take that of b.
 */
TEST(tree_plru_by_hand)
{
	struct bench b = bench_on(one_level(4, 64, 1, "replace = plru\n"), 1);
	uint64_t misses;
	unsigned int i;

	for (i = 0; i < 4; i++)
		load(&b, 64 * i);
	load(&b, 0);
	load(&b, 64 * 4);
	misses = b.cpu->raw[RAW_LOAD + SIM_SOURCE_MEM];
	EXPECT_EQ(5, misses);
	load(&b, 64 * 1);
	load(&b, 64 * 3);
	load(&b, 0);
	load(&b, 64 * 4);
	EXPECT_EQ(5, b.cpu->raw[RAW_LOAD + SIM_SOURCE_MEM]);
	load(&b, 64 * 2);
	EXPECT_EQ(6, b.cpu->raw[RAW_LOAD + SIM_SOURCE_MEM]);
	bench_end(&b);
}

static struct sim_model *two_levels(const char *inclusion, unsigned int ways2)
{
	return model_from(HEAD "[cache l1d]\nsize = 512\nways = 4\nline = 64\nlatency = 4\n"
			  "[cache l2]\nsize = %u\nways = %u\nline = 64\nlatency = 12\n"
			  "inclusion = %s\n", ways2 * 128, ways2, inclusion);
}

/* What of one set both levels hold together before memory is asked again. */
static const struct {
	const char *inclusion;
	unsigned int ways2, together;
} unions[] = {
	{ "exclusive", 8, 12 }, { "exclusive", 2, 6 }, { "inclusive", 8, 8 },
	{ "neither", 8, 8 },	{ "exclusive", 11, 15 },
};

TEST(capacity_by_inclusion)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(unions); i++) {
		struct bench b = bench_on(two_levels(unions[i].inclusion, unions[i].ways2), 1);
		const unsigned int n = unions[i].together;

		EXPECT_EQ(0, walk(&b, n, 128, 4, SIM_SOURCE_MEM)) TH_LOG("row %u", i);
		EXPECT_EQ(4 * n, walk(&b, n, 128, 4, 1)) TH_LOG("row %u", i);
		EXPECT_EQ(4 * (n + 1), walk(&b, n + 1, 128, 4, SIM_SOURCE_MEM))
			TH_LOG("row %u", i);
		bench_end(&b);
	}
}

/* An inclusive L2 of 2 ways takes from an L1 of 4 what it loses itself; another one does not. */
TEST(back_invalidation)
{
	struct bench b = bench_on(two_levels("inclusive", 2), 1);

	EXPECT_EQ(0, walk(&b, 2, 128, 3, 1));
	EXPECT_EQ(0, b.cpu->raw[RAW_LOAD + 0] % 2);
	EXPECT_EQ(9, walk(&b, 3, 128, 3, SIM_SOURCE_MEM));
	bench_end(&b);
	b = bench_on(two_levels("neither", 2), 1);
	EXPECT_EQ(0, walk(&b, 3, 128, 3, SIM_SOURCE_MEM));
	bench_end(&b);
}

/* A dirty line that an inclusive L2 takes out of L1 is written once. */
TEST(back_invalidation_writes_back)
{
	struct bench b = bench_on(two_levels("inclusive", 2), 1);

	act(&b, b.cpu, 0, SIM_STORE);
	load(&b, 128);
	load(&b, 256);
	EXPECT_EQ(1, b.cpu->raw[RAW_MEM_WRITE]);
	EXPECT_EQ(1, b.cpu->raw[RAW_WRITEBACK + 1]);
	EXPECT_EQ(0, b.cpu->raw[RAW_WRITEBACK + 0]);
	bench_end(&b);
}

/* Stores to N lines through C lines of cache: N - C written back, C by WBINVD, each once. */
TEST(write_backs)
{
	struct bench b = bench_on(one_level(8, 64, 16, ""), 1);
	unsigned int i;

	for (i = 0; i < 1000; i++)
		act(&b, b.cpu, 64 * i, SIM_STORE);
	EXPECT_EQ(1000, b.cpu->raw[RAW_STORE + SIM_SOURCE_MEM]);
	EXPECT_EQ(1000, b.cpu->raw[RAW_FILL_STORE + SIM_SOURCE_MEM]);
	EXPECT_EQ(1000 - 128, b.cpu->raw[RAW_MEM_WRITE]);
	sim_writeback_all(b.cpu, ++b.insns);
	EXPECT_EQ(1000, b.cpu->raw[RAW_MEM_WRITE]);
	sim_writeback_all(b.cpu, ++b.insns);
	EXPECT_EQ(1000, b.cpu->raw[RAW_MEM_WRITE]);
	load(&b, 64 * 999);
	EXPECT_EQ(1, b.cpu->raw[RAW_LOAD + SIM_SOURCE_MEM]);
	bench_end(&b);
}

/* Dirty in L1, clean older copy in L2: L1's eviction makes L2's dirty, then memory is written. */
TEST(write_back_goes_level_by_level)
{
	struct bench b = bench_on(two_levels("neither", 8), 1);
	unsigned int i;

	act(&b, b.cpu, 0, SIM_STORE);
	for (i = 1; i <= 4; i++)
		load(&b, 128 * i);
	EXPECT_EQ(1, b.cpu->raw[RAW_WRITEBACK + 0]);
	EXPECT_EQ(0, b.cpu->raw[RAW_MEM_WRITE]);
	for (i = 5; i <= 8; i++)
		load(&b, 128 * i);
	EXPECT_EQ(1, b.cpu->raw[RAW_WRITEBACK + 1]);
	EXPECT_EQ(1, b.cpu->raw[RAW_MEM_WRITE]);
	bench_end(&b);
}

static struct sim_model *three_levels(const char *cpu, const char *more2, const char *more3)
{
	return model_from("%s" TIMING PMU_NONE
			  "[cache l1d]\nsize = 1K\nways = 4\nline = 64\nlatency = 4\n"
			  "[cache l2]\nsize = 4K\nways = 4\nline = 64\nlatency = 12\n%s"
			  "[cache l3]\nsize = 16K\nways = 8\nline = 64\nlatency = 40\n%s", cpu,
			  more2, more3);
}

/* Which level serves a load after a prefetch. */
static const struct {
	enum sim_kind kind;
	const char *more3;
	unsigned int source;
} prefetches[] = {
	{ SIM_PREFETCH_T0, "", 0 },
	{ SIM_PREFETCH_T1, "", 1 },
	{ SIM_PREFETCH_T2, "", 2 },
	{ SIM_PREFETCH_NTA, "", 0 },
	{ SIM_PREFETCH_T2, "inclusion = exclusive\n", 2 },
};

TEST(prefetch_instructions)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(prefetches); i++) {
		const bool exclusive = *prefetches[i].more3;
		struct bench b = bench_on(three_levels(CPU_INTEL,
						       exclusive ? "inclusion = inclusive\n" : "",
						       prefetches[i].more3), 1);

		act(&b, b.cpu, 4096, prefetches[i].kind);
		EXPECT_EQ(1, b.cpu->raw[RAW_PREFETCH]);
		EXPECT_EQ(!prefetches[i].source,
			  b.cpu->raw[RAW_FILL_PREFETCH + SIM_SOURCE_MEM]);
		load(&b, 4096);
		EXPECT_EQ(1, b.cpu->raw[RAW_LOAD + prefetches[i].source]) TH_LOG("row %u", i);
		bench_end(&b);
	}
}

/* PREFETCHNTA leaves the outer levels alone unless they are inclusive. */
TEST(prefetch_nta_passes_by)
{
	static const char *const inclusion[] = { "", "inclusion = inclusive\n" };
	unsigned int i, n;

	for (i = 0; i < 2; i++) {
		struct bench b = bench_on(three_levels(CPU_INTEL, inclusion[i], inclusion[i]), 1);

		act(&b, b.cpu, 0, SIM_PREFETCH_NTA);
		for (n = 1; n <= 4; n++)
			load(&b, 256 * n);
		load(&b, 0);
		EXPECT_EQ(i ? 4 : 5, b.cpu->raw[RAW_LOAD + SIM_SOURCE_MEM]);
		bench_end(&b);
	}
}

TEST(flushes)
{
	struct bench b = bench_on(three_levels(CPU_INTEL, "", ""), 1);

	act(&b, b.cpu, 0, SIM_STORE);
	act(&b, b.cpu, 0, SIM_CLWB);
	EXPECT_EQ(1, b.cpu->raw[RAW_MEM_WRITE]);
	load(&b, 0);
	EXPECT_EQ(1, b.cpu->raw[RAW_LOAD + 0]);
	act(&b, b.cpu, 0, SIM_CLFLUSH);
	EXPECT_EQ(1, b.cpu->raw[RAW_MEM_WRITE]);
	load(&b, 0);
	EXPECT_EQ(1, b.cpu->raw[RAW_LOAD + SIM_SOURCE_MEM]);
	act(&b, b.cpu, 0, SIM_STORE);
	sim_flush_line(b.cpu, ++b.insns, 63);
	EXPECT_EQ(2, b.cpu->raw[RAW_MEM_WRITE]);
	EXPECT_EQ(3, b.cpu->raw[RAW_FLUSH]);
	load(&b, 0);
	EXPECT_EQ(2, b.cpu->raw[RAW_LOAD + SIM_SOURCE_MEM]);
	act(&b, b.cpu, 0, SIM_CLDEMOTE);
	load(&b, 0);
	EXPECT_EQ(1, b.cpu->raw[RAW_LOAD + 2]);
	bench_end(&b);
}

/* Eight stores of eight bytes make one write of a line, and leave nothing in the caches. */
TEST(non_temporal_stores)
{
	struct bench b = bench_on(three_levels(CPU_INTEL, "", ""), 1);
	unsigned int i;

	act(&b, b.cpu, 0, SIM_STORE);
	for (i = 0; i < 16; i++)
		act(&b, b.cpu, 8 * i, SIM_STORE_NT);
	EXPECT_EQ(16, b.cpu->raw[RAW_STORE_NT]);
	EXPECT_EQ(1 + 2, b.cpu->raw[RAW_MEM_WRITE]);
	EXPECT_EQ(1, b.cpu->raw[RAW_STORE + SIM_SOURCE_MEM]);
	load(&b, 0);
	load(&b, 64);
	EXPECT_EQ(2, b.cpu->raw[RAW_LOAD + SIM_SOURCE_MEM]);
	bench_end(&b);
}

/* One load over two lines: one load, two fills, the farther source; over two pages too. */
TEST(crossing_a_line)
{
	struct bench b = bench_on(three_levels(CPU_INTEL, "", ""), 1);

	load(&b, 0);
	load(&b, 60);
	EXPECT_EQ(2, b.cpu->raw[RAW_LOAD + SIM_SOURCE_MEM]);
	EXPECT_EQ(2, b.cpu->raw[RAW_FILL_LOAD + SIM_SOURCE_MEM]);
	load(&b, 60);
	load(&b, 56);
	EXPECT_EQ(2, b.cpu->raw[RAW_LOAD + 0]);
	sim_mem_access_pages(b.cpu, ++b.insns, 0x7ffe, 0x3ffe, 0x9000, 4, SIM_LOAD);
	EXPECT_EQ(4, b.cpu->raw[RAW_FILL_LOAD + SIM_SOURCE_MEM]);
	load(&b, 0x3fc0);
	load(&b, 0x9000);
	EXPECT_EQ(4, b.cpu->raw[RAW_LOAD + 0]);
	bench_end(&b);
}

/* 64 sets of 64 bytes are a page; with 128 a virtual index can put one line into two sets. */
TEST(virtual_index)
{
	struct sim_model *m = one_level(2, 64, 128, "index = virtual\n");
	struct bench b = bench_on(m, 1);

	sim_mem_access(b.cpu, ++b.insns, 0x1000, 0x8000, 8, SIM_STORE);
	sim_mem_access(b.cpu, ++b.insns, 0x1000, 0x8000, 8, SIM_LOAD);
	EXPECT_EQ(1, b.cpu->raw[RAW_LOAD + 0]);
	/* by the other colour it is fetched anew, but never is in two places */
	sim_mem_access(b.cpu, ++b.insns, 0x2000, 0x8000, 8, SIM_LOAD);
	EXPECT_EQ(1, b.cpu->raw[RAW_LOAD + SIM_SOURCE_MEM]);
	sim_mem_access(b.cpu, ++b.insns, 0x1000, 0x8000, 8, SIM_LOAD);
	EXPECT_EQ(2, b.cpu->raw[RAW_LOAD + SIM_SOURCE_MEM]);
	EXPECT_EQ(0, b.cpu->raw[RAW_MEM_WRITE]);
	sim_flush_line(b.cpu, ++b.insns, 0x8000);
	EXPECT_EQ(1, b.cpu->raw[RAW_MEM_WRITE]);
	/* two frames of one colour by address, of two by virtual address, do not conflict */
	for (unsigned int i = 0; i < 4; i++)
		sim_mem_access(b.cpu, ++b.insns, 0x1000 * i, 0x10000 * i, 8, SIM_LOAD);
	b.cpu->raw[RAW_LOAD + 0] = 0;
	for (unsigned int i = 0; i < 4; i++)
		sim_mem_access(b.cpu, ++b.insns, 0x1000 * i, 0x10000 * i, 8, SIM_LOAD);
	EXPECT_EQ(4, b.cpu->raw[RAW_LOAD + 0]);
	bench_end(&b);
}

/* A dependent chase takes its latency for each load, whatever the loop around it. */
static const struct {
	unsigned int width, latency, extra;
	uint64_t cycles;
} chases[] = {
	{ 4, 4, 2, 64 * 4 },   { 1, 4, 2, 64 * 4 },  { 6, 5, 2, 64 * 5 },
	{ 2, 200, 2, 64 * 200 }, { 1, 4, 0, 64 * 4 },
	/* nine instructions more are dispatched while the loads wait */
	{ 1, 8, 9, 64 * 8 },
	/* so many wait for the loads, as the reorder buffer is full, and the next loads for them */
	{ 1, 8, 500, 64 * 8 + 500 },
	/* a load and an instruction are dispatched in two cycles, longer than a load takes */
	{ 1, 1, 64, 2 * 64 },
};

/* Time of so many laps over 64 lines, with more instructions at the end of each. */
static uint64_t time_of_laps(unsigned int row, unsigned int laps)
{
	struct sim_model *m = model_from(CPU_INTEL PMU_NONE
		"[timing]\nwidth = %u\ntsc_hz = 2000000000\nmemory = 999\n"
		"[cache l1d]\nsize = 8K\nways = 8\nline = 64\nlatency = %u\n",
		chases[row].width, chases[row].latency);
	struct bench b = bench_on(m, 1);
	unsigned int n, lap;
	uint64_t time;

	for (lap = 0; lap < laps; lap++) {
		for (n = 0; n < 64; n++)
			load(&b, 64 * n);
		b.insns += chases[row].extra;
		/* told or not told in between, it is the same time */
		if (lap % 2)
			sim_cpu_instructions(b.cpu, b.insns);
	}
	time = sim_tsc(b.cpu);
	bench_end(&b);
	return time;
}

TEST(time_of_a_chase)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(chases); i++)
		EXPECT_EQ(10 * chases[i].cycles, time_of_laps(i, 21) - time_of_laps(i, 11)) {
			TH_LOG("row %u", i);
		}
}

/* Stores and prefetches that hit take their slot, a fence lets it pass, a ratio scales the TSC. */
TEST(time_of_the_rest)
{
	struct sim_model *m = model_from(CPU_INTEL PMU_NONE TIMING "core_ratio = 3/2\n" L1D);
	struct bench b = bench_on(m, 1);
	unsigned int i;
	uint64_t tsc;

	load(&b, 0);
	tsc = sim_tsc(b.cpu);
	for (i = 0; i < 1200; i++)
		act(&b, b.cpu, 0, i % 4 ? SIM_PREFETCH_T0 : SIM_STORE);
	sim_cpu_serialize(b.cpu, b.insns);
	EXPECT_EQ(1200 / 4 * 2 / 3, sim_tsc(b.cpu) - tsc);
	tsc = sim_tsc(b.cpu);
	b.insns += 120;
	sim_cpu_serialize(b.cpu, b.insns);
	act(&b, b.cpu, 1 << 20, SIM_LOAD);
	/* 30 cycles and 200, rounded up to the next step of the TSC: 231 = 3 * 77 */
	EXPECT_EQ(154, sim_tsc(b.cpu) - tsc);
	bench_end(&b);
}

/* ---- Several vCPUs ---- */

static unsigned int source_of(struct bench *b, unsigned int cpu, uint64_t addr)
{
	struct sim_cpu *c = sim_cpu_new(b->machine, cpu);
	uint64_t before[SIM_SOURCES];
	unsigned int i;

	memcpy(before, c->raw + RAW_LOAD, sizeof(before));
	sim_mem_access(c, c->insns + 1, addr, addr, 8, SIM_LOAD);
	for (i = 0; i < SIM_SOURCES; i++)
		if (c->raw[RAW_LOAD + i] != before[i])
			return i;
	return SIM_SOURCES;
}

TEST(shared_and_private)
{
	struct bench b = bench_on(three_levels(CPU_INTEL "cluster = 2\n", "",
					       "scope = cluster\n"), 4);

	EXPECT_EQ(SIM_SOURCE_MEM, source_of(&b, 0, 0));
	EXPECT_EQ(2, source_of(&b, 1, 0));
	EXPECT_EQ(SIM_SOURCE_MEM, source_of(&b, 2, 0));
	EXPECT_EQ(2, source_of(&b, 3, 0));
	EXPECT_EQ(0, source_of(&b, 0, 0));
	bench_end(&b);
}

TEST(threads_share_level_1)
{
	struct bench b = bench_on(three_levels(CPU_INTEL "threads = 2\n", "",
					       "scope = package\n"), 4);

	EXPECT_EQ(SIM_SOURCE_MEM, source_of(&b, 0, 0));
	EXPECT_EQ(0, source_of(&b, 1, 0));
	EXPECT_EQ(2, source_of(&b, 2, 0));
	EXPECT_EQ(0, source_of(&b, 3, 0));
	bench_end(&b);
}

/* What an inclusive shared L3 evicts for one core leaves the private caches of the other. */
TEST(shared_inclusive_back_invalidates)
{
	struct bench b = bench_on(three_levels(CPU_INTEL, "",
					       "scope = package\ninclusion = inclusive\n"), 2);
	unsigned int i;

	sim_mem_access(sim_cpu_new(b.machine, 0), 1, 0, 0, 8, SIM_STORE);
	EXPECT_EQ(0, source_of(&b, 0, 0));
	for (i = 1; i <= 8; i++)
		EXPECT_EQ(SIM_SOURCE_MEM, source_of(&b, 1, 2048 * i));
	EXPECT_EQ(SIM_SOURCE_MEM, source_of(&b, 0, 0));
	EXPECT_EQ(1, sim_cpu_new(b.machine, 0)->raw[RAW_MEM_WRITE]);
	bench_end(&b);
}

/* An exclusive shared L3 gives to one core what another one evicted, and keeps no copy. */
TEST(shared_exclusive_collects)
{
	struct bench b = bench_on(three_levels(CPU_AMD, "inclusion = inclusive\n",
					       "scope = package\ninclusion = exclusive\n"), 2);
	unsigned int i;

	for (i = 0; i <= 4; i++)
		EXPECT_EQ(SIM_SOURCE_MEM, source_of(&b, 0, 1024 * i));
	EXPECT_EQ(2, source_of(&b, 1, 0));
	EXPECT_EQ(SIM_SOURCE_MEM, source_of(&b, 0, 0));
	bench_end(&b);
}

TEST(flush_reaches_other_cores)
{
	struct bench b = bench_on(three_levels(CPU_INTEL, "", ""), 2);

	sim_mem_access(sim_cpu_new(b.machine, 0), 1, 0, 0, 8, SIM_STORE);
	sim_flush_line(sim_cpu_new(b.machine, 1), 1, 0);
	EXPECT_EQ(SIM_SOURCE_MEM, source_of(&b, 0, 0));
	EXPECT_EQ(1, sim_cpu_new(b.machine, 0)->raw[RAW_MEM_WRITE]);
	bench_end(&b);
}

/* A core that never runs does not make its list of flushed lines grow without end. */
TEST(mail_keeps_each_line_once)
{
	struct bench b = bench_on(three_levels(CPU_INTEL, "", ""), 2);
	unsigned int i;

	for (i = 0; i < 1000000; i++)
		sim_flush_line(b.cpu, i, 64 * (i % 100));
	EXPECT_GE(400, b.machine->mem->core[1].room);
	bench_end(&b);
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#define THREAD_ACCESSES	300000

static void *hammer(void *arg)
{
	struct sim_cpu *cpu = arg;
	uint64_t state = 0x9e3779b97f4a7c15ull + cpu->index, i, r;

	for (i = 1; i <= THREAD_ACCESSES; i++) {
		r = random_next(&state);
		sim_mem_access(cpu, i, r % 65536, r % 65536, 8,
			       r >> 40 & 1 ? SIM_STORE : SIM_LOAD);
	}
	return NULL;
}

static unsigned int copies(const struct sim_cache *c, uint64_t line)
{
	unsigned int found = 0;
	uint64_t i;

	for (i = 0; i < c->stride * c->sets; i++)
		found += c->entry[i] >> SIM_ENTRY_SHIFT == line;
	return found;
}

/* Threads at once: no access is lost, no line is twice in a cache, inner lines are in L3. */
TEST(concurrent_threads)
{
	struct bench b = bench_on(three_levels(CPU_INTEL, "",
					       "scope = package\ninclusion = inclusive\n"), 4);
	struct sim_memsys *mem = b.machine->mem;
	pthread_t thread[4];
	uint64_t total = 0, i;
	unsigned int n, s;

	for (n = 0; n < 4; n++)
		ASSERT_EQ(0, pthread_create(&thread[n], NULL, hammer, sim_cpu_new(b.machine, n)));
	for (n = 0; n < 4; n++)
		pthread_join(thread[n], NULL);
	for (n = 0; n < 4; n++) {
		/* a last access reads the mail that is left */
		sim_flush_line(sim_cpu_new(b.machine, n), THREAD_ACCESSES, 1 << 20);
		source_of(&b, n, 1 << 20);
		for (s = 0; s < SIM_SOURCES; s++)
			total += sim_cpu_new(b.machine, n)->raw[RAW_LOAD + s] +
				 sim_cpu_new(b.machine, n)->raw[RAW_STORE + s];
	}
	EXPECT_EQ(4 * (THREAD_ACCESSES + 1), total);
	for (n = 0; n < 4; n++) {
		struct sim_cache *l1 = mem->core[n].path[0], *l2 = mem->core[n].path[1];

		for (i = 0; i < l1->stride * l1->sets; i++) {
			if (l1->entry[i] == SIM_ENTRY_EMPTY)
				continue;
			EXPECT_EQ(1, copies(l1, l1->entry[i] >> SIM_ENTRY_SHIFT));
			EXPECT_EQ(1, copies(&mem->cache[2][0], l1->entry[i] >> SIM_ENTRY_SHIFT));
		}
		for (i = 0; i < l2->stride * l2->sets; i++)
			if (l2->entry[i] != SIM_ENTRY_EMPTY)
				EXPECT_EQ(1, copies(&mem->cache[2][0],
						    l2->entry[i] >> SIM_ENTRY_SHIFT));
	}
	bench_end(&b);
}

/* ---- The same rules, written slowly: places with a time of last use, a tree by recursion ---- */

struct ref_place {
	bool full;
	bool dirty;
	uint64_t line;
	uint64_t used;
};

struct ref_level {
	const struct sim_cache_model *m;
	struct ref_place *place;
	bool *points_right;
};

struct ref {
	unsigned int levels;
	struct ref_level level[SIM_CACHES_MAX];
	uint64_t now;
	uint64_t combining;
	uint64_t raw[RAW_COUNT];
};

static struct ref_place *ref_set(struct ref_level *l, uint64_t line)
{
	return l->place + line % l->m->sets * l->m->ways;
}

static struct ref_place *ref_find(struct ref_level *l, uint64_t line)
{
	struct ref_place *set = ref_set(l, line);
	unsigned int i;

	for (i = 0; i < l->m->ways; i++)
		if (set[i].full && set[i].line == line)
			return &set[i];
	return NULL;
}

/* The tree of a set as inner nodes of a heap; @to: range of ways, halved at each step. */
static void ref_tree_away(bool *node, unsigned int at, unsigned int from, unsigned int to,
			  unsigned int way)
{
	unsigned int middle = (from + to) / 2;

	if (to - from == 1)
		return;
	node[at] = way < middle;
	if (way < middle)
		ref_tree_away(node, 2 * at + 1, from, middle, way);
	else
		ref_tree_away(node, 2 * at + 2, middle, to, way);
}

static unsigned int ref_tree_oldest(const bool *node, unsigned int at, unsigned int from,
				    unsigned int to)
{
	unsigned int middle = (from + to) / 2;

	if (to - from == 1)
		return from;
	return node[at] ? ref_tree_oldest(node, 2 * at + 2, middle, to) :
			  ref_tree_oldest(node, 2 * at + 1, from, middle);
}

static bool *ref_tree(struct ref_level *l, uint64_t line)
{
	return l->points_right + line % l->m->sets * l->m->ways;
}

static void ref_use(struct ref *r, struct ref_level *l, struct ref_place *p)
{
	p->used = ++r->now;
	if (l->m->replace == SIM_PLRU)
		ref_tree_away(ref_tree(l, p->line), 0, 0, l->m->ways,
			      p - ref_set(l, p->line));
}

static struct ref_place *ref_victim(struct ref_level *l, uint64_t line)
{
	struct ref_place *set = ref_set(l, line), *oldest = set;
	unsigned int i;

	for (i = 0; i < l->m->ways; i++)
		if (!set[i].full)
			return &set[i];
	if (l->m->replace == SIM_PLRU)
		return set + ref_tree_oldest(ref_tree(l, line), 0, 0, l->m->ways);
	for (i = 1; i < l->m->ways; i++)
		if (set[i].used < oldest->used)
			oldest = &set[i];
	return oldest;
}

static bool ref_drop(struct ref *r, unsigned int below, uint64_t line)
{
	bool dirty = false;
	unsigned int i;

	for (i = 0; i < below; i++) {
		struct ref_place *p = ref_find(&r->level[i], line);

		if (!p)
			continue;
		dirty |= p->dirty;
		p->full = false;
	}
	return dirty;
}

static void ref_put(struct ref *r, unsigned int n, uint64_t line, bool dirty);

static void ref_left(struct ref *r, unsigned int n, struct ref_place gone)
{
	struct ref_place *p;

	if (r->level[n].m->inclusion == SIM_INCLUSIVE && ref_drop(r, n, gone.line))
		gone.dirty = true;
	if (gone.dirty)
		r->raw[RAW_WRITEBACK + n]++;
	if (n + 1 == r->levels) {
		r->raw[RAW_MEM_WRITE] += gone.dirty;
		return;
	}
	if (!gone.dirty && r->level[n + 1].m->inclusion != SIM_EXCLUSIVE)
		return;
	p = ref_find(&r->level[n + 1], gone.line);
	if (p)
		p->dirty |= gone.dirty;
	else
		ref_put(r, n + 1, gone.line, gone.dirty);
}

static void ref_put(struct ref *r, unsigned int n, uint64_t line, bool dirty)
{
	struct ref_place *p = ref_victim(&r->level[n], line), gone = *p;

	*p = (struct ref_place){ .full = true, .dirty = dirty, .line = line };
	ref_use(r, &r->level[n], p);
	if (gone.full)
		ref_left(r, n, gone);
}

static unsigned int ref_fetch(struct ref *r, uint64_t line, unsigned int into, bool write,
			      bool sparing)
{
	struct ref_place *p = NULL;
	unsigned int source;
	bool dirty = false;
	int n;

	for (source = 0; source < r->levels; source++) {
		p = ref_find(&r->level[source], line);
		if (p)
			break;
	}
	if (p && source > into && r->level[source].m->inclusion == SIM_EXCLUSIVE) {
		dirty = p->dirty;
		p->full = false;
	} else if (p) {
		ref_use(r, &r->level[source], p);
		p->dirty |= write && !source;
	}
	for (n = (int)source - 1; n >= (int)into; n--) {
		const unsigned int inclusion = r->level[n].m->inclusion;

		if (n > (int)into && (inclusion == SIM_EXCLUSIVE ||
				      (sparing && inclusion == SIM_NEITHER)))
			continue;
		ref_put(r, n, line, dirty || (write && !n));
		dirty = false;
	}
	return source == r->levels ? SIM_SOURCE_MEM : source;
}

static void ref_demand(struct ref *r, uint64_t first, uint64_t last, bool write)
{
	unsigned int source, farthest = 0;
	uint64_t line;

	for (line = first; line <= last; line++) {
		source = ref_fetch(r, line, 0, write, false);
		if (source)
			r->raw[(write ? RAW_FILL_STORE : RAW_FILL_LOAD) + source]++;
		farthest = source > farthest ? source : farthest;
	}
	r->raw[(write ? RAW_STORE : RAW_LOAD) + farthest]++;
}

static void ref_prefetch(struct ref *r, uint64_t line, unsigned int into, bool sparing)
{
	unsigned int source;

	r->raw[RAW_PREFETCH]++;
	into = into < r->levels ? into : r->levels - 1;
	source = ref_fetch(r, line, into, false, sparing);
	if (!into && source)
		r->raw[RAW_FILL_PREFETCH + source]++;
}

static void ref_store_nt(struct ref *r, uint64_t first, uint64_t last)
{
	uint64_t line;

	r->raw[RAW_STORE_NT]++;
	for (line = first; line <= last; line++) {
		r->raw[RAW_MEM_WRITE] += ref_drop(r, r->levels, line);
		r->raw[RAW_MEM_WRITE] += r->combining != line;
		r->combining = line;
	}
}

static void ref_clean(struct ref *r, uint64_t line)
{
	bool dirty = false;
	unsigned int i;

	r->raw[RAW_FLUSH]++;
	for (i = 0; i < r->levels; i++) {
		struct ref_place *p = ref_find(&r->level[i], line);

		if (!p)
			continue;
		dirty |= p->dirty;
		p->dirty = false;
	}
	r->raw[RAW_MEM_WRITE] += dirty;
}

static void ref_demote(struct ref *r, uint64_t line)
{
	const unsigned int last = r->levels - 1;
	struct ref_place *p;
	bool inside = false, dirty;
	unsigned int i;

	r->raw[RAW_FLUSH]++;
	for (i = 0; i < last; i++)
		inside |= !!ref_find(&r->level[i], line);
	if (!inside)
		return;
	dirty = ref_drop(r, last, line);
	p = ref_find(&r->level[last], line);
	if (p)
		p->dirty |= dirty;
	else
		ref_put(r, last, line, dirty);
}

static void ref_writeback_level(struct ref *r, unsigned int n)
{
	struct ref_level *l = &r->level[n];
	struct ref_place *outer;
	uint64_t i;

	for (i = 0; i < l->m->sets * l->m->ways; i++) {
		if (l->place[i].full && l->place[i].dirty) {
			r->raw[RAW_WRITEBACK + n]++;
			outer = n + 1 < r->levels ?
				ref_find(&r->level[n + 1], l->place[i].line) : NULL;
			if (outer)
				outer->dirty = true;
			else
				r->raw[RAW_MEM_WRITE]++;
		}
		l->place[i].full = false;
		l->points_right[i] = false;
	}
}

static void ref_writeback_all(struct ref *r)
{
	unsigned int n;

	for (n = 0; n < r->levels; n++)
		ref_writeback_level(r, n);
}

static void ref_act(struct ref *r, uint64_t first, uint64_t last, enum sim_kind kind)
{
	switch (kind) {
	case SIM_LOAD:
	case SIM_STORE:
		ref_demand(r, first, last, kind == SIM_STORE);
		break;
	case SIM_STORE_NT:
		ref_store_nt(r, first, last);
		break;
	case SIM_PREFETCH_T0:
	case SIM_PREFETCH_T1:
	case SIM_PREFETCH_T2:
		ref_prefetch(r, first, kind - SIM_PREFETCH_T0, false);
		break;
	case SIM_PREFETCH_NTA:
		ref_prefetch(r, first, 0, true);
		break;
	case SIM_CLFLUSH:
		r->raw[RAW_FLUSH]++;
		r->raw[RAW_MEM_WRITE] += ref_drop(r, r->levels, first);
		break;
	case SIM_CLWB:
		ref_clean(r, first);
		break;
	case SIM_CLDEMOTE:
		ref_demote(r, first);
		break;
	}
}

static struct ref *ref_on(const struct sim_model *m)
{
	struct ref *r = calloc(1, sizeof(*r));
	unsigned int i;

	r->levels = m->caches;
	r->combining = UINT64_MAX;
	for (i = 0; i < m->caches; i++) {
		const uint64_t places = m->cache[i].sets * m->cache[i].ways;

		r->level[i].m = &m->cache[i];
		r->level[i].place = calloc(places, sizeof(struct ref_place));
		r->level[i].points_right = calloc(places, sizeof(bool));
	}
	return r;
}

static void ref_end(struct ref *r)
{
	unsigned int i;

	for (i = 0; i < r->levels; i++) {
		free(r->level[i].place);
		free(r->level[i].points_right);
	}
	free(r);
}

#define L(name, size, ways, line, lat, more)						\
	"[cache " name "]\nsize = " size "\nways = " ways "\nline = " line			\
	"\nlatency = " lat "\n" more
#define PLRU	"replace = plru\n"
#define INCL	"inclusion = inclusive\n"
#define EXCL	"inclusion = exclusive\n"

/* Small, so that a million accesses turn everything over many times. */
static const char *const machines[] = {
	L("l1", "2K", "8", "64", "4", ""),
	L("l1", "2K", "8", "64", "4", PLRU),
	L("l1", "1536", "12", "32", "4", ""),
	L("l1", "5K", "20", "256", "4", ""),
	L("l1", "2112", "11", "64", "4", ""),
	L("l1", "512", "1", "64", "4", ""),
	L("l1d", "1K", "4", "64", "4", "") L("l2", "8K", "16", "64", "12", ""),
	L("l1d", "1K", "4", "64", "4", PLRU) L("l2", "8K", "16", "64", "12", PLRU INCL),
	L("l1d", "1K", "4", "64", "4", "") L("l2", "4K", "8", "64", "12", EXCL),
	L("l1d", "1K", "2", "128", "4", "") L("l2", "8K", "8", "128", "12", INCL),
	L("l1d", "1K", "8", "64", "4", "") L("l2", "1K", "2", "64", "12", INCL),
	L("l1d", "1K", "4", "64", "4", "") L("l2", "5K", "10", "64", "12", "")
		L("l3", "24K", "12", "64", "40", ""),
	L("l1d", "1K", "4", "64", "4", "") L("l2", "4K", "8", "64", "12", INCL)
		L("l3", "8448", "11", "64", "40", EXCL),
	L("l1d", "1K", "4", "64", "4", PLRU) L("l2", "4K", "8", "64", "12", INCL PLRU)
		L("l3", "16K", "16", "64", "40", EXCL PLRU),
	L("l1d", "1K", "4", "64", "4", "") L("l2", "4K", "8", "64", "12", EXCL)
		L("l3", "16K", "16", "64", "40", EXCL),
	L("l1d", "1K", "4", "64", "4", "") L("l2", "4K", "8", "64", "12", EXCL)
		L("l3", "15K", "20", "64", "40", INCL),
	L("l1d", "1K", "4", "64", "4", "") L("l2", "4K", "8", "64", "12", "")
		L("l3", "16K", "16", "64", "40", INCL),
	L("l1d", "1K", "4", "32", "4", "") L("l2", "2K", "8", "32", "12", INCL)
		L("l3", "8K", "16", "32", "40", INCL) L("l4", "32K", "16", "32", "90", EXCL),
	L("l1d", "1K", "4", "64", "4", "") L("l2", "2K", "4", "64", "12", "")
		L("l3", "4K", "4", "64", "40", "") L("l4", "8K", "4", "64", "90", "")
		L("l5", "16K", "4", "64", "150", INCL),
};

/* Nine in ten accesses are loads and stores, one in a hundred thousand empties all. */
static enum sim_kind random_kind(uint64_t r)
{
	const unsigned int pick = r >> 32 & 0xff;

	if (pick < 150)
		return SIM_LOAD;
	if (pick < 230)
		return SIM_STORE;
	return SIM_STORE_NT + pick % (SIM_CLDEMOTE - SIM_STORE_NT + 1);
}

/* Half of the addresses are of a few hot pages, the others of 64 KiB. */
static uint64_t random_address(uint64_t r)
{
	return r >> 60 & 1 ? r % 3072 : r % 65536;
}

#define COMPARED	(RAW_COUNT - RAW_LOAD)

/* Number of the first access after which the two differ, or 0. */
static uint64_t first_difference(struct sim_model *m, uint64_t accesses)
{
	struct bench b = bench_on(m, 1);
	struct ref *r = ref_on(m);
	uint64_t state = 88172645463325252ull, i, rnd, addr, line = m->cache[0].line, bad = 0;

	for (i = 1; i <= accesses && !bad; i++) {
		rnd = random_next(&state);
		addr = random_address(rnd);
		if ((rnd >> 40) % 100000 == 0) {
			sim_writeback_all(b.cpu, i);
			ref_writeback_all(r);
		}
		sim_mem_access(b.cpu, i, addr, addr, 8, random_kind(rnd));
		ref_act(r, addr / line, (addr + 7) / line, random_kind(rnd));
		if (memcmp(b.cpu->raw + RAW_LOAD, r->raw + RAW_LOAD, COMPARED * sizeof(uint64_t)))
			bad = i;
	}
	sim_writeback_all(b.cpu, accesses);
	ref_writeback_all(r);
	if (!bad && memcmp(b.cpu->raw + RAW_LOAD, r->raw + RAW_LOAD, COMPARED * sizeof(uint64_t)))
		bad = accesses + 1;
	ref_end(r);
	bench_end(&b);
	return bad;
}

/* A fixture only for the time that it may take on a busy machine. */
FIXTURE(slow)
{
};

FIXTURE_SETUP(slow)
{
}

FIXTURE_TEARDOWN(slow)
{
}

TEST_F_TIMEOUT(slow, model_agrees, 300)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(machines); i++)
		EXPECT_EQ(0, first_difference(model_from(HEAD "%s", machines[i]), 1000000))
			TH_LOG("machine %u", i);
}

TEST_HARNESS_MAIN
