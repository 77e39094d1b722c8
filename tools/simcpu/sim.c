// SPDX-License-Identifier: GPL-2.0-only
/* The machine put together: vCPUs, their time, and who answers for a register. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "pmu.h"
#include "truth.h"

/* Totals at the rate of the TSC: core cycles divided by the ratio of the clocks. */
static uint64_t to_ref(const struct sim_cpu *cpu, uint64_t cycles)
{
	const struct sim_ratio *ratio = &cpu->model->timing.core_ratio;

	return cycles * ratio->den / ratio->num;
}

static void fill_times(const struct sim_cpu *cpu, uint64_t cycles, uint64_t *raw)
{
	const unsigned int width = cpu->model->timing.width;

	raw[RAW_CYCLES_USER] = cpu->user_insns / width;
	raw[RAW_CYCLES] = cycles - raw[RAW_CYCLES_USER] + cpu->fast;
	raw[RAW_INSNS_USER] = cpu->user_insns;
	raw[RAW_INSNS] = cpu->insns - cpu->user_insns;
	raw[RAW_REF_USER] = to_ref(cpu, raw[RAW_CYCLES_USER]);
	raw[RAW_REF] = to_ref(cpu, cycles) - raw[RAW_REF_USER];
	raw[RAW_SLOTS_USER] = raw[RAW_CYCLES_USER] * width;
	raw[RAW_SLOTS] = raw[RAW_CYCLES] * width;
}

void sim_time_refresh(struct sim_cpu *cpu)
{
	sim_time_settle(cpu);
	fill_times(cpu, cpu->time.now, cpu->raw);
}

/* What has begun may still be on its way: then it is a little later already. */
void sim_time_peek(const struct sim_cpu *cpu, uint64_t *raw)
{
	const struct sim_time *t = &cpu->time;

	memcpy(raw, cpu->raw, sizeof(cpu->raw));
	fill_times(cpu, t->cycle > t->now ? t->cycle : t->now, raw);
}

void sim_cpu_instructions(struct sim_cpu *cpu, uint64_t insns)
{
	sim_time_reach(cpu, insns);
}

void sim_cpu_user_instructions(struct sim_cpu *cpu, uint64_t insns)
{
	cpu->user_insns = insns;
}

void sim_cpu_serialize(struct sim_cpu *cpu, uint64_t insns)
{
	sim_time_reach(cpu, insns);
	sim_time_drain(cpu);
}

void sim_cpu_interrupt(struct sim_cpu *cpu)
{
	cpu->window.interrupts++;
}

void sim_cpu_exception(struct sim_cpu *cpu)
{
	cpu->window.exceptions++;
}

void sim_cpu_of_module(struct sim_cpu *cpu, bool of_module)
{
	cpu->of_module = of_module;
}

bool sim_cpu_take_nmi(struct sim_cpu *cpu)
{
	const bool nmi = cpu->nmi;

	cpu->nmi = false;
	return nmi;
}

uint64_t sim_tsc(struct sim_cpu *cpu)
{
	uint64_t tsc;

	sim_window_script(cpu);
	sim_noise_pass(cpu);
	sim_time_edge(cpu);
	tsc = to_ref(cpu, cpu->time.now);
	sim_window_read(cpu, SIM_COUNTERS, tsc);
	return tsc;
}

static bool always(const struct sim_model *m, unsigned int index)
{
	(void)m;
	(void)index;
	return true;
}

static bool is_amd(const struct sim_model *m, unsigned int index)
{
	(void)index;
	return m->cpu.vendor == SIM_AMD;
}

static uint64_t read_mperf(struct sim_cpu *cpu, unsigned int index)
{
	(void)index;
	sim_time_edge(cpu);
	sim_time_refresh(cpu);
	return cpu->raw[RAW_REF] + cpu->raw[RAW_REF_USER] + cpu->mperf;
}

static uint64_t read_aperf(struct sim_cpu *cpu, unsigned int index)
{
	(void)index;
	sim_time_edge(cpu);
	sim_time_refresh(cpu);
	return cpu->raw[RAW_CYCLES] + cpu->raw[RAW_CYCLES_USER] + cpu->aperf;
}

