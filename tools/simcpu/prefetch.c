// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hardware prefetchers: what each kind looks for, and what it then fetches. What a vendor publishes
 * of one is a sentence; how many steps it waits for and how far it goes are values of the model.
 * A fetched line is there at once.
 */
#include <stdlib.h>
#include <string.h>

#include "machine.h"

#define PAGE_SHIFT	12
#define PAGE_BYTES	(1ull << PAGE_SHIFT)

/* "can detect strides of up to 2K bytes": Intel's optimization manual, DCU IP prefetcher */
#define STRIDE_MAX	2048

static inline uint64_t page_lines(const struct sim_prefetch *p)
{
	return 1ull << p->page_shift;
}

static inline uint64_t page_of(const struct sim_prefetch *p, uint64_t line)
{
	return line >> p->page_shift;
}

static void show_request(struct sim_cpu *cpu, const struct sim_touch *touch);

static void count_fill(struct sim_cpu *cpu, unsigned int level, unsigned int source)
{
	if (!level) {
		cpu->raw[RAW_FILL_HW + source] += source > 0;
		return;
	}
	if (source <= level)
		cpu->raw[RAW_HW_OUTER_HIT]++;
	else if (source < SIM_SOURCE_MEM)
		cpu->raw[RAW_HW_OUTER_CACHE]++;
	else
		cpu->raw[RAW_HW_OUTER_MEM]++;
}

/* A request of level 1 that leaves it is one that the prefetchers farther out see. */
static void fill(struct sim_cpu *cpu, const struct sim_unit *u, uint64_t line, uint64_t vline)
{
	const unsigned int level = u->model->level - 1;
	const unsigned int source = sim_mem_fill(cpu, line, vline, level);
	const struct sim_touch touch = {
		.vaddr = vline << cpu->prefetch.line_shift,
		.line = line,
		.vline = vline,
		.source = source,
	};

	count_fill(cpu, level, source);
	if (!level && source)
		show_request(cpu, &touch);
}

/* Fetch a line so far from the one touched; false where the page ends before it. */
static bool fill_beside(struct sim_cpu *cpu, const struct sim_unit *u, const struct sim_touch *t,
			int64_t lines)
{
	const struct sim_prefetch *p = &cpu->prefetch;
	const uint64_t line = t->line + lines;

	if (u->model->page_bound && page_of(p, line) != page_of(p, t->line))
		return false;
	fill(cpu, u, line, t->vline + lines);
	return true;
}

/* Fetch by virtual address, wherever that leads. */
static void fill_at(struct sim_cpu *cpu, const struct sim_unit *u, uint64_t vaddr)
{
	const struct sim_memory *memory = &cpu->machine->memory;
	const unsigned int shift = cpu->prefetch.line_shift;
	uint64_t paddr = vaddr;

	if (memory->translate && !memory->translate(memory->data, cpu->index, vaddr, &paddr))
		return;
	fill(cpu, u, paddr >> shift, vaddr >> shift);
}

/* The track with this key; the one used longest ago is given to a new key, and @fresh says so. */
static inline struct sim_track *find_track(struct sim_unit *u, uint64_t key, bool *fresh)
{
	unsigned int place = sim_lru_find(&u->lru, key);

	*fresh = place == SIM_LRU_NONE;
	if (*fresh)
		place = sim_lru_replace(&u->lru, key);
	else
		sim_lru_use(&u->lru, place);
	return &u->track[place];
}

static void open_track(struct sim_track *t, uint64_t last)
{
	*t = (struct sim_track){ .last = last };
}

/* Find or open; NULL for the first sight of a key. */
static inline struct sim_track *follow(struct sim_unit *u, uint64_t key, uint64_t last)
{
	bool fresh;
	struct sim_track *t = find_track(u, key, &fresh);

	if (!fresh)
		return t;
	open_track(t, last);
	return NULL;
}

static void raise(unsigned int *count)
{
	if (*count < UINT16_MAX)
		(*count)++;
}

