// SPDX-License-Identifier: GPL-2.0-only
/* Whether a job can be run: what depends on two attributes, on the machine or on the model. */
#include <linux/cpumask.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/nodemask.h>
#include <linux/security.h>
#include <linux/sizes.h>
#include <asm/fpu/api.h>
#include <asm/fpu/types.h>
#include <uapi/linux/calm.h>

#include "check.h"
#include "pmu.h"
#include "prefetch.h"
#include "worker.h"

#define LINES_MIN 2

static bool refuse_nth(struct calm_refusal *refusal, int err, u32 attr, u32 nth, const char *why)
{
	*refusal = (struct calm_refusal){ err, attr, nth, why };
	return false;
}

static bool refuse(struct calm_refusal *refusal, int err, u32 attr, const char *why)
{
	return refuse_nth(refusal, err, attr, 0, why);
}

static bool check_cpus(const struct calm_job_spec *spec, struct calm_refusal *refusal)
{
	u32 i, j;

	for (i = 0; i < spec->nr_cpus; i++) {
		u32 cpu = spec->cpus[i];

		if (cpu >= nr_cpu_ids || !cpu_possible(cpu))
			return refuse_nth(refusal, -ENODEV, CALM_A_CPU, i, "no such CPU");
		if (!cpu_online(cpu))
			return refuse_nth(refusal, -ENODEV, CALM_A_CPU, i, "CPU is not online");
		for (j = 0; j < i; j++)
			if (spec->cpus[j] == cpu)
				return refuse_nth(refusal, -EINVAL, CALM_A_CPU, i,
						  "CPU is given twice");
	}
	return true;
}

static int node_of(const struct calm_job_spec *spec, u32 index)
{
	return spec->node == NUMA_NO_NODE ? calm_buf_node_of(spec->cpus[index]) : spec->node;
}

/* Buffers of CPUs with the same node share what it has. */
static bool check_node(const struct calm_job_spec *spec, u32 index, struct calm_refusal *refusal)
{
	int node = node_of(spec, index);
	u32 i, sharing = 0;

	for (i = 0; i < spec->nr_cpus; i++)
		sharing += node_of(spec, i) == node;
	if (spec->size_bytes > div_u64(calm_buf_node_limit(node), sharing))
		return refuse(refusal, -ENOMEM, CALM_A_SIZE_BYTES,
			      "buffer is larger than free memory of its node less the reserve");
	return true;
}

static bool check_memory(const struct calm_job_spec *spec, struct calm_refusal *refusal)
{
	u32 i;

	if (spec->size_bytes > div_u64(calm_buf_limit(), spec->nr_cpus))
		return refuse(refusal, -ENOMEM, CALM_A_SIZE_BYTES,
			      "buffer is larger than free memory less the reserve, or than max_bytes");
	for (i = 0; i < spec->nr_cpus; i++)
		if (!check_node(spec, i, refusal))
			return false;
	return true;
}

/* Both halves of a buffer that is copied begin with a line of any size known. */
#define COPY_UNIT 512

static bool copies(const struct calm_job_spec *spec)
{
	return spec->loop->visit == CALM_VISIT_COPY;
}

static bool check_buffer(struct calm_job_spec *spec, struct calm_refusal *refusal)
{
	if (!copies(spec) && spec->stride_bytes % sizeof(void *))
		return refuse(refusal, -EINVAL, CALM_A_STRIDE_BYTES,
			      "stride must be a multiple of 8");
	if (spec->loop->visit == CALM_VISIT_LINEAR &&
	    spec->stride_bytes < spec->loop->access_bytes)
		return refuse(refusal, -EINVAL, CALM_A_STRIDE_BYTES,
			      "stride is shorter than a load");
	if (copies(spec) && spec->size_bytes < COPY_UNIT)
		return refuse(refusal, -ERANGE, CALM_A_SIZE_BYTES,
			      "a buffer to copy in must have at least 512 bytes");
	spec->size_bytes -= spec->size_bytes % (copies(spec) ? COPY_UNIT : spec->stride_bytes);
	if (spec->size_bytes < LINES_MIN * spec->stride_bytes)
		return refuse(refusal, -ERANGE, CALM_A_SIZE_BYTES,
			      "buffer must hold at least two strides");
	if (spec->pages == CALM_PAGES_4K && spec->flags & CALM_F_CONTIGUOUS)
		return refuse(refusal, -EINVAL, CALM_A_FLAGS,
			      "shuffled frames are not contiguous; ask for other pages");
	if (spec->node != NUMA_NO_NODE &&
	    (spec->node >= MAX_NUMNODES || !node_state(spec->node, N_MEMORY)))
		return refuse(refusal, -ENODEV, CALM_A_NODE, "no such memory node");
	return check_memory(spec, refusal);
}

