/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUID, wherever the kernel keeps it: it moved in 6.16. */
#ifndef CALM_CPUID_H
#define CALM_CPUID_H

#include <asm/processor.h>
#ifdef CALM_HAVE_CPUID_API_H
#include <asm/cpuid/api.h>
#else
#include <asm/cpuid.h>
#endif

#endif
