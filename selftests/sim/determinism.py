#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""With one vCPU two runs leave the same bytes, in the truth log and in calm's results."""

import json

from lib.simtest import (build_module, check, expect_equal, named, once, read_model, run_guest, run_tests,
                         size_bytes)

MODELS = ["zen4", "golden-cove"]
# This many loads take a whole number of steps of golden-cove's TSC, whatever the latency.
LOADS = 12288
EVENTS = ["cycles", "l1-miss", "l2-miss"]
# from well inside level 1 to well inside level 3, and through the capacities between
COMMAND = f"calm latency --min 4K --max 2M --quick --loads {LOADS} --events {','.join(EVENTS)} --format json"
APERF, MPERF = "0xe8", "0xe7"


@once
def counting(number):
    """One of two equal runs of the counting module."""
    return run_guest("zen4", "insmod /simcount.ko loads=16384 sizes=16384,262144 events=0x143,0x243 "
                     "&& dmesg | grep simcount: | sed 's/.*simcount: //; s/ ns [0-9]*//'",
                     put=[build_module("count-module")], prefetch=False)


@once
def measuring(model, number):
    """One of two equal runs of calm latency: its document, and what the kernel said."""
    return run_guest(model, f"{COMMAND} && echo ---- && dmesg", load=True, words=["--deterministic"],
                     prefetch=False)


def points(model):
    """The points of calm's JSON document."""
    return json.loads(measuring(model, 1).output.split("----\n")[0])["points"]


def first_difference(texts):
    """Where two texts differ, in words; empty if nowhere."""
    lines = [text.splitlines() for text in texts]
    for number, (first, second) in enumerate(zip(*lines), 1):
        if first != second:
            return f"line {number}: {first[:200]} and {second[:200]}"
    return "" if texts[0] == texts[1] else f"{len(lines[0])} and {len(lines[1])} lines"


def same(texts, what):
    """Fail unless both texts are the same bytes."""
    check(texts[0] == texts[1], f"{what} differs in {first_difference(texts)}")


def counters_are_equal():
    """The module's output, without the wall clock."""
    check("bytes 16384" in counting(1).output, f"no output: {counting(1).output}")
    expect_equal(counting(2).output, counting(1).output, "output")


def counters_truth_is_equal():
    """The truth log of the counting module."""
    check('"window"' in counting(1).truth_text, "no window in the truth log")
    same([counting(i).truth_text for i in (1, 2)], "truth log")


def output_is_equal(model):
    """calm's JSON document and the kernel's messages, their times included."""
    check(points(model), "no points")
    check("Linux version" in measuring(model, 1).output, "no messages of the kernel")
    same([measuring(model, i).output for i in (1, 2)], "output")


def truth_is_equal(model):
    """The truth log: each register access and each window."""
    check('"window"' in measuring(model, 1).truth_text, "no window in the truth log")
    same([measuring(model, i).truth_text for i in (1, 2)], "truth log")


def levels(model):
    """Data caches of the model from the inside: (bytes, latency)."""
    rows = [dict(rows) for head, rows in read_model(model).items()
            if head.startswith("cache ") and head != "cache l1i"]
    return sorted((size_bytes(row["size"]), int(row["latency"])) for row in rows)


def level_of(model, size):
    """Number of the level that a buffer lies well inside of, with room for what the module itself touches."""
    low = 0
    for number, (high, _) in enumerate(levels(model)):
        if low <= size <= high / 2:
            return number
        low = 1.5 * high
    return None


def tsc_step(model):
    """Core cycles after which the TSC has made a whole number of steps."""
    return int(dict(read_model(model)["timing"]).get("core_ratio", "1/1").split("/")[0])


def latency_is_exact(model):
    """Inside a level all loads of a pass take the model's latency, to what a step of the TSC takes."""
    checked, step = set(), tsc_step(model)
    # where each cycle is a step, the difference of two windows is nothing but loads
    slack = step if step > 1 else 0
    for point in points(model):
        level = level_of(model, point["size_bytes"])
        if level is None:
            continue
        wanted = LOADS * levels(model)[level][1]
        what = f"{point['size_bytes']} bytes"
        expect_equal(point["clock_source"], "fixed", f"{what}: clock")
        found = point["cycles_per_access_two_lengths"]["median"] * LOADS
        check(abs(found - wanted) <= slack, f"{what}, two lengths: {found} cycles, expected {wanted}")
        found = point["events"]["cycles"]["per_pass"]
        check(abs(found - wanted) <= step, f"{what}: {found} cycles in a pass, expected {wanted}")
        checked.add(level)
    expect_equal(checked, {0, 1, 2}, "levels")


def clocks_between_windows(model):
    """Reads of APERF and MPERF from the end of one counter window to the end of the next: lists of numbers."""
    found = [[]]
    for line in measuring(model, 1).truth:
        if line["type"] == "window":
            found.append([])
        elif line["type"] == "msr" and line["op"] == "read" and line["msr"] in (APERF, MPERF):
            found[-1].append(line["msr"])
    return found


def clocks_are_logged(model):
    """Reads of APERF and MPERF: the module's four around each sample, and none of the kernel's."""
    found = [reads for reads in clocks_between_windows(model) if reads]
    for reads in found:
        expect_equal(reads, [APERF, MPERF, APERF, MPERF], "reads in a window")
    expect_equal(len(found), sum(point["samples"] for point in points(model)), "windows with reads")


if __name__ == "__main__":
    run_tests([counters_are_equal, counters_truth_is_equal] +
              [named(f"{model}: {test.__name__}", test, model) for model in MODELS
               for test in (output_is_equal, truth_is_equal, latency_is_exact, clocks_are_logged)])
