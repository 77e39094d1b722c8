#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""calm noise against what the model draws: passes that are all the same, and a known distribution of those that are not."""

import json

from lib.simtest import check, expect_equal, once, read_model, run_guest, run_tests

MODEL = "zen4@1/16"
ROUNDS, SAMPLES, LOADS = 2, 200, 16384
# up to so many percent longer, evenly spread; one pass in so many takes three times as long
JITTER, ONE_IN = 8, 20
PASS_CYCLES = LOADS * int(dict(read_model("zen4")["cache l1d"])["latency"])
NOISE = f"\n[noise]\nseed = 5\njitter = {JITTER}\noutlier = {ONE_IN}\noutlier_cycles = {2 * PASS_CYCLES}\n"


@once
def measured(more):
    """The level that calm found, with what stands behind the model's text."""
    command = (f"calm noise --cpu 1 --size 1K --loads {LOADS} --rounds {ROUNDS} --samples {SAMPLES} --events none "
               "--prefetch off --no-progress --format json")
    level, = json.loads(run_guest(MODEL, command, smp=2, load=True, log=False, more=more).output)["derived"]["noise"]
    expect_equal((level["samples"], level["dropped"]), (ROUNDS * SAMPLES, 0), "samples kept and dropped")
    return level


def undisturbed_ns():
    return PASS_CYCLES / LOADS / int(dict(read_model("zen4")["timing"])["tsc_hz"]) * 1e9


def quantiles(more):
    """Times of a load by share, as multiples of what the model says one takes."""
    return {row["share"]: row["ns_per_access"] / undisturbed_ns() for row in measured(more)["quantiles"]}


def bins(more):
    return {row["from_percent"]: row["samples"] for row in measured(more)["histogram"]}


def all_passes_are_the_same():
    expect_equal({start: count for start, count in bins("").items() if count}, {0: ROUNDS * SAMPLES}, "bins")
    for share, found in quantiles("").items():
        check(abs(found - 1) < 1e-3, f"quantile {share}: {found} of the model's latency")


def jitter_is_spread_evenly():
    """Each quantile of the others is where an even spread has it, within what chance does to so many in one run of 10^6."""
    found, most = quantiles(NOISE), JITTER / 100
    check(0.999 < found[0] < 1 + most / 10, f"the fastest pass takes {found[0]}")
    for share in (0.25, 0.5, 0.75):
        expected = 1 + most * share / (1 - 1 / ONE_IN)
        check(abs(found[share] - expected) < most * 0.13, f"quantile {share}: {found[share]}, expected {expected}")


def outliers_stand_apart():
    """In the last bin, one in 20 of 400: 20, and by chance fewer than 2 or more than 45 in one run of 10^6."""
    found = bins(NOISE)
    expect_equal((found[10], found[30]), (0, 0), "passes between the jitter's longest and the outliers")
    check(2 <= found[100] <= 45, f"{found[100]} outliers")
    check(2.99 < quantiles(NOISE)[1] < 3.01 + JITTER / 100, f"the slowest pass takes {quantiles(NOISE)[1]}")
    check(min(found[start] for start in (1, 3)) > 0, f"jitter is in few bins: {found}")


if __name__ == "__main__":
    run_tests([all_passes_are_the_same, jitter_is_spread_evenly, outliers_stand_apart])
