// SPDX-License-Identifier: GPL-2.0-only
/* Parser of model files. Strict: whatever is unknown, missing, double or impossible is an error. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "model.h"
#include "parser.h"
#include "value.h"

enum type { TEXT, UINT, SIZE, BOOL, WORD, RATIO, COUNTER, MSRS, SWITCH, PAGES };

/**
 * struct key - a key of a section
 * @name: as written in the file
 * @type: of its value
 * @offset: of the member in the section's struct
 * @min: smallest value
 * @max: largest value; for RATIO of both terms
 * @words: the values of a WORD, position by position
 * @value: default; NULL: the key must be given
 */
struct key {
	const char *name;
	enum type type;
	size_t offset;
	uint64_t min;
	uint64_t max;
	const char *const *words;
	const char *value;
};

/**
 * struct section - a kind of section
 * @name: first word of the head
 * @argument: what the second word is called, NULL if there is none
 * @keys: rows, ended by a key without name; NULL: @row takes any key
 * @open: find or make room for the values, NULL with an error set
 * @row: take one line of a section without @keys
 * @needed: a file without it is an error
 */
struct section {
	const char *name;
	const char *argument;
	const struct key *keys;
	void *(*open)(struct parser *p, const char *argument);
	bool (*row)(struct parser *p, const char *name, char *value);
	bool needed;
};

static const char *const vendor_words[] = { "intel", "amd", NULL };
static const char *const core_words[] = { "plain", "performance", "efficient", NULL };
static const char *const index_words[] = { "physical", "virtual", NULL };
static const char *const replace_words[] = { "lru", "plru", "fifo", "mru", "random",
					     "qlru_h11_m1_r0_u0", "qlru_h00_m1_r0_u1",
					     "qlru_h00_m1_r2_u1", "qlru_h11_m1_r1_u2",
					     "qlru_h00_m2_r0_u0_umo", NULL };
static const char *const scope_words[] = { "core", "cluster", "package", NULL };
static const char *const inclusion_words[] = { "neither", "inclusive", "exclusive", NULL };
static const char *const style_words[] = { "none", "intel", "amd-legacy", "amd-extcore",
					   "amd-v2", NULL };
static const char *const absent_words[] = { "fault", "zero", NULL };
static const char *const kind_words[] = { "next_line", "adjacent", "stream", "ip_stride",
					  "region", "up_down", "multipath", "next_page",
					  "pointers", NULL };
static const char *const page_words[] = { "4k", "2m", "1g", NULL };
static const char *const bool_words[] = { "no", "yes", NULL };

#define AT(member)	offsetof(struct sim_identity, member)
static const struct key cpu_keys[] = {
	{ "vendor", WORD, AT(vendor), 0, 0, vendor_words, NULL },
	{ "qemu_cpu", TEXT, AT(qemu_cpu), 0, 0, NULL, NULL },
	{ "microarch", TEXT, AT(microarch), 0, 0, NULL, NULL },
	{ "threads", UINT, AT(threads), 1, 8, NULL, "1" },
	{ "cluster", UINT, AT(cluster), 1, 64, NULL, "1" },
	{ "core_type", WORD, AT(core_type), 0, 0, core_words, "plain" },
	{ NULL, TEXT, 0, 0, 0, NULL, NULL },
};

#undef AT

#define AT(member)	offsetof(struct sim_timing, member)
static const struct key timing_keys[] = {
	{ "width", UINT, AT(width), 1, 16, NULL, NULL },
	{ "tsc_hz", SIZE, AT(tsc_hz), 1000000, 10000000000, NULL, NULL },
	{ "core_ratio", RATIO, AT(core_ratio), 1, 16, NULL, "1" },
	{ "memory", UINT, AT(memory), 1, 100000, NULL, NULL },
	{ "memory_bandwidth", UINT, AT(memory_bandwidth), 0, SIM_BANDWIDTH_MAX, NULL, "0" },
	{ "rob", UINT, AT(rob), 16, SIM_ROB_MAX, NULL, "224" },
	{ "fill_buffers", UINT, AT(fill_buffers), 1, 64, NULL, "10" },
	{ "store_buffer", UINT, AT(store_buffer), 1, SIM_STORE_BUFFER_MAX, NULL, "56" },
	{ "load_ports", UINT, AT(load_ports), 1, 16, NULL, "2" },
	{ "clock", UINT, AT(clock), 0, 1000, NULL, "24" },
	{ NULL, TEXT, 0, 0, 0, NULL, NULL },
};

#undef AT

