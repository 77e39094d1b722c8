// SPDX-License-Identifier: GPL-2.0-only
/* Caches: what an access finds, where the line goes, and what has to leave for it. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "memsys.h"

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

/**
 * struct request - a line to be brought in
 * @line: physical line number
 * @vline: virtual line number
 * @first: innermost level to fill
 * @write: it becomes dirty in level 1
 * @sparing: fill a level behind the first one only if it is inclusive
 */
struct request {
	uint64_t line;
	uint64_t vline;
	unsigned int first;
	bool write;
	bool sparing;
};

static inline uint64_t set_number(const struct sim_cache *c, uint64_t line)
{
	return c->mask ? line & c->mask : line % c->sets;
}

static inline uint64_t *set_entries(const struct sim_cache *c, uint64_t set)
{
	return c->entry + set * c->ways;
}

/* The way that holds a line, or the number of ways. */
static inline unsigned int find_way(const uint64_t *entry, unsigned int ways, uint64_t line)
{
	unsigned int way;

	for (way = 0; way < ways; way++)
		if (entry[way] >> SIM_ENTRY_SHIFT == line)
			break;
	return way;
}

/* Turn the tree away from a way: each node on its path points to the other half. */
static inline void tree_touch(uint32_t *tree, unsigned int ways, unsigned int way)
{
	unsigned int node = 1, half;
	uint32_t bits = *tree;

	for (half = ways / 2; half; half /= 2) {
		bool right = way & half;

		bits = right ? bits & ~(1u << node) : bits | 1u << node;
		node = 2 * node + right;
	}
	*tree = bits;
}

static unsigned int tree_victim(uint32_t tree, unsigned int ways)
{
	unsigned int node = 1;

	while (node < ways)
		node = 2 * node + (tree >> node & 1);
	return node - ways;
}

/* Mark a way as used last. */
static inline void touch(struct sim_cache *c, uint64_t set, unsigned int way, uint64_t flags)
{
	uint64_t *entry = set_entries(c, set), used = entry[way] | flags;

	if (c->tree) {
		entry[way] = used;
		tree_touch(&c->tree[set], c->ways, way);
		return;
	}
	for (; way; way--)
		entry[way] = entry[way - 1];
	entry[0] = used;
}

/* Put a line in as the one used last. Return what had to leave, or SIM_ENTRY_EMPTY. */
static uint64_t place(struct sim_cache *c, uint64_t set, uint64_t new)
{
	uint64_t *entry = set_entries(c, set), old;
	unsigned int way;

	if (!c->tree) {
		old = entry[c->ways - 1];
		memmove(entry + 1, entry, (c->ways - 1) * sizeof(*entry));
		entry[0] = new;
		return old;
	}
	way = find_way(entry, c->ways, SIM_ENTRY_EMPTY >> SIM_ENTRY_SHIFT);
	if (way == c->ways)
		way = tree_victim(c->tree[set], c->ways);
	old = entry[way];
	entry[way] = new;
	tree_touch(&c->tree[set], c->ways, way);
	return old;
}

/* Take a line out of one set. Empty entries of an LRU set stand last, so they are used first. */
static uint64_t remove_from(struct sim_cache *c, uint64_t set, uint64_t line)
{
	uint64_t *entry = set_entries(c, set), old;
	unsigned int way = find_way(entry, c->ways, line);

	if (way == c->ways)
		return SIM_ENTRY_EMPTY;
	old = entry[way];
	if (c->tree) {
		entry[way] = SIM_ENTRY_EMPTY;
		return old;
	}
	memmove(entry + way, entry + way + 1, (c->ways - 1 - way) * sizeof(*entry));
	entry[c->ways - 1] = SIM_ENTRY_EMPTY;
	return old;
}

/*
 * A virtually indexed cache may hold a physical line in any set that agrees in the bits of the
 * page offset. The number of sets to a page is that of the lines to a page.
 */
