// SPDX-License-Identifier: GPL-2.0-only
/* Pointer chase: the time of one load after the other. */
#include "chase.h"

#define LOAD "mov (%[at]), %[at]\n\t"

/* So many loads per taken branch that the branch hides behind those it follows. */
void calm_loop_chase(struct calm_pass *pass)
{
	CALM_CHASE(pass, 6, 64, LOAD, LOAD);
}
