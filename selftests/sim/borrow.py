#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The module's counters on modelled processors: exact counts, and every register as it was."""

import json
import math
import re
import subprocess

from lib.simtest import (TOP, check, expect_equal, model_text, named, once, read_model, run_guest,
                         run_tests, size_bytes)

LOADS = 4096
SAMPLES = 3
DISTURB_SMI = 2
# from 64 to 4096
LENGTHS = [64 * 3 * n for n in (1, 2, 3, 5, 8, 13, 21)] + [64, 128, 1024, 4096]


def msrs(first, last):
    """Numbers of registers."""
    return set(range(first, last + 1))


# what each style of PMU may have written to it, and nothing else
WRITABLE = {
    "intel": msrs(0x186, 0x18d) | msrs(0x4c1, 0x4c8) | msrs(0x309, 0x30b) | {0x38d, 0x38f, 0x390},
    "intel-narrow": msrs(0x186, 0x18d) | msrs(0xc1, 0xc8) | msrs(0x309, 0x30b)
                    | {0x38d, 0x38f, 0x390},
    "amd-v2": msrs(0xc0010200, 0xc001020b) | {0xc0000301, 0xc0000302},
    "amd-extcore": msrs(0xc0010200, 0xc001020b),
    "amd-legacy": msrs(0xc0010000, 0xc0010007),
}
# the TSC, APERF and MPERF, IRPERF, SMI count, DEBUGCTL, PEBS, DS area
NEVER_WRITTEN = {0x10, 0xe7, 0xe8, 0xc00000e9, 0x34, 0x1d9, 0x3f1, 0x600}

INTEL_EVENTS = ["fixed1", "fixed0", "8d1", "10d1"]
AMD_EVENTS = ["76", "c0", "f43", "e43"]

LEGACY = model_text("zen2").replace("amd-extcore", "amd-legacy").replace("gp = 6", "gp = 4")
NARROW = model_text("skylake-x").replace("full_width = yes", "full_width = no")

# name: model, style, events of cycles, instructions, L1 and L2 misses, edge of the clock in cycles
MACHINES = {
    "golden-cove": ("golden-cove", "intel", INTEL_EVENTS, 3),
    "skylake-x": ("skylake-x", "intel", INTEL_EVENTS, 1),
    "line128": ("line128", "intel", INTEL_EVENTS, 1),
    "zen4": ("zen4", "amd-v2", AMD_EVENTS, 1),
    "zen2": ("zen2", "amd-extcore", AMD_EVENTS, 1),
    "amd-legacy": (LEGACY, "amd-legacy", AMD_EVENTS, 1),
    "intel-narrow": (NARROW, "intel-narrow", INTEL_EVENTS, 1),
}


@once
def ask_program():
    """Build the client of these tests."""
    subprocess.run(["make", "-s", "-C", TOP, "build/selftests/ask"], check=True)
    return TOP / "build" / "selftests" / "ask"


def geometry(model):
    """[(size, latency)] of the levels of data, nearest first."""
    if "\n" in model:
        model = "zen2" if model == LEGACY else "skylake-x"
    sections = read_model(model)
    levels = [dict(rows) for head, rows in sections.items()
              if head.startswith("cache") and "l1i" not in head]
    return [(size_bytes(level["size"]), int(level["latency"])) for level in levels]


