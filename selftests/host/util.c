// SPDX-License-Identifier: GPL-2.0-only
/* Sizes and numbers as people write them. */
#include <kselftest_harness.h>

#include "util.h"

static const struct {
	int line;
	const char *text;
	enum calm_number_fault fault;
	uint64_t bytes;
} sizes[] = {
	{ __LINE__, "0", CALM_NUMBER_OK, 0 },
	{ __LINE__, "4096", CALM_NUMBER_OK, 4096 },
	{ __LINE__, "4K", CALM_NUMBER_OK, 4096 },
	{ __LINE__, "4k", CALM_NUMBER_OK, 4096 },
	{ __LINE__, "1.5M", CALM_NUMBER_OK, 1572864 },
	{ __LINE__, "1G", CALM_NUMBER_OK, 1073741824 },
	{ __LINE__, "2T", CALM_NUMBER_OK, 2199023255552 },
	{ __LINE__, "0.0625K", CALM_NUMBER_OK, 64 },
	{ __LINE__, "18446744073709551615", CALM_NUMBER_OK, UINT64_MAX },
	{ __LINE__, "18446744073709551616", CALM_NUMBER_LARGE, 0 },
	{ __LINE__, "16777216T", CALM_NUMBER_LARGE, 0 },
	{ __LINE__, "1.5", CALM_NUMBER_FRACTION, 0 },
	{ __LINE__, "1.3M", CALM_NUMBER_FRACTION, 0 },
	{ __LINE__, "0.00000000000000000000001T", CALM_NUMBER_FRACTION, 0 },
	{ __LINE__, "32Q", CALM_NUMBER_UNIT, 0 },
	{ __LINE__, "4KB", CALM_NUMBER_UNIT, 0 },
	{ __LINE__, "4 K", CALM_NUMBER_UNIT, 0 },
	{ __LINE__, "", CALM_NUMBER_EMPTY, 0 },
	{ __LINE__, "K", CALM_NUMBER_SYNTAX, 0 },
	{ __LINE__, "-4K", CALM_NUMBER_LARGE, 0 },
	{ __LINE__, "+4K", CALM_NUMBER_SYNTAX, 0 },
	{ __LINE__, " 4K", CALM_NUMBER_SYNTAX, 0 },
	{ __LINE__, "1.K", CALM_NUMBER_SYNTAX, 0 },
	{ __LINE__, "0x10", CALM_NUMBER_UNIT, 0 },
};

TEST(sizes_are_read_exactly)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(sizes); i++) {
		uint64_t bytes = 0;
		const char *unit;

		EXPECT_EQ(sizes[i].fault, calm_parse_size(sizes[i].text, &bytes, &unit))
			TH_LOG("row of line %d", sizes[i].line);
		if (!sizes[i].fault) {
			EXPECT_EQ(sizes[i].bytes, bytes)
				TH_LOG("row of line %d", sizes[i].line);
		}
	}
}

static const struct {
	int line;
	const char *text;
	enum calm_number_fault fault;
	uint64_t value;
} numbers[] = {
	{ __LINE__, "0", CALM_NUMBER_OK, 0 },
	{ __LINE__, "007", CALM_NUMBER_OK, 7 },
	{ __LINE__, "18446744073709551615", CALM_NUMBER_OK, UINT64_MAX },
	{ __LINE__, "18446744073709551616", CALM_NUMBER_LARGE, 0 },
	{ __LINE__, "99999999999999999999999", CALM_NUMBER_LARGE, 0 },
	{ __LINE__, "", CALM_NUMBER_EMPTY, 0 },
	{ __LINE__, "-1", CALM_NUMBER_LARGE, 0 },
	{ __LINE__, "1e3", CALM_NUMBER_SYNTAX, 0 },
	{ __LINE__, "1 ", CALM_NUMBER_SYNTAX, 0 },
	{ __LINE__, "1.0", CALM_NUMBER_FRACTION, 0 },
};

TEST(numbers_are_whole_and_decimal)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(numbers); i++) {
		uint64_t value = 0;

		EXPECT_EQ(numbers[i].fault, calm_parse_uint(numbers[i].text, &value))
			TH_LOG("row of line %d", numbers[i].line);
		if (!numbers[i].fault) {
			EXPECT_EQ(numbers[i].value, value)
				TH_LOG("row of line %d", numbers[i].line);
		}
	}
}

static const struct {
	int line;
	uint64_t bytes;
	const char *text;
} texts[] = {
	{ __LINE__, 0, "0" },
	{ __LINE__, 64, "64" },
	{ __LINE__, 1023, "1023" },
	{ __LINE__, 1024, "1K" },
	{ __LINE__, 4864, "4.75K" },
	{ __LINE__, 10240, "10K" },
	{ __LINE__, 5888 + 64, "5.8125K" },
	{ __LINE__, 1572864, "1.5M" },
	{ __LINE__, 1048576 + 64, "1024.0625K" },
	{ __LINE__, 1048576 + 8, "1048584" },
	{ __LINE__, 104857600, "100M" },
	{ __LINE__, 1ULL << 46, "64T" },
	{ __LINE__, UINT64_MAX, "18446744073709551615" },
};

TEST(sizes_are_written_exactly)
{
	char buffer[CALM_SIZE_TEXT_MAX];
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(texts); i++) {
		EXPECT_STREQ(texts[i].text, calm_size_text(buffer, texts[i].bytes))
			TH_LOG("row of line %d", texts[i].line);
	}
}

/* Whatever is written can be read again, and is the same then. */
TEST(what_is_written_is_read_as_the_same)
{
	char buffer[CALM_SIZE_TEXT_MAX];
	uint64_t bytes = 1;
	unsigned int i;

	for (i = 0; i < 20000; i++) {
		uint64_t again = 0;
		const char *unit;

		bytes = bytes * 6364136223846793005ULL + 1442695040888963407ULL;
		calm_size_text(buffer, bytes >> (i % 64));
		ASSERT_EQ(CALM_NUMBER_OK, calm_parse_size(buffer, &again, &unit))
			TH_LOG("'%s'", buffer);
		ASSERT_EQ(bytes >> (i % 64), again)
			TH_LOG("'%s'", buffer);
	}
}

TEST_HARNESS_MAIN
