// SPDX-License-Identifier: GPL-2.0-only
/* CPUID leaves that describe caches, counters and controls; all others stay QEMU's. */
#include "machine.h"

#define EAX	0
#define EBX	1
#define ECX	2
#define EDX	3

/* Subleaf order of leaves 4 and 8000_001D: data, instruction, then outward. */
static const struct sim_cache_model *cache_by_subleaf(const struct sim_model *m,
						      uint32_t subleaf)
{
	const bool instruction = m->instruction.line_no;

	if (subleaf && instruction) {
		if (subleaf == 1)
			return &m->instruction;
		subleaf--;
	}
	return subleaf < m->caches ? &m->cache[subleaf] : NULL;
}

/* 1 data, 2 instruction, 3 unified. */
static unsigned int cache_type(const struct sim_cache_model *c)
{
	if (c->instruction)
		return 2;
	return c->name[2] == 'd' ? 1 : 3;
}

/* The field holds one less than a number of CPUs, which counts APIC ids: round up to 2^n. */
static unsigned int sharing_field(const struct sim_cpu *cpu, const struct sim_cache_model *c)
{
	unsigned int sharers = sim_model_sharers(cpu->model, c->scope), ids = 1;

	if (!sharers)
		sharers = cpu->machine->cpus;
	while (ids < sharers)
		ids *= 2;
	return ids - 1;
}

/* EAX to EDX of leaf 4, which 8000_001D repeats but for the upper bits of EAX and EDX. */
static void describe_cache(const struct sim_cpu *cpu, const struct sim_cache_model *c,
			   uint32_t regs[4])
{
	const uint32_t self_initializing = 1u << 8;

	regs[EAX] = cache_type(c) | c->level << 5 | self_initializing |
		    sharing_field(cpu, c) << 14;
	regs[EBX] = (c->line - 1) | (c->ways - 1) << 22;
	regs[ECX] = c->sets - 1;
	regs[EDX] = c->inclusion == SIM_INCLUSIVE ? 1u << 1 : 0;
}

static bool fill_caches(const struct sim_cpu *cpu, uint32_t subleaf, uint32_t regs[4])
{
	const struct sim_cache_model *c = cache_by_subleaf(cpu->model, subleaf);

	regs[EAX] = 0;
	regs[EBX] = 0;
	regs[ECX] = 0;
	regs[EDX] = 0;
	if (c)
		describe_cache(cpu, c, regs);
	return c;
}

/* Bit 15: PERF_CAPABILITIES exists. EBX[15:8]: line of CLFLUSH in units of 8 bytes. */
static bool intel_features(const struct sim_cpu *cpu, uint32_t subleaf, uint32_t regs[4])
{
	const struct sim_model *m = cpu->model;
	const uint32_t pdcm = 1u << 15;

	(void)subleaf;
	regs[EBX] = (regs[EBX] & ~0xff00u) | m->cache[0].line / 8 << 8;
	regs[ECX] &= ~pdcm;
	if (m->pmu.style == SIM_PMU_INTEL && m->pmu.version >= 2)
		regs[ECX] |= pdcm;
	return true;
}

static bool amd_features(const struct sim_cpu *cpu, uint32_t subleaf, uint32_t regs[4])
{
	(void)subleaf;
	regs[EBX] = (regs[EBX] & ~0xff00u) | cpu->model->cache[0].line / 8 << 8;
	return true;
}

/* EAX[31:26], the cores of the package, is QEMU's, as its -smp decides. */
static bool intel_caches(const struct sim_cpu *cpu, uint32_t subleaf, uint32_t regs[4])
{
	const uint32_t cores = regs[EAX] & 0xfc000000;

	if (fill_caches(cpu, subleaf, regs))
		regs[EAX] |= cores;
	return true;
}

/* ECX[0]: APERF and MPERF. The kernel believes it, and reads them at each tick. */
static bool clock_ratio(const struct sim_cpu *cpu, uint32_t subleaf, uint32_t regs[4])
{
	const struct sim_fault_model *fault = &cpu->model->fault;

	(void)subleaf;
	regs[ECX] |= 1;
	if (sim_msr_listed(&fault->msr_fault, 0xe8))
		regs[ECX] &= ~1u;
	return true;
}

