// SPDX-License-Identifier: GPL-2.0-only
/* Chases side by side: how many misses the core has under way at a time. */
#ifdef __KERNEL__
#include <linux/stddef.h>
#else
#include <stddef.h>
#endif

#include "loops.h"
#include "window.h"

/*
 * A step of each chase, with its pointer in a general register or, as 16 chases
 * and a counter are more than there are registers, in a vector register. Those
 * of the last kind take a little longer: a pointer has to be moved before it
 * can be followed. The assembler repeats what is alike.
 */
#define MACROS								\
	".macro calm_row vectors, registers:vararg\n\t"			\
	".irp at, \\registers\n\t"					\
	"mov (%%\\at), %%\\at\n\t"					\
	".endr\n\t"							\
	".ifnb \\vectors\n\t"						\
	".irp at, \\vectors\n\t"					\
	"movq %%\\at, %%rdi\n\t"					\
	"movq (%%rdi), %%\\at\n\t"					\
	".endr\n\t"							\
	".endif\n\t"							\
	".endm\n\t"							\
	/* so many rows per taken branch that they have about 64 loads; rcx counts them */ \
	".macro calm_rows rows, vectors, registers:vararg\n\t"		\
	"movq %%xmm6, %%rdi\n\t"					\
	"cmp $\\rows, %%rcx\n\t"					\
	"jb 3f\n\t"							\
	".p2align 6\n"							\
	"2:\n\t"							\
	".rept \\rows\n\t"						\
	"calm_row \"\\vectors\", \\registers\n\t"			\
	".endr\n\t"							\
	"sub $\\rows, %%rcx\n\t"					\
	"cmp $\\rows, %%rcx\n\t"					\
	"jae 2b\n"							\
	"3:\n\t"							\
	"test %%rcx, %%rcx\n\t"						\
	"jz 5f\n"							\
	"4:\n\t"							\
	"calm_row \"\\vectors\", \\registers\n\t"			\
	"dec %%rcx\n\t"							\
	"jnz 4b\n"							\
	"5:\n\t"							\
	".endm\n\t"

#define MACROS_END ".purgem calm_row\n\t.purgem calm_rows\n\t"

/* The loop for so many lanes, and where it goes on. */
#define LOOP(lanes, vectors, registers)					\
	"1" #lanes ":\n\t"						\
	"calm_rows (64 / " #lanes "), \"" vectors "\", " registers "\n\t"	\
	"jmp 20f\n\t"
#define LOOP_VECTORS(lanes, vectors)					\
	"1" #lanes ":\n\t"						\
	"calm_rows (64 / " #lanes "), \"" vectors "\", " R12 "\n\t"	\
	"jmp 21f\n\t"

#define R4  "rax, rdx, rbx, rsi"
#define R8  R4 ", r8, r9, r10, r11"
#define R12 R8 ", r12, r13, r14, r15"

#define LOOPS								\
	LOOP(13, "", R12 ", rdi")					\
	LOOP(1, "", "rax") LOOP(2, "", "rax, rdx") LOOP(3, "", "rax, rdx, rbx")	\
	LOOP(4, "", R4) LOOP(5, "", R4 ", r8") LOOP(6, "", R4 ", r8, r9")	\
	LOOP(7, "", R4 ", r8, r9, r10") LOOP(8, "", R8) LOOP(9, "", R8 ", r12")	\
	LOOP(10, "", R8 ", r12, r13") LOOP(11, "", R8 ", r12, r13, r14")	\
	LOOP(12, "", R12)						\
	LOOP_VECTORS(14, "xmm6, xmm13") LOOP_VECTORS(15, "xmm6, xmm13, xmm7")	\
	LOOP_VECTORS(16, "xmm6, xmm13, xmm7, xmm14")

#define CHOOSE(lanes) "cmp $" #lanes ", %%edi\n\tje 1" #lanes "f\n\t"

/* Every register that a window keeps something in, and where it is meanwhile. */
#define KEEP								\
	"movq %%rbx, %%xmm8\n\tpinsrq $1, %%r8, %%xmm8\n\t"		\
	"movq %%r9, %%xmm9\n\tpinsrq $1, %%r10, %%xmm9\n\t"		\
	"movq %%r11, %%xmm10\n\tpinsrq $1, %%r12, %%xmm10\n\t"		\
	"movq %%r13, %%xmm11\n\tpinsrq $1, %%r14, %%xmm11\n\t"		\
	"movq %%r15, %%xmm12\n\t"

