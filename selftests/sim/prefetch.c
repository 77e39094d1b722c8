// SPDX-License-Identifier: GPL-2.0-only
/* Hardware prefetchers, each by itself: what a walk makes them fetch, where they stop. */
#include "kselftest_harness.h"
#include "modeltext.h"
#include "walk.h"

#define CACHES									\
	"[cache l1d]\nsize = 32K\nways = 8\nline = %u\nlatency = 4\n"		\
	"[cache l2]\nsize = 256K\nways = 8\nline = %u\nlatency = 12\n"		\
	"[cache l3]\nsize = 2M\nways = 16\nline = %u\nlatency = 40\nscope = package\n"
#define SWITCHES	"[msr]\n0x1a4 = 0xff 0 core\n"
#define PAGES		64u
#define PC		0x100

static const char *const kind_names[] = {
	"next_line", "adjacent", "stream", "ip_stride", "region", "up_down", "multipath",
	"next_page", "pointers",
};

/* What is in the guest's memory, for prefetchers that follow it: the value at each address. */
struct contents {
	uint64_t base, bytes;
	const uint64_t *value;
	uint64_t moved;
};

struct bench {
	struct sim_model *model;
	struct sim_machine *machine;
	struct sim_cpu *cpu;
	unsigned int line;
};

static struct bench bench_text(unsigned int line, unsigned int cpus, const char *sections)
{
	struct bench b = { .line = line };

	b.model = model_from(CPU_INTEL TIMING PMU_NONE SWITCHES CACHES "%s", line, line, line,
			     sections);
	b.machine = machine_from(b.model, cpus, NULL);
	b.cpu = sim_cpu_new(b.machine, 0);
	return b;
}

static void unit_text(const struct unit *u, char *text, size_t len)
{
	snprintf(text, len, "[prefetch p%u]\nkind = %s\nlevel = %u\ntrain = %u\ndegree = %u\n"
		 "distance = %u\nentries = %u\ndisable = msr 0x1a4 bit %u\n", u->bit,
		 kind_names[u->kind], u->level, u->train, u->degree, u->distance, u->entries,
		 u->bit);
}

static struct bench bench_on(unsigned int line, const struct unit *u)
{
	char text[512];

	unit_text(u, text, sizeof(text));
	return bench_text(line, 1, text);
}

static void bench_end(struct bench *b)
{
	sim_machine_free(b->machine);
	sim_model_free(b->model);
}

static const struct unit units[] = {
	{ 0, SIM_PREFETCH_NEXT_LINE, 1, 1, 1, 1, 1 },
	{ 0, SIM_PREFETCH_NEXT_LINE, 1, 0, 1, 1, 1 },
	{ 0, SIM_PREFETCH_NEXT_LINE, 1, 3, 2, 1, 1 },
	{ 1, SIM_PREFETCH_ADJACENT, 2, 2, 1, 1, 1 },
	{ 1, SIM_PREFETCH_ADJACENT, 3, 2, 1, 1, 1 },
	{ 2, SIM_PREFETCH_STREAM, 2, 2, 2, 20, 32 },
	{ 2, SIM_PREFETCH_STREAM, 1, 2, 1, 4, 16 },
	{ 2, SIM_PREFETCH_STREAM, 2, 3, 4, 5, 2 },
	{ 2, SIM_PREFETCH_STREAM, 3, 1, 2, 16, 1 },
	{ 3, SIM_PREFETCH_IP_STRIDE, 1, 2, 1, 1, 16 },
	{ 3, SIM_PREFETCH_IP_STRIDE, 2, 1, 3, 1, 4 },
	{ 4, SIM_PREFETCH_UP_DOWN, 2, 4, 1, 1, 24 },
	{ 4, SIM_PREFETCH_UP_DOWN, 1, 2, 1, 1, 2 },
	{ 5, SIM_PREFETCH_MULTIPATH, 2, 2, 2, 1, 32 },
	{ 5, SIM_PREFETCH_MULTIPATH, 2, 5, 1, 1, 3 },
	{ 6, SIM_PREFETCH_NEXT_PAGE, 1, 2, 1, 2, 1 },
	{ 6, SIM_PREFETCH_NEXT_PAGE, 3, 2, 32, 8, 1 },
};

