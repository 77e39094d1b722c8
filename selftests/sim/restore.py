#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Whatever ends a job or a setting that is held, prefetcher switches then have their first values, by the truth
log: after each event the guest reads a register that nothing else reads, and at that place in the log every
switch must be as firmware left it. Firmware has two prefetchers off here, so that zero is not good enough.
"""

import os
import subprocess

from lib.simtest import TOP, check, expect_equal, model_text, named, once, run_guest, run_tests

FULL = os.environ.get("CALM_TEST_FULL") == "1"
KILLS = 200 if FULL else 12
MODELS = ["zen4", "skylake-x"] if FULL else ["zen4"]
MARK = 0x150
SWITCHES = {"zen4": 0xc0000108, "skylake-x": 0x1a4}
CYCLES = {"zen4": "76", "skylake-x": "3c"}
SELECT3 = {"zen4": 0xc0010206, "skylake-x": 0x189}
FOUND = 6
TUNING = 0x1321

# offsets of the msr driver are numbers of registers, in units of 8 here
HELPERS = f"""
modprobe msr 2>/dev/null
[ -e /dev/cpu/0/msr ] || {{ mkdir -p /dev/cpu/0; mknod /dev/cpu/0/msr c 202 0; }}
idle() {{ until grep -q '^calm [0-9]* 0 ' /proc/modules; do usleep 5000; done; }}
mark() {{ idle; dd if=/dev/cpu/0/msr of=/dev/null bs=8 count=1 skip={MARK // 8} 2>/dev/null; }}
stride() {{ calm stride --cpu 1 --size 64K --strides 64 --no-progress "$@" >/out/job 2>&1; }}
# in the background only
endless() {{ exec calm stride --cpu 1 --size 64K --strides 64 --no-progress --rounds 900 --samples 9 --events none "$@" >/dev/null 2>&1; }}
off() {{ until calm prefetch --cpus 1 | grep -q 'l2-stream *off'; do usleep 20000; done; }}
begin() {{ endless --prefetch off & job=$!; off; }}
ended() {{ status=0; wait $job || status=$?; [ $status = $1 ]; }}
online() {{ echo $1 >/sys/devices/system/cpu/cpu1/online; }}
# suspend as far as DEPTH, and back
suspend() {{ echo 0 >/sys/module/suspend/parameters/pm_test_delay; echo $1 >/sys/power/pm_test; echo mem >/sys/power/state; }}
"""

# what happens; prefetchers were off meanwhile, by a job or held
EVENTS = [
    ("a run to its end", "stride --rounds 2 --samples 1 --events none --prefetch both"),
    ("SIGINT", "begin; kill -INT $job; ended 130"),
    ("SIGKILL", "begin; kill -9 $job; ended 137"),
    ("held and restored", "calm prefetch off >/dev/null; calm prefetch restore >/dev/null"),
    ("rmmod while busy", "begin; rmmod calm 2>/dev/null && exit 1; kill -9 $job; ended 137; idle; rmmod calm; insmod /calm.ko"),
    ("rmmod while held", "calm prefetch off >/dev/null; rmmod calm; insmod /calm.ko"),
    ("CPU offline in a run", "begin; online 0; ended 2; online 1"),
    ("CPU offline while held", "calm prefetch off --cpus 1 >/dev/null; online 0; online 1"),
    # cycles, by a counter whose event select faults: the first lap, behind the first setting, finds out
    ("a job that fails behind its switches", "/ask -o -c 1 $CYCLES:8 >/out/job; grep 'faults' /out/job"),
    ("suspend while held", "calm prefetch off >/dev/null; suspend devices"),
] + [
    # as far as it goes without turning off other CPUs, or to its end
    (f"suspend to {depth} in a run", f"begin; suspend {depth}; ended 2")
    for depth in (["freezer", "devices", "platform", "processors", "core"] if FULL else ["devices", "core"])
]


def altered(text, *changes):
    """The text of a model with each of some pieces replaced."""
    for old, new in changes:
        check(old in text, f"the model has no {old!r}")
        text = text.replace(old, new, 1)
    return text


def with_first_value(model):
    """A model with prefetchers switched off by firmware, and a register that only marks read."""
    return altered(model_text(model), ("[msr]\n", f"[msr]\n{MARK:#x} = 0\n"), ("f 0 core", f"f {FOUND:#x} core"))


@once
def ask_program():
    """Build a client that takes several CPUs."""
    subprocess.run(["make", "-s", "-C", TOP, "build/selftests/ask"], check=True)
    return TOP / "build" / "selftests" / "ask"


def segments(run, registers, scope):
    """
    Between two marks: the values that the switches were given, and what they hold at the second mark, by
    register and by the CPU of each scope that has them.
    """
    held = {(msr, cpu // scope): value for cpu in range(scope) for msr, value in registers.items()}
    given, result = [], []
    for line in run.truth:
        if line["type"] != "msr":
            continue
        msr = int(line["msr"], 16)
        if msr == MARK and line["op"] == "read":
            result.append((given, dict(held)))
            given = []
        elif line["op"] == "write" and msr in registers and not line["fault"]:
            held[msr, line["cpu"] // scope] = int(line["value"], 16)
            given.append(int(line["value"], 16))
    return result


def last_values(run, registers):
    """What each CPU's switches hold when the guest is off."""
    return [{msr: int(line["msrs"][f"{msr:#x}"], 16) for msr in registers}
            for line in run.truth if line["type"] == "exit"]


def expect_found(run, registers, scope, names):
    """At each mark, and in the end, all is as found; and switches were turned before each mark."""
    parts = segments(run, registers, scope)
    expect_equal(len(parts), len(names) + 1, "marks")
    expect_equal(parts[0][0], [], "writes before anything was asked for")
    for name, (given, held) in zip(names, parts[1:]):
        wrong = {key: value for key, value in held.items() if value != registers[key[0]]}
        check(not wrong, f"{name}: left behind {wrong}")
        check(any(value not in registers.values() for value in given), f"{name}: no switch was turned")
    check(all(values == registers for values in last_values(run, registers)),
          f"at the end {last_values(run, registers)}")


@once
def events(model):
    """One event after the other. At the end the guest goes off with a job, and switches held."""
    script = "".join(f"{text}\nmark\necho done\n" for _, text in EVENTS)
    return run_guest(with_first_value(model) + f"\n[fault]\nmsr_fault = {SELECT3[model]:#x}\n",
                     f"{HELPERS}CYCLES={CYCLES[model]}\ninsmod /calm.ko; set -e\nmark\n{script}"
                     "calm prefetch off --cpus 0 >/dev/null; begin", smp=2, put=[ask_program()],
                     words=["--module", "msr", "--time-limit", "1800"])


def test_events(model):
    """Each of them, and power-off, restores."""
    expect_found(events(model), {SWITCHES[model]: FOUND}, 1, [name for name, _ in EVENTS])


def test_power_off(model):
    """It found switches of both CPUs turned, one held and one by a job."""
    given = {0: [], 1: []}
    for line in events(model).truth:
        if line["type"] == "msr" and line["msr"] == f"{MARK:#x}" and line["op"] == "read":
            given = {0: [], 1: []}
        elif line["type"] == "msr" and line["op"] == "write" and line["msr"] == f"{SWITCHES[model]:#x}":
            given[line["cpu"]].append(int(line["value"], 16))
    for cpu, values in given.items():
        check(len(values) == 2 and values[0] != FOUND and values[1] == FOUND, f"CPU {cpu}: written {values}")


@once
def kills(model):
    """Clients killed at any moment, every other one after it has been seen to turn switches; each then looked at."""
    script = f"""
i=0
while [ $i -lt {KILLS} ]; do
	endless --prefetch both & job=$!
	[ $((i % 2)) = 0 ] || off
	usleep $((i * 104729 % 1100000 + 10000))
	kill -9 $job
	wait $job
	mark
	i=$((i + 1))
done
rmmod calm"""
    return run_guest(with_first_value(model), f"{HELPERS}insmod /calm.ko; mark\n{script}", smp=2,
                     words=["--module", "msr", "--time-limit", "10800" if FULL else "1800"])


def test_kills(model):
    """All as found after each; at least every third one came while something was turned."""
    switch = SWITCHES[model]
    parts = segments(kills(model), {switch: FOUND}, 1)
    expect_equal(len(parts), KILLS + 1, "marks")
    for number, (_, held) in enumerate(parts):
        expect_equal(set(held.values()), {FOUND}, f"values after kill {number}")
    turned = sum(bool(given) for given, _ in parts)
    print(f"# {model}: {KILLS} clients killed, {turned} of them behind a switch")
    check(turned >= KILLS / 3, f"only {turned} of {KILLS} kills came behind a switch")
    expect_equal({values[switch] for values in last_values(kills(model), [switch])}, {FOUND}, "values at the end")


# four cores that share two registers of switches, as E-cores do; the second one may not have the bit
def module_of_four(tuning):
    """An N100, whose registers are those of a module of four cores."""
    return altered(with_first_value("skylake-x"),
                   ("model=85", "model=190"), ("microarch = Skylake-X", "microarch = none\ncluster = 4"),
                   ("inclusion = inclusive", "scope = cluster\ninclusion = inclusive"),
                   (f"0x1a4 = 0xf {FOUND:#x} core", f"0x1a4 = 0x2f {FOUND:#x} cluster\n{TUNING:#x} = {tuning:#x} 0 cluster"))


def pair():
    """Two threads of a core."""
    return altered(with_first_value("skylake-x"), ("microarch = Skylake-X", "microarch = Skylake-X\nthreads = 2"))


ASK = "/ask -o -s 65536 -n 2 -r 2"
ENDLESS_ASK = "/ask -o -s 65536 -n 100 -r 500"


def killed(cpus):
    """A job of several CPUs that loses its client behind the first switch."""
    return f"{ENDLESS_ASK} {cpus} >/dev/null & job=$!; off; kill -9 $job; wait $job || true"


MODULE = [
    ("one worker", f"{ASK} -c 0"),
    ("four workers", f"{ASK} -c 0 -c 1 -c 2 -c 3"),
    ("four workers, killed", killed("-c 0 -c 1 -c 2 -c 3")),
    ("four workers, the one who writes offline", f"{ENDLESS_ASK} -c 1 -c 0 -c 2 -c 3 >/dev/null & job=$!; "
     "off; online 0; wait $job; online 1"),
    ("two groups of workers", f"{ASK} -c 2 -c 3"),
]


@once
def module():
    """Workers of one module."""
    script = "".join(f"{text}\nmark\n" for _, text in MODULE)
    return run_guest(module_of_four(1 << 40), f"{HELPERS}insmod /calm.ko; set -e\nmark\n{script}\nrmmod calm",
                     smp=4, put=[ask_program()], words=["--module", "msr"])


def test_module():
    """Both registers, whoever ends."""
    expect_found(module(), {0x1a4: FOUND, TUNING: 0}, 4, [name for name, _ in MODULE])


def test_module_once():
    """Four workers turn the switches as often as one does."""
    parts = segments(module(), {0x1a4: FOUND, TUNING: 0}, 4)
    expect_equal(parts[2][0], parts[1][0], "values written for four workers and for one")


@once
def refusing():
    """The second register does not take the bit, after the first has been written."""
    return run_guest(module_of_four(0), f"{HELPERS}insmod /calm.ko; mark\n{ASK} -c 1 -c 2; mark; "
                     "! calm prefetch off; mark; rmmod calm", smp=4, put=[ask_program()], words=["--module", "msr"])


def test_refusing():
    """The first gets back what it had, for a job and for what is to be held."""
    check("writing the prefetchers' register faults" in refusing().output, refusing().output)
    expect_found(refusing(), {0x1a4: FOUND, TUNING: 0}, 4, ["a job", "held"])


THREADS = [
    ("two workers", f"{ASK} -c 0 -c 1"),
    ("two workers, killed", killed("-c 0 -c 1")),
    ("two workers, one offline", f"{ENDLESS_ASK} -c 0 -c 1 >/dev/null & job=$!; off; online 0; wait $job; online 1"),
]


@once
def threads():
    """Workers on two threads of a core."""
    script = "".join(f"{text}\nmark\n" for _, text in THREADS)
    return run_guest(pair(), f"{HELPERS}insmod /calm.ko; set -e\nmark\n{script}\nrmmod calm", smp=2,
                     put=[ask_program()], words=["--module", "msr"])


def test_threads():
    """The register that they share."""
    expect_found(threads(), {0x1a4: FOUND}, 2, [name for name, _ in THREADS])


if __name__ == "__main__":
    run_tests([named(f"{model}: {test.__name__[5:]}", test, model) for model in MODELS
               for test in (test_events, test_power_off, test_kills)] +
              [test_module, test_module_once, test_refusing] + ([test_threads] if FULL else []))
