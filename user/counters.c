// SPDX-License-Identifier: GPL-2.0-only
/* Which counters and which events of a CPU can be trusted, found with loops of known counts. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/calm.h>

#include "counters.h"
#include "stats.h"

/* Instructions retired: architectural event 0 of Intel, PMCx0C0 of AMD. */
#define SELECT_INSTRUCTIONS 0x00c0

#define SELF_TEST_BYTES 4096
#define SELF_TEST_LOADS 4096ULL

/* The chase's loop holds 64 loads, a decrement and a branch: kmod/loops/chase.c. */
#define SELF_TEST_COUNT (SELF_TEST_LOADS + 2 * SELF_TEST_LOADS / 64)

/* A count may be off by one in a hundred, if a machine disturbs the loop. */
#define SELF_TEST_SHARE 0.01

#define CALIBRATE_ADDS 65536ULL

#define PAGE_BYTES 4096ULL

/*
 * Lines of which a chase reads the first one. A prefetcher may fetch the other one of the pair with
 * it (Intel, "Disclosure of H/W prefetcher control", L2 adjacent cache line), or the next one:
 * which no load then asks for.
 */
#define CHASE_LINES 2

/* Known counts: of an event that counts once a load, and of one that never does. */
#define RATE_HIGH_ERROR 0.02
#define RATE_LOW	0.01

/* A smaller buffer than 8 times the capacity is enough while the chain cannot fit. */
#define HIGH_TIMES  8
#define HIGH_LEAST  4
#define LOW_PART    4

/* Accesses of a pass that a rate is taken from, at least. */
#define LOADS_LEAST 16384ULL

/* ---- sharing out ---- */

static bool assign(const struct calm_event *const *events, size_t count, uint64_t taken)
{
	uint64_t choices;

	if (!count)
		return true;
	if (events[0]->is_fixed) {
		uint64_t bit = 1ULL << (32 + events[0]->fixed);

		return !(taken & bit) && assign(events + 1, count - 1, taken | bit);
	}
	for (choices = events[0]->counters & UINT32_MAX & ~taken; choices; choices &= choices - 1)
		if (assign(events + 1, count - 1, taken | (choices & -choices)))
			return true;
	return false;
}

static bool fits(struct calm_counters_group *group, const struct calm_event *event, size_t place,
		 size_t most)
{
	if (group->count == most)
		return false;
	group->events[group->count] = event;
	group->place[group->count] = place;
	if (!assign(group->events, group->count + 1, 0))
		return false;
	group->count++;
	return true;
}

size_t calm_counters_group(const struct calm_events *events, size_t most,
			   struct calm_counters_group *groups)
{
	size_t count = 0, i, g;

	for (i = 0; i < events->count; i++) {
		if (events->events[i].reason)
			continue;
		for (g = 0; g < count; g++)
			if (fits(&groups[g], &events->events[i], i, most))
				break;
		if (g < count)
			continue;
		groups[count].count = 0;
		fits(&groups[count++], &events->events[i], i, most);
	}
	return count;
}

void calm_counters_restrict(const struct calm_counters *counters, struct calm_event *event)
{
	if (event->reason)
		return;
	if (counters->why[0]) {
		event->reason = calm_text("%s", counters->why);
		return;
	}
	event->counters &= counters->general;
	if (event->is_fixed ? !(counters->fixed >> event->fixed & 1) : !event->counters)
		event->reason = calm_text("no counter that works here can count it");
}

/* ---- running ---- */

static struct calm_point point_of(const struct calm_counters *counters, uint64_t bytes)
{
	return (struct calm_point){
		.loop = "chase",
		.cpu = counters->processor->id,
		.node = counters->node,
		.requested_size_bytes = bytes,
		.size_bytes = bytes,
		.stride_bytes = 64,
		.pages = CALM_PAGES_4K,
		.order = CALM_ORDER_RANDOM,
		.loads = SELF_TEST_LOADS,
		.rounds = 1,
		.samples = 3,
		.warmup = 1,
		.seed = 1,
		.flags = CALM_F_TWO_LENGTHS,
	};
}

