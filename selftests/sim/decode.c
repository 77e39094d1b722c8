// SPDX-License-Identifier: GPL-2.0-only
/* Decoding of the instructions that simcpu answers or that move cache lines. */
#include <stdint.h>
#include <string.h>

#include "decode.h"
#include "kselftest_harness.h"

#define VADDR 0xffffffffc0001000

/* registers by number: 0x1000, 0x2001, 0x3002 ... so that a wrong one shows */
static void set_regs(uint64_t regs[16])
{
	for (int i = 0; i < 16; i++)
		regs[i] = 0x1000 * (i + 1) + i;
}

static const struct {
	int line;
	const char *bytes;
	int length;
	enum sim_op op;
} ops[] = {
	{ __LINE__, "\x0f\x32", 2, SIM_OP_RDMSR },
	{ __LINE__, "\x3e\x0f\x32", 3, SIM_OP_RDMSR },
	{ __LINE__, "\x48\x0f\x32", 3, SIM_OP_RDMSR },
	{ __LINE__, "\x0f\x30", 2, SIM_OP_WRMSR },
	{ __LINE__, "\x3e\x0f\x30", 3, SIM_OP_WRMSR },
	{ __LINE__, "\x2e\x2e\x0f\x30", 4, SIM_OP_WRMSR },
	{ __LINE__, "\x0f\x01\xc6", 3, SIM_OP_WRMSR },
	/* rdmsrlist and wrmsrlist are other instructions */
	{ __LINE__, "\xf3\x0f\x01\xc6", 4, SIM_OP_PLAIN },
	{ __LINE__, "\xf2\x0f\x01\xc6", 4, SIM_OP_PLAIN },
	{ __LINE__, "\x0f\x33", 2, SIM_OP_RDPMC },
	{ __LINE__, "\x66\x0f\x33", 3, SIM_OP_RDPMC },
	{ __LINE__, "\x0f\x31", 2, SIM_OP_RDTSC },
	{ __LINE__, "\x0f\x01\xf9", 3, SIM_OP_RDTSCP },
	{ __LINE__, "\x0f\x01\xf8", 3, SIM_OP_PLAIN },		/* swapgs */
	{ __LINE__, "\x0f\xa2", 2, SIM_OP_CPUID },
	{ __LINE__, "\xf3\x0f\xa2", 3, SIM_OP_CPUID },
	{ __LINE__, "\x0f\x09", 2, SIM_OP_WBINVD },
	{ __LINE__, "\xf3\x0f\x09", 3, SIM_OP_WBNOINVD },
	{ __LINE__, "\x0f\x08", 2, SIM_OP_INVD },
	{ __LINE__, "\x0f\x01\x38", 3, SIM_OP_TLB },		/* invlpg (%rax) */
	{ __LINE__, "\x66\x0f\x38\x82\x08", 5, SIM_OP_TLB },	/* invpcid (%rax),%rcx */
	{ __LINE__, "\x0f\x22\xd8", 3, SIM_OP_TLB },		/* mov %rax,%cr3 */
	{ __LINE__, "\x0f\x22\xe0", 3, SIM_OP_TLB },		/* mov %rax,%cr4 */
	{ __LINE__, "\x41\x0f\x22\xd8", 4, SIM_OP_TLB },	/* mov %r8,%cr3 */
	{ __LINE__, "\x0f\x20\xd8", 3, SIM_OP_PLAIN },		/* mov %cr3,%rax */
	{ __LINE__, "\x0f\xae\xe8", 3, SIM_OP_LFENCE },		/* lfence */
	{ __LINE__, "\x0f\xae\xf0", 3, SIM_OP_MFENCE },		/* mfence */
	{ __LINE__, "\x0f\xae\xf8", 3, SIM_OP_PLAIN },		/* sfence waits for stores only */
	{ __LINE__, "\x0f\x01\xe8", 3, SIM_OP_SERIALIZE },		/* serialize */
	{ __LINE__, "\xf3\x0f\xae\xe8", 4, SIM_OP_PLAIN },	/* incsspd */
	{ __LINE__, "\x0f\x18\x00", 3, SIM_OP_PREFETCH_NTA },
	{ __LINE__, "\x0f\x18\x08", 3, SIM_OP_PREFETCH_T0 },
	{ __LINE__, "\x0f\x18\x10", 3, SIM_OP_PREFETCH_T1 },
	{ __LINE__, "\x0f\x18\x18", 3, SIM_OP_PREFETCH_T2 },
	{ __LINE__, "\x0f\x18\x20", 3, SIM_OP_PLAIN },
	{ __LINE__, "\x0f\x0d\x00", 3, SIM_OP_PREFETCH_T0 },	/* prefetch of AMD */
	{ __LINE__, "\x0f\x0d\x08", 3, SIM_OP_PREFETCH_W },
	{ __LINE__, "\x0f\x0d\x10", 3, SIM_OP_PREFETCH_W },	/* prefetchwt1 */
	{ __LINE__, "\x0f\xae\x38", 3, SIM_OP_CLFLUSH },
	{ __LINE__, "\x66\x0f\xae\x38", 4, SIM_OP_CLFLUSHOPT },
	{ __LINE__, "\x3e\x0f\xae\x38", 4, SIM_OP_CLFLUSH },	/* the kernel's patchable one */
	{ __LINE__, "\x66\x0f\xae\x30", 4, SIM_OP_CLWB },
	{ __LINE__, "\x0f\xae\x30", 3, SIM_OP_PLAIN },		/* xsaveopt */
	{ __LINE__, "\x0f\x1c\x00", 3, SIM_OP_CLDEMOTE },
	{ __LINE__, "\x0f\x1c\x08", 3, SIM_OP_PLAIN },		/* nop */
	{ __LINE__, "\x0f\x1f\x00", 3, SIM_OP_PLAIN },		/* nop */
	{ __LINE__, "\x0f\xc3\x08", 3, SIM_OP_NT_STORE },	/* movnti %ecx,(%rax) */
	{ __LINE__, "\x66\x0f\xe7\x00", 4, SIM_OP_NT_STORE },	/* movntdq */
	{ __LINE__, "\x0f\x2b\x00", 3, SIM_OP_NT_STORE },	/* movntps */
	{ __LINE__, "\xc5\xfd\xe7\x00", 4, SIM_OP_NT_STORE },	/* vmovntdq %ymm0 */
	{ __LINE__, "\x66\x0f\x38\x2a\x00", 5, SIM_OP_NT_LOAD },	/* movntdqa */
	{ __LINE__, "\x48\x8b\x00", 3, SIM_OP_PLAIN },
	{ __LINE__, "\x90", 1, SIM_OP_PLAIN },
	{ __LINE__, "\xb8\x0f\x32\x0f\x32", 5, SIM_OP_PLAIN },	/* mov $0x320f320f,%eax */
};

