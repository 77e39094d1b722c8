/* SPDX-License-Identifier: GPL-2.0-only */
/* Events of cores by microarchitecture. */
#ifndef CALM_EVENTS_TABLE_H
#define CALM_EVENTS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X86_VENDOR_* of Linux, arch/x86/include/asm/processor.h. */
#define CALM_VENDOR_INTEL 0
#define CALM_VENDOR_AMD   2
#define CALM_VENDOR_HYGON 9

/**
 * struct calm_events_row - an event of a microarchitecture
 * @name: abstract, or as its maker calls it
 * @select: event select without its control bits
 * @fixed: number of the fixed counter that counts it instead, or -1
 * @counters: mask of general counters that can count it
 * @known: which known count it can be compared with, or NULL
 * @definition: what it counts
 * @source: where its code is published
 * @unconfirmed: not by the maker
 */
struct calm_events_row {
	const char *name;
	uint64_t select;
	int fixed;
	uint64_t counters;
	const char *known;
	const char *definition;
	const char *source;
	bool unconfirmed;
};

/**
 * struct calm_events_uarch - the events of a microarchitecture
 * @name: as the module's table of models has it
 * @vendor: X86_VENDOR number
 * @pmu: libpfm4's name of its counters, or NULL
 * @rows: abstract events, then the others
 * @n_rows: how many
 */
struct calm_events_uarch {
	const char *name;
	unsigned int vendor;
	const char *pmu;
	const struct calm_events_row *rows;
	size_t n_rows;
};

/**
 * struct calm_events_model - a range of models of a microarchitecture
 * @uarch: its name
 * @family: by CPUID
 * @first: first model by CPUID
 * @last: last model
 * @first_stepping: first stepping
 * @last_stepping: last stepping
 * @core_type: CPUID 1AH EAX[31:24] of a hybrid part, else 0
 */
struct calm_events_model {
	const char *uarch;
	int family;
	int first;
	int last;
	int first_stepping;
	int last_stepping;
	uint32_t core_type;
};

/* The last one has no name. */
extern const struct calm_events_model calm_events_models[];

extern const struct calm_events_uarch calm_events_uarchs[];
extern const size_t calm_events_n_uarchs;

#endif
