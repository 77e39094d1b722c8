#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The examples of README.md and the manual pages are what calm prints on the modelled processor zen4.

CALM_KEEP_GOLDEN=1 writes what was found into the pages.
"""

import os
import re

from lib.simtest import TOP, check, named, once, run_guest, run_tests

PAGES = sorted([*(TOP / "Documentation").glob("*.8.rst"), TOP / "README.md"])
PROMPT, INDENT = "    # calm ", "    "
MARK = "=== end of an example"
# what another kernel package or guest has another value of
MASKS = [
    (re.compile(r"^( *kernel +)\S+", re.M), r"\g<1>RELEASE"),
    (re.compile(r"^( *largest buffer \[bytes\] +)\S+", re.M), r"\g<1>SIZE"),
]


def examples(page):
    """Of each example its first line's number, the one behind its last line, and its command."""
    lines = page.read_text().splitlines()
    for first, line in enumerate(lines):
        if not line.startswith(PROMPT):
            continue
        behind = first + 1
        while behind < len(lines) and not lines[behind].startswith(f"{INDENT}# ") and \
                (not lines[behind] or lines[behind].startswith(INDENT)):
            behind += 1
        while not lines[behind - 1]:
            behind -= 1
        yield first, behind, line[len(INDENT) + 2:]


@once
def outputs():
    """What every command of every page prints, from one guest."""
    commands = [command for page in PAGES for _, _, command in examples(page)]
    script = "".join(f"{command} 2>/dev/null; echo '{MARK}' $?\n" for command in commands)
    found = re.split(rf"^{MARK} (\d+)\n", run_guest("zen4", script, smp=2, load=True, log=False).output, flags=re.M)
    check(len(found) == 2 * len(commands) + 1, "the guest did not run every example")
    for command, status in zip(commands, found[1::2]):
        check(status == "0", f"{command}: exit status {status}")
    return dict(zip(commands, found[::2]))


def masked(text):
    for pattern, word in MASKS:
        text = pattern.sub(word, text)
    return text


def printed(command):
    """Its output as it stands in a page."""
    return [f"{INDENT}{line}".rstrip() for line in outputs()[command].rstrip().splitlines()]


def same_word(one, other):
    """Equal, or numbers that differ by no more than what runs between two slices may take out of a cache."""
    if one == other:
        return True
    if ".." in one and ".." in other:
        return all(same_word(*ends) for ends in zip(one.split("..", 1), other.split("..", 1)))
    try:
        return abs(float(one) - float(other)) <= 0.002 + 0.005 * abs(float(other))
    except ValueError:
        return False


def same(found, shown):
    """Line by line, word by word."""
    one, other = ([line.split() for line in text.splitlines()] for text in (found, shown))
    return [len(line) for line in one] == [len(line) for line in other] and \
        all(same_word(a, b) for line, line2 in zip(one, other) for a, b in zip(line, line2))


def keep(page):
    """Write what was found into a page."""
    lines = page.read_text().splitlines()
    for first, behind, command in reversed(list(examples(page))):
        lines[first + 1:behind] = printed(command)
    page.write_text("\n".join(lines) + "\n")


def shows_what_is_printed(page):
    if os.environ.get("CALM_KEEP_GOLDEN"):
        keep(page)
    lines = page.read_text().splitlines()
    for first, behind, command in examples(page):
        shown, found = "\n".join(lines[first + 1:behind]), "\n".join(printed(command))
        check(same(masked(found), masked(shown)), f"{page.name}: {command} prints:\n{found}\ninstead of:\n{shown}")


def comparison_can_fail():
    """A figure, a word or a line that is another one."""
    check(same("L1 4.000 x\n", "L1  4.001 x\n"), "equal texts")
    check(same("2.143..2.146\n", "2.143..2.143\n") and not same("2.1..2.2\n", "2.1..2.9\n"), "intervals")
    for text in ("L1 4.100 x\n", "L2 4.000 x\n", "L1 4.000\n", "L1 4.000 x\n\n- -\n"):
        check(not same("L1 4.000 x\n", text), text)


def every_command_has_an_example():
    """Those that measure or list; a page without one would be tested for nothing."""
    told = {command.split()[1] for page in PAGES for _, _, command in examples(page)}
    pages = {page.name[len("calm-"):-len(".8.rst")] for page in PAGES if page.name.startswith("calm-")}
    check(pages and told >= pages, f"without an example: {pages - told}")


if __name__ == "__main__":
    run_tests([comparison_can_fail, every_command_has_an_example] +
              [named(f"examples of {page.name}", shows_what_is_printed, page) for page in PAGES if list(examples(page))])
