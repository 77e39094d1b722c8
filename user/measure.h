/* SPDX-License-Identifier: GPL-2.0-only */
/* From a command's options to its document: the way that all measuring commands go. */
#ifndef CALM_MEASURE_H
#define CALM_MEASURE_H

#include "data.h"
#include "opt.h"
#include "plan.h"
#include "util.h"

/*
 * Adds to the plan what follows from the points measured so far, nothing when all is known. It is
 * called before the first one, and whenever the plan has been worked off.
 */
typedef void calm_explore(const struct calm_plan_input *input, const struct calm_measured *points,
			  size_t n_points, struct calm_plan *plan);

/**
 * struct calm_job - what a measuring command does
 * @groups: its options, up to NULL
 * @word: what it is given besides, for the help, or NULL
 * @order: enum calm_order in which it visits a buffer, 0 if that is an option
 * @choose: what the options make of the rest, or NULL; refuses what does not go together
 * @explore: makes the plan as it goes, or NULL
 * @subject: what its document is about
 * @loop: name of the loop that it measures
 * @counters: events that a run of the loop can count
 * @events: what it counts if nothing else is asked for
 * @derive: draws facts from a document's points, by what was asked for
 * @free_loop: loop to measure behind all numbers of lanes, or NULL
 * @copy_loop: loop to measure behind that in buffers that no cache holds, or NULL
 * @linear_loop: likewise, from the lowest address to the highest, or NULL
 * @copies: the loop copies one half of the buffer to the other
 * @wants_memory: it is about memory: without a size the buffer is larger than all caches, and one
 *	that is not is told
 * @wants_lines: each access is to take a line of its own: without a stride elements are no closer
 *	than the longest line
 */
struct calm_job {
	const struct calm_opt *const *groups;
	const char *word;
	uint32_t order;
	int (*choose)(struct calm_run_opts *opts, struct calm_job *job, struct calm_error *error);
	calm_explore *explore;
	enum calm_subject subject;
	const char *loop;
	size_t counters;
	const char *events;
	void (*derive)(const struct calm_run_opts *opts, const struct calm_measured *points,
		       size_t n_points, const struct calm_machine *machine,
		       struct calm_derived *derived);
	const char *free_loop;
	const char *copy_loop;
	const char *linear_loop;
	bool copies;
	bool wants_memory;
	bool wants_lines;
};

/**
 * calm_measure() - a measuring command: plan, measure or print the plan, and write the result
 * @job: what is measured
 * @summary: what the command does, for its help
 * @argc: words, the command's own name included
 * @argv: the words
 *
 * Return: the program's exit status.
 */
int calm_measure(const struct calm_job *job, const char *summary, int argc, char **argv);

/**
 * calm_measure_describe() - add to a machine what the module knows better
 * @machine: as hwloc sees it
 * @module: the module
 * @cpu: CPU that is measured
 */
void calm_measure_describe(struct calm_machine *machine, const struct calm_module *module,
			   uint32_t cpu);

#endif
