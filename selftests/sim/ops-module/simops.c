// SPDX-License-Identifier: GPL-2.0-only
/*
 * One window for each kind of access to memory: prefetches, flushes, non-temporal, locked and
 * string instructions, loads over two lines or pages. What they did is in the truth log.
 */
#include <linux/gfp.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <asm/special_insns.h>

/* PerfMonV2: one counter on cycles in ring 0, gated by the global control */
#define SELECT_MSR 0xc0010200
#define SELECT_CYCLES 0x420076
#define GLOBAL_CTRL_MSR 0xc0000301

#define BUFFER_ORDER 4
#define BUFFER_BYTES (PAGE_SIZE << BUFFER_ORDER)

/* 16 lines, one in each half page, so that neither a neighbour nor a fixed offset hits by chance */
#define LINES "16"
#define STEP "2112"

/* Do something 16 times, rdi at the line; rsi stays the buffer, rcx counts. */
#define EACH(what)				\
	"mov %%rsi, %%rdi\n\t"			\
	"mov $" LINES ", %%ecx\n"		\
	"1:\n\t"				\
	what "\n\t"				\
	"add $" STEP ", %%rdi\n\t"		\
	"dec %%ecx\n\t"				\
	"jnz 1b\n\t"

#define LOADS EACH("mov 8(%%rdi), %%rax")
#define STORES EACH("mov %%rcx, (%%rdi)")

/* From one write of the global control to the other, @what is all that touches memory. */
#define WINDOW(name, what)							\
	static noinline void window_##name(void *buffer)			\
	{									\
		asm volatile("mov %[msr], %%ecx\n\t"				\
			     "mov $1, %%eax\n\t"				\
			     "xor %%edx, %%edx\n\t"				\
			     "wrmsr\n\t"					\
			     what						\
			     "mov %[msr], %%ecx\n\t"				\
			     "xor %%eax, %%eax\n\t"				\
			     "xor %%edx, %%edx\n\t"				\
			     "wrmsr\n\t"					\
			     :							\
			     : [msr] "i"(GLOBAL_CTRL_MSR), "S"(buffer)		\
			     : "rax", "rcx", "rdx", "rdi", "r8", "cc", "memory");	\
	}

WINDOW(loads, LOADS)
/* the same lines by base, index and scale */
WINDOW(loads_indexed, EACH("mov %%rdi, %%r8\n\tsub %%rsi, %%r8\n\tshr $3, %%r8\n\t"
			   "mov (%%rsi,%%r8,8), %%rax"))
WINDOW(prefetch_t0, EACH("prefetcht0 (%%rdi)") LOADS)
WINDOW(prefetch_t1, EACH("prefetcht1 32(%%rdi)") LOADS)
WINDOW(prefetch_t2, EACH("mov %%rdi, %%r8\n\tsub %%rsi, %%r8\n\t"
			 "prefetcht2 16(%%rsi,%%r8)") LOADS)
WINDOW(prefetch_nta, EACH("prefetchnta (%%rdi)") LOADS)
WINDOW(prefetch_w, EACH("prefetchw (%%rdi)") LOADS)
WINDOW(clflush, STORES EACH("clflush 63(%%rdi)") LOADS)
WINDOW(clflushopt, STORES EACH("clflushopt (%%rdi)") LOADS)
WINDOW(clwb, STORES EACH("clwb (%%rdi)") LOADS)
WINDOW(store_nt, STORES EACH("movnti %%rcx, (%%rdi)\n\tmovnti %%rcx, 8(%%rdi)") LOADS)
WINDOW(write_back_all, STORES "wbinvd\n\t" LOADS)
WINDOW(two_lines, EACH("mov 60(%%rdi), %%rax"))
WINDOW(two_pages, "mov 4092(%%rsi), %%rax\n\tmov 4092(%%rsi), %%rax\n\t")
WINDOW(locked, EACH("lock xadd %%rax, (%%rdi)\n\tlock cmpxchg %%rdx, (%%rdi)"))
WINDOW(string_move, "lea 1024(%%rsi), %%rdi\n\tmov %%rsi, %%r8\n\tmov $256, %%ecx\n\t"
		    "rep movsb\n\tmov %%r8, %%rsi\n\t")
WINDOW(string_store, "mov %%rsi, %%rdi\n\tmov $32, %%ecx\n\trep stosq\n\t")

#define ROW(name) { #name, window_##name }

static const struct {
	const char *name;
	void (*run)(void *buffer);
} windows[] = {
	ROW(loads),
	ROW(loads_indexed),
	ROW(prefetch_t0),
	ROW(prefetch_t1),
	ROW(prefetch_t2),
	ROW(prefetch_nta),
	ROW(prefetch_w),
	ROW(clflush),
	ROW(clflushopt),
	ROW(clwb),
	ROW(store_nt),
	ROW(write_back_all),
	ROW(two_lines),
	ROW(two_pages),
	ROW(locked),
	ROW(string_move),
	ROW(string_store),
};

static void write_msr(u32 msr, u64 value)
{
	asm volatile("wrmsr" : : "c"(msr), "a"((u32)value), "d"((u32)(value >> 32)) : "memory");
}

/* in each case the buffer is in no cache, and no line of it dirty */
static void run(void *buffer, int i)
{
	unsigned long flags;

	local_irq_save(flags);
	wbinvd();
	windows[i].run(buffer);
	local_irq_restore(flags);
	pr_info("simops: window %s\n", windows[i].name);
}

static int __init simops_init(void)
{
	struct page *pages = alloc_pages(GFP_KERNEL, BUFFER_ORDER);
	int i;

	if (!pages)
		return -ENOMEM;
	BUILD_BUG_ON(BUFFER_BYTES < 16 * 2112);
	/* perf of this kernel leaves the global control set */
	write_msr(GLOBAL_CTRL_MSR, 0);
	write_msr(SELECT_MSR, SELECT_CYCLES);
	for (i = 0; i < ARRAY_SIZE(windows); i++)
		run(page_address(pages), i);
	write_msr(SELECT_MSR, 0);
	__free_pages(pages, BUFFER_ORDER);
	return 0;
}

static void __exit simops_exit(void)
{
}

module_init(simops_init);
module_exit(simops_exit);
MODULE_DESCRIPTION("every kind of access for simcpu");
MODULE_LICENSE("GPL");
