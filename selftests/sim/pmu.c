// SPDX-License-Identifier: GPL-2.0-only
/* Counters and their registers: every register's reads, writes, faults, widths and aliases. */
#include "events.h"
#include "kselftest_harness.h"
#include "modeltext.h"

#define CACHES										\
	"[cache l1d]\nsize = 1K\nways = 2\nline = 64\nlatency = 4\n"			\
	"[cache l2]\nsize = 4K\nways = 4\nline = 64\nlatency = 12\n"			\
	"[cache l3]\nsize = 16K\nways = 8\nline = 64\nlatency = 40\n"
#define INTEL(uarch, pmu)								\
	"[cpu]\nvendor = intel\nqemu_cpu = max\nmicroarch = " uarch "\n" TIMING CACHES	\
	"[pmu]\nstyle = intel\n" pmu
#define AMD(uarch, style)								\
	"[cpu]\nvendor = amd\nqemu_cpu = max\nmicroarch = " uarch "\n" TIMING CACHES	\
	"[pmu]\nstyle = " style

#define V1	INTEL("Skylake", "version = 1\ngp = 2\nwidth = 40\n")
#define V2	INTEL("Skylake", "version = 2\ngp = 4\nfixed = 3\nwidth = 40\n")
#define FULL	"full_width = yes\n"
#define ANY	"anythread = yes\n"
#define V3	INTEL("Haswell", "version = 3\ngp = 4\nfixed = 3\n" FULL ANY)
#define V4	INTEL("Skylake-X", "version = 4\ngp = 4\nfixed = 3\n" FULL ANY)
#define V5	INTEL("GoldenCove", "version = 5\ngp = 8\nfixed = 4\nfull_width = yes\n")
#define LEGACY	AMD("none", "amd-legacy\ngp = 4\n")
#define EXTCORE	AMD("Zen2", "amd-extcore\ngp = 6\n")
#define PMV2	AMD("Zen4", "amd-v2\ngp = 6\n")

/* of TIMING */
#define WIDTH	4

#define M40	0xffffffffffull
#define M48	0xffffffffffffull
#define ALL	UINT64_MAX
#define PASS	SIM_MSR_PASS
#define OK	SIM_MSR_HANDLED
#define GP	SIM_MSR_GP

/*
 * Write a value, then read: what each does on a machine that was just reset. @back: what is read,
 * where the read is not a fault.
 */
