// SPDX-License-Identifier: GPL-2.0-only
/* The table of hardware prefetchers: names, and for each kind of CPU its switches. */
#include <linux/kernel.h>
#include <uapi/linux/calm.h>

#include "prefetch_table.h"

#define MISC_ENABLE		0x1a0
#define MISC_FEATURE_CONTROL	0x1a4
#define PREFETCH_TUNING		0x1320
#define PREFETCH_TUNING2	0x1321
#define PREFETCH_CONTROL	0xc0000108
#define DC_CFG			0xc0011022
#define CU_CFG3			0xc001102b

enum {
	L1_NEXT_LINE,
	L1_NEXT_PAGE,
	L1_IP,
	L1_STREAM,
	L1_STRIDE,
	L1_REGION,
	L1_ALL,
	L2_STREAM,
	L2_ADJACENT,
	L2_AMP,
	L2_NEXT_LINE,
	L2_UP_DOWN,
	POINTER_ARRAY,
	LLC_PAGE,
	LLC_STREAM,
	CODE_STREAM,
};

static const struct calm_prefetch_name names[] = {
	[L1_NEXT_LINE] = { "l1-next-line", "next-line" },
	[L1_NEXT_PAGE] = { "l1-next-page", "next-page" },
	[L1_IP] = { "l1-ip", "stride" },
	[L1_STREAM] = { "l1-stream", "stream" },
	[L1_STRIDE] = { "l1-stride", "stride" },
	[L1_REGION] = { "l1-region", "region" },
	[L1_ALL] = { "l1-all", "unknown" },
	[L2_STREAM] = { "l2-stream", "stream" },
	[L2_ADJACENT] = { "l2-adjacent", "adjacent-line" },
	[L2_AMP] = { "l2-amp", "multipath" },
	[L2_NEXT_LINE] = { "l2-next-line", "next-line" },
	[L2_UP_DOWN] = { "l2-up-down", "next-line" },
	[POINTER_ARRAY] = { "pointer-array", "array-of-pointers" },
	[LLC_PAGE] = { "llc-page", "page" },
	[LLC_STREAM] = { "llc-stream", "stream" },
	[CODE_STREAM] = { "code-stream", "code-stream" },
};

#define OFF(id, msr, bit, source)	{ id, msr, bit, false, false, source }
#define UNDOCUMENTED_OFF(id, msr, bit, source)	{ id, msr, bit, false, true, source }
#define UNDOCUMENTED_ON(id, msr, bit, source)	{ id, msr, bit, true, true, source }

#define DISCLOSURE	"Intel, Disclosure of Hardware Prefetcher Control, 2014"
#define SDM_CORE2	"Intel SDM vol. 4, MSRs of the Core 2 processors, 1A0H"
#define SDM_KNIGHTS	"Intel SDM vol. 4, MSRs of the Xeon Phi 3200, 5200, 7200, 1A4H"
#define SDM_SILVERMONT	"Intel SDM vol. 4, MSRs of Silvermont and Goldmont, 1A4H"
#define PERFSPECT	"Intel PerfSpect, internal/extract/prefetcher.go"
#define E_CORES		"Intel 357930, E-core prefetch white paper"
#define PPR		"AMD PPR 55898 and 56713, MSRC000_0108"
#define LIKWID		"likwid, src/sysFeatures_intel.c; no text of Intel"
#define PAPER		"likwid issue 456 and arXiv 2204.03290; no text of AMD"

static const struct calm_prefetcher core2[] = {
	OFF(L2_STREAM, MISC_ENABLE, 9, SDM_CORE2),
	OFF(L2_ADJACENT, MISC_ENABLE, 19, SDM_CORE2),
	OFF(L1_NEXT_LINE, MISC_ENABLE, 37, SDM_CORE2),
	OFF(L1_IP, MISC_ENABLE, 39, SDM_CORE2),
};

const struct calm_prefetch_set calm_prefetch_core2 = {
	.scope = CALM_SCOPE_CORE,
	.nr = ARRAY_SIZE(core2),
	.rows = core2,
};

