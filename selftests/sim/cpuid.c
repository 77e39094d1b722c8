// SPDX-License-Identifier: GPL-2.0-only
/* CPUID leaves as the model corrects them. */
#include "kselftest_harness.h"
#include "modeltext.h"

#define INTEL_HEAD									\
	"[cpu]\nvendor = intel\nqemu_cpu = max\nmicroarch = none\ncluster = 2\n"
#define AMD_HEAD									\
	"[cpu]\nvendor = amd\nqemu_cpu = max\nmicroarch = none\ncluster = 3\nthreads = 2\n"
#define CACHES										\
	TIMING "[cache l1d]\nsize = 48K\nways = 12\nline = 64\nlatency = 5\n"		\
	"[cache l1i]\nsize = 32K\nways = 8\nline = 64\n"				\
	"[cache l2]\nsize = 1280K\nways = 10\nline = 64\nlatency = 15\nscope = cluster\n"	\
	"inclusion = inclusive\n"							\
	"[cache l3]\nsize = 30M\nways = 12\nline = 64\nlatency = 70\nscope = package\n"
#define WIDE										\
	TIMING "[cache l1]\nsize = 16K\nways = 4\nline = 128\nlatency = 5\n"
#define V1	"[pmu]\nstyle = intel\nversion = 1\ngp = 2\nwidth = 40\n"
#define V4	"[pmu]\nstyle = intel\nversion = 4\ngp = 4\nfixed = 3\nanythread = yes\n"
#define V5	"[pmu]\nstyle = intel\nversion = 5\ngp = 8\nfixed = 4\n"
#define LEGACY	"[pmu]\nstyle = amd-legacy\ngp = 4\n"
#define EXTCORE	"[pmu]\nstyle = amd-extcore\ngp = 6\n"
#define PMV2	"[pmu]\nstyle = amd-v2\ngp = 6\n"
#define SAME	{ 0x11111111, 0x22222222, 0x33333333, 0x44444444 }