/* A walk of any length from the start of a page, for lines of both sizes. */
TEST(walks)
{
	unsigned int i, n, line;

	for (i = 0; i < ARRAY_SIZE(units); i++)
		for (line = 64; line <= 128; line *= 2)
			for (n = 1; n <= PAGE / line; n++) {
				struct bench b = bench_on(line, &units[i]);

				walk_lines(b.cpu, 16 * PAGE, n, line);
				EXPECT_EQ(walk_expected(&units[i], n, PAGE / line),
					  walk_fetched(b.cpu))
					TH_LOG("row %u, %u lines of %u", i, n, line);
				bench_end(&b);
			}
}

/* Downward the same kinds do the same but for those that look upward only. */
TEST(downward)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		const struct unit *u = &units[i];
		struct bench b = bench_on(64, u);
		const bool upward = u->kind == SIM_PREFETCH_NEXT_PAGE ||
				    (u->kind == SIM_PREFETCH_NEXT_LINE && u->train);

		walk_lines(b.cpu, 17 * PAGE - 64, 40, -64);
		if (u->kind != SIM_PREFETCH_NEXT_LINE || u->train)
			EXPECT_EQ(upward ? 0 : walk_expected(u, 40, 64), walk_fetched(b.cpu))
				TH_LOG("row %u", i);
		bench_end(&b);
	}
}

/*
 * Pages walked from end to end in turn. All off: each line is missed once. Each alone: the lines
 * that it waited for, in each page or once; in the level that it fills or in none.
 */
static const struct {
	unsigned int unit;
	uint64_t misses;
} linear[] = {
	{ 1, PAGES }, { 3, 32 * PAGES }, { 4, 32 * PAGES }, { 5, 3 * PAGES }, { 6, 3 * PAGES },
	{ 7, 4 * PAGES }, { 8, 2 * PAGES },
	/* ascending addresses, a stride and a balance last from page to page */
	{ 0, PAGES + 1 }, { 2, PAGES + 3 }, { 9, PAGES + 3 }, { 10, PAGES + 2 },
	{ 11, PAGES + 4 }, { 12, PAGES + 2 },
	{ 13, 5 * PAGES }, { 14, 8 * PAGES },
	/* the first page has none before it */
	{ 15, 63 * PAGES + 1 }, { 16, 32 * PAGES + 32 },
};

TEST(linear_walk)
{
	unsigned int i, level;

	for (i = 0; i < ARRAY_SIZE(linear); i++) {
		const struct unit *u = &units[linear[i].unit];
		struct bench b = bench_on(64, u);

		sim_msr_write(b.cpu, 0x1a4, 1 << u->bit);
		walk_lines(b.cpu, 0, PAGES * PAGE / 64, 64);
		EXPECT_EQ(0, walk_fetched(b.cpu)) TH_LOG("row %u", i);
		EXPECT_EQ(PAGES * PAGE / 64, walk_misses(b.cpu, 3)) TH_LOG("row %u", i);
		sim_writeback_all(b.cpu, b.cpu->insns);
		memset(b.cpu->raw, 0, sizeof(b.cpu->raw));
		sim_msr_write(b.cpu, 0x1a4, 0);
		walk_lines(b.cpu, 0, PAGES * PAGE / 64, 64);
		for (level = 1; level <= 3; level++)
			EXPECT_EQ(level >= u->level ? linear[i].misses : PAGES * PAGE / 64,
				  walk_misses(b.cpu, level))
				TH_LOG("row %u, level %u", i, level);
		bench_end(&b);
	}
}