#define AT(member)	offsetof(struct sim_cache_model, member)
static const struct key cache_keys[] = {
	{ "size", SIZE, AT(size), 256, 1ull << 32, NULL, NULL },
	{ "ways", UINT, AT(ways), 1, 64, NULL, NULL },
	{ "line", UINT, AT(line), 32, 256, NULL, NULL },
	{ "latency", UINT, AT(latency), 1, 10000, NULL, NULL },
	{ "bandwidth", UINT, AT(bandwidth), 0, SIM_BANDWIDTH_MAX, NULL, "0" },
	{ "index", WORD, AT(index), 0, 0, index_words, "physical" },
	{ "replace", WORD, AT(replace), 0, 0, replace_words, "lru" },
	{ "seed", UINT, AT(seed), 1, UINT32_MAX, NULL, "1" },
	{ "slices", UINT, AT(slices), 1, 128, NULL, "1" },
	{ "scope", WORD, AT(scope), 0, 0, scope_words, "core" },
	{ "inclusion", WORD, AT(inclusion), 0, 0, inclusion_words, "neither" },
	{ NULL, TEXT, 0, 0, 0, NULL, NULL },
};

#undef AT

/* Nothing but CPUID shows an instruction cache, so it has no timing or policy. */
#define AT(member)	offsetof(struct sim_cache_model, member)
static const struct key instruction_keys[] = {
	{ "size", SIZE, AT(size), 256, 1ull << 32, NULL, NULL },
	{ "ways", UINT, AT(ways), 1, 64, NULL, NULL },
	{ "line", UINT, AT(line), 32, 256, NULL, NULL },
	{ NULL, TEXT, 0, 0, 0, NULL, NULL },
};

#undef AT

#define AT(member)	offsetof(struct sim_allocation_model, member)
static const struct key allocation_keys[] = {
	{ "level", UINT, AT(level), 1, SIM_CACHES_MAX, NULL, NULL },
	{ "core", UINT, AT(core), 0, 255, NULL, NULL },
	{ "mask", SIZE, AT(mask), 1, UINT64_MAX, NULL, NULL },
	{ NULL, TEXT, 0, 0, 0, NULL, NULL },
};

#undef AT

#define AT(member)	offsetof(struct sim_tlb_model, member)
static const struct key tlb_keys[] = {
	{ "level", UINT, AT(level), 1, 2, NULL, NULL },
	{ "pages", PAGES, AT(pages), 0, 0, NULL, NULL },
	{ "entries", UINT, AT(entries), 1, 65536, NULL, NULL },
	{ "ways", UINT, AT(ways), 1, 1024, NULL, NULL },
	{ "penalty", UINT, AT(penalty), 0, 1000, NULL, "0" },
	{ "coalesce", UINT, AT(coalesce), 1, 16, NULL, "1" },
	{ NULL, TEXT, 0, 0, 0, NULL, NULL },
};

#undef AT

#define AT(member)	offsetof(struct sim_walk_model, member)
static const struct key walk_keys[] = {
	{ "read", UINT, AT(read), 0, 10000, NULL, "0" },
	{ "pde", UINT, AT(pde), 0, 1024, NULL, "0" },
	{ "pdpte", UINT, AT(pdpte), 0, 1024, NULL, "0" },
	{ "pml4e", UINT, AT(pml4e), 0, 1024, NULL, "0" },
	{ NULL, TEXT, 0, 0, 0, NULL, NULL },
};

#undef AT

#define AT(member)	offsetof(struct sim_prefetch_model, member)
static const struct key prefetch_keys[] = {
	{ "kind", WORD, AT(kind), 0, 0, kind_words, NULL },
	{ "level", UINT, AT(level), 1, SIM_CACHES_MAX, NULL, NULL },
	{ "train", UINT, AT(train), 0, 8, NULL, "2" },
	{ "degree", UINT, AT(degree), 1, 64, NULL, "1" },
	{ "distance", UINT, AT(distance), 1, 64, NULL, "1" },
	{ "entries", UINT, AT(entries), 1, 64, NULL, "16" },
	{ "page_bound", BOOL, AT(page_bound), 0, 0, NULL, "yes" },
	{ "disable", SWITCH, AT(disable), 0, 0, NULL, "none" },
	{ NULL, TEXT, 0, 0, 0, NULL, NULL },
};

#undef AT

#define AT(member)	offsetof(struct sim_pmu_model, member)
static const struct key pmu_keys[] = {
	{ "style", WORD, AT(style), 0, 0, style_words, NULL },
	{ "version", UINT, AT(version), 0, 5, NULL, "0" },
	{ "gp", UINT, AT(gp), 0, SIM_GP_MAX, NULL, "0" },
	{ "fixed", UINT, AT(fixed), 0, SIM_FIXED_MAX, NULL, "0" },
	{ "width", UINT, AT(width), 16, 48, NULL, "48" },
	{ "full_width", BOOL, AT(full_width), 0, 0, NULL, "no" },
	{ "anythread", BOOL, AT(anythread), 0, 0, NULL, "no" },
	{ "absent", WORD, AT(absent), 0, 0, absent_words, "fault" },
	{ "pmi", BOOL, AT(pmi), 0, 0, NULL, "no" },
	{ NULL, TEXT, 0, 0, 0, NULL, NULL },
};