static const struct {
	int line;
	const char *machine;
	uint32_t msr;
	uint64_t value;
	enum sim_msr_result write, read;
	uint64_t back;
} regs[] = {
	/* event selects: reserved bits fault on Intel; bit 21 where there is no any-thread */
	{ __LINE__, V2, 0x186, 0x13003c, OK, OK, 0x13003c },
	{ __LINE__, V2, 0x189, 0xff4300c0, OK, OK, 0xff4300c0 },
	{ __LINE__, V2, 0x18a, 0, GP, GP, 0 },
	{ __LINE__, V2, 0x186, 1ull << 32, GP, OK, 0 },
	{ __LINE__, V2, 0x186, 1ull << 63, GP, OK, 0 },
	{ __LINE__, V2, 0x186, 1u << 21, GP, OK, 0 },
	{ __LINE__, V4, 0x186, 1u << 21, OK, OK, 1u << 21 },
	{ __LINE__, V5, 0x186, 1u << 21, GP, OK, 0 },
	{ __LINE__, V5, 0x18d, 0x3c, OK, OK, 0x3c },
	{ __LINE__, V1, 0x187, 0x3c, OK, OK, 0x3c },
	{ __LINE__, V1, 0x188, 0, GP, GP, 0 },
	/* counters: 32 bits sign-extended, cut to the width */
	{ __LINE__, V2, 0xc1, 0x12345678, OK, OK, 0x12345678 },
	{ __LINE__, V2, 0xc1, 0x80000000, OK, OK, 0xff80000000 },
	{ __LINE__, V4, 0xc4, 0x80000000, OK, OK, 0xffff80000000 },
	{ __LINE__, V4, 0xc4, 0x100000001, OK, OK, 1 },
	{ __LINE__, V4, 0xc4, ALL, OK, OK, M48 },
	{ __LINE__, V4, 0xc5, 0, GP, GP, 0 },
	{ __LINE__, V5, 0xc8, 5, OK, OK, 5 },
	/* in full: only where announced, and no bit above the width */
	{ __LINE__, V4, 0x4c1, 0x123456789abc, OK, OK, 0x123456789abc },
	{ __LINE__, V4, 0x4c1, 1ull << 48, GP, OK, 0 },
	{ __LINE__, V4, 0x4c5, 0, GP, GP, 0 },
	{ __LINE__, V2, 0x4c1, 0, GP, GP, 0 },
	{ __LINE__, V4, 0x345, 0x2000, GP, OK, 0x2000 },
	{ __LINE__, V2, 0x345, 0, GP, OK, 0 },
	{ __LINE__, V1, 0x345, 0, GP, GP, 0 },
	/* fixed counters are always written in full */
	{ __LINE__, V2, 0x309, M40, OK, OK, M40 },
	{ __LINE__, V2, 0x309, M40 + 1, GP, OK, 0 },
	{ __LINE__, V2, 0x30b, 7, OK, OK, 7 },
	{ __LINE__, V2, 0x30c, 7, GP, GP, 0 },
	{ __LINE__, V5, 0x30c, 7, OK, OK, 7 },
	{ __LINE__, V1, 0x309, 7, GP, GP, 0 },
	/* fixed control: a nibble a counter, any-thread where there is one */
	{ __LINE__, V2, 0x38d, 0xbbb, OK, OK, 0xbbb },
	{ __LINE__, V2, 0x38d, 0x4, GP, OK, 0 },
	{ __LINE__, V2, 0x38d, 0x1000, GP, OK, 0 },
	{ __LINE__, V3, 0x38d, 0xfff, OK, OK, 0xfff },
	{ __LINE__, V5, 0x38d, 0xbbbb, OK, OK, 0xbbbb },
	{ __LINE__, V5, 0x38d, 0x10000, GP, OK, 0 },
	{ __LINE__, V1, 0x38d, 0, GP, GP, 0 },
	/* global registers: version 2; enable bits of the general counters are set at reset */
	{ __LINE__, V2, 0x38e, 0, GP, OK, 0 },
	{ __LINE__, V2, 0x38f, 0x70000000f, OK, OK, 0x70000000f },
	{ __LINE__, V2, 0x38f, 0x10, GP, OK, 0xf },
	{ __LINE__, V2, 0x38f, 0x800000000, GP, OK, 0xf },
	{ __LINE__, V5, 0x38f, 0xf000000ff, OK, OK, 0xf000000ff },
	{ __LINE__, V5, 0x38f, 1ull << 48, OK, OK, 1ull << 48 },
	{ __LINE__, V4, 0x38f, 1ull << 48, GP, OK, 0xf },
	{ __LINE__, V2, 0x390, 0xc00000070000000f, OK, OK, 0 },
	{ __LINE__, V2, 0x390, 1ull << 35, GP, OK, 0 },
	{ __LINE__, V2, 0x390, 0x10, GP, OK, 0 },
	{ __LINE__, V2, 0x390, 1ull << 58, GP, OK, 0 },
	{ __LINE__, V4, 0x390, 1ull << 58, OK, OK, 0 },
	{ __LINE__, V3, 0x391, 1, GP, GP, 0 },
	{ __LINE__, V4, 0x391, 1, OK, OK, 0 },
	{ __LINE__, V4, 0x391, 0x10, GP, OK, 0 },
	{ __LINE__, V3, 0x392, 0, GP, GP, 0 },
	{ __LINE__, V4, 0x392, 0, GP, OK, 0 },
	{ __LINE__, V1, 0x38e, 0, GP, GP, 0 },
	{ __LINE__, V1, 0x38f, 0, GP, GP, 0 },
	{ __LINE__, V1, 0x390, 0, GP, GP, 0 },
	/* others: off-core, SMI count, prefetch control which this machine lacks */
	{ __LINE__, V2, 0x1a6, 0x10001, OK, OK, 0x10001 },
	{ __LINE__, V2, 0x1a7, ALL, OK, OK, ALL },
	{ __LINE__, V2, 0x34, 0, GP, OK, 0 },
	{ __LINE__, V2, 0x1a4, 0, GP, GP, 0 },
	{ __LINE__, V2, 0x10, 0, PASS, PASS, 0 },
	{ __LINE__, V2, 0x1a0, 0, PASS, PASS, 0 },
	{ __LINE__, V2, 0x1d9, 0, PASS, PASS, 0 },
	{ __LINE__, V2, 0xc0010200, 0, GP, GP, 0 },
	{ __LINE__, V2, 0xc0000301, 0, GP, GP, 0 },
	/* AMD: reserved bits are ignored; event bits 35 to 32, guest and host bits are not */
	{ __LINE__, EXTCORE, 0xc0010200, 0x43ff76, OK, OK, 0x43ff76 },
	{ __LINE__, EXTCORE, 0xc001020a, ALL, OK, OK, 0x30fffd7ffff },
	{ __LINE__, EXTCORE, 0xc001020c, 0, PASS, PASS, 0 },
	{ __LINE__, EXTCORE, 0xc0010201, ALL, OK, OK, M48 },
	{ __LINE__, EXTCORE, 0xc001020b, 77, OK, OK, 77 },
	{ __LINE__, EXTCORE, 0xc0010003, 0x430076, OK, OK, 0x430076 },
	{ __LINE__, EXTCORE, 0xc0010007, 99, OK, OK, 99 },
	{ __LINE__, EXTCORE, 0xc0000300, 0, GP, GP, 0 },
	{ __LINE__, EXTCORE, 0xc0000301, 0, GP, GP, 0 },
	{ __LINE__, EXTCORE, 0xc0000302, 0, GP, GP, 0 },
	{ __LINE__, LEGACY, 0xc0010000, 0x430076, OK, OK, 0x430076 },
	{ __LINE__, LEGACY, 0xc0010004, 5, OK, OK, 5 },
	{ __LINE__, LEGACY, 0xc0010200, 5, GP, GP, 0 },
	{ __LINE__, LEGACY, 0xc0010230, 5, GP, GP, 0 },
	{ __LINE__, EXTCORE, 0xc0010230, 5, OK, OK, 5 },
	{ __LINE__, EXTCORE, 0xc0010231, 5, OK, OK, 0 },
	{ __LINE__, EXTCORE, 0xc0010240, 6, OK, OK, 6 },
	{ __LINE__, EXTCORE, 0xc0010247, 6, OK, OK, 0 },
	{ __LINE__, PMV2, 0xc0000300, 0xff, OK, OK, 0 },
	{ __LINE__, PMV2, 0xc0000301, ALL, OK, OK, 0x3f },
	{ __LINE__, PMV2, 0xc0000301, 0, OK, OK, 0 },
	{ __LINE__, PMV2, 0xc0000302, ALL, OK, OK, 0 },
	{ __LINE__, PMV2, 0xc0000303, ALL, OK, OK, 0 },
	{ __LINE__, PMV2, 0xc0000108, 0, GP, GP, 0 },
	{ __LINE__, PMV2, 0x186, 0, GP, GP, 0 },
	{ __LINE__, PMV2, 0x34, 0, GP, GP, 0 },
	{ __LINE__, PMV2, 0xc00000e7, 0, GP, OK, 0 },
	/* a machine that has no such thing at all, and one that swallows */
	{ __LINE__, CPU_INTEL TIMING L1D PMU_NONE, 0x186, 0, GP, GP, 0 },
	{ __LINE__, CPU_INTEL TIMING L1D PMU_NONE "absent = zero\n", 0x186, 5, OK, OK, 0 },
	{ __LINE__, CPU_INTEL TIMING L1D PMU_NONE "absent = zero\n", 0x38f, 5, OK, OK, 0 },
	/* [msr]: bits of the mask are kept, others fault */
	{ __LINE__, V2 "[msr]\n0x1a4 = 0xf 0x1\n", 0x1a4, 0xe, OK, OK, 0xe },
	{ __LINE__, V2 "[msr]\n0x1a4 = 0xf 0x1\n", 0x1a4, 0x10, GP, OK, 0x1 },
	{ __LINE__, PMV2 "[msr]\n0xc0000108 = 0x2f\n", 0xc0000108, 0x2f, OK, OK, 0x2f },
	{ __LINE__, PMV2 "[msr]\n0xc0000108 = 0x2f\n", 0xc0000108, 0x10, GP, OK, 0 },
	/* [fault] */
	{ __LINE__, V2 "[fault]\nmsr_zero = 0xc2, 0x187-0x188\n", 0xc2, 5, OK, OK, 0 },
	{ __LINE__, V2 "[fault]\nmsr_zero = 0xc2, 0x187-0x188\n", 0x188, 5, OK, OK, 0 },
	{ __LINE__, V2 "[fault]\nmsr_zero = 0xc2, 0x187-0x188\n", 0x189, 5, OK, OK, 5 },
	{ __LINE__, V2 "[fault]\nmsr_fault = 0x38d\n", 0x38d, 0, GP, GP, 0 },
	{ __LINE__, V2 "[msr]\n0x1a4 = 0xf 0x3\n[fault]\nmsr_drop = 0x1a4\n", 0x1a4, 0xf, OK, OK,
	  0x3 },
	{ __LINE__, V2 "[fault]\ncounter_start = 0xfffff00000\n", 0xc2, 0, OK, OK, 0 },
	{ __LINE__, V2 "[fault]\ncounter_zero = 1\n", 0xc2, 5, OK, OK, 0 },
};

