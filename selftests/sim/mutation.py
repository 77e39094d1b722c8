#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Each value of each shipped model is changed in turn, and a named test of models.c must notice."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
from simtest import MODELS, TOP, check, named, run_tests  # noqa: E402

PROGRAM = TOP / "build" / "selftests" / "sim" / "models"
DESCRIBE = TOP / "build" / "simcpu" / "describe"

FULL = "CALM_TEST_FULL" in os.environ
ALIKE = {"haswell.cpu", "zen3.cpu", "crestmont.cpu"}
# of those, sections that no other model has
OWN = {"crestmont.cpu": {"prefetch l1_next_page", "prefetch llc_page", "prefetch pointer_array", "prefetch llc_streamer"}}
WITH_TLBS = {"zen4.cpu", "skylake-x.cpu"}

# Other words for a word; the first one that makes a model which is not refused is taken.
WORDS = {
    "amd": ["intel"], "intel": ["amd"],
    "Zen2": ["Zen4"], "Zen3": ["Zen2"], "Zen4": ["Zen2"], "Skylake-X": ["Haswell"], "Skylake": ["Haswell"],
    "GoldenCove": ["Skylake"], "Gracemont": ["Skylake"], "Crestmont": ["Skylake"], "Haswell": ["Skylake"],
    "performance": ["efficient"], "efficient": ["performance"],
    "plru": ["lru"],
    "cluster": ["package"], "package": ["core", "cluster"],
    "inclusive": ["neither", "exclusive"], "exclusive": ["neither"],
    "amd-extcore": ["amd-v2"], "amd-v2": ["amd-extcore"], "none": ["intel"],
    "yes": ["no"], "no": ["yes"], "zero": ["fault"],
    "stream": ["multipath"], "up_down": ["multipath"], "adjacent": ["next_line"],
    "next_line": ["adjacent"], "ip_stride": ["multipath"], "multipath": ["ip_stride"],
    "golden-cove.cpu": ["gracemont.cpu"], "gracemont.cpu": ["golden-cove.cpu"],
    "region": ["stream"], "next_page": ["pointers"], "pointers": ["next_page"],
}

# Whatever is made of these, the rest of the file no longer goes with it.
REFUSED = {("cpu", "vendor"), ("pmu", "style"), ("pmu", "gp"), ("hybrid", "cores"), ("hybrid", "others")}
# Where each size of page has an array at each level, no array can hold another size, or stand elsewhere.
REFUSED_OF_TLB = {"pages", "level"}
PAGES = ["4k", "2m", "1g", "4k, 2m", "4k, 1g"]

# Without counters nothing shows which events there are; a register that faults shows no bits.
UNSEEN = {("negative/no-pmu.cpu", "microarch"), ("negative/prefetch-faults.cpu", "0x1a4")}