static int run(const struct calm_counters *counters, const struct calm_point *point,
	       struct calm_result *result, struct calm_error *error)
{
	int err;

	memset(result, 0, sizeof(*result));
	err = counters->backend->measure(counters->state, point, result, counters->watch, error);
	if (!err && result->state != CALM_STATE_DONE)
		err = calm_error_set(error, CALM_EXIT_FAILED, -ECANCELED, "ended early");
	return err;
}

static void result_free(struct calm_result *result)
{
	free(result->samples);
	free(result->rounds);
}

/* ---- counters ---- */

/**
 * struct trial - a counter on trial
 * @event: what it counts
 * @name: its name
 * @is_cycles: that is cycles, else instructions
 * @counts: it counts
 * @text: what is wrong with it
 * @err: 0, or why its job did not end well
 * @status: exit status of that
 */
struct trial {
	struct calm_event event;
	char name[24];
	bool is_cycles;
	bool counts;
	char text[1024];
	int err;
	enum calm_exit status;
};

#define TRIALS_MAX 64

static size_t list_trials(const struct calm_pmu_info *pmu, struct trial *trials)
{
	size_t count = 0, i;

	for (i = 0; i < 32; i++) {
		if (!(pmu->general >> i & 1))
			continue;
		trials[count] = (struct trial){
			.event = { .select = SELECT_INSTRUCTIONS, .counters = 1ULL << i },
		};
		snprintf(trials[count++].name, sizeof(trials->name), "counter %zu", i);
	}
	/* fixed counters: 0 instructions, 1 core cycles (SDM vol. 3, IA32_FIXED_CTR0) */
	for (i = 0; i < 2; i++) {
		if (!(pmu->fixed >> i & 1))
			continue;
		trials[count] = (struct trial){
			.event = { .is_fixed = true, .fixed = (uint32_t)i },
			.is_cycles = i == 1,
		};
		snprintf(trials[count++].name, sizeof(trials->name), "fixed counter %zu", i);
	}
	return count;
}

/* Cycles are not known to the one; a load takes more than one, and here fewer than a hundred. */
static void judge(struct trial *trial, double counted)
{
	double share = fabs(counted / (double)SELF_TEST_COUNT - 1);

	trial->counts = trial->is_cycles ? counted >= SELF_TEST_LOADS &&
						   counted <= 100.0 * SELF_TEST_LOADS :
					   share <= SELF_TEST_SHARE;
	snprintf(trial->text, sizeof(trial->text), "it counted %.0f %s where %s%llu were expected",
		 counted, trial->is_cycles ? "cycles" : "instructions",
		 trial->is_cycles ? "at least " : "",
		 trial->is_cycles ? SELF_TEST_LOADS : SELF_TEST_COUNT);
}

static double median_growth(const struct calm_result *result, size_t index)
{
	double *growth = calm_alloc(result->n_samples, sizeof(*growth)), median;
	size_t i;

	for (i = 0; i < result->n_samples; i++)
		growth[i] = (double)(int64_t)(result->samples[i].count_double[index] -
					      result->samples[i].count[index]);
	median = result->n_samples ? calm_stats_median(growth, result->n_samples) : 0;
	free(growth);
	return median;
}

static int try_counters(const struct calm_counters *counters, struct trial *trials, size_t count,
			struct calm_error *error)
{
	struct calm_point point = point_of(counters, SELF_TEST_BYTES);
	const struct calm_event *events[CALM_COUNTERS_MAX];
	struct calm_result result;
	size_t i;
	int err;

	for (i = 0; i < count; i++)
		events[i] = &trials[i].event;
	point.events = events;
	point.n_events = count;
	err = run(counters, &point, &result, error);
	for (i = 0; !err && i < count; i++)
		judge(&trials[i], median_growth(&result, i));
	result_free(&result);
	return err;
}

