// SPDX-License-Identifier: GPL-2.0-only
/* Caches: what an access finds, where the line goes, and what has to leave for it. */
#include <emmintrin.h>
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

/**
 * struct gone - what left a place
 * @entry: as it stood there, or SIM_ENTRY_EMPTY
 * @holders: cores that may have it
 */
struct gone {
	uint32_t entry;
	uint16_t holders;
};

static inline __m128i load_group(const uint32_t *from)
{
	return _mm_loadu_si128((const __m128i *)from);
}

static inline void store_group(uint32_t *to, __m128i group)
{
	_mm_storeu_si128((__m128i *)to, group);
}

static inline uint64_t set_number(const struct sim_cache *c, uint64_t line)
{
	return c->mask ? line & c->mask : (uint32_t)line % (uint32_t)c->sets;
}

static inline uint32_t *set_entries(const struct sim_cache *c, uint64_t set)
{
	return c->entry + set * c->stride;
}

static inline uint16_t *set_holders(const struct sim_cache *c, uint64_t set)
{
	return c->holder + set * c->stride;
}

static inline uint64_t entry_line(uint32_t entry)
{
	return entry >> SIM_ENTRY_SHIFT;
}

#define NO_WAY	UINT32_MAX

/* The way that holds a line, or NO_WAY. All are looked at: a branch would be mispredicted. */
static inline unsigned int find_way(const struct sim_cache *c, const uint32_t *entry,
				    uint64_t line)
{
	const __m128i key = _mm_set1_epi32((uint32_t)line << SIM_ENTRY_SHIFT);
	const __m128i line_bits = _mm_set1_epi32(~0u << SIM_ENTRY_SHIFT);
	uint64_t found = 0;
	unsigned int i;

	for (i = 0; i < c->stride; i += SIM_ENTRY_GROUP) {
		const __m128i lines = _mm_and_si128(load_group(entry + i), line_bits);
		const __m128i equal = _mm_cmpeq_epi32(lines, key);

		found |= (uint64_t)_mm_movemask_ps(_mm_castsi128_ps(equal)) << i;
	}
	return found ? __builtin_ctzll(found) : NO_WAY;
}

/* Move the entries in front of a way back by one, which frees the first place. */
static inline void shift_entries(uint32_t *entry, unsigned int way)
{
	unsigned int i = way / SIM_ENTRY_GROUP * SIM_ENTRY_GROUP;
	const __m128i ways = _mm_add_epi32(_mm_setr_epi32(0, 1, 2, 3), _mm_set1_epi32(i));
	const __m128i stays = _mm_cmpgt_epi32(ways, _mm_set1_epi32(way));
	const __m128i here = load_group(entry + i), before = load_group(entry + i - 1);

	store_group(entry + i, _mm_or_si128(_mm_and_si128(stays, here),
					    _mm_andnot_si128(stays, before)));
	while (i) {
		i -= SIM_ENTRY_GROUP;
		store_group(entry + i, load_group(entry + i - 1));
	}
}

