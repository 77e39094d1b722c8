/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When instructions start and complete: registers have ready times, loads run beside each other as
 * far as the reorder buffer, fill buffers, ports and bandwidth allow.
 */
#ifndef SIMCPU_TIMING_H
#define SIMCPU_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "micro.h"
#include "model.h"
#include "raw.h"

struct sim_cpu;

/* Cycles that reservations can lie ahead of the instruction that is dispatched. */
#define SIM_AHEAD	(1u << 18)
/* Cycles that a calendar tells apart, and lines on their way. */
#define SIM_CALENDAR	4096
#define SIM_ARRIVALS	1024

/**
 * struct sim_calendar - a resource that can be used so much in each cycle
 * @capacity: how much; 0: without limit
 * @day: use by cycle, modulo its size, below what tells that cycle; another one's counts as none
 */
struct sim_calendar {
	uint32_t capacity;
	uint32_t day[SIM_CALENDAR];
};

/* So many that a few of each instruction in flight can lie apart. */
#define SIM_SPANS	(2 * (SIM_ROB_MAX + 1))

/**
 * struct sim_span - bytes that are taken, of all that could have been delivered since the start
 * @begin: the first one
 * @end: the one behind the last
 */
struct sim_span {
	uint64_t begin;
	uint64_t end;
};

/**
 * struct sim_bandwidth - what a level, or memory, can deliver
 * @capacity: bytes in a cycle; 0: without limit
 * @first: of @span, what is not over yet
 * @last: behind what is used of @span
 * @span: in order, with a gap between any two
 */
struct sim_bandwidth {
	uint32_t capacity;
	unsigned int first;
	unsigned int last;
	struct sim_span span[SIM_SPANS];
};

/* Fill buffers that a chain of misses, one behind the other, has had: two for each instruction. */
#define SIM_CHAIN	(2 * (SIM_ROB_MAX + 1))

/**
 * struct sim_reservation - a fill buffer is in use
 * @from: first cycle
 * @end: the cycle behind the last one
 */
struct sim_reservation {
	uint64_t from;
	uint64_t end;
};

/**
 * struct sim_arrival - a line on its way into a cache
 * @line: its number plus one
 * @cycle: when it will be there
 */
struct sim_arrival {
	uint64_t line;
	uint64_t cycle;
};

/**
 * struct sim_time - a vCPU's clock, and what is in flight
 * @cycle: in which the next instruction is dispatched
 * @slot: instructions dispatched in that cycle
 * @retired: cycle of the last retirement
 * @retired_slot: retirements in that cycle
 * @complete: when all instructions so far will have completed
 * @loads: when all loads so far will have
 * @committed: when the last store will have been written to the cache
 * @floor: no later access to memory starts before it
 * @now: what the instruction that reads a clock sees
 * @read: the last clock read: they happen in program order
 * @micro: the instruction that has begun last, NULL if it is over
 * @start: when it was dispatched
 * @address: when its address was known
 * @result: when its loads complete, as far as they have begun
 * @stored: when its stores have found room likewise
 * @loaded: it has loaded
 * @hit: number of the last instruction that sim_time_hit() was for
 * @serial: how many instructions have begun
 * @next: records of the block to come
 * @end: behind the block's last one
 * @arriving: the last of @arrival's cycles
 * @buffers_end: cycles from here on hold no reservation in @buffers
 * @chained: how many reservations were put into @chain
 * @spread: how many of them are in @buffers
 * @stores: how many stores there were
 * @width: to a cycle
 * @rob: instructions between the oldest one that has not retired and the youngest one
 * @retire_mask: of @retire, what is used: one less than a power of two
 * @fill_buffers: misses at a time
 * @store_buffer: stores at a time
 * @clock: cycles to read a clock or counter
 * @mfence_waits: MFENCE holds all later instructions, not accesses to memory alone
 * @latency: by source
 * @line_bytes: of a line
 * @mem_writes: of RAW_MEM_WRITE, those that have had their share of the bandwidth
 * @ready: by register
 * @retire: retirements of the last instructions, by their number
 * @commit: commits of the last stores likewise
 * @ports: loads that start in a cycle
 * @source: bandwidth likewise by source
 * @arrival: lines on their way, by the low bits of their number
 * @chain: reservations of which each begins when all before it have ended: for as long as no miss
 *	   begins beside another one, nobody has to look at them cycle by cycle
 * @buffers: fill buffers in use by the other ones, a byte for each cycle
 */
