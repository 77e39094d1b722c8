// SPDX-License-Identifier: GPL-2.0-only
/* The measured loops, run here: where they end and what they read, compared with plain C. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "kselftest_harness.h"
#include "loops/loops.h"
#include "loops/scatter.h"

#define PAGE 4096

static struct calm_pass pass_over(char *base, uint64_t bytes, uint64_t stride, uint64_t accesses)
{
	return (struct calm_pass){
		.at = base,
		.accesses = accesses,
		.counters = CALM_PASS_NO_COUNTERS,
		.end = base + bytes,
		.span_bytes = bytes,
		.stride_bytes = stride,
		.lanes = 1,
	};
}

static char *make_chain(uint64_t bytes, uint32_t stride)
{
	char *base = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
	struct calm_chain chain;

	calm_chain_init(&chain, base, bytes, stride, 11);
	while (calm_chain_step(&chain, ~0ULL) < CALM_CHAIN_DONE)
		;
	return base;
}

static void *follow(void *at, uint64_t steps)
{
	while (steps--)
		at = *(void **)at;
	return at;
}

/* Numbers of accesses: none, fewer than are unrolled, just as many, more, and with a rest. */
static const uint64_t counts[] = { 0, 1, 2, 7, 15, 16, 17, 63, 64, 65, 128, 1000, 4099 };

#define NR_COUNTS (sizeof(counts) / sizeof(counts[0]))

TEST(chase_ends_where_its_pointers_lead)
{
	char *base = make_chain(1 << 16, 64);
	size_t i;

	for (i = 0; i < NR_COUNTS; i++) {
		struct calm_pass pass = pass_over(base, 1 << 16, 64, counts[i]);

		calm_loop_chase(&pass);
		EXPECT_EQ(follow(base, counts[i]), pass.at);
	}
	free(base);
}

/* Whatever each of them follows before its window, it goes on from there. */
TEST(chases_go_on_from_where_the_lead_in_ends)
{
	static void (*const run[])(struct calm_pass *) = {
		calm_loop_chase, calm_loop_store, calm_loop_atomic, calm_loop_flush,
	};
	static const uint64_t leads[] = { 1, 2, 511, 4096, 5001 };
	char *base = make_chain(1 << 16, 64);
	size_t i, j;

	for (j = 0; j < sizeof(run) / sizeof(run[0]); j++) {
		for (i = 0; i < sizeof(leads) / sizeof(leads[0]); i++) {
			struct calm_pass pass = pass_over(base, 1 << 16, 64, 65);

			pass.lead = leads[i];
			run[j](&pass);
			EXPECT_EQ(follow(base, leads[i] + 65), pass.at)
			{
				TH_LOG("loop %zu, %llu before it", j, (unsigned long long)leads[i]);
			}
			EXPECT_EQ(leads[i], pass.lead);
		}
	}
	free(base);
}

/* Chases that do more than load leave the chain as it is, too. */
TEST(other_chases_end_where_pointers_lead_and_change_nothing)
{
	static void (*const run[])(struct calm_pass *) = {
		calm_loop_store, calm_loop_atomic, calm_loop_flush,
	};
	char *base = make_chain(1 << 16, 64), *copy = malloc(1 << 16);
	size_t i, j;

	memcpy(copy, base, 1 << 16);
	for (j = 0; j < sizeof(run) / sizeof(run[0]); j++) {
		for (i = 0; i < NR_COUNTS; i++) {
			struct calm_pass pass = pass_over(base, 1 << 16, 64, counts[i]);

			run[j](&pass);
			EXPECT_EQ(follow(base, counts[i]), pass.at)
			{
				TH_LOG("loop %zu, %llu steps", j, (unsigned long long)counts[i]);
			}
			EXPECT_EQ(0, memcmp(base, copy, 1 << 16));
		}
	}
	free(copy);
	free(base);
}