static void shift_holders(struct sim_cache *c, uint64_t set, unsigned int way, uint16_t first)
{
	uint16_t *holder = set_holders(c, set);

	memmove(holder + 1, holder, way * sizeof(*holder));
	holder[0] = first;
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
static inline void touch(struct sim_cache *c, uint64_t set, unsigned int way, uint32_t flags,
			 uint16_t holder)
{
	uint32_t *entry = set_entries(c, set), used = entry[way] | flags;

	if (c->tree) {
		entry[way] = used;
		tree_touch(&c->tree[set], c->ways, way);
		if (c->holder)
			set_holders(c, set)[way] |= holder;
		return;
	}
	shift_entries(entry, way);
	entry[0] = used;
	if (c->holder)
		shift_holders(c, set, way, set_holders(c, set)[way] | holder);
}

static unsigned int empty_way(const uint32_t *entry, unsigned int ways)
{
	unsigned int way;

	for (way = 0; way < ways; way++)
		if (entry[way] == SIM_ENTRY_EMPTY)
			break;
	return way;
}

static struct gone place_by_tree(struct sim_cache *c, uint64_t set, struct gone new)
{
	uint32_t *entry = set_entries(c, set);
	unsigned int way = empty_way(entry, c->ways);
	struct gone old = { 0, 0 };

	if (way == c->ways)
		way = tree_victim(c->tree[set], c->ways);
	old.entry = entry[way];
	entry[way] = new.entry;
	tree_touch(&c->tree[set], c->ways, way);
	if (c->holder) {
		old.holders = set_holders(c, set)[way];
		set_holders(c, set)[way] = new.holders;
	}
	return old;
}

/* Put a line in as the one used last. Return what had to leave for it. */
static inline struct gone place(struct sim_cache *c, uint64_t set, struct gone new)
{
	uint32_t *entry = set_entries(c, set);
	struct gone old = { 0, 0 };

	if (c->tree)
		return place_by_tree(c, set, new);
	old.entry = entry[c->ways - 1];
	shift_entries(entry, c->ways - 1);
	entry[0] = new.entry;
	if (c->holder) {
		old.holders = set_holders(c, set)[c->ways - 1];
		shift_holders(c, set, c->ways - 1, new.holders);
	}
	return old;
}

/* Take a line out of one set. Empty entries of an LRU set stand last, so they are used first. */
static uint32_t remove_from(struct sim_cache *c, uint64_t set, uint64_t line)
{
	uint32_t *entry = set_entries(c, set), old;
	const unsigned int way = find_way(c, entry, line), behind = c->ways - 1 - way;

	if (way == NO_WAY)
		return SIM_ENTRY_EMPTY;
	old = entry[way];
	if (c->tree) {
		entry[way] = SIM_ENTRY_EMPTY;
		return old;
	}
	memmove(entry + way, entry + way + 1, behind * sizeof(*entry));
	entry[c->ways - 1] = SIM_ENTRY_EMPTY;
	if (c->holder)
		memmove(set_holders(c, set) + way, set_holders(c, set) + way + 1,
			behind * sizeof(*c->holder));
	return old;
}

/*
 * A virtually indexed cache may hold a physical line in any set that agrees in the bits of the
 * page offset. The number of sets to a page is that of the lines to a page.
 */
static uint32_t remove_any_set(struct sim_cache *c, uint64_t line)
{
	const uint64_t page = 4096 / c->model->line;
	uint64_t set;
	uint32_t old;

	for (set = line % page & (c->sets - 1); set < c->sets; set += page) {
		old = remove_from(c, set, line);
		if (old != SIM_ENTRY_EMPTY)
			return old;
	}
	return SIM_ENTRY_EMPTY;
}

static inline uint32_t remove_line(struct sim_cache *c, uint64_t line)
{
	if (c->by_virtual)
		return remove_any_set(c, line);
	return remove_from(c, set_number(c, line), line);
}

static bool entry_dirty(uint32_t entry)
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

	if (!mem->shared)
		return;
	for (i = 0; i < mem->levels; i++)
		if (mem->path[i]->shared)
			spin_lock(&mem->path[i]->busy);
}