#undef AT

#define AT(member)	offsetof(struct sim_fault_model, member)
static const struct key fault_keys[] = {
	{ "counter_zero", COUNTER, AT(counter_zero), 0, SIM_GP_MAX - 1, NULL, "none" },
	{ "counter_held", COUNTER, AT(counter_held), 0, SIM_GP_MAX - 1, NULL, "none" },
	{ "held_select", SIZE, AT(held_select), 0, UINT64_MAX, NULL, "0" },
	{ "counter_start", SIZE, AT(counter_start), 0, (1ull << 48) - 1, NULL, "0" },
	{ "msr_zero", MSRS, AT(msr_zero), 0, 0, NULL, "none" },
	{ "msr_fault", MSRS, AT(msr_fault), 0, 0, NULL, "none" },
	{ "msr_drop", MSRS, AT(msr_drop), 0, 0, NULL, "none" },
	{ "drop_cpu", COUNTER, AT(drop_cpu), 0, 255, NULL, "none" },
	{ NULL, TEXT, 0, 0, 0, NULL, NULL },
};

#undef AT

#define AT(member)	offsetof(struct sim_noise_model, member)
static const struct key noise_keys[] = {
	{ "seed", UINT, AT(seed), 1, UINT32_MAX, NULL, "1" },
	{ "jitter", UINT, AT(jitter), 0, 100, NULL, "0" },
	{ "outlier", UINT, AT(outlier), 0, 1000000, NULL, "0" },
	{ "outlier_cycles", UINT, AT(outlier_cycles), 0, 100000000, NULL, "0" },
	{ "neighbour", UINT, AT(neighbour), 0, 1000, NULL, "0" },
	{ NULL, TEXT, 0, 0, 0, NULL, NULL },
};

#undef AT

#define AT(member)	offsetof(struct sim_hybrid_model, member)
static const struct key hybrid_keys[] = {
	{ "cores", TEXT, AT(cores), 0, 0, NULL, NULL },
	{ "others", TEXT, AT(others), 0, 0, NULL, NULL },
	{ "first", UINT, AT(first), 1, 255, NULL, NULL },
	{ NULL, TEXT, 0, 0, 0, NULL, NULL },
};

#undef AT

#define AT(member)	offsetof(struct sim_script, member)
static const struct key script_keys[] = {
	{ "smi", SIZE, AT(smi), 0, UINT32_MAX, NULL, "0" },
	{ "aperf", SIZE, AT(aperf), 0, UINT32_MAX, NULL, "0" },
	{ "mperf", SIZE, AT(mperf), 0, UINT32_MAX, NULL, "0" },
	{ "cycles", SIZE, AT(cycles), 0, UINT32_MAX, NULL, "0" },
	{ "fast", SIZE, AT(fast), 0, UINT32_MAX, NULL, "0" },
	{ "nmi", BOOL, AT(nmi), 0, 0, NULL, "no" },
	{ "after", SIZE, AT(after), 0, UINT32_MAX, NULL, "0" },
	{ NULL, TEXT, 0, 0, 0, NULL, NULL },
};

#undef AT

bool sim_parser_fail(struct parser *p, unsigned int line, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(p->err, p->len, "%s:%u: %s", p->path, line, text);
	return false;
}

#define fail(p, ...)	sim_parser_fail(p, (p)->line, __VA_ARGS__)

static bool fail_words(struct parser *p, const char *name, const char *value,
		       const char *const *words)
{
	char list[160] = "";
	size_t i, used = 0;

	for (i = 0; words[i]; i++)
		used += snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
				 words[i]);
	return fail(p, "%s: '%s' is none of %s", name, value, list);
}

static bool fail_range(struct parser *p, const struct key *key, const char *value)
{
	return fail(p, "%s: '%s' is not within %llu to %llu", key->name, value,
		    (unsigned long long)key->min, (unsigned long long)key->max);
}

static bool set_text(struct parser *p, const struct key *key, const char *value, void *to)
{
	const char *c;

	if (strlen(value) >= SIM_TEXT_MAX)
		return fail(p, "%s: more than %d characters", key->name, SIM_TEXT_MAX - 1);
	for (c = value; *c; c++)
		if (strchr("'\"\\", *c) || (unsigned char)*c < ' ')
			return fail(p, "%s: quotes and control characters are not allowed",
				    key->name);
	strcpy(to, value);
	return true;
}

