// SPDX-License-Identifier: GPL-2.0-only
/* Strided read: independent loads from the lowest address to the highest, again and again. */
#include "loops.h"
#include "window.h"

/* Loads per taken branch, 2^3; the lap's end is looked for that often. */
#define STRIDE_UNROLL 8

void calm_loop_stride(struct calm_pass *pass)
{
	CALM_WINDOW_VARIABLES(pass);
	__u64 rest = pass->accesses;
	void *at = pass->at;

	/* Registers of counters that this loop does without: CALM_LOOP_STRIDE_COUNTERS. */
	count4 = (__u64)pass->end;
	count5 = pass->span_bytes;
	count6 = pass->stride_bytes;
	asm volatile(CALM_WINDOW_OPEN CALM_WINDOW_BEGIN("at")
		     /* rdx: the last place from which eight loads stay within the lap */
		     "lea (, %[count6], " CALM_STR(STRIDE_UNROLL) "), %%rax\n\t"
		     "mov %[count4], %%rdx\n\t"
		     "sub %%rax, %%rdx\n\t"
		     "xor %%ecx, %%ecx\n\t"
		     ".p2align 6\n"
		     "1:\n\t"
		     "cmp $" CALM_STR(STRIDE_UNROLL) ", %[rest]\n\t"
		     "jb 2f\n\t"
		     "cmp %%rdx, %[at]\n\t"
		     "ja 3f\n\t"
		     ".rept " CALM_STR(STRIDE_UNROLL) "\n\t"
		     "add (%[at]), %%rcx\n\t"
		     "add %[count6], %[at]\n\t"
		     ".endr\n\t"
		     "sub $" CALM_STR(STRIDE_UNROLL) ", %[rest]\n\t"
		     "cmp %[count4], %[at]\n\t"
		     "jb 1b\n\t"
		     "sub %[count5], %[at]\n\t"
		     "jmp 1b\n"
		     "2:\n\t"
		     "test %[rest], %[rest]\n\t"
		     "jz 4f\n"
		     "3:\n\t"
		     "add (%[at]), %%rcx\n\t"
		     "add %[count6], %[at]\n\t"
		     "dec %[rest]\n\t"
		     "cmp %[count4], %[at]\n\t"
		     "jb 1b\n\t"
		     "sub %[count5], %[at]\n\t"
		     "jmp 1b\n"
		     "4:\n\t"
		     "mov %%rcx, %[count6]\n\t"
		     CALM_WINDOW_CLOSE
		     : [at] "+S"(at), [rest] "+D"(rest), CALM_WINDOW_OPERANDS
		     : CALM_WINDOW_INPUTS
		     : CALM_WINDOW_CLOBBERS);

	pass->sum = count6;
	count4 = 0;
	count5 = 0;
	count6 = 0;
	pass->at = at;
	CALM_WINDOW_RESULTS(pass);
}