#define BRING_BACK							\
	"movq %%xmm8, %%rbx\n\tpextrq $1, %%xmm8, %%r8\n\t"		\
	"movq %%xmm9, %%r9\n\tpextrq $1, %%xmm9, %%r10\n\t"		\
	"movq %%xmm10, %%r11\n\tpextrq $1, %%xmm10, %%r12\n\t"		\
	"movq %%xmm11, %%r13\n\tpextrq $1, %%xmm11, %%r14\n\t"		\
	"movq %%xmm12, %%r15\n\t"

/* Pointers come in pairs in xmm0 to xmm7, and the last four stay in vector registers. */
#define TAKE_POINTERS							\
	"pshufd $0xee, %%xmm6, %%xmm13\n\t"				\
	"pshufd $0xee, %%xmm7, %%xmm14\n\t"				\
	"movq %%xmm0, %%rax\n\tpextrq $1, %%xmm0, %%rdx\n\t"		\
	"movq %%xmm1, %%rbx\n\tpextrq $1, %%xmm1, %%rsi\n\t"		\
	"movq %%xmm2, %%r8\n\tpextrq $1, %%xmm2, %%r9\n\t"		\
	"movq %%xmm3, %%r10\n\tpextrq $1, %%xmm3, %%r11\n\t"		\
	"movq %%xmm4, %%r12\n\tpextrq $1, %%xmm4, %%r13\n\t"		\
	"movq %%xmm5, %%r14\n\tpextrq $1, %%xmm5, %%r15\n\t"

#define LEAVE_POINTERS							\
	"movq %%rax, %%xmm0\n\tpinsrq $1, %%rdx, %%xmm0\n\t"		\
	"movq %%rbx, %%xmm1\n\tpinsrq $1, %%rsi, %%xmm1\n\t"		\
	"movq %%r8, %%xmm2\n\tpinsrq $1, %%r9, %%xmm2\n\t"		\
	"movq %%r10, %%xmm3\n\tpinsrq $1, %%r11, %%xmm3\n\t"		\
	"movq %%r12, %%xmm4\n\tpinsrq $1, %%r13, %%xmm4\n\t"		\
	"movq %%r14, %%xmm5\n\tpinsrq $1, %%r15, %%xmm5\n\t"

/* All pairs of the array at rsi, before the window and behind it. */
#define PAIR(i, n) "movdqu %c[lane] + 16 * " #i "(%%rsi), %%xmm" #n "\n\t"
#define PAIR_BACK(i, n) "movdqu %%xmm" #n ", %c[lane] + 16 * " #i "(%%rsi)\n\t"
#define PAIRS(pair)							\
	pair(0, 0) pair(1, 1) pair(2, 2) pair(3, 3)			\
	pair(4, 4) pair(5, 5) pair(6, 6) pair(7, 7)

void calm_loop_parallel(struct calm_pass *pass)
{
	CALM_WINDOW_VARIABLES(pass);
	__u64 rows = pass->accesses / pass->lanes;
	struct calm_pass *at = pass;

	asm volatile(MACROS PAIRS(PAIR)
		     "movq %[at], %%xmm15\n\t"
		     "pinsrq $1, %c[lanes](%[at]), %%xmm15\n\t"
		     CALM_WINDOW_OPEN
		     KEEP TAKE_POINTERS
		     "mov %[rows], %%rcx\n\t"
		     "pextrq $1, %%xmm15, %%rdi\n\t"
		     ".rept 16\n\t"	/* CALM_WINDOW_BEGIN, of the first lane */
		     "not %%rax\n\t"
		     ".endr\n\t"
		     CHOOSE(1) CHOOSE(2) CHOOSE(3) CHOOSE(4) CHOOSE(5) CHOOSE(6) CHOOSE(7) CHOOSE(8)
		     CHOOSE(9) CHOOSE(10) CHOOSE(11) CHOOSE(12) CHOOSE(14) CHOOSE(15) CHOOSE(16)
		     LOOPS
		     "21:\n\t"
		     "punpcklqdq %%xmm13, %%xmm6\n\t"
		     "punpcklqdq %%xmm14, %%xmm7\n\t"
		     "jmp 22f\n"
		     "20:\n\t"
		     "pinsrq $0, %%rdi, %%xmm6\n"
		     "22:\n\t"
		     LEAVE_POINTERS BRING_BACK
		     CALM_WINDOW_CLOSE
		     "movq %%xmm15, %[at]\n\t"
		     PAIRS(PAIR_BACK) MACROS_END
		     : [at] "+S"(at), [rows] "+D"(rows), CALM_WINDOW_OPERANDS
		     : CALM_WINDOW_INPUTS, [lane] "i"(offsetof(struct calm_pass, lane)),
		       [lanes] "i"(offsetof(struct calm_pass, lanes))
		     : CALM_VECTOR_CLOBBERS);

	CALM_WINDOW_RESULTS(pass);
}
