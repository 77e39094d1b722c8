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

static struct bench bench_on(unsigned int ways, unsigned int sets, const char *more)
{
	struct bench b;

	b.model = model_from(HEAD "[cache l1d]\nsize = %u\nways = %u\nline = 64\nlatency = 4\n%s",
			     64 * ways * sets, ways, more);
	b.machine = machine_from(b.model, 1, NULL);
	b.cpu = sim_cpu_new(b.machine, 0);
	return b;
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

/* Lines as letters; upper case in @misses where the letter of @uses misses. A set of 4 ways. */
static const struct {
	const char *policy, *uses, *misses;
} by_hand[] = {
	/* a is the oldest, however often it is used */
	{ "fifo", "abcdaeab", "ABCDaEAB" },
	{ "lru", "abcdaeab", "ABCDaEaB" },
	/* d sets the last bit, the others lose theirs: a, then b, then c leave */
	{ "mru", "abcdefdag", "ABCDEFdAG" },
	/* a hit takes a from age 3 to 1; then all are 1 and grow to 3: the leftmost is a itself */
	{ "qlru_h11_m1_r0_u0", "abcdaeab", "ABCDaEAB" },
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

TEST_HARNESS_MAIN
