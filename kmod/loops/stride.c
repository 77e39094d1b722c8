// SPDX-License-Identifier: GPL-2.0-only
/* Strided reads: independent loads from the lowest address to the highest, again and again. */
#include "loops.h"
#include "window.h"

/* Loads per taken branch, 2^3; the lap's end is looked for that often. */
#define STRIDE_UNROLL 8

/*
 * Begins before the window with @clear, and inside it with @prepare. @eight loads and
 * @one load go from rsi onward and leave it behind them. @take brings the sum to rdi in the
 * window, or @add behind it. Registers of counters that the loop does without:
 * CALM_LOOP_STRIDE_COUNTERS.
 */
#define STRIDE(pass, clear, prepare, eight, one, take, add, clobbers)		\
	CALM_WINDOW_VARIABLES(pass);						\
	__u64 rest = (pass)->accesses;						\
	void *at = (pass)->at;							\
										\
	count4 = (__u64)(pass)->end;						\
	count5 = (pass)->span_bytes;						\
	count6 = (pass)->stride_bytes;						\
	asm volatile(clear CALM_WINDOW_OPEN CALM_WINDOW_BEGIN("at")		\
		     /* rdx: the last place from which eight loads stay within the lap */ \
		     "lea (, %[count6], " CALM_STR(STRIDE_UNROLL) "), %%rax\n\t" \
		     "mov %[count4], %%rdx\n\t"					\
		     "sub %%rax, %%rdx\n\t"					\
		     prepare							\
		     ".p2align 6\n"						\
		     "1:\n\t"							\
		     "cmp $" CALM_STR(STRIDE_UNROLL) ", %[rest]\n\t"		\
		     "jb 2f\n\t"						\
		     "cmp %%rdx, %[at]\n\t"					\
		     "ja 3f\n\t"						\
		     eight							\
		     "sub $" CALM_STR(STRIDE_UNROLL) ", %[rest]\n\t"		\
		     "cmp %[count4], %[at]\n\t"					\
		     "jb 1b\n\t"						\
		     "sub %[count5], %[at]\n\t"					\
		     "jmp 1b\n"							\
		     "2:\n\t"							\
		     "test %[rest], %[rest]\n\t"				\
		     "jz 4f\n"							\
		     "3:\n\t"							\
		     one							\
		     "dec %[rest]\n\t"						\
		     "cmp %[count4], %[at]\n\t"					\
		     "jb 1b\n\t"						\
		     "sub %[count5], %[at]\n\t"					\
		     "jmp 1b\n"							\
		     "4:\n\t"							\
		     take							\
		     CALM_WINDOW_CLOSE						\
		     add							\
		     : [at] "+S"(at), [rest] "+D"(rest), CALM_WINDOW_OPERANDS	\
		     : CALM_WINDOW_INPUTS					\
		     : clobbers);						\
										\
	(pass)->sum = rest;							\
	count4 = 0;								\
	count5 = 0;								\
	count6 = 0;								\
	(pass)->at = at;							\
	CALM_WINDOW_RESULTS(pass)

#define SCALAR_LOAD				\
	"add (%[at]), %%rcx\n\t"		\
	"add %[count6], %[at]\n\t"

void calm_loop_stride(struct calm_pass *pass)
{
	STRIDE(pass, "", "xor %%ecx, %%ecx\n\t",
	       ".rept " CALM_STR(STRIDE_UNROLL) "\n\t" SCALAR_LOAD ".endr\n\t", SCALAR_LOAD,
	       "mov %%rcx, %[rest]\n\t", "", CALM_WINDOW_CLOBBERS);
}

/*
 * Vector loads add up in four registers, and four of them share one step of the address: a core
 * that can load twice or more in a cycle waits for neither.
 */
#define TRIPLE "lea (%[count6], %[count6], 2), %%rax\n\t"

#define FOUR(load)				\
	load("(%[at])", 0)			\
	load("(%[at], %[count6])", 1)		\
	load("(%[at], %[count6], 2)", 2)	\
	load("(%[at], %%rax)", 3)		\
	"lea (%[at], %[count6], 4), %[at]\n\t"

#define ONE(load)				\
	load("(%[at])", 0)			\
	"add %[count6], %[at]\n\t"

/* Without AVX an addition wants its operand in memory aligned (SDM vol. 1, 10.2.1). */
#define LOAD16(place, n)				\
	"movdqu " place ", %%xmm4\n\t"			\
	"paddq %%xmm4, %%xmm" #n "\n\t"

#define CLEAR16						\
	"pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\t"	\
	"pxor %%xmm2, %%xmm2\n\tpxor %%xmm3, %%xmm3\n\t"

#define SUM16						\
	"paddq %%xmm1, %%xmm0\n\tpaddq %%xmm3, %%xmm2\n\t"	\
	"paddq %%xmm2, %%xmm0\n\tmovdqa %%xmm0, %%xmm1\n\t"	\
	"punpckhqdq %%xmm1, %%xmm1\n\tpaddq %%xmm1, %%xmm0\n\t"	\
	"movq %%xmm0, %[rest]\n\t"

void calm_loop_stride16(struct calm_pass *pass)
{
	STRIDE(pass, CLEAR16, TRIPLE, FOUR(LOAD16) FOUR(LOAD16), ONE(LOAD16), "", SUM16,
	       CALM_VECTOR_CLOBBERS);
}

#define LOAD32(place, n) "vpaddq " place ", %%ymm" #n ", %%ymm" #n "\n\t"
#define LOAD64(place, n) "vpaddq " place ", %%zmm" #n ", %%zmm" #n "\n\t"

/* All of a register, whatever its length (SDM vol. 1, 15.5). */
#define CLEAR_LONG								\
	"vpxor %%xmm0, %%xmm0, %%xmm0\n\tvpxor %%xmm1, %%xmm1, %%xmm1\n\t"	\
	"vpxor %%xmm2, %%xmm2, %%xmm2\n\tvpxor %%xmm3, %%xmm3, %%xmm3\n\t"

#define FOLD(r)							\
	"vpaddq %%" r "1, %%" r "0, %%" r "0\n\t"		\
	"vpaddq %%" r "3, %%" r "2, %%" r "2\n\t"		\
	"vpaddq %%" r "2, %%" r "0, %%" r "0\n\t"

#define SUM32							\
	"vextracti128 $1, %%ymm0, %%xmm1\n\t"			\
	"vpaddq %%xmm1, %%xmm0, %%xmm0\n\t"			\
	"vpunpckhqdq %%xmm0, %%xmm0, %%xmm1\n\t"		\
	"vpaddq %%xmm1, %%xmm0, %%xmm0\n\t"			\
	"vmovq %%xmm0, %[rest]\n\t"				\
	"vzeroupper\n\t"

#define SUM64							\
	"vextracti64x4 $1, %%zmm0, %%ymm1\n\t"			\
	"vpaddq %%ymm1, %%ymm0, %%ymm0\n\t"			\
	SUM32

void calm_loop_stride32(struct calm_pass *pass)
{
	STRIDE(pass, CLEAR_LONG, TRIPLE, FOUR(LOAD32) FOUR(LOAD32), ONE(LOAD32), "",
	       FOLD("ymm") SUM32, CALM_VECTOR_CLOBBERS);
}

/* QEMU emulates no AVX-512: this one has run on hardware, but there in the program only. */
void calm_loop_stride64(struct calm_pass *pass)
{
	STRIDE(pass, CLEAR_LONG, TRIPLE, FOUR(LOAD64) FOUR(LOAD64), ONE(LOAD64), "",
	       FOLD("zmm") SUM64, CALM_VECTOR_CLOBBERS);
}