/*
 * EBX marks architectural events that are not counted: 3 LLC references, 5 branches, 6 branch
 * misses; the vector has 7 bits. ECX: fixed counters as a bit map from version 5 on.
 */
static bool intel_pmu(const struct sim_cpu *cpu, uint32_t subleaf, uint32_t regs[4])
{
	const struct sim_pmu_model *pmu = &cpu->model->pmu;
	const bool intel = pmu->style == SIM_PMU_INTEL;

	(void)subleaf;
	regs[EAX] = intel ? pmu->version | pmu->gp << 8 | pmu->width << 16 | 7u << 24 : 0;
	regs[EBX] = intel ? 1u << 3 | 1u << 5 | 1u << 6 : 0;
	regs[ECX] = intel && pmu->version >= 5 ? (1u << pmu->fixed) - 1 : 0;
	regs[EDX] = intel && pmu->version >= 2 ? pmu->fixed | pmu->width << 5 : 0;
	if (intel && pmu->version >= 5 && !pmu->anythread)
		regs[EDX] |= 1u << 15;
	return true;
}

/* EDX[15] of leaf 7: hybrid, that is, leaf 0x1A tells the core's type. */
static bool intel_hybrid(const struct sim_cpu *cpu, uint32_t subleaf, uint32_t regs[4])
{
	if (subleaf)
		return false;
	regs[EDX] &= ~(1u << 15);
	if (cpu->model->cpu.core_type != SIM_CORE_PLAIN)
		regs[EDX] |= 1u << 15;
	return true;
}

/* EAX[31:24] 0x40 performance, 0x20 efficient core; EAX[23:0] native model id, 1 for both here. */
static bool intel_core_type(const struct sim_cpu *cpu, uint32_t subleaf, uint32_t regs[4])
{
	static const uint32_t types[] = {
		[SIM_CORE_PERFORMANCE] = 0x40000001,
		[SIM_CORE_EFFICIENT] = 0x20000001,
	};

	(void)subleaf;
	regs[EAX] = types[cpu->model->cpu.core_type];
	regs[EBX] = 0;
	regs[ECX] = 0;
	regs[EDX] = 0;
	return true;
}

/* Bit 22: topology extensions, that is 8000_001D; bit 23: PerfCtrExtCore; 24, 28: no NB, no L3. */
static bool amd_extended(const struct sim_cpu *cpu, uint32_t subleaf, uint32_t regs[4])
{
	(void)subleaf;
	regs[ECX] &= ~(1u << 23 | 1u << 24 | 1u << 28);
	regs[ECX] |= 1u << 22;
	if (cpu->model->pmu.style >= SIM_PMU_EXTCORE)
		regs[ECX] |= 1u << 23;
	return true;
}

static uint32_t amd_l1(const struct sim_cache_model *c)
{
	return c->size ? (uint32_t)(c->size >> 10) << 24 | c->ways << 16 | 1u << 8 | c->line : 0;
}

static bool amd_level1(const struct sim_cpu *cpu, uint32_t subleaf, uint32_t regs[4])
{
	const struct sim_model *m = cpu->model;

	(void)subleaf;
	regs[ECX] = amd_l1(&m->cache[0]);
	regs[EDX] = amd_l1(&m->instruction);
	return true;
}

/* Code of an associativity in 8000_0006; 9 refers to 8000_001D. AMD APM volume 3. */
static uint32_t amd_ways(unsigned int ways)
{
	static const struct {
		unsigned int ways;
		uint32_t code;
	} codes[] = {
		{ 1, 1 }, { 2, 2 }, { 4, 4 }, { 8, 6 }, { 16, 8 }, { 32, 10 }, { 48, 11 },
		{ 64, 12 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].ways == ways)
			return codes[i].code;
	return 9;
}

