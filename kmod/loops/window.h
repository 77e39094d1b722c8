/* SPDX-License-Identifier: GPL-2.0-only */
/* Assembly that opens and closes a timed window; clobbers rax and rdx. */
#ifndef CALM_WINDOW_H
#define CALM_WINDOW_H

/*
 * LFENCE waits until all earlier instructions have completed and holds later
 * ones back until then (Intel SDM volume 2, "LFENCE"; on AMD where Linux sets
 * DE_CFG bit 1). RDTSC alone waits for nothing. Before the first time stamp
 * a fence keeps the lead-in's loads out of the window; the one after it keeps
 * the loop's accesses from starting early; the one before the last time stamp
 * makes it wait for them. The window starts on a line of its own, so that its
 * bytes do not depend on what the compiler put before it.
 */
#define CALM_WINDOW_OPEN(begin)		\
	".p2align 6\n\t"		\
	"lfence\n\t"			\
	"rdtsc\n\t"			\
	"lfence\n\t"			\
	"shl $32, %%rdx\n\t"		\
	"or %%rdx, %%rax\n\t"		\
	"mov %%rax, %[" #begin "]\n\t"

#define CALM_WINDOW_CLOSE(end)		\
	"lfence\n\t"			\
	"rdtsc\n\t"			\
	"shl $32, %%rdx\n\t"		\
	"or %%rdx, %%rax\n\t"		\
	"mov %%rax, %[" #end "]\n\t"

#define CALM_WINDOW_CLOBBERS "rax", "rdx", "cc", "memory"

#endif