static void unlock_path(const struct sim_mem *mem)
{
	unsigned int i;

	if (!mem->shared)
		return;
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

	if (core->count)
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

static uint16_t holder_bit(unsigned int core)
{
	return 1u << core % 16;
}

/* Only an inclusive shared cache has to know in which cores a line may be. */
static inline uint16_t holder_flags(const struct sim_mem *mem, unsigned int level)
{
	return mem->path[level]->holder ? holder_bit(mem->core - mem->all->core) : 0;
}

static void tell_holders(const struct sim_mem *mem, unsigned int level, struct gone gone)
{
	struct sim_core *core;
	unsigned int i;

	for (i = 0; i < mem->all->cores; i++) {
		core = &mem->all->core[i];
		if (core != mem->core && core->path[level] == mem->path[level] &&
		    gone.holders & holder_bit(i))
			send_mail(core, level, entry_line(gone.entry));
	}
}

/* What an inclusive cache loses, the levels inside it lose too. Return whether it was dirty. */
static bool back_invalidate(const struct sim_mem *mem, unsigned int level, struct gone gone)
{
	if (gone.holders)
		tell_holders(mem, level, gone);
	return remove_levels(mem->path, level, entry_line(gone.entry));
}

static inline struct gone new_entry(const struct sim_mem *mem, unsigned int level, uint64_t line,
				    bool dirty)
{
	return (struct gone){
		.entry = line << SIM_ENTRY_SHIFT | dirty,
		.holders = holder_flags(mem, level),
	};
}

/* A dirty line goes outward; a clean one only where the next level collects victims. */
static void evict(struct sim_cpu *cpu, unsigned int level, struct gone gone)
{
	struct sim_mem *mem = &cpu->mem;
	struct sim_cache *next;
	uint64_t set, line;
	unsigned int way;
	bool dirty;

	while (gone.entry != SIM_ENTRY_EMPTY) {
		dirty = gone.entry & SIM_ENTRY_DIRTY;
		line = entry_line(gone.entry);
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
		set = set_number(next, line);
		way = find_way(next, set_entries(next, set), line);
		if (way != NO_WAY) {
			set_entries(next, set)[way] |= dirty;
			return;
		}
		gone = place(next, set, new_entry(mem, level, line, dirty));
	}
}

static inline uint64_t request_set(const struct sim_cache *c, const struct request *r)
{
	return set_number(c, c->by_virtual ? r->vline : r->line);
}

/* Outer levels drop their copy if they are exclusive; else it counts as used. */
static bool take(struct sim_mem *mem, unsigned int level, unsigned int way,
		 const struct request *r)
{
	struct sim_cache *c = mem->path[level];
	const uint64_t set = request_set(c, r);

	if (level > r->first && c->inclusion == SIM_EXCLUSIVE)
		return remove_from(c, set, r->line) & SIM_ENTRY_DIRTY;
	touch(c, set, way, r->write && !level, holder_flags(mem, level));
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

		*way = find_way(c, set_entries(c, request_set(c, r)), r->line);
		if (*way != NO_WAY)
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
		__builtin_prefetch(set_entries(next, set_number(next, r->line)));
		if (next->inclusion != SIM_EXCLUSIVE)
			continue;
		oldest = set_entries(c, request_set(c, r))[c->ways - 1];
		__builtin_prefetch(set_entries(next, set_number(next, entry_line(oldest))));
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
		dirty = entry_dirty(remove_line(mem->path[0], r->line));
	if (source < mem->levels)
		dirty |= take(mem, source, way, r);
	for (level = source; level-- > r->first;) {
		struct sim_cache *c = mem->path[level];

		if (skips(c, level, r))
			continue;
		dirty |= r->write && !level;
		evict(cpu, level,
		      place(c, request_set(c, r), new_entry(mem, level, r->line, dirty)));
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
	uint32_t *entry = set_entries(c, request_set(c, r));
	const unsigned int way = find_way(c, entry, r->line);
	bool dirty;

	if (way == NO_WAY)
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
		dirty = remove_levels(mem->path, mem->levels - 1, r->line);
		set = set_number(last, r->line);
		way = find_way(last, set_entries(last, set), r->line);
		if (way != NO_WAY)
			set_entries(last, set)[way] |= dirty;
		else
			evict(cpu, mem->levels - 1,
			      place(last, set,
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

/* An entry has room for 30 bits of line number: 64 GiB at 64 bytes to a line. */
static void beyond_memory(uint64_t paddr)
{
	fprintf(stderr, "simcpu: the caches cannot tell physical address 0x%llx from others\n",
		(unsigned long long)paddr);
	exit(1);
}

void sim_mem_access_pages(struct sim_cpu *cpu, uint64_t insns, uint64_t vaddr, uint64_t paddr,
			  uint64_t next, unsigned int size, enum sim_kind kind)
{
	const unsigned int shift = cpu->mem.line_shift;
	bool crosses = (vaddr & ((1u << shift) - 1)) + size > 1u << shift;

	advance(cpu, insns);
	if (paddr >> shift >= SIM_LINES_MAX || next >> shift >= SIM_LINES_MAX)
		beyond_memory(paddr);
	access_slowly(cpu, vaddr, paddr, crosses ? next >> shift : 0, kind);
}

/* The short way: a hit in a private level 1. */
static inline bool hit_quickly(struct sim_cpu *cpu, uint64_t line, bool write)
{
	struct sim_cache *c = cpu->mem.path[0];
	const uint64_t set = set_number(c, line);
	uint32_t *entry = set_entries(c, set), used;
	const unsigned int way = find_way(c, entry, line);

	if (way == NO_WAY)
		return false;
	if (c->tree || c->holder) {
		touch(c, set, way, write, 0);
		return true;
	}
	used = entry[way] | write;
	shift_entries(entry, way);
	entry[0] = used;
	return true;
}

void sim_mem_access(struct sim_cpu *cpu, uint64_t insns, uint64_t vaddr, uint64_t paddr,
		    unsigned int size, enum sim_kind kind)
{
	struct sim_mem *mem = &cpu->mem;
	const uint64_t line = paddr >> mem->line_shift;
	const uint64_t last = (paddr + size - 1) >> mem->line_shift;

	advance(cpu, insns);
	if (unlikely(last >= SIM_LINES_MAX))
		beyond_memory(paddr);
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
static void empty_entry(struct sim_cpu *cpu, unsigned int level, struct gone gone)
{
	const uint64_t line = entry_line(gone.entry);
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
		set = set_number(next, line);
		way = find_way(next, set_entries(next, set), line);
		if (way != NO_WAY) {
			set_entries(next, set)[way] |= SIM_ENTRY_DIRTY;
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
		const struct gone gone = { c->entry[i], c->holder ? c->holder[i] : 0 };

		if (gone.entry != SIM_ENTRY_EMPTY)
			empty_entry(cpu, level, gone);
	}
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

/* Sets start on a line of the host; the group in front of the first one is a line too. */
#define HOST_LINE	64

static uint32_t *new_entries(uint64_t entries)
{
	const size_t bytes = (entries * sizeof(uint32_t) + HOST_LINE - 1) / HOST_LINE * HOST_LINE;
	char *room = aligned_alloc(HOST_LINE, HOST_LINE + bytes);

	if (!room)
		return NULL;
	memset(room, 0xff, HOST_LINE + bytes);
	return (uint32_t *)(room + HOST_LINE);
}

static void free_cache(struct sim_cache *c)
{
	if (c->entry)
		free((char *)c->entry - HOST_LINE);
	free(c->holder);
	free(c->tree);
}

static void copy_model(struct sim_cache *c, const struct sim_cache_model *model)
{
	c->model = model;
	c->ways = model->ways;
	c->stride = (model->ways + SIM_ENTRY_GROUP - 1) / SIM_ENTRY_GROUP * SIM_ENTRY_GROUP;
	c->sets = model->sets;
	c->mask = model->sets & (model->sets - 1) ? 0 : model->sets - 1;
	c->inclusion = model->inclusion;
	c->by_virtual = model->index == SIM_INDEX_VIRTUAL;
}

static bool init_cache(struct sim_cache *c, const struct sim_cache_model *model, bool shared)
{
	copy_model(c, model);
	c->shared = shared;
	atomic_flag_clear(&c->busy);
	c->entry = new_entries(c->sets * c->stride);
	if (!c->entry)
		return false;
	if (shared && model->inclusion == SIM_INCLUSIVE) {
		c->holder = calloc(c->sets * c->stride, sizeof(*c->holder));
		if (!c->holder)
			return false;
	}
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

	for (i = 0; mem->cache[level] && i < mem->instances[level]; i++)
		free_cache(&mem->cache[level][i]);
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
	unsigned int i;

	mem->all = machine;
	mem->core = &machine->core[index / model->cpu.threads];
	mem->levels = machine->levels;
	memcpy(mem->path, mem->core->path, sizeof(mem->path));
	mem->line_shift = __builtin_ctz(model->cache[0].line);
	for (i = 0; i < mem->levels; i++)
		mem->shared |= mem->path[i]->shared;
	mem->quick = !mem->path[0]->shared && !mem->path[0]->by_virtual;
}
