// SPDX-License-Identifier: GPL-2.0-only
/* calm: measures caches and latencies with interrupts off. Load and unload. */
#include <linux/module.h>

#include "job.h"
#include "netlink.h"
#include "pmu.h"
#include "prefetch.h"

static int __init calm_init(void)
{
	int err;

	err = calm_pmu_init();
	if (err)
		return err;
	err = calm_prefetch_init();
	if (err)
		goto err_pmu;
	err = calm_job_init();
	if (err)
		goto err_prefetch;
	err = calm_netlink_init();
	if (err)
		goto err_job;
	return 0;

err_job:
	calm_job_exit();
err_prefetch:
	calm_prefetch_exit();
err_pmu:
	calm_pmu_exit();
	return err;
}

/*
 * A running job and its readers hold the module, so that this finds them gone. A
 * CPU that goes offline meanwhile restores itself, until there is nothing to restore.
 */
static void __exit calm_exit(void)
{
	calm_job_stop_all();
	calm_netlink_exit();
	calm_prefetch_restore_all();
	calm_job_exit();
	calm_prefetch_exit();
	calm_pmu_exit();
}

module_init(calm_init);
module_exit(calm_exit);

MODULE_DESCRIPTION("Cache And Latency Meter");
MODULE_AUTHOR("The calm developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
