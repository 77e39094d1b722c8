#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prefetcher switches: what they do and what a refusing register gets, by the truth log; restore.py ends jobs early."""

import json
import os
import re

from lib.simtest import check, expect_equal, model_text, named, once, run_guest, run_tests

FULL = os.environ.get("CALM_TEST_FULL") == "1"
REGISTERS = {"zen4": 0xc0000108, "golden-cove": 0x1a4, "skylake-x": 0x1a4, "line128": 0x1a4}
NAMES = {
    "zen4": ["l1-stream", "l1-stride", "l1-region", "l2-stream", "l2-up-down"],
    "golden-cove": ["l2-stream", "l2-adjacent", "l1-next-line", "l1-ip", "l2-amp"],
    "skylake-x": ["l2-stream", "l2-adjacent", "l1-next-line", "l1-ip"],
    "line128": ["l2-stream", "l2-adjacent", "l1-next-line", "l1-ip"],
}
MARK = "=== part"
# beyond the last cache of the models at an eighth, where loads beside each other hide least
STRIDE = "calm stride --no-progress --format json --cpu 1 --size 12M --samples 1"


def parts(model, commands, *, smp=2, log=True, **others):
    """Output and exit status of each command, and the run; the guest unloads the module behind the last one."""
    script = "".join(f"{command}\nstatus=$?; echo; echo '{MARK}' $status\n" for command in commands)
    run = run_guest(model, f"({script}) 2>&1", smp=smp, load=True, log=log, **others)
    found = re.split(rf"^{MARK} (\d+)\n", run.output, flags=re.M)
    return [(text, int(status)) for text, status in zip(found[::2], found[1::2])], run


def document(part):
    """The JSON document among a command's lines."""
    text, status = part
    check(status == 0, f"exit status {status}: {text}")
    return json.loads(text[text.index("{\n"):text.rindex("}") + 1])


def writes(run, msr):
    """CPU and value of each write that a register took, in order."""
    return [(line["cpu"], int(str(line["value"]), 0)) for line in run.truth
            if line["type"] == "msr" and line["op"] == "write" and not line["fault"] and int(line["msr"], 0) == msr]


@once
def measured(model):
    """Strides with prefetchers as found and off, and each one off; a chase whose laps begin behind any load."""
    return parts(f"{model}@1/8", [
        "calm prefetch --format json",
        f"{STRIDE} --strides 64,128 --prefetch both --rounds 10 --events l1-miss",
        f"{STRIDE} --strides 64 --prefetch each --rounds 10 --events none",
        "calm latency --no-progress --format json --cpu 1 --size 62.5K --loads 1100 --prefetch both "
        "--rounds 1 --samples 2 --events none",
        "calm prefetch --format json",
    ], words=["--time-limit", "3000"])


def shown(model):
    """Every switch of the table, on, with its register; the same afterwards."""
    (before, *_, after), _ = measured(model)
    for part in (before, after):
        groups = document(part)["prefetch"]
        expect_equal([group["cpus"] for group in groups], [[0], [1]], "CPUs that share a switch")
        for group in groups:
            rows = group["prefetchers"]
            expect_equal([row["name"] for row in rows], NAMES[model], "prefetchers")
            check(all(row["state"] == "on" and not row["held"] for row in rows), f"not as found: {rows}")
            check(all(int(row["register"], 16) == REGISTERS[model] for row in rows), f"another register: {rows}")


def off_misses_each_line(model):
    """A read of every line, or of every second, misses once per load without prefetchers."""
    points = document(measured(model)[0][1])["points"]
    line = 128 if model == "line128" else 64
    for point in points:
        rate = point["events"]["l1-miss"]["per_access"]
        if point["prefetch"] == "off" and point["stride_bytes"] >= line:
            expect_equal(round(rate, 9), 1, f"misses per load at {point['stride_bytes']}, off")
        if point["prefetch"] == "found":
            check(rate < 0.75, f"{rate} misses per load at {point['stride_bytes']} with prefetchers")


def both_is_significant(model):
    """Found beside off: slower without, and no accident."""
    found = document(measured(model)[0][1])
    rows = found["derived"]["comparisons"]
    expect_equal(len(rows), 2, "comparisons")
    for row in rows:
        point = found["points"][row["point"]]
        expect_equal([row[key] for key in ("size_bytes", "stride_bytes", "prefetch")],
                     [point[key] for key in ("size_bytes", "stride_bytes", "prefetch")], "point that a comparison is of")
    row = next(row for row in rows if row["stride_bytes"] == 64)
    check(row["pairs"] == 10 and row["ratio"] > 1.05 and row["significant"], f"not significant: {row}")


def each_compares_all(model):
    """One comparison for each name; what has no effect is not significant."""
    derived = document(measured(model)[0][2])["derived"]
    expect_equal([row["prefetch"] for row in derived["comparisons"]], [f"off:{name}" for name in NAMES[model]], "settings")
    for row in derived["prefetchers"]:
        effect = row["effect"]
        check(not effect["significant"] or abs(effect["ratio"] - 1) >= 0.01, f"{row['name']}: {effect}")


