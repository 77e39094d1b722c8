// SPDX-License-Identifier: GPL-2.0-only
/* Chase that stores each pointer where it stands, and loads it from there: a store on the way. */
#include "loops.h"
#include "window.h"

/* Steps per taken branch, 2^5. */
#define STORE_UNROLL 32

void calm_loop_store(struct calm_pass *pass)
{
	CALM_WINDOW_VARIABLES(pass);
	__u64 rest = pass->accesses;
	void *at = pass->at;

	tsc = pass->lead;
	asm volatile(CALM_WINDOW_LEAD("at") CALM_WINDOW_OPEN CALM_WINDOW_BEGIN("at")
		     "mov %[rest], %%rcx\n\t"
		     "and $(" CALM_STR(STORE_UNROLL) " - 1), %[rest]\n\t"
		     "shr $5, %%rcx\n\t"
		     "jz 2f\n\t"
		     ".p2align 6\n"
		     "1:\n\t"
		     ".rept " CALM_STR(STORE_UNROLL) "\n\t"
		     "mov (%[at]), %%rax\n\t"
		     "mov %%rax, (%[at])\n\t"
		     "mov (%[at]), %[at]\n\t"
		     ".endr\n\t"
		     "dec %%rcx\n\t"
		     "jnz 1b\n"
		     "2:\n\t"
		     "test %[rest], %[rest]\n\t"
		     "jz 4f\n"
		     "3:\n\t"
		     "mov (%[at]), %%rax\n\t"
		     "mov %%rax, (%[at])\n\t"
		     "mov (%[at]), %[at]\n\t"
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
