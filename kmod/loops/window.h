/* SPDX-License-Identifier: GPL-2.0-only */
/* Assembly that opens and closes a timed window: counters outside, time stamps inside. */
#ifndef CALM_WINDOW_H
#define CALM_WINDOW_H

#define CALM_STR(x)  CALM_STR_(x)
#define CALM_STR_(x) #x

/*
 * LFENCE waits until all earlier instructions have completed and holds later
 * ones back until then (Intel SDM volume 2, "LFENCE"; on AMD where Linux sets
 * DE_CFG bit 1). RDTSC and RDPMC alone wait for nothing. Opening, the first
 * fence keeps the lead-in out of the counts, the second keeps it and the
 * reading of counters out of the time, the third keeps the loop's accesses from
 * starting before the time stamp. Closing, the fence makes the time stamp, and
 * the counters behind it, wait for the last access.
 *
 * Everything lives in registers: sums start at minus the first reading and end
 * with the second one added. Which counters there are is told by a register of
 * nibbles, so that no reading needs memory: see calm_pass.counters. A window
 * starts on a line of its own and names its registers, so that its bytes depend
 * neither on what the compiler put before it nor on its choice of registers.
 */
#define CALM_COUNTER(i, add)						\
	"bt $(4 * " #i " + 3), %[counters]\n\t"				\
	"jc 81f\n\t"							\
	"mov %[counters], %%rcx\n\t"					\
	"shr $(4 * " #i "), %%rcx\n\t"					\
	"and $0x40000007, %%ecx\n\t"					\
	"rdpmc\n\t"							\
	"shl $32, %%rdx\n\t"						\
	"or %%rdx, %%rax\n\t"						\
	add " %%rax, %[count" #i "]\n\t"

#define CALM_COUNTERS(add)						\
	CALM_COUNTER(0, add) CALM_COUNTER(1, add) CALM_COUNTER(2, add)	\
	CALM_COUNTER(3, add) CALM_COUNTER(4, add) CALM_COUNTER(5, add)	\
	CALM_COUNTER(6, add)

#define CALM_TIME(add)			\
	"rdtsc\n\t"			\
	add				\
	"shl $32, %%rdx\n\t"		\
	"or %%rdx, %%rax\n\t"

/*
 * Follows a chain for pass->lead loads right before the window, so that nobody
 * else's access comes between them and the window's own. With tree-PLRU one
 * that does may replace a line of the chain although its set has room for all,
 * lap for lap. The register of the time counts down to where it starts, 0.
 */
#define CALM_WINDOW_LEAD(reg)		\
	"test %[tsc], %[tsc]\n\t"	\
	"jz 92f\n"			\
	"91:\n\t"			\
	"mov (%[" reg "]), %[" reg "]\n\t"	\
	"dec %[tsc]\n\t"		\
	"jnz 91b\n"			\
	"92:\n\t"

#define CALM_WINDOW_OPEN		\
	".p2align 6\n\t"		\
	"bt $3, %[counters]\n\t"	\
	"jc 81f\n\t"			\
	"lfence\n\t"			\
	CALM_COUNTERS("sub")		\
	"81:\n\t"			\
	"lfence\n\t"			\
	CALM_TIME("lfence\n\t")		\
	"sub %%rax, %[tsc]\n\t"

/*
 * To be the first thing in a window, on the register that the loop's first
 * access needs: 16 NOTs, each of which waits for the one before and takes a
 * cycle (Agner Fog, "Instruction tables", all x86-64 cores). What prepares the
 * loop, or jumps past it in an empty window, is done by then. So the first
 * access starts as long after the opening fence as the closing one of an empty
 * window ends, and T(2n) - 2T(n) + T(0) = 0.
 */
#define CALM_WINDOW_BEGIN(reg)		\
	".rept 16\n\t"			\
	"not %[" reg "]\n\t"		\
	".endr\n\t"

#define CALM_WINDOW_CLOSE		\
	"lfence\n\t"			\
	CALM_TIME("")			\
	"add %%rax, %[tsc]\n\t"		\
	CALM_COUNTERS("add")		\
	"81:\n\t"

/* What a loop need not save: rcx too may count its iterations. */
#define CALM_WINDOW_CLOBBERS "rax", "rcx", "rdx", "cc", "memory"

/*
 * The same for a loop with vector registers. The kernel's compiler does not use
 * them, nor knows their names; the caller sees to it that they are free.
 */
#ifdef __SSE__
#define CALM_VECTOR_CLOBBERS						\
	"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",	\
	"xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", CALM_WINDOW_CLOBBERS
#else
#define CALM_VECTOR_CLOBBERS CALM_WINDOW_CLOBBERS
#endif

/* Operands of the above; a loop may have two more, in rsi and rdi. */
#define CALM_WINDOW_OPERANDS						\
	[tsc] "+r"(tsc), [count0] "+r"(count0), [count1] "+r"(count1),	\
	[count2] "+r"(count2), [count3] "+r"(count3),			\
	[count4] "+r"(count4), [count5] "+r"(count5), [count6] "+r"(count6)

#define CALM_WINDOW_INPUTS [counters] "b"(counters)

#define CALM_WINDOW_VARIABLES(pass)					\
	__u64 counters = (pass)->counters;				\
	register __u64 tsc asm("r8") = 0;				\
	register __u64 count0 asm("r9") = 0;				\
	register __u64 count1 asm("r10") = 0;				\
	register __u64 count2 asm("r11") = 0;				\
	register __u64 count3 asm("r12") = 0;				\
	register __u64 count4 asm("r13") = 0;				\
	register __u64 count5 asm("r14") = 0;				\
	register __u64 count6 asm("r15") = 0

#define CALM_WINDOW_RESULTS(pass)					\
	do {								\
		(pass)->tsc_ticks = tsc;				\
		(pass)->count[0] = count0;				\
		(pass)->count[1] = count1;				\
		(pass)->count[2] = count2;				\
		(pass)->count[3] = count3;				\
		(pass)->count[4] = count4;				\
		(pass)->count[5] = count5;				\
		(pass)->count[6] = count6;				\
	} while (0)

#endif
