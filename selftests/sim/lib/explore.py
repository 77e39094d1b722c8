# SPDX-License-Identifier: GPL-2.0-only
"""Models as texts, whole or smaller, and runs of calm on them, for tests of what calm finds out step by step."""

import json
import os
import subprocess

from lib.simtest import TOP, model_text, once, prefetch_off, run_guest, size_bytes

FULL = "CALM_TEST_FULL" in os.environ
MODELS = ["zen4", "golden-cove"]
POSITIVE = MODELS + ["zen2", "zen3", "haswell", "skylake-x", "gracemont", "crestmont", "line128"]
SCALE = 4
# one in 20 loops takes longer by more than it takes by itself
NOISE = "\n[noise]\njitter = 1\noutlier = 20\noutlier_cycles = 20000\nseed = 7\n"
TIME = ["--time-limit", "3000"] if FULL else []


def sections(text):
    """Sections of a model's text as dicts, by the section's head."""
    found, current = {}, None
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("["):
            current = found.setdefault(line[1:line.index("]")], {})
        elif "=" in line:
            key, _, value = line.partition("=")
            current[key.strip()] = value.strip()
    return found


@once
def text_of(model, scale):
    """A model of the tree, or of a seed; capacities divided, as behind @ of a file's name."""
    if isinstance(model, int):
        text = subprocess.run([TOP / "tools" / "simcpu" / "make-model", str(model)], check=True, capture_output=True,
                              text=True).stdout
    else:
        text = model_text(model)
    lines, in_cache = [], False
    for line in text.splitlines():
        if line.startswith("["):
            in_cache = line.startswith("[cache ") and "l1i" not in line
        if in_cache and line.startswith("size"):
            line = f"size = {size_bytes(line.split('=')[1].split('#')[0].strip()) // scale}"
        lines.append(line)
    return "\n".join(lines) + "\n"


@once
def documents(model, scale, noisy, *commands):
    """What each command prints as JSON, from one guest; prefetchers are off."""
    text = prefetch_off(text_of(model, scale)) + (NOISE if noisy else "")
    script = "".join(f"{words} --cpu 1 --format json 2>/said || cat /said; echo END\n" for words in commands)
    output = run_guest(text, script, smp=2, load=True, log=False, words=TIME).output
    return [json.loads(part) for part in output.split("END\n")[:-1]]


def name_of(model, scale, noisy):
    """How a test is called."""
    return f"{model}{f'@1/{scale}' if scale > 1 else ''}{'.noise' if noisy else ''}"
