// SPDX-License-Identifier: GPL-2.0-only
/* Caches: what an access finds, where the line goes, and what has to leave for it. */
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "memsys.h"
#include "prefetch.h"

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

/* Always inner first, so that two vCPUs cannot wait for each other. */
static void lock_path(const struct sim_mem *mem)
{
	unsigned int i;

	if (!mem->shared)
		return;
	for (i = 0; i < mem->levels; i++)
		if (mem->path[i]->shared)
			sim_spin_lock(&mem->path[i]->busy);
	for (i = 0; mem->masked && i < mem->levels; i++)
		mem->path[i]->allowed = mem->allowed[i];
}

static void unlock_path(const struct sim_mem *mem)
{
	unsigned int i;

	if (!mem->shared)
		return;
	for (i = mem->levels; i-- > 0;)
		if (mem->path[i]->shared)
			sim_spin_unlock(&mem->path[i]->busy);
}

static void read_mail(struct sim_cpu *cpu)
{
	struct sim_core *core = cpu->mem.core;

	if (unlikely(atomic_load_explicit(&core->waiting, memory_order_relaxed)))
		cpu->raw[RAW_MEM_WRITE] += sim_core_read(core);
}

static uint16_t holder_bit(unsigned int core)
{
	return 1u << core % 16;
}

/* Only an inclusive shared cache has to know in which cores a line may be. */
static inline uint16_t holder_flags(const struct sim_mem *mem, unsigned int level)
{
	return mem->path[level]->holder ? holder_bit(mem->core - mem->all->core) : 0;
}

static void tell_holders(const struct sim_mem *mem, unsigned int level, struct sim_gone gone)
{
	struct sim_core *core;
	unsigned int i;

	for (i = 0; i < mem->all->cores; i++) {
		core = &mem->all->core[i];
		if (core != mem->core && core->path[level] == mem->path[level] &&
		    gone.holders & holder_bit(i))
			sim_core_send(core, level, sim_entry_line(gone.entry));
	}
}

/* What an inclusive cache loses, the levels inside it lose too. Return whether it was dirty. */
static bool back_invalidate(const struct sim_mem *mem, unsigned int level, struct sim_gone gone)
{
	if (gone.holders)
		tell_holders(mem, level, gone);
	return sim_core_remove(mem->path, level, sim_entry_line(gone.entry));
}

static inline struct sim_gone new_entry(const struct sim_mem *mem, unsigned int level,
					uint64_t line, bool dirty)
{
	return (struct sim_gone){
		.entry = line << SIM_ENTRY_SHIFT | dirty,
		.holders = holder_flags(mem, level),
	};
}

/* A dirty line goes outward; a clean one only where the next level collects victims. */
static void evict(struct sim_cpu *cpu, unsigned int level, struct sim_gone gone)
{
	struct sim_mem *mem = &cpu->mem;
	struct sim_cache *next;
	uint64_t set, line;
	unsigned int way;
	bool dirty;

	while (gone.entry != SIM_ENTRY_EMPTY) {
		dirty = gone.entry & SIM_ENTRY_DIRTY;
		line = sim_entry_line(gone.entry);
		if (mem->path[level]->inclusion == SIM_INCLUSIVE)
			dirty |= back_invalidate(mem, level, gone);
		cpu->raw[RAW_WRITEBACK + level] += dirty;
		if (++level == mem->levels) {
			cpu->raw[RAW_MEM_WRITE] += dirty;
			return;
		}
		next = mem->path[level];
		if (!dirty && next->inclusion != SIM_EXCLUSIVE)
			return;
		set = sim_cache_set(next, line);
		way = sim_cache_find(next, sim_cache_entries(next, set), line);
		if (way != SIM_NO_WAY) {
			sim_cache_entries(next, set)[way] |= dirty;
			return;
		}
		gone = sim_cache_place(next, set, new_entry(mem, level, line, dirty));
	}
}

static inline uint64_t request_set(const struct sim_cache *c, const struct request *r)
{
	return sim_cache_set(c, c->by_virtual ? r->vline : r->line);
}

