// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shipped models behave as published: sizes, ways, latencies, sharing, counters and events are
 * found by using the machine, and compared with values that stand here and not in the model file.
 * CALM_SIM_MODELS names another folder: mutation.sh has changed models there.
 */
#include "kselftest_harness.h"
#include "modeltext.h"
#include "walk.h"

#define CPUS		16
#define LEVELS		3
#define EVENTS		8
#define WORDS		6
#define UNITS		8
#define ARRAYS		5
#define FARS		2

struct level {
	uint64_t size;
	unsigned int ways;
	unsigned int line;
	unsigned int latency;
	unsigned int sharers;
	unsigned int inclusion;
	bool tree;
};

/* What limits how much of a core runs beside each other; bandwidth from level 2 on, then memory. */
struct core {
	unsigned int rob, fill_buffers, store_buffer, load_ports, clock;
	unsigned int bandwidth[LEVELS];
};

/* An event select, and what it counts of traffic(). */
struct event {
	uint64_t select;
	uint64_t count;
};

/* An array of translations: sizes of pages as a bit each, from 4 KiB on. */
struct array {
	unsigned int level;
	unsigned int pages;
	unsigned int entries;
	unsigned int ways;
	unsigned int penalty;
	unsigned int coalesce;		/* pages of 4 KiB to an entry, if more than one */
};

/* A register beside the one that most prefetchers share, with the only switch that it has. */
struct far {
	uint32_t msr;
	struct unit unit;
};

/* A register at start: what reading it does, and its value if that does not fault. */
struct word {
	uint32_t msr;
	enum sim_msr_result read;
	uint64_t value;
};

FIXTURE_VARIANT(model)
{
	const char *file;
	const char *qemu_cpu;
	bool amd;
	uint64_t tsc_hz;
	unsigned int ratio[2];
	unsigned int width;
	unsigned int memory;
	struct core core;
	struct level level[LEVELS];
	uint32_t instruction[3];	/* EAX, EBX, ECX of its CPUID subleaf */
	uint32_t leaf_a[4];		/* of Intel */
	uint32_t core_type;
	bool extcore, v2;		/* of AMD */
	bool full_width, anythread;
	uint32_t plain;			/* a register that only stores */
	uint64_t plain_mask;
	unsigned int plain_sharers;	/* vCPUs that share it, if more than one */
	unsigned int deaf;		/* vCPUs on which it keeps its value */
	struct far far[FARS];		/* others */
	struct array array[ARRAYS];
	unsigned int walk_read, upper[3];	/* cost of a table, entries of the walk's caches */
	struct unit unit[UNITS];	/* prefetchers, by the bits of that register */
	struct event event[EVENTS];
	struct word word[WORDS];
	unsigned int noise_cycles, noise_lines;	/* of 1000 loops: cycles, lines more */
	unsigned int limited_core;	/* which may fill these ways of the last level alone */
	uint64_t limited_mask;
	unsigned int smi_window, smi, smi_cycles;
	unsigned int step_window, aperf, mperf;
	unsigned int nmi_window, nmi_loads;	/* behind so many loads of it */
	const char *others;		/* the model of the vCPUs from this one on */
	unsigned int first_other;
};

FIXTURE(model)
{
	struct sim_model *model;
	struct sim_machine *machine;
	struct sim_cpu *cpu;
	uint64_t insns;
};

/* The bits of all prefetchers. */
static uint64_t prefetchers(const FIXTURE_VARIANT(model) *variant)
{
	uint64_t bits = 0;
	unsigned int i;

	for (i = 0; i < UNITS && variant->unit[i].level; i++)
		bits |= 1ull << variant->unit[i].bit;
	return bits;
}

/* What writing the register does, also where it is deaf. */
static void set_switches(struct sim_machine *machine, unsigned int cpu, uint32_t msr,
			 uint64_t value)
{
	const struct sim_model *m = machine->model;
	unsigned int i;

	for (i = 0; i < m->msrs; i++)
		if (m->msr[i].msr == msr)
			machine->plain[i][sim_machine_instance(machine, cpu, m->msr[i].scope)] =
				value;
	sim_prefetch_switch(machine, msr);
}

FIXTURE_SETUP(model)
{
	const char *folder = getenv("CALM_SIM_MODELS");
	char path[512], err[600];
	unsigned int cpu, i;

	snprintf(path, sizeof(path), "%s/%s.cpu", folder ? folder : "tools/simcpu/models",
		 variant->file);
	self->model = sim_model_load(path, err, sizeof(err));
	ASSERT_NE(NULL, self->model) TH_LOG("%s", err);
	self->machine = machine_from(self->model, CPUS, NULL);
	self->cpu = sim_cpu_new(self->machine, 0);
	self->insns = 0;
	/* caches by themselves; the tests of TLBs, noise and prefetchers switch those on */
	for (cpu = 0; cpu < CPUS; cpu++) {
		sim_cpu_new(self->machine, cpu)->mmu.on = false;
		sim_cpu_new(self->machine, cpu)->noise.model = NULL;
	}
	for (cpu = 0; cpu < CPUS && variant->plain; cpu++)
		set_switches(self->machine, cpu, variant->plain, prefetchers(variant));
	for (i = 0; i < FARS && variant->far[i].msr; i++)
		for (cpu = 0; cpu < CPUS; cpu++)
			set_switches(self->machine, cpu, variant->far[i].msr,
				     1ull << variant->far[i].unit.bit);
}

FIXTURE_TEARDOWN(model)
{
	sim_machine_free(self->machine);
	sim_model_free(self->model);
}

/* Three levels as the models of negative/ have them. */
#define NEGATIVE_LEVELS								\
	.amd = false, .tsc_hz = 3000000000, .ratio = { 1, 1 }, .width = 4, .memory = 200,	\
	.core = { 224, 10, 56, 2, 24, { 0, 0, 0 } },						\
	.level = { { 32 << 10, 8, 64, 4, 1, SIM_NEITHER, false },			\
		   { 256 << 10, 4, 64, 12, 1, SIM_NEITHER, false },			\
		   { 2 << 20, 16, 64, 42, 0, SIM_INCLUSIVE, false } }
#define NEGATIVE_CPU(id, tail)							\
	"Skylake-Client,family=6,model=94,stepping=3,model-id=" id tail ",-x2apic"
#define NEGATIVE_V4							\
	.leaf_a = { 0x07300404, 0x68, 0, 0x603 }, .full_width = true, .anythread = true
#define NEGATIVE_PREFETCH	.plain = 0x1a4, .plain_mask = 0xf
#define NEGATIVE_UNITS								\
	.unit = { { 0, SIM_PREFETCH_STREAM, 2, 2, 2, 20, 32 },			\
		  { 2, SIM_PREFETCH_NEXT_LINE, 1, 1, 1, 1, 0 },			\
		  { 3, SIM_PREFETCH_IP_STRIDE, 1, 2, 1, 1, 24 } }
#define NEGATIVE_EVENTS		.event = { { 0x08d1, 117 }, { 0x10b0, 100 } }

FIXTURE_VARIANT_ADD(model, zen2)
{
	.file = "zen2",
	.qemu_cpu = "EPYC-Rome,family=23,model=96,stepping=1,"
		"model-id=AMD Ryzen 7 4700U with Radeon Graphics,"
		"xlevel=0x80000022,-hypervisor,-x2apic",
	.amd = true, .tsc_hz = 2000000000, .ratio = { 1, 1 }, .width = 4, .memory = 225,
	.core = { 224, 22, 48, 2, 36, { 32, 23, 9 } },
	.level = { { 32 << 10, 8, 64, 4, 1, SIM_NEITHER, false },
		   { 512 << 10, 8, 64, 12, 1, SIM_INCLUSIVE, false },
		   { 4 << 20, 16, 64, 39, 4, SIM_EXCLUSIVE, false } },
	.array = { { 1, 7, 64, 64, 0 }, { 2, 1, 2048, 8, 8 }, { 2, 2, 2048, 4, 8 } },
	.walk_read = 9, .upper = { 64, 8, 2 },
	.instruction = { 0x122, 0x01c0003f, 63 },
	.extcore = true,
	.event = { { 0x5b43, 122 }, { 0x5a43, 112 }, { 0x4843, 105 }, { 0x0143, 10 },
		   { 0x0141, 117 }, { 0xff44, 0 } },
	.word = { { 0xc0000108, SIM_MSR_GP, 0 } },
};

FIXTURE_VARIANT_ADD(model, zen4)
{
	.file = "zen4",
	.qemu_cpu = "EPYC-Genoa,family=25,model=97,stepping=2,"
		"model-id=AMD Ryzen 9 7950X 16-Core Processor,"
		"xlevel=0x80000022,-hypervisor,-x2apic",
	.amd = true, .tsc_hz = 4500000000, .ratio = { 1, 1 }, .width = 6, .memory = 234,
	.core = { 320, 24, 64, 3, 36, { 32, 32, 14 } },
	.level = { { 32 << 10, 8, 64, 4, 1, SIM_NEITHER, false },
		   { 1 << 20, 8, 64, 14, 1, SIM_INCLUSIVE, false },
		   { 32 << 20, 16, 64, 50, 8, SIM_EXCLUSIVE, false } },
	.array = { { 1, 7, 72, 72, 0, 4 }, { 2, 1, 3072, 8, 7, 4 }, { 2, 2, 3072, 6, 7 },
		   { 2, 4, 64, 64, 7 } },
	.walk_read = 9, .upper = { 64, 8, 2 },
	.instruction = { 0x122, 0x01c0003f, 63 },
	.extcore = true, .v2 = true,
	.plain = 0xc0000108, .plain_mask = 0x2f,
	.unit = { { 0, SIM_PREFETCH_STREAM, 1, 2, 2, 4, 16 },
		  { 1, SIM_PREFETCH_IP_STRIDE, 1, 2, 2, 1, 16 },
		  { 2, SIM_PREFETCH_REGION, 1, 2, 1, 1, 8 },
		  { 3, SIM_PREFETCH_STREAM, 2, 3, 2, 16, 32 },
		  { 5, SIM_PREFETCH_UP_DOWN, 2, 4, 1, 1, 24 } },
	.event = { { 0xdf43, 122 }, { 0xde43, 112 }, { 0xdc43, 105 }, { 0x0143, 10 },
		   { 0x3f41, 122 }, { 0xff44, 122 }, { 0x0141, 0 }, { 0x1000000120ull, 0 } },
};

