// SPDX-License-Identifier: GPL-2.0-only
/* Pointer chase: the time of one load after the other. */
#include "loops.h"
#include "window.h"

/* Loads per taken branch: the branch hides behind the loads it follows. */
#define CHASE_UNROLL 64

#define CALM_STR(x)  CALM_STR_(x)
#define CALM_STR_(x) #x

void calm_loop_chase(struct calm_pass *pass)
{
	__u64 blocks = pass->accesses / CHASE_UNROLL;
	__u64 rest = pass->accesses % CHASE_UNROLL;
	void *at = pass->at;
	__u64 begin, end;

	asm volatile(CALM_WINDOW_OPEN(begin)
		     "test %[blocks], %[blocks]\n\t"
		     "jz 2f\n\t"
		     ".p2align 6\n"
		     "1:\n\t"
		     ".rept " CALM_STR(CHASE_UNROLL) "\n\t"
		     "mov (%[at]), %[at]\n\t"
		     ".endr\n\t"
		     "dec %[blocks]\n\t"
		     "jnz 1b\n"
		     "2:\n\t"
		     "test %[rest], %[rest]\n\t"
		     "jz 4f\n"
		     "3:\n\t"
		     "mov (%[at]), %[at]\n\t"
		     "dec %[rest]\n\t"
		     "jnz 3b\n"
		     "4:\n\t"
		     CALM_WINDOW_CLOSE(end)
		     : [at] "+r"(at), [blocks] "+r"(blocks), [rest] "+r"(rest),
		       [begin] "=&r"(begin), [end] "=&r"(end)
		     :
		     : CALM_WINDOW_CLOBBERS);

	pass->at = at;
	pass->tsc_begin = begin;
	pass->tsc_end = end;
}
