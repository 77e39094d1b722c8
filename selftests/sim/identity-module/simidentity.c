// SPDX-License-Identifier: GPL-2.0-only
/* Print CPUID as code of a module sees it, and as the kernel's own text does. */
#include <linux/module.h>
#include <asm/processor.h>

#define SUBLEAVES 8

static const u32 leaves[] = {
	0x0, 0x1, 0x2, 0x4, 0x7, 0xa, 0xb, 0x1a, 0x1f,
	0x80000000, 0x80000001, 0x80000002, 0x80000003, 0x80000004,
	0x80000005, 0x80000006, 0x80000008, 0x8000001d, 0x80000021, 0x80000022,
};

static void print_leaf(u32 leaf, u32 subleaf)
{
	u32 a = leaf, b = 0, c = subleaf, d = 0, ka, kb, kc, kd;

	asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	cpuid_count(leaf, subleaf, &ka, &kb, &kc, &kd);
	pr_info("simidentity: %#x %u module %08x %08x %08x %08x kernel %08x %08x %08x %08x\n", leaf,
		subleaf, a, b, c, d, ka, kb, kc, kd);
}

static int __init simidentity_init(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(leaves); i++)
		for (u32 sub = 0; sub < SUBLEAVES; sub++)
			print_leaf(leaves[i], sub);
	return 0;
}

static void __exit simidentity_exit(void)
{
}

module_init(simidentity_init);
module_exit(simidentity_exit);
MODULE_DESCRIPTION("CPUID of kernel code");
MODULE_LICENSE("GPL");
