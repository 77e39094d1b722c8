#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Each window of a job against the truth log: its counts, its ticks, and the register accesses around it."""

import json
import os
import subprocess

from lib.simtest import (TOP, check, expect_equal, named, once, read_model, run_guest, run_tests,
                         size_bytes)

FULL = "CALM_TEST_FULL" in os.environ
MODELS = ["golden-cove", "zen4"] + (["zen2", "skylake-x", "line128"] if FULL else [])

# the program tests its events by chases through 8 times the last level
SCALE = 8
FAR = ("l2", "l3", "mem")


def demand(*sources):
    """Totals of lines that loads and stores brought into level 1."""
    return [f"fill_{kind}_{source}" for kind in ("load", "store") for source in sources]


# what ask is told to count, and the totals of the truth log that its published definition adds up
INTEL = {
    "fixed0": ["instructions"],
    "fixed1": ["cycles"],
    "fixed2": ["ref_cycles"],
    "8d1": [f"load_{source}" for source in FAR],
    "10d1": ["load_l3", "load_mem"],
    "20d1": ["load_mem"],
}
AMD = {
    "76": ["cycles"],
    "c0": ["instructions"],
    "f43": demand(*FAR),
    "e43": demand("l3", "mem"),
    "843": demand("mem"),
}
# a processor without global control asks each of its selects first
FIRST_REGISTER = {"zen4": "0xc0000301", "zen2": "0xc0010200"}
GENERAL = {"golden-cove": 8, "skylake-x": 4, "line128": 4, "zen4": 6, "zen2": 6}
COUNTERS_MAX = 7

# slices of a tenth of a millisecond, so that a long pass has several windows
SHORT_SLICES = "slice_us=100"
LONG_PASS = 400000
PROGRAM_SAMPLES = 3
# APERF and MPERF, around a pass where no counter tells the core clock
CLOCKS = ["0xe8", "0xe7"]
CODES = {"intel": ["r08d1", "r10d1", "r20d1", "r01d1", "r02d1", "r04d1", "r00c0", "r40d1", "r80d1"],
         "amd": ["r0143", "r0243", "r0843", "r00c0", "r0041", "r0044", "r0141", "r0129", "r0229"]}


def vendor(model):
    """Whose registers it has."""
    return dict(read_model(model)["cpu"])["vendor"]


def events(model):
    """What is counted, and by which totals."""
    return INTEL if vendor(model) == "intel" else AMD


@once
def ask_program():
    """Build the client of these tests."""
    subprocess.run(["make", "-s", "-C", TOP, "build/selftests/ask"], check=True)
    return TOP / "build" / "selftests" / "ask"


