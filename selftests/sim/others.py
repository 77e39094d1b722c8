#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Guests on 128-byte lines and on machines that are not in order: what the kernel says, what counts."""

import re

from lib.simtest import (build_module, check, expect_equal, named, once, read_model, run_guest,
                         run_tests)

# 24 bits of cycles end within the longer window
LONG = 1 << 22

# per model: what the kernel says of it, and the module's parameters
MODELS = {
    "line128": ("Haswell events, .*full-width counters, Intel PMU driver",
                "stride=128 loads=65536 sizes=16384,131072,1048576 events=0x8d1,0x10d1,0x20d1"),
    "negative/no-pmu": ("no PMU driver, software events only", "loads=65536 sizes=16384,131072"),
    "negative/pmu-v1": ("Skylake events, .*core PMU driver",
                        "loads=65536 sizes=16384,131072 events=0xc0,0x8d1"),
    "negative/counter-zero": ("full-width counters, Intel PMU driver",
                              "loads=65536 sizes=131072 events=0xc0,0x3c,0xc0,0x8d1"),
    "negative/counter-held": (r"the BIOS has corrupted hw-PMU resources \(MSR 187 is 43003c\)",
                              "loads=65536 sizes=131072 events=0x8d1"),
    "negative/counter-wrap": (r"bit width: +24\b",
                              f"loads={LONG} sizes=16384 events=0x3c,0xc0"),
    "negative/partial-pmu": ("PMU not available due to virtualization, using software events only",
                             "loads=65536 sizes=131072 events=0xc0,0x8d1,0xc0,0x8d1"),
    "negative/prefetch-dropped": ("full-width counters, Intel PMU driver",
                                  "loads=65536 sizes=131072 events=0x8d1"),
    "negative/scripted": ("full-width counters, Intel PMU driver",
                          "loads=65536 sizes=16384 events=0xc0"),
}


class Window:
    """A line of the module."""

    def __init__(self, line):
        numbers = re.match(r"simcount: bytes (\d+) loads (\d+) ns \d+ tsc (\d+) general([ \d]*) fixed",
                           line)
        self.bytes, self.loads, self.tsc = (int(numbers[i]) for i in (1, 2, 3))
        self.general = [int(x) for x in numbers[4].split()]
        self.truth = None


