/* SPDX-License-Identifier: GPL-2.0-only */
/* What disturbs measured loops by chance: jitter, outliers, a neighbour in the outermost cache. */
#ifndef SIMCPU_NOISE_H
#define SIMCPU_NOISE_H

#include <stdbool.h>
#include <stdint.h>

#include "model.h"

struct sim_cpu;

/**
 * struct sim_noise - the noise of a vCPU
 * @model: its description; NULL: there is none
 * @random: state of what is drawn
 * @loads: loads of modules when a clock or counter was read last
 * @time: and cycles
 * @due: thousandths of lines that the neighbour has still to bring
 */
struct sim_noise {
	const struct sim_noise_model *model;
	uint64_t random;
	uint64_t loads;
	uint64_t time;
	uint64_t due;
};

void sim_noise_init(struct sim_noise *n, const struct sim_model *model, unsigned int cpu);

/* A clock or counter is about to be read: what has happened since the last time? */
void sim_noise_pass(struct sim_cpu *cpu);

#endif