/* What QEMU answers in all rows is SAME; @out is what the guest's kernel sees, of 4 vCPUs. */
static const struct {
	int line;
	const char *machine;
	uint32_t leaf, subleaf;
	uint32_t out[4];
} leaves[] = {
	/* leaf 1: PDCM from version 2 on, CLFLUSH line in units of 8 bytes */
	{ __LINE__, INTEL_HEAD CACHES V4, 1, 0,
	  { 0x11111111, 0x22220822, 0x3333b333, 0x44444444 } },
	{ __LINE__, INTEL_HEAD CACHES V1, 1, 0,
	  { 0x11111111, 0x22220822, 0x33333333, 0x44444444 } },
	{ __LINE__, INTEL_HEAD WIDE V4, 1, 0, { 0x11111111, 0x22221022, 0x3333b333, 0x44444444 } },
	{ __LINE__, AMD_HEAD WIDE PMV2, 1, 0, { 0x11111111, 0x22221022, 0x33333333, 0x44444444 } },
	/* leaf 4: type, level, sharing; line, ways; sets; inclusive. Cores of a package: QEMU's */
	{ __LINE__, INTEL_HEAD CACHES V4, 4, 0, { 0x10000121, 0x02c0003f, 63, 0 } },
	{ __LINE__, INTEL_HEAD CACHES V4, 4, 1, { 0x10000122, 0x01c0003f, 63, 0 } },
	{ __LINE__, INTEL_HEAD CACHES V4, 4, 2, { 0x10004143, 0x0240003f, 2047, 2 } },
	{ __LINE__, INTEL_HEAD CACHES V4, 4, 3, { 0x1000c163, 0x02c0003f, 40959, 0 } },
	{ __LINE__, INTEL_HEAD CACHES V4, 4, 4, { 0, 0, 0, 0 } },
	{ __LINE__, INTEL_HEAD WIDE V4, 4, 0, { 0x10000123, 0x00c0007f, 31, 0 } },
	{ __LINE__, INTEL_HEAD WIDE V4, 4, 1, { 0, 0, 0, 0 } },
	/* leaf 6: APERF and MPERF */
	{ __LINE__, INTEL_HEAD CACHES V4, 6, 0, SAME },
	/* leaf 7, 0x1A: hybrid and core type */
	{ __LINE__, INTEL_HEAD CACHES V4, 7, 0, SAME },
	{ __LINE__, INTEL_HEAD CACHES V4, 7, 1, SAME },
	{ __LINE__, INTEL_HEAD CACHES V4, 0x1a, 0, { 0, 0, 0, 0 } },
	{ __LINE__, INTEL_HEAD "core_type = performance\n" CACHES V4, 7, 0,
	  { 0x11111111, 0x22222222, 0x33333333, 0x4444c444 } },
	{ __LINE__, INTEL_HEAD "core_type = performance\n" CACHES V4, 0x1a, 0,
	  { 0x40000001, 0, 0, 0 } },
	{ __LINE__, INTEL_HEAD "core_type = efficient\n" CACHES V4, 0x1a, 0,
	  { 0x20000001, 0, 0, 0 } },
	/* leaf 0xA: version, counters, width, length of EBX; absent events; fixed */
	{ __LINE__, INTEL_HEAD CACHES V1, 0xa, 0, { 0x07280201, 0x68, 0, 0 } },
	{ __LINE__, INTEL_HEAD CACHES V4, 0xa, 0, { 0x07300404, 0x68, 0, 0x603 } },
	{ __LINE__, INTEL_HEAD CACHES V5, 0xa, 0, { 0x07300805, 0x68, 0xf, 0x8604 } },
	{ __LINE__, INTEL_HEAD CACHES PMU_NONE, 0xa, 0, { 0, 0, 0, 0 } },
	/* AMD: highest leaf, features */
	{ __LINE__, AMD_HEAD CACHES EXTCORE, 0x80000000, 0, SAME },
	{ __LINE__, AMD_HEAD CACHES PMV2, 0x80000000, 0,
	  { 0x80000022, 0x22222222, 0x33333333, 0x44444444 } },
	{ __LINE__, AMD_HEAD CACHES LEGACY, 0x80000001, 0,
	  { 0x11111111, 0x22222222, 0x22733333, 0x44444444 } },
	{ __LINE__, AMD_HEAD CACHES EXTCORE, 0x80000001, 0,
	  { 0x11111111, 0x22222222, 0x22f33333, 0x44444444 } },
	/* 8000_0005 KiB, ways, line; 8000_0006 L2 in KiB, L3 in 512 KiB, coded ways */
	{ __LINE__, AMD_HEAD CACHES PMV2, 0x80000005, 0,
	  { 0x11111111, 0x22222222, 0x300c0140, 0x20080140 } },
	{ __LINE__, AMD_HEAD CACHES PMV2, 0x80000006, 0,
	  { 0x11111111, 0x22222222, 0x05009140, 0x00f09140 } },
	{ __LINE__, AMD_HEAD WIDE PMV2, 0x80000005, 0,
	  { 0x11111111, 0x22222222, 0x10040180, 0 } },
	{ __LINE__, AMD_HEAD WIDE PMV2, 0x80000006, 0, { 0x11111111, 0x22222222, 0, 0 } },
	/* 8000_001D like leaf 4; two threads to a core, three cores to a cluster: 8 ids */
	{ __LINE__, AMD_HEAD CACHES PMV2, 0x8000001d, 0, { 0x00004121, 0x02c0003f, 63, 0 } },
	{ __LINE__, AMD_HEAD CACHES PMV2, 0x8000001d, 2, { 0x0001c143, 0x0240003f, 2047, 2 } },
	{ __LINE__, AMD_HEAD CACHES PMV2, 0x8000001d, 3, { 0x0000c163, 0x02c0003f, 40959, 0 } },
	{ __LINE__, AMD_HEAD CACHES PMV2, 0x8000001d, 4, { 0, 0, 0, 0 } },
	/* 8000_0021: PrefetchControl; 8000_0022: PerfMonV2 */
	{ __LINE__, AMD_HEAD CACHES PMV2, 0x80000021, 0, SAME },
	{ __LINE__, AMD_HEAD CACHES PMV2 "[msr]\n0xc0000108 = 0x2f\n", 0x80000021, 0,
	  { 0x11113111, 0x22222222, 0x33333333, 0x44444444 } },
	{ __LINE__, AMD_HEAD CACHES PMV2, 0x80000022, 0, { 1, 6, 0, 0 } },
	{ __LINE__, AMD_HEAD CACHES EXTCORE, 0x80000022, 0, { 0, 0, 0, 0 } },
	/* all else is QEMU's, the other vendor's leaves included */
	{ __LINE__, INTEL_HEAD CACHES V4, 0, 0, SAME },
	{ __LINE__, INTEL_HEAD CACHES V4, 2, 0, SAME },
	{ __LINE__, INTEL_HEAD CACHES V4, 0xb, 0, SAME },
	{ __LINE__, INTEL_HEAD CACHES V4, 0x80000001, 0, SAME },
	{ __LINE__, INTEL_HEAD CACHES V4, 0x80000006, 0, SAME },
	{ __LINE__, AMD_HEAD CACHES PMV2, 0xa, 0, SAME },
	{ __LINE__, AMD_HEAD CACHES PMV2, 4, 0, SAME },
};

