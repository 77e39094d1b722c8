#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf and the module on one CPU's counters: perf loses nothing, whatever NMI comes when."""

import io
import json
import os
import subprocess

from lib.simtest import TOP, check, expect_equal, model_text, named, once, run_guest, run_tests

FULL = "CALM_TEST_FULL" in os.environ
MODELS = ["golden-cove", "zen4", "zen2"]
EVENTS = {"golden-cove": "8d1 10d1 fixed2", "zen4": "f43 e43 76", "zen2": "f43 e43 76"}
CYCLES, INSTRUCTIONS = 0, 1
DISTURB_NMI = 4
NMIS = 10000 if FULL else 200
# an overflow interrupts behind its block of 64 loads: longer than these take from memory
PERIOD = 30011
# a buffer of 4096 lines in level 2, and how often to go through it before the module counts
SAMPLED_BYTES = 1 << 18
LAPS = 500
LOADS = 4096
# lines that the module's own may have replaced in a window
OWN_LINES = 4
WIDTH = 48


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

    def runs(self, clock, has_global):
        """Whether a general counter counts."""
        number = int(clock[2:]) if clock.startswith("gp") else None
        return number is not None and bool(self.select.get(number, 0) >> 22 & 1 and
                                           (not has_global or self.global_ctrl >> number & 1))

    def count_user(self, has_global):
        """Whether some counter counts in ring 3 too: perf's does, the module's never do."""
        for n, select in self.select.items():
            enabled = select >> 22 & 1 and (not has_global or self.global_ctrl >> n & 1)
            if enabled and select >> 16 & 1:
                return True
        return any(self.fixed_ctrl >> 4 * n & 2 and self.global_ctrl >> (32 + n) & 1
                   for n in range(3))


def truth(run):
    """Windows, register writes and ends, one by one: a log of 10,000 NMIs is larger than memory as objects."""
    for line in io.StringIO(run.truth_text):
        if '"op":"read"' not in line:
            yield json.loads(line)


def has_global_control(run):
    """Whether the machine stops all counters by one register. What a counter held may be that number, too."""
    return any(f'"msr":"{msr}"' in run.truth_text for msr in ("0x38f", "0xc0000301"))


def total_in_perf_windows(run, total, cpu):
    """The model's own total while a counter of perf was running."""
    has_global = has_global_control(run)
    counters, result = Counters(), 0
    for line in truth(run):
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
/ask -c 1 -n 1000000 -l {8192 if FULL else 2048} -p {CYCLES} -t {NMIS} {EVENTS[model]}
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
    ends = [{line["cpu"]: line["msrs"] for line in truth(run) if line["type"] == "exit"}
            for run in (disturbed(model), calm)]
    for msr, value in ends[1][1].items():
        if not is_counter(int(msr, 16)):
            expect_equal(ends[0][1][msr], value, f"register {msr}")


def with_interrupts(model, *changes):
    """The model with interrupts on overflow."""
    text = model_text(model)
    for old, new in [("[pmu]\n", "[pmu]\npmi = yes\n"), *changes]:
        check(old in text, f"{model} has no {old}")
        text = text.replace(old, new, 1)
    return text


def run_in_detail(*args, **options):
    """A guest of which each read and write of a counter is logged."""
    os.environ["CALM_SIM_DETAIL"] = "yes"
    try:
        return run_guest(*args, **options)
    finally:
        del os.environ["CALM_SIM_DETAIL"]


@once
def sampled(model):
    """A job while perf takes a sample for each so many cycles of its CPU."""
    command = f"""
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
insmod /calm.ko
/ask -s {SAMPLED_BYTES} -w {LAPS} -n 60 -p {CYCLES} -P {PERIOD} {EVENTS[model]}
rmmod calm
"""
    return run_in_detail(with_interrupts(model), command, put=[ask_program()], prefetch=False)