static bool write_mperf(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	cpu->mperf += value - read_mperf(cpu, index);
	return true;
}

static bool write_aperf(struct sim_cpu *cpu, unsigned int index, uint64_t value)
{
	cpu->aperf += value - read_aperf(cpu, index);
	return true;
}

/* The core never halts in the model, so APERF is its cycles and MPERF the TSC's. */
static const struct sim_reg clock_regs[] = {
	{ 0xe7, 1, 1, always, read_mperf, write_mperf, true },
	{ 0xe8, 1, 1, always, read_aperf, write_aperf, true },
	{ 0xc00000e7, 1, 1, is_amd, read_mperf, NULL, true },
	{ 0xc00000e8, 1, 1, is_amd, read_aperf, NULL, true },
};

/**
 * struct table - rows of registers
 * @reg: the rows
 * @count: how many
 */
struct table {
	const struct sim_reg *reg;
	size_t count;
};

#define TABLES	3

static struct table table(unsigned int number)
{
	switch (number) {
	case 0:
		return (struct table){ sim_intel_regs, sim_intel_reg_count };
	case 1:
		return (struct table){ sim_amd_regs, sim_amd_reg_count };
	default:
		return (struct table){ clock_regs, sizeof(clock_regs) / sizeof(clock_regs[0]) };
	}
}

/* Index of a register within a row, or the row's count. */
static unsigned int reg_index(const struct sim_reg *reg, uint32_t msr)
{
	const uint32_t offset = msr - reg->msr;

	if (msr < reg->msr || offset % reg->step || offset / reg->step >= reg->count)
		return reg->count;
	return offset / reg->step;
}

static const struct sim_reg *find_reg(uint32_t msr, unsigned int *index)
{
	unsigned int i;
	size_t row;

	for (i = 0; i < TABLES; i++) {
		const struct table t = table(i);

		for (row = 0; row < t.count; row++) {
			*index = reg_index(&t.reg[row], msr);
			if (*index < t.reg[row].count)
				return &t.reg[row];
		}
	}
	return NULL;
}

bool sim_msr_listed(const struct sim_msr_list *list, uint32_t msr)
{
	unsigned int i;

	for (i = 0; i < list->count; i++)
		if (list->msr[i] == msr)
			return true;
	return false;
}

unsigned int sim_machine_instance(const struct sim_machine *machine, unsigned int cpu,
				  unsigned int scope)
{
	const struct sim_model *m = sim_model_of(machine->model, cpu);
	const unsigned int sharers = sim_model_sharers(m, scope);

	return sharers ? cpu - cpu % sharers : 0;
}

/* Where a register of section [msr] keeps its value, NULL if it is not one. */
static atomic_uint_least64_t *plain_value(const struct sim_cpu *cpu, uint32_t msr, uint64_t *mask)
{
	const struct sim_machine *machine = cpu->machine;
	unsigned int i;

	for (i = 0; i < cpu->model->msrs; i++) {
		const struct sim_msr_plain *plain = &cpu->model->msr[i];

		if (plain->msr != msr)
			continue;
		*mask = plain->mask;
		return &machine->plain[i][sim_machine_instance(machine, cpu->index,
							       plain->scope)];
	}
	return NULL;
}

uint64_t sim_machine_plain(const struct sim_machine *machine, unsigned int cpu, uint32_t msr)
{
	uint64_t mask;
	const atomic_uint_least64_t *plain = plain_value(&machine->cpu[cpu], msr, &mask);

	return plain ? atomic_load(plain) : 0;
}

static bool drops(const struct sim_cpu *cpu, uint32_t msr)
{
	const struct sim_fault_model *fault = &cpu->model->fault;

	return sim_msr_listed(&fault->msr_drop, msr) &&
	       (fault->drop_cpu < 0 || fault->drop_cpu == (int)cpu->index);
}

static enum sim_msr_result absent_read(const struct sim_cpu *cpu, uint64_t *value)
{
	*value = 0;
	return cpu->model->pmu.absent == SIM_ABSENT_ZERO ? SIM_MSR_HANDLED : SIM_MSR_GP;
}

