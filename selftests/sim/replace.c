// SPDX-License-Identifier: GPL-2.0-only
/* Replacement policies by hand and by the miss rates that are known for them; sliced caches. */
#include "kselftest_harness.h"
#include "modeltext.h"

#define HEAD	CPU_INTEL TIMING PMU_NONE

struct bench {
	struct sim_model *model;
	struct sim_machine *machine;
	struct sim_cpu *cpu;
};

static struct bench bench_on_cpus(unsigned int ways, unsigned int sets, const char *more,
				  unsigned int cpus)
{
	struct bench b;

	b.model = model_from(HEAD "[cache l1d]\nsize = %u\nways = %u\nline = 64\nlatency = 4\n%s",
			     64 * ways * sets, ways, more);
	b.machine = machine_from(b.model, cpus, NULL);
	b.cpu = sim_cpu_new(b.machine, 0);
	return b;
}

static struct bench bench_on(unsigned int ways, unsigned int sets, const char *more)
{
	return bench_on_cpus(ways, sets, more, 1);
}

static void bench_end(struct bench *b)
{
	sim_machine_free(b->machine);
	sim_model_free(b->model);
}

static bool missed(struct bench *b, uint64_t line)
{
	const uint64_t before = b->cpu->raw[RAW_LOAD + SIM_SOURCE_MEM];

	sim_mem_access(b->cpu, b->cpu->insns + 1, 64 * line, 64 * line, 8, SIM_LOAD);
	return b->cpu->raw[RAW_LOAD + SIM_SOURCE_MEM] != before;
}

/* Whether a line is in the cache, without using it. */
static bool present(const struct bench *b, uint64_t line)
{
	const struct sim_cache *c = b->cpu->mem.path[0];

	return sim_cache_find(c, sim_cache_entries(c, sim_cache_set(c, line)), line) != SIM_NO_WAY;
}

/* Lines as letters; upper case in @misses where the letter of @uses misses. A set of 4 ways. */
static const struct {
	const char *policy, *uses, *misses;
} by_hand[] = {
	/* a is the oldest, however often it is used */
	{ "fifo", "abcdaeab", "ABCDaEAB" },
	{ "lru", "abcdaeab", "ABCDaEaB" },
	/* d sets the last bit, the others lose theirs: a, then b, then c leave; d stays */
	{ "mru", "abcdefgd", "ABCDEFGd" },
	{ "mru", "abcdefgha", "ABCDEFGHA" },
	/* all have age 3 once the set is full; a hit takes a from 3 to 1, so b leaves for e */
	{ "qlru_h11_m1_r0_u0", "abcdaeab", "ABCDaEaB" },
	/* d fills the first place, which is the last empty one, and stays at 1 as others grow */
	{ "qlru_h00_m1_r2_u1", "abcdecd", "ABCDECd" },
};

TEST(policies_by_hand)
{
	unsigned int i, n;
	char more[64];

	for (i = 0; i < ARRAY_SIZE(by_hand); i++) {
		struct bench b;

		snprintf(more, sizeof(more), "replace = %s\n", by_hand[i].policy);
		b = bench_on(4, 1, more);
		for (n = 0; by_hand[i].uses[n]; n++)
			EXPECT_EQ(by_hand[i].misses[n] < 'a', missed(&b, by_hand[i].uses[n]))
				TH_LOG("%s, use %u", by_hand[i].policy, n + 1);
		bench_end(&b);
	}
}

/*
 * A set written another way, from the digits of nanoBench's names: Hxy are the ages after a hit at
 * ages 3 and 2, M that of a new line. R: where a new line goes, U: how lines age, UMO: when.
 */
struct slow_set {
	unsigned int ways, hit[4], insert, where, how;
	bool on_miss, mru;
	unsigned int age[16];
	int line[16];
};

static struct slow_set slow_set(const char *policy, unsigned int ways)
{
	struct slow_set s = { .ways = ways, .mru = !strcmp(policy, "mru") };
	unsigned int i, x = 0, y = 0;

	if (!s.mru && sscanf(policy, "qlru_h%1u%1u_m%1u_r%1u_u%1u", &x, &y, &s.insert, &s.where,
			     &s.how) != 5)
		abort();
	s.hit[3] = x;
	s.hit[2] = y;
	s.on_miss = strstr(policy, "umo");
	for (i = 0; i < ways; i++) {
		s.age[i] = s.mru ? 1 : 3;
		s.line[i] = -1;
	}
	return s;
}

static int slow_place(const struct slow_set *s, int line)
{
	unsigned int i;
	int found = -1;

	for (i = 0; i < s->ways; i++)
		if (s->line[i] == line && (found < 0 || s->where == 2))
			found = i;
	return found;
}

static unsigned int slow_oldest(const struct slow_set *s, int but)
{
	unsigned int i, most = 0;

	for (i = 0; i < s->ways; i++)
		if ((int)i != but && s->age[i] > most)
			most = s->age[i];
	return most;
}

