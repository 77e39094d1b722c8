// SPDX-License-Identifier: GPL-2.0-only
/* A core that runs loads beside each other; dispatch and retirement alone are in order. */
#include <string.h>

#include "machine.h"
#include "timing.h"

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

/* One in each byte, and the highest bit of each. */
#define ONES	0x0101010101010101ull
#define HIGHS	(0x80 * ONES)

static const struct sim_micro unknown = SIM_MICRO_NONE;

/* A load by an instruction of which nothing is known depends on the load before it. */
static const struct sim_micro unknown_load = {
	.address = { SIM_MICRO_CHAIN, SIM_MICRO_ALWAYS },
	.source = { SIM_MICRO_ALWAYS, SIM_MICRO_ALWAYS, SIM_MICRO_ALWAYS, SIM_MICRO_ALWAYS },
	.result = { SIM_MICRO_CHAIN, SIM_MICRO_NOWHERE, SIM_MICRO_NOWHERE, SIM_MICRO_NOWHERE },
	.kind = SIM_MICRO_MOVE,
};

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void sim_time_init(struct sim_time *t, const struct sim_model *model)
{
	const struct sim_timing *timing = &model->timing;
	unsigned int i;

	t->width = timing->width;
	t->rob = timing->rob;
	/* as few as hold the reorder buffer: more would only fill the host's cache */
	for (t->retire_mask = 15; t->retire_mask < t->rob; t->retire_mask = 2 * t->retire_mask + 1)
		;
	t->fill_buffers = timing->fill_buffers;
	t->store_buffer = timing->store_buffer;
	t->clock = timing->clock;
	t->ports.capacity = timing->load_ports;
	t->line_bytes = model->cache[0].line;
	/* Linux arch/x86/kernel/cpu/amd.c: it serializes; Intel SDM vol. 2: it does not */
	t->mfence_waits = model->cpu.vendor == SIM_AMD;
	for (i = 0; i < model->caches; i++) {
		t->latency[i] = model->cache[i].latency;
		t->source[i].capacity = model->cache[i].bandwidth;
	}
	t->latency[SIM_SOURCE_MEM] = timing->memory;
	t->source[SIM_SOURCE_MEM].capacity = timing->memory_bandwidth;
}

/* ---- What is limited ---- */

/* A day's use stands in the low bits, above them the round of the calendar that it belongs to. */
static inline uint32_t *day(struct sim_calendar *c, uint64_t cycle)
{
	uint32_t *day = &c->day[cycle % SIM_CALENDAR];
	const uint32_t unused = cycle / SIM_CALENDAR * (SIM_BANDWIDTH_MAX + 1);

	if ((*day ^ unused) > SIM_BANDWIDTH_MAX)
		*day = unused;
	return day;
}

static inline uint32_t used(uint32_t day)
{
	return day & SIM_BANDWIDTH_MAX;
}

/* The first cycle with room for one; it is taken. */
static inline uint64_t take_one(struct sim_calendar *c, uint64_t cycle)
{
	uint32_t *at;

	if (!c->capacity)
		return cycle;
	for (at = day(c, cycle); used(*at) >= c->capacity; at = day(c, cycle))
		cycle++;
	(*at)++;
	return cycle;
}

/* Nobody looks at what lies before it: the last instruction was dispatched then or later. */
static inline uint64_t first_of_interest(const struct sim_time *t)
{
	return t->cycle ? t->cycle - 1 : 0;
}

/*
 * What lies before a byte is dropped, and the rest moved to the front where it takes less time than
 * was saved. If there is too much, the first gap is closed: nothing is given away.
 */
static void make_room(struct sim_bandwidth *b, uint64_t over)
{
	while (b->first < b->last && b->span[b->first].end <= over)
		b->first++;
	if (b->last < SIM_SPANS && b->first < b->last - b->first)
		return;
	if (b->last - b->first == SIM_SPANS)
		b->span[++b->first].begin = b->span[0].begin;
	b->last -= b->first;
	memmove(b->span, b->span + b->first, b->last * sizeof(b->span[0]));
	b->first = 0;
}

