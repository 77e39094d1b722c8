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
			uint64_t wanted = wishes[j];

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

TEST(places_beyond_32_bits)
{
	static const uint64_t cycles[] = { (1ULL << 32) - 1, 1ULL << 32, (1ULL << 34) + 513,
					   1ULL << 43 };
	__u64 mark;
	size_t i, j;

	for (i = 0; i < sizeof(cycles) / sizeof(cycles[0]); i++) {
		const uint64_t lines = cycles[i];
		const uint64_t places[] = { 0, 1, 4095, 4096, lines / 2 + 1, lines - 4097,
					    lines - 1 };

		for (j = 0; j < sizeof(places) / sizeof(places[0]); j++) {
			uint64_t count = calm_leadin_find(places[j], lines, 4096, &mark);

			EXPECT_EQ(places[j], (mark * CALM_MARK_STEP + count) % lines)
			{
				TH_LOG("place %llu of %llu", (unsigned long long)places[j],
				       (unsigned long long)lines);
			}
			EXPECT_GE(count, 4096);
			EXPECT_LT(count, 4096 + CALM_MARK_STEP);
		}
	}
}

TEST_HARNESS_MAIN
