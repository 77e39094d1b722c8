// SPDX-License-Identifier: GPL-2.0-only
/* Structs into the attributes of replies. */
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/nodemask.h>
#include <linux/numa.h>
#include <linux/sched/isolation.h>
#include <linux/topology.h>
#include <net/netlink.h>
#include <asm/processor.h>
#include <asm/tsc.h>
#include <uapi/linux/calm.h>

#include "buf.h"
#include "compat.h"
#include "job.h"
#include "loops/loops.h"
#include "model.h"
#include "pmu.h"
#include "prefetch.h"
#include "quiet.h"
#include "reply.h"
#include "worker.h"

/* ---- What there is ---- */

static int put_pmu(struct sk_buff *skb, const struct calm_pmu_info *pmu)
{
	struct nlattr *nest;

	if (!pmu->style)
		return 0;
	nest = nla_nest_start(skb, CALM_A_PROCESSOR_PMU);
	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, CALM_A_PMU_STYLE, pmu->style) ||
	    nla_put_u32(skb, CALM_A_PMU_VERSION, pmu->version) ||
	    nla_put_u64_64bit(skb, CALM_A_PMU_GENERAL, pmu->general, 0) ||
	    nla_put_u64_64bit(skb, CALM_A_PMU_FIXED, pmu->fixed, 0) ||
	    nla_put_u32(skb, CALM_A_PMU_WIDTH, pmu->width) ||
	    nla_put_u32(skb, CALM_A_PMU_FIXED_WIDTH, pmu->fixed_width))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_nodes(struct sk_buff *skb, unsigned int cpu)
{
	int own = cpu_to_node(cpu), memory = calm_buf_node_of(cpu);

	return (own != NUMA_NO_NODE && nla_put_u32(skb, CALM_A_PROCESSOR_NODE, own)) ||
	       (memory != own && nla_put_u32(skb, CALM_A_PROCESSOR_MEMORY_NODE, memory));
}

static int put_processor(struct sk_buff *skb, unsigned int cpu)
{
	const struct cpuinfo_x86 *c = &cpu_data(cpu);
	const struct calm_model *model = calm_model_find(cpu);
	struct nlattr *nest = nla_nest_start(skb, CALM_A_PROCESSOR);

	if (!nest)
		return -EMSGSIZE;
	if (put_pmu(skb, calm_pmu_info(cpu)) ||
	    (model && nla_put_string(skb, CALM_A_PROCESSOR_MICROARCH, model->name)) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_CORE_TYPE, calm_model_core_type(cpu)) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_ID, cpu) ||
	    (cpu_online(cpu) && nla_put_flag(skb, CALM_A_PROCESSOR_ONLINE)) ||
	    (!housekeeping_test_cpu(cpu, CALM_HK_ISOLCPUS) &&
	     nla_put_flag(skb, CALM_A_PROCESSOR_ISOLATED)) ||
	    put_nodes(skb, cpu) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_PACKAGE, topology_physical_package_id(cpu)) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_CORE, topology_core_id(cpu)) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_VENDOR, c->x86_vendor) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_FAMILY, c->x86) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_MODEL, c->x86_model) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_STEPPING, c->x86_stepping) ||
	    nla_put_u32(skb, CALM_A_PROCESSOR_MICROCODE, c->microcode))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

int calm_reply_put_info(struct sk_buff *skb)
{
	unsigned int cpu;

	if (nla_put_string(skb, CALM_A_VERSION, THIS_MODULE->version) ||
	    nla_put_u32(skb, CALM_A_ABI, CALM_ABI_VERSION) ||
	    nla_put_u32(skb, CALM_A_TSC_KHZ, tsc_khz))
		return -EMSGSIZE;
	for_each_possible_cpu(cpu)
		if (put_processor(skb, cpu))
			return -EMSGSIZE;
	return 0;
}

static int put_memory_node(struct sk_buff *skb, int node)
{
	struct nlattr *nest = nla_nest_start(skb, CALM_A_MEMORY_NODE);

	if (!nest || nla_put_u32(skb, CALM_A_MEMORY_NODE_ID, node) ||
	    nla_put_u64_64bit(skb, CALM_A_MEMORY_NODE_MAX_BYTES, calm_buf_node_limit(node), 0))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

int calm_reply_put_limits(struct sk_buff *skb)
{
	int node;

	for_each_node_state(node, N_MEMORY)
		if (put_memory_node(skb, node))
			return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, CALM_A_MAX_BYTES, calm_buf_limit(), 0) ||
	    nla_put_u32(skb, CALM_A_SAMPLES_LIMIT, CALM_SAMPLES_MAX) ||
	    nla_put_u32(skb, CALM_A_SLICE_US, calm_quiet_slice_us(1)))
		return -EMSGSIZE;
	return 0;
}

