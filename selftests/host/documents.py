#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The documents have no dead reference and no fault that docutils knows, and tell of each command and option that there is."""

import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = TOP / "Documentation"
PAGES = sorted([*DOCUMENTS.glob("*.rst"), TOP / "README.md"])
MANUALS = [page for page in PAGES if page.name.endswith(".8.rst")]
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")

# what the text of a page may name beside files of the repository: made by a build, or elsewhere
FOLDERS = ["Documentation", "include", "kmod", "selftests", "tools", "user"]
BUILT = re.compile(r"^build/|^~/|^/")


def listed():
    """Tracked files, and folders of them."""
    names = subprocess.run(["git", "-C", TOP, "ls-files", "-co", "--exclude-standard"], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return set(names) | {str(folder) for name in names for folder in pathlib.PurePath(name).parents}


FILES = listed()
NAMES = {pathlib.PurePath(name).name for name in FILES}


def paths(text):
    """Words that look like a path below one of our folders, or like a source file or page."""
    text = re.sub(r"^ +[+-].*|torvalds/linux \S+", "", text, flags=re.M)
    for word in re.findall(r"(?<![\w/.<-])(?:[\w.-]+/)*[\w.-]*\w", re.sub(r"https?://\S+", "", text)):
        first = word.split("/")[0]
        if "/" in word and first in FOLDERS:
            yield word
        elif re.fullmatch(r"[\w-]+\.(rst|[ch]|py|cpu|json|yaml)", word):
            yield word


def exists(word):
    if "/" in word:
        return word.rstrip("/") in FILES or any(re.fullmatch(word.replace("NAME", r"[\w-]+"), name) for name in FILES)
    return word in NAMES


def dead_references():
    """Files, and sections of the manual, that a page names and nobody has."""
    manuals = {page.name[:-len(".8.rst")] for page in MANUALS}
    found = []
    for page in PAGES:
        text = page.read_text()
        found += [f"{page.name}: no file {word}" for word in paths(text) if not exists(word) and (page.name, word) not in ALLOWED]
        found += [f"{page.name}: no page {name}(8)" for name in re.findall(r"\*\*(calm[\w-]*)\*\*\\?\(8\)", text)
                  if name not in manuals]
        found += [f"{page.name}: no target {name}" for name in re.findall(r"`make ([a-z-]+)", text)
                  if not re.search(rf"^\.PHONY:.*\b{name}\b", (TOP / "Makefile").read_text(), re.M)]
        found += [f"{page.name}: {target} is elsewhere" for target in re.findall(r"\]\((?!http)([^)#]+)\)", text)
                  if not (page.parent / target).exists()]
    return "\n".join(found)


# files that a page tells the reader to make, or that are somebody else's
ALLOWED = {("adding-a-loop.rst", word) for word in ("kmod/loops/mul.c", "kmod/loops/mul", "mul.c")}


def notices_a_dead_reference():
    """The search finds what is not there."""
    text = "see kmod/nowhere.c, nowhere.rst and tools/nothing, but kmod/main.c, style.h/x and Documentation/design.rst"
    found = [word for word in paths(text) if not exists(word)]
    return "" if found == ["kmod/nowhere.c", "nowhere.rst", "tools/nothing"] else str(found)


def faults():
    """What docutils says of each page."""
    found = ""
    for page in PAGES:
        if page.suffix == ".rst":
            tool = "rst2man" if page in MANUALS else "rst2pseudoxml"
            # colours would need pygments, which nothing else does
            done = subprocess.run([tool, "--report=info", "--halt=none", "--syntax-highlight=none", page], check=False,
                                  capture_output=True, text=True)
            found += done.stderr
    return found


def help_of(*words):
    """What calm tells of itself."""
    return subprocess.run([TOP / "build" / "calm", *words, "--help"], check=True, capture_output=True, text=True).stdout


def commands():
    return re.findall(r"^  ([a-z][a-z-]*) {2,}", help_of(), re.M)


def options_of(text):
    return set(OPTION.findall(text)) - {"--help", "--version"}


def named_in_lists(text):
    """Options that a manual page explains: they begin a line of its option lists."""
    return {option for line in re.findall(r"^(?:-\w \w+, )?--.*", text, re.M)
            for option in OPTION.findall(re.split(r" {2,}", line)[0])}


def manual_and_help():
    """Each command has a page whose synopsis has exactly its options; calm(8) explains all of them, and no other."""
    found, everything = [], set()
    main = (DOCUMENTS / "calm.8.rst").read_text()
    for command in commands():
        helped = options_of(help_of(command))
        everything |= helped
        page = DOCUMENTS / f"calm-{command}.8.rst"
        if not page.exists():
            found.append(f"{command} has no page")
            continue
        synopsis = re.search(r"^SYNOPSIS\n=+\n(.*?)^[A-Z]+\n===", page.read_text(), re.M | re.S)[1]
        if options_of(synopsis) != helped:
            found.append(f"{page.name}: missing {sorted(helped - options_of(synopsis))}, "
                         f"unknown {sorted(options_of(synopsis) - helped)}")
        elsewhere = options_of(page.read_text()) - helped - named_in_lists(main)
        if elsewhere:
            found.append(f"{page.name}: names {sorted(elsewhere)}, which no command has")
        if f"**calm {command}**" not in main or f"**calm-{command}**\\(8)" not in main:
            found.append(f"calm.8.rst does not tell of {command}")
    if named_in_lists(main) != everything:
        found.append(f"calm.8.rst: missing {sorted(everything - named_in_lists(main))}, "
                     f"unknown {sorted(named_in_lists(main) - everything)}")
    for page in MANUALS:
        command = page.name[len("calm-"):-len(".8.rst")]
        if page.name != "calm.8.rst" and command not in commands():
            found.append(f"{page.name}: there is no such command")
    return "\n".join(found)


def defaults():
    """The defaults that calm(8) names are those of the help."""
    main = re.sub(r"\s+", " ", (DOCUMENTS / "calm.8.rst").read_text())
    found = []
    for command in commands():
        text = re.sub(r"\s+", " ", help_of(command))
        for option, default in re.findall(r"--([a-z-]+)=\S+ [^(]*\([^()]*; default ([^)]+)\)", text):
            entry = re.search(rf"--{option}=\S+ (.*?)(?= --[a-z]|$)", main)
            told = entry and re.search(r"default (\w+)|\*?(\w+)\*? \(default\)", entry[1])
            if told and (told[1] or told[2]) != default and command != "count":
                found.append(f"--{option}: {told[0]}, of {command} it is {default}")
    return "\n".join(found)


def readme_is_short():
    """A page to read before the first run."""
    count = len((TOP / "README.md").read_text().splitlines())
    return "" if count <= 160 else f"{count} lines"


TESTS = [dead_references, notices_a_dead_reference, faults, manual_and_help, defaults, readme_is_short]


def main():
    print(f"TAP version 13\n1..{len(TESTS)}")
    failed = 0
    for number, test in enumerate(TESTS, 1):
        said = test()
        failed += bool(said)
        for line in said.splitlines():
            print(f"# {line}")
        print(f"{'not ok' if said else 'ok'} {number} {test.__name__}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