/* What makes no steps of one line is nothing to most; the stride is found up to 2 KiB. */
TEST(strides)
{
	const uint64_t steps[] = { 128, 192, 512, 1024, 2048, 2048 + 64, 4096 };
	unsigned int i, s;

	for (i = 0; i < ARRAY_SIZE(units); i++)
		for (s = 0; s < ARRAY_SIZE(steps); s++) {
			const struct unit *u = &units[i];
			struct bench b = bench_on(64, u);

			walk_lines(b.cpu, 0, 64, steps[s]);
			if (u->kind == SIM_PREFETCH_STREAM || u->kind == SIM_PREFETCH_UP_DOWN ||
			    (u->kind == SIM_PREFETCH_NEXT_LINE && u->train))
				EXPECT_EQ(0, walk_fetched(b.cpu)) TH_LOG("row %u", i);
			/* two of three in a page have another behind them in the page */
			if (u->kind == SIM_PREFETCH_IP_STRIDE)
				EXPECT_EQ(steps[s] < 2048 + 64, walk_fetched(b.cpu) > 0)
					TH_LOG("row %u, step %u", i, s);
			bench_end(&b);
		}
}

/* At 1 KiB a page has 4 loads of one instruction: the first one misses, once it is known. */
TEST(stride_of_1k)
{
	struct bench b = bench_on(64, &units[9]);

	walk_lines(b.cpu, 0, 4 * PAGES, 1024);
	EXPECT_EQ(PAGES + 3, walk_misses(b.cpu, 1));
	bench_end(&b);
}

/* Two steps in turn are nothing to a stream or a stride, but a path. */
TEST(two_steps_in_turn)
{
	const struct unit *u = &units[13];
	struct bench b = bench_on(64, u);
	uint64_t addr = 0;
	unsigned int i;

	for (i = 0; i < 16; i++, addr += i % 2 ? 64 * 2 : 64 * 5)
		walk_load(b.cpu, PC, addr);
	/* the fifth access is the first that has two pairs of equal steps behind it */
	EXPECT_EQ(5, walk_misses(b.cpu, 2));
	bench_end(&b);
	b = bench_on(64, &units[5]);
	for (i = 0, addr = 0; i < 16; i++, addr += i % 2 ? 64 * 2 : 64 * 5)
		walk_load(b.cpu, PC, addr);
	EXPECT_EQ(16, walk_misses(b.cpu, 2));
	bench_end(&b);
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#define CHASED	16384u

/* The order of a chase: each line once, any order. */
static void shuffle(uint64_t *order, unsigned int n)
{
	uint64_t state = 88172645463325252ull;
	unsigned int i;

	for (i = 0; i < n; i++)
		order[i] = i;
	for (i = n - 1; i; i--) {
		const unsigned int j = random_next(&state) % (i + 1);
		const uint64_t swap = order[i];

		order[i] = order[j];
		order[j] = swap;
	}
}

/*
 * A random chase over 1 MiB: what waits for a pattern fetches next to nothing, and the share that
 * it hides of the misses is below a thousandth. Pairs and "any access" fetch always.
 */
TEST(random_chase)
{
	static uint64_t order[CHASED];
	unsigned int i, n;

	shuffle(order, CHASED);
	for (i = 0; i < ARRAY_SIZE(units); i++) {
		const struct unit *u = &units[i];
		struct bench b = bench_on(64, u);

		for (n = 0; n < CHASED; n++)
			walk_load(b.cpu, PC, 64 * order[n]);
		if (u->kind == SIM_PREFETCH_ADJACENT)
			EXPECT_LE(CHASED / 2, walk_fetched(b.cpu));
		if (u->kind != SIM_PREFETCH_ADJACENT && u->train)
			EXPECT_GE(CHASED / 1000, walk_fetched(b.cpu)) TH_LOG("row %u", i);
		bench_end(&b);
	}
}

/* As many pages or instructions as it can follow, in turn; with one more it knows none again. */
TEST(entries)
{
	unsigned int i, n, at, many;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		const struct unit *u = &units[i];

		if (u->kind == SIM_PREFETCH_NEXT_LINE || u->kind == SIM_PREFETCH_ADJACENT ||
		    u->kind == SIM_PREFETCH_NEXT_PAGE)
			continue;
		for (many = u->entries; many <= u->entries + 1; many++) {
			struct bench b = bench_on(64, u);

			for (n = 0; n < 32; n++)
				for (at = 0; at < many; at++)
					walk_load(b.cpu, PC + at, (uint64_t)at * PAGE + 64 * n);
			EXPECT_EQ(many == u->entries, walk_fetched(b.cpu) > 0)
				TH_LOG("row %u, %u at once", i, many);
			bench_end(&b);
		}
	}
}