FIXTURE_VARIANT_ADD(model, skylake_x)
{
	.file = "skylake-x",
	.qemu_cpu = "Skylake-Server,family=6,model=85,stepping=4,"
		"model-id=Intel(R) Core(TM) i9-7900X CPU @ 3.30GHz,-hypervisor,-x2apic",
	.tsc_hz = 3300000000, .ratio = { 1, 1 }, .width = 4, .memory = 279,
	.core = { 224, 12, 56, 2, 24, { 46, 10, 6 } },
	.level = { { 32 << 10, 8, 64, 4, 1, SIM_NEITHER, true },
		   { 1 << 20, 16, 64, 14, 1, SIM_INCLUSIVE, false },
		   { 14080 << 10, 11, 64, 75, 0, SIM_EXCLUSIVE, false } },
	.array = { { 1, 1, 64, 4, 0 }, { 1, 2, 32, 4, 0 }, { 1, 4, 4, 4, 0 },
		   { 2, 3, 1536, 12, 7 }, { 2, 4, 16, 4, 7 } },
	.walk_read = 8, .upper = { 32, 4, 2 },
	.instruction = { 0x122, 0x01c0003f, 63 },
	.leaf_a = { 0x07300404, 0x68, 0, 0x603 }, .full_width = true, .anythread = true,
	.plain = 0x1a4, .plain_mask = 0xf,
	.unit = { { 0, SIM_PREFETCH_STREAM, 2, 2, 2, 20, 32 },
		  { 1, SIM_PREFETCH_ADJACENT, 2, 2, 1, 1, 0 },
		  { 2, SIM_PREFETCH_NEXT_LINE, 1, 1, 1, 1, 0 },
		  { 3, SIM_PREFETCH_IP_STRIDE, 1, 2, 1, 1, 24 } },
	.event = { { 0x08d1, 117 }, { 0x10d1, 107 }, { 0x20d1, 100 }, { 0x02d1, 10 },
		   { 0x04d1, 7 }, { 0x01d3, 100 }, { 0x10b0, 100 }, { 0x0151, 122 } },
};

FIXTURE_VARIANT_ADD(model, golden_cove)
{
	.file = "golden-cove",
	.qemu_cpu = "Skylake-Client,family=6,model=151,stepping=2,"
		"model-id=12th Gen Intel(R) Core(TM) i9-12900K,level=0x1a,-hypervisor,-x2apic",
	.tsc_hz = 3200000000, .ratio = { 3, 2 }, .width = 6, .memory = 303,
	.core = { 512, 16, 112, 3, 32, { 64, 16, 8 } },
	.level = { { 48 << 10, 12, 64, 5, 1, SIM_NEITHER, false },
		   { 1280 << 10, 10, 64, 15, 1, SIM_NEITHER, false },
		   { 30 << 20, 12, 64, 70, 0, SIM_NEITHER, false } },
	.array = { { 1, 1, 96, 6, 0 }, { 1, 2, 32, 4, 0 }, { 1, 4, 8, 8, 0 },
		   { 2, 3, 1024, 8, 7 }, { 2, 5, 1024, 8, 7 } },
	.walk_read = 8, .upper = { 32, 4, 2 },
	.instruction = { 0x122, 0x01c0003f, 63 },
	.leaf_a = { 0x07300805, 0x68, 0xf, 0x8604 }, .core_type = 0x40000001,
	.full_width = true,
	.plain = 0x1a4, .plain_mask = 0x82f,
	.unit = { { 0, SIM_PREFETCH_STREAM, 2, 2, 2, 20, 32 },
		  { 1, SIM_PREFETCH_ADJACENT, 2, 2, 1, 1, 0 },
		  { 2, SIM_PREFETCH_NEXT_LINE, 1, 1, 1, 1, 0 },
		  { 3, SIM_PREFETCH_IP_STRIDE, 1, 2, 1, 1, 24 },
		  { 5, SIM_PREFETCH_MULTIPATH, 2, 2, 2, 1, 32 } },
	.event = { { 0x08d1, 117 }, { 0x10d1, 107 }, { 0x20d1, 100 }, { 0xfd43, 117 },
		   { 0x1021, 100 }, { 0x10b0, 0 } },
};

FIXTURE_VARIANT_ADD(model, alder_lake)
{
	.file = "alder-lake",
	.qemu_cpu = "Skylake-Client,family=6,model=151,stepping=2,"
		"model-id=12th Gen Intel(R) Core(TM) i9-12900K,level=0x1a,-hypervisor,-x2apic",
	.tsc_hz = 3200000000, .ratio = { 3, 2 }, .width = 6, .memory = 303,
	.core = { 512, 16, 112, 3, 32, { 64, 16, 8 } },
	.level = { { 48 << 10, 12, 64, 5, 1, SIM_NEITHER, false },
		   { 1280 << 10, 10, 64, 15, 1, SIM_NEITHER, false },
		   { 30 << 20, 12, 64, 70, 0, SIM_NEITHER, false } },
	.array = { { 1, 1, 96, 6, 0 }, { 1, 2, 32, 4, 0 }, { 1, 4, 8, 8, 0 },
		   { 2, 3, 1024, 8, 7 }, { 2, 5, 1024, 8, 7 } },
	.walk_read = 8, .upper = { 32, 4, 2 },
	.instruction = { 0x122, 0x01c0003f, 63 },
	.leaf_a = { 0x07300805, 0x68, 0xf, 0x8604 }, .core_type = 0x40000001,
	.full_width = true,
	.plain = 0x1a4, .plain_mask = 0x82f,
	.unit = { { 0, SIM_PREFETCH_STREAM, 2, 2, 2, 20, 32 },
		  { 1, SIM_PREFETCH_ADJACENT, 2, 2, 1, 1, 0 },
		  { 2, SIM_PREFETCH_NEXT_LINE, 1, 1, 1, 1, 0 },
		  { 3, SIM_PREFETCH_IP_STRIDE, 1, 2, 1, 1, 24 },
		  { 5, SIM_PREFETCH_MULTIPATH, 2, 2, 2, 1, 32 } },
	.event = { { 0x08d1, 117 }, { 0x10d1, 107 }, { 0x20d1, 100 }, { 0xfd43, 117 },
		   { 0x1021, 100 }, { 0x10b0, 0 } },
	.others = "gracemont", .first_other = 4,
};

FIXTURE_VARIANT_ADD(model, line128)
{
	.file = "line128",
	.qemu_cpu = "Haswell,family=6,model=60,stepping=3,"
		"model-id=Intel(R) Core(TM) i7-4770 CPU @ 3.40GHz,-hypervisor,-x2apic",
	.tsc_hz = 3400000000, .ratio = { 1, 1 }, .width = 4, .memory = 246,
	.core = { 192, 10, 42, 2, 24, { 25, 10, 8 } },
	.level = { { 32 << 10, 8, 128, 4, 1, SIM_NEITHER, false },
		   { 256 << 10, 8, 128, 12, 1, SIM_NEITHER, false },
		   { 8 << 20, 16, 128, 40, 0, SIM_INCLUSIVE, false } },
	.array = { { 1, 1, 64, 4, 0 }, { 1, 2, 32, 4, 0 }, { 1, 4, 4, 4, 0 },
		   { 2, 3, 1024, 8, 5 } },
	.walk_read = 8, .upper = { 32, 4, 2 },
	.instruction = { 0x122, 0x01c0003f, 63 },
	.leaf_a = { 0x07300403, 0x68, 0, 0x603 }, .full_width = true, .anythread = true,
	.plain = 0x1a4, .plain_mask = 0xf,
	.unit = { { 0, SIM_PREFETCH_STREAM, 2, 2, 2, 8, 32 },
		  { 1, SIM_PREFETCH_ADJACENT, 2, 2, 1, 1, 0 },
		  { 2, SIM_PREFETCH_NEXT_LINE, 1, 1, 1, 1, 0 },
		  { 3, SIM_PREFETCH_IP_STRIDE, 1, 2, 1, 1, 24 } },
	.event = { { 0x08d1, 117 }, { 0x10d1, 107 }, { 0x20d1, 100 }, { 0x10b0, 0 } },
};

FIXTURE_VARIANT_ADD(model, haswell)
{
	.file = "haswell",
	.qemu_cpu = "Haswell,family=6,model=60,stepping=3,"
		"model-id=Intel(R) Core(TM) i7-4770 CPU @ 3.40GHz,-hypervisor,-x2apic",
	.tsc_hz = 3400000000, .ratio = { 1, 1 }, .width = 4, .memory = 246,
	.core = { 192, 10, 42, 2, 24, { 25, 10, 4 } },
	.level = { { 32 << 10, 8, 64, 4, 1, SIM_NEITHER, false },
		   { 256 << 10, 8, 64, 12, 1, SIM_NEITHER, false },
		   { 8 << 20, 16, 64, 40, 0, SIM_INCLUSIVE, false } },
	.array = { { 1, 1, 64, 4, 0 }, { 1, 2, 32, 4, 0 }, { 1, 4, 4, 4, 0 },
		   { 2, 3, 1024, 8, 5 } },
	.walk_read = 8, .upper = { 32, 4, 2 },
	.instruction = { 0x122, 0x01c0003f, 63 },
	.leaf_a = { 0x07300403, 0x68, 0, 0x603 }, .full_width = true, .anythread = true,
	.plain = 0x1a4, .plain_mask = 0xf,
	.unit = { { 0, SIM_PREFETCH_STREAM, 2, 2, 2, 20, 32 },
		  { 1, SIM_PREFETCH_ADJACENT, 2, 2, 1, 1, 0 },
		  { 2, SIM_PREFETCH_NEXT_LINE, 1, 1, 1, 1, 0 },
		  { 3, SIM_PREFETCH_IP_STRIDE, 1, 2, 1, 1, 24 } },
	.event = { { 0x08d1, 117 }, { 0x10d1, 107 }, { 0x20d1, 100 }, { 0x10b0, 0 } },
};

