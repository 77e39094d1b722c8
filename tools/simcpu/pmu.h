/* SPDX-License-Identifier: GPL-2.0-only */
/* Performance counters, apart from the registers through which a vendor shows them. */
#ifndef SIMCPU_PMU_H
#define SIMCPU_PMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine.h"

/* Bits of an event select that both vendors share; Linux arch/x86/include/asm/perf_event.h. */
#define SIM_SELECT_USR		(1ull << 16)
#define SIM_SELECT_OS		(1ull << 17)
#define SIM_SELECT_EDGE		(1ull << 18)
#define SIM_SELECT_INT		(1ull << 20)
#define SIM_SELECT_ANY		(1ull << 21)
#define SIM_SELECT_EN		(1ull << 22)
#define SIM_SELECT_INV		(1ull << 23)
#define SIM_SELECT_CMASK	(0xffull << 24)

/**
 * struct sim_reg - a row of registers
 * @msr: number of the first
 * @count: how many
 * @step: distance between two
 * @present: whether the model has the register with this index
 * @read: its value; NULL: reading is #GP
 * @write: false: #GP; NULL: writing is #GP
 * @clock: it runs of itself, so the truth log leaves its value out
 */
struct sim_reg {
	uint32_t msr;
	unsigned int count;
	unsigned int step;
	bool (*present)(const struct sim_model *model, unsigned int index);
	uint64_t (*read)(struct sim_cpu *cpu, unsigned int index);
	bool (*write)(struct sim_cpu *cpu, unsigned int index, uint64_t value);
	bool clock;
};

extern const struct sim_reg sim_intel_regs[];
extern const size_t sim_intel_reg_count;
extern const struct sim_reg sim_amd_regs[];
extern const size_t sim_amd_reg_count;

/* Bring each counter to what the vendor's control registers say. */
void sim_intel_apply(struct sim_cpu *cpu);
void sim_amd_apply(struct sim_cpu *cpu);

/* Registers as after reset, firmware's doings included. */
void sim_pmu_reset(struct sim_cpu *cpu);

/* Call the vendor's apply, then see whether a window begins or ends. */
void sim_pmu_changed(struct sim_cpu *cpu);

uint64_t sim_pmu_mask(const struct sim_model *model);
uint64_t sim_counter_get(struct sim_cpu *cpu, unsigned int number);
void sim_counter_set(struct sim_cpu *cpu, unsigned int number, uint64_t value);

/* Whether a counter runs from now on, and what it counts then. Its value stays. */
void sim_counter_run(struct sim_cpu *cpu, unsigned int number, bool running, uint64_t raws);

/* Take the overflow marks of all counters into the status register. */
void sim_pmu_collect(struct sim_cpu *cpu);

/* Bit of a counter in the global registers, general ones from 0, fixed ones from 32. */
uint64_t sim_counter_bit(unsigned int number);

/* The set that an event select counts; 0 for an event that the model does not know. */
uint64_t sim_select_raws(const struct sim_model *model, unsigned int counter, uint64_t select);

#endif