/*
 * "triggered by an ascending access to very recently loaded data ... fetches the next line" (Intel
 * optimization manual, DCU prefetcher). train = 0: "the next line of any given access" (Intel
 * optimization zone, L1 NLP of efficient cores).
 */
static void next_line(struct sim_cpu *cpu, struct sim_unit *u, const struct sim_touch *t)
{
	const unsigned int shift = cpu->prefetch.line_shift;
	const uint64_t lines = (t->vaddr >> shift) - (u->last >> shift);
	int64_t i;

	if (t->write)
		return;
	u->count = t->vaddr > u->last && lines <= 1 ? u->count + 1 : 0;
	u->last = t->vaddr;
	if (u->count < u->model->train)
		return;
	for (i = 1; i <= u->model->degree; i++)
		if (!fill_beside(cpu, u, t, i))
			break;
}

/*
 * "complete every cache line fetched to the L2 cache with the pair line that completes it to a
 * 128-byte aligned chunk" (Intel optimization manual, spatial prefetcher). It sees requests only.
 */
static void adjacent(struct sim_cpu *cpu, struct sim_unit *u, const struct sim_touch *t)
{
	if (t->source >= u->model->level)
		fill(cpu, u, t->line ^ 1, t->vline ^ 1);
}

/* Fetch on from the line fetched last, no farther ahead of the access than the distance. */
static void run_ahead(struct sim_cpu *cpu, struct sim_unit *u, struct sim_track *track,
		      const struct sim_touch *t)
{
	const int64_t step = track->step[0];
	unsigned int i;

	if (track->ahead * step < (int64_t)t->line * step)
		track->ahead = t->line;
	for (i = 0; i < u->model->degree; i++) {
		const int64_t lines = track->ahead + step - (int64_t)t->line;

		if (lines * step > u->model->distance || !fill_beside(cpu, u, t, lines))
			return;
		track->ahead += step;
	}
}

/*
 * "tracks access patterns such as A+0, A+1, A+2, ... either incremental or decremental" (Intel
 * optimization zone, MLC streamer); "for each 4K byte page" and "up to 20 lines ahead" (Intel
 * optimization manual); "fetch additional sequential lines" (AMD PPR, L1 and L2 stream).
 */
static void stream(struct sim_cpu *cpu, struct sim_unit *u, const struct sim_touch *t)
{
	struct sim_track *track = follow(u, page_of(&cpu->prefetch, t->line), t->line);
	int64_t step;

	if (!track || track->last == t->line)
		return;
	step = t->line - track->last;
	track->last = t->line;
	if (step != 1 && step != -1) {
		track->step[0] = 0;
		return;
	}
	if (step != track->step[0]) {
		track->count = 0;
		track->ahead = t->line;
	}
	track->step[0] = step;
	raise(&track->count);
	if (track->count >= u->model->train)
		run_ahead(cpu, u, track, t);
}

static bool in_page(const struct sim_unit *u, uint64_t from, uint64_t to)
{
	return !u->model->page_bound || from >> PAGE_SHIFT == to >> PAGE_SHIFT;
}

/*
 * "keeps track of individual load instructions. If a load instruction is detected to have a regular
 * stride, then a prefetch is sent to the next address which is the sum of the current address and
 * the stride" (Intel optimization manual); "each access is a constant distance from the previous"
 * (AMD PPR, L1 stride).
 */
static void ip_stride(struct sim_cpu *cpu, struct sim_unit *u, const struct sim_touch *t)
{
	const unsigned int shift = cpu->prefetch.line_shift;
	struct sim_track *track;
	int64_t step, i;

	if (t->write)
		return;
	track = follow(u, cpu->prefetch.pc, t->vaddr);
	if (!track || track->last == t->vaddr)
		return;
	step = t->vaddr - track->last;
	track->last = t->vaddr;
	if (step != track->step[0])
		track->count = 0;
	else
		raise(&track->count);
	track->step[0] = step;
	if (track->count < u->model->train || step > STRIDE_MAX || step < -STRIDE_MAX)
		return;
	for (i = 1; i <= u->model->degree; i++) {
		const uint64_t to = t->vaddr + step * i;

		if (!in_page(u, t->vaddr, to))
			return;
		if (to >> shift != t->vline)
			fill_beside(cpu, u, t, (int64_t)((to >> shift) - t->vline));
	}
}