static bool set_number(struct parser *p, const struct key *key, const char *value, void *to)
{
	uint64_t number;

	if (!(key->type == SIZE ? sim_value_size : sim_value_number)(value, &number))
		return fail(p, "%s: '%s' is no number", key->name, value);
	if (number < key->min || number > key->max)
		return fail_range(p, key, value);
	if (key->type == SIZE)
		*(uint64_t *)to = number;
	else
		*(unsigned int *)to = number;
	return true;
}

static bool set_word(struct parser *p, const struct key *key, const char *value, void *to)
{
	const char *const *words = key->type == BOOL ? bool_words : key->words;
	unsigned int word;

	if (!sim_value_word(value, words, &word))
		return fail_words(p, key->name, value, words);
	if (key->type == BOOL)
		*(bool *)to = word;
	else
		*(unsigned int *)to = word;
	return true;
}

static bool set_ratio(struct parser *p, const struct key *key, const char *value, void *to)
{
	struct sim_ratio *ratio = to;

	if (!sim_value_ratio(value, ratio))
		return fail(p, "%s: '%s' is no fraction", key->name, value);
	if (ratio->num > key->max || ratio->den > key->max)
		return fail_range(p, key, value);
	return true;
}

static bool set_counter(struct parser *p, const struct key *key, const char *value, void *to)
{
	uint64_t number;

	if (!strcmp(value, "none")) {
		*(int *)to = -1;
		return true;
	}
	if (!sim_value_number(value, &number) || number > key->max)
		return fail_range(p, key, value);
	*(int *)to = number;
	return true;
}

static bool set_msrs(struct parser *p, const struct key *key, const char *value, void *to)
{
	struct sim_msr_list *list = to;

	if (!strcmp(value, "none")) {
		list->count = 0;
		return true;
	}
	if (!sim_value_msrs(value, list))
		return fail(p, "%s: '%s' is no list of at most %d register numbers", key->name,
			    value, SIM_LIST_MAX);
	return true;
}

static bool set_switch(struct parser *p, const struct key *key, const char *value, void *to)
{
	if (!sim_value_switch(value, to))
		return fail(p, "%s: '%s' is not 'msr REGISTER bit 0..63' or none", key->name,
			    value);
	return true;
}

/* Sizes of pages, as a bit each. */
static bool set_pages(struct parser *p, const struct key *key, const char *value, void *to)
{
	char copy[SIM_TEXT_MAX], *rest = copy, *item;
	unsigned int word, pages = 0;

	if (strlen(value) >= sizeof(copy))
		return fail(p, "%s: '%s' is no list of 4k, 2m, 1g", key->name, value);
	strcpy(copy, value);
	while ((item = strsep(&rest, ","))) {
		if (!sim_value_word(sim_value_strip(item), page_words, &word))
			return fail(p, "%s: '%s' is no list of 4k, 2m, 1g", key->name, value);
		pages |= 1u << word;
	}
	*(unsigned int *)to = pages;
	return true;
}

static bool set_value(struct parser *p, const struct key *key, const char *value)
{
	static bool (*const set[])(struct parser *, const struct key *, const char *, void *) = {
		[TEXT] = set_text,   [UINT] = set_number,     [SIZE] = set_number,
		[BOOL] = set_word,   [WORD] = set_word,	      [RATIO] = set_ratio,
		[MSRS] = set_msrs,   [COUNTER] = set_counter, [SWITCH] = set_switch,
		[PAGES] = set_pages,
	};

	return set[key->type](p, key, value, (char *)p->base + key->offset);
}

static void *open_cpu(struct parser *p, const char *argument)
{
	(void)argument;
	return &p->model->cpu;
}

static void *open_timing(struct parser *p, const char *argument)
{
	(void)argument;
	return &p->model->timing;
}

static void *open_pmu(struct parser *p, const char *argument)
{
	(void)argument;
	return &p->model->pmu;
}

static void *open_fault(struct parser *p, const char *argument)
{
	(void)argument;
	return &p->model->fault;
}

static void *open_noise(struct parser *p, const char *argument)
{
	(void)argument;
	return &p->model->noise;
}

/* Any name: there is one such section, and its file has no other. */
static void *open_hybrid(struct parser *p, const char *argument)
{
	(void)argument;
	return &p->model->hybrid;
}

static void *open_model(struct parser *p, const char *argument)
{
	(void)argument;
	return p->model;
}

static void name_cache(struct parser *p, struct sim_cache_model *cache, const char *name)
{
	strcpy(cache->name, name);
	cache->level = name[1] - '0';
	cache->line_no = p->line;
}

