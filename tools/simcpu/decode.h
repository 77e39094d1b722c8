/* SPDX-License-Identifier: GPL-2.0-only */
/* What simcpu must know of an instruction before it runs. */
#ifndef SIMCPU_DECODE_H
#define SIMCPU_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "micro.h"

#define SIM_INSN_BYTES_MAX 15

enum sim_op {
	SIM_OP_PLAIN,
	/* answered by the model */
	SIM_OP_RDMSR,
	SIM_OP_WRMSR,
	SIM_OP_RDPMC,
	SIM_OP_RDTSC,
	SIM_OP_RDTSCP,
	SIM_OP_CPUID,
	/* act on caches or TLBs; QEMU makes no memory callback for them */
	SIM_OP_PREFETCH_T0,
	SIM_OP_PREFETCH_T1,
	SIM_OP_PREFETCH_T2,
	SIM_OP_PREFETCH_NTA,
	SIM_OP_PREFETCH_W,
	SIM_OP_CLFLUSH,
	SIM_OP_CLFLUSHOPT,
	SIM_OP_CLWB,
	SIM_OP_CLDEMOTE,
	SIM_OP_WBINVD,
	SIM_OP_WBNOINVD,
	SIM_OP_INVD,
	/* empties a TLB or a part of it: INVLPG, INVPCID, a move to CR0, CR3 or CR4 */
	SIM_OP_TLB,
	/* only the time of other instructions depends on them */
	SIM_OP_LFENCE,
	SIM_OP_MFENCE,
	SIM_OP_SERIALIZE,
	/* an ordinary memory callback, but not an ordinary access */
	SIM_OP_NT_LOAD,
	SIM_OP_NT_STORE,
};

/* general registers by their number in the encoding: rax 0, rcx 1, ... r15 15 */
#define SIM_REG_NONE 0xff

enum sim_segment { SIM_SEG_NONE, SIM_SEG_FS, SIM_SEG_GS };

/**
 * struct sim_address - a memory operand
 * @disp: displacement; the whole address for an operand relative to rip
 * @base: register number or SIM_REG_NONE
 * @index: register number or SIM_REG_NONE
 * @scale: 1, 2, 4 or 8
 * @segment: segment whose base is added; the others' bases are 0 in 64-bit mode
 * @bits: address size, 32 or 64
 */
struct sim_address {
	uint64_t disp;
	uint8_t base, index, scale, segment, bits;
};

/**
 * struct sim_insn - one decoded instruction
 * @op: what simcpu has to do about it
 * @length: bytes, prefixes included
 * @touches_memory: it may read or write memory, by an explicit operand or not
 * @has_address: it has an explicit memory operand, described by @address
 * @memory_bytes: size of that operand
 * @address: that operand's address
 * @micro: what its time depends on
 */
struct sim_insn {
	enum sim_op op;
	uint8_t length;
	bool touches_memory;
	bool has_address;
	uint16_t memory_bytes;
	struct sim_address address;
	struct sim_micro micro;
};

/**
 * sim_decode_op() - the operation by the first bytes alone, cheap enough for all kernel code
 * @bytes: the instruction
 * @length: its true length in bytes
 *
 * Return: the operation where the bytes alone decide it; SIM_OP_PLAIN for anything else, the
 * non-temporal moves included.
 */
enum sim_op sim_decode_op(const uint8_t *bytes, size_t length);

/**
 * sim_jumps_forward() - whether an instruction is a jump to an address behind it, taken or not
 * @bytes: the instruction
 * @length: its true length in bytes
 *
 * Code cannot run on for ever by such jumps alone.
 */
bool sim_jumps_forward(const uint8_t *bytes, size_t length);

/**
 * sim_decode() - decode one instruction of 64-bit code
 * @bytes: the instruction
 * @length: how many bytes there are
 * @vaddr: where it stands, for addresses relative to rip
 * @insn: the result
 *
 * Return: false if these bytes are no instruction.
 */
bool sim_decode(const uint8_t *bytes, size_t length, uint64_t vaddr, struct sim_insn *insn);

/**
 * sim_effective_address() - linear address of a memory operand
 * @address: the operand
 * @regs: the 16 general registers by number
 * @segment_base: base of the fs or gs segment, whichever @address names
 */
uint64_t sim_effective_address(const struct sim_address *address, const uint64_t *regs,
			       uint64_t segment_base);

#endif
