// SPDX-License-Identifier: GPL-2.0-only
/* Makes the kernel complain in the way that its parameter names; only for guests. */
#include <linux/bug.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

/* longer than RCU waits for a CPU when its time-out is set to the shortest, 3 s */
#define STALL_NS (12 * NSEC_PER_SEC)

static char *how = "";
module_param(how, charp, 0444);
MODULE_PARM_DESC(how, "warn, oops or stall");

static void complain_warn(void)
{
	WARN(1, "as asked\n");
}

static void complain_oops(void)
{
	*(volatile int *)NULL = 0;
}

static struct rcu_head head;

static void grace_period_over(struct rcu_head *unused)
{
}

/*
 * Somebody must wait for RCU, or a CPU that holds it up does not matter. Interrupts stay on: RCU
 * looks for stalls in the tick, and its thread, if it waits for this CPU, must be taken to another
 * one, or no grace period begins that could be held up. By the clock, as a delay's loops take
 * whatever time they take under emulation.
 */
static void complain_stall(void)
{
	u64 end;

	call_rcu(&head, grace_period_over);
	preempt_disable();
	end = ktime_get_mono_fast_ns() + STALL_NS;
	while (ktime_get_mono_fast_ns() < end)
		cpu_relax();
	preempt_enable();
}

static const struct complaint {
	const char *how;
	void (*run)(void);
} complaints[] = {
	{ "warn", complain_warn },
	{ "oops", complain_oops },
	{ "stall", complain_stall },
};

static int __init complain_init(void)
{
	const struct complaint *c;

	for (c = complaints; c < complaints + ARRAY_SIZE(complaints); c++) {
		if (!strcmp(c->how, how)) {
			c->run();
			return 0;
		}
	}
	return -EINVAL;
}

static void __exit complain_exit(void)
{
	rcu_barrier();
}

module_init(complain_init);
module_exit(complain_exit);
MODULE_DESCRIPTION("Complaints of the kernel, for the tests of tools/vm/run");
MODULE_LICENSE("GPL");
