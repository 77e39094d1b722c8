#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The steps of adding-a-loop.rst and adding-a-cpu.rst, done in a copy of the sources: what they make builds and works."""

import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
COPY = TOP / "build" / "adding"
PAGES = {name: (TOP / "Documentation" / f"adding-{name}.rst").read_text() for name in ("a-cpu", "a-loop")}
TEXT = "\n".join(PAGES.values())


def run(*argv, fails=False):
    """What a command says, after its status was looked at."""
    done = subprocess.run(argv, cwd=COPY, check=False, capture_output=True, text=True)
    said = done.stdout + done.stderr
    if bool(done.returncode) != fails:
        raise AssertionError(f"{' '.join(map(str, argv))}: status {done.returncode}\n{said[-2000:]}")
    return said


def block(match):
    """The lines of a literal block, without their indent."""
    return re.sub(r"^    ", "", match, flags=re.M).strip("\n") + "\n"


def copy_sources():
    """What git knows; a build of it has a folder of its own."""
    shutil.rmtree(COPY, ignore_errors=True)
    names = subprocess.run(["git", "-C", TOP, "ls-files", "-co", "--exclude-standard"], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    for name in names:
        if (TOP / name).exists():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TOP / name, COPY / name)


def new_files():
    """Blocks behind a line that names a new file."""
    found = re.findall(r"^A new file, ``([\w/.-]+)``::\n\n((?:(?:    .*)?\n)+)", TEXT, re.M)
    if not found:
        raise AssertionError("no new file in the text")
    for name, body in found:
        (COPY / name).write_text(block(body))


def diffs():
    """Each applies, and no hunk is found anywhere but where its lines are."""
    found = re.findall(r"^\.\. code-block:: diff\n\n((?:(?:    .*)?\n)+)", TEXT, re.M)
    if len(found) != 7:
        raise AssertionError(f"{len(found)} diffs in the text")
    for body in found:
        done = subprocess.run(["patch", "-p1", "--fuzz=0", "--no-backup-if-mismatch"], cwd=COPY, input=block(body), check=False,
                              capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(f"{done.stdout}{done.stderr}\n{body}")


def steps(name):
    """The commands of a page but the guest's, as they stand."""
    return [line for line in re.findall(r"^    \$ (.*)$", PAGES[name], re.M) if "tools/vm/run" not in line]


def commands():
    """They work, and the program knows the loop and the events."""
    for name, count in (("a-cpu", 3), ("a-loop", 3)):
        if len(steps(name)) != count:
            raise AssertionError(str(steps(name)))
        for command in steps(name):
            said = run("bash", "-c", f"WERROR=-Werror {command}")
            if re.search(r"^not ok", said, re.M):
                raise AssertionError(said)
    said = run("build/calm", "count", "nonsense", fails=True)
    if not re.search(r"\bmul\b", said):
        raise AssertionError(said)
    table = (COPY / "user" / "events_table.c").read_text()
    for word in ('"Toy"', "toy_fills_from_beyond"):
        if word not in table:
            raise AssertionError(f"the table of events has no {word}")


def a_step_left_out():
    """Without its row check-window refuses the loop; with a load added to it too. A CPU without events is told."""
    models = COPY / "kmod" / "model.c"
    models.write_text(models.read_text().replace('"Toy", zen3', '"Tot", zen3'))
    if "not ok" not in run("selftests/host/events-table.py", fails=True):
        raise AssertionError("events-table.py did not notice a CPU without events")
    path = COPY / "tools" / "check-window"
    text = path.read_text()
    path.write_text(re.sub(r'^    "mul":.*\n', "", text, flags=re.M))
    run("tools/check-window", "build/calm", fails=True)
    path.write_text(text)
    source = COPY / "kmod" / "loops" / "mul.c"
    source.write_text(source.read_text().replace('"imul %[value], %[value]\\n\\t"', '"imul (%[value]), %[value]\\n\\t"', 1))
    run("make", "user")
    run("tools/check-window", "build/calm", fails=True)


TESTS = [copy_sources, new_files, diffs, commands, a_step_left_out]


def main():
    print(f"TAP version 13\n1..{len(TESTS)}")
    failed = 0
    for number, test in enumerate(TESTS, 1):
        try:
            if not failed:
                test()
            print(f"{'not ok' if failed else 'ok'} {number} {test.__name__}", flush=True)
        except AssertionError as error:
            failed += 1
            print("".join(f"# {line}\n" for line in str(error).splitlines()), end="")
            print(f"not ok {number} {test.__name__}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
