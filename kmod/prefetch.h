/* SPDX-License-Identifier: GPL-2.0-only */
/* Hardware prefetchers turned off and on, and everything put back as it was found. */
#ifndef CALM_PREFETCH_H
#define CALM_PREFETCH_H

#include <linux/types.h>

#include "data.h"
#include "prefetch_table.h"

struct calm_prefetch_run;

/**
 * struct calm_prefetch_fault - why something could not be done
 * @why: a clause for people
 * @cpu: CPU it was tried on
 * @msr: register at fault, 0 if none is
 */
struct calm_prefetch_fault {
	const char *why;
	u32 cpu;
	u32 msr;
};

/**
 * struct calm_prefetch_watch - what the registers of a CPU must hold during a slice
 * @nr: registers
 * @reg: number, the bits that are ours, and their value
 */
struct calm_prefetch_watch {
	u32 nr;
	struct {
		u32 msr;
		u64 mask;
		u64 value;
	} reg[CALM_PREFETCH_MSRS_MAX];
};

/**
 * struct calm_prefetch_state - the prefetchers of a CPU, as its registers say
 * @set: the prefetchers
 * @err: 0, or -ENXIO when a register faulted
 * @on: mask by place in @set
 * @held: mask of those that calm_prefetch_hold() has set
 */
struct calm_prefetch_state {
	const struct calm_prefetch_set *set;
	int err;
	u32 on;
	u32 held;
};

/**
 * calm_prefetch_probe() - find out what prefetchers the calling CPU has
 *
 * Uses CPUID only, after calm_model_probe().
 */
void calm_prefetch_probe(void);

/**
 * calm_prefetch_find() - look a prefetcher up by name
 * @name: its name
 *
 * Return: its place among the names, or -ENOENT.
 */
int calm_prefetch_find(const char *name);

/**
 * calm_prefetch_check() - see whether each CPU of a job has what its settings name
 * @spec: the job
 * @fault: out: on failure, what is wrong
 *
 * Touches no register.
 *
 * Return: 0; -EOPNOTSUPP where no switch is known or only undocumented ones are; -ENOENT for a
 * prefetcher that a CPU has not.
 */
int calm_prefetch_check(const struct calm_job_spec *spec, struct calm_prefetch_fault *fault);

/**
 * calm_prefetch_begin() - save the registers that the settings of a job change
 * @spec: a checked job, which outlives the run
 * @run: out: to be ended
 * @fault: out: on failure, what is wrong
 *
 * Sleeps. Each group of CPUs that shares registers is handled once.
 *
 * Return: 0; -ENOMEM; -ENODEV for a CPU that is gone; -ENXIO for a register that faults; -EIO
 * when somebody else has changed what calm_prefetch_hold() had set.
 */
int calm_prefetch_begin(const struct calm_job_spec *spec, struct calm_prefetch_run **run,
			struct calm_prefetch_fault *fault);

/**
 * calm_prefetch_apply() - change to a setting
 * @run: the run; its workers are not in a slice
 * @index: the setting, by its place in the job
 * @fault: out: on failure, what is wrong
 *
 * Return: 0; -ENODEV; -ENXIO when a write faults; -EIO when it does not read back.
 */
int calm_prefetch_apply(struct calm_prefetch_run *run, u32 index,
			struct calm_prefetch_fault *fault);

/**
 * calm_prefetch_watch() - what a CPU's slices have to find
 * @run: the run
 * @cpu: one of its CPUs
 *
 * Return: filled anew by each calm_prefetch_apply().
 */
const struct calm_prefetch_watch *calm_prefetch_watch(struct calm_prefetch_run *run,
						      unsigned int cpu);

/**
 * calm_prefetch_changed() - read back, with interrupts off
 * @watch: what must be there
 *
 * Return: true if it is not.
 */
bool calm_prefetch_changed(const struct calm_prefetch_watch *watch);

/**
 * calm_prefetch_end() - put back what was there at the begin, and free the run
 * @run: the run, or NULL
 * @fault: out: on failure, what is wrong
 *
 * Return: 0, or as calm_prefetch_apply().
 */
int calm_prefetch_end(struct calm_prefetch_run *run, struct calm_prefetch_fault *fault);

/**
 * calm_prefetch_hold() - change to a setting, until it is undone
 * @spec: its CPUs, its flags and its first setting
 * @fault: out: on failure, what is wrong
 *
 * Sleeps. After a failure nothing is changed.
 *
 * Return: 0, or as calm_prefetch_begin() and calm_prefetch_apply().
 */
int calm_prefetch_hold(const struct calm_job_spec *spec, struct calm_prefetch_fault *fault);

/**
 * calm_prefetch_read() - state of the prefetchers of a CPU
 * @cpu: the CPU
 * @state: out: the state
 *
 * Return: true if a switch is known for it.
 */
bool calm_prefetch_read(unsigned int cpu, struct calm_prefetch_state *state);

/**
 * calm_prefetch_shares() - whether two CPUs share their switches
 * @a: a CPU that was probed
 * @b: another
 *
 * Return: true if they do.
 */
bool calm_prefetch_shares(unsigned int a, unsigned int b);

/**
 * calm_prefetch_leave() - put back what was found before the calling CPU goes
 * @cpu: the calling CPU, no longer active
 *
 * Does nothing while another CPU can still reach its registers.
 */
void calm_prefetch_leave(unsigned int cpu);

/**
 * calm_prefetch_restore_all() - put back what was found on all CPUs
 *
 * Sleeps. No run is in progress.
 */
void calm_prefetch_restore_all(void);

/**
 * calm_prefetch_init() - room for what is found
 *
 * Touches no register.
 *
 * Return: 0 or -ENOMEM.
 */
int calm_prefetch_init(void);

/**
 * calm_prefetch_exit() - free the room; all is restored
 */
void calm_prefetch_exit(void);

#endif