FIXTURE_VARIANT_ADD(model, zen3)
{
	.file = "zen3",
	.qemu_cpu = "EPYC-Milan,family=25,model=33,stepping=2,"
		"model-id=AMD Ryzen 9 5900X 12-Core Processor,"
		"xlevel=0x80000022,-hypervisor,-x2apic",
	.amd = true, .tsc_hz = 3700000000, .ratio = { 1, 1 }, .width = 6, .memory = 199,
	.core = { 256, 24, 64, 3, 36, { 32, 32, 13 } },
	.level = { { 32 << 10, 8, 64, 4, 1, SIM_NEITHER, false },
		   { 512 << 10, 8, 64, 12, 1, SIM_INCLUSIVE, false },
		   { 32 << 20, 16, 64, 49, 6, SIM_EXCLUSIVE, false } },
	.array = { { 1, 7, 64, 64, 0 }, { 2, 1, 2048, 8, 8 }, { 2, 2, 2048, 4, 8 },
		   { 2, 4, 64, 64, 8 } },
	.walk_read = 9, .upper = { 64, 8, 2 },
	.instruction = { 0x122, 0x01c0003f, 63 },
	.extcore = true,
	.plain = 0xc0000108, .plain_mask = 0x2f,
	.unit = { { 0, SIM_PREFETCH_STREAM, 1, 2, 2, 4, 16 },
		  { 1, SIM_PREFETCH_IP_STRIDE, 1, 2, 2, 1, 16 },
		  { 2, SIM_PREFETCH_REGION, 1, 2, 1, 1, 8 },
		  { 3, SIM_PREFETCH_STREAM, 2, 3, 2, 16, 32 },
		  { 5, SIM_PREFETCH_UP_DOWN, 2, 4, 1, 1, 24 } },
	.event = { { 0x0b43, 122 }, { 0x0143, 10 }, { 0x0243, 7 }, { 0x0843, 105 },
		   { 0x3f41, 122 }, { 0x0b44, 122 }, { 0x0141, 0 } },
};

FIXTURE_VARIANT_ADD(model, gracemont)
{
	.file = "gracemont",
	.qemu_cpu = "Skylake-Client,family=6,model=151,stepping=2,"
		"model-id=12th Gen Intel(R) Core(TM) i9-12900K,level=0x1a,-hypervisor,-x2apic",
	.tsc_hz = 3200000000, .ratio = { 1, 1 }, .width = 5, .memory = 321,
	.core = { 256, 16, 50, 2, 32, { 64, 16, 8 } },
	.level = { { 32 << 10, 8, 64, 3, 1, SIM_NEITHER, false },
		   { 2 << 20, 16, 64, 20, 4, SIM_NEITHER, false },
		   { 30 << 20, 12, 64, 60, 0, SIM_NEITHER, false } },
	.array = { { 1, 7, 48, 48, 0 }, { 2, 3, 2048, 4, 8 }, { 2, 4, 8, 8, 8 } },
	.walk_read = 8, .upper = { 32, 4, 2 },
	.instruction = { 0x122, 0x01c0003f, 127 },
	.leaf_a = { 0x07300605, 0x68, 0x7, 0x8603 }, .core_type = 0x20000001,
	.full_width = true,
	.plain = 0x1a4, .plain_mask = 0x2d, .plain_sharers = 4,
	.unit = { { 0, SIM_PREFETCH_STREAM, 2, 2, 2, 20, 32 },
		  { 2, SIM_PREFETCH_NEXT_LINE, 1, 1, 1, 1, 0 },
		  { 3, SIM_PREFETCH_IP_STRIDE, 1, 2, 1, 1, 24 },
		  { 5, SIM_PREFETCH_MULTIPATH, 2, 2, 2, 1, 32 } },
	.far = { { 0x1321, { 40, SIM_PREFETCH_NEXT_LINE, 2, 0, 1, 1, 0 } } },
	.event = { { 0x08d1, 117 }, { 0x10d1, 107 }, { 0x02d1, 10 }, { 0x04d1, 7 },
		   { 0x80d1, 100 }, { 0x20d2, 100 } },
};

FIXTURE_VARIANT_ADD(model, crestmont)
{
	.file = "crestmont",
	.qemu_cpu = "Skylake-Client,family=6,model=170,stepping=4,"
		"model-id=Intel(R) Core(TM) Ultra 7 155H,level=0x1a,-hypervisor,-x2apic",
	.tsc_hz = 2995200000, .ratio = { 1, 1 }, .width = 6, .memory = 333,
	.core = { 256, 16, 50, 2, 32, { 64, 16, 8 } },
	.level = { { 32 << 10, 8, 64, 3, 1, SIM_NEITHER, false },
		   { 2 << 20, 16, 64, 20, 4, SIM_NEITHER, false },
		   { 24 << 20, 12, 64, 57, 0, SIM_NEITHER, false } },
	.array = { { 1, 7, 48, 48, 0 }, { 2, 3, 3072, 6, 9 }, { 2, 4, 8, 8, 9 } },
	.walk_read = 8, .upper = { 32, 4, 2 },
	.instruction = { 0x122, 0x01c0003f, 127 },
	.leaf_a = { 0x07300805, 0x68, 0x7, 0x8603 }, .core_type = 0x20000001,
	.full_width = true,
	.plain = 0x1a4, .plain_mask = 0x1ff, .plain_sharers = 4,
	.unit = { { 0, SIM_PREFETCH_STREAM, 2, 2, 2, 20, 32 },
		  { 1, SIM_PREFETCH_ADJACENT, 2, 2, 1, 1, 0 },
		  { 2, SIM_PREFETCH_NEXT_LINE, 1, 1, 1, 1, 0 },
		  { 3, SIM_PREFETCH_IP_STRIDE, 1, 2, 1, 1, 24 },
		  { 4, SIM_PREFETCH_NEXT_PAGE, 1, 0, 1, 4, 0 },
		  { 5, SIM_PREFETCH_MULTIPATH, 2, 2, 2, 1, 32 },
		  { 6, SIM_PREFETCH_NEXT_PAGE, 3, 0, 64, 8, 0 },
		  { 7, SIM_PREFETCH_POINTERS, 1, 2, 1, 1, 64 } },
	.far = { { 0x1320, { 43, SIM_PREFETCH_STREAM, 3, 3, 2, 16, 32 } },
		 { 0x1321, { 40, SIM_PREFETCH_NEXT_LINE, 2, 0, 1, 1, 0 } } },
	.event = { { 0x40d1, 117 }, { 0x80d1, 107 }, { 0x02d1, 10 }, { 0x1cd1, 7 },
		   { 0x02d4, 100 } },
};

FIXTURE_VARIANT_ADD(model, no_pmu)
{
	.file = "negative/no-pmu",
	.qemu_cpu = NEGATIVE_CPU("Virtual CPU without PMU", ""),
	NEGATIVE_LEVELS,
	.word = { { 0x186, SIM_MSR_HANDLED, 0 }, { 0x38f, SIM_MSR_HANDLED, 0 } },
};

FIXTURE_VARIANT_ADD(model, pmu_v1)
{
	.file = "negative/pmu-v1",
	.qemu_cpu = NEGATIVE_CPU("CPU with PMU version 1", ",-hypervisor"),
	NEGATIVE_LEVELS, NEGATIVE_PREFETCH, NEGATIVE_EVENTS,
	.leaf_a = { 0x07280201, 0x68, 0, 0 },
	.word = { { 0x38f, SIM_MSR_GP, 0 } },
};

FIXTURE_VARIANT_ADD(model, counter_zero)
{
	.file = "negative/counter-zero",
	.qemu_cpu = NEGATIVE_CPU("CPU with a dead counter", ",-hypervisor"),
	NEGATIVE_LEVELS, NEGATIVE_PREFETCH, NEGATIVE_EVENTS, NEGATIVE_V4,
	.word = { { 0xc4, SIM_MSR_HANDLED, 7 }, { 0xc3, SIM_MSR_HANDLED, 0 } },
};

FIXTURE_VARIANT_ADD(model, counter_held)
{
	.file = "negative/counter-held",
	.qemu_cpu = NEGATIVE_CPU("CPU with a held counter", ",-hypervisor"),
	NEGATIVE_LEVELS, NEGATIVE_PREFETCH, NEGATIVE_EVENTS, NEGATIVE_V4,
	.word = { { 0x186, SIM_MSR_HANDLED, 0 }, { 0x187, SIM_MSR_HANDLED, 0x43003c },
		  { 0x188, SIM_MSR_HANDLED, 0 } },
};

FIXTURE_VARIANT_ADD(model, counter_wrap)
{
	.file = "negative/counter-wrap",
	.qemu_cpu = NEGATIVE_CPU("CPU with short counters", ",-hypervisor"),
	NEGATIVE_LEVELS, NEGATIVE_PREFETCH, NEGATIVE_EVENTS,
	.leaf_a = { 0x07180404, 0x68, 0, 0x303 }, .full_width = true, .anythread = true,
	.word = { { 0xc1, SIM_MSR_HANDLED, 0xfff000 }, { 0x309, SIM_MSR_HANDLED, 0xfff000 } },
};