TEST(registers)
{
	struct sim_machine *machine;
	struct sim_model *m;
	struct sim_cpu *cpu;
	uint64_t value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(regs); i++) {
		m = model_from("%s", regs[i].machine);
		machine = machine_from(m, 1, NULL);
		cpu = sim_cpu_new(machine, 0);
		EXPECT_EQ(regs[i].write, sim_msr_write(cpu, regs[i].msr, regs[i].value))
			TH_LOG("write of row at line %d", regs[i].line);
		value = 0;
		EXPECT_EQ(regs[i].read, sim_msr_read(cpu, regs[i].msr, &value))
			TH_LOG("read of row at line %d", regs[i].line);
		EXPECT_EQ(regs[i].back, value) TH_LOG("row at line %d", regs[i].line);
		sim_machine_free(machine);
		sim_model_free(m);
	}
}

static const struct {
	int line;
	const char *machine;
	uint32_t ecx;
	enum sim_msr_result result;
} rdpmcs[] = {
	{ __LINE__, V2, 0, OK },	     { __LINE__, V2, 3, OK },
	{ __LINE__, V2, 4, GP },	     { __LINE__, V2, 1u << 30, OK },
	{ __LINE__, V2, 1u << 30 | 2, OK },  { __LINE__, V2, 1u << 30 | 3, GP },
	{ __LINE__, V5, 1u << 30 | 3, OK },  { __LINE__, V5, 7, OK },
	{ __LINE__, V5, 8, GP },	     { __LINE__, V1, 1, OK },
	{ __LINE__, V1, 1u << 30, GP },	     { __LINE__, V2, 1u << 29, GP },
	{ __LINE__, V2, 1u << 31, GP },	     { __LINE__, EXTCORE, 5, OK },
	{ __LINE__, EXTCORE, 6, GP },	     { __LINE__, EXTCORE, 10, GP },
	{ __LINE__, PMV2, 1u << 30, GP },    { __LINE__, CPU_INTEL TIMING L1D PMU_NONE, 0, GP },
};

