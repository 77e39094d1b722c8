// SPDX-License-Identifier: GPL-2.0-only
/* Performance counters: value = base + (what was counted since), modulo their width. */
#include <string.h>

#include "events.h"
#include "pmu.h"
#include "truth.h"

uint64_t sim_pmu_mask(const struct sim_model *model)
{
	return (1ull << model->pmu.width) - 1;
}

uint64_t sim_counter_bit(unsigned int number)
{
	return number < SIM_GP_MAX ? 1ull << number : 1ull << (32 + number - SIM_GP_MAX);
}

static uint64_t sum(const uint64_t *raw, uint64_t raws)
{
	uint64_t total = 0;

	for (; raws; raws &= raws - 1)
		total += raw[__builtin_ctzll(raws)];
	return total;
}

static bool wants_interrupt(const struct sim_cpu *cpu, unsigned int number)
{
	if (number < SIM_GP_MAX)
		return cpu->pmu.select[number] & SIM_SELECT_INT;
	return cpu->pmu.fixed_ctrl >> 4 * (number - SIM_GP_MAX) & 8;
}

/* Bring the base up to date; cpu->raw must be. */
static void rebase(struct sim_cpu *cpu, unsigned int number)
{
	struct sim_counter *c = &cpu->pmu.counter[number];
	const uint64_t mask = sim_pmu_mask(cpu->model);
	const uint64_t now = sum(cpu->raw, c->raws), value = c->base + (now - c->snapshot);

	c->overflow |= value > mask;
	c->interrupt |= value > mask && wants_interrupt(cpu, number);
	c->base = value & mask;
	c->snapshot = now;
}

static bool reads_zero(const struct sim_cpu *cpu, unsigned int number)
{
	return (int)number == cpu->model->fault.counter_zero;
}

uint64_t sim_counter_get(struct sim_cpu *cpu, unsigned int number)
{
	sim_time_refresh(cpu);
	rebase(cpu, number);
	return reads_zero(cpu, number) ? 0 : cpu->pmu.counter[number].base;
}

void sim_counter_set(struct sim_cpu *cpu, unsigned int number, uint64_t value)
{
	sim_time_refresh(cpu);
	rebase(cpu, number);
	sim_truth_overwritten(cpu, number, cpu->pmu.counter[number].base);
	cpu->pmu.counter[number].base = value & sim_pmu_mask(cpu->model);
}

void sim_counter_run(struct sim_cpu *cpu, unsigned int number, bool running, uint64_t raws)
{
	struct sim_counter *c = &cpu->pmu.counter[number];

	sim_time_refresh(cpu);
	rebase(cpu, number);
	c->running = running;
	c->raws = running ? raws : 0;
	c->snapshot = sum(cpu->raw, c->raws);
}

void sim_pmu_collect(struct sim_cpu *cpu)
{
	unsigned int i;

	sim_time_refresh(cpu);
	for (i = 0; i < SIM_COUNTERS; i++) {
		rebase(cpu, i);
		if (cpu->pmu.counter[i].overflow && !reads_zero(cpu, i))
			cpu->pmu.global_status |= sim_counter_bit(i);
		cpu->pmu.counter[i].overflow = false;
	}
}

bool sim_pmu_interrupt(struct sim_cpu *cpu)
{
	bool interrupt = false;
	unsigned int i;

	sim_pmu_collect(cpu);
	for (i = 0; i < SIM_COUNTERS; i++) {
		interrupt |= cpu->pmu.counter[i].interrupt;
		cpu->pmu.counter[i].interrupt = false;
	}
	return interrupt;
}

/* What instructions can add to at most, and how many of them for one: a set's slowest guess. */
static uint64_t instructions_per_count(const struct sim_cpu *cpu, uint64_t raws)
{
	const uint64_t each = 3ull << RAW_INSNS | 3ull << RAW_SLOTS;
	const uint64_t time = 3ull << RAW_CYCLES | 3ull << RAW_REF;

	if (raws & each)
		return 1;
	return raws & time ? cpu->model->timing.width : 0;
}

/* Instructions until a counter overflows, or fewer; 0 if it has. */
static uint64_t distance_of(const struct sim_cpu *cpu, unsigned int number, const uint64_t *raw)
{
	const struct sim_counter *c = &cpu->pmu.counter[number];
	const uint64_t each = instructions_per_count(cpu, c->raws);
	const uint64_t mask = sim_pmu_mask(cpu->model);
	uint64_t value;

	if (c->interrupt)
		return 0;
	if (!c->raws || !wants_interrupt(cpu, number))
		return UINT64_MAX;
	value = c->base + (sum(raw, c->raws) - c->snapshot);
	if (value > mask)
		return 0;
	return each ? (mask - value + 1) * each : UINT64_MAX;
}

/*
 * Loads take longer, but only those of modules, where the plugin asks at every block. What only
 * loads add to does not grow elsewhere.
 */
uint64_t sim_pmu_distance(const struct sim_cpu *cpu)
{
	uint64_t raw[RAW_COUNT], distance = UINT64_MAX;
	unsigned int i;

	sim_time_peek(cpu, raw);
	for (i = 0; i < SIM_COUNTERS; i++) {
		const uint64_t own = distance_of(cpu, i, raw);

		if (own < distance)
			distance = own;
	}
	return distance;
}

