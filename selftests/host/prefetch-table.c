// SPDX-License-Identifier: GPL-2.0-only
/* The module's own tables of CPUs and prefetchers: sound rows, and for each kind of CPU its own. */
#include <stdio.h>
#include <string.h>

#include "../../kmod/model.c"
#include "../../kmod/prefetch_table.c"

#include "kselftest_harness.h"

#define INTEL_CPU	X86_VENDOR_INTEL, 6
#define INTEL_4		"l2-stream 1a4/0, l2-adjacent 1a4/1, l1-next-line 1a4/2, l1-ip 1a4/3"
#define E_CORE		"l2-stream 1a4/0, l1-next-line 1a4/2, l1-ip 1a4/3, l2-amp 1a4/5, " \
			"l2-next-line 1321/40"
#define NEW_E_CORE	INTEL_4 ", l1-next-page 1a4/4, l2-amp 1a4/5, llc-page 1a4/6, " \
			"pointer-array 1a4/7, code-stream 1a4/8, llc-stream 1320/43, " \
			"l2-next-line 1321/40"
#define SILVERMONTS	"l2-stream 1a4/0, l1-next-line 1a4/2"
#define CORE_2		"l2-stream 1a0/9, l2-adjacent 1a0/19, l1-next-line 1a0/37, l1-ip 1a0/39"
#define KNIGHTS		"l1-next-line 1a4/0, l2-stream 1a4/1"
#define ZENS		"l1-stream c0000108/0, l1-stride c0000108/1, l1-region c0000108/2, " \
			"l2-stream c0000108/3, l2-up-down c0000108/5"

#define WORD		"abcdefghijklmnopqrstuvwxyz0123456789-"

struct cpuinfo_x86 boot_cpu_data;
const struct cpuid_row *cpuid_rows;