TEST(rdpmc_indices)
{
	struct sim_machine *machine;
	struct sim_model *m;
	uint64_t value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rdpmcs); i++) {
		m = model_from("%s", rdpmcs[i].machine);
		machine = machine_from(m, 1, NULL);
		EXPECT_EQ(rdpmcs[i].result,
			  sim_rdpmc(sim_cpu_new(machine, 0), rdpmcs[i].ecx, &value))
			TH_LOG("row at line %d", rdpmcs[i].line);
		sim_machine_free(machine);
		sim_model_free(m);
	}
}

FIXTURE(cpu)
{
	struct sim_model *model;
	struct sim_machine *machine;
	struct sim_cpu *cpu;
	uint64_t insns;
};

FIXTURE_SETUP(cpu)
{
	self->model = NULL;
}

FIXTURE_TEARDOWN(cpu)
{
	if (!self->model)
		return;
	sim_machine_free(self->machine);
	sim_model_free(self->model);
}

#define start(text)									\
	do {										\
		self->model = model_from("%s", text);					\
		self->machine = machine_from(self->model, 1, NULL);			\
		self->cpu = sim_cpu_new(self->machine, 0);				\
		self->insns = 0;							\
	} while (0)
#define wr(msr, value)	ASSERT_EQ(OK, sim_msr_write(self->cpu, msr, value))
#define rd(msr)		msr_of(self->cpu, msr)
#define pmc(ecx)	pmc_of(self->cpu, ecx)
#define run(n)		sim_cpu_instructions(self->cpu, self->insns += (n))

static uint64_t msr_of(struct sim_cpu *cpu, uint32_t msr)
{
	uint64_t value = ~0ull;

	sim_msr_read(cpu, msr, &value);
	return value;
}

static uint64_t pmc_of(struct sim_cpu *cpu, uint32_t ecx)
{
	uint64_t value = ~0ull;

	sim_rdpmc(cpu, ecx, &value);
	return value;
}

/* Enable bits: the counter's own, the global one, the ring's. */
TEST_F(cpu, intel_gating)
{
	start(V4);
	wr(0x38f, 0);
	wr(0x186, 0x4200c0);
	run(100);
	EXPECT_EQ(0, pmc(0));
	wr(0x38f, 1);
	run(100);
	EXPECT_EQ(100, pmc(0));
	EXPECT_EQ(100, rd(0xc1));
	EXPECT_EQ(100, rd(0x4c1));
	wr(0x186, 0x0200c0);
	run(100);
	EXPECT_EQ(100, pmc(0));
	wr(0x186, 0x4100c0);
	run(100);
	EXPECT_EQ(100, pmc(0));
	self->insns += 40;
	sim_cpu_user_instructions(self->cpu, 40);
	sim_cpu_instructions(self->cpu, self->insns);
	EXPECT_EQ(140, pmc(0));
	wr(0x186, 0x4300c0);
	run(100);
	EXPECT_EQ(240, pmc(0));
	wr(0xc1, 0);
	run(7);
	EXPECT_EQ(7, pmc(0));
}