/* U0 and U2 for all, U1 and U3 for others; by as much as is missing, or by 1. */
static void slow_update(struct slow_set *s, int used)
{
	const int but = s->how % 2 ? used : -1;
	unsigned int i, more = 3 - slow_oldest(s, but);

	if (s->how >= 2)
		more = more ? 1 : 0;
	for (i = 0; i < s->ways; i++)
		if ((int)i != but)
			s->age[i] += more;
}

static int slow_victim(const struct slow_set *s)
{
	const unsigned int leaves = s->mru ? 1 : 3;
	unsigned int i;
	const int empty = slow_place(s, -1);

	if (empty >= 0)
		return empty;
	for (i = 0; i < s->ways; i++)
		if (s->age[i] == leaves)
			return i;
	return 0;
}

static void slow_mark(struct slow_set *s, int used)
{
	unsigned int i;

	s->age[used] = 0;
	if (!slow_oldest(s, -1))
		for (i = 0; i < s->ways; i++)
			s->age[i] = (int)i != used;
}

static bool slow_missed(struct slow_set *s, int line)
{
	int way = slow_place(s, line);
	const bool miss = way < 0;

	if (miss && s->on_miss)
		slow_update(s, -1);
	if (miss)
		way = slow_victim(s);
	s->line[way] = line;
	if (s->mru) {
		slow_mark(s, way);
		return miss;
	}
	s->age[way] = miss ? s->insert : s->hit[s->age[way]];
	if (!s->on_miss)
		slow_update(s, way);
	return miss;
}

/* Random uses and flushes of a few lines more than there are ways. */
TEST(policies_written_another_way)
{
	static const char *const policies[] = {
		"mru", "qlru_h11_m1_r0_u0", "qlru_h00_m1_r0_u1", "qlru_h00_m1_r2_u1",
		"qlru_h11_m1_r1_u2", "qlru_h00_m2_r0_u0_umo",
	};
	unsigned int i, n, ways;
	char more[64];

	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		for (ways = 4; ways <= 16; ways += 4) {
			struct slow_set s = slow_set(policies[i], ways);
			unsigned int differ = 0;
			struct bench b;

			snprintf(more, sizeof(more), "replace = %s\n", policies[i]);
			b = bench_on(ways, 1, more);
			srandom(ways);
			for (n = 0; n < 20000; n++) {
				const int line = random() % (ways + ways / 3 + 1);
				const int place = slow_place(&s, line);

				if (random() % 16) {
					differ += slow_missed(&s, line) != missed(&b, line);
					continue;
				}
				sim_flush_line(b.cpu, b.cpu->insns + 1, 64 * line);
				if (place >= 0)
					s.line[place] = -1;
			}
			EXPECT_EQ(0, differ) TH_LOG("%s, %u ways", policies[i], ways);
			bench_end(&b);
		}
	}
}

/*
 * Miss rates of 8 ways, in hundredths, for 9, 10 and 12 lines in a fixed order, as an independent
 * simulation found them; as many lines as ways never miss once they are in.
 */
static const struct {
	const char *policy;
	unsigned int rate[3];
} rates[] = {
	{ "lru", { 100, 100, 100 } },
	{ "plru", { 100, 100, 100 } },
	{ "fifo", { 100, 100, 100 } },
	{ "qlru_h11_m1_r0_u0", { 100, 100, 100 } },
	{ "mru", { 57, 72, 86 } },
	{ "random", { 22, 38, 60 } },
};

static unsigned int rate_of(struct bench *b, unsigned int lines, unsigned int sets)
{
	uint64_t misses = 0;
	unsigned int lap, i;

	for (lap = 0; lap < 3000; lap++)
		for (i = 0; i < lines; i++)
			misses += missed(b, i * sets) && lap >= 1000;
	return (misses * 100 + 1000 * lines) / (2000 * lines);
}

TEST(rates_of_policies)
{
	const unsigned int lines[] = { 9, 10, 12 };
	unsigned int i, n;
	char more[64];

	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		snprintf(more, sizeof(more), "replace = %s\n", rates[i].policy);
		for (n = 0; n < ARRAY_SIZE(lines); n++) {
			struct bench b = bench_on(8, 4, more);
			unsigned int rate;

			EXPECT_EQ(0, rate_of(&b, 8, 4)) TH_LOG("%s", rates[i].policy);
			sim_writeback_all(b.cpu, b.cpu->insns);
			rate = rate_of(&b, lines[n], 4);
			EXPECT_GE(1, abs((int)rate - (int)rates[i].rate[n]))
				TH_LOG("%s, %u lines: %u", rates[i].policy, lines[n], rate);
			bench_end(&b);
		}
	}
}