bool sim_pmi_wanted(const struct sim_machine *machine)
{
	const struct sim_model *others = machine->model->hybrid.model;

	return machine->model->pmu.pmi || (others && others->pmu.pmi);
}

/* Intel masks the interrupt as it delivers it, AMD does not (Linux arch/x86/kvm/lapic.c). */
bool sim_pmi_masks(const struct sim_machine *machine)
{
	return machine->model->cpu.vendor == SIM_INTEL;
}

static bool counter_runs(const struct sim_cpu *cpu)
{
	unsigned int i;

	for (i = 0; i < SIM_COUNTERS; i++)
		if (cpu->pmu.counter[i].running)
			return true;
	return false;
}

void sim_pmu_changed(struct sim_cpu *cpu)
{
	sim_time_edge(cpu);
	if (cpu->model->cpu.vendor == SIM_INTEL)
		sim_intel_apply(cpu);
	else
		sim_amd_apply(cpu);
	sim_window_follow(cpu, counter_runs(cpu));
}

/* Threshold, inversion and edge detection look at single cycles, which the totals do not keep. */
static bool per_cycle(uint64_t select)
{
	return select & (SIM_SELECT_CMASK | SIM_SELECT_INV | SIM_SELECT_EDGE);
}

static uint64_t rings(uint64_t select)
{
	return (select & SIM_SELECT_USR ? SIM_RAWS_USER : 0) |
	       (select & SIM_SELECT_OS ? ~SIM_RAWS_USER : 0);
}

/* Twelve bits of event number; Intel's registers have 0 in the upper four. */
static uint16_t select_event(uint64_t select)
{
	return (select & 0xff) | (select >> 24 & 0xf00);
}

/* Unit masks add up: a row counts if all its bits are asked for, one without bits stands alone. */
static bool umask_counts(uint8_t row, uint8_t asked)
{
	return row ? !(row & ~asked) : !asked;
}

static uint64_t override_raws(const struct sim_model *model, uint16_t event, uint8_t umask,
			      bool *found)
{
	uint64_t raws = 0;
	unsigned int i;

	for (i = 0; i < model->events; i++) {
		const struct sim_event_code *code = &model->event[i];

		if (code->event != event || !umask_counts(code->umask, umask))
			continue;
		raws |= code->raws;
		*found = true;
	}
	return raws;
}

static bool row_counts(const struct sim_event *row, const struct sim_model *model,
		       unsigned int counter, uint16_t event, uint8_t umask)
{
	const char *vendor = model->cpu.vendor == SIM_INTEL ? "intel" : "amd";

	return row->event == event && umask_counts(row->umask, umask) &&
	       row->counters >> counter & 1 &&
	       (!strcmp(row->uarch, model->cpu.microarch) || !strcmp(row->uarch, vendor));
}

static uint64_t table_raws(const struct sim_model *model, unsigned int counter, uint16_t event,
			   uint8_t umask)
{
	const struct sim_event *row;
	uint64_t raws = 0, set;
	size_t i, n;

	row = sim_events(&n);
	for (i = 0; i < n; i++)
		if (row_counts(&row[i], model, counter, event, umask) &&
		    sim_event_set(row[i].what, &set))
			raws |= set;
	return raws;
}

uint64_t sim_select_raws(const struct sim_model *model, unsigned int counter, uint64_t select)
{
	const uint16_t event = select_event(select);
	const uint8_t umask = select >> 8;
	bool found = false;
	uint64_t raws;

	if (per_cycle(select))
		return 0;
	raws = override_raws(model, event, umask, &found);
	if (!found)
		raws = table_raws(model, counter, event, umask);
	return raws & rings(select);
}

/* A counter that firmware left running: cycles, unless the model says what. */
static void hold_counter(struct sim_cpu *cpu)
{
	const struct sim_model *m = cpu->model;
	const uint64_t cycles = m->cpu.vendor == SIM_INTEL ? 0x3c : 0x76;

	if (m->fault.counter_held < 0)
		return;
	cpu->pmu.select[m->fault.counter_held] = m->fault.held_select ?
		m->fault.held_select : cycles | SIM_SELECT_USR | SIM_SELECT_OS | SIM_SELECT_EN;
	cpu->pmu.global_ctrl |= sim_counter_bit(m->fault.counter_held);
}

/*
 * After reset Intel's enable bits of the general counters are set (SDM, IA32_PERF_GLOBAL_CTRL);
 * AMD's are cleared by the kernel at CPU start (Linux amd_pmu_cpu_reset), and here at reset.
 */
void sim_pmu_reset(struct sim_cpu *cpu)
{
	const struct sim_model *m = cpu->model;
	unsigned int i;

	memset(&cpu->pmu, 0, sizeof(cpu->pmu));
	for (i = 0; i < SIM_COUNTERS; i++)
		cpu->pmu.counter[i].base = m->fault.counter_start;
	if (m->pmu.version >= 2)
		cpu->pmu.global_ctrl = (1ull << m->pmu.gp) - 1;
	hold_counter(cpu);
	sim_pmu_changed(cpu);
}