TEST(each_lane_ends_where_its_pointers_lead)
{
	char *base = make_chain(1 << 16, 64);
	uint64_t lanes, i, lane;

	for (lanes = 1; lanes <= CALM_PASS_LANES; lanes++) {
		for (i = 0; i < NR_COUNTS; i++) {
			struct calm_pass pass = pass_over(base, 1 << 16, 64, counts[i] * lanes);

			pass.lanes = lanes;
			for (lane = 0; lane < CALM_PASS_LANES; lane++)
				pass.lane[lane] = follow(base, 61 * lane);
			calm_loop_parallel(&pass);
			for (lane = 0; lane < CALM_PASS_LANES; lane++) {
				/* those beyond the last one stay */
				uint64_t steps = lane < lanes ? counts[i] : 0;

				EXPECT_EQ(follow(base, 61 * lane + steps), pass.lane[lane])
				{
					TH_LOG("lane %llu of %llu, %llu steps",
					       (unsigned long long)lane, (unsigned long long)lanes,
					       (unsigned long long)counts[i]);
				}
			}
			EXPECT_LT(0, pass.tsc_ticks);
		}
	}
	free(base);
}

/* CRC32C of a word as its definition has it: a bit at a time, polynomial 1EDC6F41 reflected. */
static uint32_t crc32c(uint32_t word)
{
	int bit;

	for (bit = 0; bit < 32; bit++)
		word = word >> 1 ^ (word & 1 ? 0x82f63b78 : 0);
	return word;
}

static const uint64_t lines_of_scatter[] = { 2, 4, 64, 4096, 1 << 15 };

#define NR_LINES (sizeof(lines_of_scatter) / sizeof(lines_of_scatter[0]))

TEST(scatter_is_a_permutation)
{
	size_t i;

	for (i = 0; i < NR_LINES; i++) {
		uint64_t lines = lines_of_scatter[i], place, seen = 0;
		unsigned int shift = 32 - (unsigned int)__builtin_ctzll(lines);
		bool *taken = calloc(lines, sizeof(*taken));

		for (place = 0; place < lines; place++) {
			uint64_t index = calm_scatter_index(lines, place);

			ASSERT_GT(lines, index);
			EXPECT_EQ(crc32c((uint32_t)(place << shift)) >> shift, index);
			seen += !taken[index];
			taken[index] = true;
		}
		EXPECT_EQ(lines, seen);
		free(taken);
	}
}

/* A value of its own in each element, as the worker does not have it. */
static uint64_t value_of(uint64_t index)
{
	return index * 0x9e3779b97f4a7c15ULL;
}

static char *make_values(uint64_t lines, uint64_t stride)
{
	char *base = aligned_alloc(PAGE, (lines * stride + PAGE - 1) / PAGE * PAGE);
	uint64_t i;

	memset(base, 0xff, lines * stride);
	for (i = 0; i < lines; i++)
		*(uint64_t *)(base + i * stride) = value_of(i);
	return base;
}

static void check_random(struct __test_metadata *_metadata, uint64_t lines, uint64_t stride)
{
	char *base = make_values(lines, stride);
	uint64_t i, place, start = lines / 3, sum;

	for (i = 0; i < NR_COUNTS; i++) {
		struct calm_pass pass = pass_over(base, lines * stride, stride, counts[i]);

		pass.at = (void *)start;
		for (place = 0, sum = 0; place < counts[i]; place++)
			sum += value_of(calm_scatter_index(lines, (start + place) % lines));
		calm_loop_random(&pass);
		EXPECT_EQ(sum, pass.sum)
		{
			TH_LOG("%llu lines, stride %llu, %llu loads", (unsigned long long)lines,
			       (unsigned long long)stride, (unsigned long long)counts[i]);
		}
		EXPECT_EQ((start + counts[i]) % lines, (uint64_t)pass.at);
	}
	free(base);
}

TEST(random_reads_the_next_elements_of_the_order)
{
	size_t i;

	for (i = 0; i < NR_LINES; i++) {
		check_random(_metadata, lines_of_scatter[i], 64);
		check_random(_metadata, lines_of_scatter[i], 8);
		check_random(_metadata, lines_of_scatter[i], 1024);
	}
}

/* Each of the numbers that an element has differs from the others, and from those of other ones. */
static char *make_elements(uint64_t lines, uint64_t stride, uint64_t width)
{
	char *base = aligned_alloc(PAGE, (lines * stride + PAGE - 1) / PAGE * PAGE);
	uint64_t i, j;

	memset(base, 0xff, lines * stride);
	for (i = 0; i < lines; i++)
		for (j = 0; j < width / 8; j++)
			*(uint64_t *)(base + i * stride + j * 8) = value_of(8 * i + j);
	return base;
}

static uint64_t sum_of_element(uint64_t index, uint64_t width)
{
	uint64_t j, sum = 0;

	for (j = 0; j < width / 8; j++)
		sum += value_of(8 * index + j);
	return sum;
}

