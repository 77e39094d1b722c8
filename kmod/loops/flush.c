// SPDX-License-Identifier: GPL-2.0-only
/* Chase that flushes each line before it loads from it: memory, whatever the size. */
#include "chase.h"

/*
 * A fence orders CLFLUSH with what comes behind it (Intel SDM volume 2,
 * "CLFLUSH"), and MFENCE has loads wait.
 */
#define STEP				\
	"clflush (%[at])\n\t"		\
	"mfence\n\t"			\
	"mov (%[at]), %[at]\n\t"

void calm_loop_flush(struct calm_pass *pass)
{
	CALM_CHASE(pass, 5, 32, STEP, STEP);
}
