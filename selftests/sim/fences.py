#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Without any one fence of the measured window a time or a count is wrong; with all it is right."""

import re
import shutil

from lib.simtest import (TOP, build, check, expect_equal, KERNEL, named, once, read_model, run_guest,
                         run_tests)

MODEL = "zen4"
LOOPS = TOP / "kmod" / "loops"
SOURCES = TOP / "selftests" / "sim" / "fence-module"
FENCE = r'"lfence\n\t"'
FENCES = 4
LOADS = 64
# the instructions of the window itself, beside the loads' latencies
SLACK = 4


def without(text, number):
    """The header without its fence of this number, counted from 1; 0: as it is."""
    parts = text.split(FENCE)
    expect_equal(len(parts) - 1, FENCES, "fences in window.h")
    if number:
        parts[number - 1:number + 1] = ['""'.join(parts[number - 1:number + 1])]
    return FENCE.join(parts)


@once
def module():
    """A module with the chase in all variants."""
    folder = TOP / "build" / "fence-module"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SOURCES, folder)
    shutil.copy(LOOPS / "loops.h", folder)
    window, skeleton, chase = ((LOOPS / name).read_text(encoding="utf-8") for name in ("window.h", "chase.h", "chase.c"))
    for number in range(FENCES + 1):
        (folder / f"window{number}.h").write_text(without(window, number), encoding="utf-8")
        text = skeleton.replace('"window.h"', f'"window{number}.h"').replace('"loops.h"', '"chases.h"')
        (folder / f"chase{number}.h").write_text(text, encoding="utf-8")
        text = chase.replace('"chase.h"', f'"chase{number}.h"').replace("calm_loop_chase", f"chase{number}")
        (folder / f"chase{number}.c").write_text(text, encoding="utf-8")
    return build([TOP / "tools" / "build-module", KERNEL, folder])


@once
def figures():
    """TSC and counter by (variant, loads, earlier loads in flight, with counter)."""
    run = run_guest(MODEL, "insmod /fence.ko && dmesg", put=[module()], log=False)
    found = re.findall(r"fence: variant (\d) loads (\d+) earlier (\d) counter (\d) tsc (\d+) count (\d+)",
                       run.output)
    expect_equal(len(found), 8 * (FENCES + 1), "lines of the module")
    return {tuple(map(int, row[:4])): (int(row[4]), int(row[5])) for row in found}


def errors(variant):
    """How far from the loads' latencies time and cycles are, in each circumstance."""
    expected = LOADS * int(dict(read_model(MODEL)["timing"])["memory"])
    for earlier in (0, 1):
        for counter in (0, 1):
            # the same circuit without loads and with nothing in flight, as a job measures its overhead
            empty, full = (figures()[variant, loads, flight, counter]
                           for loads, flight in ((0, 0), (LOADS, earlier)))
            for what, number in (("time", 0), ("cycles", 1))[:1 + counter]:
                yield (f"{what}, {earlier and 'other' or 'no'} loads in flight, {counter} counters",
                       full[number] - empty[number] - expected)


def wrong(variant):
    """Those that are not what they should be."""
    found = [f"{name}: {error:+d} cycles" for name, error in errors(variant) if abs(error) > SLACK]
    for line in found:
        print(f"# {line}")
    return found


def test_all_fences():
    """The window as it is: each figure is the latencies of its loads."""
    check(not wrong(0), f"wrong with all fences: {wrong(0)}")


def test_without(number):
    """A fence less: some figure is wrong."""
    check(wrong(number), "no figure is wrong")


if __name__ == "__main__":
    run_tests([named("all_fences", test_all_fences)] +
              [named(f"without_fence_{number}", test_without, number)
               for number in range(1, FENCES + 1)])