FIXTURE_VARIANT_ADD(model, partial_pmu)
{
	.file = "negative/partial-pmu",
	.qemu_cpu = NEGATIVE_CPU("Virtual CPU with half a PMU", ""),
	NEGATIVE_LEVELS, NEGATIVE_EVENTS,
	.leaf_a = { 0x07300402, 0x68, 0, 0x600 },
	.word = { { 0xc2, SIM_MSR_HANDLED, 7 }, { 0xc3, SIM_MSR_HANDLED, 0 },
		  { 0xc4, SIM_MSR_HANDLED, 0 }, { 0x309, SIM_MSR_GP, 0 },
		  { 0x1a4, SIM_MSR_GP, 0 } },
};

FIXTURE_VARIANT_ADD(model, prefetch_dropped)
{
	.file = "negative/prefetch-dropped",
	.qemu_cpu = NEGATIVE_CPU("CPU with a deaf prefetch control", ",-hypervisor"),
	NEGATIVE_LEVELS, .plain = 0x1a4, .plain_mask = 0xf, NEGATIVE_UNITS, .deaf = ~0u,
	NEGATIVE_EVENTS, NEGATIVE_V4,
};

FIXTURE_VARIANT_ADD(model, prefetch_faults)
{
	.file = "negative/prefetch-faults",
	.qemu_cpu = NEGATIVE_CPU("CPU without a prefetch control", ",-hypervisor"),
	NEGATIVE_LEVELS, .plain = 0x1a4, .plain_mask = 0, NEGATIVE_UNITS, .deaf = ~0u,
	NEGATIVE_EVENTS, NEGATIVE_V4,
	.word = { { 0x1a4, SIM_MSR_GP, 0 } },
};

FIXTURE_VARIANT_ADD(model, prefetch_one_cpu)
{
	.file = "negative/prefetch-one-cpu",
	.qemu_cpu = NEGATIVE_CPU("CPU with one deaf prefetch control", ",-hypervisor"),
	NEGATIVE_LEVELS, NEGATIVE_PREFETCH, NEGATIVE_UNITS, .deaf = 1 << 1,
	NEGATIVE_EVENTS, NEGATIVE_V4,
};

FIXTURE_VARIANT_ADD(model, prefetch_reserved)
{
	.file = "negative/prefetch-reserved",
	.qemu_cpu = NEGATIVE_CPU("CPU with half a prefetch control", ",-hypervisor"),
	NEGATIVE_LEVELS, .plain = 0x1a4, .plain_mask = 0x5,
	.unit = { { 0, SIM_PREFETCH_STREAM, 2, 2, 2, 20, 32 },
		  { 2, SIM_PREFETCH_NEXT_LINE, 1, 1, 1, 1, 0 } },
	NEGATIVE_EVENTS, NEGATIVE_V4,
};

FIXTURE_VARIANT_ADD(model, scripted)
{
	.file = "negative/scripted",
	.qemu_cpu = NEGATIVE_CPU("CPU with interruptions", ",-hypervisor"),
	NEGATIVE_LEVELS, NEGATIVE_PREFETCH, NEGATIVE_EVENTS, NEGATIVE_V4,
	.smi_window = 2, .smi = 1, .smi_cycles = 50000,
	.step_window = 4, .aperf = 1000000, .mperf = 500000,
};

FIXTURE_VARIANT_ADD(model, nmi)
{
	.file = "negative/nmi",
	.qemu_cpu = NEGATIVE_CPU("CPU with an NMI", ",-hypervisor"),
	NEGATIVE_LEVELS, NEGATIVE_PREFETCH, NEGATIVE_EVENTS, NEGATIVE_V4,
	.nmi_window = 3, .nmi_loads = 16,
};

FIXTURE_VARIANT_ADD(model, noisy)
{
	.file = "negative/noisy",
	.qemu_cpu = NEGATIVE_CPU("CPU with a neighbour", ",-hypervisor"),
	NEGATIVE_LEVELS, NEGATIVE_PREFETCH, NEGATIVE_EVENTS, NEGATIVE_V4,
	.noise_cycles = 479496, .noise_lines = 15975,
	.limited_core = 1, .limited_mask = 0xf,
};

#define load(cpu, addr)	sim_mem_access(cpu, (cpu)->insns + 1, addr, addr, 1, SIM_LOAD)
#define source_count(s)	(self->cpu->raw[RAW_LOAD + (s)])

/*
 * How much a level keeps from what is outside it, walked from end to end. To an exclusive level,
 * those inside it add only whole rounds over its sets: of the last lines used, which they hold,
 * each of its sets must have as many at any time.
 */
static uint64_t reach(const struct level *level, unsigned int n)
{
	const uint64_t round = level[n].size / level[n].ways;

	if (level[n].inclusion != SIM_EXCLUSIVE)
		return level[n].size;
	return level[n].size + reach(level, n - 1) / round * round;
}

static uint64_t beyond(const struct sim_cpu *cpu, unsigned int level)
{
	uint64_t sum = 0;
	unsigned int s;

	for (s = level + 1; s < SIM_SOURCES; s++)
		sum += cpu->raw[RAW_LOAD + s];
	return sum;
}

/* Loads of a second lap that went past a level. */
static uint64_t second_lap(struct sim_cpu *cpu, uint64_t bytes, uint64_t step, unsigned int level)
{
	uint64_t before = 0, addr;
	unsigned int lap;

	for (lap = 0; lap < 2; lap++) {
		before = beyond(cpu, level);
		for (addr = 0; addr < bytes; addr += step)
			load(cpu, addr);
	}
	return beyond(cpu, level) - before;
}

TEST_F(model, identity)
{
	EXPECT_STREQ(variant->qemu_cpu, sim_model_qemu_cpu(self->model));
	EXPECT_EQ(variant->tsc_hz, sim_model_tsc_hz(self->model));
}

TEST_F(model, size)
{
	unsigned int n;

	for (n = 0; n < LEVELS; n++) {
		const uint64_t bytes = reach(variant->level, n);
		const unsigned int line = variant->level[n].line;

		sim_writeback_all(self->cpu, self->cpu->insns);
		EXPECT_EQ(0, second_lap(self->cpu, bytes, line, n)) TH_LOG("level %u", n + 1);
		EXPECT_LT(0, second_lap(self->cpu, bytes + line, line, n))
			TH_LOG("level %u", n + 1);
	}
}

/* Fill the set of address 0 in a level with other lines, none of which is in that set of @but. */
static void fill_set(struct sim_cpu *cpu, const struct level *l, const struct level *but)
{
	const uint64_t way = l->size / l->ways, spared = but->size / but->ways;
	unsigned int left;
	uint64_t at = 0;

	for (left = l->ways + 1; left; left--) {
		do
			at += way;
		while (at % spared == 0);
		load(cpu, at);
	}
}

/*
 * Addresses a way apart share a set. After so many of them, and with the levels inside emptied of
 * them, a level still has as many as it has ways.
 */
static uint64_t lost(struct sim_cpu *cpu, const struct level *level, unsigned int n,
		     unsigned int lines)
{
	const uint64_t way = level[n].size / level[n].ways;
	unsigned int i, inner;
	uint64_t before;

	sim_writeback_all(cpu, cpu->insns);
	for (i = 0; i < lines; i++)
		load(cpu, i * way);
	for (inner = 0; inner < n; inner++)
		fill_set(cpu, &level[inner], &level[n]);
	before = beyond(cpu, n);
	for (i = 0; i < lines; i++)
		load(cpu, i * way);
	return beyond(cpu, n) - before;
}

TEST_F(model, ways)
{
	unsigned int n;

	for (n = 0; n < LEVELS; n++) {
		const unsigned int ways = variant->level[n].ways;

		EXPECT_EQ(0, lost(self->cpu, variant->level, n, ways)) TH_LOG("level %u", n + 1);
		EXPECT_LT(0, lost(self->cpu, variant->level, n, ways + 1))
			TH_LOG("level %u", n + 1);
	}
}

TEST_F(model, line)
{
	load(self->cpu, 1 << 20);
	load(self->cpu, (1 << 20) + variant->level[0].line - 1);
	EXPECT_EQ(1, source_count(0));
	load(self->cpu, (1 << 20) + variant->level[0].line);
	EXPECT_EQ(1, source_count(0));
}

/* An LRU set misses on every load of one line too many; a tree keeps some. */
TEST_F(model, replacement)
{
	const struct level *l = variant->level;
	const uint64_t way = l->size / l->ways;
	const uint64_t misses = second_lap(self->cpu, (l->ways + 1) * way, way, 0);

	EXPECT_EQ(l->tree, misses < l->ways + 1);
}

/*
 * A line kept in level 1 by using it, while its set of level n is filled with others: if that
 * level is inclusive the line is lost. What another core finds in the shared last level tells
 * whether a line that was fetched is in there, or only in the levels of the core that fetched it.
 */
TEST_F(model, inclusion)
{
	/* that shares the last level alone */
	struct sim_cpu *other = sim_cpu_new(self->machine, variant->level[1].sharers);
	unsigned int n, i;
	uint64_t hits = 0;

	for (n = 1; n < LEVELS; n++) {
		const struct level *l = &variant->level[n];

		if (l->inclusion == SIM_EXCLUSIVE)
			continue;
		sim_writeback_all(self->cpu, self->cpu->insns);
		load(self->cpu, 0);
		for (i = 1; i <= l->ways; i++) {
			hits = source_count(0);
			load(self->cpu, i * (l->size / l->ways));
			load(self->cpu, 0);
		}
		EXPECT_EQ(l->inclusion == SIM_NEITHER, source_count(0) > hits)
			TH_LOG("level %u", n + 1);
	}
	load(self->cpu, 1 << 30);
	load(other, 1 << 30);
	EXPECT_EQ(variant->level[LEVELS - 1].inclusion != SIM_EXCLUSIVE,
		  other->raw[RAW_LOAD + LEVELS - 1]);
}