struct sim_time {
	uint64_t cycle;
	unsigned int slot;
	unsigned int retired_slot;
	uint64_t retired;
	uint64_t complete;
	uint64_t loads;
	uint64_t committed;
	uint64_t floor;
	uint64_t now;
	uint64_t read;
	const struct sim_micro *micro;
	uint64_t start;
	uint64_t address;
	uint64_t result;
	uint64_t stored;
	bool loaded;
	uint64_t hit;
	uint64_t serial;
	const struct sim_micro *next;
	const struct sim_micro *end;
	uint64_t arriving;
	uint64_t buffers_end;
	uint64_t chained;
	uint64_t spread;
	uint64_t stores;
	unsigned int width;
	unsigned int rob;
	unsigned int retire_mask;
	unsigned int fill_buffers;
	unsigned int store_buffer;
	unsigned int clock;
	bool mfence_waits;
	unsigned int latency[SIM_SOURCES];
	unsigned int line_bytes;
	uint64_t mem_writes;
	uint64_t ready[SIM_MICRO_REGS];
	uint64_t retire[SIM_ROB_MAX + 1];
	uint64_t commit[SIM_STORE_BUFFER_MAX + 1];
	struct sim_calendar ports;
	struct sim_bandwidth source[SIM_SOURCES];
	struct sim_arrival arrival[SIM_ARRIVALS];
	struct sim_reservation chain[SIM_CHAIN];
	uint64_t buffers[SIM_AHEAD / 8];
};

/**
 * struct sim_answer - what the memory system says of an access
 * @line: physical number of its line
 * @source: level, or memory, that serves it
 * @extra: cycles that its address translation and the like take before
 */
struct sim_answer {
	uint64_t line;
	unsigned int source;
	unsigned int extra;
};

void sim_time_init(struct sim_time *t, const struct sim_model *model);

/*
 * Begin the instruction of this number, having ended all those before it. The block that was
 * entered last tells what they are, and beyond it nothing is known: so many as fill the reorder
 * buffer wait for all that is in flight, fewer are dispatched beside it.
 */
void sim_time_reach(struct sim_cpu *cpu, uint64_t insns);

/* Is the instruction of this number known, and does it load one register and nothing else? */
static inline bool sim_time_loads(const struct sim_time *t, uint64_t insns, uint64_t reached)
{
	return insns == reached + 1 && t->next < t->end && t->next->loads;
}

/* All there is to such an instruction where level 1 has its line: it begins, loads and is over. */
void sim_time_hit(struct sim_cpu *cpu, uint64_t line, unsigned int extra);

/* The instruction that has begun loads or stores; each does so any number of times. */
void sim_time_load(struct sim_cpu *cpu, const struct sim_answer *answer);
void sim_time_store(struct sim_cpu *cpu, const struct sim_answer *answer);

/* It stores past the caches. */
void sim_time_store_past(struct sim_cpu *cpu);

/*
 * A prefetch that it makes or causes: nobody waits for it, but who needs the line before it is
 * there. A prefetch instruction takes a fill buffer, and so does what fills level 1.
 */
void sim_time_prefetch(struct sim_cpu *cpu, const struct sim_answer *answer, bool buffer);

/* All that has begun completes, and the clock stands at a whole cycle. */
void sim_time_drain(struct sim_cpu *cpu);

/* The core does nothing for so long. */
void sim_time_stop(struct sim_cpu *cpu, uint64_t cycles);

#endif