def laps_may_begin_anywhere(model):
    """A lap that begins behind no multiple of 512 loads leaves alone what the first one noted."""
    expect_equal(len(document(measured(model)[0][3])["points"]), 2, "points")


def register_ends_as_found(model):
    """Written on the measured CPU alone, and the last value is the first one."""
    done = writes(measured(model)[1], REGISTERS[model])
    check(len(done) >= 2 * 10 + 2 * 10, f"only {len(done)} writes")
    expect_equal({cpu for cpu, _ in done}, {1}, "CPUs whose register was written")
    expect_equal(done[-1][1], 0, "last value")


@once
def refused(model):
    """What a machine whose register does not do as told gets."""
    return parts(model, [
        "calm latency --size 4K --quick --events none --no-progress --prefetch off",
        "calm prefetch off --cpus 0",
        "calm prefetch off",
        "calm prefetch --format json --cpus 0",
        "calm latency --size 4K --quick --events none --no-progress",
    ])


REFUSALS = {
    # exit status and words of each of the first three commands
    "negative/prefetch-faults": [(5, r"register faults: MSR 0x1a4 of CPU 1"), (5, "of CPU 0"), (5, "of CPU 0")],
    "negative/prefetch-dropped": [(2, r"did not keep a value: MSR 0x1a4 of CPU 1"), (2, "of CPU 0"), (2, "of CPU 0")],
    "negative/prefetch-one-cpu": [(2, r"did not keep a value: MSR 0x1a4 of CPU 1"), (0, "off"), (2, "of CPU 1")],
    "negative/prefetch-reserved": [(5, r"writing the prefetchers' register faults: MSR 0x1a4 of CPU 1"), (5, "of CPU 0"), (5, "of CPU 0")],
}


def refusal_is_told(model):
    """Its own exit status, with the register and the CPU; without a wish for prefetchers it measures."""
    found, run = refused(model)
    for (text, status), (wanted, words) in zip(found, REFUSALS[model]):
        expect_equal(status, wanted, f"exit status of: {text}")
        check(re.search(words, text), f"no {words!r} in {text!r}")
    expect_equal(found[4][1], 0, "exit status without prefetchers")
    rows = document(found[3])["prefetch"][0]["prefetchers"]
    held = model == "negative/prefetch-one-cpu"  # only CPU 0 was asked for once, and it took the value
    check(all(row["held"] == held for row in rows), f"left behind: {rows}")
    last = {cpu: value for cpu, value in writes(run, 0x1a4)}
    check(all(value == 0 for value in last.values()), f"last values {last}")


def no_switch_is_known():
    """A processor without documented switches: exit status 5, undocumented ones only when allowed."""
    found, run = parts("zen2", [
        "calm prefetch",
        "calm latency --size 4K --quick --events none --no-progress --prefetch both",
        "calm prefetch off",
        "calm latency --size 4K --quick --events none --no-progress",
    ])
    expect_equal([status for _, status in found], [0, 5, 5, 0], "exit statuses")
    check("documented for this processor" in found[1][0], found[1][0])
    expect_equal(writes(run, 0xc0011022) + writes(run, 0xc001102b), [], "writes")


def run_is_stacked_on_held(model):
    """A run gives back what calm prefetch had set, and restore what was found before."""
    first, second = NAMES[model][:2]
    found, run = parts(model, [
        f"calm prefetch off:{first} --cpus 1",
        f"calm latency --size 4K --quick --events none --cpu 1 --no-progress --prefetch off:{second}",
        "calm prefetch --format json --cpus 1",
        "calm prefetch restore --format json --cpus 1",
    ])
    check(f"prefetcher {first} is off by calm prefetch" in found[1][0], f"not told: {found[1][0]}")
    states = {row["name"]: row["state"] for row in document(found[2])["prefetch"][0]["prefetchers"]}
    expect_equal({name for name, state in states.items() if state == "off"}, {first}, "off after the run")
    states = {row["name"]: row["state"] for row in document(found[3])["prefetch"][0]["prefetchers"]}
    expect_equal({name for name, state in states.items() if state == "off"}, set(), "off after restore")
    expect_equal(writes(run, REGISTERS[model])[-1][1], 0, "last value")


def shared_more_widely():
    """All CPUs share a register that is taken for one of each core: held on all and given back, it is as it was."""
    text = model_text("golden-cove")
    wider = text.replace("0x1a4 = 0x82f 0 core", "0x1a4 = 0x82f 0 package")
    check(wider != text, "the model's register has another line")
    found, run = parts(wider, ["calm prefetch off", "calm prefetch restore", "calm prefetch --format json"])
    expect_equal([status for _, status in found], [0, 0, 0], f"exit statuses of {found}")
    for group in document(found[2])["prefetch"]:
        check(all(row["state"] == "on" and not row["held"] for row in group["prefetchers"]), f"not as found: {group}")
    expect_equal([value for _, value in writes(run, 0x1a4)], [0x2f, 0], "values written")


