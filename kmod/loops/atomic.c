// SPDX-License-Identifier: GPL-2.0-only
/* Chase by locked additions of 0: each gives the pointer to where the next one is. */
#include "chase.h"

/* Adding nothing gives the pointer, and leaves it where it is. */
#define ADD				\
	"xor %%eax, %%eax\n\t"		\
	"lock xadd %%rax, (%[at])\n\t"

/* Two steps take turns with two registers, so that none has to be moved. */
#define TWO				\
	ADD				\
	"xor %k[at], %k[at]\n\t"	\
	"lock xadd %[at], (%%rax)\n\t"

void calm_loop_atomic(struct calm_pass *pass)
{
	CALM_CHASE(pass, 6, 32, TWO, ADD "mov %%rax, %[at]\n\t");
}
