// SPDX-License-Identifier: GPL-2.0-only
/* simcpu as QEMU sees it: options, and which guest instructions call back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "access.h"
#include "block.h"
#include "decode.h"
#include "intercept.h"
#include "landing.h"
#include "pmi.h"
#include "sim.h"
#include "vcpu.h"

#define OPTIONS "model=FILE[,truth=FILE][,detail=no|yes][,memory=model|empty]" \
		"[,icount=no|yes]"

const int qemu_plugin_version = QEMU_PLUGIN_API;

static struct {
	const char *model_path, *truth_path;
	enum access_mode memory;
	bool detail;
	bool icount;
} options;

static struct sim_model *model;
static struct sim_machine *machine;
static FILE *truth;

static const struct qemu_plugin_u64 *insns_word(void)
{
	static struct qemu_plugin_u64 word = { .offset = offsetof(struct score, insns) };

	word.score = vcpu_scores;
	return &word;
}

/* outside the kernel's half: count, and touch nothing: firmware, decompressor, user space */
static void translate_user(struct qemu_plugin_tb *tb)
{
	struct qemu_plugin_u64 user = { vcpu_scores, offsetof(struct score, user_insns) };
	size_t n = qemu_plugin_tb_n_insns(tb);

	pmi_block(tb, n, false);
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_ADD_U64,
							  *insns_word(), n);
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_ADD_U64, user, n);
}

/* decode fully only where that can matter: most kernel code is told by its first bytes */
static struct sim_insn decode(struct qemu_plugin_insn *insn, uint64_t vaddr)
{
	uint8_t bytes[SIM_INSN_BYTES_MAX];
	size_t length = qemu_plugin_insn_data(insn, bytes, sizeof(bytes));
	struct sim_insn decoded = {
		.op = sim_decode_op(bytes, length), .length = length, .micro = SIM_MICRO_NONE,
	};

	if ((in_module(vaddr) || access_wants(decoded.op, vaddr)) &&
	    !sim_decode(bytes, length, vaddr, &decoded))
		decoded.touches_memory = true;
	return decoded;
}

/* returns whether the instruction count must be right when this instruction runs */
static bool needs_count(const struct sim_insn *decoded, uint64_t vaddr)
{
	return intercept_wants(decoded->op, vaddr) || access_wants(decoded->op, vaddr) ||
	       (in_module(vaddr) && decoded->touches_memory);
}

static void translate_kernel(struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	struct sim_micro *micro = calloc(n, sizeof(*micro));
	uint64_t uncounted = 0;

	if (!micro)
		abort();
	intercept_block(tb);
	pmi_block(tb, n, in_module(qemu_plugin_tb_vaddr(tb)));
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		struct qemu_plugin_insn *next = i + 1 < n ? qemu_plugin_tb_get_insn(tb, i + 1) :
							    NULL;
		uint64_t vaddr = qemu_plugin_insn_vaddr(insn);
		struct sim_insn decoded = decode(insn, vaddr);

		micro[i] = decoded.micro;
		uncounted++;
		if (!next || needs_count(&decoded, vaddr)) {
			qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
				insn, QEMU_PLUGIN_INLINE_ADD_U64, *insns_word(), uncounted);
			uncounted = 0;
		}
		if (intercept_wants(decoded.op, vaddr))
			intercept_insn(insn, decoded.op, next);
		else if (access_wants(decoded.op, vaddr))
			access_cache_op(insn, &decoded);
		else if (in_module(vaddr) && decoded.touches_memory)
			access_memory(insn, &decoded, options.memory);
	}
	if (in_module(qemu_plugin_tb_vaddr(tb)) && options.memory == ACCESS_MODEL)
		block_register(tb, micro, n);
	free(micro);
}

static void translate(struct qemu_plugin_tb *tb, void *data)
{
	(void)data;
	if (in_kernel(qemu_plugin_tb_vaddr(tb)))
		translate_kernel(tb);
	else
		translate_user(tb);
}

