// SPDX-License-Identifier: GPL-2.0-only
/* The words for states of the prefetchers. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <linux/calm.h>

#include "../../user/prefetch.h"
#include "kselftest_harness.h"

static struct calm_prefetch_group intel(void)
{
	static uint32_t cpus[] = { 3 };
	struct calm_prefetch_group group = { .cpus = cpus, .n_cpus = 1, .n_prefetchers = 3 };

	strcpy(group.prefetchers[0].name, "l2-stream");
	strcpy(group.prefetchers[1].name, "l1-ip");
	strcpy(group.prefetchers[2].name, "l1-odd");
	group.prefetchers[2].undocumented = true;
	return group;
}

static const struct row {
	int line;
	const char *word;
	bool unsafe;
	size_t count;
	const char *labels[4];
	int status;		/* expected, if it is refused */
	const char *text;
} rows[] = {
	{ __LINE__, "found", false, 0, { NULL }, 0, NULL },
	{ __LINE__, "off", false, 1, { "off" }, 0, NULL },
	{ __LINE__, "on", false, 1, { "on" }, 0, NULL },
	{ __LINE__, "both", false, 2, { "found", "off" }, 0, NULL },
	{ __LINE__, "each", false, 3, { "found", "off:l2-stream", "off:l1-ip" }, 0, NULL },
	{ __LINE__, "each", true, 4, { "found", "off:l2-stream", "off:l1-ip", "off:l1-odd" }, 0,
	  NULL },
	{ __LINE__, "off:l1-ip", false, 1, { "off:l1-ip" }, 0, NULL },
	{ __LINE__, "on:l1-ip,l2-stream", false, 1, { "on:l1-ip,l2-stream" }, 0, NULL },
	{ __LINE__, "off:l1-odd", true, 1, { "off:l1-odd" }, 0, NULL },
	{ __LINE__, "off:l1-odd", false, 0, { NULL }, CALM_EXIT_ABSENT, "--unsafe-prefetch" },
	{ __LINE__, "off:l3", false, 0, { NULL }, CALM_EXIT_ABSENT,
	  "CPU 3 has no prefetcher 'l3' (allowed l2-stream, l1-ip)" },
	{ __LINE__, "off:l1-ip,l1-ip", false, 0, { NULL }, CALM_EXIT_USAGE, "given twice" },
	{ __LINE__, "off:l1-ip,", false, 0, { NULL }, CALM_EXIT_ABSENT, "no prefetcher ''" },
};

TEST(words_become_settings)
{
	const struct calm_prefetch_group group = intel();
	size_t i, j;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct calm_error error = { 0 };
		struct calm_settings settings;
		int err = calm_prefetch_settings(rows[i].word, &group, rows[i].unsafe, &settings,
						 &error);

		EXPECT_EQ(!rows[i].text, !err)
		{
			TH_LOG("line %d: %s", rows[i].line, error.text);
		}
		if (rows[i].text) {
			EXPECT_EQ(rows[i].status, (int)error.status);
			EXPECT_NE(NULL, strstr(error.text, rows[i].text))
			{
				TH_LOG("line %d: %s", rows[i].line, error.text);
			}
		} else {
			EXPECT_EQ(rows[i].count, settings.count);
			for (j = 0; j < settings.count; j++)
				EXPECT_STREQ(rows[i].labels[j], settings.settings[j].label);
		}
		calm_prefetch_free_settings(&settings);
	}
}

TEST(machine_without_switches)
{
	static const char *const words[] = { "off", "on", "both", "each", "off:l1-ip" };
	struct calm_prefetch_group odd = intel();
	struct calm_settings settings;
	struct calm_error error;
	size_t i;

	odd.prefetchers[0] = odd.prefetchers[2];
	odd.n_prefetchers = 1;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		EXPECT_NE(0, calm_prefetch_settings(words[i], NULL, false, &settings, &error));
		EXPECT_EQ(CALM_EXIT_ABSENT, error.status);
		EXPECT_NE(NULL, strstr(error.text, "documented for this processor"));
		EXPECT_NE(0, calm_prefetch_settings(words[i], &odd, false, &settings, &error));
		EXPECT_EQ(CALM_EXIT_ABSENT, error.status);
	}
	EXPECT_EQ(0, calm_prefetch_settings("found", NULL, false, &settings, &error));
	EXPECT_EQ(0, settings.count);
}

TEST(bad_words_are_refused)
{
	static const char *const words[] = { "", "of", "offf", "off:", "on:", "found:", "each:x" };
	struct calm_error error;
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		EXPECT_NE(0, calm_prefetch_check_word(words[i], &error));
		EXPECT_EQ(CALM_EXIT_USAGE, error.status);
		EXPECT_NE(NULL, strstr(error.text, "allowed found, off, on, both, each"));
	}
}

TEST_HARNESS_MAIN