@once
def guest(model):
    """One run on a model: its output and truth log, the windows as pairs of n and 2n loads."""
    run = run_guest(model, f"insmod /simcount.ko {MODELS[model][1]} && dmesg",
                    put=[build_module("count-module")], prefetch=False)
    both = [Window(line) for line in run.lines("simcount: bytes")]
    check(len(both) > 1, f"the module has measured nothing:\n{run.output[-500:]}")
    logged = [line for line in run.truth if line["type"] == "window"]
    # each buffer has three windows, of which the first one warms the caches and is not printed
    kept = [t for i, t in enumerate(logged[-3 * len(both) // 2:]) if i % 3]
    for window, truth in zip(both, kept):
        window.truth = truth["totals"]
    return run, list(zip(both[::2], both[1::2]))


def pairs(model):
    """Windows with n and 2n loads of one buffer."""
    return guest(model)[1]


def test_kernel(model):
    """What perf of the guest's kernel says about the counters."""
    check(re.search(MODELS[model][0], guest(model)[0].output),
          f"not found: {MODELS[model][0]}\n" + "\n".join(guest(model)[0].lines("Performance")))


def latency_of(model, size):
    """The latency of the innermost level that has room for a buffer twice over."""
    for section, rows in read_model(model).items():
        row = dict(rows)
        if section.startswith("cache") and "latency" in row:
            bytes_here = int(row["size"][:-1]) << {"K": 10, "M": 20}[row["size"][-1]]
            if size <= bytes_here // 2:
                return int(row["latency"])
    raise AssertionError(f"{model}: no level for {size} bytes")


def test_latency(model):
    """n more loads take n latencies more, by the TSC."""
    for short, long in pairs(model):
        expect_equal(long.tsc - short.tsc,
                     (long.loads - short.loads) * latency_of(model, short.bytes),
                     f"{short.bytes} bytes")


def test_counts(model, expected):
    """What each counter has more of in the longer window, by what the truth log has."""
    for short, long in pairs(model):
        for i, row in enumerate(expected):
            if not row:
                continue
            names, modulus = row
            more = sum(long.truth[name] - short.truth[name] for name in names)
            expect_equal((long.general[i] - short.general[i]) % modulus, more % modulus,
                         f"{short.bytes} bytes, counter {i}")


def test_dead(model, counters):
    """Counters that read 0 though their event happened."""
    for window in (w for pair in pairs(model) for w in pair):
        for i in counters:
            expect_equal(window.general[i], 0, f"counter {i}")


def final(model, msr):
    """The value of a register at the end."""
    line = next(line for line in guest(model)[0].truth if line["type"] == "exit")
    return line["msrs"][msr]


def test_held():
    """Nobody has touched the counter that firmware left running."""
    expect_equal(final("negative/counter-held", "0x187"), "0x43003c", "event select")


def test_wraps():
    """The window is longer than the counter: only its lower bits are seen."""
    _, long = pairs("negative/counter-wrap")[0]
    check(long.truth["cycles"] >= 1 << 24, "the window is too short to wrap")
    expect_equal(long.general[0], long.truth["cycles"] % (1 << 24), "cycles")


def test_no_window():
    """Without counters there is no window to log."""
    kinds = {line["type"] for line in guest("negative/no-pmu")[0].truth}
    check("window" not in kinds and "exit" in kinds, f"kinds of lines: {kinds}")


def test_script():
    """The interruption falls into the third window, and into its time."""
    short, long = pairs("negative/scripted")[0]
    expect_equal((short.truth["smi"], long.truth["smi"]), (0, 1), "interruptions by window")
    expect_equal(long.tsc - short.tsc, 4 * (long.loads - short.loads) + 50000, "TSC")
    expect_equal(final("negative/scripted", "0x34"), "0x1", "SMI count")


WHOLE = 1 << 48
MISS1 = [["load_l2", "load_l3", "load_mem"], WHOLE]
INSNS = [["instructions"], WHOLE]
TESTS = [
    *(named(f"{model}.kernel", test_kernel, model) for model in MODELS if model != "line128"),
    *(named(f"{model}.latency", test_latency, model) for model in MODELS
      if model != "negative/scripted"),
    named("line128.kernel", test_kernel, "line128"),
    named("line128.counts", test_counts, "line128",
          [MISS1, [["load_l3", "load_mem"], WHOLE], [["load_mem"], WHOLE]]),
    named("negative/no-pmu.no_window", test_no_window),
    named("negative/pmu-v1.counts", test_counts, "negative/pmu-v1", [INSNS, MISS1]),
    named("negative/counter-zero.counts", test_counts, "negative/counter-zero",
          [INSNS, [["cycles"], WHOLE], None, MISS1]),
    named("negative/counter-zero.dead", test_dead, "negative/counter-zero", [2]),
    named("negative/counter-held.counts", test_counts, "negative/counter-held", [MISS1]),
    named("negative/counter-held.held", test_held),
    named("negative/counter-wrap.counts", test_counts, "negative/counter-wrap",
          [[["cycles"], 1 << 24], [["instructions"], 1 << 24]]),
    named("negative/counter-wrap.wraps", test_wraps),
    named("negative/partial-pmu.counts", test_counts, "negative/partial-pmu", [INSNS, MISS1]),
    named("negative/partial-pmu.dead", test_dead, "negative/partial-pmu", [2, 3]),
    named("negative/scripted.script", test_script),
]

if __name__ == "__main__":
    run_tests(TESTS)
