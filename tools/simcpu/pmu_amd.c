// SPDX-License-Identifier: GPL-2.0-only
/*
 * AMD's counters: four legacy ones, six of PerfCtrExtCore, and PerfMonV2's global registers.
 * Layouts: Linux arch/x86/include/asm/msr-index.h and perf_event.h; what a reserved bit does:
 * arch/x86/kvm/svm/pmu.c (it is ignored, there is no fault).
 */
#include "pmu.h"

/* HostOnly and GuestOnly: with SVM off, exactly one of them set counts nothing. */
#define SELECT_GUEST	(1ull << 40)
#define SELECT_HOST	(1ull << 41)

/* Event bits 11 to 8 stand at 35 to 32; bits 19 and 21 and what is not named are reserved. */
#define SELECT_VALID	(0xfffd7ffffull | SELECT_GUEST | SELECT_HOST)

static bool has_core(const struct sim_model *m, unsigned int index)
{
	return m->cpu.vendor == SIM_AMD && index < m->pmu.gp;
}

static bool has_extended(const struct sim_model *m, unsigned int index)
{
	return has_core(m, index) && m->pmu.style >= SIM_PMU_EXTCORE;
}

static bool has_uncore(const struct sim_model *m, unsigned int index)
{
	(void)index;
	return m->cpu.vendor == SIM_AMD && m->pmu.style >= SIM_PMU_EXTCORE;
}

static bool has_v2(const struct sim_model *m, unsigned int index)
{
	(void)index;
	return m->pmu.style == SIM_PMU_V2;
}

/* PrefetchControl is there only if section [msr] says so, and then this row is not asked. */
static bool never(const struct sim_model *m, unsigned int index)
{
	(void)m;
	(void)index;
	return false;
}

static uint64_t read_select(struct sim_cpu *cpu, unsigned int index)
{
	return cpu->pmu.select[index];
}

static bool write_select(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	cpu->pmu.select[index] = value & SELECT_VALID;
	sim_pmu_changed(cpu);
	return true;
}

static uint64_t read_counter(struct sim_cpu *cpu, unsigned int index)
{
	return sim_counter_get(cpu, index);
}

static bool write_counter(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	sim_counter_set(cpu, index, value);
	return true;
}

/* Counters of the L3 and the data fabric: they store their select, and stand at 0. */
static uint64_t read_uncore(struct sim_cpu *cpu, unsigned int index)
{
	return index % 2 ? 0 : cpu->pmu.uncore[index / 2];
}

static bool write_uncore(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	if (index % 2 == 0)
		cpu->pmu.uncore[index / 2] = value;
	return true;
}

static uint64_t read_fabric(struct sim_cpu *cpu, unsigned int index)
{
	return read_uncore(cpu, index + 16);
}

static bool write_fabric(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	return write_uncore(cpu, index + 16, value);
}

static uint64_t read_status(struct sim_cpu *cpu, unsigned int index)
{
	(void)index;
	sim_pmu_collect(cpu);
	return cpu->pmu.global_status;
}

static bool write_nothing(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	(void)cpu;
	(void)index;
	(void)value;
	return true;
}

static uint64_t read_zero(struct sim_cpu *cpu, unsigned int index)
{
	(void)cpu;
	(void)index;
	return 0;
}

static uint64_t counters(const struct sim_cpu *cpu)
{
	return (1ull << cpu->model->pmu.gp) - 1;
}

static uint64_t read_ctrl(struct sim_cpu *cpu, unsigned int index)
{
	(void)index;
	return cpu->pmu.global_ctrl;
}

static bool write_ctrl(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	(void)index;
	cpu->pmu.global_ctrl = value & counters(cpu);
	sim_pmu_changed(cpu);
	return true;
}

static bool write_clear(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	(void)index;
	sim_pmu_collect(cpu);
	cpu->pmu.global_status &= ~value;
	return true;
}

static bool write_set(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	(void)index;
	sim_pmu_collect(cpu);
	cpu->pmu.global_status |= value & counters(cpu);
	return true;
}

/* The first four of PerfCtrExtCore are the legacy ones by another number (arch/x86/kvm/pmu.c). */
const struct sim_reg sim_amd_regs[] = {
	{ 0xc0000108, 1, 1, never, NULL, NULL, false },
	{ 0xc0000300, 1, 1, has_v2, read_status, write_nothing, false },
	{ 0xc0000301, 1, 1, has_v2, read_ctrl, write_ctrl, false },
	{ 0xc0000302, 1, 1, has_v2, read_zero, write_clear, false },
	{ 0xc0000303, 1, 1, has_v2, read_zero, write_set, false },
	{ 0xc0010000, 4, 1, has_core, read_select, write_select, false },
	{ 0xc0010004, 4, 1, has_core, read_counter, write_counter, false },
	{ 0xc0010200, 6, 2, has_extended, read_select, write_select, false },
	{ 0xc0010201, 6, 2, has_extended, read_counter, write_counter, false },
	{ 0xc0010230, 12, 1, has_uncore, read_uncore, write_uncore, false },
	{ 0xc0010240, 8, 1, has_uncore, read_fabric, write_fabric, false },
};

const size_t sim_amd_reg_count = sizeof(sim_amd_regs) / sizeof(sim_amd_regs[0]);

static bool counter_enabled(const struct sim_cpu *cpu, unsigned int i)
{
	const uint64_t select = cpu->pmu.select[i];

	if (!(select & SIM_SELECT_EN) || !(select & SELECT_GUEST) != !(select & SELECT_HOST))
		return false;
	return cpu->model->pmu.style != SIM_PMU_V2 || cpu->pmu.global_ctrl >> i & 1;
}

void sim_amd_apply(struct sim_cpu *cpu)
{
	const struct sim_model *m = cpu->model;
	unsigned int i;

	for (i = 0; i < m->pmu.gp; i++)
		sim_counter_run(cpu, i, counter_enabled(cpu, i),
				sim_select_raws(m, i, cpu->pmu.select[i]));
}