/* A CPU, and its switches as REGISTER/BIT, documented or not; none: no row of the table. */
static const struct row {
	int line;
	u8 vendor, family, model, stepping, core_type;
	unsigned int scope;
	const char *documented, *undocumented;
} rows[] = {
	{ __LINE__, INTEL_CPU, 0x0f, 11, 0, CALM_SCOPE_CORE, CORE_2, "" },
	{ __LINE__, INTEL_CPU, 0x17, 6, 0, CALM_SCOPE_CORE, CORE_2, "" },
	{ __LINE__, INTEL_CPU, 0x1a, 5, 0, CALM_SCOPE_CORE, INTEL_4, "" },
	{ __LINE__, INTEL_CPU, 0x2c, 2, 0, CALM_SCOPE_CORE, INTEL_4, "" },
	{ __LINE__, INTEL_CPU, 0x2a, 7, 0, CALM_SCOPE_CORE, INTEL_4, "" },
	{ __LINE__, INTEL_CPU, 0x3e, 4, 0, CALM_SCOPE_CORE, INTEL_4, "" },
	{ __LINE__, INTEL_CPU, 0x3c, 3, 0, CALM_SCOPE_CORE, INTEL_4, "" },
	{ __LINE__, INTEL_CPU, 0x4f, 1, 0, CALM_SCOPE_CORE, INTEL_4, "" },
	{ __LINE__, INTEL_CPU, 0x5e, 3, 0, CALM_SCOPE_CORE, INTEL_4, "" },
	{ __LINE__, INTEL_CPU, 0x55, 4, 0, CALM_SCOPE_CORE, INTEL_4, "" },
	{ __LINE__, INTEL_CPU, 0x55, 7, 0, CALM_SCOPE_CORE, INTEL_4, "" },
	{ __LINE__, INTEL_CPU, 0x6a, 6, 0, CALM_SCOPE_CORE, INTEL_4, "" },
	{ __LINE__, INTEL_CPU, 0x8c, 1, 0, CALM_SCOPE_CORE, INTEL_4, "" },
	{ __LINE__, INTEL_CPU, 0x8f, 8, 0, CALM_SCOPE_CORE, INTEL_4 ", l2-amp 1a4/5", "" },
	{ __LINE__, INTEL_CPU, 0xcf, 2, 0, CALM_SCOPE_CORE, INTEL_4 ", l2-amp 1a4/5", "" },
	{ __LINE__, INTEL_CPU, 0xad, 1, 0, CALM_SCOPE_CORE,
	  INTEL_4 ", l2-amp 1a4/5, llc-page 1a4/6, pointer-array 1a4/7", "" },
	{ __LINE__, INTEL_CPU, 0x97, 2, 0x40, CALM_SCOPE_CORE, INTEL_4 ", l2-amp 1a4/5", "" },
	/* without efficient cores: not hybrid */
	{ __LINE__, INTEL_CPU, 0x97, 5, 0, CALM_SCOPE_CORE, INTEL_4 ", l2-amp 1a4/5", "" },
	{ __LINE__, INTEL_CPU, 0xbf, 2, 0, CALM_SCOPE_CORE, INTEL_4 ", l2-amp 1a4/5", "" },
	{ __LINE__, INTEL_CPU, 0x97, 2, 0x20, CALM_SCOPE_MODULE, E_CORE, "" },
	{ __LINE__, INTEL_CPU, 0xba, 2, 0x20, CALM_SCOPE_MODULE, E_CORE, "" },
	{ __LINE__, INTEL_CPU, 0xbe, 0, 0, CALM_SCOPE_MODULE, E_CORE, "" },
	{ __LINE__, INTEL_CPU, 0xaa, 4, 0x40, CALM_SCOPE_CORE, INTEL_4, "" },
	{ __LINE__, INTEL_CPU, 0xaa, 4, 0x20, CALM_SCOPE_MODULE, NEW_E_CORE, "" },
	{ __LINE__, INTEL_CPU, 0xaf, 3, 0, CALM_SCOPE_MODULE, NEW_E_CORE, "" },
	{ __LINE__, INTEL_CPU, 0xc6, 2, 0x40, CALM_SCOPE_CORE, INTEL_4, "" },
	{ __LINE__, INTEL_CPU, 0xbd, 1, 0x20, CALM_SCOPE_MODULE, NEW_E_CORE, "" },
	{ __LINE__, INTEL_CPU, 0xdd, 0, 0, CALM_SCOPE_MODULE, NEW_E_CORE, "" },
	{ __LINE__, INTEL_CPU, 0x37, 8, 0, CALM_SCOPE_CORE, SILVERMONTS, "" },
	{ __LINE__, INTEL_CPU, 0x4c, 3, 0, CALM_SCOPE_CORE, SILVERMONTS, "" },
	{ __LINE__, INTEL_CPU, 0x5c, 9, 0, CALM_SCOPE_CORE, SILVERMONTS, "" },
	{ __LINE__, INTEL_CPU, 0x7a, 1, 0, CALM_SCOPE_CORE, SILVERMONTS, "" },
	{ __LINE__, INTEL_CPU, 0x96, 1, 0, CALM_SCOPE_MODULE, "", INTEL_4 },
	{ __LINE__, INTEL_CPU, 0x57, 1, 0, CALM_SCOPE_CORE, KNIGHTS, "" },
	{ __LINE__, INTEL_CPU, 0x85, 0, 0, CALM_SCOPE_CORE, KNIGHTS, "" },
	{ __LINE__, X86_VENDOR_AMD, 0x17, 0x01, 1, 0, CALM_SCOPE_CORE, "",
	  "l1-all c0011022/16, l2-stream c001102b/0 on" },
	{ __LINE__, X86_VENDOR_AMD, 0x17, 0x60, 1, 0, CALM_SCOPE_CORE, "",
	  "l1-all c0011022/16, l2-stream c001102b/0 on" },
	{ __LINE__, X86_VENDOR_AMD, 0x19, 0x21, 2, 0, CALM_SCOPE_CORE, ZENS, "" },
	{ __LINE__, X86_VENDOR_AMD, 0x19, 0x61, 2, 0, CALM_SCOPE_CORE, ZENS, "" },
	{ __LINE__, X86_VENDOR_AMD, 0x1a, 0x44, 0, 0, CALM_SCOPE_CORE, ZENS, "" },
	/* a hybrid that tells no core type, older parts, a Zen of another maker */
	{ __LINE__, INTEL_CPU, 0xaa, 4, 0, 0, NULL, NULL },
	{ __LINE__, INTEL_CPU, 0x1c, 2, 0, 0, NULL, NULL },
	{ __LINE__, X86_VENDOR_INTEL, 15, 0x06, 0, 0, 0, NULL, NULL },
	{ __LINE__, X86_VENDOR_AMD, 0x15, 0x02, 0, 0, 0, NULL, NULL },
	{ __LINE__, X86_VENDOR_HYGON, 0x18, 0x01, 0, 0, 0, NULL, NULL },
};

/* What a test reads of a set: its switches of one kind, in their order. */
static void list_switches(const struct calm_prefetch_set *set, bool undocumented, char *text,
			  size_t len)
{
	size_t used = 0;
	unsigned int i;

	*text = 0;
	for (i = 0; i < set->nr; i++) {
		const struct calm_prefetcher *p = &set->rows[i];

		if (p->undocumented == undocumented)
			used += snprintf(text + used, len - used, "%s%s %x/%u%s", used ? ", " : "",
					 calm_prefetch_name(p->id)->name, p->msr, p->bit,
					 p->set_is_on ? " on" : "");
	}
}