/* An instruction that opens a page and then touches the same lines of it, whatever their order. */
TEST(regions)
{
	const struct unit u = { 0, SIM_PREFETCH_REGION, 1, 2, 1, 1, 4 };
	const unsigned int lines[] = { 7, 3, 40, 12, 9 };
	struct bench b = bench_on(64, &u);
	unsigned int page, i;

	for (page = 0; page < 32; page++) {
		const uint64_t before = walk_misses(b.cpu, 1);

		for (i = 0; i < ARRAY_SIZE(lines); i++)
			walk_load(b.cpu, PC + i, (uint64_t)page * PAGE + 64 * lines[i]);
		/*
		 * A page is learned when the fifth after it is opened; the third equal one is the
		 * second repetition: with page 6 it is known.
		 */
		EXPECT_EQ(page < 6 ? 5 : 1, walk_misses(b.cpu, 1) - before) TH_LOG("page %u", page);
	}
	/* another instruction knows nothing of it */
	walk_load(b.cpu, PC + 9, 100 * PAGE + 64 * 7);
	walk_load(b.cpu, PC + 9, 100 * PAGE + 64 * 3);
	EXPECT_EQ(6 * 5 + 26 + 2, walk_misses(b.cpu, 1));
	bench_end(&b);
}

static bool contents_read(void *data, unsigned int cpu, uint64_t vaddr, uint64_t *value)
{
	const struct contents *c = data;

	(void)cpu;
	if (vaddr < c->base || vaddr >= c->base + c->bytes)
		return false;
	*value = c->value[(vaddr - c->base) / 8];
	return true;
}

/* Frames stand at the addresses less a constant: who forgets to translate misses them. */
static bool contents_translate(void *data, unsigned int cpu, uint64_t vaddr, uint64_t *paddr)
{
	const struct contents *c = data;

	(void)cpu;
	if (vaddr < c->base || vaddr >= c->base + c->bytes)
		return false;
	*paddr = vaddr - c->moved;
	return true;
}

static void chase(struct bench *b, const struct contents *c, unsigned int n)
{
	static uint64_t at;

	if (!at)
		at = c->base;
	for (; n; n--) {
		sim_mem_from(b->cpu, PC);
		sim_mem_access(b->cpu, b->cpu->insns + 1, at, at - c->moved, 8, SIM_LOAD);
		at = c->value[(at - c->base) / 8];
	}
}

/* A chase is served by the level that the prefetcher fills; switched off, by memory again. */
TEST(pointers)
{
	static uint64_t order[CHASED], value[CHASED * 8];
	const struct contents c = { 0xffff888000000000, sizeof(value), value,
				    0xffff888000000000 };
	const struct sim_memory memory = {
		.read = contents_read, .translate = contents_translate, .data = (void *)&c,
	};
	const struct unit u = { 7, SIM_PREFETCH_POINTERS, 2, 3, 1, 1, 4 };
	struct bench b = bench_on(64, &u);
	unsigned int i;

	shuffle(order, CHASED);
	for (i = 0; i < CHASED; i++)
		value[order[i] * 8] = c.base + order[(i + 1) % CHASED] * 64;
	sim_machine_set_memory(b.machine, &memory);
	chase(&b, &c, CHASED);
	/* the first load, and those before three values in a row had been used */
	EXPECT_EQ(4, walk_misses(b.cpu, 2));
	EXPECT_EQ(CHASED - 4, b.cpu->raw[RAW_LOAD + 1]);
	sim_writeback_all(b.cpu, b.cpu->insns);
	memset(b.cpu->raw, 0, sizeof(b.cpu->raw));
	sim_msr_write(b.cpu, 0x1a4, 1 << 7);
	chase(&b, &c, CHASED);
	EXPECT_EQ(CHASED, b.cpu->raw[RAW_LOAD + SIM_SOURCE_MEM]);
	bench_end(&b);
}