/* All at once; if that fails, one by one, to find out which it is. */
static void try_group(const struct calm_counters *counters, struct trial *trials, size_t count)
{
	struct calm_error error;
	size_t i;

	if (!try_counters(counters, trials, count, &error))
		return;
	for (i = 0; i < count; i++) {
		trials[i].err = try_counters(counters, &trials[i], 1, &error);
		if (!trials[i].err)
			continue;
		trials[i].status = error.status;
		snprintf(trials[i].text, sizeof(trials[i].text), "%s", error.text);
	}
}

/* Another job, or no module any more: that tells nothing of a counter. */
static bool was_tried(const struct trial *trial)
{
	return trial->err != -EBUSY && trial->status != CALM_EXIT_MODULE;
}

static void note_counters(struct calm_counters *counters, struct trial *trials, size_t count,
			  void (*notice)(void *arg, char *text), void *arg)
{
	size_t i;

	for (i = 0; i < count; i++) {
		const struct calm_event *event = &trials[i].event;

		if (!trials[i].counts)
			continue;
		if (event->is_fixed)
			counters->fixed |= 1ULL << event->fixed;
		else
			counters->general |= event->counters;
	}
	if (!counters->general && !counters->fixed &&
	    (trials[0].status == CALM_EXIT_PERMISSION || !was_tried(&trials[0]))) {
		counters->status = trials[0].status;
		counters->err = was_tried(&trials[0]) ? 0 : trials[0].err;
		snprintf(counters->why, sizeof(counters->why), "%s", trials[0].text);
		return;
	}
	if (!counters->general && !counters->fixed) {
		snprintf(counters->why, sizeof(counters->why), "no counter works here: %s: %s",
			 trials[0].name, trials[0].text);
		return;
	}
	for (i = 0; i < count; i++)
		if (!trials[i].counts)
			notice(arg, calm_text("%s is not used: %s", trials[i].name,
					      trials[i].text));
}

void calm_counters_test(struct calm_counters *counters, void (*notice)(void *arg, char *text),
			void *arg)
{
	struct trial *trials;
	size_t count, i, n;

	counters->general = 0;
	counters->fixed = 0;
	counters->why[0] = '\0';
	counters->status = CALM_EXIT_ABSENT;
	counters->err = 0;
	if (!counters->processor->pmu.style) {
		snprintf(counters->why, sizeof(counters->why),
			 "the CPU has no performance counters that can be used");
		return;
	}
	trials = calm_alloc(TRIALS_MAX, sizeof(*trials));
	count = list_trials(&counters->processor->pmu, trials);
	for (i = 0; i < count; i += n) {
		n = count - i < CALM_COUNTERS_MAX ? count - i : CALM_COUNTERS_MAX;
		try_group(counters, trials + i, n);
	}
	note_counters(counters, trials, count, notice, arg);
	/* the other fixed counters have the same registers; nothing known counts with them */
	if (counters->fixed)
		counters->fixed |= counters->processor->pmu.fixed & ~3ULL;
	free(trials);
}

void calm_counters_calibrate(struct calm_counters *counters)
{
	struct calm_point point = point_of(counters, SELF_TEST_BYTES);
	struct calm_result result;
	struct calm_error error;
	struct calm_stats stats;

	counters->core_per_tsc = 0;
	point.loop = "turn";
	point.loads = CALIBRATE_ADDS;
	point.samples = 9;
	point.flags |= CALM_F_APERF;
	if (!run(counters, &point, &result, &error) && !calm_stats_has_clocks(&result)) {
		calm_stats_point(&result, &stats);
		if (stats.tsc_two_lengths.valid && stats.tsc_two_lengths.median > 0)
			counters->core_per_tsc = 1 / stats.tsc_two_lengths.median;
	}
	result_free(&result);
}

/* ---- events ---- */

