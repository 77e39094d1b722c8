// SPDX-License-Identifier: GPL-2.0-only
/* Names of events to codes for Intel and AMD, and the tables that they come from. */
#include <errno.h>
#include <string.h>

#include <kselftest_harness.h>

#include <linux/calm.h>

#include "events.h"

#define INTEL(name) { .microarch = name, .pmu = { CALM_PMU_INTEL, 4, 0xf, 0x7, 48, 48 } }
#define AMD(name) { .microarch = name, .pmu = { CALM_PMU_AMD_CORE, 0, 0x3f, 0, 48, 0 } }

static const struct calm_processor skx = INTEL("Skylake-X");
static const struct calm_processor ice = INTEL("IceLake");
static const struct calm_processor haswell = INTEL("Haswell");
static const struct calm_processor golden = INTEL("GoldenCove(ADL/RPL P-core)");
static const struct calm_processor lion = INTEL("LionCove(ARL P-core)");
static const struct calm_processor core2 = INTEL("Core 2");
static const struct calm_processor zen2 = AMD("Zen2");
static const struct calm_processor zen4 = AMD("Zen4");
static const struct calm_processor bare = { .microarch = "Skylake-X",
					    .pmu = { CALM_PMU_INTEL, 2, 0xf, 0, 48, 48 } };
static const struct calm_processor unknown = { .microarch = "",
					       .pmu = { CALM_PMU_INTEL, 4, 0xf, 1, 48, 48 } };

