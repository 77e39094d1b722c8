#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A pass cut into many slices takes the cycles of one in a single slice: what the lead-in is for."""

import json

from lib.simtest import check, expect_equal, named, once, read_model, run_guest, run_tests, size_bytes

MODELS = ["zen4", "golden-cove"]
LOADS = 400000
# as long and as short as the module lets slices be
LONG_US, SHORT_US = 50000, 100
# what the kernel leaves in a large cache between slices, a share of all loads
SHARE = 0.005


@once
def levels(model):
    """Capacities of the model's data caches."""
    return sorted(size_bytes(dict(rows)["size"]) for head, rows in read_model(model).items()
                  if head.startswith("cache ") and head != "cache l1i")


@once
def guest(model):
    """Points of both slice lengths: {microseconds: points}."""
    sizes = [levels(model)[0] // 4, levels(model)[0] * 4, levels(model)[-1] // 16]
    measure = (f"calm latency --cpu 1 --size {','.join(map(str, sizes))} --rounds 1 --samples 3 --loads {LOADS} "
               "--events none --no-progress --format json --raw 2>/dev/null")
    command = "\n".join(f"insmod /calm.ko slice_us={us} && {measure} && echo END && rmmod calm"
                        for us in (LONG_US, SHORT_US))
    output = run_guest(model, "set -e\n" + command, smp=2, log=False, prefetch=False).output
    documents = [json.loads(part[part.index("{"):]) for part in output.split("\nEND\n")[:-1]]
    expect_equal(len(documents), 2, "documents")
    return {us: document["points"] for us, document in zip((LONG_US, SHORT_US), documents)}


def samples(point):
    """Of each undisturbed sample: its windows, and TSC ticks less those of as many empty windows."""
    found = [(one["windows"], one["tsc"] - one["windows"] * one["tsc_empty"])
             for one in point["raw"][0] if not one["disturb"]]
    check(found, f"{point['size_bytes']} bytes: every sample was disturbed")
    return found


def compare(model, place, share):
    """Ticks of all loads, in one window and in many, differ by rounding and this share."""
    whole, cut = (samples(guest(model)[us][place]) for us in (LONG_US, SHORT_US))
    ticks = {one[1] for one in whole}
    for windows, _ in whole:
        expect_equal(windows, 1, f"windows in slices of {LONG_US} us")
    for windows, found in cut:
        check(windows >= 3, f"{windows} windows in slices of {SHORT_US} us")
        # a time stamp of a core at another rate is rounded, at both ends of a window
        bound = 2 * (windows + 1) + share * max(ticks)
        check(min(ticks) - bound <= found <= max(ticks) + bound,
              f"{found} ticks in {windows} windows, expected {sorted(ticks)} within {bound:.0f}")


def test_first(model):
    """A quarter of the first cache: the lead-in brings all of it back."""
    compare(model, 0, 0)


def test_second(model):
    """Four times the first cache: in the second one."""
    compare(model, 1, SHARE)


def test_last(model):
    """A sixteenth of the last cache: more lines than a lead-in repeats."""
    compare(model, 2, SHARE)


def test_gaps(model):
    """Slices and interrupts of a point are those of its samples; one slice has no gap."""
    for us in (LONG_US, SHORT_US):
        for point in guest(model)[us]:
            raw = point["raw"][0]
            expect_equal(point["slices"], sum(one["windows"] for one in raw), "slices")
            expect_equal(point["interrupts"], sum(one["interrupts"] for one in raw), "interrupts")
            check(us == SHORT_US or point["interrupts"] == 0, f"{point['interrupts']} interrupts in no gap")


if __name__ == "__main__":
    run_tests([named(f"{model}.{test.__name__[5:]}", test, model) for model in MODELS
               for test in (test_first, test_second, test_last, test_gaps)])
