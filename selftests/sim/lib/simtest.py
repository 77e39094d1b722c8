# SPDX-License-Identifier: GPL-2.0-only
"""Running guests on a modelled processor, and printing KTAP, for the tests beside this folder."""

import functools
import json
import os
import pathlib
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
        name = getattr(test, "test_name", test.__name__)
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


@functools.lru_cache(maxsize=None)
def build_module(folder):
    """Build a test's module, and give the path of its .ko."""
    done = subprocess.run([TOP / "tools" / "build-module", KERNEL, TOP / "selftests" / "sim" / folder],
                          check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


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


def run_guest(model, command, *, put=(), smp=1, load=False, words=(), environment=None):
    """Run a shell command in a guest of a model of tools/simcpu/models, or of the file given."""
    path = model if "/" in str(model) else MODELS / f"{model}.cpu"
    with tempfile.TemporaryDirectory(dir=TOP / "build") as scratch:
        truth = pathlib.Path(scratch) / "truth"
        argv = [TOP / "tools" / "vm" / "run", "--kernel", KERNEL, "--sim", path, "--truth", truth,
                "--smp", str(smp), *words]
        if not load:
            argv.append("--no-load")
        for file in put:
            argv += ["--put", file]
        done = subprocess.run([*map(str, argv), "--", "sh", "-c", command], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, **(environment or {})})
        if done.returncode:
            raise GuestFailed(f"guest of {path}: status {done.returncode}\n{done.stdout[-2000:]}\n"
                              f"{done.stderr[-2000:]}")
        return Run(done.stdout, truth.read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=None)
def read_model(name):
    """Sections of a model file as lists of (key, value), by the section's head."""
    sections = {}
    current = None
    for line in (MODELS / f"{name}.cpu").read_text(encoding="utf-8").splitlines():
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
