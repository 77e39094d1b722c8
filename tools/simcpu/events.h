/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of sets of raw totals, and which event codes count them on which microarchitecture. */
#ifndef SIMCPU_EVENTS_H
#define SIMCPU_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "raw.h"

/**
 * struct sim_event - an event code of a microarchitecture
 * @uarch: the microarchitecture's name
 * @event: event number, 12 bits on AMD
 * @umask: unit mask; the event counts if all of these bits are set in the register's unit mask
 * @counters: mask of the general counters that can count it
 * @what: name of the set of raw totals
 * @source: where the code is published
 */
struct sim_event {
	const char *uarch;
	uint16_t event;
	uint8_t umask;
	uint8_t counters;
	const char *what;
	const char *source;
};

/* The rows, and how many. */
const struct sim_event *sim_events(size_t *count);

/* Whether a microarchitecture has rows. */
bool sim_uarch_known(const char *uarch);

/* The set with this name; false where there is none. The empty set is called "none". */
bool sim_event_set(const char *what, uint64_t *raws);

/* The n-th name of a set, NULL behind the last one. */
const char *sim_event_set_name(size_t n);

#endif
