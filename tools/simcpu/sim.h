/* SPDX-License-Identifier: GPL-2.0-only */
/* The modelled processor as its user, plugin or test, sees it. Nothing of QEMU appears here. */
#ifndef SIMCPU_SIM_H
#define SIMCPU_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sim_model;
struct sim_machine;
struct sim_cpu;

/* ---- Model: a processor's description, read once, never changed afterwards (model.c) ---- */

/**
 * sim_model_load - read a model file
 * @path: the file; "@1/N" behind its name divides the capacity of every cache by N
 * @err: receives "file:line: text" where NULL is returned
 * @len: room at @err
 *
 * Return: the model, to be given to sim_model_free(), or NULL.
 */
struct sim_model *sim_model_load(const char *path, char *err, size_t len);
void sim_model_free(struct sim_model *model);

/* The file's name without directory and ".cpu", scale included: zen2, zen2@1/8. */
const char *sim_model_name(const struct sim_model *model);

/* What belongs behind QEMU's -cpu, so that user space of the guest sees the same identity. */
const char *sim_model_qemu_cpu(const struct sim_model *model);

/* Rate of the modelled TSC; the guest must be booted with tsc_early_khz of the same value. */
uint64_t sim_model_tsc_hz(const struct sim_model *model);

/* Threads of a core; the guest's -smp must say the same. */
unsigned int sim_model_threads(const struct sim_model *model);

/* ---- Machine: the caches that are shared, and the truth log ---- */

/**
 * sim_machine_new - build the machine that a model describes
 * @model: stays the caller's, and must live as long as the machine
 * @cpus: number of vCPUs, that is the -smp of the guest
 * @truth: the log is appended here, or NULL; stays the caller's
 *
 * Return: the machine, or NULL with errno where memory runs out.
 */
struct sim_machine *sim_machine_new(const struct sim_model *model, unsigned int cpus, FILE *truth);

/**
 * struct sim_memory - the guest's memory, for what follows addresses in it
 * @read: 8 bytes at a virtual address; false where nothing is mapped, or NULL: nothing can be read
 * @translate: physical address of a virtual one; false where none is mapped; NULL: the same
 * @read_physical: 8 bytes at a physical address, for page tables; NULL: all pages have 4 KiB
 * @data: passed to all
 *
 * They are called on the thread of the vCPU with the number @cpu, from within sim_mem_access().
 */
struct sim_memory {
	bool (*read)(void *data, unsigned int cpu, uint64_t vaddr, uint64_t *value);
	bool (*translate)(void *data, unsigned int cpu, uint64_t vaddr, uint64_t *paddr);
	bool (*read_physical)(void *data, uint64_t paddr, uint64_t *value);
	void *data;
};

/* Before the first access; without it no loaded value is followed. */
void sim_machine_set_memory(struct sim_machine *machine, const struct sim_memory *memory);

/* Log each read of a clock or counter too, and each write, with all totals at that moment. */
void sim_machine_detail(struct sim_machine *machine);

/* Write the exit lines: what each vCPU counted in windows, and the final value of each MSR. */
void sim_machine_exit(struct sim_machine *machine);
void sim_machine_free(struct sim_machine *machine);

/* ---- A vCPU. All calls for one come from one thread at a time; several may run at once. ---- */

/* The vCPU with this index, 0 to cpus - 1; owned by the machine. NULL if there is none. */
struct sim_cpu *sim_cpu_new(struct sim_machine *machine, unsigned int index);

/**
 * enum sim_kind - what an instruction does to memory
 * @SIM_LOAD: read; also the reading half of a read-modify-write
 * @SIM_STORE: write, allocating the line
 * @SIM_STORE_NT: non-temporal store: past the caches, evicting the line
 * @SIM_PREFETCH_T0: PREFETCHT0 and PREFETCHW: into every level
 * @SIM_PREFETCH_T1: into level 2 and outward
 * @SIM_PREFETCH_T2: into level 3 and outward
 * @SIM_PREFETCH_NTA: into level 1, and outside it only where inclusion demands it
 * @SIM_CLFLUSH: CLFLUSH and CLFLUSHOPT
 * @SIM_CLWB: write the line back, keep it
 * @SIM_CLDEMOTE: move the line into the outermost level
 */
enum sim_kind {
	SIM_LOAD,
	SIM_STORE,
	SIM_STORE_NT,
	SIM_PREFETCH_T0,
	SIM_PREFETCH_T1,
	SIM_PREFETCH_T2,
	SIM_PREFETCH_NTA,
	SIM_CLFLUSH,
	SIM_CLWB,
	SIM_CLDEMOTE,
};

/**
 * sim_mem_access - one access by module text
 * @cpu: the vCPU
 * @insns: instructions executed so far by this vCPU, the accessing one included (never falls)
 * @vaddr: virtual address, used by virtually indexed caches alone
 * @paddr: physical address of the first byte
 * @size: bytes; an access that crosses a line touches both
 * @kind: what it does
 *
 * When it starts and completes follows from the registers of the instruction, which the block that
 * was entered last tells (sim_block_enter()). Where it is beyond that block, a load depends on the
 * load before it, as in a chase, and a store on nothing.
 */
void sim_mem_access(struct sim_cpu *cpu, uint64_t insns, uint64_t vaddr, uint64_t paddr,
		    unsigned int size, enum sim_kind kind);

