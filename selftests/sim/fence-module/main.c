// SPDX-License-Identifier: GPL-2.0-only
/* Time the chase and its variants without a fence, alone and while earlier loads are in flight. */
#include <linux/gfp.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/module.h>

#include "chases.h"

#define BUFFER_ORDER 8
#define STEP 4096
#define LINKS 128
/* behind the chain; so many loads in front of a window */
#define EARLIER_AT (LINKS * STEP)
#define EARLIER 8
/* the first counter, and no more: see calm_pass.counters */
#define ONE_COUNTER 0x80

/* AMD's first event select and PerfMonV2's enable bits */
#define SELECT 0xc0010200
#define GLOBAL_CTRL 0xc0000301
#define CYCLES 0x430076

static void (*const chases[])(struct calm_pass *pass) = { chase0, chase1, chase2, chase3, chase4 };

static void write_msr(u32 msr, u64 value)
{
	asm volatile("wrmsr" : : "c"(msr), "a"((u32)value), "d"((u32)(value >> 32)) : "memory");
}

static void make_chain(void *buffer)
{
	for (int i = 0; i < LINKS; i++)
		*(void **)(buffer + i * STEP) = buffer + (i + 1) % LINKS * STEP;
}

/* All that is to be loaded comes from memory, and nothing is in flight. */
static void flush(void *buffer)
{
	for (int i = 0; i < LINKS + EARLIER; i++)
		asm volatile("clflush (%0)" : : "r"(buffer + i * STEP) : "memory");
	asm volatile("mfence\n\tlfence" : : : "memory");
}

static void load_earlier(void *buffer)
{
	unsigned long value;

	for (int i = 0; i < EARLIER; i++)
		asm volatile("mov (%1), %0"
			     : "=r"(value) : "r"(buffer + EARLIER_AT + i * STEP) : "memory");
}

static void measure(int variant, void *buffer, unsigned int loads, bool earlier, bool counter)
{
	struct calm_pass pass;

	/* the first time brings what the function itself needs into the caches */
	for (int i = 0; i < 2; i++) {
		pass = (struct calm_pass){
			.at = buffer, .accesses = loads,
			.counters = counter ? ONE_COUNTER : CALM_PASS_NO_COUNTERS,
		};
		flush(buffer);
		if (earlier)
			load_earlier(buffer);
		chases[variant](&pass);
	}
	pr_info("fence: variant %d loads %u earlier %d counter %d tsc %llu count %llu\n", variant,
		loads, earlier, counter, pass.tsc_ticks, pass.count[0]);
}

static int __init fence_init(void)
{
	struct page *pages = alloc_pages(GFP_KERNEL, BUFFER_ORDER);
	unsigned long flags;
	void *buffer;

	if (!pages)
		return -ENOMEM;
	buffer = page_address(pages);
	make_chain(buffer);
	local_irq_save(flags);
	write_msr(SELECT, CYCLES);
	write_msr(GLOBAL_CTRL, 1);
	for (int variant = 0; variant < ARRAY_SIZE(chases); variant++)
		for (int i = 0; i < 8; i++)
			measure(variant, buffer, i & 1 ? 64 : 0, i & 2, i & 4);
	write_msr(GLOBAL_CTRL, 0);
	write_msr(SELECT, 0);
	local_irq_restore(flags);
	__free_pages(pages, BUFFER_ORDER);
	return 0;
}

static void __exit fence_exit(void)
{
}

module_init(fence_init);
module_exit(fence_exit);
MODULE_DESCRIPTION("what each fence of a window is for");
MODULE_LICENSE("GPL");