/* l1d, or l1 where one cache serves both; outer levels are unified. */
static void *open_cache(struct parser *p, const char *name)
{
	static const char *const names[] = { "l1d", "l1", "l2", "l3", "l4", "l5", NULL };
	struct sim_cache_model *cache;
	unsigned int word, level;

	if (!sim_value_word(name, names, &word)) {
		fail_words(p, "cache", name, names);
		return NULL;
	}
	level = name[1] - '0';
	if (level <= p->model->caches) {
		fail(p, "cache %s: level %u is there already", name, level);
		return NULL;
	}
	if (level != p->model->caches + 1) {
		fail(p, "cache %s: level %u must come before it", name, level - 1);
		return NULL;
	}
	cache = &p->model->cache[p->model->caches++];
	name_cache(p, cache, name);
	return cache;
}

static void *open_instruction(struct parser *p, const char *name)
{
	struct sim_cache_model *cache = &p->model->instruction;

	if (cache->line_no) {
		fail(p, "cache %s is there already", name);
		return NULL;
	}
	name_cache(p, cache, name);
	cache->instruction = true;
	return cache;
}

/**
 * struct named - rows that a section of the file adds to, told apart by their names
 * @section: the section
 * @rows: the rows
 * @size: bytes of one
 * @name: where a row has its name
 * @line_no: and the line of the file that its section begins with
 * @count: how many there are
 * @most: how many there can be
 */
struct named {
	const char *section;
	void *rows;
	size_t size;
	size_t name;
	size_t line_no;
	unsigned int *count;
	unsigned int most;
};

/* Names only tell rows apart, in error messages and for whoever reads the file. */
static void *new_row(struct parser *p, const struct named *named, const char *name)
{
	char *row = named->rows;
	unsigned int i;

	for (i = 0; i < *named->count; i++, row += named->size) {
		if (strcmp(row + named->name, name))
			continue;
		fail(p, "%s %s is there already", named->section, name);
		return NULL;
	}
	if (i == named->most) {
		fail(p, "%s: more than %d", named->section, named->most);
		return NULL;
	}
	if (strlen(name) >= SIM_NAME_MAX) {
		fail(p, "%s %s: more than %d characters", named->section, name, SIM_NAME_MAX - 1);
		return NULL;
	}
	strcpy(row + named->name, name);
	*(unsigned int *)(row + named->line_no) = p->line;
	++*named->count;
	return row;
}

static void *open_allocation(struct parser *p, const char *name)
{
	struct sim_model *m = p->model;
	const struct named rows = {
		"allocation", m->allocation, sizeof(*m->allocation),
		offsetof(struct sim_allocation_model, name),
		offsetof(struct sim_allocation_model, line_no),
		&m->allocations, SIM_ALLOCATIONS_MAX,
	};

	return new_row(p, &rows, name);
}

static void *open_tlb(struct parser *p, const char *name)
{
	struct sim_model *m = p->model;
	const struct named rows = {
		"tlb", m->tlb, sizeof(*m->tlb),
		offsetof(struct sim_tlb_model, name),
		offsetof(struct sim_tlb_model, line_no),
		&m->tlbs, SIM_TLBS_MAX,
	};

	return new_row(p, &rows, name);
}

static void *open_walk(struct parser *p, const char *argument)
{
	(void)argument;
	return &p->model->walk;
}

static void *open_prefetch(struct parser *p, const char *name)
{
	struct sim_model *m = p->model;
	const struct named rows = {
		"prefetch", m->prefetch, sizeof(*m->prefetch),
		offsetof(struct sim_prefetch_model, name),
		offsetof(struct sim_prefetch_model, line_no),
		&m->prefetchers, SIM_PREFETCHERS_MAX,
	};

	return new_row(p, &rows, name);
}

static void *open_script(struct parser *p, const char *argument)
{
	struct sim_model *m = p->model;
	uint64_t window;
	unsigned int i;

	if (!sim_value_number(argument, &window) || window > UINT32_MAX) {
		fail(p, "script: '%s' is no window number", argument);
		return NULL;
	}
	for (i = 0; i < m->scripts; i++) {
		if (m->script[i].window != window)
			continue;
		fail(p, "script %s is there already", argument);
		return NULL;
	}
	if (m->scripts == SIM_LIST_MAX) {
		fail(p, "script: more than %d", SIM_LIST_MAX);
		return NULL;
	}
	m->script[m->scripts].window = window;
	m->script[m->scripts].line_no = p->line;
	return &m->script[m->scripts++];
}

static bool event_code(const char *text, struct sim_event_code *code)
{
	char copy[32], *slash;
	uint64_t event, umask;

	if (strlen(text) >= sizeof(copy))
		return false;
	strcpy(copy, text);
	slash = strchr(copy, '/');
	if (!slash)
		return false;
	*slash++ = 0;
	if (!sim_value_number(copy, &event) || !sim_value_number(slash, &umask))
		return false;
	code->event = event;
	code->umask = umask;
	return event <= 0xfff && umask <= 0xff;
}

