/* SPDX-License-Identifier: GPL-2.0-only */
/* What all loops are made of that follow one chain of pointers. */
#ifndef CALM_CHASE_H
#define CALM_CHASE_H

#include "loops.h"
#include "window.h"

/*
 * Goes 2^@shift steps per taken branch, written as @repeat times @steps, and what is left one
 * @step at a time. Steps find the pointer to where they are in rsi and leave the next one there;
 * rax is theirs.
 */
#define CALM_CHASE(pass, shift, repeat, steps, step)			\
	CALM_WINDOW_VARIABLES(pass);					\
	__u64 rest = (pass)->accesses;					\
	void *at = (pass)->at;						\
									\
	tsc = (pass)->lead;						\
	asm volatile(CALM_WINDOW_LEAD("at") CALM_WINDOW_OPEN CALM_WINDOW_BEGIN("at") \
		     "mov %[rest], %%rcx\n\t"				\
		     "and $((1 << " #shift ") - 1), %[rest]\n\t"	\
		     "shr $" #shift ", %%rcx\n\t"			\
		     "jz 2f\n\t"					\
		     ".p2align 6\n"					\
		     "1:\n\t"						\
		     ".rept " #repeat "\n\t"				\
		     steps						\
		     ".endr\n\t"					\
		     "dec %%rcx\n\t"					\
		     "jnz 1b\n"						\
		     "2:\n\t"						\
		     "test %[rest], %[rest]\n\t"			\
		     "jz 4f\n"						\
		     "3:\n\t"						\
		     step						\
		     "dec %[rest]\n\t"					\
		     "jnz 3b\n"						\
		     "4:\n\t"						\
		     CALM_WINDOW_CLOSE					\
		     : [at] "+S"(at), [rest] "+D"(rest), CALM_WINDOW_OPERANDS \
		     : CALM_WINDOW_INPUTS				\
		     : CALM_WINDOW_CLOBBERS);				\
									\
	(pass)->at = at;						\
	CALM_WINDOW_RESULTS(pass)

#endif
