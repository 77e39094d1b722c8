// SPDX-License-Identifier: GPL-2.0-only
/* Ways and sets are found by questions alone, wherever the search begins. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <kselftest_harness.h>

#include "derive/conflict.h"
#include "util.h"

/**
 * struct array - what is searched
 * @sets: sets, chosen by the remainder
 * @ways: members of a set that hold
 * @questions: how many were asked
 * @refuse: the question that gets an error
 * @error: that error
 */
struct array {
	uint64_t sets;
	uint64_t ways;
	unsigned int questions;
	unsigned int refuse;
	int error;
};

static int ask(void *arg, uint64_t distance, uint64_t members)
{
	struct array *array = arg;
	static uint16_t count[4096];
	uint64_t i;

	if (++array->questions == array->refuse)
		return array->error;
	memset(count, 0, sizeof(count));
	for (i = 0; i < members; i++)
		if (++count[i * distance % array->sets] > array->ways)
			return 1;
	return 0;
}

static const struct {
	int line;
	uint64_t sets, ways, start;
} rows[] = {
	{ __LINE__, 64, 8, 64 },     { __LINE__, 64, 12, 1 },	 { __LINE__, 64, 8, 4096 },
	{ __LINE__, 1, 72, 1 },	     { __LINE__, 1, 64, 16 },	 { __LINE__, 16, 4, 1 },
	{ __LINE__, 384, 8, 512 },   { __LINE__, 384, 8, 384 },	 { __LINE__, 96, 5, 64 },
	{ __LINE__, 96, 7, 1 },	     { __LINE__, 3517, 20, 3517 }, { __LINE__, 3517, 4, 7034 },
	{ __LINE__, 128, 1, 8 },     { __LINE__, 128, 2, 128 },	 { __LINE__, 2048, 16, 2048 },
	{ __LINE__, 2048, 10, 512 }, { __LINE__, 100, 9, 25 },	 { __LINE__, 256, 64, 256 },
};

TEST(ways_and_sets_are_exact)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(rows); i++) {
		struct array array = { rows[i].sets, rows[i].ways, 0, 0, 0 };
		struct calm_conflict search = {
			.ask = ask, .arg = &array, .start = rows[i].start, .least = 1, .most = 1024,
			.factor = 7,
		};

		ASSERT_EQ(0, calm_conflict_search(&search)) TH_LOG("row of line %d", rows[i].line);
		EXPECT_EQ(rows[i].ways, search.ways) TH_LOG("row of line %d", rows[i].line);
		EXPECT_EQ(rows[i].sets, search.sets) TH_LOG("row of line %d", rows[i].line);
		EXPECT_GE(100, array.questions) TH_LOG("row of line %d", rows[i].line);
	}
}

/* Each answer may come late, or never. */
TEST(an_answer_that_is_missing_ends_the_search)
{
	struct array array = { 96, 7, 0, 0, 0 };
	struct calm_conflict search = { .ask = ask, .arg = &array, .start = 4, .least = 1,
					 .most = 64, .factor = 7 };
	unsigned int all, i;

	ASSERT_EQ(-ERANGE, calm_conflict_search(&search));
	search.most = 256;
	array.questions = 0;
	ASSERT_EQ(0, calm_conflict_search(&search));
	all = array.questions;
	ASSERT_GT(all, 10);
	for (i = 1; i <= all; i++) {
		array = (struct array){ 96, 7, 0, i, i & 1 ? -EAGAIN : -ENODATA };
		EXPECT_EQ(array.error, calm_conflict_search(&search));
		EXPECT_EQ(i, array.questions);
	}
}

TEST(what_holds_all_that_is_tried_is_told)
{
	struct array array = { 1, 1024, 0, 0, 0 };
	struct calm_conflict search = { .ask = ask, .arg = &array, .start = 1, .least = 1,
					 .most = 64, .factor = 7 };

	EXPECT_EQ(-ERANGE, calm_conflict_search(&search));
	array.ways = 64;
	EXPECT_EQ(-ERANGE, calm_conflict_search(&search));
	array.ways = 63;
	EXPECT_EQ(0, calm_conflict_search(&search));
	EXPECT_EQ(63, search.ways);
}

TEST_HARNESS_MAIN