static uint64_t region_key(const struct sim_prefetch *p, uint64_t line)
{
	return p->pc * 64 + line % page_lines(p);
}

static struct sim_pattern *pattern_of(struct sim_unit *u, uint64_t key)
{
	return &u->pattern[(key ^ key >> 6 ^ key >> 12) % SIM_TRACKS_MAX];
}

/* What was touched in a region that is followed no longer. */
static void learn(struct sim_unit *u, const struct sim_track *t)
{
	const uint64_t key = t->step[0];
	struct sim_pattern *pattern = pattern_of(u, key);

	if (pattern->key == key && pattern->lines == t->lines) {
		raise(&pattern->count);
		return;
	}
	*pattern = (struct sim_pattern){ .key = key, .lines = t->lines };
}

/*
 * "when the data access for a given instruction tends to be followed by a consistent pattern of
 * other accesses within a localized region" (AMD PPR, L1 region). A region here is a page.
 */
static void region(struct sim_cpu *cpu, struct sim_unit *u, const struct sim_touch *t)
{
	const struct sim_prefetch *p = &cpu->prefetch;
	const uint64_t key = page_of(p, t->line), place = t->line & (page_lines(p) - 1);
	struct sim_pattern *pattern;
	struct sim_track *track;
	uint64_t left;
	bool fresh;

	track = find_track(u, key, &fresh);
	if (fresh) {
		/* a track that was never open has no lines */
		if (track->lines)
			learn(u, track);
		open_track(track, t->line);
		track->step[0] = region_key(p, t->line);
	}
	track->lines |= 1ull << place;
	if (!fresh)
		return;
	pattern = pattern_of(u, track->step[0]);
	if (pattern->key != (uint64_t)track->step[0] || pattern->count < u->model->train)
		return;
	for (left = pattern->lines & ~(1ull << place); left; left &= left - 1)
		fill_beside(cpu, u, t, __builtin_ctzll(left) - (int64_t)place);
}

static int toward_zero(int n)
{
	return n - (n > 0) + (n < 0);
}

/*
 * "determine whether to fetch the next or previous line for all memory accesses" (AMD PPR, L2
 * up/down). Steps of one line within a page move the balance, up to one more than it takes.
 */
static void up_down(struct sim_cpu *cpu, struct sim_unit *u, const struct sim_touch *t)
{
	const int most = u->model->train + 1;
	struct sim_track *track = follow(u, page_of(&cpu->prefetch, t->line), t->line);
	int64_t step;

	if (track && track->last != t->line) {
		step = t->line - track->last;
		track->last = t->line;
		if (step == 1)
			u->balance += u->balance < most;
		else if (step == -1)
			u->balance -= u->balance > -most;
		else
			u->balance = toward_zero(u->balance);
	}
	if (abs(u->balance) >= (int)u->model->train)
		fill_beside(cpu, u, t, u->balance < 0 ? -1 : 1);
}

/*
 * "more complex patterns such as A+0, A+8, A+0+N, A+8+N, A+0+2N" (Intel optimization zone, AMP):
 * two steps that alternate within a page.
 */
static void multipath(struct sim_cpu *cpu, struct sim_unit *u, const struct sim_touch *t)
{
	struct sim_track *track = follow(u, page_of(&cpu->prefetch, t->line), t->line);
	int64_t *step, lines = 0;
	unsigned int i;

	if (!track || track->last == t->line)
		return;
	step = track->step;
	memmove(step + 1, step, (SIM_DELTAS - 1) * sizeof(*step));
	step[0] = t->line - track->last;
	track->last = t->line;
	if (step[0] == step[2])
		raise(&track->count);
	else
		track->count = 0;
	if (track->count < u->model->train)
		return;
	for (i = 0; i < u->model->degree; i++) {
		lines += step[1 - i % 2];
		if (!fill_beside(cpu, u, t, lines))
			return;
	}
}