/* The row of a CPU, found as the module finds it. */
static const struct calm_model *find(const struct row *row)
{
	const struct cpuid_row leaves[] = {
		{ 0, 0, { 0x1f } },
		{ 0x1a, 0, { (u32)row->core_type << 24 } },
		{},
	};

	boot_cpu_data = (struct cpuinfo_x86){ row->family, row->vendor, row->model, row->stepping,
					      row->core_type };
	cpuid_rows = leaves;
	calm_model_probe();
	return calm_model_find(0);
}

TEST(each_kind_of_cpu)
{
	char text[512];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct calm_model *model = find(&rows[i]);

		EXPECT_EQ(!rows[i].documented, !model)
			TH_LOG("line %d", rows[i].line);
		if (!rows[i].documented || !model)
			continue;
		EXPECT_EQ(rows[i].scope, model->prefetchers->scope)
			TH_LOG("line %d: %s", rows[i].line, model->name);
		list_switches(model->prefetchers, false, text, sizeof(text));
		EXPECT_STREQ(rows[i].documented, text)
			TH_LOG("line %d: %s", rows[i].line, model->name);
		list_switches(model->prefetchers, true, text, sizeof(text));
		EXPECT_STREQ(rows[i].undocumented, text)
			TH_LOG("line %d: %s", rows[i].line, model->name);
	}
}

/* Leaf 0BH of two threads to a core, and what came before it on AMD. */
#define THREADS_0B(apic_id)	{ 0xb, 0, { 1, 2, 0x100, apic_id } }
#define NO_0B			{ 0xb, 0, { 0, 0, 0, 1 } }
#define AMD_1E(apic_id, threads) { 0x80000000, 0, { 0x8000001f } }, \
				{ 0x80000001, 0, { 0x800f11, 0, 1 << 22 } }, \
				{ 0x8000001e, 0, { apic_id, ((threads) - 1) << 8 } }
/* L1d and L2 of Gracemont, whose IDs are two apart: eight to a module of four */
#define MODULE_OF_4		{ 4, 0, { 0x21 | 1 << 14 } }, { 4, 1, { 0x43 | 7 << 14 } }

/* Which CPUs share registers. */
static const struct scopes {
	int line;
	u8 vendor, family;
	const struct cpuid_row leaves[8];
	u32 core, module;
} scopes[] = {
	{ __LINE__, INTEL_CPU, { { 0, 0, { 0x16 } }, THREADS_0B(9) }, 4, 4 },
	{ __LINE__, INTEL_CPU, { { 0, 0, { 0x20 } }, THREADS_0B(0x4a), MODULE_OF_4 }, 0x25, 9 },
	/* without leaf 0BH, or with an empty one, the ID is that of leaf 1 */
	{ __LINE__, INTEL_CPU, { { 0, 0, { 0xa } }, { 1, 0, { 0x6fb, 3 << 24 } } }, 3, 3 },
	{ __LINE__, X86_VENDOR_AMD, 0x19, { { 0, 0, { 0x10 } }, THREADS_0B(7), AMD_1E(7, 2) },
	  3, 3 },
	/* Zen 1: two threads, then one */
	{ __LINE__, X86_VENDOR_AMD, 0x17,
	  { { 0, 0, { 0xd } }, { 1, 0, { 0x800f11, 5 << 24 } }, AMD_1E(5, 2) }, 2, 2 },
	{ __LINE__, X86_VENDOR_AMD, 0x17,
	  { { 0, 0, { 0xd } }, { 1, 0, { 0x800f11, 5 << 24 } }, NO_0B, AMD_1E(5, 1) }, 5, 5 },
	/* no topology extensions */
	{ __LINE__, X86_VENDOR_AMD, 0x17,
	  { { 0, 0, { 0xd } }, { 1, 0, { 0x800f11, 5 << 24 } },
	    { 0x80000000, 0, { 0x8000001f } } }, 5, 5 },
	/* there the field tells compute units */
	{ __LINE__, X86_VENDOR_AMD, 0x15,
	  { { 0, 0, { 0xd } }, { 1, 0, { 0x600f12, 5 << 24 } }, AMD_1E(5, 2) }, 5, 5 },
};

TEST(each_kind_of_scope)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(scopes); i++) {
		boot_cpu_data = (struct cpuinfo_x86){ .x86 = scopes[i].family,
						      .x86_vendor = scopes[i].vendor };
		cpuid_rows = scopes[i].leaves;
		calm_model_probe();
		EXPECT_EQ(scopes[i].core, calm_model_scope_id(0, CALM_SCOPE_CORE))
			TH_LOG("line %d", scopes[i].line);
		EXPECT_EQ(scopes[i].module, calm_model_scope_id(0, CALM_SCOPE_MODULE))
			TH_LOG("line %d", scopes[i].line);
	}
}

