// SPDX-License-Identifier: GPL-2.0-only
/*
 * Intel's architectural performance monitoring, versions 1 to 5. Layouts: Linux
 * arch/x86/include/asm/perf_event.h and msr-index.h; faults: arch/x86/kvm/vmx/pmu_intel.c.
 */
#include "pmu.h"

#define FIXED(i)	(SIM_GP_MAX + (i))

/* GLOBAL_STATUS: 62 DS buffer, 63 CondChgd; version 4: 55 Trace PMI, 58, 59 freezes, 60 ASCI. */
#define STATUS_OTHER	(1ull << 62 | 1ull << 63)
#define STATUS_OTHER_V4	(STATUS_OTHER | 1ull << 55 | 1ull << 58 | 1ull << 59 | 1ull << 60)

/* GLOBAL_CTRL: SDM vol. 3, figure of version 5 */
#define CTRL_METRICS	(1ull << 48)

static bool has_version(const struct sim_model *m, unsigned int version)
{
	return m->pmu.style == SIM_PMU_INTEL && m->pmu.version >= version;
}

static bool has_gp(const struct sim_model *m, unsigned int index)
{
	return m->pmu.style == SIM_PMU_INTEL && index < m->pmu.gp;
}

static bool has_gp_full(const struct sim_model *m, unsigned int index)
{
	return has_gp(m, index) && m->pmu.full_width;
}

static bool has_fixed(const struct sim_model *m, unsigned int index)
{
	return m->pmu.style == SIM_PMU_INTEL && index < m->pmu.fixed;
}

static bool has_v2(const struct sim_model *m, unsigned int index)
{
	(void)index;
	return has_version(m, 2);
}

static bool has_v4(const struct sim_model *m, unsigned int index)
{
	(void)index;
	return has_version(m, 4);
}

static bool is_intel(const struct sim_model *m, unsigned int index)
{
	(void)index;
	return m->cpu.vendor == SIM_INTEL;
}

/* MISC_FEATURE_CONTROL is there only if section [msr] says so, and then this row is not asked. */
static bool never(const struct sim_model *m, unsigned int index)
{
	(void)m;
	(void)index;
	return false;
}

static uint64_t counters(const struct sim_model *m)
{
	return ((1ull << m->pmu.gp) - 1) | ((1ull << m->pmu.fixed) - 1) << 32;
}

static uint64_t status_bits(const struct sim_model *m)
{
	return counters(m) | (m->pmu.version >= 4 ? STATUS_OTHER_V4 : STATUS_OTHER);
}

static uint64_t read_select(struct sim_cpu *cpu, unsigned int index)
{
	return cpu->pmu.select[index];
}

static bool write_select(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	const struct sim_model *m = cpu->model;
	const uint64_t reserved = ~0xffffffffull | (m->pmu.anythread ? 0 : SIM_SELECT_ANY);

	if (value & reserved)
		return false;
	cpu->pmu.select[index] = value;
	sim_pmu_changed(cpu);
	return true;
}

static uint64_t read_counter(struct sim_cpu *cpu, unsigned int index)
{
	return sim_counter_get(cpu, index);
}

/* 32 bits are taken and sign-extended to the counter's width (SDM, full-width writes). */
static bool write_counter(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	sim_counter_set(cpu, index, (uint64_t)(int64_t)(int32_t)value);
	return true;
}

static bool write_full(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	if (value & ~sim_pmu_mask(cpu->model))
		return false;
	sim_counter_set(cpu, index, value);
	return true;
}

static uint64_t read_fixed(struct sim_cpu *cpu, unsigned int index)
{
	return sim_counter_get(cpu, FIXED(index));
}

static bool write_fixed(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	return write_full(cpu, FIXED(index), value);
}

static uint64_t read_fixed_ctrl(struct sim_cpu *cpu, unsigned int index)
{
	(void)index;
	return cpu->pmu.fixed_ctrl;
}

/* Four bits a counter: ring 0, ring 3, any thread, PMI. */
static bool write_fixed_ctrl(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	const struct sim_model *m = cpu->model;
	uint64_t valid = 0;
	unsigned int i;

	(void)index;
	for (i = 0; i < m->pmu.fixed; i++)
		valid |= (m->pmu.anythread ? 0xfull : 0xbull) << 4 * i;
	if (value & ~valid)
		return false;
	cpu->pmu.fixed_ctrl = value;
	sim_pmu_changed(cpu);
	return true;
}

static uint64_t read_status(struct sim_cpu *cpu, unsigned int index)
{
	(void)index;
	sim_pmu_collect(cpu);
	return cpu->pmu.global_status;
}

/* Where the slots counter is, so is the enable bit of PERF_METRICS, which Linux sets unasked. */
static uint64_t ctrl_bits(const struct sim_model *m)
{
	return counters(m) | (m->pmu.fixed >= 4 ? CTRL_METRICS : 0);
}

static uint64_t read_ctrl(struct sim_cpu *cpu, unsigned int index)
{
	(void)index;
	return cpu->pmu.global_ctrl;
}

static bool write_ctrl(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	(void)index;
	if (value & ~ctrl_bits(cpu->model))
		return false;
	cpu->pmu.global_ctrl = value;
	sim_pmu_changed(cpu);
	return true;
}