/*
 * Near the end of a page that is walked upward, the first lines of the next page by virtual address
 * (Intel optimization zone: L1 NPP; LLC page: "also fetches the data within the page, however only
 * into the L3 cache", 64 requests).
 */
static void next_page(struct sim_cpu *cpu, struct sim_unit *u, const struct sim_touch *t)
{
	const unsigned int shift = cpu->prefetch.line_shift;
	const uint64_t page = t->vaddr >> PAGE_SHIFT, lines = page_lines(&cpu->prefetch);
	const bool ascends = t->vline == (u->last >> shift) + 1;
	uint64_t i;

	u->last = t->vaddr;
	if (!ascends || t->vline % lines + u->model->distance < lines || u->count == page + 1)
		return;
	u->count = page + 1;
	for (i = 0; i < u->model->degree && i < lines; i++)
		fill_at(cpu, u, ((page + 1) << PAGE_SHIFT) + (i << shift));
}

/* The kernel's half of the address space with four levels of tables, or with five. */
static bool looks_like_address(uint64_t value)
{
	return value >> 56 == 0xff;
}

/* Has this line been pointed to by a value that was loaded lately? Then its loader is good. */
static void match_values(struct sim_unit *u, uint64_t vline)
{
	unsigned int i;

	for (i = 0; i < SIM_VALUES; i++) {
		if (u->value[i].vline != vline || !vline)
			continue;
		raise(&u->track[u->value[i].track].count);
		u->value[i].vline = 0;
	}
}

/* A value that leaves without having been used is a mark against its loader. */
static void keep_value(struct sim_unit *u, unsigned int track, uint64_t vline)
{
	struct sim_value *value = &u->value[u->next++ % SIM_VALUES];

	if (value->vline)
		u->track[value->track].count = 0;
	*value = (struct sim_value){ vline, track };
}

/*
 * "When the DCU notices that load data feeds address generation for other loads, it tries to
 * generate the 2nd load address itself and prefetch the data for the second load" (Intel
 * optimization zone, L1 AOPP).
 */
static void pointers(struct sim_cpu *cpu, struct sim_unit *u, const struct sim_touch *t)
{
	const struct sim_memory *memory = &cpu->machine->memory;
	struct sim_track *track;
	uint64_t value;

	if (t->write)
		return;
	match_values(u, t->vline);
	if (!memory->read || !memory->read(memory->data, cpu->index, t->vaddr, &value) ||
	    !looks_like_address(value))
		return;
	track = follow(u, cpu->prefetch.pc, t->vaddr);
	if (!track)
		track = &u->track[sim_lru_newest(&u->lru)];
	keep_value(u, track - u->track, value >> cpu->prefetch.line_shift);
	if (track->count >= u->model->train)
		fill_at(cpu, u, value);
}

/* Whether a kind sits beside level 1 and sees all accesses, or sees what level 1 asks for. */
static const struct {
	void (*see)(struct sim_cpu *cpu, struct sim_unit *u, const struct sim_touch *t);
	bool watches;
} kinds[] = {
	[SIM_PREFETCH_NEXT_LINE] = { next_line, true },
	[SIM_PREFETCH_ADJACENT] = { adjacent, false },
	[SIM_PREFETCH_STREAM] = { stream, false },
	[SIM_PREFETCH_IP_STRIDE] = { ip_stride, true },
	[SIM_PREFETCH_REGION] = { region, true },
	[SIM_PREFETCH_UP_DOWN] = { up_down, false },
	[SIM_PREFETCH_MULTIPATH] = { multipath, false },
	[SIM_PREFETCH_NEXT_PAGE] = { next_page, true },
	[SIM_PREFETCH_POINTERS] = { pointers, true },
};

static bool watches(const struct sim_prefetch_model *m)
{
	return kinds[m->kind].watches || m->level == 1;
}