TEST(leaves_of_a_machine)
{
	static const uint32_t same[4] = SAME;
	struct sim_machine *machine;
	struct sim_model *m;
	uint32_t regs[4];
	unsigned int r;
	bool changed;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(leaves); i++) {
		m = model_from("%s", leaves[i].machine);
		machine = machine_from(m, 4, NULL);
		memcpy(regs, same, sizeof(regs));
		changed = sim_cpuid(sim_cpu_new(machine, 0), leaves[i].leaf, leaves[i].subleaf,
				    regs);
		for (r = 0; r < 4; r++)
			EXPECT_EQ(leaves[i].out[r], regs[r])
				TH_LOG("row at line %d, register %u", leaves[i].line, r);
		EXPECT_EQ(memcmp(same, regs, sizeof(regs)) != 0, changed)
			TH_LOG("row at line %d", leaves[i].line);
		sim_machine_free(machine);
		sim_model_free(m);
	}
}

/* Bits that are taken away where QEMU set them, and one that is added where it did not. */
static const struct {
	int line;
	const char *machine;
	uint32_t leaf, before;
	unsigned int reg;
	uint32_t after;
} bits[] = {
	{ __LINE__, INTEL_HEAD CACHES V1, 1, ~0u, 2, ~(1u << 15) },
	{ __LINE__, INTEL_HEAD CACHES PMU_NONE, 1, ~0u, 2, ~(1u << 15) },
	{ __LINE__, INTEL_HEAD CACHES V4, 7, ~0u, 3, ~(1u << 15) },
	{ __LINE__, INTEL_HEAD CACHES V4, 6, 0, 2, 1 },
	{ __LINE__, AMD_HEAD CACHES PMV2, 6, 0, 2, 1 },
	{ __LINE__, INTEL_HEAD CACHES V4 "[fault]\nmsr_fault = 0xe7,0xe8\n", 6, ~0u, 2, ~1u },
	{ __LINE__, AMD_HEAD CACHES LEGACY, 0x80000001, ~0u, 2,
	  ~(1u << 23 | 1u << 24 | 1u << 28) },
	{ __LINE__, AMD_HEAD CACHES EXTCORE, 0x80000001, 0, 2, 1u << 22 | 1u << 23 },
	{ __LINE__, AMD_HEAD CACHES PMV2, 0x80000021, ~0u, 0, ~(1u << 13) },
	{ __LINE__, AMD_HEAD CACHES PMV2, 0x80000000, 0x80000008, 0, 0x80000022 },
	{ __LINE__, AMD_HEAD CACHES PMV2, 0x80000000, 0x80000026, 0, 0x80000026 },
};

TEST(bits_of_features)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		struct sim_model *m = model_from("%s", bits[i].machine);
		struct sim_machine *machine = machine_from(m, 1, NULL);
		uint32_t regs[4] = { bits[i].before, bits[i].before, bits[i].before,
				     bits[i].before };

		sim_cpuid(sim_cpu_new(machine, 0), bits[i].leaf, 0, regs);
		EXPECT_EQ(bits[i].after, regs[bits[i].reg])
			TH_LOG("row at line %d", bits[i].line);
		sim_machine_free(machine);
		sim_model_free(m);
	}
}

/* Geometry read back from CPUID is that of the model, for each model of the tree. */
static const char *const models[] = { "zen2", "zen3", "zen4", "haswell", "skylake-x", "golden-cove",
				      "gracemont", "crestmont", "line128" };

TEST(geometry_of_models)
{
	char path[128], err[256];
	unsigned int i, level;

	for (i = 0; i < ARRAY_SIZE(models); i++) {
		struct sim_machine *machine;
		struct sim_model *m;
		bool amd;

		snprintf(path, sizeof(path), "tools/simcpu/models/%s.cpu", models[i]);
		m = sim_model_load(path, err, sizeof(err));
		ASSERT_NE(NULL, m) TH_LOG("%s", err);
		machine = machine_from(m, 2, NULL);
		amd = m->cpu.vendor == SIM_AMD;
		for (level = 0; level < m->caches; level++) {
			const struct sim_cache_model *c = &m->cache[level];
			uint32_t regs[4] = { 0 };

			/* the instruction cache is subleaf 1 */
			sim_cpuid(sim_cpu_new(machine, 0), amd ? 0x8000001d : 4,
				  level ? level + 1 : 0, regs);
			EXPECT_EQ(level + 1, regs[0] >> 5 & 7);
			EXPECT_EQ(c->line, (regs[1] & 0xfff) + 1);
			EXPECT_EQ(c->ways, (regs[1] >> 22) + 1);
			EXPECT_EQ(c->size, (uint64_t)c->line * c->ways * (regs[2] + 1))
				TH_LOG("%s %s", models[i], c->name);
		}
		sim_machine_free(machine);
		sim_model_free(m);
	}
}

TEST_HARNESS_MAIN
