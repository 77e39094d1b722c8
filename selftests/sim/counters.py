#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Counters that a module programs by raw MSR accesses, against the truth log and closed forms."""

import math
import re

from lib.simtest import (build_module, check, expect_equal, named, once, read_model, run_guest,
                         run_tests, size_bytes)

LOADS = 65536
BUFFER_BYTES = 4 << 20
SCALE = 16
ANY = ("l2", "l3", "mem")

# per model: event select (AMD's event bits 11:8 stand at 35:32), and the totals of the truth log
# that its published definition adds up
EVENTS = {
    "golden-cove": [
        (0x08d1, [f"load_{s}" for s in ANY]),       # MEM_LOAD_RETIRED.L1_MISS
        (0x10d1, ["load_l3", "load_mem"]),          # MEM_LOAD_RETIRED.L2_MISS
        (0x20d1, ["load_mem"]),                     # MEM_LOAD_RETIRED.L3_MISS
        (0x00c0, ["instructions"]),
    ],
    "skylake-x": [
        (0x08d1, [f"load_{s}" for s in ANY]),
        (0x10d1, ["load_l3", "load_mem"]),
        (0x20d1, ["load_mem"]),
        (0x003c, ["cycles"]),
    ],
    "zen4": [
        (0x0843, ["fill_load_mem", "fill_store_mem"]),      # ls_dmnd_fills_from_sys.dram_io_near
        (0x0143, ["fill_load_l2", "fill_store_l2"]),        # .local_l2
        (0x0243, ["fill_load_l3", "fill_store_l3"]),        # .local_ccx
        (0x00c0, ["instructions"]),
        (0x0076, ["cycles"]),
    ],
    "zen2": [
        (0x0843, ["fill_load_mem", "fill_store_mem"]),      # ls_refills_from_sys.ls_mabresp_lcl_dram
        (0x0143, ["fill_load_l2", "fill_store_l2"]),
        (0x0243, ["fill_load_l3", "fill_store_l3"]),
        (0x0141, [f"fill_load_{s}" for s in ANY]),          # ls_mab_alloc.loads
    ],
}
FIXED = ["instructions", "cycles", "ref_cycles"]


def levels(model):
    """Data caches of the model: (name, bytes, latency), then memory."""
    found = []
    for head, rows in read_model(model).items():
        if head.startswith("cache ") and head != "cache l1i":
            row = dict(rows)
            found.append((head.split()[1][:2], size_bytes(row["size"]), int(row["latency"])))
    found.sort()
    return found + [("mem", math.inf, int(dict(read_model(model)["timing"])["memory"]))]


def core_ratio(model):
    """Core cycles and steps of the TSC in the same time."""
    ratio = dict(read_model(model)["timing"]).get("core_ratio", "1/1")
    return [int(x) for x in ratio.split("/")]


