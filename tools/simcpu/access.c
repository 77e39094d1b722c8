// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory accesses and cache instructions of the guest, handed to the model. QEMU calls back for
 * loads and stores, but not for prefetches and flushes: these are decoded here.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "sim.h"
#include "vcpu.h"

#define PAGE_BYTES (1ULL << PAGE_SHIFT)
/* QEMU makes one callback for each 16 bytes of a wider access */
#define CALLBACK_BYTES 16

/* what the memory callback must know of its instruction, packed in its data pointer */
#define SITE_NT 1
#define SITE_BYTES_SHIFT 8
#define SITE_PC_SHIFT 16

/**
 * struct site - an instruction whose operand has to be found when it runs
 * @next: next one of the same hash
 * @vaddr: where it stands
 * @bytes: its bytes: other code may stand there later
 * @insn: decoded
 */
struct site {
	struct site *next;
	uint64_t vaddr;
	uint8_t bytes[SIM_INSN_BYTES_MAX];
	struct sim_insn insn;
};

/* blocks are translated again and again: one entry per instruction, kept for good */
static struct {
	pthread_mutex_t lock;
	struct site *bucket[1024];
} sites = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const struct {
	enum sim_op op;
	enum sim_kind kind;
} line_kinds[] = {
	{ SIM_OP_PREFETCH_T0, SIM_PREFETCH_T0 },
	{ SIM_OP_PREFETCH_W, SIM_PREFETCH_T0 },
	{ SIM_OP_PREFETCH_T1, SIM_PREFETCH_T1 },
	{ SIM_OP_PREFETCH_T2, SIM_PREFETCH_T2 },
	{ SIM_OP_PREFETCH_NTA, SIM_PREFETCH_NTA },
	{ SIM_OP_CLFLUSH, SIM_CLFLUSH },
	{ SIM_OP_CLFLUSHOPT, SIM_CLFLUSH },
	{ SIM_OP_CLWB, SIM_CLWB },
	{ SIM_OP_CLDEMOTE, SIM_CLDEMOTE },
};

static const struct site *find_site(struct qemu_plugin_insn *insn, const struct sim_insn *decoded)
{
	struct site wanted = { .vaddr = qemu_plugin_insn_vaddr(insn), .insn = *decoded };
	struct site **bucket = &sites.bucket[wanted.vaddr % 1021];
	struct site *site;

	qemu_plugin_insn_data(insn, wanted.bytes, sizeof(wanted.bytes));
	pthread_mutex_lock(&sites.lock);
	for (site = *bucket; site; site = site->next)
		if (site->vaddr == wanted.vaddr &&
		    !memcmp(site->bytes, wanted.bytes, sizeof(wanted.bytes)))
			break;
	if (!site) {
		site = malloc(sizeof(*site));
		if (!site)
			abort();
		wanted.next = *bucket;
		*site = wanted;
		*bucket = site;
	}
	pthread_mutex_unlock(&sites.lock);
	return site;
}

static uint64_t operand_address(struct vcpu *v, const struct sim_address *address)
{
	uint64_t regs[GENERAL_REGS] = { 0 }, segment_base = 0;

	if (address->base != SIM_REG_NONE)
		regs[address->base] = vcpu_reg(v, address->base);
	if (address->index != SIM_REG_NONE)
		regs[address->index] = vcpu_reg(v, address->index);
	if (address->segment == SIM_SEG_FS)
		segment_base = vcpu_read(v, v->fs_base);
	else if (address->segment == SIM_SEG_GS)
		segment_base = vcpu_read(v, v->gs_base);
	return sim_effective_address(address, regs, segment_base);
}

static void line_op(unsigned int cpu, void *data)
{
	const struct site *site = data;
	struct vcpu *v = vcpu_get(cpu);
	uint64_t vaddr = operand_address(v, &site->insn.address), paddr;
	uint64_t insns = v->score->insns;

	/* a prefetch of an unmapped page does nothing; a flush of one faults natively */
	if (!qemu_plugin_translate_vaddr(vaddr, &paddr))
		return;
	for (size_t i = 0; i < sizeof(line_kinds) / sizeof(line_kinds[0]); i++)
		if (line_kinds[i].op == site->insn.op)
			sim_mem_access(v->sim, insns, vaddr, paddr, 1, line_kinds[i].kind);
}

static void write_back_all(unsigned int cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	(void)data;
	sim_writeback_all(v->sim, v->score->insns);
}

