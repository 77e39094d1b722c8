/* SPDX-License-Identifier: GPL-2.0-only */
/* The only place that knows how kernels differ, by version and by configuration. */
#ifndef CALM_COMPAT_H
#define CALM_COMPAT_H

#include <linux/cpumask.h>
#include <linux/gfp.h>
#include <linux/hardirq.h>
#include <linux/kernel_stat.h>
#include <linux/mm.h>
#include <linux/topology.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <net/genetlink.h>

/* struct nla_policy points to a constant range from 6.7 on. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define CALM_RANGE_CONST
#else
#define CALM_RANGE_CONST const
#endif

/*
 * CPUs that isolcpus= left to the scheduler. From 7.x on HK_TYPE_DOMAIN also
 * follows cpusets, and may only be looked at under RCU.
 */
#ifdef CALM_HAVE_HK_TYPE_DOMAIN_BOOT
#define CALM_HK_ISOLCPUS HK_TYPE_DOMAIN_BOOT
#else
#define CALM_HK_ISOLCPUS HK_TYPE_DOMAIN
#endif

/* Takes free frames, and moves what is in the others. Neither is a range of CMA. */
static inline int calm_alloc_contig_range(unsigned long first, unsigned long end)
{
#ifdef CALM_HAVE_ACR_FLAGS
	return alloc_contig_range(first, end, ACR_FLAGS_NONE, GFP_KERNEL | __GFP_NOWARN);
#else
	return alloc_contig_range(first, end, MIGRATE_MOVABLE, GFP_KERNEL | __GFP_NOWARN);
#endif
}

/* A kernel may be built without that zone. */
static inline bool calm_in_zone_dma(const struct page *page)
{
#ifdef CONFIG_ZONE_DMA
	return page_zonenum(page) == ZONE_DMA;
#else
	return false;
#endif
}

/*
 * Interrupts that a CPU has taken: those of devices, and those of the local
 * APIC, which Linux counts apart. Not the ones that cannot be masked.
 */
static inline u64 calm_interrupts(unsigned int cpu)
{
	const irq_cpustat_t *stat = &per_cpu(irq_stat, cpu);
	u64 sum = kstat_cpu_irqs_sum(cpu);

#ifdef CALM_HAVE_IRQ_COUNTS
	int i;

	for (i = 0; i < IRQ_COUNT_MAX; i++)
		if (i != IRQ_COUNT_NMI && i != IRQ_COUNT_ICR_READ_RETRY)
			sum += stat->counts[i];
#else
	sum += stat->apic_timer_irqs + stat->irq_spurious_count + stat->apic_perf_irqs +
	       stat->apic_irq_work_irqs + stat->x86_platform_ipis;
#ifdef CONFIG_SMP
	sum += stat->irq_resched_count + stat->irq_call_count;
#endif
#ifdef CONFIG_X86_THERMAL_VECTOR
	sum += stat->irq_thermal_count;
#endif
#ifdef CONFIG_X86_MCE_THRESHOLD
	sum += stat->irq_threshold_count;
#endif
#ifdef CONFIG_X86_HV_CALLBACK_VECTOR
	sum += stat->irq_hv_callback_count;
#endif
#endif
	return sum;
}

#ifndef CALM_HAVE_VMALLOC_HUGE_NODE
static inline long calm_vmalloc_huge_here(void *bytes)
{
	/* the node of the CPU that this runs on, and no other */
	return (long)vmalloc_huge(*(unsigned long *)bytes,
				  GFP_KERNEL | __GFP_THISNODE | __GFP_NORETRY | __GFP_NOWARN);
}
#endif

/* Large leaves with frames of @node. Where no node can be asked for, a CPU of it is. */
static inline void *calm_vmalloc_huge(unsigned long bytes, int node)
{
#ifdef CALM_HAVE_VMALLOC_HUGE_NODE
	return vmalloc_huge_node(bytes, GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN, node);
#else
	unsigned int cpu = cpumask_any_and(cpumask_of_node(node), cpu_online_mask);
	long base;

	if (numa_node_id() == node)
		return (void *)calm_vmalloc_huge_here(&bytes);
	if (cpu >= nr_cpu_ids)
		return NULL;
	base = work_on_cpu_safe(cpu, calm_vmalloc_huge_here, &bytes);
	return base == -ENODEV ? NULL : (void *)base;
#endif
}

/* That a workqueue has workers of its CPUs' own was what one got, and is asked for by now. */
#ifdef CALM_HAVE_WQ_PERCPU
#define CALM_WQ_PERCPU WQ_PERCPU
#else
#define CALM_WQ_PERCPU 0
#endif

/* The parsed attributes of a dump request moved in 6.6. */
static inline struct nlattr **calm_dump_attrs(struct netlink_callback *cb)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	return genl_dumpit_info(cb)->attrs;
#else
	return genl_info_dump(cb)->attrs;
#endif
}

#endif
