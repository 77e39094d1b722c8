// SPDX-License-Identifier: GPL-2.0-only
/* Check a model file, and print what its guest must be started with as shell assignments. */
#include <inttypes.h>
#include <stdio.h>

#include "sim.h"

int main(int argc, char **argv)
{
	struct sim_model *model;
	char err[256];

	if (argc != 2) {
		fprintf(stderr, "usage: describe MODEL.cpu\n");
		return 1;
	}
	model = sim_model_load(argv[1], err, sizeof(err));
	if (!model) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	printf("SIM_NAME='%s'\nSIM_QEMU_CPU='%s'\nSIM_TSC_KHZ=%" PRIu64 "\nSIM_THREADS=%u\n",
	       sim_model_name(model), sim_model_qemu_cpu(model), sim_model_tsc_hz(model) / 1000,
	       sim_model_threads(model));
	sim_model_free(model);
	return 0;
}
