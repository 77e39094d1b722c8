/* SPDX-License-Identifier: GPL-2.0-only */
/* The chase with all its fences, then without the first one, the second one and so on. */
#ifndef FENCE_CHASES_H
#define FENCE_CHASES_H

#include "loops.h"

void chase0(struct calm_pass *pass);
void chase1(struct calm_pass *pass);
void chase2(struct calm_pass *pass);
void chase3(struct calm_pass *pass);
void chase4(struct calm_pass *pass);

#endif