/* Values that nobody uses as addresses, or that are none, are not followed. */
TEST(values_that_are_no_pointers)
{
	static uint64_t value[CHASED];
	const struct contents c = { 0xffff888000000000, sizeof(value), value,
				    0xffff888000000000 };
	const struct sim_memory memory = {
		.read = contents_read, .translate = contents_translate, .data = (void *)&c,
	};
	const struct unit u = { 7, SIM_PREFETCH_POINTERS, 2, 3, 1, 1, 4 };
	struct bench b = bench_on(64, &u);
	unsigned int i;

	for (i = 0; i < CHASED; i++)
		value[i] = i % 2 ? i : c.base + (CHASED - 8 - i) * 8;
	sim_machine_set_memory(b.machine, &memory);
	for (i = 0; i < CHASED / 2; i++)
		sim_mem_access(b.cpu, b.cpu->insns + 1, c.base + 8 * i, 8 * i, 8, SIM_LOAD);
	EXPECT_EQ(0, walk_fetched(b.cpu));
	bench_end(&b);
}

/* The next page is the one at the next virtual address, wherever it lies. */
TEST(next_page_is_virtual)
{
	static uint64_t value[4 * PAGE / 8];
	const struct contents c = { 0xffff888000000000, sizeof(value), value,
				    0xffff888000000000 - 7 * PAGE };
	const struct sim_memory memory = {
		.read = contents_read, .translate = contents_translate, .data = (void *)&c,
	};
	const struct unit u = { 4, SIM_PREFETCH_NEXT_PAGE, 1, 2, 2, 2, 1 };
	struct bench b = bench_on(64, &u);
	unsigned int i;

	sim_machine_set_memory(b.machine, &memory);
	for (i = 0; i < 64; i++)
		sim_mem_access(b.cpu, b.cpu->insns + 1, c.base + 64 * i, 64 * i, 8, SIM_LOAD);
	EXPECT_EQ(2, walk_fetched(b.cpu));
	walk_load(b.cpu, PC, 8 * PAGE);
	walk_load(b.cpu, PC, 8 * PAGE + 64);
	walk_load(b.cpu, PC, 8 * PAGE + 128);
	EXPECT_EQ(2, b.cpu->raw[RAW_LOAD + 0]);
	/* behind the last page there is nothing */
	for (i = 0; i < 64; i++)
		sim_mem_access(b.cpu, b.cpu->insns + 1, c.base + 3 * PAGE + 64 * i,
			       20 * PAGE + 64 * i, 8, SIM_LOAD);
	EXPECT_EQ(2, walk_fetched(b.cpu));
	bench_end(&b);
}

/* Without its end of page a prefetcher goes on into the next frame. */
TEST(page_bound)
{
	struct bench b = bench_text(64, 1, "[prefetch p]\nkind = stream\nlevel = 2\n"
				    "degree = 8\ndistance = 8\npage_bound = no\n");

	walk_lines(b.cpu, 0, 64, 64);
	EXPECT_EQ(63 + 8 - 2, walk_fetched(b.cpu));
	walk_lines(b.cpu, PAGE, 8, 64);
	EXPECT_EQ(3, walk_misses(b.cpu, 2));
	bench_end(&b);
}

/* What is there already is left alone, order of use included, and counted apart. */
TEST(lines_that_are_there)
{
	const struct unit u = { 0, SIM_PREFETCH_NEXT_LINE, 1, 0, 1, 1, 1 };
	struct bench b = bench_on(64, &u);
	unsigned int i;

	/* eight lines of the set of line 1, which line 0 points to again and again */
	sim_msr_write(b.cpu, 0x1a4, 1);
	for (i = 0; i < 8; i++)
		walk_load(b.cpu, PC, 64 + i * PAGE);
	sim_msr_write(b.cpu, 0x1a4, 0);
	for (i = 0; i < 8; i++)
		walk_load(b.cpu, PC, 0);
	EXPECT_EQ(0, walk_fetched(b.cpu));
	sim_msr_write(b.cpu, 0x1a4, 1);
	walk_load(b.cpu, PC, 64 + 8 * PAGE);
	walk_load(b.cpu, PC, 64);
	EXPECT_EQ(11, walk_misses(b.cpu, 1));
	bench_end(&b);
}

