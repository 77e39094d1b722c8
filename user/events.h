/* SPDX-License-Identifier: GPL-2.0-only */
/* From the name of an event to what the module programs: abstract, table, libpfm4 and raw names. */
#ifndef CALM_EVENTS_H
#define CALM_EVENTS_H

#include "data.h"
#include "events_table.h"
#include "util.h"

/* What is counted where nothing else is asked for. */
#define CALM_EVENTS_DEFAULT "l1-miss,l2-miss,l3-miss,dtlb-miss"

/**
 * calm_events_find_uarch() - the events of a microarchitecture
 * @name: its name, or an empty one
 *
 * Return: the events, or NULL if none are known.
 */
const struct calm_events_uarch *calm_events_find_uarch(const char *name);

/**
 * calm_events_identify() - the events of a processor, without the module
 * @machine: its vendor, family, model and stepping
 *
 * Return: the events, or NULL if none are known; also on a hybrid part, whose CPUs differ.
 */
const struct calm_events_uarch *calm_events_identify(const struct calm_machine *machine);

/**
 * calm_events_resolve() - find one event
 * @processor: the CPU that is to count it
 * @word: its name
 * @event: out; to be freed by calm_events_free()
 * @error: filled on failure: names the word, and what is near it
 *
 * A name is an abstract one, one of the table, one of libpfm4 with its attributes, fixedN, or a
 * code: r and hexadecimal digits as they stand in the event select, with :cmask=N, :umask2=N,
 * :inv and :edge behind it.
 *
 * Return: 0 or -EINVAL.
 */
int calm_events_resolve(const struct calm_processor *processor, const char *word,
			struct calm_event *event, struct calm_error *error);

/**
 * calm_events_resolve_list() - find all events of a list
 * @processor: the CPU that is to count them
 * @words: names, separated by commas
 * @list: grows
 * @lenient: leave out what the CPU does not have, and note it in @list
 * @error: filled on failure
 *
 * Return: 0 or -EINVAL.
 */
int calm_events_resolve_list(const struct calm_processor *processor, const char *words,
			     struct calm_events *list, bool lenient, struct calm_error *error);

/**
 * calm_events_cycles() - what counts core cycles on a CPU
 * @processor: the CPU
 * @event: out; to be freed by calm_events_free()
 *
 * The fixed counter where there is one. Known without the table too: Intel's architectural event
 * 3CH and AMD's event 76H are the same on all their processors.
 */
void calm_events_cycles(const struct calm_processor *processor, struct calm_event *event);

/**
 * calm_events_is_same() - whether two events count the same
 * @a: one
 * @b: another
 *
 * Return: true if they have one code.
 */
bool calm_events_is_same(const struct calm_event *a, const struct calm_event *b);

/**
 * calm_events_free() - give an event's memory back
 * @event: the event
 */
void calm_events_free(struct calm_event *event);

/**
 * calm_events_free_list() - give a list's memory back
 * @list: the list
 */
void calm_events_free_list(struct calm_events *list);

/**
 * calm_events_row() - an event of the table
 * @row: its row
 * @event: out; to be freed by calm_events_free()
 */
void calm_events_row(const struct calm_events_row *row, struct calm_event *event);

/**
 * calm_events_add() - put an event behind a list
 * @list: grows
 * @event: taken over
 */
void calm_events_add(struct calm_events *list, const struct calm_event *event);

#endif