/* the frames that were known may be wrong from here on */
static void forget_pages(struct vcpu *v)
{
	v->generation += PAGE_GENERATION;
	if (!v->generation) {
		memset(v->page, 0, sizeof(v->page));
		v->generation = PAGE_GENERATION;
	}
}

/*
 * MOV to CR3: bit 63 keeps what is in the TLB (SDM volume 3, 4.10.4.1). CR4 bit 12 says that there
 * are five levels, and cannot change while there is paging (2.5 there): the first one tells.
 */
static void load_tables(struct vcpu *v, uint64_t cr3)
{
	if (!v->table_levels)
		v->table_levels = vcpu_read(v, v->cr4) & 1 << 12 ? 5 : 4;
	sim_tlb_tables(v->sim, cr3, v->table_levels, cr3 >> 63);
}

/* where the opcode stands, behind prefixes of which only REX.B matters */
static const uint8_t *opcode_of(const struct site *site, unsigned int *rex)
{
	const uint8_t *byte = site->bytes;

	for (*rex = 0; *byte != 0x0f; byte++)
		if ((*byte & 0xf0) == 0x40)
			*rex = *byte;
	return byte;
}

/* INVLPG drops a page; MOV to a control register, told by its number; INVPCID counts as all */
static void drop_translations(unsigned int cpu, void *data)
{
	const struct site *site = data;
	struct vcpu *v = vcpu_get(cpu);
	unsigned int rex;
	const uint8_t *op = opcode_of(site, &rex);

	forget_pages(v);
	if (op[1] == 0x22 && (op[2] >> 3 & 7) == 3)
		load_tables(v, vcpu_reg(v, (op[2] & 7) | (rex & 1) << 3));
	else if (!sim_tlb_filled(v->sim))
		return;
	else if (op[1] == 0x01)
		sim_tlb_flush_page(v->sim, operand_address(v, &site->insn.address));
	else
		sim_tlb_flush(v->sim);
}

static bool is_line_op(enum sim_op op)
{
	for (size_t i = 0; i < sizeof(line_kinds) / sizeof(line_kinds[0]); i++)
		if (line_kinds[i].op == op)
			return true;
	return false;
}

static bool is_write_back(enum sim_op op)
{
	return op == SIM_OP_WBINVD || op == SIM_OP_WBNOINVD || op == SIM_OP_INVD;
}

static bool is_prefetch(enum sim_op op)
{
	return op >= SIM_OP_PREFETCH_T0 && op <= SIM_OP_PREFETCH_W;
}

bool access_wants(enum sim_op op, uint64_t vaddr)
{
	if (is_prefetch(op))
		return in_module(vaddr);
	return is_line_op(op) || is_write_back(op) || op == SIM_OP_TLB;
}

void access_cache_op(struct qemu_plugin_insn *insn, const struct sim_insn *decoded)
{
	if (is_line_op(decoded->op) && decoded->has_address)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, line_op, QEMU_PLUGIN_CB_R_REGS,
						       (void *)find_site(insn, decoded));
	else if (is_write_back(decoded->op))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, write_back_all,
						       QEMU_PLUGIN_CB_NO_REGS, NULL);
	else if (decoded->op == SIM_OP_TLB)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, drop_translations,
						       QEMU_PLUGIN_CB_R_REGS,
						       (void *)find_site(insn, decoded));
}

/* the way through QEMU; false for device memory */
static bool __attribute__((noinline)) ask_frame(struct vcpu *v, uint32_t info, uint64_t vaddr,
						uint64_t *paddr)
{
	struct page *page = &v->page[(vaddr >> PAGE_SHIFT) % PAGE_ENTRIES];
	struct qemu_plugin_hwaddr *hwaddr = qemu_plugin_get_hwaddr(info, vaddr);

	if (!hwaddr || qemu_plugin_hwaddr_is_io(hwaddr))
		return false;
	*paddr = qemu_plugin_hwaddr_phys_addr(hwaddr);
	page->tag = vaddr >> PAGE_SHIFT | v->generation;
	page->frame = *paddr & -PAGE_BYTES;
	return true;
}

/*
 * A TLB of the plugin's own, since asking QEMU takes longer than a modelled hit. It holds what a
 * processor's TLB may hold, and is emptied where the guest must empty that one.
 */
static inline bool find_frame(struct vcpu *v, uint32_t info, uint64_t vaddr, uint64_t *paddr)
{
	const struct page *page = &v->page[(vaddr >> PAGE_SHIFT) % PAGE_ENTRIES];

	if (page->tag != (vaddr >> PAGE_SHIFT | v->generation))
		return ask_frame(v, info, vaddr, paddr);
	*paddr = page->frame | vaddr % PAGE_BYTES;
	return true;
}

