/* SPDX-License-Identifier: GPL-2.0-only */
/* Truth log: what really happened, in lines of JSON, to compare a measurement with. */
#ifndef SIMCPU_TRUTH_H
#define SIMCPU_TRUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "machine.h"

/* First line: which model. */
void sim_truth_start(struct sim_machine *machine);

/* A read or write of a register. */
void sim_truth_msr(struct sim_cpu *cpu, bool write, uint32_t msr, bool fault, uint64_t value);

/* What a counter held when it was written, where each read is logged. */
void sim_truth_overwritten(struct sim_cpu *cpu, unsigned int number, uint64_t value);

/* Last lines, one for each vCPU: head with the totals of its windows, registers, foot. */
void sim_truth_exit_begin(struct sim_cpu *cpu);
void sim_truth_exit_msr(struct sim_cpu *cpu, uint32_t msr, uint64_t value);
void sim_truth_exit_end(struct sim_cpu *cpu);

/* A counter runs or none does: begin or end a window. */
void sim_window_follow(struct sim_cpu *cpu, bool running);

/* Before a clock or counter is read: what was scripted for the window may happen now. */
void sim_window_script(struct sim_cpu *cpu);

/* A clock was read, or a counter: @number is its, else SIM_COUNTERS. */
void sim_window_read(struct sim_cpu *cpu, unsigned int number, uint64_t value);

#endif