TEST_F(cpu, intel_version_1_has_no_global_enable)
{
	start(V1);
	wr(0x187, 0x4300c0);
	run(100);
	EXPECT_EQ(100, pmc(1));
	wr(0x187, 0);
	run(100);
	EXPECT_EQ(100, pmc(1));
}

TEST_F(cpu, intel_fixed)
{
	start(V5);
	wr(0x38f, 0xf00000000);
	wr(0x38d, 0x1111);
	run(6000);
	EXPECT_EQ(6000, pmc(1u << 30));
	EXPECT_EQ(1500, pmc(1u << 30 | 1));
	EXPECT_EQ(1500, pmc(1u << 30 | 2));
	EXPECT_EQ(6000, pmc(1u << 30 | 3));
	EXPECT_EQ(6000, rd(0x309));
	wr(0x38d, 0x1110);
	run(4000);
	EXPECT_EQ(6000, pmc(1u << 30));
	EXPECT_EQ(2500, pmc(1u << 30 | 1));
	wr(0x38d, 0x2222);
	run(4000);
	EXPECT_EQ(2500, pmc(1u << 30 | 1));
}

/* A wrap sets the counter's status bit, once; writing it clears it; bits can be set by hand. */
TEST_F(cpu, intel_overflow)
{
	start(V4);
	wr(0x38f, 0x700000003);
	wr(0x38d, 0x3);
	wr(0x4c2, M48 - 9);
	wr(0x187, 0x4300c0);
	wr(0x309, M48);
	run(10);
	EXPECT_EQ(0, pmc(1));
	EXPECT_EQ(0x100000002, rd(0x38e));
	wr(0x390, 0x2);
	EXPECT_EQ(0x100000000, rd(0x38e));
	wr(0x391, 1ull << 62 | 1);
	EXPECT_EQ(0x4000000100000001, rd(0x38e));
	wr(0x390, 0xc00000070000000f);
	EXPECT_EQ(0, rd(0x38e));
	run(10);
	EXPECT_EQ(0, rd(0x38e));
	EXPECT_EQ(10, pmc(1));
	EXPECT_EQ(0x100000002, rd(0x392));
	wr(0x187, 0x5300c0);
	EXPECT_EQ(0x8000000100000002, rd(0x392));
}

/* Of instructions each counts; of cycles as many issue in one as the core is wide. */
TEST_F(cpu, overflow_is_near_and_told_once)
{
	start(V4);
	EXPECT_EQ(UINT64_MAX, sim_pmu_distance(self->cpu));
	wr(0x38f, 0x3);
	wr(0x4c1, M48 - 99);
	wr(0x186, 0x5300c0);
	EXPECT_EQ(100, sim_pmu_distance(self->cpu));
	run(99);
	EXPECT_EQ(1, sim_pmu_distance(self->cpu));
	EXPECT_FALSE(sim_pmu_interrupt(self->cpu));
	run(1);
	EXPECT_EQ(0, sim_pmu_distance(self->cpu));
	EXPECT_TRUE(sim_pmu_interrupt(self->cpu));
	EXPECT_FALSE(sim_pmu_interrupt(self->cpu));
	EXPECT_EQ(M48 + 1, sim_pmu_distance(self->cpu));
	/* one that was stopped before it was looked at is told all the same */
	wr(0x4c1, M48);
	run(1);
	wr(0x38f, 0x2);
	EXPECT_EQ(0, sim_pmu_distance(self->cpu));
	EXPECT_TRUE(sim_pmu_interrupt(self->cpu));
	/* one that does not want an interrupt has none */
	wr(0x4c2, M48);
	wr(0x187, 0x4300c0);
	EXPECT_EQ(UINT64_MAX, sim_pmu_distance(self->cpu));
	run(1);
	EXPECT_FALSE(sim_pmu_interrupt(self->cpu));
}

TEST_F(cpu, overflow_of_cycles_is_near)
{
	unsigned int i;

	start(V4);
	wr(0x38f, 0x200000000);
	wr(0x30a, M48 - 9);
	wr(0x38d, 0x90);
	EXPECT_EQ(10 * WIDTH, sim_pmu_distance(self->cpu));
	/* looking on does not change the time: an instruction is not a cycle */
	for (i = 1; i < 8 * WIDTH; i++) {
		run(1);
		EXPECT_LT(0, sim_pmu_distance(self->cpu));
	}
	EXPECT_EQ(M48 - 1, pmc(1u << 30 | 1));
	run(2 * WIDTH);
	EXPECT_EQ(0, sim_pmu_distance(self->cpu));
	EXPECT_TRUE(sim_pmu_interrupt(self->cpu));
}