/* Each lap takes, for each load, exactly the latency of what served it. */
TEST_F(model, latency)
{
	uint64_t before[SIM_SOURCES], expected, bytes, tsc, addr;
	const unsigned int line = variant->level[0].line;
	unsigned int n, lap;

	for (n = 0; n <= LEVELS; n++) {
		bytes = n ? 2 * reach(variant->level, n - 1) : variant->level[0].size;
		for (lap = 0; lap < 2; lap++) {
			tsc = sim_tsc(self->cpu);
			memcpy(before, self->cpu->raw + RAW_LOAD, sizeof(before));
			/* a multiple of the TSC's step, so that no part of one is left */
			for (addr = 0; addr < bytes / line / 6 * 6 * line; addr += line)
				load(self->cpu, addr);
		}
		expected = 0;
		for (lap = 0; lap < LEVELS; lap++)
			expected += (source_count(lap) - before[lap]) *
				    variant->level[lap].latency;
		expected += (source_count(SIM_SOURCE_MEM) - before[SIM_SOURCE_MEM]) *
			    variant->memory;
		EXPECT_LT(before[n < LEVELS ? n : SIM_SOURCE_MEM],
			  source_count(n < LEVELS ? n : SIM_SOURCE_MEM));
		EXPECT_EQ((expected * variant->ratio[1] + variant->ratio[0] - 1) /
			  variant->ratio[0], sim_tsc(self->cpu) - tsc) TH_LOG("level %u", n + 1);
	}
}

/* Cycles by APERF, so that the TSC's ratio plays no part; then the ratio. */
TEST_F(model, clocks)
{
	uint64_t cycles, ref;

	sim_cpu_instructions(self->cpu, 48 * variant->width);
	sim_msr_read(self->cpu, 0xe8, &cycles);
	sim_msr_read(self->cpu, 0xe7, &ref);
	EXPECT_EQ(48, cycles);
	EXPECT_EQ(48 * variant->ratio[1] / variant->ratio[0], ref);
}

/*
 * Time, in core cycles, of instructions given by what they do: 'L' a load from a new line that is
 * in no cache, 'l' one from a line in level 1, 'S' and 's' a store likewise, '-' neither, 'c' the
 * reading of a clock. None waits for a register.
 */
static uint64_t cycles_of(struct sim_cpu *cpu, const char *what, unsigned int count)
{
	struct sim_micro micro[2048];
	uint64_t start, at = cpu->time.serial << 20, insns;
	unsigned int i;

	/* all that earlier ones still wait for is there by then */
	sim_cpu_instructions(cpu, cpu->insns + 100000);
	sim_time_settle(cpu);
	load(cpu, 64);
	sim_time_settle(cpu);
	start = cpu->time.now;
	for (i = 0; i < count; i++) {
		micro[i] = (struct sim_micro)SIM_MICRO_NONE;
		if (what[i] == 'c')
			micro[i].kind = SIM_MICRO_CLOCK;
	}
	insns = cpu->insns;
	sim_block_enter(cpu, insns, micro, count);
	for (i = 0; i < count; i++) {
		const bool miss = what[i] == 'L' || what[i] == 'S';
		const uint64_t addr = miss ? at += 4096 : 64;

		sim_cpu_instructions(cpu, ++insns);
		if (what[i] == 'L' || what[i] == 'l')
			sim_mem_access(cpu, insns, addr, addr, 1, SIM_LOAD);
		if (what[i] == 'S' || what[i] == 's')
			sim_mem_access(cpu, insns, addr, addr, 1, SIM_STORE);
	}
	sim_time_settle(cpu);
	return cpu->time.now - start;
}

/* The same of a number of one kind behind, and in front of, one of another kind. */
static uint64_t cycles_between(struct sim_cpu *cpu, char first, char many, unsigned int count,
			       char last)
{
	char what[2048];

	memset(what, many, sizeof(what));
	what[0] = first;
	what[count + 1] = last;
	return cycles_of(cpu, what, count + 2);
}

/* A second load from memory runs beside the first one if it is in the reorder buffer with it. */
TEST_F(model, reorder_buffer)
{
	const unsigned int between = variant->core.rob - 2;

	EXPECT_GT(variant->memory * 3 / 2, cycles_between(self->cpu, 'L', '-', between, 'L'));
	EXPECT_LT(variant->memory * 2, cycles_between(self->cpu, 'L', '-', between + 1, 'L') + 1);
}

/* One load too many for the fill buffers waits for the first one to complete. */
TEST_F(model, fill_buffers)
{
	const unsigned int n = variant->core.fill_buffers;

	EXPECT_GT(variant->memory * 3 / 2,
		  cycles_between(self->cpu, 'L', 'L', n - 2, 'L') -
		  n * variant->level[0].line / (variant->core.bandwidth[LEVELS - 1] ?: 1u << 20));
	EXPECT_LT(variant->memory * 2, cycles_between(self->cpu, 'L', 'L', n - 1, 'L') + 1);
}

/* Stores leave in order: while the first one waits for its line, one too many finds no room. */
TEST_F(model, store_buffer)
{
	const unsigned int n = variant->core.store_buffer;

	EXPECT_GT(variant->memory, cycles_between(self->cpu, 'S', 's', n - 2, 's'));
	EXPECT_LE(variant->memory, cycles_between(self->cpu, 'S', 's', n - 1, 's'));
}

/* 720 is a whole number of cycles for any number of ports; an instruction's result comes last. */
TEST_F(model, load_ports)
{
	EXPECT_EQ(720 / variant->core.load_ports + variant->level[0].latency,
		  cycles_between(self->cpu, 'l', 'l', 720 - 2, 'l'));
}

TEST_F(model, reading_a_clock)
{
	EXPECT_EQ(variant->core.clock, cycles_of(self->cpu, "c", 1));
}

/* Cycles until the last of so many lines is there that come without a fill buffer, all at once. */
static uint64_t last_arrival(struct sim_cpu *cpu, unsigned int source, unsigned int lines)
{
	struct sim_answer answer = { .source = source };

	sim_cpu_instructions(cpu, cpu->insns + 100000);
	sim_time_settle(cpu);
	sim_cpu_instructions(cpu, cpu->insns + 1);
	for (; answer.line < lines; answer.line++)
		sim_time_prefetch(cpu, &answer, false);
	return cpu->time.arriving - cpu->time.now;
}

TEST_F(model, bandwidth)
{
	const unsigned int line = variant->level[0].line;
	unsigned int n, bytes, source;
	uint64_t more;

	for (n = 1; n <= LEVELS; n++) {
		source = n < LEVELS ? n : SIM_SOURCE_MEM;
		bytes = variant->core.bandwidth[n - 1];
		more = last_arrival(self->cpu, source, 36 + 1) - last_arrival(self->cpu, source, 1);
		if (!bytes)
			bytes = 1u << 20;
		/* both begin and end within a cycle */
		EXPECT_LT(36 * line, (more + 1) * bytes) TH_LOG("source %u", n);
		EXPECT_GT(36 * line, ((int64_t)more - 1) * bytes) TH_LOG("source %u", n);
	}
}

/* Which vCPUs find in the last level what the first one has left there; none does farther in. */
TEST_F(model, sharing)
{
	const struct level *l = variant->level;
	unsigned int sharers = 0, cpu, i;

	for (cpu = 1; cpu < CPUS; cpu++) {
		struct sim_cpu *other = sim_cpu_new(self->machine, cpu);

		for (i = 0; i <= l[1].ways; i++)
			load(self->cpu, ((uint64_t)cpu << 28) + i * (l[1].size / l[1].ways));
		load(other, (uint64_t)cpu << 28);
		EXPECT_EQ(0, other->raw[RAW_LOAD] + other->raw[RAW_LOAD + 1]);
		sharers += other->raw[RAW_LOAD + 2];
	}
	EXPECT_EQ(l[2].sharers ? l[2].sharers : CPUS, sharers + 1);
}

/* Which ones find in level 2 what the first one has just brought there. */
TEST_F(model, sharing_of_level_2)
{
	unsigned int sharers = 1, cpu;

	for (cpu = 1; cpu < CPUS; cpu++) {
		struct sim_cpu *other = sim_cpu_new(self->machine, cpu);

		load(self->cpu, (uint64_t)cpu << 28);
		load(other, (uint64_t)cpu << 28);
		sharers += other->raw[RAW_LOAD + 1];
	}
	EXPECT_EQ(variant->level[1].sharers, sharers);
}

TEST_F(model, cpuid)
{
	uint32_t regs[4] = { 0 };

	if (variant->amd) {
		sim_cpuid(self->cpu, 0x80000001, 0, regs);
		EXPECT_EQ(variant->extcore, regs[2] >> 23 & 1);
		sim_cpuid(self->cpu, 0x80000022, 0, regs);
		EXPECT_EQ(variant->v2, regs[0]);
		EXPECT_EQ(variant->v2 ? 6 : 0, regs[1]);
	} else {
		sim_cpuid(self->cpu, 0xa, 0, regs);
		EXPECT_EQ(0, memcmp(variant->leaf_a, regs, sizeof(regs)));
		sim_cpuid(self->cpu, 0x1a, 0, regs);
		EXPECT_EQ(variant->core_type, regs[0]);
	}
	memset(regs, 0, sizeof(regs));
	sim_cpuid(self->cpu, variant->amd ? 0x8000001d : 4, 0, regs);
	EXPECT_EQ(variant->level[0].ways - 1, regs[1] >> 22);
	if (!variant->instruction[0])
		return;
	sim_cpuid(self->cpu, variant->amd ? 0x8000001d : 4, 1, regs);
	EXPECT_EQ(variant->instruction[0], regs[0]);
	EXPECT_EQ(variant->instruction[1], regs[1]);
	EXPECT_EQ(variant->instruction[2], regs[2]);
}