static void check_stride(struct __test_metadata *_metadata, const char *name, uint64_t stride)
{
	const struct calm_loop *loop = calm_loop_find(name);
	const uint64_t lines = 37, bytes = lines * stride, width = loop->access_bytes;
	char *base = make_elements(lines, stride, width);
	size_t i;

	for (i = 0; i < NR_COUNTS; i++) {
		struct calm_pass pass = pass_over(base, bytes, stride, counts[i]);
		uint64_t place, sum = 0;

		pass.at = base + 5 * stride;
		for (place = 0; place < counts[i]; place++)
			sum += sum_of_element((5 + place) % lines, width);
		loop->run(&pass);
		EXPECT_EQ(sum, pass.sum)
		{
			TH_LOG("%s, stride %llu, %llu loads", name, (unsigned long long)stride,
			       (unsigned long long)counts[i]);
		}
		EXPECT_EQ(base + (5 + counts[i]) % lines * stride, pass.at);
	}
	/* with no distance the same element is read again and again */
	for (i = 0; i < NR_COUNTS; i++) {
		struct calm_pass pass = pass_over(base, bytes, 0, counts[i]);

		loop->run(&pass);
		EXPECT_EQ(counts[i] * sum_of_element(0, width), pass.sum);
		EXPECT_EQ(base, pass.at);
	}
	free(base);
}

/* From the width on, some that loads cross lines with. */
static void check_strides(struct __test_metadata *_metadata, const char *name)
{
	static const uint64_t strides[] = { 8, 16, 24, 32, 40, 64, 72, 200, 4096 };
	size_t i;

	for (i = 0; i < sizeof(strides) / sizeof(strides[0]); i++)
		if (strides[i] >= calm_loop_find(name)->access_bytes)
			check_stride(_metadata, name, strides[i]);
}

TEST(stride_reads_upward_and_starts_again)
{
	check_strides(_metadata, "stride");
	check_strides(_metadata, "stride16");
}

TEST(stride_reads_32_bytes)
{
	if (!__builtin_cpu_supports("avx2"))
		SKIP(return, "this processor has no AVX2");
	check_strides(_metadata, "stride32");
}

TEST(stride_reads_64_bytes)
{
	if (!__builtin_cpu_supports("avx512f"))
		SKIP(return, "this processor has no AVX-512");
	check_strides(_metadata, "stride64");
}

/* Each sweep one byte later, after the last one the first again: one byte after the other. */
static void check_copy(struct __test_metadata *_metadata, uint64_t half, uint64_t stride,
		       uint64_t start, uint64_t count)
{
	char *base = aligned_alloc(PAGE, 2 * PAGE), *expected = calloc(1, half);
	struct calm_pass pass = pass_over(base, 2 * half, stride, count);
	uint64_t at = start, i;

	for (i = 0; i < half; i++)
		base[i] = (char)(i % 127 + 1);
	memset(base + half, 0, half);
	for (i = 0; i < count; i++) {
		expected[at] = base[at];
		if (at + stride < half)
			at += stride;
		else
			at = (at % stride + 1) % stride;
	}
	pass.at = base + start;
	calm_loop_copy(&pass);
	EXPECT_EQ(base + at, pass.at);
	EXPECT_EQ(0, memcmp(base + half, expected, half))
	{
		TH_LOG("stride %llu, %llu bytes from %llu on", (unsigned long long)stride,
		       (unsigned long long)count, (unsigned long long)start);
	}
	for (i = 0; i < half; i++)
		if (base[i] != (char)(i % 127 + 1))
			break;
	EXPECT_EQ(half, i);
	free(expected);
	free(base);
}

TEST(copy_takes_each_byte_once)
{
	static const uint64_t strides[] = { 8, 9, 16, 17, 64, 65, 127, 1000 };
	size_t i, j;

	for (j = 0; j < sizeof(strides) / sizeof(strides[0]); j++) {
		for (i = 0; i < NR_COUNTS; i++) {
			check_copy(_metadata, 2048, strides[j], 0, counts[i]);
			check_copy(_metadata, 1024 + 512, strides[j], 5 * strides[j] % 1500,
				   counts[i]);
		}
		check_copy(_metadata, 2048, strides[j], 0, 2048);
	}
}

TEST_HARNESS_MAIN
