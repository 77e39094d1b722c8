// SPDX-License-Identifier: GPL-2.0-only
/*
 * Noise by a seed. It comes before a clock or counter is read, if many loads lie behind the read
 * before: so it falls into measured loops, and costs nothing within them.
 */
#include "machine.h"
#include "noise.h"

/* What reads clocks has loads of its own, of arguments and the like; a measured loop has more. */
#define LOOP_LOADS	64

/* A neighbour's lines lie at the end of what caches can tell apart, where no guest has memory. */
#define NEIGHBOUR_LINES	(1u << 24)

static uint64_t draw(struct sim_noise *n, uint64_t below)
{
	n->random ^= n->random << 13;
	n->random ^= n->random >> 7;
	n->random ^= n->random << 17;
	return (n->random >> 16) % below;
}

void sim_noise_init(struct sim_noise *n, const struct sim_model *model, unsigned int cpu)
{
	const struct sim_noise_model *m = &model->noise;

	if (!m->jitter && !m->outlier && !m->neighbour)
		return;
	n->model = m;
	n->random = 0x9e3779b97f4a7c15ull * (m->seed + ((uint64_t)cpu << 32));
}

static uint64_t all_loads(const struct sim_cpu *cpu)
{
	uint64_t loads = 0;
	unsigned int i;

	for (i = RAW_LOAD; i < RAW_LOAD + SIM_SOURCES; i++)
		loads += cpu->raw[i];
	return loads;
}

static uint64_t longer(struct sim_noise *n, uint64_t cycles)
{
	uint64_t more = 0;

	if (n->model->jitter)
		more = draw(n, cycles * n->model->jitter / 100 + 1);
	if (n->model->outlier && !draw(n, n->model->outlier))
		more += n->model->outlier_cycles;
	return more;
}

static void bring_lines(struct sim_cpu *cpu, uint64_t cycles)
{
	struct sim_noise *n = &cpu->noise;

	for (n->due += cycles * n->model->neighbour; n->due >= 1000; n->due -= 1000) {
		const uint64_t line = SIM_LINES_MAX - 1 - draw(n, NEIGHBOUR_LINES);

		sim_mem_bring(cpu, line, line, cpu->mem.levels - 1);
	}
}

void sim_noise_pass(struct sim_cpu *cpu)
{
	struct sim_noise *n = &cpu->noise;
	uint64_t loads, cycles;

	if (!n->model)
		return;
	sim_time_settle(cpu);
	loads = all_loads(cpu) - n->loads;
	cycles = cpu->time.now - n->time;
	if (loads >= LOOP_LOADS) {
		sim_time_stop(cpu, longer(n, cycles));
		bring_lines(cpu, cycles);
	}
	n->loads += loads;
	n->time = cpu->time.now;
}