/* Requests of level 1's prefetchers are requests to those farther out. */
TEST(outer_sees_inner)
{
	struct bench b = bench_text(64, 1, "[prefetch a]\nkind = next_line\nlevel = 1\n"
				    "train = 0\n[prefetch b]\nkind = adjacent\nlevel = 2\n");

	walk_load(b.cpu, PC, 64);
	/* line 1, its pair 0, then line 2 for level 1, and its pair 3 */
	EXPECT_EQ(3, walk_fetched(b.cpu));
	EXPECT_EQ(1, b.cpu->raw[RAW_FILL_HW + SIM_SOURCE_MEM]);
	EXPECT_EQ(2, b.cpu->raw[RAW_HW_OUTER_MEM]);
	walk_load(b.cpu, PC, 3 * 64);
	EXPECT_EQ(1, b.cpu->raw[RAW_LOAD + 1]);
	bench_end(&b);
}

/* Off and on again: what it had seen is forgotten. A fault or another register changes nothing. */
TEST(switches)
{
	struct bench b = bench_on(64, &units[5]);

	walk_lines(b.cpu, 0, 2, 64);
	sim_msr_write(b.cpu, 0x1a4, 1 << 2);
	walk_load(b.cpu, PC, 128);
	sim_msr_write(b.cpu, 0x1a4, 0);
	walk_lines(b.cpu, 192, 2, 64);
	EXPECT_EQ(0, walk_fetched(b.cpu));
	walk_load(b.cpu, PC, 320);
	EXPECT_EQ(2, walk_fetched(b.cpu));
	EXPECT_EQ(SIM_MSR_GP, sim_msr_write(b.cpu, 0x1a4, 0x104));
	walk_load(b.cpu, PC, 384);
	EXPECT_EQ(4, walk_fetched(b.cpu));
	bench_end(&b);
}

/* A register of a scope switches the prefetchers of all vCPUs in it, and of no other. */
TEST(scopes)
{
	static const struct {
		const char *scope;
		unsigned int off;
	} rows[] = { { "thread", 0x1 }, { "core", 0x3 }, { "cluster", 0xf }, { "package", 0xff } };
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bench b = {};

		b.model = model_from(CPU_INTEL "threads = 2\ncluster = 2\n" TIMING PMU_NONE L1D
				     "[msr]\n0x1a4 = 1 0 %s\n[prefetch p]\nkind = next_line\n"
				     "level = 1\ntrain = 0\ndisable = msr 0x1a4 bit 0\n",
				     rows[i].scope);

		b.machine = machine_from(b.model, 8, NULL);
		sim_msr_write(sim_cpu_new(b.machine, 0), 0x1a4, 1);
		for (n = 0; n < 8; n++) {
			struct sim_cpu *cpu = sim_cpu_new(b.machine, n);

			walk_load(cpu, PC, n * PAGE);
			EXPECT_EQ(!(rows[i].off >> n & 1), walk_fetched(cpu))
				TH_LOG("scope %s, CPU %u", rows[i].scope, n);
		}
		bench_end(&b);
	}
}

/* A register that keeps its value on one vCPU: its prefetcher stays on there. */
TEST(drop_cpu)
{
	struct bench b = bench_text(64, 2, "[prefetch p]\nkind = next_line\nlevel = 1\n"
				    "train = 0\ndisable = msr 0x1a4 bit 0\n"
				    "[fault]\nmsr_drop = 0x1a4\ndrop_cpu = 1\n");
	uint64_t value;
	unsigned int n;

	for (n = 0; n < 2; n++) {
		struct sim_cpu *cpu = sim_cpu_new(b.machine, n);

		EXPECT_EQ(SIM_MSR_HANDLED, sim_msr_write(cpu, 0x1a4, 1));
		sim_msr_read(cpu, 0x1a4, &value);
		EXPECT_EQ(!n, value);
		walk_load(cpu, PC, n * PAGE);
		EXPECT_EQ(n, walk_fetched(cpu));
	}
	bench_end(&b);
}

TEST_HARNESS_MAIN
