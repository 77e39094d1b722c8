#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The module's policies are those of the specification, as the kernel itself tells them."""

import os
import re
import subprocess
import sys

import yaml

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SPEC = os.path.join(TOP, "Documentation/netlink/specs/calm.yaml")
TYPES = {"u32": "U32", "u64": "U64", "string": "NUL_STRING"}
LARGEST = {"u32": 2**32 - 1, "u64": 2**64 - 1}


def ask_kernel():
    """Text of genl's policy dump in a guest that has the module."""
    genl = next(p for p in ("/usr/sbin/genl", "/sbin/genl", "/usr/bin/genl") if os.path.exists(p))
    run = subprocess.run([os.path.join(TOP, "tools/vm/run"), "--put", genl, "--",
                          "/genl", "ctrl", "policy", "name", "calm"],
                         stdout=subprocess.PIPE, text=True, check=False)
    return run.returncode, run.stdout


def parse(text):
    """{(operation number, 'do' or 'dump'): {attribute number: (type, limits)}}

    The limits of a nest are what may be in it.
    """
    policies, uses = {}, {}
    for line in text.splitlines():
        for word in re.findall(r"op (\d+) policies:(.*)", line):
            for mode, index in re.findall(r"(do|dump)=(\d+)", word[1]):
                uses[(int(word[0]), mode)] = int(index)
        match = re.search(r"policy\[(\d+)\]:attr\[(\d+)\]: type=(\w+)(.*)", line)
        if match:
            limits = [int(n) for n in re.findall(r"\d+", match[4])]
            policies.setdefault(int(match[1]), {})[int(match[2])] = (match[3], limits)

    def resolve(index):
        return {number: (kind, resolve(limits[0]) if kind == "NESTED" else limits)
                for number, (kind, limits) in policies.get(index, {}).items()}

    return {use: resolve(index) for use, index in uses.items()}


def expected():
    """The same from the specification."""
    with open(SPEC, encoding="utf-8") as file:
        spec = yaml.safe_load(file)
    consts = {d["name"]: d["value"] for d in spec["definitions"] if d["type"] == "const"}
    sets = {s["name"]: {a["name"]: (n, a) for n, a in enumerate(s["attributes"], 1)}
            for s in spec["attribute-sets"]}

    def policy(attribute_set, names):
        numbered = sets[attribute_set]
        return {numbered[n][0]: describe(numbered[n][1]) for n in names}

    def describe(attr):
        if attr["type"] == "nest":
            inner = attr["nested-attributes"]
            return ("NESTED", policy(inner, sets[inner]))
        return (TYPES[attr["type"]], limits(attr))

    def limits(attr):
        checks = {k: consts.get(v, v) for k, v in attr.get("checks", {}).items()}
        if attr["type"] == "string":
            return [checks["max-len"]]
        if attr.get("enum-as-flags"):
            return []
        return [checks.get("min", 0), checks.get("max", LARGEST[attr["type"]])]

    result = {}
    for number, operation in enumerate(spec["operations"]["list"], 1):
        for mode in ("do", "dump"):
            if mode not in operation:
                continue
            names = operation[mode].get("request", {}).get("attributes", [])
            result[(number, mode)] = policy("main", names)
    return result


def main():
    """Prints KTAP: one line for the guest, one for each operation."""
    status, text = ask_kernel()
    found, wanted = parse(text), expected()
    results = [("the kernel tells policies without a complaint", status == 0)]
    for use, policy in sorted(wanted.items()):
        good = found.get(use) == policy
        if not good:
            print(f"# operation {use}: kernel {found.get(use)}, specification {policy}")
        results.append((f"operation {use[0]} {use[1]}", good))
    results.append(("no other operation", set(found) == set(wanted)))
    print("TAP version 13")
    print(f"1..{len(results)}")
    for number, (name, good) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {number} {name}")
    return 0 if all(good for _, good in results) else 1


if __name__ == "__main__":
    sys.exit(main())
