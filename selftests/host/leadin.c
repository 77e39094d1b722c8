// SPDX-License-Identifier: GPL-2.0-only
/* A lead-in ends where the pass goes on and repeats as much as it should, for every place. */
#include <stdint.h>

#include "kselftest_harness.h"
#include "leadin.h"

TEST(every_place_of_many_cycles)
{
	static const uint64_t cycles[] = { 2,	 511,  512,  513,  1000, 4095, 4096,
					   4097, 5000, 6144, 8191, 8192, 8193, 20000 };
	static const uint64_t wishes[] = { 1, 256, 512, 4096 };
	uint64_t position;
	__u64 mark;
	size_t i, j;

	for (i = 0; i < sizeof(cycles) / sizeof(cycles[0]); i++) {
		for (j = 0; j < sizeof(wishes) / sizeof(wishes[0]); j++) {
			uint64_t lines = cycles[i];
			uint64_t wanted = wishes[j] < lines ? wishes[j] : lines;

			for (position = 0; position < lines; position++) {
				uint64_t count = calm_leadin_find(position, lines, wanted, &mark);

				ASSERT_LT(mark * CALM_MARK_STEP, lines);
				ASSERT_EQ(position, (mark * CALM_MARK_STEP + count) % lines)
				{
					TH_LOG("%llu lines, %llu wanted",
					       (unsigned long long)lines,
					       (unsigned long long)wanted);
				}
				ASSERT_GE(count, wanted);
				ASSERT_LT(count, wanted + CALM_MARK_STEP);
			}
		}
	}
}

TEST_HARNESS_MAIN