def half_sizes(model):
    """Half of the first two levels of data."""
    sizes = sorted(size_bytes(dict(rows)["size"]) for head, rows in read_model(model).items()
                   if head.startswith("cache ") and head != "cache l1i")
    return [size // SCALE // 2 for size in sizes[:2]]


@once
def guest(model):
    """Jobs in two levels and one of several windows to a pass; then the program, with few and many events."""
    words = " ".join(events(model))
    first, second = half_sizes(model)
    codes = CODES[vendor(model)]
    runs = ["none"] + [",".join(codes[:count]) for count in (1, 3, 5, 9)]
    command = f"""
insmod /calm.ko {SHORT_SLICES}
/ask -f 1 -n 3 -s {first} {words}
/ask -f 1 -n 3 -s {second} {words}
/ask -n 2 -l {LONG_PASS} -s {first} {words}
echo PROGRAM
for events in {' '.join(runs)}; do
	calm latency --cpu 0 --size 16K --rounds 1 --samples {PROGRAM_SAMPLES} --loads 8192 --events $events --no-progress >/dev/null ||
		echo "events $events: status $?"
done
rmmod calm
"""
    os.environ["CALM_SIM_DETAIL"] = "yes"
    try:
        return run_guest(f"{model}@1/{SCALE}", command, put=[ask_program()])
    finally:
        del os.environ["CALM_SIM_DETAIL"]


def jobs(model):
    """Samples of the jobs of ask, a list for each job."""
    found = [[]]
    for line in guest(model).output.split("PROGRAM")[0].splitlines():
        item = json.loads(line)
        check("reason" not in item and "refused" not in item, f"job failed: {line}")
        if "state" in item:
            found.append([])
        else:
            found[-1].append(item)
    return found[:-1]


def names(model):
    """Counters in the order of the events, as the truth log calls them."""
    general = 0
    for event in events(model):
        if event.startswith("fixed"):
            yield event
        else:
            yield f"gp{general}"
            general += 1


def windows(model):
    """
    Windows, in order: (open, close), lists of the reads of counters and time stamp. Accesses to
    registers part what belongs to a window from what does not.
    """
    counters = list(names(model))
    pattern = counters + ["tsc", "tsc"] + counters
    reads = []
    for line in guest(model).truth:
        if line["type"] == "msr":
            reads = []
        if line["type"] != "read":
            continue
        reads.append(line)
        if [read["clock"] for read in reads[-len(pattern):]] == pattern:
            middle = len(counters) + 1
            last = reads[-len(pattern):]
            yield last[:middle], [last[middle], *last[middle + 1:]]
            reads = []


def gained(model, window):
    """What each event and the TSC gained in a window by the truth log."""
    begin, end = window
    # opening, counters come before the time stamp; closing, behind it
    counts = [sum(after["totals"][name] - before["totals"][name] for name in totals)
              for before, after, totals in zip(begin[:-1], end[1:], events(model).values())]
    return counts, int(end[0]["value"], 16) - int(begin[-1]["value"], 16)


def add(left, right):
    """Sum of two windows."""
    return [a + b for a, b in zip(left[0], right[0])], left[1] + right[1]


def test_counts(model):
    """Each window of each sample: every counter and the time stamp say what the model counted."""
    found = windows(model)
    compared = 0
    for number, job in enumerate(jobs(model)):
        check(job, f"job {number} has no sample")
        for place, sample in enumerate(job):
            text = f"job {number}, sample {place}"
            expect_equal(sample["disturb"], 0, f"{text}: disturbances")
            expect_equal((sample["empty"], sample["tsc_empty"]), gained(model, next(found)),
                         f"{text}: empty window")
            total = gained(model, next(found))
            for _ in range(sample["windows"] - 1):
                total = add(total, gained(model, next(found)))
            expect_equal((sample["pass"], sample["tsc"]), total, f"{text}: pass")
            compared += 1 + sample["windows"]
            if "tsc_double" in sample:
                expect_equal((sample["twice"], sample["tsc_double"]), gained(model, next(found)),
                             f"{text}: pass of twice the length")
                compared += 1
    check(compared >= 24, f"{compared} windows")
    check(jobs(model)[2][0]["windows"] > 1, "the long pass has one window")


def slices(model):
    """(counters, register accesses) of each slice that measured and counted."""
    first = FIRST_REGISTER.get(model, "0x38f")
    accesses, counters = 0, 0
    for line in guest(model).truth:
        if line["type"] == "msr":
            if line["op"] == "read" and line["msr"] == first:
                accesses, counters = 0, 0
            accesses += 1
        if line["type"] == "window":
            # once as it is borrowed, then before and behind each window
            counters = sum(counter["reads"] > 1 for counter in line["counters"].values())
        # the time at the end of the slice is taken when all is put back
        if line["type"] == "read" and line["clock"] == "tsc" and counters:
            yield counters, accesses
            counters = 0


def test_accesses(model):
    """At most 4k + 12 register accesses in a slice with k counters, in every job of ask and of the program."""
    found = list(slices(model))
    most = min(GENERAL[model], COUNTERS_MAX)
    check(max(k for k, _ in found) >= most, f"at most {max(k for k, _ in found)} counters at once")
    check(len({k for k, _ in found}) >= 4, "too few different numbers of counters")
    for k, accesses in found:
        check(accesses <= 4 * k + 12, f"{accesses} accesses in a slice with {k} counters")


def gaps(model):
    """Registers accessed between each time stamp and the next; None where a counter was read, too."""
    found, counted = [], False
    for line in guest(model).truth:
        if line["type"] == "msr":
            found.append(line["msr"])
        elif line["type"] == "read" and line["clock"] != "tsc":
            counted = True
        elif line["type"] == "read":
            yield None if counted else found
            found, counted = [], False


def test_accesses_without(model):
    """
    The same without counters. Time stamps: of the slice, the lead-in, the empty window and the pass, and one
    between the two clocks, before the pass and behind it.
    """
    found = list(gaps(model))
    slices_found = 0
    for i in range(5, len(found) - 3):
        parts = found[i - 5:i + 4]
        if None in parts or found[i - 1][-1:] != CLOCKS[:1] or found[i] != CLOCKS[1:] or \
                found[i + 1:i + 3] != [[], CLOCKS[:1]] or found[i + 3][:1] != CLOCKS[1:]:
            continue
        slices_found += 1
        accesses = sum(len(part) for part in parts)
        check(accesses <= 12, f"{accesses} accesses in a slice without counters: {parts}")
    expect_equal(slices_found, PROGRAM_SAMPLES, "slices without counters")


if __name__ == "__main__":
    run_tests([named(f"{model}.{test.__name__[5:]}", test, model) for model in MODELS
               for test in (test_counts, test_accesses, test_accesses_without)])
