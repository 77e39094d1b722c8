// SPDX-License-Identifier: GPL-2.0-only
/* Noise by a seed: its bounds and shares, that it repeats itself, what a neighbour drives out. */
#include "kselftest_harness.h"
#include "modeltext.h"

#define CACHES									\
	"[cache l1d]\nsize = 4K\nways = 8\nline = 64\nlatency = 4\n"		\
	"[cache l2]\nsize = 64K\nways = 16\nline = 64\nlatency = 20\nscope = package\n"
#define LOADS	1000
#define PASSES	2000
#define CYCLES	(4 * LOADS)

struct bench {
	struct sim_model *model;
	struct sim_machine *machine;
	struct sim_cpu *cpu;
};

static struct bench bench_on(const char *noise)
{
	struct bench b = { .model = model_from(CPU_INTEL TIMING PMU_NONE CACHES "[noise]\n%s",
					       noise) };

	b.machine = machine_from(b.model, 2, NULL);
	b.cpu = sim_cpu_new(b.machine, 0);
	return b;
}

static void bench_end(struct bench *b)
{
	sim_machine_free(b->machine);
	sim_model_free(b->model);
}

/* Cycles beyond those of so many loads of one line, between two reads of the clock. */
static uint64_t pass(struct sim_cpu *cpu, unsigned int loads)
{
	uint64_t start = sim_tsc(cpu);
	unsigned int i;

	for (i = 0; i < loads; i++)
		sim_mem_access(cpu, cpu->insns + 1, 64, 64, 8, SIM_LOAD);
	return sim_tsc(cpu) - start - 4 * loads;
}

TEST(none)
{
	struct bench b = bench_on("seed = 3\n");
	unsigned int i;

	sim_mem_access(b.cpu, 1, 64, 64, 8, SIM_LOAD);
	for (i = 0; i < 10; i++)
		EXPECT_EQ(0, pass(b.cpu, LOADS));
	bench_end(&b);
}

/* Evenly spread from nothing to its bound; too few loads are no loop. */
TEST(jitter)
{
	struct bench b = bench_on("jitter = 5\n");
	uint64_t sum = 0, most = 0, least = CYCLES, more;
	unsigned int i;

	pass(b.cpu, LOADS);
	for (i = 0; i < PASSES; i++) {
		more = pass(b.cpu, LOADS);
		sum += more;
		most = more > most ? more : most;
		least = more < least ? more : least;
	}
	EXPECT_GE(CYCLES * 5 / 100, most);
	EXPECT_LT(CYCLES * 5 / 100 - 4, most);
	EXPECT_GT(4, least);
	EXPECT_LT(PASSES * CYCLES / 40 * 95 / 100, sum);
	EXPECT_GT(PASSES * CYCLES / 40 * 105 / 100, sum);
	EXPECT_EQ(0, pass(b.cpu, 63));
	bench_end(&b);
}

TEST(outliers)
{
	struct bench b = bench_on("outlier = 20\noutlier_cycles = 7000\n");
	unsigned int i, count = 0;
	uint64_t more;

	pass(b.cpu, LOADS);
	for (i = 0; i < PASSES; i++) {
		more = pass(b.cpu, LOADS);
		EXPECT_TRUE(more == 0 || more == 7000) TH_LOG("%u more", (unsigned int)more);
		count += more > 0;
	}
	EXPECT_LT(70, count);
	EXPECT_GT(130, count);
	bench_end(&b);
}

/* The same seed draws the same, another one and another vCPU something else. */
TEST(seeds)
{
	static const char *const noise[] = { "jitter = 50\nseed = 7\n", "jitter = 50\nseed = 7\n",
					     "jitter = 50\nseed = 8\n" };
	uint64_t more[4][8];
	unsigned int i, n;

	for (i = 0; i < 3; i++) {
		struct bench b = bench_on(noise[i]);

		pass(b.cpu, LOADS);
		for (n = 0; n < 8; n++)
			more[i][n] = pass(b.cpu, LOADS);
		pass(sim_cpu_new(b.machine, 1), LOADS);
		for (n = 0; n < 8 && !i; n++)
			more[3][n] = pass(sim_cpu_new(b.machine, 1), LOADS);
		bench_end(&b);
	}
	EXPECT_EQ(0, memcmp(more[0], more[1], sizeof(more[0])));
	EXPECT_NE(0, memcmp(more[0], more[2], sizeof(more[0])));
	EXPECT_NE(0, memcmp(more[0], more[3], sizeof(more[0])));
}

/*
 * 10 lines in 1000 cycles, 40 in a pass, into 64 sets of 16 ways. What is not used leaves after 16
 * of its set, and each pass takes no longer for them.
 */
TEST(neighbour)
{
	struct bench b = bench_on("neighbour = 10\n");
	const uint64_t *memory = &b.cpu->raw[RAW_LOAD + SIM_SOURCE_MEM];
	uint64_t before;
	unsigned int line, i;

	for (line = 0; line < 1024; line++)
		sim_mem_access(b.cpu, b.cpu->insns + 1, 64 * line, 64 * line, 8, SIM_LOAD);
	pass(b.cpu, LOADS);
	for (i = 0; i < 5; i++)
		EXPECT_EQ(0, pass(b.cpu, LOADS));
	before = *memory;
	for (line = 0; line < 1024; line++)
		sim_mem_access(b.cpu, b.cpu->insns + 1, 64 * line, 64 * line, 8, SIM_LOAD);
	EXPECT_LT(200, *memory - before);
	bench_end(&b);

	b = bench_on("outlier = 1\n");
	memory = &b.cpu->raw[RAW_LOAD + SIM_SOURCE_MEM];
	for (i = 0; i < 2; i++)
		for (line = 0; line < 1024; line++)
			sim_mem_access(b.cpu, b.cpu->insns + 1, 64 * line, 64 * line, 8, SIM_LOAD);
	EXPECT_EQ(1024, *memory);
	bench_end(&b);
}

TEST_HARNESS_MAIN