/* Whether there may be a translation to drop. */
bool sim_tlb_filled(const struct sim_cpu *cpu);

/* All translations are dropped: INVPCID, a write to CR0 or CR4. */
void sim_tlb_flush(struct sim_cpu *cpu);

/* Those of one page are: INVLPG. */
void sim_tlb_flush_page(struct sim_cpu *cpu, uint64_t vaddr);

/* A write to CR3: the top table, the levels; without @keep all but global ones are dropped. */
void sim_tlb_tables(struct sim_cpu *cpu, uint64_t root, unsigned int depth, bool keep);

/* Which instruction makes the accesses that follow; any number that tells instructions apart. */
void sim_mem_from(struct sim_cpu *cpu, uint64_t pc);

struct sim_micro;

/**
 * sim_block_enter - code is about to run of which each instruction is known
 * @cpu: the vCPU
 * @insns: instructions executed so far
 * @micro: the instructions to come
 * @count: how many; those behind them are unknown
 */
void sim_block_enter(struct sim_cpu *cpu, uint64_t insns, const struct sim_micro *micro,
		     unsigned int count);

/* An exception was taken after so many instructions: what was left of the block is not executed. */
void sim_block_leave(struct sim_cpu *cpu, uint64_t insns);

/* The same where the access crosses a page: @next is the physical address of the second page. */
void sim_mem_access_pages(struct sim_cpu *cpu, uint64_t insns, uint64_t vaddr, uint64_t paddr,
			  uint64_t next, unsigned int size, enum sim_kind kind);

/* The line of an address leaves all caches of all vCPUs, as by SIM_CLFLUSH. */
void sim_flush_line(struct sim_cpu *cpu, uint64_t insns, uint64_t paddr);

/* WBINVD: every cache that this vCPU uses is written back and empty afterwards. */
void sim_writeback_all(struct sim_cpu *cpu, uint64_t insns);

/*
 * Tell how many instructions the vCPU has executed: before each read of a clock, counter or MSR.
 * The last one of them is the one that reads. Calls in between change nothing.
 */
void sim_cpu_instructions(struct sim_cpu *cpu, uint64_t insns);

/* Those of them which ran in ring 3; without this call all count as ring 0. */
void sim_cpu_user_instructions(struct sim_cpu *cpu, uint64_t insns);

/* A serializing instruction outside of known blocks (cpuid, wrmsr): all earlier ones complete. */
void sim_cpu_serialize(struct sim_cpu *cpu, uint64_t insns);

/* An interrupt or an exception was taken from module text: counted in the truth log's window. */
void sim_cpu_interrupt(struct sim_cpu *cpu);
void sim_cpu_exception(struct sim_cpu *cpu);

/* rdtsc and rdtscp in module text. Call sim_cpu_instructions() before. */
uint64_t sim_tsc(struct sim_cpu *cpu);

/* Whether a script wants a non-maskable interrupt since the last call. */
bool sim_cpu_take_nmi(struct sim_cpu *cpu);

/**
 * enum sim_msr_result - who answers an MSR access
 * @SIM_MSR_PASS: not modelled: QEMU's own result stands
 * @SIM_MSR_HANDLED: the model answered; QEMU must not act on a write, if it knows the MSR
 * @SIM_MSR_BOTH: the model took note, QEMU must execute it too
 * @SIM_MSR_GP: #GP(0)
 */
enum sim_msr_result {
	SIM_MSR_PASS,
	SIM_MSR_HANDLED,
	SIM_MSR_BOTH,
	SIM_MSR_GP,
};

/* Who makes the next accesses to registers: a module, or the kernel, as at the start. */
void sim_cpu_of_module(struct sim_cpu *cpu, bool of_module);

/*
 * rdmsr, wrmsr: logged unless passed, but for reads of APERF and MPERF by the kernel itself.
 * rdpmc: SIM_MSR_HANDLED or SIM_MSR_GP.
 */
enum sim_msr_result sim_msr_read(struct sim_cpu *cpu, uint32_t msr, uint64_t *value);
enum sim_msr_result sim_msr_write(struct sim_cpu *cpu, uint32_t msr, uint64_t value);
enum sim_msr_result sim_rdpmc(struct sim_cpu *cpu, uint32_t ecx, uint64_t *value);

/*
 * Interrupts on overflow, if the model has them: no counter overflows within sim_pmu_distance()
 * more instructions, unless a register is written or modelled loads are among them. It is 0 once
 * one has, and sim_pmu_interrupt() then says whether an interrupt is to be raised, once.
 */
bool sim_pmi_wanted(const struct sim_machine *machine);
bool sim_pmi_masks(const struct sim_machine *machine);
bool sim_pmu_interrupt(struct sim_cpu *cpu);
uint64_t sim_pmu_distance(const struct sim_cpu *cpu);

/**
 * sim_cpuid - correct what QEMU answers to cpuid in kernel code
 * @cpu: the vCPU
 * @leaf: eax before the instruction
 * @subleaf: ecx before the instruction
 * @regs: eax, ebx, ecx, edx: QEMU's own answer on entry, the model's on return
 *
 * To be called after QEMU executed the instruction: some leaves keep bits of QEMU's answer.
 *
 * Return: whether @regs changed.
 */
bool sim_cpuid(struct sim_cpu *cpu, uint32_t leaf, uint32_t subleaf, uint32_t regs[4]);

#endif