def lost_by_setting(run, cpu):
    """
    What counters of perf had counted since it read them when it wrote them while they ran: without
    global control its handler does so at each overflow (Linux x86_perf_event_set_period()). The
    module writes counters that are stopped.
    """
    counters, last_read, lost = Counters(), {}, 0
    for line in truth(run):
        if line.get("cpu") != cpu:
            continue
        if line["type"] == "read":
            last_read[line["clock"]] = int(line["value"], 16)
        elif line["type"] == "overwritten" and counters.runs(line["clock"], False):
            lost += int(line["value"], 16) - last_read[line["clock"]]
        elif line["type"] == "msr" and line["op"] == "write" and not line["fault"]:
            counters.write(int(line["msr"], 16), int(line["value"], 16))
    return lost


def test_samples(model):
    """perf gets its samples outside the module's windows, each of them, and none inside."""
    run = sampled(model)
    record = next(item for item in items(run) if "recorded" in item)
    cycles = perf_count(run)
    expect_equal(record["lost"], 0, "samples lost")
    missing = total_in_perf_windows(run, "cycles", 0) - cycles
    expect_equal(missing, 0 if has_global_control(run) else lost_by_setting(run, 0),
                 f"cycles that perf misses, of {cycles}")
    check(record["recorded"] > 100, f"{record['recorded']} samples")
    # the last overflow may still be on its way when perf is stopped
    check(0 <= cycles // PERIOD - record["recorded"] <= 1,
          f"{record['recorded']} samples of {PERIOD} cycles each in {cycles} cycles")
    check(record["in_modules"] > 0, "no sample in the code of a module, between its windows")


def module_windows(run):
    """Windows in which no counter of perf runs and some counter is read twice."""
    has_global = has_global_control(run)
    counters = Counters()
    for line in truth(run):
        if line["type"] == "window" and not counters.count_user(has_global):
            if any(counter["reads"] >= 2 for counter in line["counters"].values()):
                yield line
        if line["type"] == "msr" and line["op"] == "write" and not line["fault"]:
            counters.write(int(line["msr"], 16), int(line["value"], 16))


def test_no_interrupt_in_windows(model):
    """No counter of perf overflows while the module counts."""
    run = sampled(model)
    windows = list(module_windows(run))
    # what proves that all is put back reads no counter twice
    expect_equal(len(windows), len(samples(run)), "windows of the module")
    expect_equal(sum(w["interrupts"] for w in windows), 0, "interrupts in windows")


def test_samples_mark_or_count(model):
    """What the module counts beside them is right, or marked: each load misses level 1, none level 2."""
    clean = [s["pass"] for s in samples(sampled(model)) if not s["disturb"]]
    check(len(clean) > 30, f"{len(clean)} samples are not marked")
    for misses_l1, misses_l2, _ in clean:
        check(abs(misses_l1 - LOADS) <= OWN_LINES, f"{misses_l1} misses of level 1 in {LOADS} loads")
        check(misses_l2 <= OWN_LINES, f"{misses_l2} misses of level 2")


# the watchdog's period is a second of cycles: at this clock, and an instruction a cycle, a guest gets there
SLOW_HZ = 50000000
WATCHDOG = """
nmis() { awk '/NMI/ { print $2 }' /proc/interrupts; }
# be busy until the watchdog has looked
wait_for_nmi() {
	before=$(nmis) turns=0
	while [ $(nmis) = $before ]; do
		turns=$((turns + 1))
		[ $turns -lt 3000 ] || exit 1
		i=0
		while [ $i -lt 1000 ]; do i=$((i + 1)); done
	done
}
wait_for_nmi
insmod /calm.ko
/ask -n 100 EVENTS >/dev/null
wait_for_nmi
rmmod calm
wait_for_nmi
nmis
"""


@once
def watched(model):
    """A job on a CPU that the watchdog looks after, and that counts by its counter."""
    rate, width = (next(line for line in model_text(model).splitlines() if line.startswith(word))
                   for word in ("tsc_hz", "width"))
    # an interrupt that seems long has perf throttle, and what it stops then is the watchdog, for good
    words = ["--append", "nmi_watchdog=1 sysctl.kernel.perf_cpu_time_max_percent=0 sysctl.kernel.watchdog_thresh=1",
             "--time-limit", "3000"]
    return run_in_detail(with_interrupts(model, (rate, f"tsc_hz = {SLOW_HZ}"), (width, "width = 1")),
                     WATCHDOG.replace("EVENTS", EVENTS[model].replace("fixed2", "fixed1")), put=[ask_program()],
                     words=words)


