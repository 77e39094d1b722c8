// SPDX-License-Identifier: GPL-2.0-only
/* Strided copy: single bytes from one half of the buffer to the other, with shifted starts. */
#include "loops.h"
#include "window.h"

/* Copies per taken branch, 2^3; a sweep's end is looked for that often. */
#define COPY_UNROLL 8

#define COPY_BYTE				\
	"movzbl (%[at]), %%eax\n\t"		\
	"mov %%al, (%[at], %[count4])\n\t"	\
	"add %[count6], %[at]\n\t"

/*
 * Sweeps go upward through all of the source, each beginning a byte behind the
 * one before it, so that after as many as the stride has bytes each byte has
 * been copied once.
 */
void calm_loop_copy(struct calm_pass *pass)
{
	CALM_WINDOW_VARIABLES(pass);
	__u64 half = pass->span_bytes / 2, base = (__u64)pass->end - pass->span_bytes;
	__u64 rest = pass->accesses;
	__u64 at = (__u64)pass->at;

	/* Registers of counters that this loop does without: CALM_LOOP_COPY_COUNTERS. */
	count3 = base + ((at - base) % pass->stride_bytes + 1) % pass->stride_bytes;
	count4 = half;
	count5 = base + half;
	count6 = pass->stride_bytes;
	asm volatile(CALM_WINDOW_OPEN CALM_WINDOW_BEGIN("at")
		     /* rdx: the last place from which eight copies stay within the sweep */
		     "lea (, %[count6], " CALM_STR(COPY_UNROLL) "), %%rax\n\t"
		     "mov %[count5], %%rdx\n\t"
		     "sub %%rax, %%rdx\n\t"
		     /* rcx: behind the last place where a sweep begins */
		     "mov %[count5], %%rcx\n\t"
		     "sub %[count4], %%rcx\n\t"
		     "add %[count6], %%rcx\n\t"
		     ".p2align 6\n"
		     "1:\n\t"
		     "cmp $" CALM_STR(COPY_UNROLL) ", %[rest]\n\t"
		     "jb 2f\n\t"
		     "cmp %%rdx, %[at]\n\t"
		     "ja 3f\n\t"
		     ".rept " CALM_STR(COPY_UNROLL) "\n\t"
		     COPY_BYTE
		     ".endr\n\t"
		     "sub $" CALM_STR(COPY_UNROLL) ", %[rest]\n\t"
		     "cmp %[count5], %[at]\n\t"
		     "jb 1b\n\t"
		     "jmp 5f\n"
		     "2:\n\t"
		     "test %[rest], %[rest]\n\t"
		     "jz 4f\n"
		     "3:\n\t"
		     COPY_BYTE
		     "dec %[rest]\n\t"
		     "cmp %[count5], %[at]\n\t"
		     "jb 1b\n"
		     "5:\n\t"
		     "mov %[count3], %[at]\n\t"
		     "inc %[count3]\n\t"
		     "cmp %%rcx, %[count3]\n\t"
		     "jb 1b\n\t"
		     "sub %[count6], %[count3]\n\t"
		     "jmp 1b\n"
		     "4:\n\t"
		     CALM_WINDOW_CLOSE
		     : [at] "+S"(at), [rest] "+D"(rest), CALM_WINDOW_OPERANDS
		     : CALM_WINDOW_INPUTS
		     : CALM_WINDOW_CLOBBERS);

	count3 = 0;
	count4 = 0;
	count5 = 0;
	count6 = 0;
	pass->at = (void *)at;
	CALM_WINDOW_RESULTS(pass);
}
