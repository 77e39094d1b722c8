// SPDX-License-Identifier: GPL-2.0-only
/* Which counters and events are trusted, with a machine made by hand instead of the module. */
#include <errno.h>
#include <string.h>

#include <kselftest_harness.h>

#include <linux/calm.h>

#include "counters.h"

#define K 1024ULL
#define M (1024 * K)

/**
 * struct fake - a machine
 * @dead: general counters that read 0
 * @garbage: general counters that read anything
 * @refused: general counters that end a job
 * @busy: another job is running
 * @no_clocks: there is no APERF
 * @rates: misses of each level once a chase does not fit: by the unit mask, 1 to 3
 * @leak: misses in a chase that fits
 * @jobs: jobs so far
 * @last: what the last one measured
 */
struct fake {
	uint64_t dead;
	uint64_t garbage;
	uint64_t refused;
	bool busy;
	bool no_clocks;
	double rates[4];
	double leak;
	unsigned int jobs;
	struct calm_point last;
};

static const struct calm_machine machine = {
	.tsc_hz = 1e9,
	.caches = { { "L1d", 32 * K, 64, 8, "0" }, { "L2", 512 * K, 64, 8, "0" },
		    { "L3", 4 * M, 64, 16, "0" } },
	.n_caches = 3,
};

static const struct calm_processor processor = {
	.pmu = { CALM_PMU_INTEL, 4, 0xf, 0x7, 48, 48 },
};

/* An event's unit mask says which level's misses it counts; event C0 counts instructions. */
static uint64_t counts_of(const struct fake *fake, const struct calm_point *point,
			  const struct calm_event *event, uint64_t loads)
{
	uint64_t level = event->select >> 8 & 3;

	if (event->is_fixed)
		return event->fixed ? 5 * loads : loads + 2 * loads / 64;
	if (event->counters & fake->dead)
		return 0;
	if (event->counters & fake->garbage)
		return loads * loads;
	if ((event->select & 0xff) == 0xc0)
		return loads + 2 * loads / 64;
	if (point->size_bytes > machine.caches[level - 1].size_bytes)
		return (uint64_t)(fake->rates[level] * (double)loads);
	return (uint64_t)(fake->leak * (double)loads);
}

static int measure(void *state, const struct calm_point *point, struct calm_result *result,
		   const struct calm_watch *watch, struct calm_error *error)
{
	struct fake *fake = state;
	size_t i, j;

	fake->jobs++;
	fake->last = *point;
	if (fake->busy)
		return calm_error_set(error, CALM_EXIT_FAILED, -EBUSY, "another job is running");
	for (i = 0; i < point->n_events; i++)
		if (!point->events[i]->is_fixed && point->events[i]->counters & fake->refused)
			return calm_error_set(error, CALM_EXIT_FAILED, -EIO,
					      "the job failed: it is refused");
	result->effective = *point;
	result->state = CALM_STATE_DONE;
	result->total = point->rounds * point->samples;
	result->samples = calm_alloc(result->total, sizeof(*result->samples));
	result->n_samples = result->total;
	for (i = 0; i < result->total; i++) {
		struct calm_sample *sample = &result->samples[i];

		sample->index = (uint32_t)i;
		sample->windows = 1;
		sample->tsc = 100 + (int64_t)point->loads / 2;
		sample->tsc_empty = 100;
		sample->has_double = true;
		sample->tsc_double = 100 + (int64_t)point->loads;
		sample->has_clocks = true;
		sample->aperf = fake->no_clocks ? 0 : 1;
		sample->mperf = fake->no_clocks ? 0 : 1;
		sample->n_counts = (uint32_t)point->n_events;
		for (j = 0; j < point->n_events; j++) {
			sample->count[j] = counts_of(fake, point, point->events[j], point->loads);
			sample->count_double[j] =
				counts_of(fake, point, point->events[j], 2 * point->loads);
		}
	}
	return 0;
}

static const struct calm_backend backend = { .name = "fake", .measure = measure };

static bool never(void *arg)
{
	return false;
}

static void nothing(const struct calm_result *result, void *arg)
{
}

static const struct calm_watch watch = { never, nothing, NULL };

/**
 * struct notices - what was said
 * @text: the notices
 * @count: how many
 */
struct notices {
	char *text[8];
	size_t count;
};

FIXTURE(counters) {
	struct fake fake;
	struct calm_counters counters;
	struct notices notices;
};

FIXTURE_SETUP(counters)
{
	self->fake = (struct fake){ .rates = { 0, 1, 1, 1 } };
	self->notices.count = 0;
	self->counters = (struct calm_counters){
		.backend = &backend,
		.state = &self->fake,
		.watch = &watch,
		.processor = &processor,
		.node = -1,
		.machine = &machine,
		.max_bytes = 1024 * M,
	};
}

FIXTURE_TEARDOWN(counters)
{
	size_t i;

	for (i = 0; i < self->notices.count; i++)
		free(self->notices.text[i]);
}

static void keep(void *arg, char *text)
{
	struct notices *notices = arg;

	notices->text[notices->count++] = text;
}

