/* SPDX-License-Identifier: GPL-2.0-only */
/* The guest as it was before a job: what the module may leave behind, and whether it did. */
#ifndef CALM_TEST_MACHINE_H
#define CALM_TEST_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* What is compared. */
struct machine {
	int kmsg;		/* /dev/kmsg, read up to now */
	int64_t available_kb;
	long cpus_online;
	const char *const *ignore;	/* in messages that do not count; ends with NULL */
	char why[512];		/* what is not as it was */
};

/* What any kernel says when the host lets the guest wait, to ignore: nothing of the module. */
extern const char *const machine_host_is_busy[];

/* Notes how the machine is. Exits when it cannot tell. */
void machine_note(struct machine *machine);
void machine_forget(struct machine *machine);

/*
 * Whether, within half a minute, no job is left: no thread, no buffer, no reference of the module;
 * and whether the same CPUs are online and the kernel has said nothing since machine_note().
 */
bool machine_is_idle(struct machine *machine);

/* Whether the kernel has said nothing since the last time that this was asked. */
bool machine_is_silent(struct machine *machine);

/* What the kernel has said up to now was to be expected. */
void machine_skip_messages(struct machine *machine);

/* A quick look: no reference of the module, which each job and reader holds, and no message. */
bool machine_is_free(struct machine *machine);

/* Whether memory is as it was, but for what caches hold. */
bool machine_has_its_memory(struct machine *machine);

/* Unloads the module at once, and loads it again with @parameters. */
bool machine_reload(struct machine *machine, const char *parameters);

/* A thread of a job on @cpu, 0 if there is none. */
int machine_thread(int cpu);

/* Writes @text to a file of /proc or /sys. */
bool machine_write(const char *path, const char *text);

#endif
