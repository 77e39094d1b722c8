// SPDX-License-Identifier: GPL-2.0-only
/*
 * Program the counters by raw MSR accesses, chase pointers through a physically contiguous buffer
 * with interrupts off, and print what the counters and the time stamp counter say.
 */
#include <linux/gfp.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <asm/processor.h>

#define COUNTERS_MAX 8
#define BUFFER_ORDER 10
#define BUFFER_BYTES (PAGE_SIZE << BUFFER_ORDER)

#define INTEL_SELECT 0x186
#define INTEL_COUNTER 0xc1
#define INTEL_FIXED_CTRL 0x38d
#define INTEL_GLOBAL_CTRL 0x38f
#define AMD_SELECT 0xc0010200
#define AMD_COUNTER 0xc0010201
#define AMD_GLOBAL_CTRL 0xc0000301

#define SELECT_USR_OS (3ULL << 16)
#define SELECT_EN (1ULL << 22)
#define FIXED_OS_ALL 0x111

static unsigned long sizes[16];
static int sizes_count;
module_param_array(sizes, ulong, &sizes_count, 0444);
MODULE_PARM_DESC(sizes, "bytes to chase through, in this order");

static unsigned long events[COUNTERS_MAX];
static int events_count;
module_param_array(events, ulong, &events_count, 0444);
MODULE_PARM_DESC(events, "event selects without their enable bits; none: touch no counter");

static unsigned int stride = 64;
module_param(stride, uint, 0444);
MODULE_PARM_DESC(stride, "bytes from one link to the next");

static unsigned long loads = 4096;
module_param(loads, ulong, 0444);
MODULE_PARM_DESC(loads, "at least this many in a window, and twice as many in a second one");

static bool amd, global, fixed;

struct counters {
	u64 general[COUNTERS_MAX], fixed[3], tsc, ns;
};

static void write_msr(u32 msr, u64 value)
{
	asm volatile("wrmsr" : : "c"(msr), "a"((u32)value), "d"((u32)(value >> 32)) : "memory");
}

static u64 read_counter(u32 index)
{
	u32 low, high;

	asm volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
	return low | (u64)high << 32;
}

static u32 select_msr(int i)
{
	return amd ? AMD_SELECT + 2 * i : INTEL_SELECT + i;
}

static u32 counter_msr(int i)
{
	return amd ? AMD_COUNTER + 2 * i : INTEL_COUNTER + i;
}

static u64 select_value(int i)
{
	return events[i] | SELECT_USR_OS | SELECT_EN;
}

/* a random cycle through all of the buffer (Sattolo), the same at each run */
static void make_chain(void **buffer, unsigned long n)
{
	unsigned long step = stride / sizeof(void *);
	u64 seed = 1;

	for (unsigned long i = 0; i < n; i++)
		buffer[i * step] = buffer + i * step;
	for (unsigned long i = n - 1; i > 0; i--) {
		unsigned long j;

		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		j = (seed >> 33) % i;
		swap(buffer[i * step], buffer[j * step]);
	}
}

/*
 * The window: from one wrmsr to the other the loop's loads are the only accesses to memory. Where
 * there is no register that enables all counters at once it enables counter 0, and the others
 * count on its outside too, by the same amount each time.
 */
static noinline void *chase(void *at, u64 blocks, u32 msr, u64 on, u64 *tsc)
{
	u32 low = on, high = on >> 32;
	u64 begin, end;

	asm volatile("wrmsr\n\t"
		     "mov %%ecx, %%r11d\n\t"
		     "rdtsc\n\t"
		     "shl $32, %%rdx\n\t"
		     "lea (%%rdx,%%rax), %[begin]\n\t"
		     "lfence\n\t"
		     "1:\n\t"
		     ".rept 64\n\t"
		     "mov (%[at]), %[at]\n\t"
		     ".endr\n\t"
		     "dec %[blocks]\n\t"
		     "jnz 1b\n\t"
		     "lfence\n\t"
		     "rdtsc\n\t"
		     "shl $32, %%rdx\n\t"
		     "lea (%%rdx,%%rax), %[end]\n\t"
		     "mov %%r11d, %%ecx\n\t"
		     "xor %%eax, %%eax\n\t"
		     "xor %%edx, %%edx\n\t"
		     "wrmsr\n\t"
		     : [at] "+r"(at), [blocks] "+r"(blocks), [begin] "=&r"(begin), [end] "=&r"(end),
		       "+a"(low), "+c"(msr), "+d"(high)
		     :
		     : "r11", "cc", "memory");
	*tsc = end - begin;
	return at;
}

