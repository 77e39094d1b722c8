// SPDX-License-Identifier: GPL-2.0-only
/* Instructions that the model answers or that move cache lines: recognised, operands located. */
#include <Zydis/Zydis.h>

#include "decode.h"

/* 0f BYTE */
static const struct {
	uint8_t byte;
	enum sim_op op;
} two_byte_ops[] = {
	{ 0x08, SIM_OP_INVD },
	{ 0x09, SIM_OP_WBINVD },
	{ 0x30, SIM_OP_WRMSR },
	{ 0x31, SIM_OP_RDTSC },
	{ 0x32, SIM_OP_RDMSR },
	{ 0x33, SIM_OP_RDPMC },
	{ 0xa2, SIM_OP_CPUID },
};

/* 0f BYTE /reg with a memory operand; prefix 0: no 66, f2 or f3 (SDM vol. 2, opcode map) */
static const struct {
	uint8_t prefix, byte, reg;
	enum sim_op op;
} memory_ops[] = {
	{ 0, 0x01, 7, SIM_OP_TLB },	/* INVLPG */
	{ 0, 0x0d, 0, SIM_OP_PREFETCH_T0 },	/* AMD's PREFETCH */
	{ 0, 0x0d, 1, SIM_OP_PREFETCH_W },
	{ 0, 0x0d, 2, SIM_OP_PREFETCH_W },	/* PREFETCHWT1 */
	{ 0, 0x18, 0, SIM_OP_PREFETCH_NTA },
	{ 0, 0x18, 1, SIM_OP_PREFETCH_T0 },
	{ 0, 0x18, 2, SIM_OP_PREFETCH_T1 },
	{ 0, 0x18, 3, SIM_OP_PREFETCH_T2 },
	{ 0, 0x1c, 0, SIM_OP_CLDEMOTE },
	{ 0, 0xae, 7, SIM_OP_CLFLUSH },
	{ 0x66, 0xae, 7, SIM_OP_CLFLUSHOPT },
	{ 0x66, 0xae, 6, SIM_OP_CLWB },
};

/* 0f BYTE MODRM without a memory operand; any prefix, unless no_prefix */
static const struct {
	uint8_t byte, modrm;
	bool no_prefix;
	enum sim_op op;
} register_ops[] = {
	{ 0x01, 0xc6, true, SIM_OP_WRMSR },	/* WRMSRNS */
	{ 0x01, 0xe8, true, SIM_OP_FENCE },	/* SERIALIZE */
	{ 0x01, 0xf9, false, SIM_OP_RDTSCP },
	{ 0xae, 0xe8, true, SIM_OP_FENCE },	/* LFENCE */
	{ 0xae, 0xf0, true, SIM_OP_FENCE },	/* MFENCE */
};

static const struct {
	ZydisMnemonic mnemonic;
	enum sim_op op;
} nt_ops[] = {
	{ ZYDIS_MNEMONIC_MOVNTI, SIM_OP_NT_STORE },
	{ ZYDIS_MNEMONIC_MOVNTQ, SIM_OP_NT_STORE },
	{ ZYDIS_MNEMONIC_MOVNTDQ, SIM_OP_NT_STORE },
	{ ZYDIS_MNEMONIC_MOVNTPS, SIM_OP_NT_STORE },
	{ ZYDIS_MNEMONIC_MOVNTPD, SIM_OP_NT_STORE },
	{ ZYDIS_MNEMONIC_MOVNTSS, SIM_OP_NT_STORE },
	{ ZYDIS_MNEMONIC_MOVNTSD, SIM_OP_NT_STORE },
	{ ZYDIS_MNEMONIC_VMOVNTDQ, SIM_OP_NT_STORE },
	{ ZYDIS_MNEMONIC_VMOVNTPS, SIM_OP_NT_STORE },
	{ ZYDIS_MNEMONIC_VMOVNTPD, SIM_OP_NT_STORE },
	{ ZYDIS_MNEMONIC_MASKMOVQ, SIM_OP_NT_STORE },
	{ ZYDIS_MNEMONIC_MASKMOVDQU, SIM_OP_NT_STORE },
	{ ZYDIS_MNEMONIC_VMASKMOVDQU, SIM_OP_NT_STORE },
	{ ZYDIS_MNEMONIC_MOVNTDQA, SIM_OP_NT_LOAD },
	{ ZYDIS_MNEMONIC_VMOVNTDQA, SIM_OP_NT_LOAD },
};

/*
 * Skip prefixes: operand size, address size, repeat, segments, REX. Linux puts 3e or 2e before
 * instructions that it may patch (7.x wrmsrns() falls back to 3e 0f 30).
 */
static size_t skip_prefixes(const uint8_t *bytes, size_t length, uint8_t *mandatory)
{
	size_t i;

	*mandatory = 0;
	for (i = 0; i < length; i++) {
		switch (bytes[i]) {
		case 0x66:
			if (!*mandatory)
				*mandatory = 0x66;
			break;
		case 0xf2:
		case 0xf3:
			*mandatory = bytes[i];
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
		case 0x67:
			break;
		default:
			if ((bytes[i] & 0xf0) != 0x40)
				return i;
		}
	}
	return i;
}