/* The same seed draws the same, another one something else. */
TEST(seeds)
{
	static const char *const more[] = { "replace = random\nseed = 7\n",
					    "replace = random\nseed = 7\n",
					    "replace = random\nseed = 8\n" };
	uint64_t pattern[3] = { 0, 0, 0 };
	unsigned int i, n;

	for (i = 0; i < 3; i++) {
		struct bench b = bench_on(4, 1, more[i]);

		for (n = 0; n < 64; n++)
			pattern[i] = pattern[i] << 1 | missed(&b, n % 5);
		bench_end(&b);
	}
	EXPECT_EQ(pattern[0], pattern[1]);
	EXPECT_NE(pattern[0], pattern[2]);
}

/* Lines of one set of each slice, a stride apart that plain sets would not bear, spread out. */
TEST(slices)
{
	struct bench plain = bench_on(4, 256, ""), sliced = bench_on(4, 256, "slices = 8\n");
	unsigned int n, lap, misses[2] = { 0, 0 };

	for (lap = 0; lap < 2; lap++)
		for (n = 0; n < 16; n++) {
			misses[0] += missed(&plain, n * 256) && lap;
			misses[1] += missed(&sliced, n * 256) && lap;
		}
	EXPECT_EQ(16, misses[0]);
	EXPECT_GT(8, misses[1]);
	/* each line is found again where it was put */
	for (n = 0; n < 1000; n++) {
		missed(&sliced, n * 77);
		EXPECT_FALSE(missed(&sliced, n * 77));
	}
	bench_end(&plain);
	bench_end(&sliced);
}

#define MASKED	"scope = package\nreplace = %s\n"						\
	"[allocation a]\nlevel = 1\ncore = 1\nmask = 0x18\n"

/*
 * One core may fill two of eight ways. It finds lines in all of them, what it loads is in those two
 * alone, and two lines stay there; the other core fills any.
 */
TEST(masks)
{
	static const char *const policies[] = {
		"lru", "plru", "fifo", "mru", "random", "qlru_h11_m1_r0_u0", "qlru_h00_m1_r0_u1",
		"qlru_h00_m1_r2_u1", "qlru_h11_m1_r1_u2", "qlru_h00_m2_r0_u0_umo",
	};
	unsigned int i, n, lap;
	char more[160];

	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		struct bench all, some;
		unsigned int lost = 0, kept = 0, hits = 0;

		snprintf(more, sizeof(more), MASKED, policies[i]);
		all = bench_on_cpus(8, 4, more, 2);
		some = all;
		some.cpu = sim_cpu_new(all.machine, 1);
		for (n = 0; n < 8; n++)
			missed(&all, n * 4);
		for (n = 0; n < 8; n++)
			hits += !missed(&some, n * 4);
		EXPECT_EQ(8, hits) TH_LOG("%s", policies[i]);
		for (n = 100; n < 200; n++)
			missed(&some, n * 4);
		for (n = 100; n < 200; n++)
			kept += present(&all, n * 4);
		for (n = 0; n < 8; n++)
			lost += !present(&all, n * 4);
		EXPECT_EQ(2, kept) TH_LOG("%s", policies[i]);
		EXPECT_EQ(2, lost) TH_LOG("%s", policies[i]);
		/* two lines that fit never miss again */
		for (lap = 0, kept = 0; lap < 20; lap++)
			for (n = 0; n < 2; n++)
				kept += !missed(&some, (300 + n) * 4) && lap > 4;
		EXPECT_EQ(30, kept) TH_LOG("%s", policies[i]);
		/* the other core fills any way */
		for (n = 400; n < 500; n++)
			missed(&all, n * 4);
		for (n = 400, kept = 0; n < 500; n++)
			kept += present(&all, n * 4);
		EXPECT_EQ(8, kept) TH_LOG("%s", policies[i]);
		bench_end(&all);
	}
}

/* With all ways allowed a level of ways that keep their lines is the one in the order of use. */
TEST(ranks)
{
	static const char *const policies[] = { "lru", "fifo" };
	unsigned int i, n, differ = 0;
	char more[160];

	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		struct bench plain, ranked;

		snprintf(more, sizeof(more), "scope = package\nreplace = %s\n", policies[i]);
		plain = bench_on_cpus(12, 3, more, 2);
		snprintf(more, sizeof(more), MASKED, policies[i]);
		ranked = bench_on_cpus(12, 3, more, 2);
		srandom(i);
		for (n = 0; n < 50000; n++) {
			const uint64_t line = random() % 50;

			if (random() % 16) {
				differ += missed(&plain, line) != missed(&ranked, line);
				continue;
			}
			sim_flush_line(plain.cpu, plain.cpu->insns + 1, 64 * line);
			sim_flush_line(ranked.cpu, ranked.cpu->insns + 1, 64 * line);
		}
		EXPECT_EQ(0, differ) TH_LOG("%s", policies[i]);
		bench_end(&plain);
		bench_end(&ranked);
	}
}

TEST_HARNESS_MAIN