size_t calm_reply_info_size(void)
{
	size_t processor = nla_total_size(24 * nla_total_size(sizeof(u64)));

	return 256 + num_possible_cpus() * processor +
	       num_node_state(N_MEMORY) * nla_total_size(3 * nla_total_size(sizeof(u64)));
}

/* ---- Jobs ---- */

int calm_reply_put_spec(struct sk_buff *skb, const struct calm_job_spec *spec)
{
	u32 i;

	for (i = 0; i < spec->nr_cpus; i++)
		if (nla_put_u32(skb, CALM_A_CPU, spec->cpus[i]))
			return -EMSGSIZE;
	if (spec->node != NUMA_NO_NODE && nla_put_u32(skb, CALM_A_NODE, spec->node))
		return -EMSGSIZE;
	if (nla_put_string(skb, CALM_A_LOOP, spec->loop->name) ||
	    nla_put_u64_64bit(skb, CALM_A_SIZE_BYTES, spec->size_bytes, 0) ||
	    nla_put_u32(skb, CALM_A_STRIDE_BYTES, spec->stride_bytes) ||
	    nla_put_u32(skb, CALM_A_PAGES, spec->pages) ||
	    nla_put_u32(skb, CALM_A_ORDER, spec->order) ||
	    nla_put_u64_64bit(skb, CALM_A_LOADS, spec->loads, 0) ||
	    nla_put_u32(skb, CALM_A_ROUNDS, spec->rounds) ||
	    nla_put_u32(skb, CALM_A_SAMPLES, spec->samples) ||
	    nla_put_u32(skb, CALM_A_WARMUP, spec->warmup) ||
	    nla_put_u64_64bit(skb, CALM_A_SEED, spec->seed, 0) ||
	    nla_put_u32(skb, CALM_A_FLAGS, spec->flags) ||
	    nla_put_u32(skb, CALM_A_LANES, spec->lanes) ||
	    nla_put_u32(skb, CALM_A_TOTAL, spec->nr_cpus * spec->rounds *
			calm_worker_visits(spec) * spec->samples))
		return -EMSGSIZE;
	return 0;
}

int calm_reply_put_progress(struct sk_buff *skb, u32 id, const struct calm_job_progress *progress)
{
	if (nla_put_u32(skb, CALM_A_JOB, id) ||
	    nla_put_u32(skb, CALM_A_STATE, progress->state) ||
	    nla_put_u32(skb, CALM_A_READY, progress->ready) ||
	    nla_put_u32(skb, CALM_A_TOTAL, progress->total) ||
	    nla_put_u64_64bit(skb, CALM_A_BUILT_BYTES, progress->built_bytes, 0))
		return -EMSGSIZE;
	if (progress->error && nla_put_u32(skb, CALM_A_ERROR, progress->error))
		return -EMSGSIZE;
	if (progress->why && nla_put_string(skb, CALM_A_REASON, progress->why))
		return -EMSGSIZE;
	return 0;
}

int calm_reply_put_round(struct sk_buff *skb, const struct calm_round *round)
{
	const struct calm_mapping *map = &round->mapping;
	struct nlattr *nest = nla_nest_start(skb, CALM_A_ROUND);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, CALM_A_ROUND_INDEX, round->index) ||
	    nla_put_u32(skb, CALM_A_ROUND_CPU, round->cpu) ||
	    nla_put_u64_64bit(skb, CALM_A_ROUND_SEED, round->seed, 0) ||
	    nla_put_u64_64bit(skb, CALM_A_ROUND_LEAVES_4K, map->leaves_4k, 0) ||
	    nla_put_u64_64bit(skb, CALM_A_ROUND_LEAVES_2M, map->leaves_2m, 0) ||
	    nla_put_u64_64bit(skb, CALM_A_ROUND_LEAVES_1G, map->leaves_1g, 0) ||
	    nla_put_u64_64bit(skb, CALM_A_ROUND_ADJACENT_FRAMES, map->adjacent_frames, 0) ||
	    nla_put_u64_64bit(skb, CALM_A_ROUND_CONTIGUOUS_BYTES, map->contiguous_bytes, 0) ||
	    nla_put_u64_64bit(skb, CALM_A_ROUND_NODE_MASK, map->node_mask, 0) ||
	    nla_put_u64_64bit(skb, CALM_A_ROUND_LINES, round->lines, 0)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int put_counts(struct sk_buff *skb, int type, const u64 *list, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (nla_put_u64_64bit(skb, type, list[i], 0))
			return -EMSGSIZE;
	return 0;
}

static int put_all_counts(struct sk_buff *skb, const struct calm_job_counts *counts)
{
	return put_counts(skb, CALM_A_SAMPLE_COUNT, counts->pass, counts->nr) ||
	       put_counts(skb, CALM_A_SAMPLE_COUNT_EMPTY, counts->empty, counts->nr) ||
	       (counts->twice &&
		put_counts(skb, CALM_A_SAMPLE_COUNT_DOUBLE, counts->twice, counts->nr));
}