static uint64_t remove_line(struct sim_cache *c, uint64_t line)
{
	const uint64_t page = 4096 / c->model->line;
	uint64_t set, old;

	if (c->model->index == SIM_INDEX_PHYSICAL)
		return remove_from(c, set_number(c, line), line);
	for (set = line % page & (c->sets - 1); set < c->sets; set += page) {
		old = remove_from(c, set, line);
		if (old != SIM_ENTRY_EMPTY)
			return old;
	}
	return SIM_ENTRY_EMPTY;
}

static bool entry_dirty(uint64_t entry)
{
	return entry != SIM_ENTRY_EMPTY && entry & SIM_ENTRY_DIRTY;
}

/* Take a line out of the levels below @levels of a core. Return whether any copy was dirty. */
static bool remove_levels(struct sim_cache *const *path, unsigned int levels, uint64_t line)
{
	bool dirty = false;
	unsigned int i;

	for (i = 0; i < levels; i++)
		dirty |= entry_dirty(remove_line(path[i], line));
	return dirty;
}

static void spin_lock(atomic_flag *busy)
{
	unsigned int tries = 0;

	while (atomic_flag_test_and_set_explicit(busy, memory_order_acquire))
		if (++tries % 64 == 0)
			sched_yield();
}

static void spin_unlock(atomic_flag *busy)
{
	atomic_flag_clear_explicit(busy, memory_order_release);
}

/* Always inner first, so that two vCPUs cannot wait for each other. */
static void lock_path(const struct sim_mem *mem)
{
	unsigned int i;

	for (i = 0; i < mem->levels; i++)
		if (mem->path[i]->shared)
			spin_lock(&mem->path[i]->busy);
}

static void unlock_path(const struct sim_mem *mem)
{
	unsigned int i;

	for (i = mem->levels; i-- > 0;)
		if (mem->path[i]->shared)
			spin_unlock(&mem->path[i]->busy);
}