TEST_F(cpu, intel_40_bits_wrap)
{
	start(V2);
	wr(0xc1, (uint32_t)-50);
	EXPECT_EQ(M40 - 49, rd(0xc1));
	wr(0x186, 0x4300c0);
	run(60);
	EXPECT_EQ(10, pmc(0));
	EXPECT_EQ(1, rd(0x38e));
}

/* Threshold, inversion and edge look at single cycles: nothing is counted rather than nonsense. */
TEST_F(cpu, per_cycle_conditions_count_nothing)
{
	static const uint64_t bits[] = { 1u << 18, 1u << 23, 1u << 24, 0xffu << 24 };
	size_t i;

	start(V4);
	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		wr(0x186, 0x4300c0 | bits[i]);
		run(1000);
		EXPECT_EQ(0, pmc(0));
	}
}

TEST_F(cpu, amd_aliases)
{
	start(EXTCORE);
	wr(0xc0010000, 0x4300c0);
	EXPECT_EQ(0x4300c0, rd(0xc0010200));
	wr(0xc0010206, 0x430076);
	EXPECT_EQ(0x430076, rd(0xc0010003));
	run(400);
	EXPECT_EQ(400, rd(0xc0010004));
	EXPECT_EQ(400, rd(0xc0010201));
	EXPECT_EQ(400, pmc(0));
	EXPECT_EQ(100, pmc(3));
	wr(0xc0010207, 5);
	EXPECT_EQ(5, rd(0xc0010007));
}

/* HostOnly or GuestOnly alone count nothing while SVM is off; both together count all. */
TEST_F(cpu, amd_guest_and_host)
{
	start(EXTCORE);
	wr(0xc001020a, 0x4300c0 | 1ull << 41);
	run(100);
	EXPECT_EQ(0, pmc(5));
	wr(0xc001020a, 0x4300c0 | 1ull << 40);
	run(100);
	EXPECT_EQ(0, pmc(5));
	wr(0xc001020a, 0x4300c0 | 3ull << 40);
	run(100);
	EXPECT_EQ(100, pmc(5));
}

/* PerfMonV2's global enable is clear at start, and both enables are needed. */
TEST_F(cpu, amd_v2_gating)
{
	start(PMV2);
	EXPECT_EQ(0, rd(0xc0000301));
	wr(0xc0010200, 0x4300c0);
	run(100);
	EXPECT_EQ(0, pmc(0));
	wr(0xc0000301, 0x3f);
	run(100);
	EXPECT_EQ(100, pmc(0));
	wr(0xc0010200, 0x0300c0);
	run(100);
	EXPECT_EQ(100, pmc(0));
	wr(0xc0010201, M48 - 4);
	wr(0xc0010200, 0x4300c0);
	run(10);
	EXPECT_EQ(5, pmc(0));
	EXPECT_EQ(1, rd(0xc0000300));
	wr(0xc0000302, 1);
	EXPECT_EQ(0, rd(0xc0000300));
	wr(0xc0000303, 6);
	EXPECT_EQ(6, rd(0xc0000300));
}

/* ---- Events: one pass of known traffic, then what each code has counted ---- */

static void traffic(struct sim_cpu *cpu, uint64_t *insns)
{
	unsigned int i;

	/* 100 lines: 64 of L2 and 16 of L1 remain. Loads only, then again, then some stores. */
	for (i = 0; i < 100; i++)
		sim_mem_access(cpu, ++*insns, 64 * i, 64 * i, 8, SIM_LOAD);
	for (i = 84; i < 100; i++)
		sim_mem_access(cpu, ++*insns, 64 * i, 64 * i, 8, SIM_LOAD);
	for (i = 50; i < 60; i++)
		sim_mem_access(cpu, ++*insns, 64 * i, 64 * i, 8, SIM_STORE);
	for (i = 0; i < 10; i++)
		sim_mem_access(cpu, ++*insns, 64 * i, 64 * i, 8, SIM_LOAD);
	for (i = 200; i < 207; i++)
		sim_mem_access(cpu, ++*insns, 64 * i, 64 * i, 8, SIM_PREFETCH_T0);
}

/* 100 from memory, 16 from L1, 10 stores from L2, 10 loads from L3, 7 prefetches from memory. */
#define INSNS	(100 + 16 + 10 + 10 + 7)
/* Each load waits for the one before it; stores and prefetches are dispatched meanwhile. */
#define CYCLES	(100 * 200 + 16 * 4 + 10 * 40)