static const struct row {
	int line;
	const struct calm_processor *processor;
	const char *word;
	const char *code;
	uint64_t select;
	uint64_t counters;
	const char *known;
} rows[] = {
	{ __LINE__, &skx, "l1-miss", "r08D1", 0x8d1, 0xf, "l1-miss" },
	{ __LINE__, &skx, "L2-Miss", "r10D1", 0x10d1, 0xf, "l2-miss" },
	{ __LINE__, &skx, "cycles", "fixed1", 0, UINT64_MAX, "cycles" },
	{ __LINE__, &skx, "instructions", "fixed0", 0, UINT64_MAX, "instructions" },
	{ __LINE__, &bare, "cycles", "r003C", 0x3c, 0xf, "cycles" },
	{ __LINE__, &bare, "instructions", "r00C0", 0xc0, 0xf, "instructions" },
	{ __LINE__, &haswell, "MEM_LOAD_UOPS_RETIRED.L3_MISS", "r20D1", 0x20d1, 0xf, "l3-miss" },
	/* the dot is the maker's spelling, the colon libpfm4's */
	{ __LINE__, &skx, "MEM_LOAD_RETIRED.L1_MISS", "r08D1", 0x8d1, 0xf, "l1-miss" },
	{ __LINE__, &skx, "MEM_LOAD_RETIRED:L1_MISS", "r08D1", 0x8d1, 0xf, "l1-miss" },
	{ __LINE__, &skx, "skx::MEM_LOAD_RETIRED:L1_MISS", "r08D1", 0x8d1, 0xf, "l1-miss" },
	{ __LINE__, &skx, "UOPS_ISSUED:ANY:c=1:i=1", "r180010E", 0x180010e, 0xf, NULL },
	{ __LINE__, &skx, "r01A2", "r01A2", 0x1a2, 0xf, NULL },
	{ __LINE__, &skx, "r14a3:cmask=20", "r140014A3", 0x140014a3, 0xf, NULL },
	{ __LINE__, &skx, "r010e:inv:cmask=1:edge", "r184010E", 0x184010e, 0xf, NULL },
	/* counters above the fourth count no unknown event of Intel, and some only one does */
	{ __LINE__, &golden, "r01A2", "r01A2", 0x1a2, 0xf, NULL },
	{ __LINE__, &golden, "r08a4", "r08A4", 0x8a4, 0x1, NULL },
	{ __LINE__, &golden, "INST_RETIRED.ANY_P", "r00C0", 0xc0, 0xff, "instructions" },
	{ __LINE__, &core2, "r01CB", "r01CB", 0x1cb, 0x1, NULL },
	{ __LINE__, &core2, "r0012", "r0012", 0x12, 0x2, NULL },
	{ __LINE__, &core2, "r412E", "r412E", 0x412e, 0xf, NULL },
	{ __LINE__, &lion, "r0148", "r0148", 0x148, 0x4, NULL },
	{ __LINE__, &lion, "r01CD", "r01CD", 0x1cd, 0xc, NULL },
	{ __LINE__, &lion, "r02CD", "r02CD", 0x2cd, 0x3, NULL },
	{ __LINE__, &haswell, "r0148", "r0148", 0x148, 0x4, NULL },
	{ __LINE__, &haswell, "r0248", "r0248", 0x248, 0xf, NULL },
	{ __LINE__, &haswell, "CYCLE_ACTIVITY:STALLS_L1D_PENDING", "rC000CA3", 0xc000ca3, 0x4,
	  NULL },
	{ __LINE__, &skx, "r01c0", "r01C0", 0x1c0, 0x2, NULL },
	{ __LINE__, &lion, "DTLB_LOAD_MISSES.STLB_HIT", "r30000002012", 0x30000002012, 0x3ff,
	  NULL },
	{ __LINE__, &lion, "r2012:umask2=3", "r30000002012", 0x30000002012, 0x3ff, NULL },
	{ __LINE__, &golden, "mem_load_retired:l2_miss", "r10D1", 0x10d1, 0xf, "l2-miss" },
	{ __LINE__, &golden, "l3-miss", "r20D1", 0x20d1, 0xf, "l3-miss" },
	{ __LINE__, &golden, "dtlb-miss", "r2E12", 0x2e12, 0xf, "dtlb-miss" },
	{ __LINE__, &zen2, "cycles", "r0076", 0x76, UINT64_MAX, "cycles" },
	{ __LINE__, &zen2, "l1-miss", "r5B43", 0x5b43, UINT64_MAX, "l1-miss" },
	{ __LINE__, &zen2, "l2-miss", "r5A43", 0x5a43, UINT64_MAX, "l2-miss" },
	{ __LINE__, &zen2, "l3-miss", "r4843", 0x4843, UINT64_MAX, "l3-miss" },
	{ __LINE__, &zen4, "l1-miss", "rDF43", 0xdf43, UINT64_MAX, "l1-miss" },
	{ __LINE__, &zen4, "walks", "rF045", 0xf045, UINT64_MAX, "walks" },
	{ __LINE__, &zen4, "RETIRED_INSTRUCTIONS", "r00C0", 0xc0, UINT64_MAX, "instructions" },
	/* events of 12 bits: the upper four at 35:32 */
	{ __LINE__, &zen4, "ls_not_halted_p0_cyc.p0_freq_cyc", "r100000120", 0x100000120,
	  UINT64_MAX, NULL },
	{ __LINE__, &zen4, "r100000120", "r100000120", 0x100000120, UINT64_MAX, NULL },
	{ __LINE__, &zen2, "RETIRED_FUSED_INSTRUCTIONS", "r1000000D0", 0x1000000d0, UINT64_MAX,
	  NULL },
	{ __LINE__, &unknown, "r08D1", "r08D1", 0x8d1, 0xf, NULL },
	/* what perf and libpfm4 write for fixed counters */
	{ __LINE__, &skx, "UNHALTED_REFERENCE_CYCLES", "fixed2", 0, UINT64_MAX, NULL },
	{ __LINE__, &unknown, "r0100", "fixed0", 0, UINT64_MAX, NULL },
	{ __LINE__, &skx, "r0300", "fixed2", 0, UINT64_MAX, NULL },
	{ __LINE__, &zen4, "r0300", "r0300", 0x300, UINT64_MAX, NULL },
};