# the msr driver, and a write to C000_0108 of CPU 1: offsets are numbers of registers
FOREIGN = """modprobe msr && mkdir -p /dev/cpu/1
[ -e /dev/cpu/1/msr ] || mknod /dev/cpu/1/msr c 202 1
calm stride --cpu 1 --size 64K --strides 64 --prefetch off --rounds 1000 --samples 30 --events none --no-progress >/dev/null & job=$!
until calm prefetch --cpus 1 | grep -q 'l2-stream *off'; do usleep 20000; done
printf '\\000\\000\\000\\000\\000\\000\\000\\000' | dd of=/dev/cpu/1/msr bs=8 count=1 seek=402653217 conv=notrunc 2>/dev/null
wait $job"""


def change_by_somebody_else_fails_the_run():
    """A switch that is turned back on in the middle of a run: the run fails and says so."""
    found, run = parts("zen4", [FOREIGN, "calm prefetch --cpus 1"], words=["--module", "msr"])
    expect_equal(found[0][1], 2, f"exit status of {found[0][0]}")
    check("a prefetcher's switch was changed by somebody else during the run" in found[0][0], found[0][0])
    expect_equal(writes(run, REGISTERS["zen4"])[-1][1], 0, "last value")


LOCK = "[ -e /sys/kernel/security/lockdown ] || mount -t securityfs none /sys/kernel/security; echo integrity >/sys/kernel/security/lockdown && " \
       "cat /proc/sys/kernel/tainted"


def lockdown_is_honoured(model):
    """Locked down with the module loaded: counters and switches are refused with the reason, and nothing is written."""
    found, run = parts(model, [
        LOCK,
        "calm latency --size 4K --quick --no-progress --prefetch off",
        "calm prefetch off",
        "calm latency --size 4K --quick --no-progress --events l1-miss",
        "calm latency --size 4K --quick --no-progress",
        "cat /proc/sys/kernel/tainted",
    ])
    expect_equal([status for _, status in found], [0, 4, 4, 4, 0, 0], f"exit statuses of {found}")
    for text, _ in found[1:5]:
        check("kernel lockdown forbids writing model-specific registers" in text, text)
    expect_equal(writes(run, REGISTERS[model]), [], "writes")
    expect_equal(found[0][0].split()[-1], found[5][0].split()[-1], "taint")


def lockdown_lets_restore(model):
    """What was held before the kernel was locked down can be given back, and nothing else be written."""
    found, run = parts(model, [
        "calm prefetch off --cpus 1",
        LOCK,
        "calm prefetch off --cpus 0",
        "calm prefetch on --cpus 1",
        "calm prefetch restore --cpus 0",
        f"calm prefetch restore:{NAMES[model][0]} --format json --cpus 1",
        "calm prefetch restore --format json --cpus 1",
        "calm prefetch off --cpus 1",
    ])
    expect_equal([status for _, status in found], [0, 0, 4, 4, 0, 0, 0, 4], f"exit statuses of {found}")
    one, all_of_them = ({row["name"] for row in document(part)["prefetch"][0]["prefetchers"] if row["held"] or row["state"] != "on"}
                        for part in found[5:7])
    expect_equal((one, all_of_them), (set(NAMES[model][1:]), set()), "held or off")
    taken = writes(run, REGISTERS[model])
    expect_equal([cpu for cpu, _ in taken], [1, 1, 1], f"CPUs of writes {taken}")
    expect_equal(taken[-1][1], 0, "last value")


def first_write_taints(model):
    """TAINT_CPU_OUT_OF_SPEC, as with the msr driver; loading alone does not."""
    found, _ = parts(model, ["cat /proc/sys/kernel/tainted", "calm prefetch", "cat /proc/sys/kernel/tainted",
                             "calm prefetch off", "cat /proc/sys/kernel/tainted"])
    values = [int(found[i][0].split()[-1]) & 4 for i in (0, 2, 4)]
    expect_equal(values, [0, 0, 4], "bit 2 of the taint")


if __name__ == "__main__":
    MODELS = list(REGISTERS) if FULL else ["zen4"]
    run_tests([named(f"{model}: {test.__name__}", test, model) for model in MODELS for test in
               (shown, off_misses_each_line, both_is_significant, each_compares_all, laps_may_begin_anywhere,
                register_ends_as_found)] +
              [named(f"{model}: refusal_is_told", refusal_is_told, model) for model in REFUSALS] +
              [no_switch_is_known, shared_more_widely, change_by_somebody_else_fails_the_run] +
              [named(f"zen4: {test.__name__}", test, "zen4") for test in
               (lockdown_is_honoured, lockdown_lets_restore, first_write_taints, run_is_stacked_on_held)])