TEST(operations)
{
	struct sim_insn insn;

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		ASSERT_TRUE(sim_decode((const uint8_t *)ops[i].bytes, ops[i].length, VADDR,
				       &insn) ||
			    ops[i].op == SIM_OP_PLAIN) {
			TH_LOG("line %d: not decoded", ops[i].line);
		}
		EXPECT_EQ(insn.op, ops[i].op) {
			TH_LOG("line %d", ops[i].line);
		}
		EXPECT_EQ(insn.length, ops[i].length) {
			TH_LOG("line %d", ops[i].line);
		}
	}
}

/* what the first bytes decide must be what full decoding says */
TEST(first_bytes_agree)
{
	struct sim_insn insn;

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		const uint8_t *bytes = (const uint8_t *)ops[i].bytes;

		sim_decode(bytes, ops[i].length, VADDR, &insn);
		if (insn.op == SIM_OP_NT_STORE || insn.op == SIM_OP_NT_LOAD)
			insn.op = SIM_OP_PLAIN;
		EXPECT_EQ(sim_decode_op(bytes, ops[i].length), insn.op) {
			TH_LOG("line %d", ops[i].line);
		}
	}
}

static const struct {
	int line;
	const char *bytes;
	int length;
	bool forward;
} jumps[] = {
	{ __LINE__, "\xeb\x10", 2, true },				/* jmp */
	{ __LINE__, "\xeb\xfe", 2, false },
	{ __LINE__, "\x74\x7f", 2, true },				/* jz */
	{ __LINE__, "\x7f\x80", 2, false },				/* jg */
	{ __LINE__, "\xe9\x00\x01\x00\x00", 5, true },		/* jmp */
	{ __LINE__, "\xe9\x00\xff\xff\xff", 5, false },
	{ __LINE__, "\x0f\x85\x00\x01\x00\x00", 6, true },		/* jnz */
	{ __LINE__, "\x0f\x85\x00\xff\xff\xff", 6, false },
	{ __LINE__, "\xe8\x00\x01\x00\x00", 5, false },		/* call */
	{ __LINE__, "\xe2\x10", 2, false },				/* loop */
	{ __LINE__, "\xc3", 1, false },					/* ret */
	{ __LINE__, "\xff\xe0", 2, false },				/* jmp *%rax */
	{ __LINE__, "\x0f\x05", 2, false },				/* syscall */
	{ __LINE__, "\xb8\x00\x01\x00\x00", 5, false },		/* mov */
	{ __LINE__, "\x0f\x18\x88\x00\x01\x00\x00", 7, false },	/* prefetcht0 */
};