TEST(words)
{
	struct calm_event event;
	struct calm_error error;
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		int err = calm_events_resolve(row->processor, row->word, &event, &error);

		ASSERT_EQ(0, err) TH_LOG("line %d: %s", row->line, error.text);
		EXPECT_STREQ(row->code, event.code) TH_LOG("line %d", row->line);
		EXPECT_EQ(row->select, event.select) TH_LOG("line %d", row->line);
		EXPECT_EQ(row->counters, event.counters) TH_LOG("line %d", row->line);
		EXPECT_EQ(!row->known, !event.known) TH_LOG("line %d", row->line);
		if (row->known && event.known)
			EXPECT_STREQ(row->known, event.known) TH_LOG("line %d", row->line);
		calm_events_free(&event);
	}
}

static const struct bad {
	int line;
	const struct calm_processor *processor;
	const char *word;
	const char *text;
} bads[] = {
	{ __LINE__, &skx, "l1-mis",
	  "'l1-mis' is unknown on Skylake-X (nearest: l1-miss, l2-miss, l3-miss)" },
	{ __LINE__, &skx, "l4-miss", "nearest: l1-miss, l2-miss, l3-miss" },
	{ __LINE__, &skx, "mem_load_retird", "nearest: MEM_LOAD_RETIRED" },
	/* another processor's */
	{ __LINE__, &skx, "hsw::MEM_LOAD_UOPS_RETIRED:L1_MISS", "is unknown" },
	{ __LINE__, &skx, "ls_not_halted_cyc", "is unknown" },
	{ __LINE__, &skx, "r08D1:cmask=256",
	  "unknown modifier 'cmask=256' in 'r08D1:cmask=256' (allowed" },
	{ __LINE__, &skx, "r08D1:loud", "unknown modifier 'loud'" },
	{ __LINE__, &skx, "r08D1:inv=1", "unknown modifier 'inv=1'" },
	{ __LINE__, &skx, "r", "is unknown" },
	{ __LINE__, &skx, "rxyz", "is unknown" },
	/* the bits that belong to the module */
	{ __LINE__, &skx, "r4300C0", "'r4300C0' has bits that are not an event's (allowed within" },
	{ __LINE__, &skx, "r100000120", "has bits that are not an event's" },
	{ __LINE__, &zen4, "r1:umask2=1", "has bits that are not an event's" },
	{ __LINE__, &skx, "fixed3", "'fixed3' is no fixed counter" },
	{ __LINE__, &zen4, "fixed0", "'fixed0' is no fixed counter" },
	/* event 00: of no general counter, and of a fixed one only as perf writes it */
	{ __LINE__, &ice, "TOPDOWN:SLOTS", "'TOPDOWN:SLOTS' is event 00, which no counter" },
	{ __LINE__, &ice, "TOPDOWN:BACKEND_BOUND_SLOTS", "is event 00, which no counter" },
	{ __LINE__, &skx, "r0000", "is event 00, which no counter" },
	{ __LINE__, &skx, "r0400", "is event 00, which no counter" },
	{ __LINE__, &skx, "r0300:cmask=1", "is event 00, which no counter" },
	{ __LINE__, &bare, "UNHALTED_REFERENCE_CYCLES", "is event 00, which no counter" },
	{ __LINE__, &skx, "OFFCORE_RESPONSE_0:ANY_REQUEST", "needs a register beside its" },
	{ __LINE__, &unknown, "l1-miss", "no event names are known for this processor" },
};

TEST(bad_words)
{
	struct calm_event event;
	struct calm_error error;
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(bads); i++) {
		int err = calm_events_resolve(bads[i].processor, bads[i].word, &event, &error);

		EXPECT_EQ(-EINVAL, err)
			TH_LOG("line %d", bads[i].line);
		EXPECT_NE(NULL, strstr(error.text, bads[i].text))
			TH_LOG("line %d: %s", bads[i].line, error.text);
	}
}