static const struct calm_prefetcher intel[] = {
	OFF(L2_STREAM, MISC_FEATURE_CONTROL, 0, DISCLOSURE),
	OFF(L2_ADJACENT, MISC_FEATURE_CONTROL, 1, DISCLOSURE),
	OFF(L1_NEXT_LINE, MISC_FEATURE_CONTROL, 2, DISCLOSURE),
	OFF(L1_IP, MISC_FEATURE_CONTROL, 3, DISCLOSURE),
};

const struct calm_prefetch_set calm_prefetch_intel = {
	.scope = CALM_SCOPE_CORE,
	.nr = ARRAY_SIZE(intel),
	.rows = intel,
};

static const struct calm_prefetcher intel_amp[] = {
	OFF(L2_STREAM, MISC_FEATURE_CONTROL, 0, DISCLOSURE),
	OFF(L2_ADJACENT, MISC_FEATURE_CONTROL, 1, DISCLOSURE),
	OFF(L1_NEXT_LINE, MISC_FEATURE_CONTROL, 2, DISCLOSURE),
	OFF(L1_IP, MISC_FEATURE_CONTROL, 3, DISCLOSURE),
	OFF(L2_AMP, MISC_FEATURE_CONTROL, 5, PERFSPECT),
};

const struct calm_prefetch_set calm_prefetch_intel_amp = {
	.scope = CALM_SCOPE_CORE,
	.nr = ARRAY_SIZE(intel_amp),
	.rows = intel_amp,
};

static const struct calm_prefetcher granite_rapids[] = {
	OFF(L2_STREAM, MISC_FEATURE_CONTROL, 0, DISCLOSURE),
	OFF(L2_ADJACENT, MISC_FEATURE_CONTROL, 1, DISCLOSURE),
	OFF(L1_NEXT_LINE, MISC_FEATURE_CONTROL, 2, DISCLOSURE),
	OFF(L1_IP, MISC_FEATURE_CONTROL, 3, DISCLOSURE),
	OFF(L2_AMP, MISC_FEATURE_CONTROL, 5, PERFSPECT),
	OFF(LLC_PAGE, MISC_FEATURE_CONTROL, 6, PERFSPECT),
	OFF(POINTER_ARRAY, MISC_FEATURE_CONTROL, 7, PERFSPECT),
};

const struct calm_prefetch_set calm_prefetch_granite_rapids = {
	.scope = CALM_SCOPE_CORE,
	.nr = ARRAY_SIZE(granite_rapids),
	.rows = granite_rapids,
};

/* The two bits mean the opposite of everywhere else. */
static const struct calm_prefetcher knights[] = {
	OFF(L1_NEXT_LINE, MISC_FEATURE_CONTROL, 0, SDM_KNIGHTS),
	OFF(L2_STREAM, MISC_FEATURE_CONTROL, 1, SDM_KNIGHTS),
};

const struct calm_prefetch_set calm_prefetch_knights = {
	.scope = CALM_SCOPE_CORE,
	.nr = ARRAY_SIZE(knights),
	.rows = knights,
};

static const struct calm_prefetcher silvermont[] = {
	OFF(L2_STREAM, MISC_FEATURE_CONTROL, 0, SDM_SILVERMONT),
	OFF(L1_NEXT_LINE, MISC_FEATURE_CONTROL, 2, SDM_SILVERMONT),
};

const struct calm_prefetch_set calm_prefetch_silvermont = {
	.scope = CALM_SCOPE_CORE,
	.nr = ARRAY_SIZE(silvermont),
	.rows = silvermont,
};

static const struct calm_prefetcher tremont[] = {
	UNDOCUMENTED_OFF(L2_STREAM, MISC_FEATURE_CONTROL, 0, LIKWID),
	UNDOCUMENTED_OFF(L2_ADJACENT, MISC_FEATURE_CONTROL, 1, LIKWID),
	UNDOCUMENTED_OFF(L1_NEXT_LINE, MISC_FEATURE_CONTROL, 2, LIKWID),
	UNDOCUMENTED_OFF(L1_IP, MISC_FEATURE_CONTROL, 3, LIKWID),
};