static const struct {
	int line;
	const char *machine;
	uint64_t select;
	unsigned int counter;
	uint64_t count;
} counts[] = {
	{ __LINE__, V4, 0x0000c0, 0, INSNS },	{ __LINE__, V4, 0x00003c, 0, CYCLES },
	{ __LINE__, V4, 0x00013c, 0, CYCLES },	{ __LINE__, V4, 0x0008d1, 0, 110 },
	{ __LINE__, V4, 0x0010d1, 0, 110 },	{ __LINE__, V4, 0x0020d1, 0, 100 },
	{ __LINE__, V4, 0x0002d1, 0, 0 },	{ __LINE__, V4, 0x0004d1, 0, 10 },
	{ __LINE__, V4, 0x0014d1, 0, 110 },	{ __LINE__, V4, 0x0024d1, 0, 110 },
	{ __LINE__, V4, 0x00c124, 0, 0 },	{ __LINE__, V4, 0x002124, 0, 110 },
	{ __LINE__, V4, 0x000151, 0, 127 },	{ __LINE__, V4, 0x0010b0, 0, 100 },
	{ __LINE__, V4, 0x0001d3, 0, 100 },	{ __LINE__, V4, 0x00412e, 0, 107 },
	{ __LINE__, V4, 0x0001d1, 0, 0 },	{ __LINE__, V4, 0x004321, 0, 0 },
	{ __LINE__, V5, 0x0008d1, 3, 110 },	{ __LINE__, V5, 0x0008d1, 4, 0 },
	{ __LINE__, V5, 0x00003c, 7, CYCLES },	{ __LINE__, V5, 0x00fd43, 0, 110 },
	{ __LINE__, V5, 0x001021, 0, 100 },	{ __LINE__, V3, 0x0008d1, 0, 110 },
	{ __LINE__, EXTCORE, 0x0000c0, 0, INSNS },	{ __LINE__, EXTCORE, 0x000076, 0, CYCLES },
	{ __LINE__, EXTCORE, 0x005b43, 0, 120 },	{ __LINE__, EXTCORE, 0x005a43, 0, 110 },
	{ __LINE__, EXTCORE, 0x004843, 0, 100 },	{ __LINE__, EXTCORE, 0x000143, 0, 10 },
	{ __LINE__, EXTCORE, 0x000243, 0, 10 },		{ __LINE__, EXTCORE, 0x000141, 0, 110 },
	{ __LINE__, EXTCORE, 0x000241, 0, 10 },		{ __LINE__, EXTCORE, 0x000040, 0, 136 },
	{ __LINE__, EXTCORE, 0x005b59, 0, 7 },		{ __LINE__, EXTCORE, 0x007064, 0, 10 },
	{ __LINE__, EXTCORE, 0x000864, 0, 117 },	{ __LINE__, EXTCORE, 0x00002b, 0, 0 },
	{ __LINE__, PMV2, 0x00df43, 0, 120 },		{ __LINE__, PMV2, 0x00de43, 0, 110 },
	{ __LINE__, PMV2, 0x00dc43, 0, 100 },		{ __LINE__, PMV2, 0x00ff44, 0, 127 },
	{ __LINE__, PMV2, 0x004844, 0, 107 },		{ __LINE__, PMV2, 0x003f41, 0, 120 },
	{ __LINE__, PMV2, 0x100000120, 0, CYCLES },	{ __LINE__, PMV2, 0x000120, 0, 0 },
	{ __LINE__, V4 "[event]\n0x01/0x02 = stores\n", 0x000201, 0, 10 },
	{ __LINE__, V4 "[event]\n0xd1/0x08 = loads\n", 0x0008d1, 0, 126 },
	{ __LINE__, V4 "[event]\n0xc0/0x00 = none\n", 0x0000c0, 0, 0 },
	{ __LINE__, V4 "[event]\n0x01/0x01 = nt_stores\n0x01/0x02 = prefetches\n", 0x000301, 0, 7 },
};

TEST(events_count_what_happened)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		struct sim_model *m = model_from("%s", counts[i].machine);
		struct sim_machine *machine = machine_from(m, 1, NULL);
		struct sim_cpu *cpu = sim_cpu_new(machine, 0);
		const bool intel = m->cpu.vendor == SIM_INTEL;
		const uint64_t select = counts[i].select | 0x430000;
		uint64_t insns = 0;

		if (m->pmu.style == SIM_PMU_V2)
			sim_msr_write(cpu, 0xc0000301, 0x3f);
		sim_msr_write(cpu, intel ? 0x186 + counts[i].counter :
				   0xc0010200 + 2 * counts[i].counter, select);
		traffic(cpu, &insns);
		EXPECT_EQ(counts[i].count, pmc_of(cpu, counts[i].counter))
			TH_LOG("row at line %d, select %llx", counts[i].line,
			       (unsigned long long)counts[i].select);
		sim_machine_free(machine);
		sim_model_free(m);
	}
}

