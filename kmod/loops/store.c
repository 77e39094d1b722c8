// SPDX-License-Identifier: GPL-2.0-only
/* Chase that stores each pointer where it stands, and loads it from there: a store on the way. */
#include "chase.h"

#define STEP				\
	"mov (%[at]), %%rax\n\t"	\
	"mov %%rax, (%[at])\n\t"	\
	"mov (%[at]), %[at]\n\t"

void calm_loop_store(struct calm_pass *pass)
{
	CALM_CHASE(pass, 5, 32, STEP, STEP);
}
