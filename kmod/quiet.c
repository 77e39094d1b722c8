// SPDX-License-Identifier: GPL-2.0-only
/* Begin and end of a slice, its length, and the rest between slices. */
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/moduleparam.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <asm/msr.h>
#include <asm/tsc.h>
#include <uapi/linux/calm.h>

#include "quiet.h"

#define SLICE_MAX_US	    50000
#define SLICE_ONLY_CPU_US   2000
#define BUSY_MAX_MS	    100
#define REST_SHARE	    9	/* a rest is at least this part of the busy time */

static unsigned int slice_us = 10000;
module_param(slice_us, uint, 0444);
MODULE_PARM_DESC(slice_us, "longest stretch with interrupts off, microseconds, 100..50000");

u32 calm_quiet_slice_us(void)
{
	u32 limit = num_online_cpus() > 1 ? SLICE_MAX_US : SLICE_ONLY_CPU_US;

	return clamp(slice_us, 100U, limit);
}

void calm_quiet_init(struct calm_quiet *quiet, unsigned int cpu, const int *stop)
{
	*quiet = (struct calm_quiet){
		.cpu = cpu,
		.stop = stop,
		.limit_tsc = div_u64((u64)tsc_khz * calm_quiet_slice_us(), 1000),
	};
}

int calm_quiet_begin(struct calm_quiet *quiet)
{
	int err = 0;

	preempt_disable();
	local_irq_save(quiet->irq_flags);
	if (READ_ONCE(*quiet->stop))
		err = -ECANCELED;
	else if (raw_smp_processor_id() != quiet->cpu)
		err = -EXDEV;
	if (err) {
		local_irq_restore(quiet->irq_flags);
		preempt_enable();
		return err;
	}
	quiet->begin_tsc = rdtsc_ordered();
	return 0;
}

u64 calm_quiet_left(const struct calm_quiet *quiet)
{
	u64 gone = rdtsc_ordered() - quiet->begin_tsc;

	return gone < quiet->limit_tsc ? quiet->limit_tsc - gone : 0;
}

u32 calm_quiet_end(struct calm_quiet *quiet)
{
	quiet->span_tsc = rdtsc_ordered() - quiet->begin_tsc;
	local_irq_restore(quiet->irq_flags);
	preempt_enable();

	quiet->busy_tsc += quiet->span_tsc;
	return quiet->span_tsc > 2 * quiet->limit_tsc ? CALM_DISTURB_SLICE : 0;
}

void calm_quiet_rest(struct calm_quiet *quiet)
{
	u64 busy_us = div_u64(quiet->busy_tsc * 1000, tsc_khz);

	if (busy_us < BUSY_MAX_MS * USEC_PER_MSEC) {
		cond_resched();
		return;
	}
	quiet->busy_tsc = 0;
	schedule_timeout_idle(max(1UL, usecs_to_jiffies(busy_us / REST_SHARE) + 1));
}
