// SPDX-License-Identifier: GPL-2.0-only
/* The module's own way through a buffer: where each round's windows begin, and what they find. */
#include <stdint.h>
#include <stdlib.h>

#include "../../kmod/visit.c"

#include "kselftest_harness.h"

#define PAGE	4096
#define ROUNDS	32

/* What the module allocates apart from the buffer. */
void *calm_buf_alloc_list(size_t bytes)
{
	return calloc(1, bytes);
}

/* A window is shorter than a page in all of them, and no lap is whole windows. */
static const struct row {
	int line;
	const char *loop;
	u32 order, lanes;
	u64 bytes;
	u32 stride;
	u64 window;
} rows[] = {
	{ __LINE__, "chase", CALM_ORDER_LINEAR, 1, 1 << 18, 64, 48 },
	{ __LINE__, "chase", CALM_ORDER_LINEAR, 1, 3 << 16, 256, 13 },
	{ __LINE__, "chase", CALM_ORDER_RANDOM, 1, 1 << 18, 64, 48 },
	{ __LINE__, "chase", CALM_ORDER_PAGE_LOCAL, 1, 1 << 18, 64, 48 },
	{ __LINE__, "store", CALM_ORDER_LINEAR, 1, 1 << 18, 64, 48 },
	{ __LINE__, "parallel", CALM_ORDER_LINEAR, 1, 1 << 18, 64, 48 },
	{ __LINE__, "parallel", CALM_ORDER_LINEAR, 10, 1 << 18, 64, 480 },
	{ __LINE__, "parallel", CALM_ORDER_RANDOM, 16, 1 << 18, 64, 480 },
	{ __LINE__, "stride", CALM_ORDER_LINEAR, 1, 1 << 18, 64, 48 },
	{ __LINE__, "stride", CALM_ORDER_LINEAR, 1, 3 << 16, 24, 100 },
	{ __LINE__, "stride16", CALM_ORDER_LINEAR, 1, 1 << 18, 64, 48 },
	{ __LINE__, "random", CALM_ORDER_RANDOM, 1, 1 << 18, 64, 48 },
	{ __LINE__, "copy", CALM_ORDER_LINEAR, 1, 1 << 16, 64, 48 },
};

static struct calm_job_spec spec_of(const struct row *row)
{
	return (struct calm_job_spec){
		.loop = calm_loop_find(row->loop),
		.order = row->order,
		.lanes = row->lanes,
		.size_bytes = row->bytes,
		.stride_bytes = row->stride,
	};
}

static int begin_round(struct calm_visit *visit, const struct calm_job_spec *spec, void *base,
		       u64 seed)
{
	int err = calm_visit_init(visit, spec, NULL, base, seed);

	while (!err && (err = calm_visit_build(visit, 1000)) > 0)
		err = 0;
	return err;
}

static struct calm_pass run_window(struct calm_visit *visit, u64 accesses)
{
	struct calm_pass pass = calm_visit_onward(visit, accesses, CALM_PASS_NO_COUNTERS);

	visit->spec->loop->run(&pass);
	calm_visit_arrive(visit, &pass);
	return pass;
}

/* The first lap, which notes the way as a job's does. */
static void run_lap(struct calm_visit *visit)
{
	u64 left = visit->lap, accesses;

	for (; left; left -= accesses) {
		accesses = min(left, (u64)CALM_MARK_STEP * visit->spec->lanes);
		calm_visit_mark(visit);
		run_window(visit, accesses);
	}
}

/* What tells where the next window begins: the address that the loop starts from. */
static uintptr_t next_element(const struct calm_visit *visit, const char *base)
{
	struct calm_pass pass = calm_visit_onward(visit, 1, CALM_PASS_NO_COUNTERS);
	void *at = visit->spec->loop->visit == CALM_VISIT_LANES ? pass.lane[0] : pass.at;

	/* independent loads have a place for an address */
	return visit->spec->loop->visit == CALM_VISIT_SCATTER ? (uintptr_t)at :
								(uintptr_t)at - (uintptr_t)base;
}

static size_t count_distinct(const uintptr_t *values, size_t count)
{
	size_t i, j, distinct = 0;

	for (i = 0; i < count; i++) {
		for (j = 0; j < i && values[j] != values[i]; j++)
			;
		distinct += j == i;
	}
	return distinct;
}

/* Of 768 places or more 32 are drawn, hardly any twice; rounds that begin alike have one. */
TEST(each_round_begins_at_a_place_of_its_own)
{
	uintptr_t first[ROUNDS], later[ROUNDS];
	struct calm_visit visit;
	size_t i, round;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct calm_job_spec spec = spec_of(&rows[i]);
		char *base = aligned_alloc(PAGE, rows[i].bytes);

		for (round = 0; round < ROUNDS; round++) {
			ASSERT_EQ(0, begin_round(&visit, &spec, base, 1 + round));
			first[round] = next_element(&visit, base);
			run_lap(&visit);
			run_window(&visit, rows[i].window);
			later[round] = next_element(&visit, base);
			calm_visit_free(&visit);
		}
		EXPECT_LT(ROUNDS / 2, count_distinct(first, ROUNDS))
			TH_LOG("row of line %d", rows[i].line);
		EXPECT_LT(ROUNDS / 2, count_distinct(later, ROUNDS))
			TH_LOG("row of line %d", rows[i].line);
		free(base);
	}
}

/* The same seed, the same windows. */
TEST(a_seed_begins_where_it_did)
{
	struct calm_visit visit;
	size_t i, again;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct calm_job_spec spec = spec_of(&rows[i]);
		char *base = aligned_alloc(PAGE, rows[i].bytes);
		uintptr_t at[2];

		for (again = 0; again < 2; again++) {
			ASSERT_EQ(0, begin_round(&visit, &spec, base, 7));
			at[again] = next_element(&visit, base);
			calm_visit_free(&visit);
		}
		EXPECT_EQ(at[0], at[1])
			TH_LOG("row of line %d", rows[i].line);
		free(base);
	}
}

/* From wherever it begins, each window of three laps finds what it should. */
TEST(windows_find_what_they_should)
{
	struct calm_visit visit;
	size_t i;
	u64 done;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct calm_job_spec spec = spec_of(&rows[i]);
		char *base = aligned_alloc(PAGE, rows[i].bytes);

		ASSERT_EQ(0, begin_round(&visit, &spec, base, 5));
		run_lap(&visit);
		for (done = 0; done < 3 * visit.lap; done += rows[i].window) {
			struct calm_pass pass = run_window(&visit, rows[i].window);

			ASSERT_TRUE(calm_visit_check(&visit, &pass))
				TH_LOG("row of line %d", rows[i].line);
		}
		calm_visit_free(&visit);
		free(base);
	}
}

TEST_HARNESS_MAIN