/* ECX: L2 in KiB; EDX: L3 in units of 512 KiB. */
static bool amd_outer(const struct sim_cpu *cpu, uint32_t subleaf, uint32_t regs[4])
{
	const struct sim_model *m = cpu->model;
	const struct sim_cache_model *c = m->cache;

	(void)subleaf;
	regs[ECX] = 0;
	regs[EDX] = 0;
	if (m->caches > 1)
		regs[ECX] = (uint32_t)(c[1].size >> 10) << 16 | amd_ways(c[1].ways) << 12 |
			    1u << 8 | c[1].line;
	if (m->caches > 2)
		regs[EDX] = (uint32_t)(c[2].size >> 19) << 18 | amd_ways(c[2].ways) << 12 |
			    1u << 8 | c[2].line;
	return true;
}

static bool amd_caches(const struct sim_cpu *cpu, uint32_t subleaf, uint32_t regs[4])
{
	fill_caches(cpu, subleaf, regs);
	return true;
}

/* EAX[13]: PrefetchControl exists. */
static bool amd_features2(const struct sim_cpu *cpu, uint32_t subleaf, uint32_t regs[4])
{
	const struct sim_model *m = cpu->model;
	unsigned int i;

	(void)subleaf;
	regs[EAX] &= ~(1u << 13);
	for (i = 0; i < m->msrs; i++)
		if (m->msr[i].msr == 0xc0000108)
			regs[EAX] |= 1u << 13;
	return true;
}

/* EAX[0]: PerfMonV2; EBX[3:0]: number of core counters. */
static bool amd_pmu(const struct sim_cpu *cpu, uint32_t subleaf, uint32_t regs[4])
{
	const struct sim_pmu_model *pmu = &cpu->model->pmu;

	(void)subleaf;
	regs[EAX] = pmu->style == SIM_PMU_V2;
	regs[EBX] = pmu->style == SIM_PMU_V2 ? pmu->gp : 0;
	regs[ECX] = 0;
	regs[EDX] = 0;
	return true;
}

/* 8000_0022 must be within reach where PerfMonV2 is announced by it. */
static bool amd_highest(const struct sim_cpu *cpu, uint32_t subleaf, uint32_t regs[4])
{
	(void)subleaf;
	if (cpu->model->pmu.style != SIM_PMU_V2 || regs[EAX] >= 0x80000022)
		return false;
	regs[EAX] = 0x80000022;
	return true;
}

static const struct {
	unsigned int vendor;
	uint32_t leaf;
	bool (*fix)(const struct sim_cpu *cpu, uint32_t subleaf, uint32_t regs[4]);
} leaves[] = {
	{ SIM_INTEL, 0x1, intel_features },
	{ SIM_INTEL, 0x4, intel_caches },
	{ SIM_INTEL, 0x6, clock_ratio },
	{ SIM_INTEL, 0x7, intel_hybrid },
	{ SIM_INTEL, 0xa, intel_pmu },
	{ SIM_INTEL, 0x1a, intel_core_type },
	{ SIM_AMD, 0x1, amd_features },
	{ SIM_AMD, 0x6, clock_ratio },
	{ SIM_AMD, 0x80000000, amd_highest },
	{ SIM_AMD, 0x80000001, amd_extended },
	{ SIM_AMD, 0x80000005, amd_level1 },
	{ SIM_AMD, 0x80000006, amd_outer },
	{ SIM_AMD, 0x8000001d, amd_caches },
	{ SIM_AMD, 0x80000021, amd_features2 },
	{ SIM_AMD, 0x80000022, amd_pmu },
};

bool sim_cpuid(struct sim_cpu *cpu, uint32_t leaf, uint32_t subleaf, uint32_t regs[4])
{
	const uint32_t before[4] = { regs[0], regs[1], regs[2], regs[3] };
	unsigned int i;

	for (i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		if (leaves[i].vendor != cpu->model->cpu.vendor ||
		    leaves[i].leaf != leaf)
			continue;
		leaves[i].fix(cpu, subleaf, regs);
		return before[0] != regs[0] || before[1] != regs[1] || before[2] != regs[2] ||
		       before[3] != regs[3];
	}
	return false;
}
