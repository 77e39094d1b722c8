#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""With one vCPU two runs leave the same bytes, in the truth log and in calm's results."""

import json

from lib.simtest import build_module, check, expect_equal, once, run_guest, run_tests

MODEL = "zen4"
# what a result may tell of the run itself: when it was, and how long it took
TIMES = {"time", "date", "started", "ended", "seconds", "elapsed_seconds", "boot_id"}


@once
def counting(number):
    """One of two equal runs of the counting module."""
    return run_guest(MODEL, "insmod /simcount.ko loads=16384 sizes=16384,262144 events=0x143,0x243 "
                     "&& dmesg | grep simcount: | sed 's/.*simcount: //; s/ ns [0-9]*//'",
                     put=[build_module("count-module")])


@once
def measuring(number):
    """One of two equal runs of calm latency."""
    return run_guest(MODEL, "calm latency --min 4K --max 256K --quick --format json", load=True)


def without_times(value):
    """A result without what tells when it was measured."""
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in TIMES}
    if isinstance(value, list):
        return [without_times(v) for v in value]
    return value


def counters_are_equal():
    """The module's output, without the wall clock."""
    check("bytes 16384" in counting(1).output, f"no output: {counting(1).output}")
    expect_equal(counting(2).output, counting(1).output, "output")


def counters_truth_is_equal():
    """The truth log of the counting module."""
    check('"window"' in counting(1).truth_text, "no window in the truth log")
    expect_equal(counting(2).truth_text, counting(1).truth_text, "truth log")


def latency_is_equal():
    """calm's JSON document."""
    first, second = (without_times(json.loads(measuring(i).output)) for i in (1, 2))
    check(first["points"], "no points")
    expect_equal(second, first, "results")


def latency_truth_is_equal():
    """The truth log of calm latency."""
    check('"window"' in measuring(1).truth_text or '"exit"' in measuring(1).truth_text,
          "the truth log is empty")
    expect_equal(measuring(2).truth_text, measuring(1).truth_text, "truth log")


if __name__ == "__main__":
    run_tests([counters_are_equal, counters_truth_is_equal, latency_is_equal,
               latency_truth_is_equal])
