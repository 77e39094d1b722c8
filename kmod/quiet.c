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
#include <asm/processor.h>
#include <asm/tsc.h>
#include <uapi/linux/calm.h>

#include "compat.h"
#include "msr.h"
#include "quiet.h"

#define SLICE_MIN_US	    100
#define SLICE_MAX_US	    50000
#define SLICE_ALL_CPUS_US   2000U
#define BUSY_MAX_MS	    100
#define BORROW_TRIES	    100	/* openings for an overflow's interrupt to come */
#define REST_SHARE	    9	/* a rest is at least this part of the busy time */

static int set_slice_us(const char *text, const struct kernel_param *param)
{
	return param_set_uint_minmax(text, param, SLICE_MIN_US, SLICE_MAX_US);
}

static const struct kernel_param_ops slice_us_ops = {
	.set = set_slice_us,
	.get = param_get_uint,
};

static unsigned int slice_us = 10000;
module_param_cb(slice_us, &slice_us_ops, &slice_us, 0444);
MODULE_PARM_DESC(slice_us, "longest stretch with interrupts off, microseconds, 100..50000");

u32 calm_quiet_slice_us(u32 nr_cpus)
{
	return nr_cpus < num_online_cpus() ? slice_us : min(slice_us, SLICE_ALL_CPUS_US);
}

/* Intel processors count SMIs; whether this one does, the register itself tells. */
static u32 read_smi_count(const struct calm_quiet *quiet)
{
	u64 count;

	if (quiet->counts_smis)
		calm_msr_read(CALM_MSR_SMI_COUNT, &count);
	return quiet->counts_smis ? count : 0;
}

static void set_limit(struct calm_quiet *quiet)
{
	quiet->limit_tsc = div_u64((u64)tsc_khz * calm_quiet_slice_us(quiet->nr_cpus), 1000);
}

int calm_quiet_init(struct calm_quiet *quiet, unsigned int cpu, const struct calm_stop *stop,
		    const struct calm_job_spec *spec)
{
	u64 count;
	int err;

	*quiet = (struct calm_quiet){
		.cpu = cpu,
		.nr_cpus = spec->nr_cpus,
		.stop = stop,
		.counts_smis = boot_cpu_data.x86_vendor == X86_VENDOR_INTEL &&
			       !calm_msr_read(CALM_MSR_SMI_COUNT, &count),
	};
	set_limit(quiet);
	err = calm_pmu_assign(&quiet->plan, cpu, spec->events, spec->nr_events, &quiet->why);
	return err ?: calm_pmu_prepare(&quiet->plan, &quiet->why);
}

static void interrupts_off(struct calm_quiet *quiet)
{
	preempt_disable();
	local_irq_save(quiet->irq_flags);
}

static void interrupts_on(struct calm_quiet *quiet)
{
	local_irq_restore(quiet->irq_flags);
	preempt_enable();
}

static int check(struct calm_quiet *quiet)
{
	if (calm_is_stopped(quiet->stop))
		return -ECANCELED;
	if (raw_smp_processor_id() == quiet->cpu)
		return 0;
	quiet->why = "the thread was moved off its CPU";
	return -EXDEV;
}

int calm_quiet_begin(struct calm_quiet *quiet, bool count)
{
	int err, tries = BORROW_TRIES;

	do {
		interrupts_off(quiet);
		quiet->begin_tsc = rdtsc_ordered();
		quiet->nmis = calm_pmu_nmis();	/* one in the middle of borrowing counts */
		err = check(quiet);
		if (!err && count)
			err = calm_pmu_borrow(&quiet->plan, &quiet->why);
		if (err)
			interrupts_on(quiet);
	} while (err == -EAGAIN && --tries);
	if (err)
		return err == -EAGAIN ? -EBUSY : err;

	quiet->counting = count;
	quiet->gap_interrupts = calm_interrupts(quiet->cpu) - quiet->end_interrupts;
	quiet->smi_count = read_smi_count(quiet);
	return 0;
}

u64 calm_quiet_left(const struct calm_quiet *quiet)
{
	u64 gone = rdtsc_ordered() - quiet->begin_tsc;

	return gone < quiet->limit_tsc ? quiet->limit_tsc - gone : 0;
}

void calm_quiet_perf_clocks(u64 *aperf, u64 *mperf, u64 *tsc)
{
	calm_msr_read(CALM_MSR_APERF, aperf);
	*tsc = rdtsc_ordered();
	calm_msr_read(CALM_MSR_MPERF, mperf);
}

static u32 disturbances(const struct calm_quiet *quiet)
{
	return (quiet->span_tsc > 2 * quiet->limit_tsc ? CALM_DISTURB_SLICE : 0) |
	       (quiet->smis ? CALM_DISTURB_SMI : 0) |
	       (calm_pmu_nmis() != quiet->nmis ? CALM_DISTURB_NMI : 0);
}

static int check_prefetchers(struct calm_quiet *quiet, u32 *disturb)
{
	if (!quiet->prefetch || !calm_prefetch_changed(quiet->prefetch))
		return 0;
	*disturb |= CALM_DISTURB_PREFETCHER;
	quiet->why = "a prefetcher's switch was changed by somebody else during the run";
	return -EIO;
}

static int end(struct calm_quiet *quiet, u32 *disturb, bool verify)
{
	int err = 0;

	quiet->smis = read_smi_count(quiet) - quiet->smi_count;
	if (quiet->counting)
		err = calm_pmu_give_back(&quiet->plan, verify, &quiet->why);
	err = err ?: check_prefetchers(quiet, disturb);
	quiet->span_tsc = rdtsc_ordered() - quiet->begin_tsc;
	*disturb |= disturbances(quiet);
	quiet->end_interrupts = calm_interrupts(quiet->cpu);
	interrupts_on(quiet);
	quiet->busy_tsc += quiet->span_tsc;
	return err;
}

int calm_quiet_end(struct calm_quiet *quiet, u32 *disturb)
{
	return end(quiet, disturb, false);
}

int calm_quiet_verify(struct calm_quiet *quiet)
{
	u32 disturb = 0;
	int err = calm_quiet_begin(quiet, true);

	return err ?: end(quiet, &disturb, true);
}

void calm_quiet_rest(struct calm_quiet *quiet)
{
	u64 busy_us = div_u64(quiet->busy_tsc * 1000, tsc_khz);

	if (busy_us < BUSY_MAX_MS * USEC_PER_MSEC) {
		cond_resched();
		return;
	}
	quiet->busy_tsc = 0;
	schedule_timeout_idle(usecs_to_jiffies(busy_us / REST_SHARE) + 1);
	set_limit(quiet);	/* CPUs may have gone */
}
