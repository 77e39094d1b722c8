// SPDX-License-Identifier: GPL-2.0-only
/* Chase by locked additions of 0: each gives the pointer to where the next one is. */
#include "loops.h"
#include "window.h"

/*
 * Steps per taken branch, 2^6. Two steps take turns with two registers: adding
 * nothing gives the pointer, and leaves it where it is.
 */
#define ATOMIC_UNROLL 64

void calm_loop_atomic(struct calm_pass *pass)
{
	CALM_WINDOW_VARIABLES(pass);
	__u64 rest = pass->accesses;
	void *at = pass->at;

	tsc = pass->lead;
	asm volatile(CALM_WINDOW_LEAD("at") CALM_WINDOW_OPEN CALM_WINDOW_BEGIN("at")
		     "mov %[rest], %%rcx\n\t"
		     "and $(" CALM_STR(ATOMIC_UNROLL) " - 1), %[rest]\n\t"
		     "shr $6, %%rcx\n\t"
		     "jz 2f\n\t"
		     ".p2align 6\n"
		     "1:\n\t"
		     ".rept " CALM_STR(ATOMIC_UNROLL) " / 2\n\t"
		     "xor %%eax, %%eax\n\t"
		     "lock xadd %%rax, (%[at])\n\t"
		     "xor %k[at], %k[at]\n\t"
		     "lock xadd %[at], (%%rax)\n\t"
		     ".endr\n\t"
		     "dec %%rcx\n\t"
		     "jnz 1b\n"
		     "2:\n\t"
		     "test %[rest], %[rest]\n\t"
		     "jz 4f\n"
		     "3:\n\t"
		     "xor %%eax, %%eax\n\t"
		     "lock xadd %%rax, (%[at])\n\t"
		     "mov %%rax, %[at]\n\t"
		     "dec %[rest]\n\t"
		     "jnz 3b\n"
		     "4:\n\t"
		     CALM_WINDOW_CLOSE
		     : [at] "+S"(at), [rest] "+D"(rest), CALM_WINDOW_OPERANDS
		     : CALM_WINDOW_INPUTS
		     : CALM_WINDOW_CLOBBERS);

	pass->at = at;
	CALM_WINDOW_RESULTS(pass);
}