/* 1000 loops of 1000 loads, and what the seed makes of them: first seen, then kept. */
TEST_F(model, noise)
{
	const struct sim_cache *last = self->cpu->mem.path[LEVELS - 1];
	unsigned int loop, i, lines = 0;
	uint64_t more = 0, start;

	self->cpu->noise.model = &self->model->noise;
	load(self->cpu, 64);
	for (loop = 0; loop < 1000; loop++) {
		start = sim_tsc(self->cpu);
		for (i = 0; i < 1000; i++)
			load(self->cpu, 64);
		more += sim_tsc(self->cpu) - start;
	}
	for (i = 0; i < last->sets * last->stride; i++)
		lines += last->entry[i] != SIM_ENTRY_EMPTY;
	if (!variant->noise_cycles) {
		EXPECT_EQ(last->inclusion != SIM_EXCLUSIVE, lines);
		return;
	}
	EXPECT_EQ(variant->noise_cycles, more - 1000 * 1000 * variant->level[0].latency);
	EXPECT_EQ(variant->noise_lines, lines);
}

/* The ways that a core fills of a set: those that the model allows it, else all. */
static uint64_t filled_ways(struct sim_cpu *cpu, const struct level *l, unsigned int n)
{
	const struct sim_cache *c = cpu->mem.path[n];
	uint64_t filled = 0;
	unsigned int way, i;

	sim_writeback_all(cpu, cpu->insns);
	for (i = 0; i < 4 * l->ways; i++)
		load(cpu, i * (l->size / l->ways));
	for (way = 0; way < l->ways; way++)
		if (sim_cache_entries(c, 0)[way] != SIM_ENTRY_EMPTY)
			filled |= 1ull << way;
	return filled;
}

TEST_F(model, allocation)
{
	const uint64_t all = (1ull << variant->level[LEVELS - 1].ways) - 1;
	unsigned int core;

	for (core = 0; core < 3; core++)
		EXPECT_EQ(variant->limited_mask && core == variant->limited_core ?
			  variant->limited_mask : all,
			  filled_ways(sim_cpu_new(self->machine, core),
				      &variant->level[LEVELS - 1], LEVELS - 1)) {
			TH_LOG("core %u", core);
		}
}

/* Bits that a register lets be written. */
static uint64_t bits_of(struct sim_cpu *cpu, uint32_t msr)
{
	uint64_t mask = 0;
	unsigned int bit;

	for (bit = 0; bit < 64; bit++)
		if (sim_msr_write(cpu, msr, 1ull << bit) == SIM_MSR_HANDLED)
			mask |= 1ull << bit;
	return mask;
}

/* Which registers there are, by touching them. */
TEST_F(model, registers)
{
	const bool pmu = variant->leaf_a[0];
	const uint64_t kept = variant->plain_mask ? prefetchers(variant) : 0;
	uint64_t value;
	unsigned int cpu;

	if (pmu) {
		EXPECT_EQ(variant->full_width ? SIM_MSR_HANDLED : SIM_MSR_GP,
			  sim_msr_read(self->cpu, 0x4c1, &value));
		EXPECT_EQ(variant->anythread ? SIM_MSR_HANDLED : SIM_MSR_GP,
			  sim_msr_write(self->cpu, 0x186, 1 << 21));
	}
	if (!variant->plain)
		return;
	EXPECT_EQ(variant->plain_mask, bits_of(self->cpu, variant->plain));
	/* a register of each core or of several, which may be deaf on some */
	for (cpu = 0; cpu < 3; cpu++) {
		sim_msr_write(sim_cpu_new(self->machine, cpu), variant->plain, 1);
		sim_msr_read(sim_cpu_new(self->machine, cpu), variant->plain, &value);
		EXPECT_EQ(variant->deaf >> cpu & 1 ? kept : 1, value) TH_LOG("CPU %u", cpu);
	}
	for (; cpu < 6; cpu++) {
		sim_msr_read(sim_cpu_new(self->machine, cpu), variant->plain, &value);
		EXPECT_EQ(cpu < variant->plain_sharers ? 1 : kept, value) TH_LOG("CPU %u", cpu);
	}
}

/* The one switch of each other register, which shows all its bits. */
TEST_F(model, far_registers)
{
	const unsigned int lines = PAGE / variant->level[0].line, line = variant->level[0].line;
	const struct far *far;
	uint64_t value;

	for (far = variant->far; far < variant->far + FARS && far->msr; far++) {
		const struct unit *u = &far->unit;

		sim_writeback_all(self->cpu, self->cpu->insns);
		memset(self->cpu->raw, 0, sizeof(self->cpu->raw));
		walk_lines(self->cpu, 1 << 20, lines, line);
		EXPECT_EQ(0, walk_fetched(self->cpu));
		EXPECT_EQ(1ull << u->bit, bits_of(self->cpu, far->msr));
		sim_writeback_all(self->cpu, self->cpu->insns);
		sim_msr_write(self->cpu, far->msr, 0);
		walk_lines(self->cpu, 1 << 20, lines, line);
		EXPECT_EQ(walk_expected(u, lines, lines), walk_fetched(self->cpu));
		EXPECT_EQ(lines + u->train + 1, walk_misses(self->cpu, u->level));
		/* shared as the first register is */
		sim_msr_read(sim_cpu_new(self->machine, variant->plain_sharers - 1), far->msr,
			     &value);
		EXPECT_EQ(0, value);
		sim_msr_read(sim_cpu_new(self->machine, variant->plain_sharers), far->msr, &value);
		EXPECT_EQ(1ull << u->bit, value);
		sim_msr_write(self->cpu, far->msr, 1ull << u->bit);
	}
}

/*
 * Page tables of which all entries of a depth lead to the same table below, so that the place of a
 * page within the last table tells its frame. Leaves stand at one depth, in frames out of order, or
 * in order if they are to be neighbours.
 */
static unsigned int leaf_size;
static bool neighbours;

static uint64_t page_bytes(unsigned int size)
{
	return 1ull << (12 + 9 * size);
}

/* Within the memory that the caches can tell apart. */
static uint64_t frame_of(uint64_t place)
{
	const uint64_t number = place * (neighbours ? 1 : 3) % 512;

	return number % (leaf_size == SIM_PAGE_1G ? 32 : 512) * page_bytes(leaf_size);
}

static bool read_tables(void *data, uint64_t paddr, uint64_t *value)
{
	const unsigned int depth = paddr >> 12, place = paddr >> 3 & 511;

	(void)data;
	*value = depth == leaf_size + 1 ? frame_of(place) | 0x81 : ((uint64_t)depth - 1) << 12 | 1;
	return true;
}

/* Cycles that translating the n-th page of a size takes, each time elsewhere in it. */
static uint64_t translate(struct sim_cpu *cpu, unsigned int size, uint64_t n)
{
	static uint64_t piece;
	uint64_t offset;

	leaf_size = size;
	piece += 12345;
	offset = piece * PAGE % page_bytes(size);
	sim_mem_access(cpu, cpu->insns + 1, n * page_bytes(size) + offset,
		       frame_of(n % 512) + offset, 8, SIM_LOAD);
	return cpu->extra;
}

static void fresh_tables(struct sim_cpu *cpu)
{
	static const struct sim_memory memory = { .read_physical = read_tables };

	cpu->mmu.on = true;
	sim_machine_set_memory(cpu->machine, &memory);
	sim_tlb_flush(cpu);
	sim_tlb_tables(cpu, 4 << 12, 4, false);
}

/* Loads that an array did not serve. */
static uint64_t unserved(const struct sim_cpu *cpu, const struct array *a)
{
	return cpu->raw[RAW_WALK_LOAD] + (a->level == 1 ? cpu->raw[RAW_STLB_LOAD] : 0);
}

/*
 * Those of a third lap over n pages of a size, so far apart. For an array of level 2 a level 1 that
 * holds pages of all sizes is filled with others between, by laps too short to leave level 2.
 */
static uint64_t tlb_misses(struct sim_cpu *cpu, const struct array *a, unsigned int size,
			   unsigned int n, unsigned int apart)
{
	const bool fill = a->level == 2 && (apart > 1 || !(a->pages & 1));
	uint64_t before = 0;
	unsigned int lap, i;

	fresh_tables(cpu);
	for (lap = 0; lap < 3; lap++) {
		before = unserved(cpu, a);
		for (i = 0; i < n; i++)
			translate(cpu, size, (uint64_t)i * apart);
		for (i = 1; i <= 110 && fill; i++)
			translate(cpu, SIM_PAGE_4K, (1ull << 33) + i);
	}
	return unserved(cpu, a) - before;
}

/* How many arrays of a level may have a page of a size. */
static unsigned int arrays_of(const struct array *array, unsigned int level, unsigned int size)
{
	const struct array *a;
	unsigned int many = 0;

	for (a = array; a < array + ARRAYS; a++)
		many += a->level == level && a->pages >> size & 1;
	return many;
}

/* As many pages as entries, and as ways in one set, are served; not one more. */
TEST_F(model, tlb_reach)
{
	const struct array *a;
	unsigned int size;

	for (a = variant->array; a < variant->array + ARRAYS && a->level; a++)
		for (size = 0; size < SIM_PAGE_SIZES; size++) {
			const unsigned int many = arrays_of(variant->array, a->level, size);
			const unsigned int sets = a->entries / a->ways;
			const unsigned int apart = sets > 1 ? sets : 2;
			const unsigned int entries = many * a->entries, ways = many * a->ways;

			if (!(a->pages >> size & 1))
				continue;
			EXPECT_EQ(0, tlb_misses(self->cpu, a, size, entries, 1))
				TH_LOG("level %u, size %u", a->level, size);
			EXPECT_LT(0, tlb_misses(self->cpu, a, size, entries + 1, 1))
				TH_LOG("level %u, size %u", a->level, size);
			EXPECT_EQ(0, tlb_misses(self->cpu, a, size, ways, apart))
				TH_LOG("level %u, size %u, one set", a->level, size);
			EXPECT_LT(0, tlb_misses(self->cpu, a, size, ways + 1, apart))
				TH_LOG("level %u, size %u, one set", a->level, size);
		}
}

