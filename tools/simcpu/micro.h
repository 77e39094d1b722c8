/* SPDX-License-Identifier: GPL-2.0-only */
/* What the time of an instruction depends on: made once when it is decoded, used at each run. */
#ifndef SIMCPU_MICRO_H
#define SIMCPU_MICRO_H

#include <stdint.h>

/*
 * Registers with a ready time: general ones by their number in the encoding, then these. A read of
 * SIM_MICRO_ALWAYS never waits, and nobody reads SIM_MICRO_NOWHERE.
 */
enum sim_micro_reg {
	SIM_MICRO_RSP = 4,
	SIM_MICRO_FLAGS = 16,
	SIM_MICRO_VECTOR,
	SIM_MICRO_MMX = SIM_MICRO_VECTOR + 32,
	SIM_MICRO_MASK = SIM_MICRO_MMX + 8,
	SIM_MICRO_CHAIN = SIM_MICRO_MASK + 8,
	SIM_MICRO_ALWAYS,
	SIM_MICRO_NOWHERE,
	SIM_MICRO_REGS,
};

/**
 * enum sim_micro_class - what an instruction waits for, and who waits for it
 * @SIM_MICRO_PLAIN: its operands
 * @SIM_MICRO_MOVE: the same, and what it loads is its result as it is
 * @SIM_MICRO_LFENCE: all earlier ones; all later ones wait for it
 * @SIM_MICRO_SERIALIZE: the same, and earlier stores have been written too
 * @SIM_MICRO_MFENCE: earlier accesses to memory; later ones wait for it
 * @SIM_MICRO_LOCKED: the same, with an access of its own
 * @SIM_MICRO_CLOCK: reads a clock or counter, waits for its operands only
 * @SIM_MICRO_CLOCK_LAST: reads a clock behind all earlier ones
 */
enum sim_micro_class {
	SIM_MICRO_PLAIN,
	SIM_MICRO_MOVE,
	SIM_MICRO_LFENCE,
	SIM_MICRO_SERIALIZE,
	SIM_MICRO_MFENCE,
	SIM_MICRO_LOCKED,
	SIM_MICRO_CLOCK,
	SIM_MICRO_CLOCK_LAST,
};

#define SIM_MICRO_ADDRESSES	2
#define SIM_MICRO_SOURCES	4
#define SIM_MICRO_RESULTS	4

/**
 * struct sim_micro - an instruction as the timing core sees it
 * @address: registers of its memory operand
 * @source: other registers that it reads
 * @result: registers that it writes
 * @kind: enum sim_micro_class
 * @loads: it loads one register and does nothing else: a move that waits for its address alone
 */
struct sim_micro {
	uint8_t address[SIM_MICRO_ADDRESSES];
	uint8_t source[SIM_MICRO_SOURCES];
	uint8_t result[SIM_MICRO_RESULTS];
	uint8_t kind;
	uint8_t loads;
};

/* An instruction of which nothing is known: it waits for nothing. */
#define SIM_MICRO_NONE							\
	{								\
		.address = { SIM_MICRO_ALWAYS, SIM_MICRO_ALWAYS },	\
		.source = { SIM_MICRO_ALWAYS, SIM_MICRO_ALWAYS,		\
			    SIM_MICRO_ALWAYS, SIM_MICRO_ALWAYS },	\
		.result = { SIM_MICRO_NOWHERE, SIM_MICRO_NOWHERE,	\
			    SIM_MICRO_NOWHERE, SIM_MICRO_NOWHERE },	\
		.kind = SIM_MICRO_PLAIN,				\
	}

#endif