static bool event_row(struct parser *p, const char *name, char *value)
{
	struct sim_model *m = p->model;
	struct sim_event_code code;
	unsigned int i;

	if (!event_code(name, &code))
		return fail(p, "event: '%s' is not EVENT/UMASK, at most 0xfff/0xff", name);
	if (!sim_event_set(value, &code.raws))
		return fail(p, "event: nothing is called '%s'", value);
	for (i = 0; i < m->events; i++)
		if (m->event[i].event == code.event && m->event[i].umask == code.umask)
			return fail(p, "event: %s is given twice", name);
	if (m->events == SIM_EVENTS_MAX)
		return fail(p, "event: more than %d", SIM_EVENTS_MAX);
	m->event[m->events++] = code;
	return true;
}

/* MASK [RESET [SCOPE]] */
static bool msr_value(char *value, struct sim_msr_plain *plain)
{
	static const char *const words[] = { "core", "cluster", "package", "thread", NULL };
	char *mask = strsep(&value, " \t");
	char *reset = value ? strsep(&value, " \t") : NULL;

	plain->reset = 0;
	plain->scope = SIM_SCOPE_CORE;
	if (!sim_value_number(mask, &plain->mask))
		return false;
	if (reset && (!sim_value_number(reset, &plain->reset) || plain->reset & ~plain->mask))
		return false;
	return !value || sim_value_word(value, words, &plain->scope);
}

static bool msr_row(struct parser *p, const char *name, char *value)
{
	struct sim_model *m = p->model;
	struct sim_msr_plain plain;
	uint64_t number;
	unsigned int i;

	if (!sim_value_number(name, &number) || number > UINT32_MAX)
		return fail(p, "msr: '%s' is no register number", name);
	plain.msr = number;
	if (!msr_value(value, &plain))
		return fail(p, "msr: %s needs MASK [RESET [SCOPE]], RESET within MASK", name);
	for (i = 0; i < m->msrs; i++)
		if (m->msr[i].msr == plain.msr)
			return fail(p, "msr: %s is given twice", name);
	if (m->msrs == SIM_LIST_MAX)
		return fail(p, "msr: more than %d", SIM_LIST_MAX);
	m->msr[m->msrs++] = plain;
	return true;
}

static const struct section sections[] = {
	{ "cpu", NULL, cpu_keys, open_cpu, NULL, true },
	{ "timing", NULL, timing_keys, open_timing, NULL, true },
	{ "cache", "NAME", cache_keys, open_cache, NULL, true },
	{ "cache", "l1i", instruction_keys, open_instruction, NULL, false },
	{ "allocation", "NAME", allocation_keys, open_allocation, NULL, false },
	{ "tlb", "NAME", tlb_keys, open_tlb, NULL, false },
	{ "walk", NULL, walk_keys, open_walk, NULL, false },
	{ "prefetch", "NAME", prefetch_keys, open_prefetch, NULL, false },
	{ "pmu", NULL, pmu_keys, open_pmu, NULL, true },
	{ "event", NULL, NULL, open_model, event_row, false },
	{ "msr", NULL, NULL, open_model, msr_row, false },
	{ "fault", NULL, fault_keys, open_fault, NULL, false },
	{ "noise", NULL, noise_keys, open_noise, NULL, false },
	{ "script", "WINDOW", script_keys, open_script, NULL, false },
	{ "hybrid", NULL, hybrid_keys, open_hybrid, NULL, false },
};

#define HYBRID_BIT	(1u << (N_SECTIONS - 1))

#define N_SECTIONS	(sizeof(sections) / sizeof(sections[0]))

/* "l1i" is the one argument that selects a row of its own. */
static const struct section *find_section(const char *name, const char *argument)
{
	const struct section *found = NULL;
	size_t i;

	for (i = 0; i < N_SECTIONS; i++) {
		if (strcmp(sections[i].name, name))
			continue;
		if (!found || (argument && !strcmp(sections[i].argument, argument)))
			found = &sections[i];
	}
	return found;
}

/* Defaults of a section that ends or never came; what has none must have been given. */
static bool close_section(struct parser *p)
{
	const struct key *key;

	if (!p->section || !p->section->keys)
		return true;
	for (key = p->section->keys; key->name; key++) {
		if (p->given & 1u << (key - p->section->keys))
			continue;
		if (!key->value)
			return sim_parser_fail(p, p->head, "[%s] lacks %s", p->section->name,
					       key->name);
		if (!set_value(p, key, key->value))
			return false;
	}
	return true;
}