def watchdog_counter(run):
    """Clock and register of the counter that perf gave the watchdog: of cycles, with an interrupt."""
    for line in truth(run):
        if line["type"] != "msr" or line["op"] != "write":
            continue
        msr, value = int(line["msr"], 16), int(line["value"], 16)
        if msr == 0x38d and value & 0x80:
            return "fixed1", 0x30a
        if 0xc0010200 <= msr < 0xc001020c and value & 0x1000ff == 0x100076:
            return f"gp{(msr - 0xc0010200) // 2}", msr + 1
    raise AssertionError("no counter interrupts after so many cycles")


def all_cycles(totals):
    """Of the kernel and of ring 3."""
    return totals["cycles"] + totals["cycles_user"]


def counter_values(run, clock, register):
    """
    Pairs of what a counter of perf held when it was written, and what is written, from the first
    event select of the module on; at last what it holds at the end.
    """
    counters, has_global, value, since, borrowed = Counters(), has_global_control(run), None, None, False
    for line in truth(run):
        if line["type"] == "window" and counters.count_user(has_global) and value is not None:
            value += all_cycles(line["totals"]) if since is None else all_cycles(line["end"]) - since
            since = None
        if line["type"] == "overwritten" and line["clock"] == clock and counters.runs(clock, has_global):
            since = all_cycles(line["totals"])
            check(int(line["value"], 16) < 1 << WIDTH - 1, f"{line['value']} is no overflow")
        if line["type"] != "msr" or line["op"] != "write" or line["fault"]:
            continue
        msr, new = int(line["msr"], 16), int(line["value"], 16)
        counters.write(msr, new)
        borrowed = borrowed or new & 0xffffff in (0x4208d1, 0x42ff43, 0x420f43)
        if msr != register:
            continue
        # perf's handler may write it while it counts
        if borrowed and value is not None and since is None:
            yield value, new
        value = new
    yield value, None


def test_watchdog(model):
    """
    The watchdog's interrupts come before, between and after, and its counter has gone on from the
    very value that it had when it was borrowed: whoever writes it before it overflows writes that.
    """
    run = watched(model)
    check(int(run.output.split()[-1]) >= 3, f"interrupts: {run.output}")
    clock, register = watchdog_counter(run)
    *writes, (value, _) = counter_values(run, clock, register)
    kept = [(held, new) for held, new in writes if held < 1 << WIDTH]
    check(len(kept) > 50, f"the module wrote the watchdog's counter {len(kept)} times")
    for held, new in kept:
        expect_equal(hex(new), hex(held), "the counter, put back")
    last = next(line["msrs"] for line in truth(run) if line["type"] == "exit")
    expect_equal(last[hex(register)], hex(value), "the counter at the end")


if __name__ == "__main__":
    PERF = [named(f"{model}: perf's {total}", test_perf, model, total, config)
            for model in MODELS
            for total, config in (("cycles", CYCLES), ("instructions", INSTRUCTIONS))]
    NMI = [named(f"{model}: {test.__name__[5:]}", test, model)
           for model in (MODELS if FULL else MODELS[:2])
           for test in (test_nmis_mark_samples, test_nmis_leave_perf_alone,
                        test_nmis_leave_registers_alone)]
    PMI = [named(f"{model}: {test.__name__[5:]}", test, model) for model in (MODELS if FULL else ())
           for test in (test_samples, test_no_interrupt_in_windows, test_samples_mark_or_count)]
    WATCH = [named(f"{model}: watchdog", test_watchdog, model)
             for model in (MODELS if FULL else ())]
    run_tests(PERF + NMI + PMI + WATCH)