/* QEMU may leave a block by these without a look at counters that overflow */
TEST(jumps_forward)
{
	for (size_t i = 0; i < ARRAY_SIZE(jumps); i++) {
		EXPECT_EQ(sim_jumps_forward((const uint8_t *)jumps[i].bytes, jumps[i].length),
			  jumps[i].forward) {
			TH_LOG("line %d", jumps[i].line);
		}
	}
}

static const struct {
	int line;
	const char *bytes;
	int length;
	uint64_t address;	/* with fs base 0x100000000, gs base 0x200000000 */
	unsigned int memory_bytes;
} addresses[] = {
	/* prefetcht0 with each way to write an address */
	{ __LINE__, "\x0f\x18\x08", 3, 0x1000, 1 },				/* (%rax) */
	{ __LINE__, "\x0f\x18\x0b", 3, 0x4003, 1 },				/* (%rbx) */
	{ __LINE__, "\x41\x0f\x18\x0f", 4, 0x1000f, 1 },			/* (%r15) */
	{ __LINE__, "\x0f\x18\x48\x40", 4, 0x1040, 1 },				/* 64(%rax) */
	{ __LINE__, "\x0f\x18\x48\xc0", 4, 0xfc0, 1 },				/* -64(%rax) */
	{ __LINE__, "\x0f\x18\x88\x00\x00\x00\x80", 7, 0xffffffff80001000, 1 },
	{ __LINE__, "\x0f\x18\x0c\x88", 4, 0x1000 + 4 * 0x2001, 1 },		/* (%rax,%rcx,4) */
	{ __LINE__, "\x42\x0f\x18\x0c\xc8", 5, 0x1000 + 8 * 0xa009, 1 },	/* (%rax,%r9,8) */
	{ __LINE__, "\x0f\x18\x0c\x24", 4, 0x5004, 1 },				/* (%rsp) */
	{ __LINE__, "\x42\x0f\x18\x0c\x24", 5, 0x5004 + 0xd00c, 1 },		/* (%rsp,%r12) */
	{ __LINE__, "\x0f\x18\x4d\x00", 4, 0x6005, 1 },				/* 0(%rbp) */
	{ __LINE__, "\x41\x0f\x18\x4d\x00", 5, 0xe00d, 1 },			/* 0(%r13) */
	{ __LINE__, "\x0f\x18\x0c\x25\x00\x10\x00\x00", 8, 0x1000, 1 },		/* 0x1000 */
	{ __LINE__, "\x0f\x18\x0c\xcd\x10\x00\x00\x00", 8, 0x10 + 8 * 0x2001, 1 },
	{ __LINE__, "\x0f\x18\x0d\x10\x00\x00\x00", 7, VADDR + 7 + 0x10, 1 },	/* 0x10(%rip) */
	{ __LINE__, "\x64\x0f\x18\x08", 4, 0x100001000, 1 },			/* %fs:(%rax) */
	{ __LINE__, "\x65\x0f\x18\x08", 4, 0x200001000, 1 },			/* %gs:(%rax) */
	{ __LINE__, "\x3e\x0f\x18\x08", 4, 0x1000, 1 },				/* %ds: */
	{ __LINE__, "\x67\x0f\x18\x88\x00\xf0\xff\xff", 8, 0, 1 },		/* -4096(%eax) */
	{ __LINE__, "\x0f\xae\x38", 3, 0x1000, 1 },				/* clflush (%rax) */
	{ __LINE__, "\x66\x0f\xae\x7e\x40", 5, 0x7046, 1 }, /* clflushopt 64(%rsi) */
	{ __LINE__, "\x66\x0f\xae\x34\x08", 5, 0x3001, 1 }, /* clwb (%rax,%rcx) */
	{ __LINE__, "\x0f\x01\x3f", 3, 0x8007, 1 },				/* invlpg (%rdi) */
	{ __LINE__, "\x0f\xc3\x08", 3, 0x1000, 4 }, /* movnti %ecx,(%rax) */
	{ __LINE__, "\x48\x0f\xc3\x48\x08", 5, 0x1008, 8 }, /* movnti %rcx,8(%rax) */
	{ __LINE__, "\xc5\xfd\xe7\x40\x20", 5, 0x1020, 32 }, /* vmovntdq %ymm0,32(%rax) */
	{ __LINE__, "\xc5\xfd\x6f\x06", 4, 0x7006, 32 },		/* vmovdqa (%rsi),%ymm0 */
	{ __LINE__, "\x48\x8b\x00", 3, 0x1000, 8 },			/* mov (%rax),%rax */
	/* movdqu (%rsi),%xmm4; movdqu (%rsi,%r15,2),%xmm4 */
	{ __LINE__, "\xf3\x0f\x6f\x26", 4, 0x7006, 16 },
	{ __LINE__, "\xf3\x42\x0f\x6f\x24\x7e", 6, 0x7006 + 2 * 0x1000f, 16 },
	/* vpaddq (%rsi,%r15),%ymm1,%ymm1; (%rsi),%zmm0,%zmm0; (%rsi,%rax),%zmm3,%zmm3 */
	{ __LINE__, "\xc4\xa1\x75\xd4\x0c\x3e", 6, 0x7006 + 0x1000f, 32 },
	{ __LINE__, "\x62\xf1\xfd\x48\xd4\x06", 6, 0x7006, 64 },
	{ __LINE__, "\x62\xf1\xe5\x48\xd4\x1c\x06", 7, 0x7006 + 0x1000, 64 },
};

