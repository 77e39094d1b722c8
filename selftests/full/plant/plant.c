// SPDX-License-Identifier: GPL-2.0-only
/* Has a fault of the kind that its parameter names, for the debug kernel; only for guests. */
#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#define BYTES 777

/* lost objects; a stale pointer somewhere may keep one or two from being noticed */
#define LOST 8

static char *how = "";
module_param(how, charp, 0444);
MODULE_PARM_DESC(how, "bounds, freed, shift, sleep, order or leak");

/* for KASAN */
static void plant_bounds(void)
{
	volatile char *p = kmalloc(BYTES, GFP_KERNEL);
	int beyond = BYTES;

	OPTIMIZER_HIDE_VAR(beyond);
	if (p)
		p[beyond] = 1;
	kfree((void *)p);
}

static void plant_freed(void)
{
	volatile char *p = kmalloc(BYTES, GFP_KERNEL);
	volatile char *again = p;

	OPTIMIZER_HIDE_VAR(again);
	kfree((void *)p);
	if (again)
		*again = 1;
}

/* for UBSAN */
static void plant_shift(void)
{
	int width = 32, value = 1;

	OPTIMIZER_HIDE_VAR(width);
	value <<= width;
	OPTIMIZER_HIDE_VAR(value);
}

/* for DEBUG_ATOMIC_SLEEP */
static void plant_sleep(void)
{
	local_irq_disable();
	kfree(kmalloc(BYTES, GFP_KERNEL));
	local_irq_enable();
}

static DEFINE_MUTEX(one);
static DEFINE_MUTEX(two);

/* for lockdep: nothing ever waits here */
static void plant_order(void)
{
	mutex_lock(&one);
	mutex_lock(&two);
	mutex_unlock(&two);
	mutex_unlock(&one);
	mutex_lock(&two);
	mutex_lock(&one);
	mutex_unlock(&one);
	mutex_unlock(&two);
}

/* for kmemleak */
static void plant_leak(void)
{
	int i;

	for (i = 0; i < LOST; i++) {
		char *lost = kmalloc(BYTES, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(lost);
	}
}

static const struct fault {
	const char *how;
	void (*run)(void);
} faults[] = {
	{ "bounds", plant_bounds },
	{ "freed", plant_freed },
	{ "shift", plant_shift },
	{ "sleep", plant_sleep },
	{ "order", plant_order },
	{ "leak", plant_leak },
};

static int __init plant_init(void)
{
	const struct fault *f;

	for (f = faults; f < faults + ARRAY_SIZE(faults); f++) {
		if (!strcmp(f->how, how)) {
			f->run();
			return 0;
		}
	}
	return -EINVAL;
}

static void __exit plant_exit(void)
{
}

module_init(plant_init);
module_exit(plant_exit);
MODULE_DESCRIPTION("Faults for the debug kernel to notice");
MODULE_LICENSE("GPL");
