// SPDX-License-Identifier: GPL-2.0-only
/* Models that no machine could have: what single values do not show, but two of them together. */
#include <string.h>

#include "events.h"
#include "parser.h"

static bool power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

/**
 * struct check - something that a cache cannot be
 * @bad: whether it is
 * @text: what to say
 */
struct check {
	bool bad;
	const char *text;
};

static bool run_checks(struct parser *p, const struct sim_cache_model *c,
		       const struct check *checks, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (checks[i].bad)
			return sim_parser_fail(p, c->line_no, "cache %s: %s", c->name,
					       checks[i].text);
	return true;
}

static bool check_geometry(struct parser *p, struct sim_cache_model *c)
{
	const uint64_t set_bytes = (uint64_t)c->ways * c->line;
	const struct check checks[] = {
		{ !power_of_two(c->line), "line is no power of two" },
		{ p->model->cpu.vendor == SIM_AMD && c->line > 128,
		  "line: AMD's CPUID has room for 128 bytes at most" },
		{ c->size % set_bytes, "size is no multiple of ways times line" },
		{ c->replace == SIM_PLRU && !power_of_two(c->ways),
		  "replace = plru needs ways of a power of two" },
		{ c->replace == SIM_PLRU && c->ways > 32, "replace = plru has at most 32 ways" },
		{ c->slices && c->size / set_bytes % c->slices,
		  "its sets cannot be divided by slices" },
		{ c->slices > 1 && c->index == SIM_INDEX_VIRTUAL,
		  "slices does not go with index = virtual" },
		{ c->index == SIM_INDEX_VIRTUAL && c->level != 1,
		  "index = virtual is for level 1" },
		{ c->index == SIM_INDEX_VIRTUAL && !power_of_two(c->size / set_bytes),
		  "index = virtual needs sets of a power of two" },
	};

	if (!run_checks(p, c, checks, sizeof(checks) / sizeof(checks[0])))
		return false;
	c->sets = c->size / set_bytes;
	return true;
}

/*
 * An exclusive cache takes what the level inside it evicts. Were that level neither inclusive nor
 * exclusive, the line could still sit farther inside and would then be in both.
 */
static bool check_neighbour(struct parser *p, const struct sim_cache_model *c)
{
	const struct sim_cache_model *in = c->level > 1 ? c - 1 : c;
	const struct check checks[] = {
		{ c->level == 1 && c->inclusion != SIM_NEITHER, "nothing is inside level 1" },
		{ c->level > 1 && c->line != in->line, "all data caches have one line size" },
		{ c->level > 1 && c->latency <= in->latency,
		  "latency must exceed that of the level inside" },
		{ c->level > 1 && c->scope < in->scope,
		  "fewer CPUs share it than the level inside" },
		{ c->level > 2 && c->inclusion == SIM_EXCLUSIVE && in->inclusion == SIM_NEITHER,
		  "exclusive needs the level inside to be inclusive or exclusive" },
	};

	return run_checks(p, c, checks, sizeof(checks) / sizeof(checks[0]));
}

static bool check_caches(struct parser *p)
{
	struct sim_model *m = p->model;
	const struct sim_cache_model *last;
	unsigned int i;

	for (i = 0; i < m->caches; i++)
		if (!check_geometry(p, &m->cache[i]) || !check_neighbour(p, &m->cache[i]))
			return false;
	last = &m->cache[m->caches - 1];
	if (m->timing.memory <= last->latency)
		return sim_parser_fail(p, last->line_no,
				       "cache %s: latency must be below memory's", last->name);
	return !m->instruction.line_no || check_geometry(p, &m->instruction);
}

/* What each register layout allows; sources: x86 perf drivers of Linux, arch/x86/events. */
static const struct {
	int vendor;
	unsigned int version[2], gp[2], fixed[2], width[2];
} styles[] = {
	[SIM_PMU_NONE] = { -1, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 16, 48 } },
	[SIM_PMU_INTEL] = { SIM_INTEL, { 1, 5 }, { 1, SIM_GP_MAX }, { 0, SIM_FIXED_MAX },
			    { 16, 48 } },
	[SIM_PMU_LEGACY] = { SIM_AMD, { 0, 0 }, { 4, 4 }, { 0, 0 }, { 48, 48 } },
	[SIM_PMU_EXTCORE] = { SIM_AMD, { 0, 0 }, { 6, 6 }, { 0, 0 }, { 48, 48 } },
	[SIM_PMU_V2] = { SIM_AMD, { 0, 0 }, { 6, 6 }, { 0, 0 }, { 48, 48 } },
};

static bool outside(const unsigned int range[2], unsigned int value)
{
	return value < range[0] || value > range[1];
}

