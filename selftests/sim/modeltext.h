/* SPDX-License-Identifier: GPL-2.0-only */
/* Models for tests from text, without a file of their own in the tree. */
#ifndef SELFTESTS_SIM_MODELTEXT_H
#define SELFTESTS_SIM_MODELTEXT_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"

#define CPU_INTEL	"[cpu]\nvendor = intel\nqemu_cpu = max\nmicroarch = Skylake\n"
#define CPU_AMD		"[cpu]\nvendor = amd\nqemu_cpu = max\nmicroarch = Zen4\n"
#define TIMING		"[timing]\nwidth = 4\ntsc_hz = 2000000000\nmemory = 200\n"
#define PMU_NONE	"[pmu]\nstyle = none\n"
#define L1D		"[cache l1d]\nsize = 1K\nways = 2\nline = 64\nlatency = 4\n"

/* Load a model from text; NULL with the reason in @err, whose path is written as "model". */
static inline struct sim_model *model_try(const char *text, char *err, size_t len)
{
	char path[] = "/tmp/simcpu-test-XXXXXX", raw[512] = "";
	int fd = mkstemp(path);
	struct sim_model *model;

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
	model = sim_model_load(path, raw, sizeof(raw));
	unlink(path);
	if (!strncmp(raw, path, strlen(path)))
		snprintf(err, len, "model%s", raw + strlen(path));
	else
		snprintf(err, len, "%s", raw);
	return model;
}

/* The same where the text is right; printf's format. */
__attribute__((format(printf, 1, 2)))
static inline struct sim_model *model_from(const char *fmt, ...)
{
	char text[4096], err[512];
	struct sim_model *model;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	model = model_try(text, err, sizeof(err));
	if (model)
		return model;
	fprintf(stderr, "%s\n", err);
	exit(1);
}

static inline struct sim_machine *machine_from(const struct sim_model *model, unsigned int cpus,
					       FILE *truth)
{
	struct sim_machine *machine = sim_machine_new(model, cpus, truth);

	if (!machine)
		abort();
	return machine;
}

#endif