/* Known counts, by the name that abstract events and the table use. */
static const struct known {
	const char *name;
	unsigned int level;
	uint64_t high_bytes;
	uint64_t low_bytes;
	uint32_t pages;
} knowns[] = {
	{ "l1-miss", 1, 0, 0, CALM_PAGES_2M },
	{ "l2-miss", 2, 0, 0, CALM_PAGES_2M },
	{ "l3-miss", 3, 0, 0, CALM_PAGES_2M },
	/* one line in each page, so many that no TLB holds them, and so few that each does */
	{ "dtlb-miss", 0, 4096 * PAGE_BYTES, 8 * PAGE_BYTES, CALM_PAGES_4K },
	{ "walks", 0, 32768 * PAGE_BYTES, 64 * PAGE_BYTES, CALM_PAGES_4K },
};

#define N_KNOWNS CALM_ARRAY_SIZE(knowns)

static const struct known *known_of(const struct calm_event *event)
{
	size_t i;

	for (i = 0; event->known && i < N_KNOWNS; i++)
		if (!strcmp(knowns[i].name, event->known))
			return &knowns[i];
	return NULL;
}

/**
 * struct chase - a chase that a known count is compared with
 * @bytes: size of its buffer
 * @stride: distance of its elements
 * @pages: enum calm_pages
 * @begin: elements stand at the beginning of their stride, not anywhere in it
 */
struct chase {
	uint64_t bytes;
	uint32_t stride;
	uint32_t pages;
	bool begin;
};

/* Returns false if the chase is not possible here. */
static bool chase_of(const struct calm_counters *counters, const struct known *known, bool high,
		     struct chase *chase)
{
	const struct calm_cache *cache;
	uint64_t times = HIGH_TIMES;

	if (!known->level) {
		*chase = (struct chase){ high ? known->high_bytes : known->low_bytes,
					 PAGE_BYTES, known->pages, false };
		return chase->bytes <= counters->max_bytes;
	}
	if (known->level > counters->machine->n_caches)
		return false;
	cache = &counters->machine->caches[known->level - 1];
	while (high && times > HIGH_LEAST && times * cache->size_bytes > counters->max_bytes)
		times--;
	*chase = (struct chase){ high ? times * cache->size_bytes : cache->size_bytes / LOW_PART,
				 CHASE_LINES * (cache->line_bytes > 64 ? cache->line_bytes : 64),
				 known->pages, true };
	return chase->bytes <= counters->max_bytes;
}

/* Has elements stand at the beginning of their strides. */
static void put_at_begin(struct calm_point *point)
{
	point->layouts[0] = (struct calm_layout){
		.lines = point->size_bytes / point->stride_bytes,
		.block = 1,
		.stride_bytes = point->stride_bytes,
		.step_bytes = CALM_STRIDE_MIN,
		.places = 1,
		.place_bytes = CALM_STRIDE_MIN,
	};
	point->n_layouts = 1;
}

/* Counts per load of all events that can still be counted; NAN where there is none. */
static int rates_of(const struct calm_counters *counters, const struct calm_events *events,
		    const struct chase *chase, double *rates, struct calm_error *error)
{
	struct calm_counters_group *groups = calm_alloc(events->count, sizeof(*groups));
	struct calm_point point = point_of(counters, chase->bytes);
	size_t n_groups = calm_counters_group(events, CALM_COUNTERS_MAX, groups), g, i;
	uint64_t lines = chase->bytes / chase->stride;
	struct calm_result result;
	struct calm_count count;
	int err = 0;

	point.stride_bytes = chase->stride;
	if (chase->begin)
		put_at_begin(&point);
	point.pages = chase->pages;
	point.loads = lines * ((LOADS_LEAST + lines - 1) / lines);
	point.samples = 1;
	point.flags = 0;
	point.settings = counters->setting;
	point.n_settings = counters->setting ? 1 : 0;
	for (i = 0; i < events->count; i++)
		rates[i] = NAN;
	for (g = 0; !err && g < n_groups; g++) {
		point.events = groups[g].events;
		point.n_events = groups[g].count;
		err = run(counters, &point, &result, error);
		for (i = 0; !err && i < groups[g].count; i++) {
			calm_stats_count(&result, i, &count);
			if (count.per_access.valid)
				rates[groups[g].place[i]] = count.per_access.median;
		}
		result_free(&result);
	}
	free(groups);
	return err;
}