TEST(lists)
{
	struct calm_events list = { NULL, 0, 0 };
	struct calm_error error;

	ASSERT_EQ(0, calm_events_resolve_list(&zen4, "l1-miss,r100000120", &list, false, &error));
	ASSERT_EQ(2, list.count);
	EXPECT_STREQ("l1-miss", list.events[0].name);
	EXPECT_STREQ("r100000120", list.events[1].name);
	EXPECT_EQ(-EINVAL, calm_events_resolve_list(&zen4, "L1-MISS", &list, false, &error));
	EXPECT_NE(NULL, strstr(error.text, "'L1-MISS' is there twice"));
	EXPECT_EQ(-EINVAL, calm_events_resolve_list(&zen4, "l2-miss,,", &list, false, &error));
	EXPECT_NE(NULL, strstr(error.text, "a name is empty"));
	calm_events_free_list(&list);
	EXPECT_EQ(0, list.count);

	/* what is wanted by default may be absent, and then says why */
	ASSERT_EQ(0, calm_events_resolve_list(&unknown, CALM_EVENTS_DEFAULT, &list, true, &error));
	ASSERT_EQ(4, list.count);
	EXPECT_STREQ("no event names are known for this processor", list.events[3].reason);
	calm_events_free_list(&list);
}

static const char *const abstract[] = {
	"cycles", "instructions", "l1-miss", "l2-miss", "l3-miss", "dtlb-miss", "walks",
};

static const struct calm_events_row *row_named(const struct calm_events_uarch *uarch,
					       const char *name)
{
	size_t i;

	for (i = 0; i < uarch->n_rows; i++)
		if (!strcmp(uarch->rows[i].name, name))
			return &uarch->rows[i];
	return NULL;
}

/* No TLB event of these is known that counts both hits and misses of the second level. */
static bool lacks(const struct calm_events_uarch *uarch, const char *name)
{
	return !strcmp(name, "dtlb-miss") &&
	       (!strncmp(uarch->name, "LionCove", 8) || !strcmp(uarch->name, "Gracemont"));
}

TEST(table_names)
{
	size_t i, j, k;

	for (i = 0; i < calm_events_n_uarchs; i++) {
		const struct calm_events_uarch *uarch = &calm_events_uarchs[i];

		EXPECT_EQ(uarch, calm_events_find_uarch(uarch->name)) TH_LOG("%s", uarch->name);
		for (j = 0; j < CALM_ARRAY_SIZE(abstract); j++)
			EXPECT_EQ(lacks(uarch, abstract[j]), !row_named(uarch, abstract[j]))
				TH_LOG("abstract name %zu on %s", j, uarch->name);
		/* an abstract name comes once more for CPUs without the fixed counter */
		for (j = 0; j < uarch->n_rows; j++)
			for (k = j + 1; k < uarch->n_rows; k++)
				EXPECT_TRUE(strcasecmp(uarch->rows[j].name, uarch->rows[k].name) ||
					    (k == j + 1 && uarch->rows[j].fixed >= 0))
					TH_LOG("%s twice on %s", uarch->rows[j].name, uarch->name);
	}
	EXPECT_EQ(NULL, calm_events_find_uarch(""));
	EXPECT_EQ(NULL, calm_events_find_uarch("Zen"));
}

TEST(table_values)
{
	size_t i, j;

	for (i = 0; i < calm_events_n_uarchs; i++) {
		const struct calm_events_uarch *uarch = &calm_events_uarchs[i];
		uint64_t allowed = uarch->vendor == CALM_VENDOR_INTEL ? 0xff00ff84ffffULL :
									0xfff84ffffULL;

		for (j = 0; j < uarch->n_rows; j++) {
			const struct calm_events_row *row = &uarch->rows[j];

			EXPECT_EQ(0, row->select & ~allowed) TH_LOG("%s", row->name);
			EXPECT_EQ(row->fixed >= 0, !row->select) TH_LOG("%s", row->name);
			EXPECT_TRUE(row->fixed < 0 || uarch->vendor == CALM_VENDOR_INTEL);
			EXPECT_NE(0, row->counters) TH_LOG("%s", row->name);
			EXPECT_LT(10, strlen(row->definition)) TH_LOG("%s", row->name);
			EXPECT_LT(10, strlen(row->source)) TH_LOG("%s", row->name);
		}
	}
}

TEST_HARNESS_MAIN