TEST_F(counters, all_work)
{
	calm_counters_test(&self->counters, keep, &self->notices);
	EXPECT_EQ(0xf, self->counters.general);
	EXPECT_EQ(0x7, self->counters.fixed);
	EXPECT_STREQ("", self->counters.why);
	EXPECT_EQ(0, self->notices.count);
	EXPECT_EQ(1, self->fake.jobs);
}

TEST_F(counters, the_bad_ones_are_named)
{
	self->fake.dead = 1;
	self->fake.garbage = 2;
	calm_counters_test(&self->counters, keep, &self->notices);
	EXPECT_EQ(0xc, self->counters.general);
	ASSERT_EQ(2, self->notices.count);
	EXPECT_STREQ("counter 0 is not used: it counted 0 instructions where 4224 were expected",
		     self->notices.text[0]);
	EXPECT_EQ(0, strncmp("counter 1 is not used: it counted ", self->notices.text[1], 34));
}

TEST_F(counters, one_that_ends_its_job_is_found)
{
	self->fake.refused = 8;
	calm_counters_test(&self->counters, keep, &self->notices);
	EXPECT_EQ(0x7, self->counters.general);
	EXPECT_EQ(0x7, self->counters.fixed);
	ASSERT_EQ(1, self->notices.count);
	EXPECT_STREQ("counter 3 is not used: the job failed: it is refused", self->notices.text[0]);
}

TEST_F(counters, none_is_there)
{
	static const struct calm_processor bare = { .id = 1 };

	self->counters.processor = &bare;
	calm_counters_test(&self->counters, keep, &self->notices);
	EXPECT_STREQ("the CPU has no performance counters that can be used", self->counters.why);
	EXPECT_EQ(0, self->fake.jobs);
}

/* That no counter works would be told of a machine where each one does. */
TEST_F(counters, another_job_says_nothing_of_them)
{
	self->fake.busy = true;
	calm_counters_test(&self->counters, keep, &self->notices);
	EXPECT_STREQ("another job is running", self->counters.why);
	EXPECT_EQ(-EBUSY, self->counters.err);
	EXPECT_EQ(CALM_EXIT_FAILED, self->counters.status);
	EXPECT_EQ(0, self->notices.count);
	self->fake.busy = false;
	self->fake.dead = ~0ULL;
	calm_counters_test(&self->counters, keep, &self->notices);
	EXPECT_EQ(0, self->counters.err);
}

TEST_F(counters, the_core_clock_is_calibrated_without_aperf_only)
{
	calm_counters_calibrate(&self->counters);
	EXPECT_EQ(0, self->counters.core_per_tsc);
	self->fake.no_clocks = true;
	calm_counters_calibrate(&self->counters);
	/* half a tick for an addition */
	EXPECT_EQ(2, self->counters.core_per_tsc);
}

static struct calm_event event_of(unsigned int level)
{
	static const char *const names[] = { "l1-miss", "l2-miss", "l3-miss" };

	return (struct calm_event){
		.name = (char *)names[level - 1],
		.select = 0xd1 | level << 8,
		.counters = 0xf,
		.known = names[level - 1],
	};
}

#define HIGH ", expected 1.00 within 0.02"
#define AHEAD "; a prefetcher may read ahead, see --prefetch off"

static const struct {
	int line;
	double rates[4];
	double leak;
	const char *reasons[3];
} tests[] = {
	{ __LINE__, { 0, 1, 1, 1 }, 0, { NULL, NULL, NULL } },
	{ __LINE__, { 0, 1.019, 0.981, 0.981 }, 0.009, { NULL, NULL, NULL } },
	{ __LINE__, { 0, 1, 1.021, 1 }, 0,
	  { NULL, "it counted 1.0210 per load in a chase through 4M, expected 1.00 within 0.02",
	    NULL } },
	{ __LINE__, { 0, 1, 1, 0 }, 0,
	  { NULL, NULL,
	    "it counted 0.0000 per load in a chase through 32M, expected 1.00 within 0.02" } },
	{ __LINE__, { 0, 1, 1, 1 }, 0.011,
	  { "it counted 0.0110 per load in a chase through 8K, expected less than 0.01",
	    "it counted 0.0110 per load in a chase through 128K, expected less than 0.01",
	    "it counted 0.0110 per load in a chase through 1M, expected less than 0.01" } },
	{ __LINE__, { 0, 1, 0.94, 0.94 }, 0,
	  { NULL,
	    "it counted 0.9400 per load in a chase through 4M" HIGH AHEAD,
	    "it counted 0.9400 per load in a chase through 32M" HIGH AHEAD } },
	/* each within its own bounds, but more misses of the third level than of the second */
	{ __LINE__, { 0, 1.01, 0.985, 1.01 }, 0,
	  { NULL, NULL, "it counted 1.0100 per load, more than the 0.9850 of l2-miss" } },
};