static uint64_t read_zero(struct sim_cpu *cpu, unsigned int index)
{
	(void)cpu;
	(void)index;
	return 0;
}

static bool write_clear(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	(void)index;
	if (value & ~status_bits(cpu->model))
		return false;
	sim_pmu_collect(cpu);
	cpu->pmu.global_status &= ~value;
	return true;
}

static bool write_set(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	(void)index;
	if (value & ~status_bits(cpu->model))
		return false;
	sim_pmu_collect(cpu);
	cpu->pmu.global_status |= value;
	return true;
}

/* GLOBAL_INUSE: who has programmed what; bit 63 if any counter asks for a PMI (SDM 18.2.4). */
static uint64_t read_inuse(struct sim_cpu *cpu, unsigned int index)
{
	const struct sim_model *m = cpu->model;
	uint64_t inuse = 0;
	unsigned int i;

	(void)index;
	for (i = 0; i < m->pmu.gp; i++) {
		inuse |= cpu->pmu.select[i] & 0xff ? 1ull << i : 0;
		inuse |= cpu->pmu.select[i] & SIM_SELECT_INT ? 1ull << 63 : 0;
	}
	for (i = 0; i < m->pmu.fixed; i++) {
		inuse |= cpu->pmu.fixed_ctrl >> 4 * i & 3 ? 1ull << (32 + i) : 0;
		inuse |= cpu->pmu.fixed_ctrl >> 4 * i & 8 ? 1ull << 63 : 0;
	}
	return inuse;
}

/* PERF_CAPABILITIES: bit 13 announces the full-width registers. */
static uint64_t read_capabilities(struct sim_cpu *cpu, unsigned int index)
{
	(void)index;
	return cpu->model->pmu.full_width ? 1ull << 13 : 0;
}

static uint64_t read_offcore(struct sim_cpu *cpu, unsigned int index)
{
	return cpu->pmu.offcore[index];
}

static bool write_offcore(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	cpu->pmu.offcore[index] = value;
	return true;
}

/* MSR_SMI_COUNT: 32 bits. */
static uint64_t read_smi(struct sim_cpu *cpu, unsigned int index)
{
	(void)index;
	return (uint32_t)cpu->raw[RAW_SMI];
}

const struct sim_reg sim_intel_regs[] = {
	{ 0x34, 1, 1, is_intel, read_smi, NULL, false },
	{ 0xc1, SIM_GP_MAX, 1, has_gp, read_counter, write_counter, false },
	{ 0x186, SIM_GP_MAX, 1, has_gp, read_select, write_select, false },
	{ 0x1a4, 1, 1, never, NULL, NULL, false },
	{ 0x1a6, 2, 1, is_intel, read_offcore, write_offcore, false },
	{ 0x309, SIM_FIXED_MAX, 1, has_fixed, read_fixed, write_fixed, false },
	{ 0x345, 1, 1, has_v2, read_capabilities, NULL, false },
	{ 0x38d, 1, 1, has_v2, read_fixed_ctrl, write_fixed_ctrl, false },
	{ 0x38e, 1, 1, has_v2, read_status, NULL, false },
	{ 0x38f, 1, 1, has_v2, read_ctrl, write_ctrl, false },
	{ 0x390, 1, 1, has_v2, read_zero, write_clear, false },
	{ 0x391, 1, 1, has_v4, read_zero, write_set, false },
	{ 0x392, 1, 1, has_v4, read_inuse, NULL, false },
	{ 0x4c1, SIM_GP_MAX, 1, has_gp_full, read_counter, write_full, false },
};

const size_t sim_intel_reg_count = sizeof(sim_intel_regs) / sizeof(sim_intel_regs[0]);

/* Version 1 has no global control: a counter's own enable bit is enough. */
static bool global_enable(const struct sim_cpu *cpu, unsigned int number)
{
	return cpu->model->pmu.version < 2 ||
	       cpu->pmu.global_ctrl & sim_counter_bit(number);
}

static bool gp_enabled(const struct sim_cpu *cpu, unsigned int i)
{
	return cpu->pmu.select[i] & SIM_SELECT_EN && global_enable(cpu, i);
}

/* Fixed counters: instructions, core cycles, reference cycles, top-down slots. */
static uint64_t fixed_raws(uint64_t ctrl, unsigned int i)
{
	static const unsigned int raw[SIM_FIXED_MAX] = { RAW_INSNS, RAW_CYCLES, RAW_REF,
							 RAW_SLOTS };

	return (ctrl & 1 ? 1ull << raw[i] : 0) | (ctrl & 2 ? 2ull << raw[i] : 0);
}

void sim_intel_apply(struct sim_cpu *cpu)
{
	const struct sim_model *m = cpu->model;
	unsigned int i;

	for (i = 0; i < m->pmu.gp; i++)
		sim_counter_run(cpu, i, gp_enabled(cpu, i),
				sim_select_raws(m, i, cpu->pmu.select[i]));
	for (i = 0; i < m->pmu.fixed; i++) {
		const uint64_t ctrl = cpu->pmu.fixed_ctrl >> 4 * i & 3;

		sim_counter_run(cpu, FIXED(i), ctrl && global_enable(cpu, FIXED(i)),
				fixed_raws(ctrl, i));
	}
}