static int compare_items(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* A core that does not run collects the same lines again and again: keep each once. */
static void unique_items(struct sim_core *core)
{
	unsigned int from, to = 0;

	qsort(core->item, core->count, sizeof(*core->item), compare_items);
	for (from = 0; from < core->count; from++)
		if (!to || core->item[to - 1] != core->item[from])
			core->item[to++] = core->item[from];
	core->count = to;
}

static void make_room(struct sim_core *core)
{
	unsigned int room = core->room ? 2 * core->room : 64;

	unique_items(core);
	if (core->count < core->room / 2)
		return;
	core->item = realloc(core->item, room * sizeof(*core->item));
	if (!core->item)
		abort();
	core->room = room;
}

static void send_mail(struct sim_core *core, unsigned int levels, uint64_t line)
{
	spin_lock(&core->busy);
	if (core->count == core->room)
		make_room(core);
	core->item[core->count++] = line * 8 + levels;
	atomic_store_explicit(&core->waiting, true, memory_order_relaxed);
	spin_unlock(&core->busy);
}

static void read_mail(struct sim_cpu *cpu)
{
	struct sim_core *core = cpu->mem.core;
	unsigned int i;

	if (likely(!atomic_load_explicit(&core->waiting, memory_order_relaxed)))
		return;
	spin_lock(&core->busy);
	for (i = 0; i < core->count; i++)
		if (remove_levels(core->path, core->item[i] % 8, core->item[i] / 8))
			cpu->raw[RAW_MEM_WRITE]++;
	core->count = 0;
	atomic_store_explicit(&core->waiting, false, memory_order_relaxed);
	spin_unlock(&core->busy);
}

static uint64_t holder_bit(unsigned int core)
{
	return 1ull << (SIM_ENTRY_HOLDER + core % SIM_ENTRY_HOLDERS);
}

/* Only an inclusive shared cache has to know in which cores a line may be. */
static uint64_t holder_flags(const struct sim_mem *mem, unsigned int level)
{
	const struct sim_cache *c = mem->path[level];

	if (!c->shared || c->model->inclusion != SIM_INCLUSIVE)
		return 0;
	return holder_bit(mem->core - mem->all->core);
}

static void tell_holders(const struct sim_mem *mem, unsigned int level, uint64_t entry)
{
	struct sim_core *core;
	unsigned int i;

	for (i = 0; i < mem->all->cores; i++) {
		core = &mem->all->core[i];
		if (core != mem->core && core->path[level] == mem->path[level] &&
		    entry & holder_bit(i))
			send_mail(core, level, entry >> SIM_ENTRY_SHIFT);
	}
}

/* What an inclusive cache loses, the levels inside it lose too. Return whether it was dirty. */
static bool back_invalidate(const struct sim_mem *mem, unsigned int level, uint64_t entry)
{
	if (mem->path[level]->shared)
		tell_holders(mem, level, entry);
	return remove_levels(mem->path, level, entry >> SIM_ENTRY_SHIFT);
}

/* A dirty line goes outward; a clean one only where the next level collects victims. */
static void evict(struct sim_cpu *cpu, unsigned int level, uint64_t entry)
{
	struct sim_mem *mem = &cpu->mem;
	struct sim_cache *next;
	uint64_t set, line;
	unsigned int way;
	bool dirty;

	while (entry != SIM_ENTRY_EMPTY) {
		dirty = entry & SIM_ENTRY_DIRTY;
		line = entry >> SIM_ENTRY_SHIFT;
		if (mem->path[level]->model->inclusion == SIM_INCLUSIVE)
			dirty |= back_invalidate(mem, level, entry);
		cpu->raw[RAW_WRITEBACK + level] += dirty;
		if (++level == mem->levels) {
			cpu->raw[RAW_MEM_WRITE] += dirty;
			return;
		}
		next = mem->path[level];
		if (!dirty && next->model->inclusion != SIM_EXCLUSIVE)
			return;
		set = set_number(next, line);
		way = find_way(set_entries(next, set), next->ways, line);
		if (way < next->ways) {
			set_entries(next, set)[way] |= dirty;
			return;
		}
		entry = place(next, set,
			      line << SIM_ENTRY_SHIFT | holder_flags(mem, level) | dirty);
	}
}

static uint64_t request_set(const struct sim_cache *c, const struct request *r)
{
	return set_number(c, c->model->index == SIM_INDEX_VIRTUAL ? r->vline : r->line);
}

/* Outer levels drop their copy if they are exclusive; else it counts as used. */
static uint64_t take(struct sim_mem *mem, unsigned int level, unsigned int way,
		     const struct request *r)
{
	struct sim_cache *c = mem->path[level];
	const uint64_t set = request_set(c, r);

	if (level > r->first && c->model->inclusion == SIM_EXCLUSIVE)
		return remove_from(c, set, r->line) & SIM_ENTRY_DIRTY;
	touch(c, set, way, holder_flags(mem, level) | (r->write && !level));
	return 0;
}

static bool skips(const struct sim_cache *c, unsigned int level, const struct request *r)
{
	if (level == r->first)
		return false;
	return c->model->inclusion == SIM_EXCLUSIVE ||
	       (r->sparing && c->model->inclusion != SIM_INCLUSIVE);
}

/* Level of a line, its way in @way; the number of levels if it is nowhere. */
static unsigned int locate(const struct sim_mem *mem, const struct request *r, unsigned int *way)
{
	unsigned int level;

	for (level = 0; level < mem->levels; level++) {
		struct sim_cache *c = mem->path[level];

		*way = find_way(set_entries(c, request_set(c, r)), c->ways, r->line);
		if (*way < c->ways)
			break;
	}
	return level;
}

/*
 * Bring a line in, outer levels first, as an outer one's victim may empty a place farther in.
 * Return the source.
 */
static unsigned int fetch(struct sim_cpu *cpu, const struct request *r)
{
	struct sim_mem *mem = &cpu->mem;
	unsigned int source, level, way;
	uint64_t dirty = 0, flags;

	source = locate(mem, r, &way);
	if (source && mem->path[0]->model->index == SIM_INDEX_VIRTUAL)
		dirty = entry_dirty(remove_line(mem->path[0], r->line));
	if (source < mem->levels)
		dirty |= take(mem, source, way, r);
	for (level = source; level-- > r->first;) {
		struct sim_cache *c = mem->path[level];

		if (skips(c, level, r))
			continue;
		flags = holder_flags(mem, level) | dirty | (r->write && !level);
		evict(cpu, level, place(c, request_set(c, r), r->line << SIM_ENTRY_SHIFT | flags));
		dirty = 0;
	}
	return source < mem->levels ? source : SIM_SOURCE_MEM;
}

static unsigned int access_line(struct sim_cpu *cpu, const struct request *r)
{
	unsigned int source;

	lock_path(&cpu->mem);
	read_mail(cpu);
	source = fetch(cpu, r);
	unlock_path(&cpu->mem);
	return source;
}

static inline void advance(struct sim_cpu *cpu, uint64_t insns)
{
	cpu->pending += insns - cpu->insns;
	cpu->insns = insns;
}

/* The core waits for a load; what else it had to issue went on meanwhile. */
static inline void pass_load(struct sim_cpu *cpu, unsigned int source)
{
	const uint64_t latency = cpu->load_ticks[source];

	cpu->ticks += cpu->pending > latency ? cpu->pending : latency;
	cpu->pending = 0;
}

static void demand_line(struct sim_cpu *cpu, const struct request *r, unsigned int *farthest)
{
	unsigned int source = access_line(cpu, r);

	if (source)
		cpu->raw[(r->write ? RAW_FILL_STORE : RAW_FILL_LOAD) + source]++;
	if (source > *farthest)
		*farthest = source;
}

static void demand(struct sim_cpu *cpu, struct request *r, uint64_t second)
{
	unsigned int source = 0;

	demand_line(cpu, r, &source);
	if (second) {
		r->line = second;
		r->vline++;
		demand_line(cpu, r, &source);
	}
	cpu->raw[(r->write ? RAW_STORE : RAW_LOAD) + source]++;
	if (!r->write)
		pass_load(cpu, source);
}

static void prefetch(struct sim_cpu *cpu, struct request *r)
{
	const unsigned int last = cpu->mem.levels - 1;
	unsigned int source;

	cpu->raw[RAW_PREFETCH]++;
	if (r->first > last)
		r->first = last;
	source = access_line(cpu, r);
	if (!r->first && source)
		cpu->raw[RAW_FILL_PREFETCH + source]++;
}

/* The line leaves every cache of the machine. */
static void drop_line(struct sim_cpu *cpu, uint64_t line)
{
	struct sim_mem *mem = &cpu->mem;
	unsigned int i;

	lock_path(mem);
	read_mail(cpu);
	cpu->raw[RAW_MEM_WRITE] += remove_levels(mem->path, mem->levels, line);
	unlock_path(mem);
	for (i = 0; i < mem->all->cores; i++)
		if (&mem->all->core[i] != mem->core)
			send_mail(&mem->all->core[i], mem->levels, line);
}

static void flush(struct sim_cpu *cpu, struct request *r)
{
	cpu->raw[RAW_FLUSH]++;
	drop_line(cpu, r->line);
}

/* One buffer combines neighbouring stores into one write of a line. */
static void store_past(struct sim_cpu *cpu, struct request *r)
{
	cpu->raw[RAW_STORE_NT]++;
	drop_line(cpu, r->line);
	if (cpu->mem.combining == r->line + 1)
		return;
	cpu->mem.combining = r->line + 1;
	cpu->raw[RAW_MEM_WRITE]++;
}

static bool clean_copy(struct sim_cache *c, const struct request *r)
{
	uint64_t *entry = set_entries(c, request_set(c, r));
	unsigned int way = find_way(entry, c->ways, r->line);
	bool dirty;

	if (way == c->ways)
		return false;
	dirty = entry[way] & SIM_ENTRY_DIRTY;
	entry[way] &= ~SIM_ENTRY_DIRTY;
	return dirty;
}

static void write_back(struct sim_cpu *cpu, struct request *r)
{
	bool dirty = false;
	unsigned int i;

	cpu->raw[RAW_FLUSH]++;
	lock_path(&cpu->mem);
	read_mail(cpu);
	for (i = 0; i < cpu->mem.levels; i++)
		dirty |= clean_copy(cpu->mem.path[i], r);
	cpu->raw[RAW_MEM_WRITE] += dirty;
	unlock_path(&cpu->mem);
}

/* Into the outermost level; a line that is nowhere inside it stays where it is. */
static void demote(struct sim_cpu *cpu, struct request *r)
{
	struct sim_mem *mem = &cpu->mem;
	struct sim_cache *last = mem->path[mem->levels - 1];
	unsigned int level, way;
	uint64_t set, dirty;

	cpu->raw[RAW_FLUSH]++;
	lock_path(mem);
	read_mail(cpu);
	level = locate(mem, r, &way);
	if (level < mem->levels - 1) {
		dirty = remove_levels(mem->path, mem->levels - 1, r->line);
		set = set_number(last, r->line);
		way = find_way(set_entries(last, set), last->ways, r->line);
		if (way < last->ways)
			set_entries(last, set)[way] |= dirty;
		else
			evict(cpu, mem->levels - 1,
			      place(last, set, r->line << SIM_ENTRY_SHIFT | dirty));
	}
	unlock_path(mem);
}

/* What each kind but a load or store does, and the innermost level that a prefetch fills. */
static const struct {
	void (*act)(struct sim_cpu *cpu, struct request *r);
	unsigned int first;
	bool sparing;
} acts[] = {
	[SIM_STORE_NT] = { store_past, 0, false },
	[SIM_PREFETCH_T0] = { prefetch, 0, false },
	[SIM_PREFETCH_T1] = { prefetch, 1, false },
	[SIM_PREFETCH_T2] = { prefetch, 2, false },
	[SIM_PREFETCH_NTA] = { prefetch, 0, true },
	[SIM_CLFLUSH] = { flush, 0, false },
	[SIM_CLWB] = { write_back, 0, false },
	[SIM_CLDEMOTE] = { demote, 0, false },
};

/* @second is the line number of the second half, or 0. */
static void access_slowly(struct sim_cpu *cpu, uint64_t vaddr, uint64_t paddr, uint64_t second,
			  enum sim_kind kind)
{
	const unsigned int shift = cpu->mem.line_shift;
	struct request r = {
		.line = paddr >> shift,
		.vline = vaddr >> shift,
		.write = kind == SIM_STORE,
	};

	if (kind == SIM_LOAD || kind == SIM_STORE) {
		demand(cpu, &r, second);
		return;
	}
	r.first = acts[kind].first;
	r.sparing = acts[kind].sparing;
	acts[kind].act(cpu, &r);
	if (second && kind == SIM_STORE_NT) {
		cpu->raw[RAW_STORE_NT]--;
		r.line = second;
		store_past(cpu, &r);
	}
}

void sim_mem_access_pages(struct sim_cpu *cpu, uint64_t insns, uint64_t vaddr, uint64_t paddr,
			  uint64_t next, unsigned int size, enum sim_kind kind)
{
	const unsigned int shift = cpu->mem.line_shift;
	bool crosses = (vaddr & ((1u << shift) - 1)) + size > 1u << shift;

	advance(cpu, insns);
	access_slowly(cpu, vaddr, paddr, crosses ? next >> shift : 0, kind);
}

/* The short way: a hit in a private level 1, the place used last looked at first. */
static inline bool hit_quickly(struct sim_cpu *cpu, uint64_t line, bool write)
{
	struct sim_cache *c = cpu->mem.path[0];
	const uint64_t set = set_number(c, line);
	uint64_t *entry = set_entries(c, set);
	unsigned int way;

	if (likely(!c->tree && entry[0] >> SIM_ENTRY_SHIFT == line)) {
		entry[0] |= write;
		return true;
	}
	way = find_way(entry, c->ways, line);
	if (way == c->ways)
		return false;
	touch(c, set, way, write);
	return true;
}

void sim_mem_access(struct sim_cpu *cpu, uint64_t insns, uint64_t vaddr, uint64_t paddr,
		    unsigned int size, enum sim_kind kind)
{
	struct sim_mem *mem = &cpu->mem;
	const uint64_t line = paddr >> mem->line_shift;
	const uint64_t last = (paddr + size - 1) >> mem->line_shift;

	advance(cpu, insns);
	if (likely(kind <= SIM_STORE && mem->quick && line == last &&
		   !atomic_load_explicit(&mem->core->waiting, memory_order_relaxed)) &&
	    hit_quickly(cpu, line, kind)) {
		if (kind == SIM_STORE) {
			cpu->raw[RAW_STORE]++;
			return;
		}
		cpu->raw[RAW_LOAD]++;
		pass_load(cpu, 0);
		return;
	}
	access_slowly(cpu, vaddr, paddr, line == last ? 0 : last, kind);
}

void sim_flush_line(struct sim_cpu *cpu, uint64_t insns, uint64_t paddr)
{
	sim_mem_access(cpu, insns, 0, paddr, 1, SIM_CLFLUSH);
}

/* A dirty line is written to memory once, by the outermost level that holds it. */
static void empty_entry(struct sim_cpu *cpu, unsigned int level, uint64_t entry)
{
	struct sim_mem *mem = &cpu->mem;
	struct sim_cache *next;
	unsigned int way;
	uint64_t set;

	if (mem->path[level]->shared && mem->path[level]->model->inclusion == SIM_INCLUSIVE)
		tell_holders(mem, level, entry);
	if (!(entry & SIM_ENTRY_DIRTY))
		return;
	cpu->raw[RAW_WRITEBACK + level]++;
	if (level + 1 < mem->levels) {
		next = mem->path[level + 1];
		set = set_number(next, entry >> SIM_ENTRY_SHIFT);
		way = find_way(set_entries(next, set), next->ways, entry >> SIM_ENTRY_SHIFT);
		if (way < next->ways) {
			set_entries(next, set)[way] |= SIM_ENTRY_DIRTY;
			return;
		}
	}
	cpu->raw[RAW_MEM_WRITE]++;
}

static void empty_cache(struct sim_cpu *cpu, unsigned int level)
{
	struct sim_cache *c = cpu->mem.path[level];
	const uint64_t entries = c->sets * c->ways;
	uint64_t i;

	for (i = 0; i < entries; i++)
		if (c->entry[i] != SIM_ENTRY_EMPTY)
			empty_entry(cpu, level, c->entry[i]);
	memset(c->entry, 0xff, entries * sizeof(*c->entry));
	if (c->tree)
		memset(c->tree, 0, c->sets * sizeof(*c->tree));
}

void sim_writeback_all(struct sim_cpu *cpu, uint64_t insns)
{
	unsigned int level;

	advance(cpu, insns);
	lock_path(&cpu->mem);
	read_mail(cpu);
	for (level = 0; level < cpu->mem.levels; level++)
		empty_cache(cpu, level);
	unlock_path(&cpu->mem);
}

static bool init_cache(struct sim_cache *c, const struct sim_cache_model *model, bool shared)
{
	const uint64_t entries = model->sets * model->ways;

	c->model = model;
	c->ways = model->ways;
	c->sets = model->sets;
	c->mask = model->sets & (model->sets - 1) ? 0 : model->sets - 1;
	c->shared = shared;
	atomic_flag_clear(&c->busy);
	/* 64 entries fill whole lines of the host, so that no set straddles one. */
	c->entry = aligned_alloc(64, (entries * sizeof(*c->entry) + 63) & ~63ull);
	if (!c->entry)
		return false;
	memset(c->entry, 0xff, entries * sizeof(*c->entry));
	if (model->replace == SIM_LRU)
		return true;
	c->tree = calloc(model->sets, sizeof(*c->tree));
	return c->tree;
}

static unsigned int cpus_per_instance(const struct sim_model *model, unsigned int level,
				      unsigned int cpus)
{
	unsigned int sharers = sim_model_sharers(model, model->cache[level].scope);

	return sharers && sharers < cpus ? sharers : cpus;
}

static bool init_level(struct sim_memsys *mem, const struct sim_model *model, unsigned int level,
		       unsigned int cpus)
{
	const unsigned int users = cpus_per_instance(model, level, cpus);
	unsigned int i;

	mem->instances[level] = (cpus + users - 1) / users;
	mem->cache[level] = calloc(mem->instances[level], sizeof(*mem->cache[level]));
	if (!mem->cache[level])
		return false;
	for (i = 0; i < mem->instances[level]; i++)
		if (!init_cache(&mem->cache[level][i], &model->cache[level], users > 1))
			return false;
	return true;
}

static void init_core(struct sim_memsys *mem, const struct sim_model *model, unsigned int index,
		      unsigned int cpus)
{
	struct sim_core *core = &mem->core[index];
	unsigned int level;

	atomic_flag_clear(&core->busy);
	for (level = 0; level < mem->levels; level++)
		core->path[level] = &mem->cache[level][index * model->cpu.threads /
						       cpus_per_instance(model, level, cpus)];
}

struct sim_memsys *sim_memsys_new(const struct sim_model *model, unsigned int cpus)
{
	struct sim_memsys *mem = calloc(1, sizeof(*mem));
	unsigned int i;

	if (!mem)
		return NULL;
	mem->levels = model->caches;
	mem->cores = (cpus + model->cpu.threads - 1) / model->cpu.threads;
	mem->core = calloc(mem->cores, sizeof(*mem->core));
	if (!mem->core)
		goto err_free;
	for (i = 0; i < mem->levels; i++)
		if (!init_level(mem, model, i, cpus))
			goto err_free;
	for (i = 0; i < mem->cores; i++)
		init_core(mem, model, i, cpus);
	return mem;

err_free:
	sim_memsys_free(mem);
	return NULL;
}

static void free_level(struct sim_memsys *mem, unsigned int level)
{
	unsigned int i;

	for (i = 0; mem->cache[level] && i < mem->instances[level]; i++) {
		free(mem->cache[level][i].entry);
		free(mem->cache[level][i].tree);
	}
	free(mem->cache[level]);
}

void sim_memsys_free(struct sim_memsys *mem)
{
	unsigned int i;

	for (i = 0; i < mem->levels; i++)
		free_level(mem, i);
	for (i = 0; mem->core && i < mem->cores; i++)
		free(mem->core[i].item);
	free(mem->core);
	free(mem);
}

void sim_memsys_attach(struct sim_memsys *machine, const struct sim_model *model,
		       unsigned int index, struct sim_mem *mem)
{
	mem->all = machine;
	mem->core = &machine->core[index / model->cpu.threads];
	mem->levels = machine->levels;
	memcpy(mem->path, mem->core->path, sizeof(mem->path));
	mem->line_shift = __builtin_ctz(model->cache[0].line);
	mem->quick = !mem->path[0]->shared && model->cache[0].index == SIM_INDEX_PHYSICAL;
}