TEST_F(counters, events_must_count_what_is_known)
{
	size_t i, j;

	self->counters.general = 0xf;
	for (i = 0; i < CALM_ARRAY_SIZE(tests); i++) {
		struct calm_event events[] = { event_of(1), event_of(2), event_of(3) };
		struct calm_events list = { events, 3, 3 };

		memcpy(self->fake.rates, tests[i].rates, sizeof(self->fake.rates));
		self->fake.leak = tests[i].leak;
		calm_counters_test_events(&self->counters, &list);
		for (j = 0; j < 3; j++) {
			EXPECT_TRUE(events[j].tested);
			EXPECT_EQ(!tests[i].reasons[j], !events[j].reason)
				TH_LOG("line %d, event %zu", tests[i].line, j);
			if (tests[i].reasons[j] && events[j].reason)
				EXPECT_STREQ(tests[i].reasons[j], events[j].reason)
					TH_LOG("line %d, event %zu", tests[i].line, j);
			free(events[j].reason);
		}
	}
}

TEST_F(counters, a_chase_reads_each_second_line_with_prefetchers_as_the_run_has_them)
{
	static const struct calm_setting off = { .label = (char *)"off", .all = CALM_PREFETCH_OFF };
	static const struct calm_setting *const settings[] = { NULL, &off };
	size_t i;

	self->counters.general = 0xf;
	for (i = 0; i < CALM_ARRAY_SIZE(settings); i++) {
		struct calm_event events[] = { event_of(2) };
		struct calm_events list = { events, 1, 1 };

		self->counters.setting = settings[i];
		calm_counters_test_events(&self->counters, &list);
		EXPECT_EQ(NULL, events[0].reason);
		EXPECT_EQ(settings[i], self->fake.last.settings);
		EXPECT_EQ(i, self->fake.last.n_settings);
		ASSERT_EQ(1, self->fake.last.n_layouts);
		EXPECT_EQ(2 * 64, self->fake.last.layouts[0].stride_bytes);
		EXPECT_EQ(self->fake.last.size_bytes / (2 * 64), self->fake.last.layouts[0].lines);
		EXPECT_EQ(0, self->fake.last.loads % self->fake.last.layouts[0].lines);
	}
}

TEST_F(counters, without_memory_for_its_test_an_event_is_not_shown)
{
	struct calm_event events[] = { event_of(1), event_of(3) };
	struct calm_events list = { events, 2, 2 };

	self->counters.max_bytes = 15 * M;
	calm_counters_test_events(&self->counters, &list);
	EXPECT_EQ(NULL, events[0].reason);
	EXPECT_TRUE(events[0].tested);
	EXPECT_STREQ("its test is not possible here: no such cache is known, or too little memory",
		     events[1].reason);
	EXPECT_FALSE(events[1].tested);
	free(events[1].reason);
}

TEST_F(counters, an_event_is_left_the_counters_that_work)
{
	struct calm_event fixed = { .name = "f", .is_fixed = true, .fixed = 1 };
	struct calm_event event = event_of(1);

	self->counters.general = 0x6;
	self->counters.fixed = 0x1;
	calm_counters_restrict(&self->counters, &event);
	EXPECT_EQ(0x6, event.counters);
	EXPECT_EQ(NULL, event.reason);
	calm_counters_restrict(&self->counters, &fixed);
	EXPECT_STREQ("no counter that works here can count it", fixed.reason);
	free(fixed.reason);
	self->counters.general = 0xf0;
	calm_counters_restrict(&self->counters, &event);
	EXPECT_STREQ("no counter that works here can count it", event.reason);
	free(event.reason);
}

static const struct {
	int line;
	uint64_t counters[9];
	size_t count;
	size_t groups;
	size_t first;
} shares[] = {
	{ __LINE__, { 0xf, 0xf, 0xf, 0xf }, 4, 1, 4 },
	{ __LINE__, { 0xf, 0xf, 0xf, 0xf, 0xf }, 5, 2, 4 },
	/* one choice must give way to another */
	{ __LINE__, { 0x3, 0x1 }, 2, 1, 2 },
	{ __LINE__, { 0x7, 0x3, 0x1 }, 3, 1, 3 },
	{ __LINE__, { 0x1, 0x1, 0x1 }, 3, 3, 1 },
	/* a later event may still fit into an earlier group */
	{ __LINE__, { 0x1, 0x1, 0x2 }, 3, 2, 2 },
	/* more than one job can hold */
	{ __LINE__, { 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff }, 8, 2, 7 },
};

TEST(more_events_than_counters_are_shared_out)
{
	struct calm_counters_group groups[9];
	size_t i, j;

	for (i = 0; i < CALM_ARRAY_SIZE(shares); i++) {
		struct calm_event events[9] = { { .name = "" } };
		struct calm_events list = { events, shares[i].count, 9 };

		for (j = 0; j < shares[i].count; j++)
			events[j].counters = shares[i].counters[j];
		EXPECT_EQ(shares[i].groups, calm_counters_group(&list, CALM_COUNTERS_MAX, groups))
			TH_LOG("line %d", shares[i].line);
		EXPECT_EQ(shares[i].first, groups[0].count) TH_LOG("line %d", shares[i].line);
	}
}

TEST_HARNESS_MAIN