def plan(model):
    """What to chase through at which scale: {scale: [(bytes, source, latency)]}."""
    found = {1: [], SCALE: []}
    inner = 0
    # whole steps of the TSC where it is slower than the core
    unit = 4096 * core_ratio(model)[0]
    for name, size, latency in levels(model):
        scale = SCALE if name == "mem" else 1
        # at least twice the capacity inside it, so that each load misses that; at most half its own
        if name == "mem":
            size_here = BUFFER_BYTES // unit * unit
        else:
            size_here = -(-2 * inner // unit) * unit if inner else size // 2
        check(2 * inner // scale <= size_here <= min(size, BUFFER_BYTES),
              f"{model} {name}: no buffer of {size_here} bytes can single it out")
        found[scale].append((size_here, name, latency))
        inner = size
    return found


class Window:
    """One line of the module with the truth about it."""

    def __init__(self, line, truth):
        numbers = re.match(r"simcount: bytes (\d+) loads (\d+) ns \d+ tsc (\d+) general([ \d]*) "
                           r"fixed([ \d]*)", line)
        self.bytes, self.loads, self.tsc = (int(numbers[i]) for i in (1, 2, 3))
        self.general, self.fixed = ([int(x) for x in numbers[i].split()] for i in (4, 5))
        self.truth = truth


@once
def windows(model, scale):
    """Pairs of windows, with n and with 2n loads, one for each buffer of the plan."""
    sizes = ",".join(str(size) for size, _, _ in plan(model)[scale])
    events = ",".join(hex(code) for code, _ in EVENTS[model])
    run = run_guest(model if scale == 1 else f"{model}@1/{scale}",
                    f"insmod /simcount.ko loads={LOADS} sizes={sizes} events={events} && dmesg",
                    put=[build_module("count-module")], prefetch=False)
    lines = run.lines("simcount: bytes")
    truth = [line for line in run.truth if line["type"] == "window"]
    expect_equal(len(lines), 2 * len(plan(model)[scale]), "lines of the module")
    # each buffer has three windows, of which the first one warms the caches and is not printed
    truth = truth[-3 * len(lines) // 2:]
    kept = [t for i, t in enumerate(truth) if i % 3]
    both = [Window(line, t) for line, t in zip(lines, kept)]
    return list(zip(both[::2], both[1::2]))


def all_windows(model):
    """Every window of the model at both scales."""
    return [w for scale in (1, SCALE) for pair in windows(model, scale) for w in pair]


def test_truth(model):
    """Every counter shows exactly what the truth log adds up."""
    for window in all_windows(model):
        totals = window.truth["totals"]
        for (code, names), value in zip(EVENTS[model], window.general):
            expect_equal(value, sum(totals[n] for n in names),
                         f"{window.bytes} bytes, event {code:#x}")
        for name, value in zip(FIXED, window.fixed):
            expect_equal(value, totals[name], f"{window.bytes} bytes, fixed counter of {name}")


def test_truth_growth(model):
    """
    Without a global enable bit counters start one after the other, before and after the window by
    the same each time: what the truth log has more of in the longer one, the counters have too.
    """
    for scale in (1, SCALE):
        for short, long in windows(model, scale):
            for i, (code, names) in enumerate(EVENTS[model]):
                more = sum(long.truth["totals"][n] - short.truth["totals"][n] for n in names)
                expect_equal(long.general[i] - short.general[i], more,
                             f"{short.bytes} bytes, event {code:#x}")


def test_quiet(model):
    """With interrupts off no interrupt and no exception falls into a window."""
    for window in all_windows(model):
        expect_equal((window.truth["interrupts"], window.truth["exceptions"]), (0, 0),
                     f"{window.bytes} bytes: interrupts and exceptions")


def test_latency(model):
    """n more loads take n latencies more, to the cycle; by the TSC too."""
    ratio = core_ratio(model)
    for scale, rows in plan(model).items():
        for (size, name, latency), (short, long) in zip(rows, windows(model, scale)):
            loads = long.loads - short.loads
            cycles = long.truth["between"]["cycles"] - short.truth["between"]["cycles"]
            expect_equal(cycles, loads * latency, f"{size} bytes in {name}: cycles of {loads} loads")
            expect_equal((long.tsc - short.tsc) * ratio[0], cycles * ratio[1],
                         f"{size} bytes in {name}: ticks of the TSC")


def test_sources(model):
    """Each load is served by the one level that the buffer singles out."""
    for scale, rows in plan(model).items():
        for (size, name, _), pair in zip(rows, windows(model, scale)):
            for window in pair:
                served = {key[5:]: value for key, value in window.truth["between"].items()
                          if key.startswith("load_") and value}
                expect_equal(served, {name: window.loads}, f"{size} bytes: loads by source")


def test_instructions(model):
    """64 loads, a decrement and a branch each time round the loop."""
    for scale in (1, SCALE):
        for short, long in windows(model, scale):
            more = (long.truth["totals"]["instructions"] - short.truth["totals"]["instructions"])
            expect_equal(more, (long.loads - short.loads) // 64 * 66, f"{short.bytes} bytes")


COMMON = [test_quiet, test_latency, test_sources, test_instructions]
TESTS = [named(f"{model}.{test.__name__[5:]}", test, model) for model in EVENTS
         for test in [test_truth_growth if model == "zen2" else test_truth, *COMMON]]

if __name__ == "__main__":
    run_tests(TESTS)