static void init_unit(struct sim_unit *u, const struct sim_prefetch_model *model)
{
	u->model = model;
	u->see = kinds[model->kind].see;
	u->from = watches(model) ? 0 : model->level - 1;
	sim_lru_init(&u->lru, model->entries);
}

/* What was switched off starts without memory when it is on again. */
static void forget(struct sim_prefetch *p, unsigned int which)
{
	unsigned int i;

	for (i = 0; i < p->units; i++) {
		const struct sim_prefetch_model *model = p->unit[i].model;

		if (!(which >> i & 1))
			continue;
		memset(&p->unit[i], 0, sizeof(p->unit[i]));
		init_unit(&p->unit[i], model);
	}
}

static inline void show_to(struct sim_cpu *cpu, unsigned int which, const struct sim_touch *touch)
{
	struct sim_prefetch *p = &cpu->prefetch;

	for (; which; which &= which - 1) {
		struct sim_unit *u = &p->unit[__builtin_ctz(which)];

		if (touch->source >= u->from)
			u->see(cpu, u, touch);
	}
}

static void show_request(struct sim_cpu *cpu, const struct sim_touch *touch)
{
	show_to(cpu, sim_prefetch_on(&cpu->prefetch) & ~cpu->prefetch.watching, touch);
}

void sim_prefetch_access(struct sim_cpu *cpu, const struct sim_touch *touch)
{
	struct sim_prefetch *p = &cpu->prefetch;

	if (atomic_load_explicit(&p->stale, memory_order_relaxed))
		forget(p, atomic_exchange(&p->stale, 0));
	if (touch->source)
		show_request(cpu, touch);
	show_to(cpu, sim_prefetch_on(p) & p->watching, touch);
}

void sim_mem_from(struct sim_cpu *cpu, uint64_t pc)
{
	cpu->prefetch.pc = pc;
}

/* By the model: another vCPU may be emptying its units just now. */
static unsigned int units_on(const struct sim_machine *machine, unsigned int cpu)
{
	const struct sim_model *m = machine->cpu[cpu].model;
	unsigned int i, on = 0;

	for (i = 0; i < m->prefetchers; i++) {
		const struct sim_switch *disable = &m->prefetch[i].disable;

		if (!(sim_machine_plain(machine, cpu, disable->msr) >> disable->bit & 1))
			on |= 1u << i;
	}
	return on;
}

/* Whether a register turns some prefetcher off; 0 stands for all. */
static bool is_switch(const struct sim_model *m, uint32_t msr)
{
	unsigned int i;

	for (i = 0; i < m->prefetchers; i++)
		if (!msr || m->prefetch[i].disable.msr == msr)
			return true;
	return false;
}

void sim_prefetch_switch(struct sim_machine *machine, uint32_t msr)
{
	const struct sim_model *others = machine->model->hybrid.model;
	unsigned int i;

	if (!is_switch(machine->model, msr) && !(others && is_switch(others, msr)))
		return;
	for (i = 0; i < machine->cpus; i++) {
		struct sim_prefetch *p = &machine->cpu[i].prefetch;
		const unsigned int on = units_on(machine, i), before = atomic_exchange(&p->on, on);

		atomic_fetch_or(&p->stale, before & ~on);
	}
}

bool sim_prefetch_init(struct sim_prefetch *p, const struct sim_model *model)
{
	unsigned int i;

	p->line_shift = __builtin_ctz(model->cache[0].line);
	p->page_shift = PAGE_SHIFT - p->line_shift;
	p->units = model->prefetchers;
	p->unit = calloc(p->units, sizeof(*p->unit));
	if (p->units && !p->unit)
		return false;
	for (i = 0; i < p->units; i++) {
		init_unit(&p->unit[i], &model->prefetch[i]);
		if (watches(&model->prefetch[i]))
			p->watching |= 1u << i;
	}
	return true;
}

void sim_prefetch_free(struct sim_prefetch *p)
{
	free(p->unit);
}