/* Their elements must be within the buffer that has been cut to whole strides. */
static bool check_layouts(const struct calm_job_spec *spec, struct calm_refusal *refusal)
{
	u32 i;

	if (spec->nr_layouts && spec->loop->visit != CALM_VISIT_CHAIN)
		return refuse(refusal, -EINVAL, CALM_A_LAYOUT,
			      "the loop does not follow a chain");
	if (spec->nr_layouts && spec->order != CALM_ORDER_RANDOM)
		return refuse(refusal, -EINVAL, CALM_A_ORDER,
			      "the elements of a layout are visited in random order");
	for (i = 0; i < spec->nr_layouts; i++) {
		if (spec->layouts[i].lines < LINES_MIN)
			return refuse_nth(refusal, -ERANGE, CALM_A_LAYOUT, i,
					  "a layout must have at least two lines");
		if (!calm_chain_fits(&spec->layouts[i], spec->size_bytes))
			return refuse_nth(refusal, -ERANGE, CALM_A_LAYOUT, i,
					  "a layout's elements overlap or do not fit the buffer");
	}
	return true;
}

static bool check_amounts(const struct calm_job_spec *spec, struct calm_refusal *refusal)
{
	u64 most = div_u64(CALM_SAMPLES_MAX,
			   spec->nr_cpus * spec->rounds * calm_worker_visits(spec));

	if (spec->samples > most)
		return refuse(refusal, -ERANGE, CALM_A_SAMPLES,
			      "CPUs, rounds, settings and layouts together are above the limit of samples");
	return true;
}

/* Events must find counters on each CPU of the job. */
static bool check_events(const struct calm_job_spec *spec, struct calm_refusal *refusal)
{
	struct calm_pmu_plan plan;
	const char *why;
	u32 i;
	int err;

	if (spec->nr_events > spec->loop->counters)
		return refuse_nth(refusal, -ENOSPC, CALM_A_EVENT, spec->loop->counters,
				  "the loop has no registers for so many counters");
	for (i = 0; i < spec->nr_cpus; i++) {
		err = calm_pmu_assign(&plan, spec->cpus[i], spec->events, spec->nr_events, &why);
		if (err)
			return refuse_nth(refusal, err, CALM_A_EVENT, plan.guilty, why);
	}
	return true;
}

static bool check_prefetch(const struct calm_job_spec *spec, struct calm_refusal *refusal)
{
	struct calm_prefetch_fault fault;
	u32 attr = spec->hold ? CALM_A_SWITCH : CALM_A_SETTING;
	int err = calm_prefetch_check(spec, &fault);

	return err ? refuse(refusal, err, attr, fault.why) : true;
}

/* Only what the module itself has changed goes back to what it was, as at an unload. */
static bool restores(const struct calm_job_spec *spec)
{
	const struct calm_prefetch_setting *setting = &spec->settings[0];

	return spec->hold && !setting->off && !setting->on &&
	       (!setting->all || setting->all == CALM_PREFETCH_FOUND);
}

/* Registers are written for both; without either none is. */
static bool check_lockdown(const struct calm_job_spec *spec, struct calm_refusal *refusal)
{
	u32 attr = spec->hold ? CALM_A_SWITCH :
		spec->nr_settings ? CALM_A_SETTING : CALM_A_EVENT;

	if ((spec->nr_events || spec->nr_settings) && !restores(spec) &&
	    security_locked_down(LOCKDOWN_MSR))
		return refuse(refusal, -EPERM, attr,
			      "kernel lockdown forbids writing model-specific registers");
	return true;
}