@once
def guest(name):
    """Jobs that fit level 1 and level 2, with every counter asked for, and one without any."""
    model, _, events, _ = MACHINES[name]
    levels = geometry(model)
    sizes = [levels[0][0] // 2, levels[1][0] // 2]
    command = "; ".join(f"/ask -f 1 -n {SAMPLES} -l {LOADS} -s {size} {' '.join(events)}"
                        for size in sizes)
    lengths = "; ".join(f"/ask -f 1 -n 1 -s {sizes[0]} -l {loads} {words}"
                        for words in (" ".join(events), "") for loads in LENGTHS)
    return run_guest(model, f"insmod /calm.ko && {{ {command}; /ask; {lengths}; }} && rmmod calm",
                     put=[ask_program()])


@once
def idle(name):
    """The same guest with no job in it."""
    return run_guest(MACHINES[name][0], "insmod /calm.ko && rmmod calm")


def samples(name):
    """Lists of samples, a list for each job."""
    jobs = [[]]
    for line in guest(name).output.splitlines():
        item = json.loads(line)
        check("reason" not in item and "refused" not in item, f"job failed: {line}")
        if "state" in item:
            jobs.append([])
        else:
            jobs[-1].append(item)
    return jobs[:-1]


def test_counts(name):
    """Cycles, instructions and misses of a pass, by two lengths and less the empty window's."""
    model, _, _, edge = MACHINES[name]
    levels = geometry(model)
    line = 128 if name == "line128" else 64
    for level, job in enumerate(samples(name)[:2]):
        check(len(job) == SAMPLES, f"{len(job)} samples")
        for sample in job:
            expect_equal(sample["disturb"], 0, "disturbances")
            cycles, insns, l1, l2 = (b - a for a, b in zip(sample["pass"], sample["twice"]))
            # elements are 64 bytes apart: a longer line holds several, in random order
            if line == 64:
                check(abs(cycles - LOADS * levels[level][1]) <= edge,
                      f"level {level + 1}: {cycles} cycles for {LOADS} loads of {levels[level][1]}")
            # a load, and a count and a branch for each 64 of them
            expect_equal(insns, LOADS + 2 * LOADS // 64, "instructions")
            if level == 0 or line == 64:
                expect_equal(l1, LOADS if level else 0, "misses of level 1")
            expect_equal(l2, 0, "misses of level 2")
            for index in (2, 3):
                expect_equal(sample["empty"][index], 0, "misses of an empty window")


def test_time_is_the_same_with_and_without(name):
    """Counters do not change the time of a window."""
    counted, plain = samples(name)[0][-1], samples(name)[2][-1]
    for key in ("tsc", "tsc_empty"):
        expect_equal(counted[key], plain[key], f"{key} with counters, and without")


def text_of(name):
    """The model of a machine."""
    model = MACHINES[name][0]
    return model if "\n" in model else model_text(model)


def step_of_clock(name):
    """Core cycles from one step of the TSC to the next, and by how much it grows then."""
    ratio = re.search(r"^core_ratio = (\d+)/(\d+)$", text_of(name), re.M)
    return (int(ratio[1]), int(ratio[2])) if ratio else (1, 1)


def test_lengths(name):
    """
    T(m) = overhead + m latencies, with one overhead for m = 0, 64 to 4096, and twice that, with and
    without counters, so that T(2n) - 2T(n) is 0 less the overhead. A core that is faster than the
    TSC ends a window with the step of the TSC behind it.
    """
    found = samples(name)[3:]
    expect_equal(len(found), 2 * len(LENGTHS), "jobs")
    levels, (cycles, ticks) = geometry(MACHINES[name][0]), step_of_clock(name)
    latency = levels[0][1]
    least, most = 0, math.inf
    for number, (sample,) in enumerate(found):
        loads = LENGTHS[number % len(LENGTHS)]
        for key, length in (("tsc_empty", 0), ("tsc", loads), ("tsc_double", 2 * loads)):
            text = f"{loads} loads, {len(sample['pass'])} counters: {key} {sample[key]}"
            expect_equal(sample[key] % ticks, 0, f"{text}: part of a step")
            end = sample[key] // ticks * cycles - length * latency
            least, most = max(least, end - cycles + 1), min(most, end)
            check(least <= most, f"{text}: {end} cycles beside its loads, before it {least} to {most}")


def accesses(run):
    """Register accesses, in order."""
    return [line for line in run.truth if line["type"] == "msr"]


def ours(name):
    """Accesses after those of the same guest without a job."""
    before = accesses(idle(name))
    return accesses(guest(name))[len(before):]


def test_registers(name):
    """Only the PMU's own registers are written, and never some."""
    written = {int(a["msr"], 16) for a in ours(name) if a["op"] == "write"}
    check(written, "nothing was written")
    expect_equal({hex(m) for m in written & NEVER_WRITTEN}, set(), "forbidden registers written")
    expect_equal({hex(m) for m in written - WRITABLE[MACHINES[name][1]]}, set(),
                 "other registers written")


def final(run):
    """Registers at the end, by CPU."""
    return {line["cpu"]: line["msrs"] for line in run.truth if line["type"] == "exit"}


def test_restored(name):
    """At the end each register is what it is without a job."""
    check(final(idle(name)), "no registers in the truth log")
    expect_equal(final(guest(name)), final(idle(name)), "registers at the end")


def test_accesses(name):
    """At most 4k + 12 register accesses in a slice that measures, k counters."""
    total, k = len(ours(name)), len(MACHINES[name][2])
    slices = sum(line["type"] == "window" for line in guest(name).truth)
    # two windows in each sample; once a round what is put back is read back
    expect_equal(slices, 2 * (2 * SAMPLES + 1) + 3 * len(LENGTHS), "slices")
    most = slices * (4 * k + 12)
    check(total <= most, f"{total} accesses in {slices} slices, at most {most}")


def test_interrupts(name):
    """No interrupt was taken from module text in a window."""
    windows = [line for line in guest(name).truth if line["type"] == "window"]
    check(windows, "no windows")
    expect_equal(sum(w["interrupts"] for w in windows), 0, "interrupts in windows")


def test_smi():
    """A scripted SMI marks the sample it fell into and no other."""
    run = run_guest("negative/scripted", "insmod /calm.ko && /ask -n 6 fixed1 fixed0 && rmmod calm",
                    put=[ask_program()])
    marks = [json.loads(line)["disturb"] for line in run.output.splitlines() if "disturb" in line]
    expect_equal(sum(1 for m in marks if m & DISTURB_SMI), 1, f"samples with an SMI of {marks}")


def test_held():
    """A counter that firmware left running keeps what it had, and goes on."""
    run = run_guest("negative/counter-held",
                    "insmod /calm.ko && /ask -n 3 fixed1 8d1 10d1 && rmmod calm",
                    put=[ask_program()])
    selects = {}
    for access in accesses(run):
        if re.fullmatch("0x18[6-9]", access["msr"]):
            selects.setdefault(access["msr"], access["value"])
    last = final(run)[0]
    for msr, value in selects.items():
        expect_equal(last[msr], value, f"event select {msr}")


if __name__ == "__main__":
    run_tests([named(f"{name}: {test.__name__[5:]}", test, name) for name in MACHINES
               for test in (test_counts, test_time_is_the_same_with_and_without, test_lengths,
                            test_registers, test_restored, test_accesses, test_interrupts)]
              + [test_smi, test_held])