static bool open_section(struct parser *p, char *head)
{
	char *name = strsep(&head, " \t");
	char *argument = head ? sim_value_strip(head) : NULL;
	const struct section *section = find_section(name, argument);
	uint32_t bit;

	if (!close_section(p))
		return false;
	if (!section)
		return fail(p, "unknown section [%s]", name);
	if (!section->argument != !argument)
		return fail(p, "[%s] %s", name, argument ? "takes no name" : "needs a name");
	bit = 1u << (section - sections);
	if (!section->argument && p->opened & bit)
		return fail(p, "[%s] is there already", name);
	p->opened |= bit;
	p->section = section;
	p->given = 0;
	p->head = p->line;
	p->base = section->open(p, argument);
	return p->base;
}

static bool parse_key(struct parser *p, const char *name, char *value)
{
	const struct key *key;
	uint32_t bit = 1;

	if (!p->section)
		return fail(p, "'%s' stands before the first section", name);
	if (!*value)
		return fail(p, "%s has no value", name);
	if (!p->section->keys)
		return p->section->row(p, name, value);
	for (key = p->section->keys; key->name && strcmp(key->name, name); key++)
		bit <<= 1;
	if (!key->name)
		return fail(p, "unknown key '%s' in [%s]", name, p->section->name);
	if (p->given & bit)
		return fail(p, "%s is given twice", name);
	p->given |= bit;
	return set_value(p, key, value);
}

static bool parse_line(struct parser *p, char *line)
{
	char *comment = strchr(line, '#'), *value, *end;

	if (comment)
		*comment = 0;
	line = sim_value_strip(line);
	if (!*line)
		return true;
	if (*line == '[') {
		end = line + strlen(line) - 1;
		if (*end != ']')
			return fail(p, "'%s' lacks its ]", line);
		*end = 0;
		return open_section(p, sim_value_strip(line + 1));
	}
	value = strchr(line, '=');
	if (!value)
		return fail(p, "'%s' is neither a [section] nor key = value", line);
	*value++ = 0;
	return parse_key(p, sim_value_strip(line), sim_value_strip(value));
}

static bool parse_file(struct parser *p, FILE *file)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t got;
	bool good = true;

	while (good && (got = getline(&line, &room, file)) >= 0) {
		p->line++;
		good = (size_t)got == strlen(line) ? parse_line(p, line) :
						     fail(p, "the line holds a zero byte");
	}
	free(line);
	if (good && ferror(file))
		good = fail(p, "%s", strerror(errno));
	return good && close_section(p);
}

/* A section that is not in the file has its defaults, and must not be a needed one. */
static bool close_absent(struct parser *p)
{
	size_t i;

	for (i = 0; i < N_SECTIONS; i++) {
		if (p->opened & 1u << i)
			continue;
		if (sections[i].needed)
			return fail(p, "there is no [%s]", sections[i].name);
		if (!sections[i].keys || sections[i].argument || 1u << i == HYBRID_BIT)
			continue;
		p->section = &sections[i];
		p->given = 0;
		p->base = sections[i].open(p, NULL);
		if (!close_section(p))
			return false;
	}
	return true;
}

const char *sim_style_name(unsigned int style)
{
	return style_words[style];
}

/* Cut "@1/N" off the path; without it the divisor is 1. */
static bool split_path(struct parser *p, char *path, uint64_t *divisor)
{
	char *at = strrchr(path, '@');

	*divisor = 1;
	if (!at)
		return true;
	if (strncmp(at, "@1/", 3) || !sim_value_number(at + 3, divisor) || !*divisor)
		return fail(p, "'%s' is no scale: @1/N is", at);
	*at = 0;
	return true;
}

static void set_name(struct sim_model *m, const char *path, uint64_t divisor)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *dot = strstr(name, ".cpu");
	int len = dot && !dot[4] ? dot - name : (int)strlen(name);

	if (divisor == 1)
		snprintf(m->name, sizeof(m->name), "%.*s", len, name);
	else
		snprintf(m->name, sizeof(m->name), "%.*s@1/%llu", len, name,
			 (unsigned long long)divisor);
}

static struct sim_model *load_model(const char *path, bool inner, char *err, size_t len);

/* A file that stands beside the one that names it, with the same divisor. */
static struct sim_model *load_beside(struct parser *p, const char *name, uint64_t divisor)
{
	const char *slash = strrchr(p->path, '/');
	const int folder = slash ? slash + 1 - p->path : 0;
	char path[2 * SIM_TEXT_MAX + 256];
	int used = snprintf(path, sizeof(path), "%.*s%s@1/%llu", folder, p->path, name,
			    (unsigned long long)divisor);