static bool check_pmu(struct parser *p)
{
	const struct sim_pmu_model *pmu = &p->model->pmu;
	const char *style = sim_style_name(pmu->style);
	const struct check checks[] = {
		{ styles[pmu->style].vendor >= 0 &&
		  styles[pmu->style].vendor != (int)p->model->cpu.vendor, "the vendor" },
		{ outside(styles[pmu->style].version, pmu->version), "version" },
		{ outside(styles[pmu->style].gp, pmu->gp), "gp" },
		{ outside(styles[pmu->style].fixed, pmu->fixed), "fixed" },
		{ pmu->version == 1 && pmu->fixed, "fixed, as version 1 has none" },
		{ outside(styles[pmu->style].width, pmu->width), "width" },
		{ pmu->full_width && pmu->version < 2, "full_width" },
		{ pmu->anythread && pmu->version < 3, "anythread" },
		{ p->model->fault.counter_zero >= (int)pmu->gp, "counter_zero of [fault]" },
		{ p->model->fault.counter_held >= (int)pmu->gp, "counter_held of [fault]" },
		{ p->model->fault.counter_start >> pmu->width, "counter_start of [fault]" },
	};
	size_t i;

	for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (checks[i].bad)
			return sim_parser_fail(p, p->line, "[pmu] style = %s does not go with %s",
					       style, checks[i].text);
	return true;
}

static bool check_allocation(struct parser *p, unsigned int number)
{
	struct sim_model *m = p->model;
	const struct sim_allocation_model *row = &m->allocation[number];
	const char *text = NULL;
	unsigned int i;

	if (row->level > m->caches)
		return sim_parser_fail(p, row->line_no, "allocation %s: there is no level %u",
				       row->name, row->level);
	for (i = 0; i < number; i++)
		if (m->allocation[i].level == row->level && m->allocation[i].core == row->core)
			text = "another one is about the same core and level";
	if (m->cache[row->level - 1].ways < 64 && row->mask >> m->cache[row->level - 1].ways)
		text = "mask has more bits than the level has ways";
	if (text)
		return sim_parser_fail(p, row->line_no, "allocation %s: %s", row->name, text);
	m->cache[row->level - 1].masked = true;
	return true;
}

static bool check_allocations(struct parser *p)
{
	unsigned int i;

	for (i = 0; i < p->model->allocations; i++)
		if (!check_allocation(p, i))
			return false;
	return true;
}

/* A page of a size may be in either of two arrays of level 2, if these are alike. */
static const char *check_shared_pages(const struct sim_model *m, const struct sim_tlb_model *row,
				      const struct sim_tlb_model *other)
{
	const unsigned int shared = row->pages & other->pages;
	const struct sim_tlb_model *third;

	if (row->level != other->level || !shared)
		return NULL;
	for (third = m->tlb; third < other; third++)
		if (third->level == row->level && third->pages & shared)
			return "two others of its level hold pages of the same size";
	if (row->level == 1)
		return "another one of its level holds pages of the same size";
	if (row->entries != other->entries || row->ways != other->ways ||
	    row->penalty != other->penalty || row->coalesce != other->coalesce)
		return "another one holds pages of the same size, and is not like it";
	return NULL;
}

static bool check_tlb(struct parser *p, unsigned int number)
{
	const struct sim_tlb_model *row = &p->model->tlb[number];
	const char *text = NULL;
	unsigned int i;

	if (row->entries % row->ways)
		text = "entries is no multiple of ways";
	else if (!power_of_two(row->coalesce))
		text = "coalesce is no power of two";
	for (i = 0; i < number && !text; i++)
		text = check_shared_pages(p->model, row, &p->model->tlb[i]);
	return !text || sim_parser_fail(p, row->line_no, "tlb %s: %s", row->name, text);
}

/* Pages of 4 KiB need an array of level 1, as others can be kept in pieces. */
static bool check_tlbs(struct parser *p)
{
	const struct sim_model *m = p->model;
	bool found = !m->tlbs;
	unsigned int i;

	for (i = 0; i < m->tlbs; i++) {
		if (!check_tlb(p, i))
			return false;
		found |= m->tlb[i].level == 1 && m->tlb[i].pages & 1u << SIM_PAGE_4K;
	}
	return found || sim_parser_fail(p, m->tlb[0].line_no, "tlb %s: there is none of level 1 "
					"for pages of 4k", m->tlb[0].name);
}

static bool bit_exists(const struct sim_model *m, const struct sim_switch *disable)
{
	unsigned int i;

	for (i = 0; i < m->msrs; i++)
		if (m->msr[i].msr == disable->msr)
			return m->msr[i].mask >> disable->bit & 1;
	return !disable->msr;
}