/* Outer levels drop their copy if they are exclusive; else it counts as used. */
static bool take(struct sim_mem *mem, unsigned int level, unsigned int way,
		 const struct request *r)
{
	struct sim_cache *c = mem->path[level];
	const uint64_t set = request_set(c, r);

	if (level > r->first && c->inclusion == SIM_EXCLUSIVE)
		return sim_cache_remove(c, r->line) & SIM_ENTRY_DIRTY;
	sim_cache_touch(c, set, way, r->write && !level, holder_flags(mem, level));
	return false;
}

static inline bool skips(const struct sim_cache *c, unsigned int level, const struct request *r)
{
	if (level == r->first)
		return false;
	return c->inclusion == SIM_EXCLUSIVE || (r->sparing && c->inclusion != SIM_INCLUSIVE);
}

/* Level of a line, its way in @way; the number of levels if it is nowhere. */
static unsigned int locate(const struct sim_mem *mem, const struct request *r, unsigned int *way)
{
	unsigned int level;

	for (level = 0; level < mem->levels; level++) {
		struct sim_cache *c = mem->path[level];

		*way = sim_cache_find(c, sim_cache_entries(c, request_set(c, r)), r->line);
		if (*way != SIM_NO_WAY)
			break;
	}
	return level;
}

/*
 * The sets of a large cache lie in the host's memory, not in its caches. Ask for those that will
 * be looked at, and for those that take what an LRU set evicts, all at once.
 */
static inline void expect_miss(const struct sim_mem *mem, const struct request *r)
{
	const struct sim_cache *c, *next = mem->path[0];
	unsigned int level;
	uint32_t oldest;

	for (level = 1; level < mem->levels; level++) {
		c = next;
		next = mem->path[level];
		__builtin_prefetch(sim_cache_entries(next, sim_cache_set(next, r->line)));
		if (next->inclusion != SIM_EXCLUSIVE)
			continue;
		oldest = sim_cache_entries(c, request_set(c, r))[c->ways - 1];
		__builtin_prefetch(sim_cache_entries(next,
						     sim_cache_set(next, sim_entry_line(oldest))));
	}
}

/*
 * Bring a line in, outer levels first, as an outer one's victim may empty a place farther in.
 * Return the source.
 */