/* Prefetchers look at addresses that no instruction has touched: QEMU walks the guest's tables. */
bool access_translate(void *data, unsigned int cpu, uint64_t vaddr, uint64_t *paddr)
{
	const struct vcpu *v = vcpu_get(cpu);
	const struct page *page = &v->page[(vaddr >> PAGE_SHIFT) % PAGE_ENTRIES];

	(void)data;
	if (page->tag != (vaddr >> PAGE_SHIFT | v->generation))
		return qemu_plugin_translate_vaddr(vaddr, paddr);
	*paddr = page->frame | vaddr % PAGE_BYTES;
	return true;
}

bool access_read(void *data, unsigned int cpu, uint64_t vaddr, uint64_t *value)
{
	struct vcpu *v = vcpu_get(cpu);

	(void)data;
	g_byte_array_set_size(v->buf, 0);
	if (!qemu_plugin_read_memory_vaddr(vaddr, v->buf, sizeof(*value)) ||
	    v->buf->len < sizeof(*value))
		return false;
	memcpy(value, v->buf->data, sizeof(*value));
	return true;
}

bool access_read_physical(void *data, uint64_t paddr, uint64_t *value)
{
	/* one for each thread, as vCPUs walk their tables at once */
	static __thread GByteArray *buf;

	(void)data;
	if (!buf)
		buf = g_byte_array_new();
	g_byte_array_set_size(buf, 0);
	if (qemu_plugin_read_memory_hwaddr(paddr, buf, sizeof(*value)) ||
	    buf->len < sizeof(*value))
		return false;
	memcpy(value, buf->data, sizeof(*value));
	return true;
}

static inline void access(unsigned int cpu, uint32_t info, uint64_t vaddr, uintptr_t site,
			  enum sim_kind kind)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t insns = v->score->insns, paddr, next;
	unsigned int bytes = site >> SITE_BYTES_SHIFT & 0xff;

	if (!bytes)
		bytes = 1u << qemu_plugin_mem_size_shift(info);
	if (bytes > CALLBACK_BYTES) {
		/* only the first of the callbacks of one execution */
		if (v->wide == insns)
			return;
		v->wide = insns;
	}
	if (!find_frame(v, info, vaddr, &paddr))
		return;
	sim_mem_from(v->sim, site >> SITE_PC_SHIFT);
	if (vaddr % PAGE_BYTES + bytes <= PAGE_BYTES)
		sim_mem_access(v->sim, insns, vaddr, paddr, bytes, kind);
	else if (qemu_plugin_translate_vaddr(vaddr + bytes - 1, &next))
		sim_mem_access_pages(v->sim, insns, vaddr, paddr, next & -PAGE_BYTES, bytes, kind);
}

/* a non-temporal load of write-back memory is an ordinary one (SDM vol. 2, MOVNTDQA) */
static void __attribute__((flatten)) load(unsigned int cpu, uint32_t info, uint64_t vaddr,
					  void *data)
{
	access(cpu, info, vaddr, (uintptr_t)data, SIM_LOAD);
}

static void store(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data)
{
	uintptr_t site = (uintptr_t)data;
	struct vcpu *v = vcpu_get(cpu);

	v->module_store = v->score->insns;
	access(cpu, info, vaddr, site, site & SITE_NT ? SIM_STORE_NT : SIM_STORE);
}

static void empty(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data)
{
	(void)cpu;
	(void)info;
	(void)vaddr;
	(void)data;
}

/* size of the operand where it is that of each access, else 0: QEMU tells it at each access */
static unsigned int access_bytes(const struct sim_insn *decoded)
{
	unsigned int bytes = decoded->memory_bytes;

	return decoded->has_address && bytes <= 64 && !(bytes & (bytes - 1)) ? bytes : 0;
}

void access_memory(struct qemu_plugin_insn *insn, const struct sim_insn *decoded,
		   enum access_mode mode)
{
	void *site = (void *)(qemu_plugin_insn_vaddr(insn) << SITE_PC_SHIFT |
			      (uintptr_t)access_bytes(decoded) << SITE_BYTES_SHIFT |
			      (decoded->op == SIM_OP_NT_STORE ? SITE_NT : 0));

	if (mode == ACCESS_EMPTY) {
		qemu_plugin_register_vcpu_mem_cb(insn, empty, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, site);
		return;
	}
	qemu_plugin_register_vcpu_mem_cb(insn, load, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_R,
					 site);
	qemu_plugin_register_vcpu_mem_cb(insn, store, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_W,
					 site);
}