static void fail(struct calm_event *event, char *reason)
{
	if (event->reason)
		free(reason);
	else
		event->reason = reason;
}

static void judge_rate(const struct calm_counters *counters, struct calm_event *event, double rate,
		       bool high, const struct chase *chase)
{
	bool ahead = high && rate > 0 && rate < 1 && !counters->setting;
	char size[CALM_SIZE_TEXT_MAX];

	if (isnan(rate) || (high ? fabs(rate - 1) <= RATE_HIGH_ERROR : fabs(rate) < RATE_LOW))
		return;
	fail(event, calm_text("it counted %.4f per load in a chase through %s, expected %s%s", rate,
			      calm_size_text(size, chase->bytes),
			      high ? "1.00 within 0.02" : "less than 0.01",
			      ahead ? "; a prefetcher may read ahead, see --prefetch off" : ""));
}

/* No level is missed more often than the one before it. */
static void judge_order(struct calm_events *events, const double *rates)
{
	size_t i, j;

	for (i = 0; i < events->count; i++) {
		const struct known *outer = known_of(&events->events[i]);

		for (j = 0; outer && outer->level && j < events->count; j++) {
			const struct known *inner = known_of(&events->events[j]);

			if (!inner || !inner->level || inner->level >= outer->level ||
			    isnan(rates[i]) || isnan(rates[j]) || events->events[j].reason ||
			    rates[i] <= rates[j] + RATE_LOW)
				continue;
			fail(&events->events[i],
			     calm_text("it counted %.4f per load, more than the %.4f of %s",
				       rates[i], rates[j], events->events[j].name));
		}
	}
}

/* One chase, for all events that have this known count. */
static void test_known(const struct calm_counters *counters, struct calm_events *events,
		       const struct known *known, bool high)
{
	double *rates = calm_alloc(events->count, sizeof(*rates));
	struct calm_error error = { CALM_EXIT_DONE, "" };
	bool possible, done;
	struct chase chase = { 0 };
	size_t i;

	possible = chase_of(counters, known, high, &chase);
	done = possible && !rates_of(counters, events, &chase, rates, &error);
	for (i = 0; i < events->count; i++) {
		struct calm_event *event = &events->events[i];

		if (known_of(event) != known)
			continue;
		if (done)
			judge_rate(counters, event, rates[i], high, &chase);
		else
			fail(event, calm_text("its test is not possible here: %s",
					      possible ? error.text :
					      "no such cache is known, or too little memory"));
		event->tested = done;
	}
	if (done)
		judge_order(events, rates);
	free(rates);
}

static bool is_wanted(const struct calm_events *events, const struct known *known)
{
	size_t i;

	for (i = 0; i < events->count; i++)
		if (!events->events[i].reason && known_of(&events->events[i]) == known)
			return true;
	return false;
}

/* Instructions and cycles were counted by the counters' own test. */
static void mark_tested(struct calm_event *event)
{
	if (!event->reason && event->known &&
	    (!strcmp(event->known, "instructions") || !strcmp(event->known, "cycles")))
		event->tested = true;
}

void calm_counters_test_events(const struct calm_counters *counters, struct calm_events *events)
{
	size_t i;

	for (i = 0; i < events->count; i++)
		mark_tested(&events->events[i]);
	for (i = 0; i < N_KNOWNS; i++) {
		if (is_wanted(events, &knowns[i]))
			test_known(counters, events, &knowns[i], true);
		if (is_wanted(events, &knowns[i]))
			test_known(counters, events, &knowns[i], false);
	}
}
