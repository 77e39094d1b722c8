// SPDX-License-Identifier: GPL-2.0-only
/* CPU time that one modelled load takes, by the level that serves it. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "machine.h"

#define ACCESSES	4000000u
#define BLOCK		64
#define LOAD_BYTES	3

/* mov (%rax), %rax, as often as in the module's chase between two branches */
static struct sim_micro block[BLOCK];

static void make_block(void)
{
	static const struct sim_micro load = {
		.address = { 0, SIM_MICRO_ALWAYS },
		.source = { SIM_MICRO_ALWAYS, SIM_MICRO_ALWAYS, SIM_MICRO_ALWAYS,
			    SIM_MICRO_ALWAYS },
		.result = { 0, SIM_MICRO_NOWHERE, SIM_MICRO_NOWHERE, SIM_MICRO_NOWHERE },
		.kind = SIM_MICRO_MOVE,
		.loads = true,
	};
	unsigned int i;

	for (i = 0; i < BLOCK; i++)
		block[i] = load;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Line numbers in random order, as a chase would touch them. */
static uint32_t *shuffled(uint32_t lines)
{
	uint32_t *order = malloc(lines * sizeof(*order)), i, j, swap;
	uint64_t state = 88172645463325252ull;

	if (!order)
		abort();
	for (i = 0; i < lines; i++)
		order[i] = i;
	for (i = lines - 1; i; i--) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		j = state % (i + 1);
		swap = order[i];
		order[i] = order[j];
		order[j] = swap;
	}
	return order;
}

static double pass(struct sim_cpu *cpu, const uint32_t *order, uint32_t lines, unsigned int shift)
{
	double start = now_ns();
	uint32_t n, at = 0;

	for (n = 0; n < ACCESSES; n++) {
		const uint64_t address = (uint64_t)order[at] << shift;

		if (!(n % BLOCK))
			sim_block_enter(cpu, cpu->insns, block, BLOCK);
		sim_mem_from(cpu, LOAD_BYTES * (n % BLOCK));
		sim_mem_access(cpu, cpu->insns + 1, address, address, 8, SIM_LOAD);
		at = at + 1 < lines ? at + 1 : 0;
	}
	return (now_ns() - start) / ACCESSES;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Median of five passes over a buffer of this size, after one that warms the caches. */
static void measure(const struct sim_model *model, const char *what, uint64_t bytes)
{
	struct sim_machine *machine = sim_machine_new(model, 1, NULL);
	struct sim_cpu *cpu = machine ? sim_cpu_new(machine, 0) : NULL;
	const unsigned int shift = __builtin_ctz(model->cache[0].line);
	uint32_t lines = bytes >> shift, *order = shuffled(lines);
	double ns[5];
	int i;

	if (!cpu)
		abort();
	pass(cpu, order, lines, shift);
	for (i = 0; i < 5; i++)
		ns[i] = pass(cpu, order, lines, shift);
	qsort(ns, 5, sizeof(ns[0]), compare);
	printf("%-12s %10llu bytes %6.1f ns a load\n", what, (unsigned long long)bytes, ns[2]);
	free(order);
	sim_machine_free(machine);
}

int main(int argc, char **argv)
{
	struct sim_model *model;
	char err[256];
	unsigned int i;

	if (argc != 2) {
		fprintf(stderr, "usage: memsys MODEL.cpu\n");
		return 1;
	}
	model = sim_model_load(argv[1], err, sizeof(err));
	if (!model) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	make_block();
	for (i = 0; i < model->caches; i++)
		measure(model, model->cache[i].name, model->cache[i].size / 4 * 3);
	measure(model, "memory", model->cache[model->caches - 1].size * 4);
	sim_model_free(model);
	return 0;
}