def numbers(text):
    """A number, size or fraction changed, each way that may still fit the rest of the file."""
    found = re.match(r"(0x[0-9a-f]+|\d+)(.*)$", text)
    if not found:
        return []
    base = 16 if found[1].startswith("0x") else 10
    value, rest = int(found[1], base), found[2]
    changed = [value * 2, value + 1, value - 1, value // 2]
    return [(hex(new) if base == 16 else str(new)) + rest
            for new in changed if new > 0 and new != value]


def lists(text):
    """A list of registers without its first part."""
    return [text.split(",", 1)[1].strip()] if "," in text else ["none"]


def more_bits(value):
    """A register's mask with bits beyond its highest one, so that those that switches need stay."""
    mask, rest = re.match(r"(0x[0-9a-f]+)(.*)$", value).groups()
    return [hex(2 << int(mask, 16).bit_length() | int(mask, 16)) + rest]


def others(section, key, value):
    """Values to try in place of one."""
    if section == "msr":
        return more_bits(value)
    if key == "disable":
        return [value[:value.index("bit ") + 4] + bit for bit in "0123" if not value.endswith(" " + bit)] + ["none"]
    if key == "first":
        return [str(2 * int(value))]
    if key == "qemu_cpu":
        return [value.replace("model=", "model=1", 1)]
    if key == "pages":
        return [pages for pages in PAGES if pages != value]
    if key.startswith("msr_"):
        return lists(value)
    if key in ("width", "version", "gp", "fixed") and section == "pmu":
        return [str(int(value) - 1), str(int(value) + 1)]
    if key in ("latency", "memory", "tsc_hz", "rob", "fill_buffers", "store_buffer", "load_ports", "clock"):
        return [str(int(value) + 1)]
    if key == "core_ratio":
        return ["2"]
    return WORDS.get(value) or numbers(value)


def refused(path):
    """What describe says against a model, or nothing."""
    done = subprocess.run([DESCRIBE, path], capture_output=True, text=True, check=False)
    return done.stderr.strip()


def failing(model, folder):
    """Names of the tests that fail on a model of a folder."""
    variant = pathlib.Path(model).stem.replace("-", "_")
    done = subprocess.run([PROGRAM, "-v", variant], capture_output=True, text=True, cwd=TOP,
                          env={**os.environ, "CALM_SIM_MODELS": folder}, check=False)
    ran = re.findall(r"^(?:not )?ok \d+ (\S+)", done.stdout, re.M)
    check(ran, f"no test has run for {variant}: {done.stderr}")
    return re.findall(r"^not ok \d+ \S+\.(\w+)$", done.stdout, re.M)


def changed_lines(lines, number, key, old, new):
    """The file with one value changed; the line size of all data caches at once."""
    changed = list(lines)
    if key != "line":
        changed[number] = changed[number].replace(f"= {old}", f"= {new}", 1)
        return changed
    section = next(text for text in reversed(lines[:number]) if text.startswith("["))
    inside = section
    for i, text in enumerate(lines):
        inside = text if text.startswith("[") else inside
        if text == f"line = {old}" and (inside == "[cache l1i]") == (section == "[cache l1i]"):
            changed[i] = f"line = {new}"
    return changed


def write(folder, model, lines):
    """Put a changed model where the test program looks for it, beside the files that it names."""
    path = pathlib.Path(folder) / model
    path.parent.mkdir(parents=True, exist_ok=True)
    if "[hybrid]" in lines:
        for name in re.findall(r"= (\S+\.cpu)$", "\n".join(lines), re.M):
            shutil.copy(MODELS / name, path.parent)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def must_be_noticed(model, lines, candidates, may_be_refused):
    """Of the changed files, take the first one that is a model at all, and run the tests on it."""
    reasons = []
    with tempfile.TemporaryDirectory() as folder:
        for changed in candidates:
            reason = refused(write(folder, model, changed))
            if not reason:
                names = failing(model, folder)
                check(names, "no test fails")
                print(f"# {', '.join(names)}")
                return
            reasons.append(reason)
    check(may_be_refused, f"no change makes a model: {reasons}")


def left_for_full(model, section):
    """What is like another model's is changed by tools/check --full alone."""
    return not FULL and section not in OWN.get(model, ()) and (model in ALIKE or (section.split()[0] in ("tlb", "walk") and model not in WITH_TLBS))


def value_tests(model, lines):
    """A test for each value of a model."""
    section = ""
    for number, line in enumerate(lines):
        if line.startswith("["):
            section = line.strip("[]")
            continue
        found = re.match(r"(\S+) = (.*)$", line)
        if not found or line.startswith("#") or (model, found[1]) in UNSEEN or left_for_full(model, section):
            continue
        key, value = found[1], found[2]
        candidates = [changed_lines(lines, number, key, value, new)
                      for new in others(section, key, value)]
        yield named(f"{model} [{section}] {key}", must_be_noticed, model, lines, candidates,
                    (section, key) in REFUSED or (section.startswith("tlb ") and key in REFUSED_OF_TLB))


def head_tests(model, lines):
    """A script in another window."""
    for number, line in enumerate(lines):
        if line.startswith("[script "):
            changed = list(lines)
            changed[number] = line.replace("]", "9]")
            yield named(f"{model} {line}", must_be_noticed, model, lines, [changed], False)


def untouched(model):
    """What is not changed passes, so that a failure means the change."""
    check(not failing(model, str(MODELS)), "a test fails on the model as it is")


def main():
    """All models, all values."""
    tests = []
    for path in sorted(MODELS.rglob("*.cpu")):
        model = str(path.relative_to(MODELS))
        lines = path.read_text(encoding="utf-8").splitlines()
        tests.append(named(f"{model} as it is", untouched, model))
        tests += value_tests(model, lines)
        tests += head_tests(model, lines)
    run_tests(tests)


main()