/* Zen 3 and later have the register if CPUID says so, 8000_0021 EAX[13]. */
TEST(zens_by_cpuid)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(models); i++) {
		const bool zen3 = models[i].vendor == X86_VENDOR_AMD && models[i].family >= 0x19;

		EXPECT_EQ(zen3 ? 0x80000021 : 0, models[i].prefetchers->cpuid_leaf)
			TH_LOG("%s", models[i].name);
		EXPECT_EQ(zen3 ? 13 : 0, models[i].prefetchers->cpuid_bit);
	}
}

static bool overlaps(u8 first, u8 last, u8 other_first, u8 other_last)
{
	return first <= other_last && other_first <= last;
}

/* No CPU has two rows, and none is empty. */
TEST(models_are_apart)
{
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(models); i++) {
		const struct calm_model *a = &models[i];

		EXPECT_LE(a->model_first, a->model_last) TH_LOG("%s", a->name);
		EXPECT_LE(a->stepping_first, a->stepping_last) TH_LOG("%s", a->name);
		EXPECT_NE(0, strlen(a->name));
		ASSERT_NE(NULL, a->prefetchers);
		for (j = 0; j < i; j++) {
			const struct calm_model *b = &models[j];

			EXPECT_FALSE(a->vendor == b->vendor && a->family == b->family &&
				     a->core_type == b->core_type &&
				     overlaps(a->model_first, a->model_last, b->model_first,
					      b->model_last) &&
				     overlaps(a->stepping_first, a->stepping_last,
					      b->stepping_first, b->stepping_last))
				TH_LOG("%s and %s", a->name, b->name);
		}
	}
}

static unsigned int count_registers(const struct calm_prefetch_set *set)
{
	unsigned int i, j, count = 0;

	for (i = 0; i < set->nr; i++) {
		for (j = 0; j < i && set->rows[j].msr != set->rows[i].msr; j++)
			;
		count += j == i;
	}
	return count;
}

/* Names and bits of a set, one by one and beside each other. */
TEST(sets_are_sound)
{
	size_t m;
	unsigned int i, j;

	for (m = 0; m < ARRAY_SIZE(models); m++) {
		const struct calm_prefetch_set *set = models[m].prefetchers;

		EXPECT_LE(1, set->nr);
		EXPECT_GE(CALM_PREFETCH_MSRS_MAX, count_registers(set))
			TH_LOG("%s", models[m].name);
		EXPECT_TRUE(set->scope == CALM_SCOPE_CORE || set->scope == CALM_SCOPE_MODULE)
			TH_LOG("%s: scope %u", models[m].name, set->scope);
		for (i = 0; i < set->nr; i++) {
			const struct calm_prefetcher *p = &set->rows[i];

			ASSERT_NE(NULL, calm_prefetch_name(p->id)) TH_LOG("%s", models[m].name);
			EXPECT_NE(0, p->msr);
			EXPECT_GT(64, p->bit);
			ASSERT_NE(NULL, p->source);
			EXPECT_LT(10, strlen(p->source)) TH_LOG("source '%s'", p->source);
			for (j = 0; j < i; j++) {
				EXPECT_NE(p->id, set->rows[j].id) TH_LOG("%s", models[m].name);
				EXPECT_FALSE(p->msr == set->rows[j].msr &&
					     p->bit == set->rows[j].bit)
					TH_LOG("%s: bit %u", models[m].name, p->bit);
			}
		}
	}
}

static bool is_used(unsigned int id)
{
	unsigned int m, i;

	for (m = 0; m < ARRAY_SIZE(models); m++)
		for (i = 0; i < models[m].prefetchers->nr; i++)
			if (models[m].prefetchers->rows[i].id == id)
				return true;
	return false;
}

/* Each name is there once, is a word for --prefetch off:NAMES, and some CPU has it. */
TEST(each_name)
{
	const struct calm_prefetch_name *name, *other;
	unsigned int i, j;

	for (i = 0; (name = calm_prefetch_name(i)); i++) {
		ASSERT_NE(NULL, name->name) TH_LOG("name %u", i);
		ASSERT_NE(NULL, name->kind) TH_LOG("%s", name->name);
		EXPECT_LT(0, strlen(name->kind));
		EXPECT_LT(0, strlen(name->name));
		EXPECT_EQ(strlen(name->name), strspn(name->name, WORD))
			TH_LOG("%s", name->name);
		EXPECT_TRUE(is_used(i)) TH_LOG("%s", name->name);
		for (j = 0; j < i; j++) {
			other = calm_prefetch_name(j);
			EXPECT_NE(0, strcmp(name->name, other->name)) TH_LOG("%s", name->name);
		}
	}
	EXPECT_EQ(CODE_STREAM + 1, i);
}

TEST_HARNESS_MAIN
