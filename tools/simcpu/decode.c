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
	{ 0x01, 0xe8, true, SIM_OP_SERIALIZE },
	{ 0x01, 0xf9, false, SIM_OP_RDTSCP },
	{ 0xae, 0xe8, true, SIM_OP_LFENCE },
	{ 0xae, 0xf0, true, SIM_OP_MFENCE },
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

/* JMP and Jcc, relative, of 8 or 32 bits, without prefixes; little endian: the sign stands last */
bool sim_jumps_forward(const uint8_t *bytes, size_t length)
{
	bool jump = (length == 2 && (bytes[0] == 0xeb || (bytes[0] & 0xf0) == 0x70)) ||
		    (length == 5 && bytes[0] == 0xe9) ||
		    (length == 6 && bytes[0] == 0x0f && (bytes[1] & 0xf0) == 0x80);

	return jump && !(bytes[length - 1] & 0x80);
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

/* Instructions that more waits for, or that wait for more, than the operands tell. */
static const struct {
	enum sim_op op;
	enum sim_micro_class kind;
} class_of_op[] = {
	/* SDM vol. 2: LFENCE; AMD: the same where Linux has set DE_CFG bit 1 or CPUID says so */
	{ SIM_OP_LFENCE, SIM_MICRO_LFENCE },
	{ SIM_OP_MFENCE, SIM_MICRO_MFENCE },
	/* SDM vol. 3, 9.3 "Serializing Instructions": buffered writes are drained too */
	{ SIM_OP_SERIALIZE, SIM_MICRO_SERIALIZE },
	{ SIM_OP_CPUID, SIM_MICRO_SERIALIZE },
	{ SIM_OP_WRMSR, SIM_MICRO_SERIALIZE },
	{ SIM_OP_WBINVD, SIM_MICRO_SERIALIZE },
	{ SIM_OP_INVD, SIM_MICRO_SERIALIZE },
	{ SIM_OP_TLB, SIM_MICRO_SERIALIZE },
	/* SDM vol. 2: RDTSCP waits for earlier ones, later ones do not wait for it */
	{ SIM_OP_RDTSC, SIM_MICRO_CLOCK },
	{ SIM_OP_RDPMC, SIM_MICRO_CLOCK },
	{ SIM_OP_RDTSCP, SIM_MICRO_CLOCK_LAST },
};

/* What they load is their result, with nothing to be done to it. */
static const ZydisMnemonic moves[] = {
	ZYDIS_MNEMONIC_MOV, ZYDIS_MNEMONIC_MOVZX, ZYDIS_MNEMONIC_MOVSX, ZYDIS_MNEMONIC_MOVSXD,
	ZYDIS_MNEMONIC_MOVBE, ZYDIS_MNEMONIC_POP, ZYDIS_MNEMONIC_RET,
	ZYDIS_MNEMONIC_MOVD, ZYDIS_MNEMONIC_MOVQ, ZYDIS_MNEMONIC_MOVDQA, ZYDIS_MNEMONIC_MOVDQU,
	ZYDIS_MNEMONIC_MOVAPS, ZYDIS_MNEMONIC_MOVAPD, ZYDIS_MNEMONIC_MOVUPS,
	ZYDIS_MNEMONIC_MOVUPD, ZYDIS_MNEMONIC_MOVNTDQA, ZYDIS_MNEMONIC_LDDQU,
	ZYDIS_MNEMONIC_VMOVD, ZYDIS_MNEMONIC_VMOVQ, ZYDIS_MNEMONIC_VMOVDQA,
	ZYDIS_MNEMONIC_VMOVDQU, ZYDIS_MNEMONIC_VMOVAPS, ZYDIS_MNEMONIC_VMOVAPD,
	ZYDIS_MNEMONIC_VMOVUPS, ZYDIS_MNEMONIC_VMOVUPD, ZYDIS_MNEMONIC_VMOVNTDQA,
	ZYDIS_MNEMONIC_VLDDQU,
};

/* With both operands the same register the result is 0 and waits for nothing. */
static const ZydisMnemonic clears[] = {
	ZYDIS_MNEMONIC_XOR, ZYDIS_MNEMONIC_SUB, ZYDIS_MNEMONIC_PXOR, ZYDIS_MNEMONIC_XORPS,
	ZYDIS_MNEMONIC_XORPD, ZYDIS_MNEMONIC_VPXOR, ZYDIS_MNEMONIC_VXORPS, ZYDIS_MNEMONIC_VXORPD,
};

#define IS_ONE_OF(mnemonic, list)	is_one_of(mnemonic, list, sizeof(list) / sizeof((list)[0]))

static bool is_one_of(ZydisMnemonic mnemonic, const ZydisMnemonic *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == mnemonic)
			return true;
	return false;
}

/* Its ready time's number, or SIM_MICRO_ALWAYS where there is none: rip, segments, control. */
static uint8_t micro_register(ZydisRegister reg)
{
	const ZyanI8 number = ZydisRegisterGetId(reg);

	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_GPR8:
		/* ah, ch, dh and bh have the numbers behind those of al, cl, dl and bl */
		if (reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH)
			return reg - ZYDIS_REGISTER_AH;
		reg = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
		return ZydisRegisterGetId(reg);
	case ZYDIS_REGCLASS_GPR16:
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR64:
		return number;
	case ZYDIS_REGCLASS_FLAGS:
		return SIM_MICRO_FLAGS;
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		return SIM_MICRO_VECTOR + number;
	case ZYDIS_REGCLASS_X87:
	case ZYDIS_REGCLASS_MMX:
		return SIM_MICRO_MMX + number;
	case ZYDIS_REGCLASS_MASK:
		return SIM_MICRO_MASK + number;
	default:
		return SIM_MICRO_ALWAYS;
	}
}

