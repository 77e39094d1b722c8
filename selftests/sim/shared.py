#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf and the module on one CPU's counters: perf loses nothing, whatever NMI comes when."""

import json
import os
import subprocess

from lib.simtest import TOP, check, expect_equal, named, once, run_guest, run_tests

FULL = "CALM_TEST_FULL" in os.environ
MODELS = ["golden-cove", "zen4", "zen2"]
EVENTS = {"golden-cove": "8d1 10d1 fixed2", "zen4": "f43 e43 76", "zen2": "f43 e43 76"}
CYCLES, INSTRUCTIONS = 0, 1
DISTURB_NMI = 4
NMIS = 10000 if FULL else 200


@once
def ask_program():
    """Build the client of these tests."""
    subprocess.run(["make", "-s", "-C", TOP, "build/selftests/ask"], check=True)
    return TOP / "build" / "selftests" / "ask"


class Counters:
    """What event selects and controls say, followed through the register writes of a truth log."""

    def __init__(self):
        self.select, self.fixed_ctrl, self.global_ctrl = {}, 0, 0

    def write(self, msr, value):
        """Follow a write."""
        if 0x186 <= msr < 0x18e:
            self.select[msr - 0x186] = value
        elif 0xc0010200 <= msr < 0xc001020c and msr % 2 == 0:
            self.select[(msr - 0xc0010200) // 2] = value
        elif msr == 0x38d:
            self.fixed_ctrl = value
        elif msr in (0x38f, 0xc0000301):
            self.global_ctrl = value

    def count_user(self, has_global):
        """Whether some counter counts in ring 3 too: perf's does, the module's never do."""
        for n, select in self.select.items():
            enabled = select >> 22 & 1 and (not has_global or self.global_ctrl >> n & 1)
            if enabled and select >> 16 & 1:
                return True
        return any(self.fixed_ctrl >> 4 * n & 2 and self.global_ctrl >> (32 + n) & 1
                   for n in range(3))


def total_in_perf_windows(run, total, cpu):
    """The model's own total while a counter of perf was running."""
    has_global = any(line.get("msr") in ("0x38f", "0xc0000301") for line in run.truth)
    counters, result = Counters(), 0
    for line in run.truth:
        if line.get("cpu") != cpu:
            continue
        if line["type"] == "window" and counters.count_user(has_global):
            result += line["totals"][total] + line["totals"][total + "_user"]
        if line["type"] == "msr" and line["op"] == "write" and not line["fault"]:
            counters.write(int(line["msr"], 16), int(line["value"], 16))
    return result


def items(run):
    """What ask printed."""
    return [json.loads(line) for line in run.output.splitlines() if line.startswith("{")]


def perf_count(run):
    """perf's own figure."""
    return next(item["perf"] for item in items(run) if "perf" in item)


def test_perf(model, total, config):
    """perf's count across a job is the model's total less the module's windows."""
    run = run_guest(model, f"insmod /calm.ko && /ask -n 5 -p {config} {EVENTS[model]} "
                    "&& rmmod calm", put=[ask_program()])
    found = perf_count(run)
    check(found > 0, "perf counted nothing")
    expect_equal(found, total_in_perf_windows(run, total, 0), total)


@once
def disturbed(model):
    """A job on CPU 1 with perf on the same CPU, while CPU 0 sends NMIs."""
    command = f"""
insmod /calm.ko
/ask -c 1 -n 1000000 -l 2048 -p {CYCLES} -t {NMIS} {EVENTS[model]}
rmmod calm
! dmesg | grep -E 'BUG:|WARNING:|Oops|unchecked MSR'
"""
    return run_guest(model, command, put=[ask_program()], smp=2,
                     words=["--time-limit", "3000", "--expect", "Call Trace:"])


def samples(run):
    """Samples, as ask printed them."""
    return [item for item in items(run) if "tsc" in item]


def test_nmis_mark_samples(model):
    """Samples that an NMI fell into are marked, and their neighbours count exactly."""
    found = samples(disturbed(model))
    marked = [s for s in found if s["disturb"] & DISTURB_NMI]
    clean = [s for s in found if not s["disturb"]]
    check(marked, f"none of {len(found)} samples is marked")
    check(clean, "no clean sample")
    for index in (0, 1):
        expect_equal({s["pass"][index] for s in clean}, {0}, "misses in level 1")
    expect_equal(len({s["pass"][2] for s in clean}), 1, "different counts of cycles")


def test_nmis_leave_perf_alone(model):
    """perf's count is exact in spite of NMIs at any instruction of borrowing and giving back."""
    run = disturbed(model)
    expect_equal(perf_count(run), total_in_perf_windows(run, "cycles", 1), "cycles")


def is_counter(msr):
    """Whether a register's value depends on how long perf counted."""
    return (0xc1 <= msr < 0xc9 or 0x4c1 <= msr < 0x4c9 or 0x309 <= msr < 0x30c
            or msr in (0xe7, 0xe8) or (0xc0010200 <= msr < 0xc001020c and msr % 2)
            or 0xc0010004 <= msr < 0xc0010008)


def test_nmis_leave_registers_alone(model):
    """At the end selects and controls are what they are after a job that nothing disturbed."""
    calm = run_guest(model, f"insmod /calm.ko && /ask -c 1 -p {CYCLES} {EVENTS[model]} "
                     "&& rmmod calm", put=[ask_program()], smp=2)
    ends = [{line["cpu"]: line["msrs"] for line in run.truth if line["type"] == "exit"}
            for run in (disturbed(model), calm)]
    for msr, value in ends[1][1].items():
        if not is_counter(int(msr, 16)):
            expect_equal(ends[0][1][msr], value, f"register {msr}")


if __name__ == "__main__":
    PERF = [named(f"{model}: perf's {total}", test_perf, model, total, config)
            for model in MODELS
            for total, config in (("cycles", CYCLES), ("instructions", INSTRUCTIONS))]
    NMI = [named(f"{model}: {test.__name__[5:]}", test, model)
           for model in (MODELS if FULL else MODELS[:2])
           for test in (test_nmis_mark_samples, test_nmis_leave_perf_alone,
                        test_nmis_leave_registers_alone)]
    run_tests(PERF + NMI)