static void program(void)
{
	for (int i = 0; i < events_count; i++) {
		write_msr(counter_msr(i), 0);
		if (global || i)
			write_msr(select_msr(i), select_value(i));
	}
	if (fixed) {
		for (int i = 0; i < 3; i++)
			write_msr(0x309 + i, 0);
		write_msr(INTEL_FIXED_CTRL, FIXED_OS_ALL);
	}
}

static void clear(void)
{
	for (int i = 0; i < events_count; i++)
		write_msr(select_msr(i), 0);
	if (fixed)
		write_msr(INTEL_FIXED_CTRL, 0);
}

static void window(void *at, u64 n, struct counters *c)
{
	u64 general = (1ULL << events_count) - 1, start;
	unsigned long flags;

	local_irq_save(flags);
	program();
	start = ktime_get_ns();
	if (!global)
		chase(at, n / 64, select_msr(0), select_value(0), &c->tsc);
	else
		chase(at, n / 64, amd ? AMD_GLOBAL_CTRL : INTEL_GLOBAL_CTRL,
		      general | (fixed ? 7ULL << 32 : 0), &c->tsc);
	c->ns = ktime_get_ns() - start;
	for (int i = 0; i < events_count; i++)
		c->general[i] = read_counter(i);
	for (int i = 0; i < 3 && fixed; i++)
		c->fixed[i] = read_counter(1 << 30 | i);
	clear();
	local_irq_restore(flags);
}

static void print(unsigned long bytes, u64 n, const struct counters *c)
{
	char line[256];
	int at = 0;

	for (int i = 0; i < events_count; i++)
		at += scnprintf(line + at, sizeof(line) - at, " %llu", c->general[i]);
	at += scnprintf(line + at, sizeof(line) - at, " fixed");
	for (int i = 0; i < 3 && fixed; i++)
		at += scnprintf(line + at, sizeof(line) - at, " %llu", c->fixed[i]);
	pr_info("simcount: bytes %lu loads %llu ns %llu tsc %llu general%s\n", bytes, n, c->ns,
		c->tsc, line);
}

/* whole passes through the buffer that are whole blocks of the loop too */
static u64 whole_passes(unsigned long links)
{
	u64 passes = DIV_ROUND_UP(loads, links);

	return links * (links % 64 ? round_up(passes, 64) : passes);
}

static void measure(void **buffer, unsigned long bytes)
{
	u64 n = whole_passes(bytes / stride);
	struct counters c;

	make_chain(buffer, bytes / stride);
	/* the first one warms the caches */
	window(buffer, n, &c);
	window(buffer, n, &c);
	print(bytes, n, &c);
	window(buffer, 2 * n, &c);
	print(bytes, 2 * n, &c);
}

static bool bad_parameters(void)
{
	if (!sizes_count || stride < sizeof(void *) || stride % sizeof(void *) || !loads)
		return true;
	for (int i = 0; i < sizes_count; i++)
		if (sizes[i] > BUFFER_BYTES || sizes[i] < 2 * stride || sizes[i] % stride)
			return true;
	return false;
}

static int __init simcount_init(void)
{
	struct page *pages;

	if (bad_parameters())
		return -EINVAL;
	amd = boot_cpu_data.x86_vendor == X86_VENDOR_AMD;
	global = amd ? cpuid_eax(0x80000000) >= 0x80000022 && cpuid_eax(0x80000022) & 1 :
		       (cpuid_eax(0xa) & 0xff) >= 2;
	fixed = !amd && events_count && (cpuid_edx(0xa) & 0x1f) >= 3;
	pages = alloc_pages(GFP_KERNEL | __GFP_NOWARN, BUFFER_ORDER);
	if (!pages)
		return -ENOMEM;
	for (int i = 0; i < sizes_count; i++)
		measure(page_address(pages), sizes[i]);
	__free_pages(pages, BUFFER_ORDER);
	pr_info("simcount: done\n");
	return 0;
}

static void __exit simcount_exit(void)
{
}

module_init(simcount_init);
module_exit(simcount_exit);
MODULE_DESCRIPTION("counter proof for simcpu");
MODULE_LICENSE("GPL");