static bool check_prefetchers(struct parser *p)
{
	const struct sim_model *m = p->model;
	unsigned int i;

	for (i = 0; i < m->prefetchers; i++) {
		const struct sim_prefetch_model *row = &m->prefetch[i];

		if (row->level > m->caches)
			return sim_parser_fail(p, row->line_no,
					       "prefetch %s: there is no level %u", row->name,
					       row->level);
		if (!bit_exists(m, &row->disable))
			return sim_parser_fail(p, row->line_no,
					       "prefetch %s: [msr] has no 0x%x with bit %u",
					       row->name, row->disable.msr, row->disable.bit);
	}
	return true;
}

static bool check_cpu(struct parser *p)
{
	const char *uarch = p->model->cpu.microarch;

	if (strcmp(uarch, "none") && !sim_uarch_known(uarch))
		return sim_parser_fail(p, p->line, "[cpu] microarch: no event codes of '%s' are "
				       "known; use none and [event]", uarch);
	return true;
}

bool sim_model_check(struct parser *p)
{
	return check_cpu(p) && check_caches(p) && check_allocations(p) && check_tlbs(p) &&
	       check_prefetchers(p) && check_pmu(p);
}

/* All cores share such a level, so both files must describe the same one. */
static bool same_level(const struct sim_cache_model *a, const struct sim_cache_model *b)
{
	return a->size == b->size && a->ways == b->ways && a->index == b->index &&
	       a->replace == b->replace && a->seed == b->seed && a->slices == b->slices &&
	       a->inclusion == b->inclusion;
}

static bool levels_fit(const struct sim_model *a, const struct sim_model *b)
{
	unsigned int i;

	for (i = 0; i < a->caches; i++) {
		const bool of_all = a->cache[i].scope == SIM_SCOPE_PACKAGE;
		const bool of_all_too = b->cache[i].scope == SIM_SCOPE_PACKAGE;

		if (of_all != of_all_too)
			return false;
		if (of_all && !same_level(&a->cache[i], &b->cache[i]))
			return false;
	}
	return true;
}

static bool shares_registers(const struct sim_model *m)
{
	unsigned int i;

	for (i = 0; i < m->msrs; i++)
		if (m->msr[i].scope == SIM_SCOPE_PACKAGE)
			return true;
	return false;
}

/* Neither a core nor a cluster has vCPUs of both kinds. */
static bool splits(const struct sim_model *m, unsigned int first)
{
	return first % (m->cpu.threads * m->cpu.cluster);
}

bool sim_model_check_hybrid(struct parser *p)
{
	const struct sim_model *a = p->model, *b = a->hybrid.model;
	const struct check checks[] = {
		{ a->cpu.core_type == SIM_CORE_PLAIN || b->cpu.core_type == SIM_CORE_PLAIN ||
		  a->cpu.core_type == b->cpu.core_type, "core_type must tell the cores apart" },
		{ strcmp(a->cpu.qemu_cpu, b->cpu.qemu_cpu), "qemu_cpu must be the same" },
		{ a->cpu.vendor != b->cpu.vendor, "vendor must be the same" },
		{ a->cpu.threads != b->cpu.threads, "threads must be the same" },
		{ a->timing.tsc_hz != b->timing.tsc_hz, "tsc_hz must be the same" },
		{ a->pmu.style != b->pmu.style, "style of [pmu] must be the same" },
		{ a->caches != b->caches, "the number of caches must be the same" },
		{ a->cache[0].line != b->cache[0].line, "line must be the same" },
		{ a->caches == b->caches && !levels_fit(a, b),
		  "a cache of scope package must be the same" },
		{ shares_registers(a) || shares_registers(b),
		  "a register of [msr] has scope package" },
		{ splits(a, a->hybrid.first) || splits(b, a->hybrid.first),
		  "first is in the middle of a core or cluster" },
	};
	size_t i;

	for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (checks[i].bad)
			return sim_parser_fail(p, p->head, "[hybrid] %s", checks[i].text);
	return true;
}

static bool scale_cache(struct parser *p, struct sim_cache_model *c, uint64_t divisor)
{
	if (c->sets % divisor)
		return sim_parser_fail(p, c->line_no,
				       "cache %s: %llu sets cannot be divided by %llu", c->name,
				       (unsigned long long)c->sets, (unsigned long long)divisor);
	if (c->slices && c->sets / divisor % c->slices)
		return sim_parser_fail(p, c->line_no, "cache %s: its sets cannot be divided by "
				       "slices any longer", c->name);
	c->sets /= divisor;
	c->size /= divisor;
	return true;
}

bool sim_model_scale(struct parser *p, uint64_t divisor)
{
	unsigned int i;

	for (i = 0; i < p->model->caches; i++)
		if (!scale_cache(p, &p->model->cache[i], divisor))
			return false;
	return !p->model->instruction.line_no || scale_cache(p, &p->model->instruction, divisor);
}
