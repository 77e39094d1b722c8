/* SPDX-License-Identifier: GPL-2.0-only */
/* Caches, cores and nodes of this machine, by hwloc; which CPU to measure on. */
#ifndef CALM_TOPO_H
#define CALM_TOPO_H

#include "data.h"
#include "util.h"

/* The machine's topology, opaque. */
struct calm_topo;

/**
 * calm_topo_load() - look at this machine
 * @topo: out
 * @any: it may be another one
 * @error: filled on failure
 *
 * hwloc's own variables apply, such as HWLOC_XMLFILE, which names a saved machine instead. What is
 * measured here beside the caches of another machine would be a false figure.
 *
 * Return: 0; -EXDEV for another machine, unless @any; or another negative errno.
 */
int calm_topo_load(struct calm_topo **topo, bool any, struct calm_error *error);

/**
 * calm_topo_is_here() - whether it is this machine
 * @topo: the machine
 *
 * Return: false if hwloc was told of another one.
 */
bool calm_topo_is_here(const struct calm_topo *topo);

/**
 * calm_topo_free() - forget a machine
 * @topo: the machine, or NULL
 */
void calm_topo_free(struct calm_topo *topo);

/**
 * calm_topo_choose_cpu() - the CPU to measure on, and why
 * @topo: the machine
 * @opts: a CPU asked for is taken; the node must exist as well
 * @cpu: out
 * @reason: out: a constant text
 * @error: filled on failure
 *
 * Not asked: the highest-numbered isolated CPU, else the highest-numbered of
 * the fastest core type; CPU 0, which serves interrupts, only if alone.
 *
 * Return: 0, or -ENODEV if what was asked for is not there.
 */
int calm_topo_choose_cpu(const struct calm_topo *topo, const struct calm_run_opts *opts,
			 uint32_t *cpu, const char **reason, struct calm_error *error);

/**
 * calm_topo_parse_cpus() - read a list of CPUs
 * @topo: the machine
 * @text: the list, as 0-3,8
 * @cpus: out: the CPUs, ascending; to be freed
 * @n_cpus: out: how many
 * @error: filled on failure
 *
 * Return: 0; -EINVAL for what is no list; -ENODEV for a CPU that is not online.
 */
int calm_topo_parse_cpus(const struct calm_topo *topo, const char *text, uint32_t **cpus,
			 size_t *n_cpus, struct calm_error *error);

/**
 * calm_topo_describe() - what measures, seen from one CPU
 * @topo: the machine
 * @cpu: the CPU whose caches are told
 * @machine: out
 */
void calm_topo_describe(const struct calm_topo *topo, uint32_t cpu, struct calm_machine *machine);

#endif