const struct calm_prefetch_set calm_prefetch_tremont = {
	.scope = CALM_SCOPE_MODULE,
	.nr = ARRAY_SIZE(tremont),
	.rows = tremont,
};

/* Registers of E-cores are shared by the cores of a module (Intel 357930, section 1.2). */
static const struct calm_prefetcher gracemont[] = {
	OFF(L2_STREAM, MISC_FEATURE_CONTROL, 0, E_CORES),
	OFF(L1_NEXT_LINE, MISC_FEATURE_CONTROL, 2, E_CORES),
	OFF(L1_IP, MISC_FEATURE_CONTROL, 3, E_CORES),
	OFF(L2_AMP, MISC_FEATURE_CONTROL, 5, E_CORES),
	OFF(L2_NEXT_LINE, PREFETCH_TUNING2, 40, E_CORES),
};

const struct calm_prefetch_set calm_prefetch_gracemont = {
	.scope = CALM_SCOPE_MODULE,
	.nr = ARRAY_SIZE(gracemont),
	.rows = gracemont,
};

static const struct calm_prefetcher crestmont[] = {
	OFF(L2_STREAM, MISC_FEATURE_CONTROL, 0, E_CORES),
	OFF(L2_ADJACENT, MISC_FEATURE_CONTROL, 1, E_CORES),
	OFF(L1_NEXT_LINE, MISC_FEATURE_CONTROL, 2, E_CORES),
	OFF(L1_IP, MISC_FEATURE_CONTROL, 3, E_CORES),
	OFF(L1_NEXT_PAGE, MISC_FEATURE_CONTROL, 4, E_CORES),
	OFF(L2_AMP, MISC_FEATURE_CONTROL, 5, E_CORES),
	OFF(LLC_PAGE, MISC_FEATURE_CONTROL, 6, E_CORES),
	OFF(POINTER_ARRAY, MISC_FEATURE_CONTROL, 7, E_CORES),
	OFF(CODE_STREAM, MISC_FEATURE_CONTROL, 8, E_CORES),
	OFF(LLC_STREAM, PREFETCH_TUNING, 43, E_CORES),
	OFF(L2_NEXT_LINE, PREFETCH_TUNING2, 40, E_CORES),
};

const struct calm_prefetch_set calm_prefetch_crestmont = {
	.scope = CALM_SCOPE_MODULE,
	.nr = ARRAY_SIZE(crestmont),
	.rows = crestmont,
};

static const struct calm_prefetcher zen1[] = {
	UNDOCUMENTED_OFF(L1_ALL, DC_CFG, 16, PAPER),
	UNDOCUMENTED_ON(L2_STREAM, CU_CFG3, 0, PAPER),
};

const struct calm_prefetch_set calm_prefetch_zen1 = {
	.scope = CALM_SCOPE_CORE,
	.nr = ARRAY_SIZE(zen1),
	.rows = zen1,
};

static const struct calm_prefetcher zen3[] = {
	OFF(L1_STREAM, PREFETCH_CONTROL, 0, PPR),
	OFF(L1_STRIDE, PREFETCH_CONTROL, 1, PPR),
	OFF(L1_REGION, PREFETCH_CONTROL, 2, PPR),
	OFF(L2_STREAM, PREFETCH_CONTROL, 3, PPR),
	OFF(L2_UP_DOWN, PREFETCH_CONTROL, 5, PPR),
};

const struct calm_prefetch_set calm_prefetch_zen3 = {
	.scope = CALM_SCOPE_CORE,
	.cpuid_leaf = 0x80000021,
	.cpuid_bit = 13,
	.nr = ARRAY_SIZE(zen3),
	.rows = zen3,
};

const struct calm_prefetch_name *calm_prefetch_name(unsigned int id)
{
	return id < ARRAY_SIZE(names) ? &names[id] : NULL;
}