static int put_perf_clocks(struct sk_buff *skb, const struct calm_sample *sample)
{
	if (!sample->mperf)
		return 0;
	return nla_put_u64_64bit(skb, CALM_A_SAMPLE_APERF, sample->aperf, 0) ||
	       nla_put_u64_64bit(skb, CALM_A_SAMPLE_MPERF, sample->mperf, 0) ||
	       nla_put_u64_64bit(skb, CALM_A_SAMPLE_CLOCK_TSC, sample->clock_tsc, 0);
}

int calm_reply_put_sample(struct sk_buff *skb, u32 index, const struct calm_sample *sample,
			  const struct calm_job_counts *counts, bool has_settings)
{
	struct nlattr *nest = nla_nest_start(skb, CALM_A_SAMPLE);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, CALM_A_SAMPLE_INDEX, index) ||
	    nla_put_u32(skb, CALM_A_SAMPLE_CPU, sample->cpu) ||
	    nla_put_u32(skb, CALM_A_SAMPLE_ROUND, sample->round) ||
	    nla_put_u64_64bit(skb, CALM_A_SAMPLE_TSC, sample->tsc, 0) ||
	    (sample->tsc_double &&
	     nla_put_u64_64bit(skb, CALM_A_SAMPLE_TSC_DOUBLE, sample->tsc_double, 0)) ||
	    nla_put_u64_64bit(skb, CALM_A_SAMPLE_TSC_EMPTY, sample->tsc_empty, 0) ||
	    nla_put_u32(skb, CALM_A_SAMPLE_WINDOWS, sample->windows) ||
	    nla_put_u64_64bit(skb, CALM_A_SAMPLE_SLICE_TSC, sample->slice_tsc, 0) ||
	    nla_put_u32(skb, CALM_A_SAMPLE_DISTURB, sample->disturb) ||
	    (sample->counts_smis && nla_put_u32(skb, CALM_A_SAMPLE_SMIS, sample->smis)) ||
	    (has_settings && nla_put_u32(skb, CALM_A_SAMPLE_SETTING, sample->setting)) ||
	    nla_put_u32(skb, CALM_A_SAMPLE_INTERRUPTS, sample->interrupts) ||
	    (sample->layout && nla_put_u32(skb, CALM_A_SAMPLE_LAYOUT, sample->layout)) ||
	    put_perf_clocks(skb, sample) || put_all_counts(skb, counts)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

/* ---- Prefetchers ---- */

static int put_prefetcher(struct sk_buff *skb, const struct calm_prefetch_state *state, u32 index)
{
	const struct calm_prefetcher *row = &state->set->rows[index];
	const struct calm_prefetch_name *name = calm_prefetch_name(row->id);
	struct nlattr *nest = nla_nest_start(skb, CALM_A_PREFETCHER);
	u32 now = state->on & BIT(index) ? CALM_PREFETCH_ON : CALM_PREFETCH_OFF;

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_string(skb, CALM_A_PREFETCHER_NAME, name->name) ||
	    (!state->err && nla_put_u32(skb, CALM_A_PREFETCHER_STATE, now)) ||
	    nla_put_string(skb, CALM_A_PREFETCHER_KIND, name->kind) ||
	    nla_put_u32(skb, CALM_A_PREFETCHER_MSR, row->msr) ||
	    nla_put_u32(skb, CALM_A_PREFETCHER_BIT, row->bit) ||
	    (row->set_is_on && nla_put_flag(skb, CALM_A_PREFETCHER_SET_IS_ON)) ||
	    nla_put_u32(skb, CALM_A_PREFETCHER_SCOPE, state->set->scope) ||
	    (row->undocumented && nla_put_flag(skb, CALM_A_PREFETCHER_UNDOCUMENTED)) ||
	    nla_put_string(skb, CALM_A_PREFETCHER_SOURCE, row->source) ||
	    (state->held & BIT(index) && nla_put_flag(skb, CALM_A_PREFETCHER_HELD)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* The CPUs that share the registers of @first, all of them above it. */
int calm_reply_put_group(struct sk_buff *skb, unsigned int first,
			 const struct calm_prefetch_state *state)
{
	unsigned int cpu;
	u32 i;

	for_each_online_cpu(cpu)
		if (cpu >= first && calm_prefetch_shares(first, cpu) &&
		    nla_put_u32(skb, CALM_A_CPU, cpu))
			return -EMSGSIZE;
	for (i = 0; i < state->set->nr; i++)
		if (put_prefetcher(skb, state, i))
			return -EMSGSIZE;
	return state->err ? nla_put_u32(skb, CALM_A_ERROR, -state->err) : 0;
}