/* Put a register into the first free place. Return whether there was one. */
static bool put_register(uint8_t *list, size_t n, uint8_t nobody, uint8_t reg)
{
	for (size_t i = 0; i < n; i++) {
		if (list[i] == reg)
			return true;
		if (list[i] == nobody) {
			list[i] = reg;
			return true;
		}
	}
	return false;
}

static bool reads(struct sim_micro *micro, uint8_t reg)
{
	return put_register(micro->source, SIM_MICRO_SOURCES, SIM_MICRO_ALWAYS, reg);
}

static bool writes(struct sim_micro *micro, uint8_t reg)
{
	return put_register(micro->result, SIM_MICRO_RESULTS, SIM_MICRO_NOWHERE, reg);
}

/* A write of 8 or 16 bits, and one that may not happen, leaves old bits: they are waited for. */
static bool keeps_bits(const ZydisDecodedOperand *operand)
{
	const ZydisRegisterClass c = ZydisRegisterGetClass(operand->reg.value);

	return c == ZYDIS_REGCLASS_GPR8 || c == ZYDIS_REGCLASS_GPR16 ||
	       operand->actions & ZYDIS_OPERAND_ACTION_CONDWRITE;
}

static bool micro_operand(struct sim_micro *micro, const ZydisDecodedOperand *operand, bool clears)
{
	const ZydisOperandActions actions = operand->actions;
	uint8_t reg = micro_register(operand->reg.value);
	bool fits = true;

	/* the stack engine moves the stack pointer by itself (Intel optimization manual, 2.2.2) */
	if (reg == SIM_MICRO_ALWAYS ||
	    (reg == SIM_MICRO_RSP && operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN))
		return true;
	if (!clears && (actions & ZYDIS_OPERAND_ACTION_MASK_READ ||
			(reg != SIM_MICRO_FLAGS && keeps_bits(operand))))
		fits = reads(micro, reg);
	if (actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		fits &= writes(micro, reg);
	return fits;
}

static void micro_address(struct sim_micro *micro, const ZydisDecodedOperand *operand)
{
	const uint8_t none = SIM_MICRO_ALWAYS;

	put_register(micro->address, SIM_MICRO_ADDRESSES, none, micro_register(operand->mem.base));
	put_register(micro->address, SIM_MICRO_ADDRESSES, none, micro_register(operand->mem.index));
}

static void set_class(struct sim_insn *insn, const ZydisDecodedInstruction *zi)
{
	if (zi->attributes & ZYDIS_ATTRIB_HAS_LOCK || (zi->mnemonic == ZYDIS_MNEMONIC_XCHG &&
						       insn->touches_memory))
		insn->micro.kind = SIM_MICRO_LOCKED;
	else if (IS_ONE_OF(zi->mnemonic, moves))
		insn->micro.kind = SIM_MICRO_MOVE;
	for (size_t i = 0; i < sizeof(class_of_op) / sizeof(class_of_op[0]); i++)
		if (class_of_op[i].op == insn->op)
			insn->micro.kind = class_of_op[i].kind;
}

/* Clears one register, or two of three operands alike do. */
static bool clears_register(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *operands)
{
	const ZydisDecodedOperand *last = &operands[zi->operand_count_visible - 1];

	return zi->operand_count_visible >= 2 && IS_ONE_OF(zi->mnemonic, clears) &&
	       last[-1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       last->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       last[-1].reg.value == last->reg.value;
}

/* What the short way of the model is made for; with one result it is no load of a pair. */
static bool loads_only(const struct sim_micro *micro, const ZydisDecodedOperand *operands)
{
	return micro->kind == SIM_MICRO_MOVE && micro->source[0] == SIM_MICRO_ALWAYS &&
	       micro->result[0] != SIM_MICRO_NOWHERE && micro->result[1] == SIM_MICRO_NOWHERE &&
	       operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY;
}

/* What has more operands than fit saves or restores state, and waits as a fence does. */
static void set_micro(struct sim_insn *insn, const ZydisDecodedInstruction *zi,
		      const ZydisDecodedOperand *operands)
{
	const bool clears = clears_register(zi, operands);
	bool fits = true;

	for (size_t i = 0; i < zi->operand_count; i++) {
		if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER)
			fits &= micro_operand(&insn->micro, &operands[i], clears);
		else if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			micro_address(&insn->micro, &operands[i]);
	}
	set_class(insn, zi);
	if (!fits && insn->micro.kind <= SIM_MICRO_MOVE)
		insn->micro.kind = SIM_MICRO_LFENCE;
	insn->micro.loads = zi->operand_count == 2 && loads_only(&insn->micro, operands);
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

	*insn = (struct sim_insn){
		.op = sim_decode_op(bytes, length), .length = length, .micro = SIM_MICRO_NONE,
	};
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
	set_micro(insn, &zi, operands);
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
