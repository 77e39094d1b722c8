# SPDX-License-Identifier: GPL-2.0-only
"""Running guests on a modelled processor, and printing KTAP, for the tests beside this folder."""

import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

TOP = pathlib.Path(__file__).resolve().parents[3]
MODELS = TOP / "tools" / "simcpu" / "models"
KERNEL = os.environ.get("CALM_TEST_KERNEL", "6.1")


class Skip(Exception):
    """What a test needs is not there; the text says what."""


class GuestFailed(Exception):
    """tools/vm/run did not end as the test expects."""


def run_tests(tests):
    """Run functions in order and print KTAP. A test fails by raising an exception."""
    print(f"TAP version 13\n1..{len(tests)}", flush=True)
    failed = 0
    for number, test in enumerate(tests, 1):
        name = test.test_name if hasattr(test, "test_name") else test.__name__
        try:
            test()
            print(f"ok {number} {name}", flush=True)
        except Skip as reason:
            print(f"ok {number} {name} # SKIP {reason}", flush=True)
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            text = str(error) if isinstance(error, (AssertionError, GuestFailed)) else ""
            for line in (text or traceback.format_exc()).splitlines():
                print(f"# {line}")
            print(f"not ok {number} {name}", flush=True)
    sys.exit(1 if failed else 0)


def once(function):
    """Call it once for each set of arguments: what it raised is raised again, not tried again."""
    known = {}

    @functools.wraps(function)
    def wrapper(*args):
        if args not in known:
            try:
                known[args] = (function(*args), None)
            except Exception as error:  # pylint: disable=broad-except
                known[args] = (None, error)
        value, error = known[args]
        if error:
            raise error.with_traceback(None)
        return value
    return wrapper


def named(name, function, *args):
    """The function with these arguments as a test of that name."""
    test = functools.partial(function, *args)
    test.test_name = name
    return test


def check(condition, text):
    """Fail with a text; unlike assert, also under python -O."""
    if not condition:
        raise AssertionError(text)


def expect_equal(found, expected, what):
    """Fail unless both are equal."""
    check(found == expected, f"{what}: found {found}, expected {expected}")


def build(argv):
    """Run a command that builds something, and give its output."""
    done = subprocess.run([*map(str, argv)], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    check(not done.returncode, f"{' '.join(map(str, argv))}:\n{done.stderr[-1500:]}")
    return done.stdout.strip()


@once
def build_module(folder):
    """Build a test's module, and give the path of its .ko."""
    return build([TOP / "tools" / "build-module", KERNEL, TOP / "selftests" / "sim" / folder])


class Run:
    """What a guest left behind: output, truth log as text and as objects."""

    def __init__(self, output, truth):
        self.output = output
        self.truth_text = truth

    @functools.cached_property
    def truth(self):
        """The truth log's lines."""
        return [json.loads(line) for line in self.truth_text.splitlines()]

    def lines(self, word):
        """Lines of output that contain a word, from it on."""
        return [line[line.index(word):] for line in self.output.splitlines() if word in line]


def model_text(name):
    """The text of a model of tools/simcpu/models."""
    return (MODELS / f"{name}.cpu").read_text(encoding="utf-8")


def prefetch_off(text):
    """The text of a model whose firmware has switched all prefetchers off."""
    off = {}
    for msr, bit in re.findall(r"^disable = msr (\S+) bit (\d+)$", text, re.M):
        off[msr] = off.get(msr, 0) | 1 << int(bit)
    for msr, bits in off.items():
        text = re.sub(rf"^({msr} = \S+) 0\b", rf"\1 {bits:#x}", text, flags=re.M)
    return text


def run_guest(model, command, *, put=(), smp=1, load=False, words=(), log=True, prefetch=True, more=""):
    """
    Run a shell command in a guest of a model: a name such as zen4 or zen4@1/8, or its text. What is about
    caches alone has prefetchers off from the start. @more is text behind the model's.
    """
    (TOP / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TOP / "build") as scratch:
        scratch = pathlib.Path(scratch)
        name, _, scale = model.partition("@") if "\n" not in model else ("test", "", "")
        file = MODELS / f"{name}.cpu"
        if "\n" in model or not prefetch or more:
            text = (model if "\n" in model else model_text(name)) + more
            file = scratch / f"{pathlib.Path(name).name}.cpu"
            file.write_text(text if prefetch else prefetch_off(text), encoding="utf-8")
        truth = scratch / "truth"
        argv = [TOP / "tools" / "vm" / "run", "--kernel", KERNEL, "--smp", str(smp),
                "--sim", f"{file}@{scale}" if scale else file, *words]
        if log:
            argv += ["--truth", truth]
        if not load:
            argv.append("--no-load")
        for item in put:
            argv += ["--put", item]
        done = subprocess.run([*map(str, argv), "--", "sh", "-c", command], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise GuestFailed(f"guest of {name}: status {done.returncode}\n"
                              f"{done.stdout[-500:]}\n{done.stderr[-1500:]}")
        return Run(done.stdout, truth.read_text(encoding="utf-8") if log else "")


@once
def read_model(name):
    """Sections of a model file as lists of (key, value), by the section's head."""
    sections = {}
    current = None
    for line in model_text(name).splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("["):
            head, _, rest = line[1:].partition("]")
            current = sections.setdefault(head.strip(), [])
            line = rest.strip()
        if "=" in line and current is not None:
            key, _, value = line.partition("=")
            current.append((key.strip(), value.strip()))
    return sections


def size_bytes(text):
    """1.5M and the like as a number of bytes."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(float(text[:-1]) * units[text[-1]]) if text[-1] in units else int(text)