/* As many groups of neighbouring pages as entries are served; not one more. */
TEST_F(model, tlb_coalescing)
{
	const struct array *a;

	neighbours = true;
	for (a = variant->array; a < variant->array + ARRAYS && a->level; a++) {
		const unsigned int group = a->coalesce ?: 1;
		const unsigned int entries = a->entries *
					     arrays_of(variant->array, a->level, SIM_PAGE_4K);

		if (!(a->pages & 1))
			continue;
		EXPECT_EQ(0, tlb_misses(self->cpu, a, SIM_PAGE_4K, entries * group, 1))
			TH_LOG("level %u", a->level);
		EXPECT_LT(0, tlb_misses(self->cpu, a, SIM_PAGE_4K, (entries + 1) * group, 1))
			TH_LOG("level %u", a->level);
	}
	neighbours = false;
}

static const struct array *array_of(const struct array *array, unsigned int level,
				    unsigned int size)
{
	const struct array *a;

	for (a = array; a < array + ARRAYS; a++)
		if (a->level == level && a->pages >> size & 1)
			return a;
	return NULL;
}

/* What a walk from the top and a second level cost. */
TEST_F(model, tlb_costs)
{
	const struct array *first, *second;
	unsigned int size, i;

	for (size = 0; size < SIM_PAGE_SIZES && variant->array[0].level; size++) {
		first = array_of(variant->array, 1, size);
		second = array_of(variant->array, 2, size);
		fresh_tables(self->cpu);
		EXPECT_EQ((4 - size) * variant->walk_read + (second ? second->penalty : 0),
			  translate(self->cpu, size, 0)) TH_LOG("size %u", size);
		for (i = 1; second && i <= first->entries; i++)
			translate(self->cpu, size, i);
		if (second && second->entries > first->entries)
			EXPECT_EQ(second->penalty, translate(self->cpu, size, 0))
				TH_LOG("size %u", size);
	}
}

/*
 * Walks that begin below a cached entry: over as many entries of an upper table as its cache holds,
 * each time to another page below; with one more, each is read anew.
 */
TEST_F(model, walk_caches)
{
	const struct array *second = array_of(variant->array, 2, SIM_PAGE_4K);
	unsigned int depth, many, lap, i;
	uint64_t cost = 0;

	for (depth = 0; depth < 3 && variant->array[0].level; depth++) {
		const uint64_t step = page_bytes(depth + 1) / PAGE;
		const uint64_t below = page_bytes(depth) / PAGE;

		for (many = variant->upper[depth]; many <= variant->upper[depth] + 1; many++) {
			fresh_tables(self->cpu);
			for (lap = 0; lap < 3; lap++)
				for (i = 0; i < many; i++)
					cost = translate(self->cpu, SIM_PAGE_4K,
							 i * step + lap * below + lap);
			cost -= second ? second->penalty : 0;
			EXPECT_EQ(many == variant->upper[depth],
				  cost == (depth + 1) * variant->walk_read)
				TH_LOG("depth %u, %u entries: %u cycles", depth, many,
				       (unsigned int)cost);
		}
	}
}

/* The prefetchers of the first register, then those of the others; without level: none. */
static const struct unit *unit_of(const FIXTURE_VARIANT(model) *variant, unsigned int n)
{
	return n < UNITS ? &variant->unit[n] : &variant->far[n - UNITS].unit;
}

/* One prefetcher on, all others off, and nothing in the caches. */
static void only(struct sim_cpu *cpu, const FIXTURE_VARIANT(model) *variant,
		 const struct unit *u)
{
	const uint64_t all = prefetchers(variant);
	const struct far *far;

	set_switches(cpu->machine, 0, variant->plain, all);
	for (far = variant->far; far < variant->far + FARS && far->msr; far++)
		set_switches(cpu->machine, 0, far->msr, 1ull << far->unit.bit);
	sim_writeback_all(cpu, cpu->insns);
	memset(cpu->raw, 0, sizeof(cpu->raw));
	for (far = variant->far; far < variant->far + FARS; far++)
		if (u == &far->unit)
			set_switches(cpu->machine, 0, far->msr, 0);
	if (u >= variant->unit && u < variant->unit + UNITS)
		set_switches(cpu->machine, 0, variant->plain, all & ~(1ull << u->bit));
}

/* What each has fetched after walks of several lengths, and in which level it is then found. */
TEST_F(model, prefetch_walks)
{
	const unsigned int line = variant->level[0].line, lines = PAGE / line;
	const unsigned int lengths[] = { 3, 4, 5, 7, 12, 28, lines - 1, lines };
	unsigned int i, n;

	for (n = 0; n < UNITS + FARS; n++) {
		const struct unit *u = unit_of(variant, n);

		for (i = 0; u->level && i < ARRAY_SIZE(lengths); i++) {
			const int64_t expected = walk_expected(u, lengths[i], lines);
			const uint64_t next = (1 << 20) + lengths[i] * line;

			only(self->cpu, variant, u);
			walk_lines(self->cpu, 1 << 20, lengths[i], line);
			EXPECT_EQ(expected, walk_fetched(self->cpu))
				TH_LOG("bit %u, %u lines", u->bit, lengths[i]);
			/* of a pair the other one has been fetched */
			if (expected && lengths[i] < lines && u->kind != SIM_PREFETCH_NEXT_PAGE &&
			    (u->kind != SIM_PREFETCH_ADJACENT || lengths[i] % 2))
				EXPECT_EQ(u->level - 1, walk_source(self->cpu, next))
					TH_LOG("bit %u, %u lines", u->bit, lengths[i]);
		}
	}
	only(self->cpu, variant, NULL);
	walk_lines(self->cpu, 1 << 20, lines, line);
	EXPECT_EQ(0, walk_fetched(self->cpu));
}

/* Pages or instructions at once: as many as it can follow, and one more. */
TEST_F(model, prefetch_entries)
{
	const unsigned int line = variant->level[0].line;
	unsigned int many, n, at, place;

	for (place = 0; place < UNITS + FARS; place++) {
		const struct unit *u = unit_of(variant, place);

		if (u->kind == SIM_PREFETCH_REGION || u->kind == SIM_PREFETCH_POINTERS)
			continue;
		for (many = u->entries; u->entries && many <= u->entries + 1; many++) {
			only(self->cpu, variant, u);
			for (n = 0; n < 16; n++)
				for (at = 0; at < many; at++)
					walk_load(self->cpu, 0x100 + at,
						  (uint64_t)at * PAGE + line * n);
			EXPECT_EQ(many == u->entries, walk_fetched(self->cpu) > 0)
				TH_LOG("bit %u, %u at once", u->bit, many);
		}
	}
}

/* Not before so many lines of a page's end, and then the lines of the next one. */
TEST_F(model, prefetch_pages)
{
	const unsigned int line = variant->level[0].line, lines = PAGE / line;
	const struct unit *u;

	for (u = variant->unit; u < variant->unit + UNITS && u->level; u++) {
		if (u->kind != SIM_PREFETCH_NEXT_PAGE)
			continue;
		only(self->cpu, variant, u);
		walk_lines(self->cpu, 1 << 20, lines - u->distance, line);
		EXPECT_EQ(0, walk_fetched(self->cpu)) TH_LOG("bit %u", u->bit);
		walk_lines(self->cpu, (1 << 20) + (lines - u->distance) * line, 1, 0);
		EXPECT_EQ(u->degree, walk_fetched(self->cpu)) TH_LOG("bit %u", u->bit);
		EXPECT_EQ(u->level - 1, walk_source(self->cpu, (1 << 20) + PAGE));
		EXPECT_EQ(u->level - 1,
			  walk_source(self->cpu, (1 << 20) + PAGE + (u->degree - 1) * line));
	}
}

/* A word that points to the next one, of a chase that never comes back. */
#define CHASE_STEP	(3 * PAGE + 64)

static bool read_pointer(void *data, unsigned int cpu, uint64_t vaddr, uint64_t *value)
{
	(void)data;
	(void)cpu;
	*value = vaddr + CHASE_STEP;
	return true;
}

static bool find_pointer(void *data, unsigned int cpu, uint64_t vaddr, uint64_t *paddr)
{
	(void)data;
	(void)cpu;
	*paddr = vaddr & 0xffffffff;
	return true;
}

/* Laps of one chase by so many instructions in turn; how many loads a level did not serve. */
static uint64_t chase_misses(struct sim_cpu *cpu, unsigned int level, unsigned int many,
			     unsigned int laps)
{
	static const struct sim_memory memory = { .read = read_pointer,
						  .translate = find_pointer };
	unsigned int i;

	sim_machine_set_memory(cpu->machine, &memory);
	for (i = 0; i < laps * many; i++) {
		const uint64_t addr = (uint64_t)i * CHASE_STEP;

		sim_mem_from(cpu, 0x100 + i % many);
		sim_mem_access(cpu, cpu->insns + 1, addr | 0xffff888000000000, addr, 8, SIM_LOAD);
	}
	return walk_misses(cpu, level);
}

/* The first one, and those before each one's values have been used so often; too many: all. */
TEST_F(model, prefetch_pointers)
{
	const struct unit *u;

	for (u = variant->unit; u < variant->unit + UNITS && u->level; u++) {
		if (u->kind != SIM_PREFETCH_POINTERS)
			continue;
		only(self->cpu, variant, u);
		EXPECT_EQ(u->train + 1, chase_misses(self->cpu, u->level, 1, 32));
		only(self->cpu, variant, u);
		EXPECT_EQ(u->entries * u->train + 1,
			  chase_misses(self->cpu, u->level, u->entries, 8));
		only(self->cpu, variant, u);
		EXPECT_EQ((u->entries + 1) * 8,
			  chase_misses(self->cpu, u->level, u->entries + 1, 8));
		only(self->cpu, variant, NULL);
		EXPECT_EQ(32, chase_misses(self->cpu, u->level, 1, 32));
	}
}

