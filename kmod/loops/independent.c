// SPDX-License-Identifier: GPL-2.0-only
/* Independent loads in a scattered order: as many at a time as the core can have. */
#include "loops.h"
#include "scatter.h"
#include "window.h"

/* Loads per taken branch, 2^4. */
#define RANDOM_UNROLL 16

/*
 * The next place is told by a counter alone: its CRC32C, turned so that the bits
 * that number the elements stand where an element's address has them. No load
 * waits for another one. The sum of all values tells whether each was the right one.
 */
#define RANDOM_LOAD				\
	"xor %%eax, %%eax\n\t"			\
	"crc32l %%esi, %%eax\n\t"		\
	"add %%edx, %%esi\n\t"			\
	"rol %%cl, %%rax\n\t"			\
	"and %[count5], %%rax\n\t"		\
	"add (%[count4], %%rax), %[count6]\n\t"

void calm_loop_random(struct calm_pass *pass)
{
	CALM_WINDOW_VARIABLES(pass);
	__u64 lines = pass->span_bytes / pass->stride_bytes;
	__u64 rest = pass->accesses;
	/* the counter, how far to turn its CRC, and where its lowest bit stands */
	__u64 at = calm_scatter_counter(lines, (__u64)pass->at) |
		   (__u64)calm_scatter_turn(lines, pass->stride_bytes) << 32 |
		   (__u64)(32 - __builtin_ctzll(lines)) << 40;

	/* Registers of counters that this loop does without: CALM_LOOP_RANDOM_COUNTERS. */
	count4 = (__u64)pass->end - pass->span_bytes;
	count5 = (lines - 1) * pass->stride_bytes;
	asm volatile(CALM_WINDOW_OPEN CALM_WINDOW_BEGIN("at")
		     "mov %[at], %%rcx\n\t"
		     "shr $40, %%rcx\n\t"
		     "mov $1, %%edx\n\t"
		     "shl %%cl, %%edx\n\t"
		     "mov %[at], %%rcx\n\t"
		     "shr $32, %%rcx\n\t"
		     ".p2align 6\n"
		     "1:\n\t"
		     "cmp $" CALM_STR(RANDOM_UNROLL) ", %[rest]\n\t"
		     "jb 2f\n\t"
		     ".rept " CALM_STR(RANDOM_UNROLL) "\n\t"
		     RANDOM_LOAD
		     ".endr\n\t"
		     "sub $" CALM_STR(RANDOM_UNROLL) ", %[rest]\n\t"
		     "jmp 1b\n"
		     "2:\n\t"
		     "test %[rest], %[rest]\n\t"
		     "jz 4f\n"
		     "3:\n\t"
		     RANDOM_LOAD
		     "dec %[rest]\n\t"
		     "jnz 3b\n"
		     "4:\n\t"
		     CALM_WINDOW_CLOSE
		     : [at] "+S"(at), [rest] "+D"(rest), CALM_WINDOW_OPERANDS
		     : CALM_WINDOW_INPUTS
		     : CALM_WINDOW_CLOBBERS);

	pass->at = (void *)calm_scatter_place(lines, (__u32)at);
	pass->sum = count6;
	count4 = 0;
	count5 = 0;
	count6 = 0;
	CALM_WINDOW_RESULTS(pass);
}