/* The first span that ends at a byte or behind it; most often there is none. */
static inline unsigned int find_span(const struct sim_bandwidth *b, uint64_t at)
{
	unsigned int low = b->first, high = b->last, middle;

	if (low == high || b->span[high - 1].end < at)
		return high;
	while (low < high) {
		middle = (low + high) / 2;
		if (b->span[middle].end < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* From one up to another, which stays. */
static void remove_spans(struct sim_bandwidth *b, unsigned int from, unsigned int end)
{
	memmove(b->span + from, b->span + end, (b->last - end) * sizeof(b->span[0]));
	b->last -= end - from;
}

static void insert_span(struct sim_bandwidth *b, unsigned int i, uint64_t at)
{
	if (i < b->last)
		memmove(b->span + i + 1, b->span + i, (b->last - i) * sizeof(b->span[0]));
	b->last++;
	b->span[i] = (struct sim_span){ at, at };
}

/* A span takes so many bytes of the gaps behind it. Return the end of the last one. */
static uint64_t lengthen_span(struct sim_bandwidth *b, unsigned int i, uint64_t many)
{
	struct sim_span *span = &b->span[i];
	unsigned int next = i + 1;
	uint64_t end;

	span->end += many;
	for (; next < b->last && b->span[next].begin < span->end; next++)
		span->end += b->span[next].end - b->span[next].begin;
	end = span->end;
	if (next < b->last && b->span[next].begin == end)
		span->end = b->span[next++].end;
	if (next > i + 1)
		remove_spans(b, i + 1, next);
	return end;
}

/* Take so many bytes from a cycle on. Return how many cycles later they are through than alone. */
static uint64_t take_many(const struct sim_time *t, struct sim_bandwidth *b, uint64_t cycle,
			  uint64_t many)
{
	const uint64_t capacity = b->capacity, at = cycle * capacity;
	const uint64_t over = first_of_interest(t) * capacity;
	unsigned int i;
	uint64_t end;

	if (!capacity)
		return 0;
	if (b->last == SIM_SPANS || b->span[b->first].end <= over)
		make_room(b, over);
	i = find_span(b, at);
	if (i == b->last || b->span[i].begin > at)
		insert_span(b, i, at);
	end = lengthen_span(b, i, many);
	return end == at + many ? 0 : (end - 1) / capacity - (at + many - 1) / capacity;
}

static inline uint64_t *buffers_word(struct sim_time *t, uint64_t cycle)
{
	return &t->buffers[cycle % SIM_AHEAD / 8];
}

/* The bytes of a cycle's word that lie from it on and in front of another one. */
static inline uint64_t bytes_between(uint64_t cycle, uint64_t end)
{
	uint64_t mask = ~0ull << 8 * (cycle % 8);

	if (end - cycle < 8 - cycle % 8)
		mask &= ~(~0ull << 8 * (end % 8));
	return mask;
}

static inline uint64_t next_word(uint64_t cycle)
{
	return (cycle | 7) + 1;
}

static void spread_reservation(struct sim_time *t, uint64_t from, uint64_t end)
{
	const uint64_t first = first_of_interest(t);
	uint64_t at;

	for (at = later(t->buffers_end, first); at < end; at = next_word(at))
		*buffers_word(t, at) &= ~bytes_between(at, end);
	t->buffers_end = later(t->buffers_end, end);
	for (at = later(from, first); at < end; at = next_word(at))
		*buffers_word(t, at) += ONES & bytes_between(at, end);
}

static void spread_chain(struct sim_time *t)
{
	for (; t->spread < t->chained; t->spread++) {
		const struct sim_reservation *r = &t->chain[t->spread % SIM_CHAIN];

		if (r->end > first_of_interest(t))
			spread_reservation(t, r->from, r->end);
	}
}

static inline const struct sim_reservation *last_of_chain(const struct sim_time *t)
{
	return &t->chain[(t->chained - 1) % SIM_CHAIN];
}

/* Does nothing that is known of last beyond a cycle? */
static inline bool is_behind_all(const struct sim_time *t, uint64_t cycle)
{
	return cycle >= t->buffers_end &&
	       (t->spread == t->chained || cycle >= last_of_chain(t)->end);
}

/* The first cycle from which on a fill buffer is free for so long. */
static uint64_t find_buffer(struct sim_time *t, uint64_t from, uint64_t cycles)
{
	const uint64_t limit = (0x80 - t->fill_buffers) * ONES;
	uint64_t at, full;

	if (is_behind_all(t, from))
		return from;
	spread_chain(t);
	for (at = from; at < from + cycles && at < t->buffers_end; at = next_word(at)) {
		/* behind the last reservation stands what was there a whole round before */
		full = (*buffers_word(t, at) + limit) & HIGHS &
		       bytes_between(at, earlier(later(at + 1, from + cycles), t->buffers_end));
		if (full)
			from = (at & ~7ull) + (63 - __builtin_clzll(full)) / 8 + 1;
	}
	return from;
}

static inline void use_buffer(struct sim_time *t, uint64_t from, uint64_t end)
{
	const struct sim_reservation *oldest = &t->chain[t->spread % SIM_CHAIN];

	if (!is_behind_all(t, from)) {
		spread_chain(t);
		spread_reservation(t, from, end);
		return;
	}
	if (t->chained - t->spread == SIM_CHAIN) {
		if (oldest->end > first_of_interest(t))
			spread_chain(t);
		else
			t->spread++;
	}
	t->chain[t->chained++ % SIM_CHAIN] = (struct sim_reservation){ from, end };
}

/* ---- Lines on their way ---- */

static inline struct sim_arrival *arrival(struct sim_time *t, uint64_t line)
{
	return &t->arrival[line % SIM_ARRIVALS];
}

static void expect_line(struct sim_time *t, uint64_t line, uint64_t cycle)
{
	*arrival(t, line) = (struct sim_arrival){ line + 1, cycle };
	t->arriving = later(t->arriving, cycle);
}

/* What the caches have already, as they fill at once, may still be on its way. */
static inline uint64_t when_arrived(struct sim_time *t, uint64_t line, uint64_t cycle)
{
	if (likely(t->arriving <= cycle) || arrival(t, line)->line != line + 1)
		return cycle;
	return later(cycle, arrival(t, line)->cycle);
}

/* A line comes from its source, through a fill buffer or not. Return when it is there. */
static uint64_t bring(struct sim_time *t, const struct sim_answer *answer, uint64_t from,
		      bool buffer)
{
	const uint64_t latency = t->latency[answer->source];
	uint64_t end;

	/* reservations farther ahead would meet those behind */
	buffer &= from + latency < t->cycle + SIM_AHEAD / 2;
	if (buffer)
		from = find_buffer(t, from, latency);
	end = from + latency + take_many(t, &t->source[answer->source], from, t->line_bytes);
	if (buffer && end < t->cycle + SIM_AHEAD)
		use_buffer(t, from, end);
	end = when_arrived(t, answer->line, end);
	expect_line(t, answer->line, end);
	return end;
}

/* Dirty lines that an access drives out take of memory's bandwidth, and nobody waits. */
static inline uint64_t write_lines(struct sim_cpu *cpu, uint64_t from)
{
	const uint64_t lines = cpu->raw[RAW_MEM_WRITE] - cpu->time.mem_writes;

	if (likely(!lines))
		return 0;
	cpu->time.mem_writes += lines;
	return take_many(&cpu->time, &cpu->time.source[SIM_SOURCE_MEM], from,
			 lines * cpu->time.line_bytes);
}

/* ---- One instruction after the other ---- */

static inline void hold_dispatch(struct sim_time *t, uint64_t cycle)
{
	if (cycle <= t->cycle)
		return;
	t->cycle = cycle;
	t->slot = 0;
}

static inline uint64_t sources_ready(const struct sim_time *t, const struct sim_micro *m)
{
	return later(later(t->ready[m->source[0]], t->ready[m->source[1]]),
		     later(t->ready[m->source[2]], t->ready[m->source[3]]));
}

/* What more than its operands an instruction waits for. */
static void begin_waiting(struct sim_time *t, const struct sim_micro *m)
{
	const uint64_t memory = later(t->loads, t->committed);

	switch (m->kind) {
	case SIM_MICRO_LFENCE:
		hold_dispatch(t, t->complete);
		break;
	case SIM_MICRO_SERIALIZE:
		hold_dispatch(t, later(t->complete, t->committed));
		break;
	case SIM_MICRO_MFENCE:
		t->floor = later(t->floor, memory);
		if (t->mfence_waits)
			hold_dispatch(t, later(t->complete, t->committed));
		break;
	case SIM_MICRO_LOCKED:
		t->floor = later(t->floor, memory);
		break;
	}
}

static void read_clock(struct sim_time *t, const struct sim_micro *m)
{
	uint64_t begin = later(t->start, sources_ready(t, m));

	if (m->kind == SIM_MICRO_CLOCK_LAST)
		begin = later(begin, t->complete);
	t->now = later(begin + t->clock, t->read);
	t->read = t->now;
}

/* The reorder buffer has room for one more. */
static inline void wait_for_room(struct sim_time *t)
{
	hold_dispatch(t, t->retire[(t->serial - t->rob) & t->retire_mask]);
}

static inline void dispatch(struct sim_time *t)
{
	if (++t->slot >= t->width) {
		t->cycle++;
		t->slot = 0;
	}
}

static inline uint64_t address_ready(const struct sim_time *t, const struct sim_micro *m)
{
	return later(t->cycle, later(t->ready[m->address[0]], t->ready[m->address[1]]));
}

static inline void begin(struct sim_time *t, const struct sim_micro *m)
{
	wait_for_room(t);
	if (unlikely(m->kind > SIM_MICRO_MOVE))
		begin_waiting(t, m);
	t->micro = m;
	t->start = t->cycle;
	t->address = address_ready(t, m);
	t->result = 0;
	t->stored = 0;
	t->loaded = false;
	dispatch(t);
	if (unlikely(m->kind >= SIM_MICRO_CLOCK))
		read_clock(t, m);
}

/* When its results are there: a cycle behind its operands, but for a move what it loads itself. */
static inline uint64_t completion(const struct sim_time *t, const struct sim_micro *m)
{
	uint64_t operands = later(t->address, sources_ready(t, m));

	if (likely(m->kind == SIM_MICRO_MOVE && t->loaded))
		return later(t->result, t->stored);
	if (m->kind <= SIM_MICRO_MOVE || m->kind == SIM_MICRO_LOCKED)
		return later(later(operands, t->result) + 1, t->stored);
	if (m->kind >= SIM_MICRO_CLOCK)
		return t->now;
	return m->kind == SIM_MICRO_MFENCE ? later(t->start, t->floor) : t->start;
}

/* In order, and no more of them in a cycle than are dispatched. */
static inline void retire(struct sim_time *t, uint64_t complete)
{
	t->complete = later(t->complete, complete);
	if (complete > t->retired) {
		t->retired = complete;
		t->retired_slot = 0;
	} else if (t->retired_slot == t->width) {
		t->retired++;
		t->retired_slot = 0;
	}
	t->retired_slot++;
	t->retire[t->serial++ & t->retire_mask] = t->retired;
}

static void end(struct sim_time *t)
{
	const struct sim_micro *m = t->micro;
	const uint64_t complete = completion(t, m);
	unsigned int i;

	for (i = 0; i < SIM_MICRO_RESULTS; i++)
		t->ready[m->result[i]] = complete;
	if (unlikely(m->kind == SIM_MICRO_LOCKED))
		t->floor = later(t->floor, complete);
	retire(t, complete);
	t->micro = NULL;
}

static inline void end_last(struct sim_time *t)
{
	if (t->micro)
		end(t);
}

static void drain(struct sim_time *t)
{
	end_last(t);
	if (t->slot)
		hold_dispatch(t, t->cycle + 1);
	hold_dispatch(t, t->complete);
}

/* So many that the core has nothing in flight behind them are not looked at one by one. */
static void pass_unknown(struct sim_time *t, uint64_t insns)
{
	uint64_t slots;

	if (insns >= t->rob) {
		drain(t);
		slots = t->slot + insns;
		t->cycle += slots / t->width;
		t->slot = slots % t->width;
		t->complete = later(t->complete, t->cycle);
		return;
	}
	while (insns--) {
		end_last(t);
		begin(t, &unknown);
	}
}

static void reach_far(struct sim_cpu *cpu, uint64_t insns)
{
	struct sim_time *t = &cpu->time;

	while (cpu->insns < insns && t->next < t->end) {
		end_last(t);
		begin(t, t->next++);
		cpu->insns++;
	}
	if (cpu->insns < insns) {
		pass_unknown(t, insns - cpu->insns - 1);
		end_last(t);
		begin(t, &unknown);
		cpu->insns = insns;
	} else if (!t->micro && t->hit != insns) {
		/* it has been drained already, and goes on */
		begin(t, &unknown);
	}
}

void sim_time_reach(struct sim_cpu *cpu, uint64_t insns)
{
	struct sim_time *t = &cpu->time;

	if (unlikely(insns != cpu->insns + 1 || t->next >= t->end)) {
		reach_far(cpu, insns);
		return;
	}
	end_last(t);
	begin(t, t->next++);
	cpu->insns = insns;
}

void sim_time_hit(struct sim_cpu *cpu, uint64_t line, unsigned int extra)
{
	struct sim_time *t = &cpu->time;
	const struct sim_micro *m = t->next++;
	uint64_t from, done;

	if (unlikely(t->micro))
		end(t);
	wait_for_room(t);
	t->address = address_ready(t, m);
	dispatch(t);
	from = take_one(&t->ports, later(t->address, t->floor) + extra);
	done = when_arrived(t, line, from + t->latency[0]);
	t->ready[m->result[0]] = done;
	t->loads = later(t->loads, done);
	retire(t, done);
	t->hit = ++cpu->insns;
}

void sim_time_load(struct sim_cpu *cpu, const struct sim_answer *answer)
{
	struct sim_time *t = &cpu->time;
	uint64_t from, done;

	if (unlikely(t->micro == &unknown)) {
		t->micro = &unknown_load;
		t->address = later(t->address, t->ready[SIM_MICRO_CHAIN]);
	}
	from = take_one(&t->ports, later(t->address, t->floor) + answer->extra);
	if (likely(!answer->source))
		done = when_arrived(t, answer->line, from + t->latency[0]);
	else
		done = bring(t, answer, from, true);
	write_lines(cpu, from);
	t->result = later(t->result, done);
	t->loads = later(t->loads, done);
	t->loaded = true;
}

/* A store enters the buffer where there is room, and leaves it in order, one in each cycle. */
static uint64_t enter_store(struct sim_time *t, unsigned int extra)
{
	const uint64_t room = t->commit[(t->stores - t->store_buffer) & SIM_STORE_BUFFER_MAX];

	t->stored = later(t->stored, later(room, later(t->address, t->floor) + extra));
	return t->stored;
}

static void commit_store(struct sim_time *t, uint64_t from, uint64_t line_there)
{
	uint64_t data = later(from, sources_ready(t, t->micro));

	if (t->loaded)
		data = later(data, t->result + 1);
	t->committed = later(later(t->committed + 1, t->retired), later(line_there, data));
	t->commit[t->stores++ & SIM_STORE_BUFFER_MAX] = t->committed;
}

void sim_time_store(struct sim_cpu *cpu, const struct sim_answer *answer)
{
	struct sim_time *t = &cpu->time;
	const uint64_t from = enter_store(t, answer->extra);

	if (answer->source)
		commit_store(t, from, bring(t, answer, from, true));
	else
		commit_store(t, from, when_arrived(t, answer->line, from));
	write_lines(cpu, from);
}

void sim_time_store_past(struct sim_cpu *cpu)
{
	struct sim_time *t = &cpu->time;
	const uint64_t from = enter_store(t, 0);

	commit_store(t, from, from + write_lines(cpu, from));
}

void sim_time_prefetch(struct sim_cpu *cpu, const struct sim_answer *answer, bool buffer)
{
	struct sim_time *t = &cpu->time;
	const uint64_t from = later(t->address, t->floor) + answer->extra;

	if (answer->source)
		bring(t, answer, from, buffer);
	write_lines(cpu, from);
}

static bool reads_clock(const struct sim_time *t)
{
	return t->micro && t->micro->kind >= SIM_MICRO_CLOCK;
}

void sim_time_settle(struct sim_cpu *cpu)
{
	struct sim_time *t = &cpu->time;

	if (reads_clock(t))
		return;
	drain(t);
	t->now = t->cycle;
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

/* After so many core cycles the TSC has made a whole number of steps. */
void sim_time_edge(struct sim_cpu *cpu)
{
	struct sim_time *t = &cpu->time;

	sim_time_settle(cpu);
	t->now = round_up(t->now, cpu->model->timing.core_ratio.num);
	if (reads_clock(t))
		t->read = t->now;
	else
		hold_dispatch(t, t->now);
}

void sim_time_drain(struct sim_cpu *cpu)
{
	drain(&cpu->time);
}

void sim_time_stop(struct sim_cpu *cpu, uint64_t cycles)
{
	struct sim_time *t = &cpu->time;

	sim_time_settle(cpu);
	t->now = later(t->now, t->complete) + cycles;
	t->read = later(t->read, t->now);
	hold_dispatch(t, t->now);
}

void sim_block_enter(struct sim_cpu *cpu, uint64_t insns, const struct sim_micro *micro,
		     unsigned int count)
{
	struct sim_time *t = &cpu->time;

	if (cpu->insns < insns)
		reach_far(cpu, insns);
	t->next = micro;
	t->end = micro + count;
}

void sim_block_leave(struct sim_cpu *cpu, uint64_t insns)
{
	sim_block_enter(cpu, insns, NULL, 0);
}