/* A chain is built in any order, other loops have their own. */
static bool takes_order(const struct calm_loop *loop, u32 order)
{
	switch (loop->visit) {
	case CALM_VISIT_LINEAR:
	case CALM_VISIT_COPY:
		return order == CALM_ORDER_LINEAR;
	case CALM_VISIT_SCATTER:
		return order == CALM_ORDER_RANDOM;
	default:
		return true;
	}
}

static bool check_order(const struct calm_job_spec *spec, struct calm_refusal *refusal)
{
	if (!takes_order(spec->loop, spec->order))
		return refuse(refusal, -EINVAL, CALM_A_ORDER,
			      "the loop visits its elements in another order");
	if (spec->order == CALM_ORDER_PAGE_LOCAL && SZ_4K % spec->stride_bytes &&
	    spec->stride_bytes % SZ_4K)
		return refuse(refusal, -EINVAL, CALM_A_STRIDE_BYTES,
			      "by page the stride must divide 4096, or be a multiple of it");
	return true;
}

/* Instructions, and registers that the kernel saves: either may be there without the other. */
static bool has_avx2(void)
{
	return boot_cpu_has(X86_FEATURE_AVX2) &&
	       cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL);
}

static bool has_avx512(void)
{
	return boot_cpu_has(X86_FEATURE_AVX512F) &&
	       cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM | XFEATURE_MASK_AVX512,
				 NULL);
}

/* What the processor lacks, with what there is instead; NULL: nothing. */
static const char *lacks(u32 needs)
{
	if (needs & CALM_LOOP_SSE42 && !boot_cpu_has(X86_FEATURE_XMM4_2))
		return "the loop needs a processor with SSE4.2";
	if (needs & CALM_LOOP_AVX512 && !has_avx512())
		return has_avx2() ?
			"loads of 64 bytes need AVX-512, only widths 8, 16 and 32 are here" :
			"loads of 64 bytes need AVX-512, only widths 8 and 16 are here";
	if (needs & CALM_LOOP_AVX2 && !has_avx2())
		return "loads of 32 bytes need AVX2, only widths 8 and 16 are here";
	return NULL;
}

static bool check_loop(const struct calm_job_spec *spec, struct calm_refusal *refusal)
{
	const char *why = lacks(spec->loop->needs);

	if (why)
		return refuse(refusal, -EOPNOTSUPP, CALM_A_LOOP, why);
	if (spec->lanes > 1 && spec->loop->visit != CALM_VISIT_LANES)
		return refuse(refusal, -EINVAL, CALM_A_LANES, "the loop has one lane");
	if (spec->loads % spec->lanes)
		return refuse(refusal, -EINVAL, CALM_A_LOADS,
			      "loads must be a multiple of the lanes");
	return check_order(spec, refusal);
}

/* What a loop that computes places of elements, and one with several lanes, can work with. */
static bool check_lines(const struct calm_job_spec *spec, struct calm_refusal *refusal)
{
	u64 lines = div_u64(spec->size_bytes, spec->stride_bytes);

	if (spec->lanes > lines)
		return refuse(refusal, -ERANGE, CALM_A_SIZE_BYTES,
			      "the buffer must hold a stride for each lane");
	if (spec->loop->visit != CALM_VISIT_SCATTER)
		return true;
	if (!is_power_of_2(spec->stride_bytes))
		return refuse(refusal, -EINVAL, CALM_A_STRIDE_BYTES,
			      "the loop needs a stride that is a power of two");
	if (!is_power_of_2(lines) || lines > BIT_ULL(32))
		return refuse(refusal, -EINVAL, CALM_A_SIZE_BYTES,
			      "the loop needs a size that is a power of two, of 2^32 strides at most");
	return true;
}

bool calm_check_job(struct calm_job_spec *spec, struct calm_refusal *refusal)
{
	if (!check_lockdown(spec, refusal))
		return false;
	if (spec->hold)
		return check_cpus(spec, refusal) && check_prefetch(spec, refusal);
	if (!spec->loop)
		return refuse(refusal, -ENOENT, CALM_A_LOOP, "no such loop");
	return check_loop(spec, refusal) && check_cpus(spec, refusal) &&
	       check_amounts(spec, refusal) && check_buffer(spec, refusal) &&
	       check_lines(spec, refusal) && check_layouts(spec, refusal) &&
	       check_events(spec, refusal) &&
	       check_prefetch(spec, refusal);
}
