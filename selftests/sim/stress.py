#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Each instruction that simcpu answers, many times with interrupts on: values and flags."""

import re

from lib.simtest import (build_module, check, expect_equal, model_text, named, once, run_guest,
                         run_tests)

LOOPS = 300000
FAULT_LOOPS = 30000
PLAIN = ["rdmsr", "rdmsrl", "rdtsc", "rdtscp", "wrmsr", "cpuid", "rdpmc"]
FAULTS = ["safe", "wrmsr-fault", "rdmsr-fault", "rdpmc-fault"]
# what threads that move between processors cannot keep an eye on
ONE_CPU = ["rdtsc", "rdtscp", "wrmsr"]


@once
def stress(model):
    """One vCPU works while the other is busy; then four threads wander over both."""
    run = run_guest(model_text(model) + "[fault]\nmsr_fault = 0xc3f\n", "sh -c 'while :; do :; done' & "
                    f"insmod /simstress.ko cpu=1 loops={LOOPS} gp_loops={FAULT_LOOPS} && "
                    "rmmod simstress && echo moving >/dev/kmsg && "
                    "insmod /simstress.ko cpu=-1 loops=100000 gp_loops=10000 && dmesg",
                    put=[build_module("stress-module")], smp=2, log=False)
    fixed, _, moving = run.output.partition("moving")
    return results(fixed), results(moving)


def results(text):
    """(iterations, bad ones) of each test, one for each thread."""
    found = {}
    for name, loops, bad in re.findall(r"simstress: (\S+) (\d+) bad (\d+)", text):
        found.setdefault(name, []).append((int(loops), int(bad)))
    return found


def fixed_thread(model, name):
    """All iterations on one vCPU are right."""
    loops = FAULT_LOOPS if name in FAULTS else LOOPS
    expect_equal(stress(model)[0].get(name), [(loops, 0)], "(iterations, bad)")


def moving_threads(model):
    """All iterations of four threads that the scheduler moves are right."""
    found = stress(model)[1]
    expect_equal(sorted(found), sorted(set(PLAIN + FAULTS) - set(ONE_CPU)), "tests that ran")
    for name, threads in found.items():
        expect_equal(len(threads), 4, f"threads that finished {name}")
        check(not any(bad for _, bad in threads), f"{name}: (iterations, bad) {threads}")


TESTS = []
for MODEL in ["golden-cove", "zen4"]:
    TESTS += [named(f"{MODEL}.{name}", fixed_thread, MODEL, name) for name in PLAIN + FAULTS]
    TESTS.append(named(f"{MODEL}.moving", moving_threads, MODEL))

if __name__ == "__main__":
    run_tests(TESTS)