/* The kernel reads APERF and MPERF at each timer tick, thousands of times: left out of the log. */
static enum sim_msr_result read_reg(struct sim_cpu *cpu, uint32_t msr, uint64_t *value,
				    bool *logged)
{
	const struct sim_model *m = cpu->model;
	const struct sim_reg *reg;
	atomic_uint_least64_t *plain;
	unsigned int index;
	uint64_t mask;

	*value = 0;
	*logged = true;
	if (sim_msr_listed(&m->fault.msr_fault, msr))
		return SIM_MSR_GP;
	if (sim_msr_listed(&m->fault.msr_zero, msr))
		return SIM_MSR_HANDLED;
	plain = plain_value(cpu, msr, &mask);
	if (plain) {
		*value = atomic_load(plain);
		return SIM_MSR_HANDLED;
	}
	reg = find_reg(msr, &index);
	if (!reg)
		return SIM_MSR_PASS;
	if (!reg->present(m, index))
		return absent_read(cpu, value);
	if (!reg->read)
		return SIM_MSR_GP;
	*logged = !reg->clock || cpu->of_module;
	*value = reg->read(cpu, index);
	return SIM_MSR_HANDLED;
}

static enum sim_msr_result write_reg(struct sim_cpu *cpu, uint32_t msr, uint64_t value)
{
	const struct sim_model *m = cpu->model;
	const struct sim_reg *reg;
	atomic_uint_least64_t *plain;
	unsigned int index;
	uint64_t mask;

	if (sim_msr_listed(&m->fault.msr_fault, msr))
		return SIM_MSR_GP;
	if (sim_msr_listed(&m->fault.msr_zero, msr))
		return SIM_MSR_HANDLED;
	plain = plain_value(cpu, msr, &mask);
	if (plain && value & ~mask)
		return SIM_MSR_GP;
	if (drops(cpu, msr))
		return SIM_MSR_HANDLED;
	if (plain) {
		atomic_store(plain, value);
		sim_prefetch_switch(cpu->machine, msr);
		return SIM_MSR_HANDLED;
	}
	reg = find_reg(msr, &index);
	if (!reg)
		return SIM_MSR_PASS;
	if (!reg->present(m, index))
		return absent_read(cpu, &mask);
	return reg->write && reg->write(cpu, index, value) ? SIM_MSR_HANDLED : SIM_MSR_GP;
}

enum sim_msr_result sim_msr_read(struct sim_cpu *cpu, uint32_t msr, uint64_t *value)
{
	enum sim_msr_result result;
	bool logged;

	result = read_reg(cpu, msr, value, &logged);
	if (result != SIM_MSR_PASS && logged)
		sim_truth_msr(cpu, false, msr, result == SIM_MSR_GP, *value);
	return result;
}

enum sim_msr_result sim_msr_write(struct sim_cpu *cpu, uint32_t msr, uint64_t value)
{
	enum sim_msr_result result = write_reg(cpu, msr, value);

	if (result != SIM_MSR_PASS)
		sim_truth_msr(cpu, true, msr, result == SIM_MSR_GP, value);
	return result;
}

/* Intel: bit 30 selects the fixed counters. Whatever has no counter behind it is #GP. */
static unsigned int rdpmc_counter(const struct sim_model *m, uint32_t ecx)
{
	if (ecx < m->pmu.gp)
		return ecx;
	if (m->cpu.vendor == SIM_INTEL && ecx >> 30 == 1 && (ecx & 0x3fffffff) < m->pmu.fixed)
		return SIM_GP_MAX + (ecx & 0x3fffffff);
	return SIM_COUNTERS;
}

enum sim_msr_result sim_rdpmc(struct sim_cpu *cpu, uint32_t ecx, uint64_t *value)
{
	const unsigned int number = rdpmc_counter(cpu->model, ecx);

	*value = 0;
	if (number == SIM_COUNTERS)
		return SIM_MSR_GP;
	sim_window_script(cpu);
	sim_noise_pass(cpu);
	*value = sim_counter_get(cpu, number);
	sim_window_read(cpu, number, *value);
	return SIM_MSR_HANDLED;
}