	if (used < 0 || (size_t)used >= sizeof(path)) {
		sim_parser_fail(p, p->head, "[hybrid] the path of %s is too long", name);
		return NULL;
	}
	return load_model(path, true, p->err, p->len);
}

/* Two files instead of the sections of one. */
static bool load_hybrid(struct parser *p, uint64_t divisor)
{
	const struct sim_hybrid_model hybrid = p->model->hybrid;
	struct sim_model *cores;

	if (p->opened != HYBRID_BIT)
		return sim_parser_fail(p, p->head, "[hybrid] stands alone in its file");
	if (p->inner)
		return sim_parser_fail(p, p->head, "[hybrid] is named by another one");
	cores = load_beside(p, hybrid.cores, divisor);
	if (!cores)
		return false;
	*p->model = *cores;
	free(cores);
	p->model->hybrid = hybrid;
	p->model->hybrid.model = load_beside(p, hybrid.others, divisor);
	if (!p->model->hybrid.model || !sim_model_check_hybrid(p))
		return false;
	set_name(p->model, p->path, divisor);
	return true;
}

static bool load(struct parser *p, const char *path, uint64_t divisor)
{
	FILE *file = fopen(path, "r");
	bool good;

	p->path = path;
	if (!file) {
		snprintf(p->err, p->len, "%s: %s", path, strerror(errno));
		return false;
	}
	good = parse_file(p, file);
	fclose(file);
	if (good && p->opened & HYBRID_BIT)
		return load_hybrid(p, divisor);
	if (!good || !close_absent(p) || !sim_model_check(p))
		return false;
	set_name(p->model, path, divisor);
	return sim_model_scale(p, divisor);
}

static struct sim_model *load_model(const char *path, bool inner, char *err, size_t len)
{
	struct parser p = { .path = path, .err = err, .len = len, .inner = inner };
	uint64_t divisor;
	char *copy = strdup(path);
	bool good = false;

	p.model = calloc(1, sizeof(*p.model));
	if (!copy || !p.model)
		snprintf(err, len, "%s: %s", path, strerror(ENOMEM));
	else
		good = split_path(&p, copy, &divisor) && load(&p, copy, divisor);
	free(copy);
	if (good)
		return p.model;
	sim_model_free(p.model);
	return NULL;
}

struct sim_model *sim_model_load(const char *path, char *err, size_t len)
{
	return load_model(path, false, err, len);
}

void sim_model_free(struct sim_model *model)
{
	if (model)
		free(model->hybrid.model);
	free(model);
}

const struct sim_model *sim_model_of(const struct sim_model *model, unsigned int cpu)
{
	return model->hybrid.model && cpu >= model->hybrid.first ? model->hybrid.model : model;
}

const char *sim_model_name(const struct sim_model *model)
{
	return model->name;
}

const char *sim_model_qemu_cpu(const struct sim_model *model)
{
	return model->cpu.qemu_cpu;
}

uint64_t sim_model_tsc_hz(const struct sim_model *model)
{
	return model->timing.tsc_hz;
}

unsigned int sim_model_threads(const struct sim_model *model)
{
	return model->cpu.threads;
}

unsigned int sim_model_sharers(const struct sim_model *model, unsigned int scope)
{
	switch (scope) {
	case SIM_SCOPE_THREAD:
		return 1;
	case SIM_SCOPE_CORE:
		return model->cpu.threads;
	case SIM_SCOPE_CLUSTER:
		return model->cpu.threads * model->cpu.cluster;
	default:
		return 0;
	}
}

static const char *type_name(const struct key *key)
{
	switch (key->type) {
	case MSRS:
		return "registers";
	case SWITCH:
		return "switch";
	case PAGES:
		return "pages";
	default:
		return "text";
	}
}

static void print_range(FILE *out, const struct key *key)
{
	const char *const *words = key->type == BOOL ? bool_words : key->words;
	size_t i;

	if (words) {
		for (i = 0; words[i]; i++)
			fprintf(out, "%s%s", i ? "|" : "", words[i]);
		return;
	}
	if (key->max)
		fprintf(out, "%llu..%llu", (unsigned long long)key->min,
			(unsigned long long)key->max);
	else
		fputs(type_name(key), out);
}

void sim_model_print_keys(FILE *out)
{
	const struct key *key;
	size_t i;

	for (i = 0; i < N_SECTIONS; i++) {
		for (key = sections[i].keys; key && key->name; key++) {
			fprintf(out, "[%s%s%s] %s ", sections[i].name,
				sections[i].argument ? " " : "",
				sections[i].argument ? sections[i].argument : "", key->name);
			print_range(out, key);
			fprintf(out, " %s\n", key->value ? key->value : "-");
		}
	}
}
