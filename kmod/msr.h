/* SPDX-License-Identifier: GPL-2.0-only */
/* Model-specific registers: their numbers, and accesses that survive a fault. */
#ifndef CALM_MSR_H
#define CALM_MSR_H

#include <linux/types.h>
#include <linux/version.h>
#include <asm/msr.h>

/* Intel SDM volume 4, "Model-Specific Registers" */
#define CALM_MSR_SMI_COUNT		0x34
#define CALM_MSR_MPERF			0xe7
#define CALM_MSR_APERF			0xe8
#define CALM_MSR_PMC0			0xc1	/* writes take 32 bits, sign-extended */
#define CALM_MSR_PERFEVTSEL0		0x186
#define CALM_MSR_DEBUGCTL		0x1d9
#define CALM_MSR_FIXED_CTR0		0x309
#define CALM_MSR_PERF_CAPABILITIES	0x345
#define CALM_MSR_FIXED_CTR_CTRL		0x38d
#define CALM_MSR_GLOBAL_STATUS		0x38e
#define CALM_MSR_GLOBAL_CTRL		0x38f
#define CALM_MSR_GLOBAL_OVF_CTRL	0x390
#define CALM_MSR_PEBS_ENABLE		0x3f1
#define CALM_MSR_A_PMC0			0x4c1	/* the counters again, written in full */
#define CALM_MSR_RTIT_CTL		0x570

/* AMD APM volume 2, "Performance Monitoring Counters"; PPR of family 19h model 11h */
#define CALM_MSR_K7_EVNTSEL0		0xc0010000
#define CALM_MSR_K7_PERFCTR0		0xc0010004
#define CALM_MSR_F15H_PERF_CTL		0xc0010200
#define CALM_MSR_F15H_PERF_CTR		0xc0010201
#define CALM_MSR_AMD_GLOBAL_STATUS	0xc0000300
#define CALM_MSR_AMD_GLOBAL_CTL		0xc0000301
#define CALM_MSR_AMD_GLOBAL_CLEAR	0xc0000302

/**
 * calm_msr_read() - read a register that may not exist
 * @msr: its number
 * @value: out: 0 if it faulted
 *
 * Return: 0, or -EIO.
 */
static inline int calm_msr_read(u32 msr, u64 *value)
{
	*value = 0;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
	return rdmsrl_safe(msr, value);
#else
	return rdmsrq_safe(msr, value);
#endif
}

/**
 * calm_msr_write() - write a register that may not exist, or not take the value
 * @msr: its number
 * @value: the value
 *
 * Return: 0, or -EIO.
 */
static inline int calm_msr_write(u32 msr, u64 value)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
	return wrmsrl_safe(msr, value);
#else
	return wrmsrq_safe(msr, value);
#endif
}

#endif
