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
WITH_TLBS = {"zen4.cpu", "skylake-x.cpu", "golden-cove.cpu"}

# tests that fill whole levels: each half of what all the others take
SLOW = ["size", "latency"]
# the test that noticed the last change of a kind
noticed = {}

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
    if key == "coalesce":
        # smaller than in the other arrays
        return [str(int(value) // 2), str(int(value) * 2)]
    if key == "core_ratio":
        return ["2"]
    return WORDS.get(value) or numbers(value)


def refused(path):
    """What describe says against a model, or nothing."""
    done = subprocess.run([DESCRIBE, path], capture_output=True, text=True, check=False)
    return done.stderr.strip()


def first_failure(folder, *words):
    """The name of the first test that fails on models of a folder, or None. The program is ended there."""
    ran, said = 0, []
    with subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=TOP,
                          env={**os.environ, "CALM_SIM_MODELS": folder}) as program:
        for line in program.stdout:
            said.append(line)
            ran += line.startswith("ok ")
            found = re.match(r"not ok \d+ \S+\.(\w+)$", line)
            if found:
                program.kill()
                return found[1]
    check(ran and not program.returncode, f"{words}: {''.join(said)}")
    return None


def failing(model, folder, first=None):
    """The first test that fails on a model of a folder, or None: one that is likely to, then all, what takes longest last."""
    variant = pathlib.Path(model).stem.replace("-", "_")
    return (first and first_failure(folder, "-r", f"model.{variant}.{first}")) or \
        first_failure(folder, *(word for name in SLOW for word in ("-T", name)), "-v", variant) or \
        first_failure(folder, *(word for name in SLOW for word in ("-r", f"model.{variant}.{name}")))


def heads_of(lines):
    """The section that each line is in."""
    heads, head = [], ""
    for text in lines:
        head = text if text.startswith("[") else head
        heads.append(head)
    return heads


def value_in(lines, heads, head, key):
    """A key's value in a section."""
    return next((text.split(" = ")[1] for text, inside in zip(lines, heads)
                 if inside == head and text.startswith(f"{key} = ")), "")


def share_pages(lines, heads, one, other):
    """Whether a page may be in either of two arrays: these must be alike."""
    pages = [set(value_in(lines, heads, head, "pages").split(", ")) for head in (one, other)]
    return value_in(lines, heads, one, "level") == value_in(lines, heads, other, "level") and bool(pages[0] & pages[1])


def places_of(lines, number, key):
    """Lines that must change with one: the line size of all data caches, and arrays that share pages."""
    heads = heads_of(lines)
    section = heads[number]
    for place, (text, head) in enumerate(zip(lines, heads)):
        if place == number:
            yield place
        elif text != lines[number]:
            continue
        elif key == "line" and "l1i" not in head and "l1i" not in section:
            yield place
        elif key in ("entries", "ways", "penalty", "coalesce") and section.startswith("[tlb ") and head.startswith("[tlb ") and \
                share_pages(lines, heads, section, head):
            yield place


def changed_lines(lines, number, key, old, new):
    """The file with one value changed, and others with it where no model may have it alone."""
    changed = list(lines)
    for place in places_of(lines, number, key):
        changed[place] = changed[place].replace(f"= {old}", f"= {new}", 1)
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


def must_be_noticed(model, lines, candidates, may_be_refused, kind):
    """Of the changed files, take the first one that is a model at all, and run the tests on it: that first which noticed its kind."""
    reasons = []
    with tempfile.TemporaryDirectory() as folder:
        for changed in candidates:
            reason = refused(write(folder, model, changed))
            if not reason:
                name = failing(model, folder, noticed.get(kind))
                check(name, "no test fails")
                noticed[kind] = name
                print(f"# {name}")
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
                    (section, key) in REFUSED or (section.startswith("tlb ") and key in REFUSED_OF_TLB),
                    (section.split()[0], key))


def head_tests(model, lines):
    """A script in another window."""
    for number, line in enumerate(lines):
        if line.startswith("[script "):
            changed = list(lines)
            changed[number] = line.replace("]", "9]")
            yield named(f"{model} {line}", must_be_noticed, model, lines, [changed], False, "script")


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
