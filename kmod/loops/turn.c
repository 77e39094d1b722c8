// SPDX-License-Identifier: GPL-2.0-only
/* Dependent additions, a core cycle each: the core clock where no counter tells it. */
#include "loops.h"
#include "window.h"

/* Additions per taken branch, 2^6: counting and branching hide beside them. */
#define TURN_UNROLL 64

/* ADD of two registers takes one cycle (Agner Fog, "Instruction tables", all x86-64 cores). */
void calm_loop_turn(struct calm_pass *pass)
{
	CALM_WINDOW_VARIABLES(pass);
	__u64 rest = pass->accesses;
	__u64 value = 1;

	asm volatile(CALM_WINDOW_OPEN CALM_WINDOW_BEGIN("value")
		     "mov %[rest], %%rcx\n\t"
		     "and $(" CALM_STR(TURN_UNROLL) " - 1), %[rest]\n\t"
		     "shr $6, %%rcx\n\t"
		     "jz 2f\n\t"
		     ".p2align 6\n"
		     "1:\n\t"
		     ".rept " CALM_STR(TURN_UNROLL) "\n\t"
		     "add %[value], %[value]\n\t"
		     ".endr\n\t"
		     "dec %%rcx\n\t"
		     "jnz 1b\n"
		     "2:\n\t"
		     "test %[rest], %[rest]\n\t"
		     "jz 4f\n"
		     "3:\n\t"
		     "add %[value], %[value]\n\t"
		     "dec %[rest]\n\t"
		     "jnz 3b\n"
		     "4:\n\t"
		     CALM_WINDOW_CLOSE
		     : [value] "+S"(value), [rest] "+D"(rest), CALM_WINDOW_OPERANDS
		     : CALM_WINDOW_INPUTS
		     : CALM_WINDOW_CLOBBERS);

	CALM_WINDOW_RESULTS(pass);
}