static unsigned int fetch(struct sim_cpu *cpu, const struct request *r)
{
	struct sim_mem *mem = &cpu->mem;
	unsigned int source, level, way;
	bool dirty = false;

	expect_miss(mem, r);
	source = locate(mem, r, &way);
	if (source && mem->path[0]->by_virtual)
		dirty = sim_entry_dirty(sim_cache_remove(mem->path[0], r->line));
	if (source < mem->levels)
		dirty |= take(mem, source, way, r);
	for (level = source; level-- > r->first;) {
		struct sim_cache *c = mem->path[level];

		if (skips(c, level, r))
			continue;
		dirty |= r->write && !level;
		evict(cpu, level,
		      sim_cache_place(c, request_set(c, r), new_entry(mem, level, r->line, dirty)));
		dirty = false;
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

unsigned int sim_mem_bring(struct sim_cpu *cpu, uint64_t line, uint64_t vline, unsigned int level)
{
	const struct request r = { .line = line, .vline = vline, .first = level };
	unsigned int source, way;

	if (line >= SIM_LINES_MAX)
		return level;
	lock_path(&cpu->mem);
	read_mail(cpu);
	source = locate(&cpu->mem, &r, &way);
	if (source > level)
		source = fetch(cpu, &r);
	unlock_path(&cpu->mem);
	return source;
}

unsigned int sim_mem_fill(struct sim_cpu *cpu, uint64_t line, uint64_t vline, unsigned int level)
{
	const unsigned int source = sim_mem_bring(cpu, line, vline, level);

	if (source > level)
		sim_time_prefetch(cpu, &(struct sim_answer){ .line = line, .source = source },
				  !level);
	return source;
}

/* Tell the core of it: when it starts and completes is for the core to say. */
static inline void pass_time(struct sim_cpu *cpu, uint64_t line, unsigned int source, bool write)
{
	const struct sim_answer answer = { .line = line, .source = source, .extra = cpu->extra };

	if (write)
		sim_time_store(cpu, &answer);
	else
		sim_time_load(cpu, &answer);
}

/* Prefetchers see an access after it has found its line. */
static inline void show(struct sim_cpu *cpu, const struct request *r, uint64_t vaddr,
			unsigned int source)
{
	const struct sim_touch touch = {
		.vaddr = vaddr,
		.line = r->line,
		.vline = r->vline,
		.source = source,
		.write = r->write,
	};

	sim_prefetch_access(cpu, &touch);
}

static void demand_line(struct sim_cpu *cpu, const struct request *r, uint64_t vaddr,
			unsigned int *farthest)
{
	unsigned int source = access_line(cpu, r);

	if (source)
		cpu->raw[(r->write ? RAW_FILL_STORE : RAW_FILL_LOAD) + source]++;
	if (source > *farthest)
		*farthest = source;
	if (sim_prefetch_on(&cpu->prefetch))
		show(cpu, r, vaddr, source);
}

static void demand(struct sim_cpu *cpu, struct request *r, uint64_t vaddr, uint64_t second)
{
	const uint64_t line = r->line;
	unsigned int source = 0;

	demand_line(cpu, r, vaddr, &source);
	if (second) {
		r->line = second;
		r->vline++;
		demand_line(cpu, r, r->vline << cpu->mem.line_shift, &source);
	}
	cpu->raw[(r->write ? RAW_STORE : RAW_LOAD) + source]++;
	pass_time(cpu, line, source, r->write);
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
	if (source > r->first)
		sim_time_prefetch(cpu, &(struct sim_answer){ .line = r->line, .source = source },
				  true);
}

/* The line leaves every cache of the machine. */
static void drop_line(struct sim_cpu *cpu, uint64_t line)
{
	struct sim_mem *mem = &cpu->mem;
	unsigned int i;

	lock_path(mem);
	read_mail(cpu);
	cpu->raw[RAW_MEM_WRITE] += sim_core_remove(mem->path, mem->levels, line);
	unlock_path(mem);
	for (i = 0; i < mem->all->cores; i++)
		if (&mem->all->core[i] != mem->core)
			sim_core_send(&mem->all->core[i], mem->levels, line);
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
	if (cpu->mem.combining != r->line + 1) {
		cpu->mem.combining = r->line + 1;
		cpu->raw[RAW_MEM_WRITE]++;
	}
	sim_time_store_past(cpu);
}

static bool clean_copy(struct sim_cache *c, const struct request *r)
{
	uint32_t *entry = sim_cache_entries(c, request_set(c, r));
	const unsigned int way = sim_cache_find(c, entry, r->line);
	bool dirty;

	if (way == SIM_NO_WAY)
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
	uint64_t set;
	bool dirty;

	cpu->raw[RAW_FLUSH]++;
	lock_path(mem);
	read_mail(cpu);
	level = locate(mem, r, &way);
	if (level < mem->levels - 1) {
		dirty = sim_core_remove(mem->path, mem->levels - 1, r->line);
		set = sim_cache_set(last, r->line);
		way = sim_cache_find(last, sim_cache_entries(last, set), r->line);
		if (way != SIM_NO_WAY)
			sim_cache_entries(last, set)[way] |= dirty;
		else
			evict(cpu, mem->levels - 1,
			      sim_cache_place(last, set,
					      new_entry(mem, mem->levels - 1, r->line, dirty)));
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
		demand(cpu, &r, vaddr, second);
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

/* An entry has room for 30 bits of line number: 64 GiB at 64 bytes to a line. */
static void beyond_memory(uint64_t paddr)
{
	fprintf(stderr, "simcpu: the caches cannot tell physical address 0x%llx from others\n",
		(unsigned long long)paddr);
	exit(1);
}

/* Prefetch instructions and flushes are translated too, but nobody waits for them. */
static inline void translate(struct sim_cpu *cpu, uint64_t vaddr, uint64_t paddr,
			     enum sim_kind kind)
{
	cpu->extra = sim_mmu_translate(cpu, &cpu->mmu, vaddr, paddr, kind != SIM_LOAD);
}

void sim_mem_access_pages(struct sim_cpu *cpu, uint64_t insns, uint64_t vaddr, uint64_t paddr,
			  uint64_t next, unsigned int size, enum sim_kind kind)
{
	const unsigned int shift = cpu->mem.line_shift;
	bool crosses = (vaddr & ((1u << shift) - 1)) + size > 1u << shift;

	sim_time_reach(cpu, insns);
	if (paddr >> shift >= SIM_LINES_MAX || next >> shift >= SIM_LINES_MAX)
		beyond_memory(paddr);
	translate(cpu, vaddr, paddr, kind);
	if (kind <= SIM_STORE)
		cpu->extra += sim_mmu_translate(cpu, &cpu->mmu, (vaddr | 4095) + 1, next,
						kind == SIM_STORE);
	access_slowly(cpu, vaddr, paddr, crosses ? next >> shift : 0, kind);
}

/*
 * Look into an LRU set whose number of entries the compiler knows: most sets have one of a few, and
 * without loops this takes half of the time. A line that is there becomes the one used last.
 */
static inline bool hit_set(uint32_t *entry, unsigned int stride, uint64_t line, bool write)
{
	const __m128i key = _mm_set1_epi32((uint32_t)line << SIM_ENTRY_SHIFT);
	const __m128i line_bits = _mm_set1_epi32(~0u << SIM_ENTRY_SHIFT);
	unsigned int found = 0, way, i;
	uint32_t used;

#pragma GCC unroll 4
	for (i = 0; i < stride; i += SIM_ENTRY_GROUP) {
		const __m128i lines = _mm_and_si128(sim_load_group(entry + i), line_bits);
		const __m128i equal = _mm_cmpeq_epi32(lines, key);

		found |= (unsigned int)_mm_movemask_ps(_mm_castsi128_ps(equal)) << i;
	}
	if (!found)
		return false;
	way = __builtin_ctz(found);
	used = entry[way] | write;
	sim_shift_entries(entry, stride, way);
	entry[0] = used;
	return true;
}

/* The short way: a hit in a private level 1. */
static inline bool hit_quickly(struct sim_cpu *cpu, uint64_t line, bool write)
{
	struct sim_cache *c = cpu->mem.path[0];
	uint64_t set;
	unsigned int way;

	switch (cpu->mem.quick_stride) {
	case 8:
		return hit_set(c->entry + (line & c->mask) * 8, 8, line, write);
	case 12:
		return hit_set(c->entry + (line & c->mask) * 12, 12, line, write);
	case 16:
		return hit_set(c->entry + (line & c->mask) * 16, 16, line, write);
	}
	set = sim_cache_set(c, line);
	way = sim_cache_find(c, sim_cache_entries(c, set), line);
	if (way == SIM_NO_WAY)
		return false;
	sim_cache_touch(c, set, way, write, 0);
	return true;
}

/* The short way of prefetchers that see hits in level 1. */
static inline void show_hit(struct sim_cpu *cpu, uint64_t vaddr, uint64_t line, bool write)
{
	const struct sim_touch touch = {
		.vaddr = vaddr,
		.line = line,
		.vline = vaddr >> cpu->mem.line_shift,
		.write = write,
	};

	if (sim_prefetch_on(&cpu->prefetch) & cpu->prefetch.watching)
		sim_prefetch_access(cpu, &touch);
}

static inline bool may_hit(const struct sim_mem *mem, uint64_t line, uint64_t last)
{
	return mem->quick && line == last && last < SIM_LINES_MAX &&
	       !atomic_load_explicit(&mem->core->waiting, memory_order_relaxed);
}

/* All accesses but those of which there are most. */
static void __attribute__((noinline))
access_any(struct sim_cpu *cpu, uint64_t insns, uint64_t vaddr, uint64_t paddr, unsigned int size,
	   enum sim_kind kind)
{
	const uint64_t line = paddr >> cpu->mem.line_shift;
	const uint64_t last = (paddr + size - 1) >> cpu->mem.line_shift;

	sim_time_reach(cpu, insns);
	if (last >= SIM_LINES_MAX)
		beyond_memory(paddr);
	if (kind <= SIM_STORE && may_hit(&cpu->mem, line, last) && hit_quickly(cpu, line, kind)) {
		show_hit(cpu, vaddr, line, kind);
		cpu->raw[kind == SIM_STORE ? RAW_STORE : RAW_LOAD]++;
		pass_time(cpu, line, 0, kind == SIM_STORE);
		return;
	}
	access_slowly(cpu, vaddr, paddr, line == last ? 0 : last, kind);
}

void sim_mem_access(struct sim_cpu *cpu, uint64_t insns, uint64_t vaddr, uint64_t paddr,
		    unsigned int size, enum sim_kind kind)
{
	const uint64_t line = paddr >> cpu->mem.line_shift;
	const uint64_t last = (paddr + size - 1) >> cpu->mem.line_shift;

	translate(cpu, vaddr, paddr, kind);
	if (likely(kind == SIM_LOAD && sim_time_loads(&cpu->time, insns, cpu->insns) &&
		   may_hit(&cpu->mem, line, last)) && likely(hit_quickly(cpu, line, false))) {
		cpu->raw[RAW_LOAD]++;
		sim_time_hit(cpu, line, cpu->extra);
		show_hit(cpu, vaddr, line, false);
		return;
	}
	access_any(cpu, insns, vaddr, paddr, size, kind);
}

void sim_flush_line(struct sim_cpu *cpu, uint64_t insns, uint64_t paddr)
{
	sim_mem_access(cpu, insns, 0, paddr, 1, SIM_CLFLUSH);
}

/* A dirty line is written to memory once, by the outermost level that holds it. */
static void empty_entry(struct sim_cpu *cpu, unsigned int level, struct sim_gone gone)
{
	const uint64_t line = sim_entry_line(gone.entry);
	struct sim_mem *mem = &cpu->mem;
	struct sim_cache *next;
	unsigned int way;
	uint64_t set;

	if (gone.holders)
		tell_holders(mem, level, gone);
	if (!(gone.entry & SIM_ENTRY_DIRTY))
		return;
	cpu->raw[RAW_WRITEBACK + level]++;
	if (level + 1 < mem->levels) {
		next = mem->path[level + 1];
		set = sim_cache_set(next, line);
		way = sim_cache_find(next, sim_cache_entries(next, set), line);
		if (way != SIM_NO_WAY) {
			sim_cache_entries(next, set)[way] |= SIM_ENTRY_DIRTY;
			return;
		}
	}
	cpu->raw[RAW_MEM_WRITE]++;
}

static void empty_cache(struct sim_cpu *cpu, unsigned int level)
{
	struct sim_cache *c = cpu->mem.path[level];
	const uint64_t entries = c->sets * c->stride;
	uint64_t i;

	for (i = 0; i < entries; i++) {
		const struct sim_gone gone = { c->entry[i], c->holder ? c->holder[i] : 0 };

		if (gone.entry != SIM_ENTRY_EMPTY)
			empty_entry(cpu, level, gone);
	}
	memset(c->entry, 0xff, entries * sizeof(*c->entry));
	if (c->tree)
		memset(c->tree, 0, c->sets * sizeof(*c->tree));
	if (c->age)
		memset(c->age, 0, entries * sizeof(*c->age));
}

void sim_writeback_all(struct sim_cpu *cpu, uint64_t insns)
{
	unsigned int level;

	sim_time_reach(cpu, insns);
	lock_path(&cpu->mem);
	read_mail(cpu);
	for (level = 0; level < cpu->mem.levels; level++)
		empty_cache(cpu, level);
	unlock_path(&cpu->mem);
}

/* vCPUs that use an instance, of one kind of cores; 0: all of the machine. */
static unsigned int users_of(const struct sim_model *model, unsigned int level)
{
	return sim_model_sharers(model, model->cache[level].scope);
}

/* Instances of a second kind of cores stand behind those of the first kind. */
static unsigned int instance_of(const struct sim_model *model, unsigned int level, unsigned int cpu)
{
	const struct sim_model *own = sim_model_of(model, cpu);
	const unsigned int users = users_of(own, level), first = model->hybrid.first;

	if (!users)
		return 0;
	if (own == model)
		return cpu / users;
	return (first - 1) / users_of(model, level) + 1 + (cpu - first) / users;
}

static bool init_level(struct sim_memsys *mem, const struct sim_model *model, unsigned int level,
		       unsigned int cpus)
{
	unsigned int cpu;

	mem->instances[level] = instance_of(model, level, cpus - 1) + 1;
	mem->cache[level] = calloc(mem->instances[level], sizeof(*mem->cache[level]));
	if (!mem->cache[level])
		return false;
	for (cpu = 0; cpu < cpus; cpu++) {
		const struct sim_model *own = sim_model_of(model, cpu);
		struct sim_cache *c = &mem->cache[level][instance_of(model, level, cpu)];
		const bool shared = cpus > 1 && users_of(own, level) != 1;

		if (!c->model && !sim_cache_init(c, &own->cache[level], shared))
			return false;
	}
	return true;
}

static void init_core(struct sim_memsys *mem, const struct sim_model *model, unsigned int index)
{
	struct sim_core *core = &mem->core[index];
	unsigned int level;

	atomic_flag_clear(&core->busy);
	for (level = 0; level < mem->levels; level++)
		core->path[level] = &mem->cache[level][instance_of(model, level, index *
								   model->cpu.threads)];
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
		init_core(mem, model, i);
	return mem;

err_free:
	sim_memsys_free(mem);
	return NULL;
}

static void free_level(struct sim_memsys *mem, unsigned int level)
{
	unsigned int i;

	for (i = 0; mem->cache[level] && i < mem->instances[level]; i++)
		sim_cache_free(&mem->cache[level][i]);
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

/* A core's own caches keep the mask; those that others use too have it while they are locked. */
static void apply_masks(const struct sim_model *model, unsigned int core, struct sim_mem *mem)
{
	unsigned int i;

	for (i = 0; i < mem->levels; i++)
		mem->allowed[i] = sim_all_ways(mem->path[i]->ways);
	for (i = 0; i < model->allocations; i++) {
		const struct sim_allocation_model *row = &model->allocation[i];

		if (row->core == core)
			mem->allowed[row->level - 1] = row->mask;
		mem->masked |= mem->path[row->level - 1]->shared;
	}
	for (i = 0; i < mem->levels; i++)
		mem->path[i]->allowed = mem->allowed[i];
}

void sim_memsys_attach(struct sim_memsys *machine, const struct sim_model *model,
		       unsigned int index, struct sim_mem *mem)
{
	unsigned int i;

	mem->all = machine;
	mem->core = &machine->core[index / model->cpu.threads];
	mem->levels = machine->levels;
	memcpy(mem->path, mem->core->path, sizeof(mem->path));
	mem->line_shift = __builtin_ctz(model->cache[0].line);
	for (i = 0; i < mem->levels; i++)
		mem->shared |= mem->path[i]->shared;
	mem->quick = !mem->path[0]->shared && !mem->path[0]->by_virtual;
	apply_masks(model, index / model->cpu.threads, mem);
	if (mem->path[0]->quick && !mem->path[0]->holder && mem->path[0]->slices <= 1 &&
	    mem->path[0]->mask)
		mem->quick_stride = mem->path[0]->stride;
}
