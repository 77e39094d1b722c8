/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory accesses and cache instructions of the guest, handed to the model. */
#ifndef SIMCPU_ACCESS_H
#define SIMCPU_ACCESS_H

#include <stdbool.h>

#include "abi.h"
#include "decode.h"

/* what the memory callback does, for comparing speeds */
enum access_mode { ACCESS_MODEL, ACCESS_EMPTY };

/*
 * Whether the model must see an instruction for which QEMU makes no memory callback: prefetches of
 * module text, as loads and stores are, but what empties caches or TLBs wherever the kernel does.
 */
bool access_wants(enum sim_op op, uint64_t vaddr);

/* Register what an instruction needs that acts on caches. */
void access_cache_op(struct qemu_plugin_insn *insn, const struct sim_insn *decoded);

/* Register the memory callback of an ordinary instruction. */
void access_memory(struct qemu_plugin_insn *insn, const struct sim_insn *decoded,
		   enum access_mode mode);

/* For struct sim_memory. */
bool access_translate(void *data, unsigned int cpu, uint64_t vaddr, uint64_t *paddr);
bool access_read(void *data, unsigned int cpu, uint64_t vaddr, uint64_t *value);
bool access_read_physical(void *data, uint64_t paddr, uint64_t *value);

#endif