TEST(effective_addresses)
{
	uint64_t regs[16];
	struct sim_insn insn;

	set_regs(regs);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		uint64_t base = 0;

		ASSERT_TRUE(sim_decode((const uint8_t *)addresses[i].bytes,
				       addresses[i].length, VADDR, &insn));
		ASSERT_TRUE(insn.has_address) {
			TH_LOG("line %d", addresses[i].line);
		}
		if (insn.address.segment == SIM_SEG_FS)
			base = 0x100000000;
		else if (insn.address.segment == SIM_SEG_GS)
			base = 0x200000000;
		EXPECT_EQ(sim_effective_address(&insn.address, regs, base), addresses[i].address) {
			TH_LOG("line %d", addresses[i].line);
		}
		if (insn.op == SIM_OP_NT_STORE || insn.op == SIM_OP_PLAIN)
			EXPECT_EQ(insn.memory_bytes, addresses[i].memory_bytes) {
				TH_LOG("line %d", addresses[i].line);
			}
	}
}

static const struct {
	int line;
	const char *bytes;
	int length;
	bool touches;
} memory[] = {
	{ __LINE__, "\x48\x8b\x00", 3, true },			/* mov (%rax),%rax */
	{ __LINE__, "\x48\x8d\x00", 3, false },			/* lea (%rax),%rax */
	{ __LINE__, "\x48\x89\xc3", 3, false },			/* mov %rax,%rbx */
	{ __LINE__, "\x55", 1, true },				/* push %rbp */
	{ __LINE__, "\xc3", 1, true },				/* ret */
	{ __LINE__, "\xe8\x00\x00\x00\x00", 5, true },		/* call */
	{ __LINE__, "\xf3\xa4", 2, true },			/* rep movsb */
	{ __LINE__, "\x48\xff\xc8", 3, false },			/* dec %rax */
	{ __LINE__, "\x75\xfe", 2, false },			/* jne */
	{ __LINE__, "\xf0\x48\x0f\xc1\x08", 5, true },		/* lock xadd */
	{ __LINE__, "\xd7", 1, true },				/* xlat */
};

TEST(touched_memory)
{
	struct sim_insn insn;

	for (size_t i = 0; i < ARRAY_SIZE(memory); i++) {
		ASSERT_TRUE(sim_decode((const uint8_t *)memory[i].bytes, memory[i].length, VADDR,
				       &insn));
		EXPECT_EQ(insn.touches_memory, memory[i].touches) {
			TH_LOG("line %d", memory[i].line);
		}
	}
}

TEST(garbage)
{
	static const char * const bytes[] = { "\x0f", "\x06", "\x66\x66\x66" };
	static const int length[] = { 1, 1, 3 };
	struct sim_insn insn;

	for (size_t i = 0; i < ARRAY_SIZE(bytes); i++) {
		bool valid = sim_decode((const uint8_t *)bytes[i], length[i], VADDR, &insn);

		EXPECT_EQ(insn.op, SIM_OP_PLAIN);
		EXPECT_FALSE(valid && insn.has_address);
	}
}

TEST_HARNESS_MAIN
