/* SPDX-License-Identifier: GPL-2.0-only */
/* Which counters and which events of a CPU can be trusted, found with loops of known counts. */
#ifndef CALM_COUNTERS_H
#define CALM_COUNTERS_H

#include "backend/backend.h"
#include "data.h"
#include "util.h"

/**
 * struct calm_counters - the counters of a CPU
 * @backend: takes the samples
 * @state: the backend's own
 * @watch: eyes of the caller
 * @processor: the CPU
 * @node: memory node, -1 for that of the CPU
 * @machine: its caches, and the rate of the TSC
 * @max_bytes: largest buffer that can be had
 * @setting: state of prefetchers that events are tested in, NULL to leave them as found
 * @general: mask of general counters that count
 * @fixed: mask of fixed counters that count
 * @why: why none can be used, or empty
 * @status: exit status of that, for whom it matters
 * @err: negative errno where they could not be tried, for what is not their fault; else 0
 * @core_per_tsc: core cycles in a TSC tick as calibrated, or 0
 */
struct calm_counters {
	const struct calm_backend *backend;
	void *state;
	const struct calm_watch *watch;
	const struct calm_processor *processor;
	int32_t node;
	const struct calm_machine *machine;
	uint64_t max_bytes;
	const struct calm_setting *setting;
	uint64_t general;
	uint64_t fixed;
	char why[1152];
	enum calm_exit status;
	int err;
	double core_per_tsc;
};

/**
 * calm_counters_test() - count a known number of instructions with each counter
 * @counters: the first fields are filled; the others are found
 * @notice: is told of counters that do not count; takes the text over
 * @arg: for @notice
 *
 * No counter at all is no failure: @counters->why tells. @counters->err does where that is not
 * known, since another job is running or the module has gone.
 */
void calm_counters_test(struct calm_counters *counters, void (*notice)(void *arg, char *text),
			void *arg);

/**
 * calm_counters_calibrate() - find the core clock by additions of a cycle each
 * @counters: @core_per_tsc is filled, or 0 if the CPU has APERF and MPERF
 */
void calm_counters_calibrate(struct calm_counters *counters);

/**
 * calm_counters_restrict() - leave an event only the counters that count
 * @counters: tested
 * @event: its mask is cut; it gets a reason if none is left
 */
void calm_counters_restrict(const struct calm_counters *counters, struct calm_event *event);

/**
 * calm_counters_test_events() - compare events with known counts
 * @counters: tested
 * @events: restricted; those that fail get a reason
 *
 * A chase through each second line of 8 times the capacity of a level misses it once a load, one
 * through a quarter of it never; no level misses more often than the one before it.
 */
void calm_counters_test_events(const struct calm_counters *counters, struct calm_events *events);

/**
 * struct calm_counters_group - events that are counted at once
 * @events: the events
 * @place: where each is in the list
 * @count: how many
 */
struct calm_counters_group {
	const struct calm_event *events[CALM_COUNTERS_MAX];
	size_t place[CALM_COUNTERS_MAX];
	size_t count;
};

/**
 * calm_counters_group() - share events out over runs, so that each run has enough counters
 * @events: restricted; those with a reason are left out
 * @most: events that a run of the measured loop can count
 * @groups: out: room for as many as there are events
 *
 * Return: how many groups.
 */
size_t calm_counters_group(const struct calm_events *events, size_t most,
			   struct calm_counters_group *groups);

#endif