static void vcpu_init(unsigned int cpu, void *data)
{
	struct sim_cpu *sim = sim_cpu_new(machine, cpu);

	(void)data;
	if (!sim || !vcpu_new(cpu, sim)) {
		fprintf(stderr, "simcpu: vCPU %u cannot be set up\n", cpu);
		exit(EXIT_FAILURE);
	}
}

static void at_exit(void *data)
{
	(void)data;
	sim_machine_exit(machine);
	/* not closed: a vCPU that QEMU did not stop may still write to it */
	if (truth && (fflush(truth) || ferror(truth)))
		fprintf(stderr, "simcpu: %s: write failed\n", options.truth_path);
}

static const char *value_of(const char *arg, const char *key)
{
	size_t len = strlen(key);

	return !strncmp(arg, key, len) && arg[len] == '=' ? arg + len + 1 : NULL;
}

static bool parse_memory(const char *value)
{
	if (!strcmp(value, "empty"))
		options.memory = ACCESS_EMPTY;
	else if (strcmp(value, "model"))
		return false;
	return true;
}

static bool parse_switch(const char *value, bool *on)
{
	*on = !strcmp(value, "yes");
	return *on || !strcmp(value, "no");
}

static bool parse_option(const char *arg)
{
	const char *value;

	if ((value = value_of(arg, "model")))
		options.model_path = value;
	else if ((value = value_of(arg, "truth")))
		options.truth_path = value;
	else if ((value = value_of(arg, "detail")))
		return parse_switch(value, &options.detail);
	else if ((value = value_of(arg, "icount")))
		return parse_switch(value, &options.icount);
	else if ((value = value_of(arg, "memory")))
		return parse_memory(value);
	else
		return false;
	return true;
}

static bool parse_options(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (!parse_option(argv[i])) {
			fprintf(stderr, "simcpu: option '%s': expected %s\n", argv[i], OPTIONS);
			return false;
		}
	}
	if (!options.model_path)
		fprintf(stderr, "simcpu: no model given: expected %s\n", OPTIONS);
	return options.model_path;
}

static const struct sim_memory memory = {
	.read = access_read,
	.translate = access_translate,
	.read_physical = access_read_physical,
};

static bool build_machine(unsigned int cpus)
{
	char err[256];

	model = sim_model_load(options.model_path, err, sizeof(err));
	if (!model) {
		fprintf(stderr, "simcpu: %s\n", err);
		return false;
	}
	if (options.truth_path) {
		truth = fopen(options.truth_path, "w");
		if (!truth) {
			perror(options.truth_path);
			return false;
		}
	}
	machine = sim_machine_new(model, cpus, truth);
	if (!machine) {
		perror("simcpu");
		return false;
	}
	sim_machine_set_memory(machine, &memory);
	if (options.detail)
		sim_machine_detail(machine);
	pmi_init(machine);
	return true;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	if (!info->system_emulation || strcmp(info->target, "x86_64")) {
		fprintf(stderr, "simcpu: made for qemu-system-x86_64\n");
		return -1;
	}
	vcpu_count = info->system.smp_vcpus;
	if (vcpu_count > VCPU_MAX) {
		fprintf(stderr, "simcpu: %u vCPUs: at most %u\n", vcpu_count, VCPU_MAX);
		return -1;
	}
	if (!parse_options(argc, argv) || !build_machine(vcpu_count))
		return -1;
	/* counting instructions, QEMU ends a block with each one that reads a clock */
	if (!landing_init(options.icount)) {
		perror("simcpu");
		return -1;
	}
	vcpu_scores = qemu_plugin_scoreboard_new(sizeof(struct score));
	qemu_plugin_register_vcpu_init_cb(id, vcpu_init, NULL);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate, NULL);
	qemu_plugin_register_vcpu_discon_cb(id, QEMU_PLUGIN_DISCON_INTERRUPT |
					    QEMU_PLUGIN_DISCON_EXCEPTION, intercept_discon, NULL);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