static enum sim_op memory_op(uint8_t prefix, uint8_t byte, uint8_t modrm)
{
	for (size_t i = 0; i < sizeof(memory_ops) / sizeof(memory_ops[0]); i++)
		if (memory_ops[i].prefix == prefix && memory_ops[i].byte == byte &&
		    memory_ops[i].reg == (modrm >> 3 & 7))
			return memory_ops[i].op;
	return SIM_OP_PLAIN;
}

static enum sim_op two_byte_op(uint8_t prefix, uint8_t byte)
{
	if (prefix == 0xf3 && byte == 0x09)
		return SIM_OP_WBNOINVD;
	for (size_t i = 0; i < sizeof(two_byte_ops) / sizeof(two_byte_ops[0]); i++)
		if (two_byte_ops[i].byte == byte)
			return two_byte_ops[i].op;
	return SIM_OP_PLAIN;
}

static enum sim_op register_op(uint8_t prefix, uint8_t byte, uint8_t modrm)
{
	for (size_t i = 0; i < sizeof(register_ops) / sizeof(register_ops[0]); i++)
		if (register_ops[i].byte == byte && register_ops[i].modrm == modrm &&
		    !(register_ops[i].no_prefix && prefix))
			return register_ops[i].op;
	return SIM_OP_PLAIN;
}

enum sim_op sim_decode_op(const uint8_t *bytes, size_t length)
{
	uint8_t prefix;
	size_t at = skip_prefixes(bytes, length, &prefix);

	bytes += at;
	length -= at;
	if (length < 2 || bytes[0] != 0x0f)
		return SIM_OP_PLAIN;
	if (length == 2)
		return two_byte_op(prefix, bytes[1]);
	/* MOV to a control register, whatever the mode bits say (SDM vol. 2); INVPCID */
	if (bytes[1] == 0x22 || (prefix == 0x66 && bytes[1] == 0x38 && bytes[2] == 0x82))
		return SIM_OP_TLB;
	if (bytes[2] >= 0xc0)
		return register_op(prefix, bytes[1], bytes[2]);
	return memory_op(prefix, bytes[1], bytes[2]);
}

static uint8_t register_number(ZydisRegister reg)
{
	if (reg == ZYDIS_REGISTER_NONE)
		return SIM_REG_NONE;
	return ZydisRegisterGetId(reg);
}

static enum sim_segment segment_of(ZydisRegister reg)
{
	if (reg == ZYDIS_REGISTER_FS)
		return SIM_SEG_FS;
	return reg == ZYDIS_REGISTER_GS ? SIM_SEG_GS : SIM_SEG_NONE;
}

static void set_address(struct sim_insn *insn, const ZydisDecodedInstruction *zi,
			const ZydisDecodedOperand *operand, uint64_t vaddr)
{
	struct sim_address *address = &insn->address;
	ZydisRegister base = operand->mem.base;

	insn->has_address = true;
	insn->memory_bytes = operand->size / 8;
	*address = (struct sim_address){
		.disp = operand->mem.disp.value,
		.scale = operand->mem.scale ? operand->mem.scale : 1,
		.index = register_number(operand->mem.index),
		.segment = segment_of(operand->mem.segment),
		.bits = zi->address_width,
	};
	if (base == ZYDIS_REGISTER_RIP || base == ZYDIS_REGISTER_EIP) {
		address->disp += vaddr + zi->length;
		base = ZYDIS_REGISTER_NONE;
	}
	address->base = register_number(base);
}

static void add_operand(struct sim_insn *insn, const ZydisDecodedInstruction *zi,
			const ZydisDecodedOperand *operand, uint64_t vaddr)
{
	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
		return;
	insn->touches_memory = true;
	if (operand->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
		set_address(insn, zi, operand, vaddr);
}

bool sim_decode(const uint8_t *bytes, size_t length, uint64_t vaddr, struct sim_insn *insn)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction zi;
	ZydisDecoder decoder;

	*insn = (struct sim_insn){ .op = sim_decode_op(bytes, length), .length = length };
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	/* Zydis 4.0 does not know WRMSRNS; the bytes have decided it */
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, length, &zi, operands)))
		return insn->op != SIM_OP_PLAIN;
	insn->length = zi.length;
	insn->op = sim_decode_op(bytes, zi.length);
	for (size_t i = 0; i < sizeof(nt_ops) / sizeof(nt_ops[0]); i++)
		if (nt_ops[i].mnemonic == zi.mnemonic)
			insn->op = nt_ops[i].op;
	for (size_t i = zi.operand_count; i-- > 0;)
		add_operand(insn, &zi, &operands[i], vaddr);
	return true;
}

uint64_t sim_effective_address(const struct sim_address *address, const uint64_t *regs,
			       uint64_t segment_base)
{
	uint64_t value = address->disp;

	if (address->base != SIM_REG_NONE)
		value += regs[address->base];
	if (address->index != SIM_REG_NONE)
		value += regs[address->index] * address->scale;
	/* a 32-bit address wraps before the segment's base is added (SDM vol. 1, 3.7.5) */
	if (address->bits == 32)
		value = (uint32_t)value;
	return value + segment_base;
}