static bool init_cpu(struct sim_machine *machine, unsigned int index)
{
	const struct sim_model *m = sim_model_of(machine->model, index);
	struct sim_cpu *cpu = &machine->cpu[index];

	cpu->machine = machine;
	cpu->model = m;
	cpu->index = index;
	sim_memsys_attach(machine->mem, m, index, &cpu->mem);
	sim_time_init(&cpu->time, m);
	sim_noise_init(&cpu->noise, m, index);
	sim_pmu_reset(cpu);
	return sim_prefetch_init(&cpu->prefetch, m) && sim_mmu_init(&cpu->mmu, m);
}

void sim_machine_set_memory(struct sim_machine *machine, const struct sim_memory *memory)
{
	machine->memory = *memory;
}

/* Cores of two kinds have different registers in a row, each its own ones. */
static bool init_plain(struct sim_machine *machine, unsigned int row)
{
	unsigned int i;

	machine->plain[row] = calloc(machine->cpus, sizeof(*machine->plain[row]));
	if (!machine->plain[row])
		return false;
	for (i = 0; i < machine->cpus; i++)
		atomic_init(&machine->plain[row][i],
			    sim_model_of(machine->model, i)->msr[row].reset);
	return true;
}

struct sim_machine *sim_machine_new(const struct sim_model *model, unsigned int cpus, FILE *truth)
{
	struct sim_machine *machine = calloc(1, sizeof(*machine));
	unsigned int i;

	if (!machine)
		return NULL;
	machine->model = model;
	machine->cpus = cpus;
	machine->truth = truth;
	atomic_flag_clear(&machine->truth_lock);
	machine->mem = sim_memsys_new(model, cpus);
	machine->cpu = calloc(cpus, sizeof(*machine->cpu));
	if (!machine->mem || !machine->cpu)
		goto err_free;
	for (i = 0; i < SIM_LIST_MAX; i++)
		if (!init_plain(machine, i))
			goto err_free;
	sim_truth_start(machine);
	for (i = 0; i < cpus; i++)
		if (!init_cpu(machine, i))
			goto err_free;
	sim_prefetch_switch(machine, 0);
	return machine;

err_free:
	sim_machine_free(machine);
	errno = ENOMEM;
	return NULL;
}

void sim_machine_detail(struct sim_machine *machine)
{
	machine->detail = true;
}

struct sim_cpu *sim_cpu_new(struct sim_machine *machine, unsigned int index)
{
	return index < machine->cpus ? &machine->cpu[index] : NULL;
}

/* By table, so that the order is always the same; clocks have no value that could be compared. */
static void exit_regs(struct sim_cpu *cpu, const struct table *t)
{
	const struct sim_model *m = cpu->model;
	unsigned int i;
	size_t row;

	for (row = 0; row < t->count; row++) {
		const struct sim_reg *reg = &t->reg[row];

		for (i = 0; i < reg->count; i++)
			if (reg->present(m, i) && reg->read && !reg->clock)
				sim_truth_exit_msr(cpu, reg->msr + i * reg->step,
						   reg->read(cpu, i));
	}
}

static void exit_cpu(struct sim_cpu *cpu)
{
	const struct sim_model *m = cpu->model;
	unsigned int i;
	uint64_t mask;

	sim_truth_exit_begin(cpu);
	for (i = 0; i < m->msrs; i++)
		sim_truth_exit_msr(cpu, m->msr[i].msr,
				   atomic_load(plain_value(cpu, m->msr[i].msr, &mask)));
	for (i = 0; i < TABLES; i++) {
		const struct table t = table(i);

		exit_regs(cpu, &t);
	}
	sim_truth_exit_end(cpu);
}

void sim_machine_exit(struct sim_machine *machine)
{
	unsigned int i;

	for (i = 0; i < machine->cpus; i++)
		exit_cpu(&machine->cpu[i]);
}

void sim_machine_free(struct sim_machine *machine)
{
	unsigned int i;

	if (machine->mem)
		sim_memsys_free(machine->mem);
	for (i = 0; i < SIM_LIST_MAX; i++)
		free(machine->plain[i]);
	for (i = 0; machine->cpu && i < machine->cpus; i++) {
		sim_prefetch_free(&machine->cpu[i].prefetch);
		sim_mmu_free(&machine->cpu[i].mmu);
	}
	free(machine->cpu);
	free(machine);
}
