#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""With one vCPU two runs leave the same bytes, in the truth log and in calm's results."""

import json

from lib.simtest import build_module, check, expect_equal, once, run_guest, run_tests

MODEL = "zen4"
# Well inside one level each: near a level's capacity a result also tells where the kernel's allocator,
# which shuffles its free lists at each boot, put the job that owns the buffer.
RANGES = [("4K", "16K"), ("64K", "512K")]
# what tells of the run itself: how long it took, and the memory that was free
OF_THE_RUN = {".module.max_bytes", ".quiet.longest_slice_us"}


@once
def counting(number):
    """One of two equal runs of the counting module."""
    return run_guest(MODEL, "insmod /simcount.ko loads=16384 sizes=16384,262144 events=0x143,0x243 "
                     "&& dmesg | grep simcount: | sed 's/.*simcount: //; s/ ns [0-9]*//'",
                     put=[build_module("count-module")], prefetch=False)


@once
def measuring(number):
    """One of two equal runs of calm latency."""
    commands = [f"calm latency --min {low} --max {high} --quick --events cycles,l1-miss,l2-miss "
                "--format json >/tmp/json && "
                "cat /tmp/json && echo ----" for low, high in RANGES]
    return run_guest(MODEL, " && ".join(commands), load=True, prefetch=False)


def results(number):
    """calm's JSON documents of one run."""
    return [json.loads(text) for text in measuring(number).output.split("----\n") if text]


def differences(first, second, path=""):
    """Where two results differ: lines of text."""
    if path in OF_THE_RUN:
        return []
    if isinstance(first, dict) and isinstance(second, dict):
        keys = sorted(set(first) | set(second))
        return [line for key in keys
                for line in differences(first.get(key), second.get(key), f"{path}.{key}")]
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return [line for i, (a, b) in enumerate(zip(first, second))
                for line in differences(a, b, f"{path}[{i}]")]
    return [] if first == second else [f"{path}: {first} and {second}"]


def counters_are_equal():
    """The module's output, without the wall clock."""
    check("bytes 16384" in counting(1).output, f"no output: {counting(1).output}")
    expect_equal(counting(2).output, counting(1).output, "output")


def counters_truth_is_equal():
    """The truth log of the counting module."""
    check('"window"' in counting(1).truth_text, "no window in the truth log")
    found = differences(counting(1).truth, counting(2).truth)
    check(not found, "\n".join(found[:20]))
    check(counting(1).truth_text == counting(2).truth_text, "the logs differ in form")


def latency_is_equal():
    """calm's JSON document."""
    first, second = results(1), results(2)
    check(len(first) == len(RANGES) and all(r["points"] for r in first), "no points")
    found = [line for a, b in zip(first, second) for line in differences(a, b)]
    check(not found, "\n".join(found[:20]))


def without_placement(line):
    """
    A line of the truth log without what tells where the kernel's allocator put the module's data: by
    which level each access of a window was served, and what follows from it. The measured loop, which
    lies between two reads of a clock, touches its own buffer only: there all but write-backs stays.
    """
    kept = {key: value for key, value in line.items() if key not in ("totals", "counters")}
    if line["type"] == "window":
        totals = line["totals"]
        kept["instructions"] = totals["instructions"]
        for kind in ("load", "store"):
            kept[kind] = sum(n for key, n in totals.items() if key.startswith(f"{kind}_"))
        kept["between"] = {k: n for k, n in line["between"].items() if not k.startswith("writeback")}
    return kept


def latency_truth_is_equal():
    """The truth log of calm latency: every register access, every measured loop."""
    first, second = ([without_placement(line) for line in measuring(i).truth] for i in (1, 2))
    check(any(line["type"] == "window" for line in first), "no window in the truth log")
    expect_equal(len(second), len(first), "lines")
    found = differences(first, second)
    check(not found, "\n".join(found[:20]))


if __name__ == "__main__":
    run_tests([counters_are_equal, counters_truth_is_equal, latency_is_equal,
               latency_truth_is_equal])