/* Rows of the table name sets that exist, and no code of a microarchitecture stands twice. */
TEST(event_table)
{
	const struct sim_event *row;
	uint64_t raws;
	size_t n, i, k;

	row = sim_events(&n);
	for (i = 0; i < n; i++) {
		EXPECT_TRUE(sim_event_set(row[i].what, &raws)) TH_LOG("%s", row[i].what);
		EXPECT_NE(0, *row[i].source);
		EXPECT_GE(0xfff, row[i].event);
		EXPECT_NE(0, row[i].counters);
		for (k = i + 1; k < n; k++)
			EXPECT_FALSE(!strcmp(row[i].uarch, row[k].uarch) &&
				     row[i].event == row[k].event &&
				     row[i].umask == row[k].umask)
				TH_LOG("%s %x/%x", row[i].uarch, row[i].event, row[i].umask);
	}
	for (i = 0; sim_event_set_name(i); i++)
		for (k = i + 1; sim_event_set_name(k); k++)
			EXPECT_STRNE(sim_event_set_name(i), sim_event_set_name(k));
}

/* ---- Machines that are not in order ---- */

TEST_F(cpu, counter_that_reads_zero)
{
	start(V4 "[fault]\ncounter_zero = 2\n");
	wr(0x188, 0x4300c0);
	run(100);
	EXPECT_EQ(0, pmc(2));
	EXPECT_EQ(0, rd(0xc3));
	wr(0x187, 0x4300c0);
	run(100);
	EXPECT_EQ(100, pmc(1));
}

TEST_F(cpu, counter_held_by_firmware)
{
	start(V4 "[fault]\ncounter_held = 1\nheld_select = 0x4300c0\n");
	EXPECT_EQ(0x4300c0, rd(0x187));
	run(100);
	EXPECT_EQ(100, pmc(1));
	EXPECT_EQ(2, rd(0x392));
	EXPECT_EQ(0, pmc(0));
}

TEST_F(cpu, counter_held_on_amd_v2)
{
	start(PMV2 "[fault]\ncounter_held = 4\n");
	EXPECT_EQ(0x430076, rd(0xc0010208));
	EXPECT_EQ(0x10, rd(0xc0000301));
	run(400);
	EXPECT_EQ(100, pmc(4));
}

TEST_F(cpu, counters_that_start_near_their_end)
{
	start(V4 "width = 24\n[fault]\ncounter_start = 0xfffff0\n");
	EXPECT_EQ(0xfffff0, pmc(0));
	wr(0x186, 0x4300c0);
	run(0x20);
	EXPECT_EQ(0x10, pmc(0));
	EXPECT_EQ(1, rd(0x38e));
}

/* ---- Clocks and scopes ---- */

TEST_F(cpu, clocks)
{
	start("[cpu]\nvendor = intel\nqemu_cpu = max\nmicroarch = none\n" TIMING
	      "core_ratio = 3/2\n" CACHES PMU_NONE);
	run(4 * 300);
	EXPECT_EQ(200, rd(0xe7));
	EXPECT_EQ(300, rd(0xe8));
	EXPECT_EQ(200, sim_tsc(self->cpu));
	wr(0xe8, 0);
	run(4 * 30);
	EXPECT_EQ(30, rd(0xe8));
	EXPECT_EQ(220, rd(0xe7));
}

TEST(scope_of_a_register)
{
	struct sim_model *m = model_from("[cpu]\nvendor = intel\nqemu_cpu = max\nmicroarch = none\n"
		"threads = 2\ncluster = 2\n" TIMING CACHES PMU_NONE
		"[msr]\n1 = 0xff 0 core\n2 = 0xff 0 cluster\n3 = 0xff 0 package\n");
	struct sim_machine *machine = machine_from(m, 8, NULL);
	static const unsigned int shared[3][8] = {
		{ 1, 1, 0, 0, 0, 0, 0, 0 },
		{ 1, 1, 1, 1, 0, 0, 0, 0 },
		{ 1, 1, 1, 1, 1, 1, 1, 1 },
	};
	unsigned int reg, i;

	for (reg = 0; reg < 3; reg++) {
		EXPECT_EQ(OK, sim_msr_write(sim_cpu_new(machine, 1), reg + 1, 1));
		for (i = 0; i < 8; i++)
			EXPECT_EQ(shared[reg][i], msr_of(sim_cpu_new(machine, i), reg + 1));
	}
	EXPECT_EQ(NULL, sim_cpu_new(machine, 8));
	sim_machine_free(machine);
	sim_model_free(m);
}

TEST_HARNESS_MAIN