/* Regions that look alike: known once as many have been left as it remembers and must have seen. */
TEST_F(model, prefetch_regions)
{
	const struct unit *u;
	unsigned int page, first;

	for (u = variant->unit; u < variant->unit + UNITS && u->level; u++) {
		if (u->kind != SIM_PREFETCH_REGION)
			continue;
		only(self->cpu, variant, u);
		for (page = 0, first = 0; page < 64 && !first; page++) {
			walk_lines(self->cpu, (uint64_t)page * PAGE, 1, 0);
			first = walk_fetched(self->cpu) ? page : 0;
			if (!first)
				walk_lines(self->cpu, (uint64_t)page * PAGE + 64 * 5, 2, 64 * 5);
		}
		EXPECT_EQ(u->entries + u->train, first);
		EXPECT_EQ(2, walk_fetched(self->cpu));
		EXPECT_EQ(u->level - 1,
			  walk_source(self->cpu, (uint64_t)(page - 1) * PAGE + 64 * 5));
	}
}

TEST_F(model, registers_at_start)
{
	const struct word *w;
	uint64_t value;

	for (w = variant->word; w < variant->word + WORDS && w->msr; w++) {
		/* 7: only what is written can be read */
		if (w->value == 7)
			sim_msr_write(self->cpu, w->msr, 7);
		EXPECT_EQ(w->read, sim_msr_read(self->cpu, w->msr, &value)) {
			TH_LOG("register %x", w->msr);
		}
		EXPECT_EQ(w->value, value) TH_LOG("register %x", w->msr);
	}
	/* and what is always 0 cannot be written */
	for (w = variant->word; w < variant->word + WORDS && w->msr; w++) {
		if (w->read != SIM_MSR_HANDLED || w->value)
			continue;
		if (w->msr == 0x186 || w->msr == 0x188)
			continue;
		sim_msr_write(self->cpu, w->msr, 5);
		sim_msr_read(self->cpu, w->msr, &value);
		EXPECT_EQ(0, value) TH_LOG("register %x", w->msr);
	}
}

/* 100 loads from memory, 10 from L2, 7 from L3, 30 from L1, 5 stores to memory. */
static void traffic(struct sim_cpu *cpu)
{
	uint64_t at = 1 << 20;
	unsigned int i;

	for (i = 0; i < 100; i++, at += 4160)
		load(cpu, at);
	for (i = 0; i < 30; i++)
		load(cpu, at - 4160);
	for (i = 0; i < 17; i++, at += 4160) {
		sim_mem_access(cpu, cpu->insns + 1, at, at, 8,
			       i < 10 ? SIM_PREFETCH_T1 : SIM_PREFETCH_T2);
		load(cpu, at);
	}
	for (i = 0; i < 5; i++, at += 4160)
		sim_mem_access(cpu, cpu->insns + 1, at, at, 8, SIM_STORE);
}

TEST_F(model, events)
{
	const struct event *e;
	uint64_t value, start;

	sim_msr_write(self->cpu, 0xc0000301, 1);
	for (e = variant->event; e < variant->event + EVENTS && e->select; e++) {
		sim_writeback_all(self->cpu, self->cpu->insns);
		sim_msr_write(self->cpu, variant->amd ? 0xc0010200 : 0x186, e->select | 0x420000);
		sim_rdpmc(self->cpu, 0, &start);
		traffic(self->cpu);
		sim_rdpmc(self->cpu, 0, &value);
		EXPECT_EQ(e->count, value - start)
			TH_LOG("select %llx", (unsigned long long)e->select);
	}
}

/* The same small window again and again, seen by SMI count, APERF and MPERF. */
TEST_F(model, scripts)
{
	uint64_t smi, aperf, mperf, smi_end, aperf_end, mperf_end;
	unsigned int n, smi_steps = 0, steps = 0;

	if (!variant->smi)
		return;
	for (n = 0; n < 8; n++) {
		sim_msr_read(self->cpu, 0x34, &smi);
		sim_msr_read(self->cpu, 0xe8, &aperf);
		sim_msr_read(self->cpu, 0xe7, &mperf);
		sim_msr_write(self->cpu, 0x186, 0x42003c);
		load(self->cpu, 0);
		sim_msr_write(self->cpu, 0x186, 0);
		sim_msr_read(self->cpu, 0x34, &smi_end);
		sim_msr_read(self->cpu, 0xe8, &aperf_end);
		sim_msr_read(self->cpu, 0xe7, &mperf_end);
		if (smi_end != smi) {
			EXPECT_EQ(variant->smi_window, n);
			EXPECT_EQ(variant->smi, smi_end - smi);
			EXPECT_EQ(variant->smi_cycles + variant->level[0].latency,
				  aperf_end - aperf);
			smi_steps++;
		} else if (aperf_end - aperf > 1000) {
			EXPECT_EQ(variant->step_window, n);
			EXPECT_EQ(variant->aperf + variant->level[0].latency, aperf_end - aperf);
			EXPECT_EQ(variant->mperf + variant->level[0].latency, mperf_end - mperf);
			steps++;
		}
	}
	EXPECT_EQ(1, smi_steps);
	EXPECT_EQ(1, steps);
}

/* What CPUID says of caches, counters and the core's kind. */
static void describe_cpu(struct sim_cpu *cpu, uint32_t regs[7][4])
{
	static const uint32_t leaves[7][2] = {
		{ 4, 0 }, { 4, 1 }, { 4, 2 }, { 4, 3 }, { 7, 0 }, { 0xa, 0 }, { 0x1a, 0 },
	};
	unsigned int i;

	memset(regs, 0, 7 * sizeof(*regs));
	for (i = 0; i < 7; i++)
		sim_cpuid(cpu, leaves[i][0], leaves[i][1], regs[i]);
}

/* A vCPU of a machine of two kinds of cores is as one of a machine that has its kind alone. */
TEST_F(model, kinds_of_cores)
{
	char path[128], err[256];
	struct sim_model *other;
	struct sim_machine *alone;
	uint32_t regs[7][4], expected[7][4];
	unsigned int cpu;

	if (!variant->others)
		return;
	snprintf(path, sizeof(path), "tools/simcpu/models/%s.cpu", variant->others);
	other = sim_model_load(path, err, sizeof(err));
	ASSERT_NE(NULL, other) TH_LOG("%s", err);
	alone = machine_from(other, CPUS, NULL);
	for (cpu = 0; cpu < CPUS; cpu++) {
		struct sim_cpu *own = sim_cpu_new(self->machine, cpu);
		struct sim_cpu *same = sim_cpu_new(alone, cpu);
		uint64_t start, bits = 0, value;

		describe_cpu(own, regs);
		EXPECT_EQ(cpu < variant->first_other ? 0x40000001 : 0x20000001, regs[6][0])
			TH_LOG("CPU %u", cpu);
		EXPECT_EQ(1, regs[4][3] >> 15 & 1) TH_LOG("CPU %u", cpu);
		if (cpu < variant->first_other)
			continue;
		describe_cpu(same, expected);
		EXPECT_EQ(0, memcmp(expected, regs, sizeof(regs))) TH_LOG("CPU %u", cpu);
		same->mmu.on = false;
		sim_msr_write(same, 0x1a4, 0x2d);
		sim_msr_write(same, 0x1321, 1ull << 40);
		EXPECT_EQ(SIM_MSR_HANDLED, sim_msr_write(own, 0x1a4, 0x2d));
		EXPECT_EQ(SIM_MSR_HANDLED, sim_msr_write(own, 0x1321, 1ull << 40));
		EXPECT_EQ(SIM_MSR_GP, sim_msr_write(own, 0x1a4, 2));
		start = sim_tsc(own) - sim_tsc(same);
		traffic(own);
		traffic(same);
		EXPECT_EQ(start, sim_tsc(own) - sim_tsc(same)) TH_LOG("CPU %u", cpu);
		EXPECT_EQ(0, memcmp(&own->raw[RAW_LOAD], &same->raw[RAW_LOAD],
				    SIM_SOURCES * sizeof(own->raw[0]))) TH_LOG("CPU %u", cpu);
		/* what vCPUs share: modules of four, as in the other machine */
		for (bits = 0, value = 0; value < CPUS; value++)
			bits |= (uint64_t)(sim_cpu_new(self->machine, value)->mem.path[1] ==
					   own->mem.path[1]) << value;
		EXPECT_EQ(0xfull << (cpu & ~3u), bits) TH_LOG("CPU %u", cpu);
		EXPECT_EQ(self->cpu->mem.path[2], own->mem.path[2]);
	}
	EXPECT_NE(SIM_MSR_HANDLED, sim_msr_write(self->cpu, 0x1321, 0));
	sim_machine_free(alone);
	sim_model_free(other);
}

/* Of the windows of so many loads, each ended by a clock, those that ask for an NMI, a bit each. */
static unsigned int nmi_windows(struct sim_cpu *cpu, unsigned int loads)
{
	unsigned int n, i, found = 0;

	for (n = 0; n < 8; n++) {
		sim_msr_write(cpu, 0x186, 0x42003c);
		for (i = 0; i < loads; i++)
			load(cpu, 0);
		sim_tsc(cpu);
		found |= (unsigned int)sim_cpu_take_nmi(cpu) << n;
		sim_msr_write(cpu, 0x186, 0);
		sim_cpu_take_nmi(cpu);
	}
	return found;
}

TEST_F(model, nmis)
{
	const unsigned int window = variant->nmi_window ? 1u << variant->nmi_window : 0;

	if (variant->amd)
		return;
	/* too few loads: not before the window's end */
	EXPECT_EQ(0, nmi_windows(self->cpu, variant->nmi_loads));
	self->cpu->window.number = 0;
	EXPECT_EQ(window, nmi_windows(self->cpu, variant->nmi_loads + 1));
}

TEST_HARNESS_MAIN
