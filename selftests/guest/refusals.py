#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make the rows of refusals.c from the netlink specification: every way to get an attribute wrong.

usage: refusals.py calm.yaml >rows.h
A row for each attribute of each request: missing, given twice, below and above its range, too short, too
long, with a wrong type flag; and for each attribute and number that the request does not know.
"""
import sys

import yaml

# what a request cannot do without; refusals.c sends just these when it wants to be understood
REQUIRED = {
    "run": ("loop", "cpu", "size-bytes", "stride-bytes", "pages", "order", "loads", "rounds", "samples",
            "warmup", "seed"),
    "samples": ("job",),
    "cancel": ("job",),
    "get-info": (),
    "prefetch-set": ("switch",),
    "prefetch-get": (),
}
# flags that a request has a use for, where it has not for all
FLAGS = {"prefetch-set": ("unsafe-prefetch",)}
WIDTH = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
# beyond the last one, and as large as the type field can hold
STRANGE = (1, 40, 0x3fff)
# said by the kernel's own checks (lib/nlattr.c), which words differ for between releases
KERNEL = ""


def macro(*words):
    """The name that the uapi header gives it."""
    return "_".join(words).upper().replace("-", "_")


class Rows:
    """Rows of one request, and where its attributes are: in the request itself or in a nest."""

    def __init__(self, spec):
        self.consts = {d["name"]: d["value"] for d in spec["definitions"] if d["type"] == "const"}
        self.flags = {d["name"]: [e["name"] if isinstance(e, dict) else e for e in d["entries"]]
                      for d in spec["definitions"] if d["type"] == "flags"}
        self.sets = {s["name"]: s for s in spec["attribute-sets"]}
        self.operation = self.mode = ""
        self.nests = []

    def number(self, value):
        """A limit, which may be the name of a constant."""
        return self.consts.get(value, value)

    def row(self, what, attr, err, text, **how):
        """Print a row. attr is a C expression; how holds value or bytes, width, copies, flag."""
        own = bool(text)
        value = how.get("value", 0)
        fields = [
            f'.name = "{self.operation}: {"".join(n + "." for n, _ in self.nests)}{what}"',
            f".cmd = {macro('calm-cmd', self.operation)}",
            f".dump = {str(self.mode == 'dump').lower()}",
            f".nests = {{ {', '.join([n for _, n in self.nests] + ['0'])} }}",
            f".type = {attr}",
            f".flag = {how.get('flag', '0')}",
            f".copies = {how.get('copies', 1)}",
            f".width = {how.get('width', 0)}",
            f".value = {value:#x}ULL",
            f".bytes = {how.get('bytes', 'NULL')}",
            f".err = {err}",
            f'.text = "{text}"',
            f".own = {str(own).lower()}",
        ]
        print("\t{ " + ", ".join(fields) + " },")

    def integer(self, name, attr, attribute):
        """Outside its range, and of another width."""
        width = WIDTH[attribute["type"]]
        limits = {k: self.number(v) for k, v in attribute.get("checks", {}).items()}
        top = 2 ** (8 * width) - 1
        if limits.get("min", 0) > 0:
            self.row(f"{name} below {limits['min']}", attr, "ERANGE", KERNEL, width=width,
                     value=limits["min"] - 1)
        if limits.get("max", top) < top:
            for value in (limits["max"] + 1, top):
                self.row(f"{name} of {value}, above {limits['max']}", attr, "ERANGE", KERNEL, width=width,
                         value=value)
        if attribute.get("enum-as-flags"):
            flags = self.flags[attribute["enum"]]
            for value in (1 << len(flags), 1 << (8 * width - 1)):
                self.row(f"{name} with bit {value:#x}", attr, "EINVAL", KERNEL, width=width, value=value)
            for bit, flag in enumerate(flags):
                if flag not in FLAGS.get(self.operation, flags):
                    self.row(f"{name} with {flag}", attr, "EINVAL", "the only flag of this request", width=width, value=1 << bit)
        for wrong in (0, width // 2, width - 1, width + 1, 2 * width):
            self.row(f"{name} of {wrong} bytes", attr, "EINVAL", KERNEL, width=wrong, bytes="zeros")

    def text(self, name, attr, attribute):
        """Empty, not terminated, too long."""
        most = self.number(attribute["checks"]["max-len"])
        self.row(f"{name} of 0 bytes", attr, "EINVAL", KERNEL)
        self.row(f"{name} without an end", attr, "EINVAL", KERNEL, width=3, bytes="letters")
        self.row(f"{name} of {most + 1} letters", attr, "EINVAL", KERNEL, width=most + 2,
                 bytes=f'"{"x" * (most + 1)}"')
        self.row(f"{name} of 60000 bytes", attr, "ERANGE", KERNEL, width=60000, bytes="letters")

    def inner(self, name, attr, attribute):
        """No nest at all, and everything that may be wrong within."""
        self.row(f"{name} of 3 bytes", attr, "ERANGE", KERNEL, width=3, bytes="zeros", flag="NLA_F_NESTED")
        self.row(f"{name} without the flag of a nest", attr, "EINVAL", KERNEL, width=8, bytes="zeros")
        self.nests.append((name, attr))
        inside = self.sets[attribute["nested-attributes"]]
        self.attributes(inside, [a["name"] for a in inside["attributes"]], ())
        self.nests.pop()

    def flag(self, name, attr, _attribute):
        """With contents."""
        self.row(f"{name} with contents", attr, "ERANGE", KERNEL, width=4, bytes="zeros")

    def twice(self, name, attr, attribute):
        """Two good ones where one is allowed."""
        kind = attribute["type"]
        least = self.number(attribute.get("checks", {}).get("min", 0))
        good = {"string": {"bytes": '"x"', "width": 2}, "nest": {"flag": "NLA_F_NESTED"}, "flag": {}}.get(
            kind) or {"value": least, "width": WIDTH.get(kind, 0)}
        self.row(f"{name} twice", attr, "EINVAL", "given twice", copies=2, **good)

    def wrong(self, prefix, attribute):
        """All rows of an attribute that the request knows."""
        name, attr, kind = attribute["name"], prefix + macro(attribute["name"]), attribute["type"]
        if kind in WIDTH:
            self.integer(name, attr, attribute)
            self.row(f"{name} with the flag of a nest", attr, "EINVAL", KERNEL, width=WIDTH[kind],
                     value=self.number(attribute.get("checks", {}).get("min", 0)), flag="NLA_F_NESTED")
        else:
            {"string": self.text, "nest": self.inner, "flag": self.flag}[kind](name, attr, attribute)
        if not attribute.get("multi-attr"):
            self.twice(name, attr, attribute)

    def attributes(self, attribute_set, known, required):
        """All rows of a set of attributes."""
        prefix = macro(attribute_set["name-prefix"])
        for attribute in attribute_set["attributes"]:
            name = attribute["name"]
            if name in known:
                self.wrong(prefix, attribute)
            else:
                self.row(f"{name}, which is not its own", prefix + macro(name), "EINVAL", KERNEL,
                         width=WIDTH.get(attribute["type"], 0))
            if name in required:
                self.row(f"no {name}", prefix + macro(name), "EINVAL", "required attribute is missing",
                         copies=0)
        last = len(attribute_set["attributes"])
        for beyond in STRANGE:
            strange = beyond if beyond > last else last + beyond
            self.row(f"attribute {strange}", strange, "EINVAL", KERNEL, width=4)

    def requests(self, operations):
        """All rows of all requests."""
        for operation in operations:
            self.operation = operation["name"]
            for self.mode in ("do", "dump"):
                if self.mode in operation:
                    known = operation[self.mode].get("request", {}).get("attributes", [])
                    self.attributes(self.sets[operation["attribute-set"]], known,
                                    REQUIRED[self.operation])


def main():
    """Write the header to stdout."""
    with open(sys.argv[1], encoding="utf-8") as file:
        spec = yaml.safe_load(file)
    print("/* SPDX-License-Identifier: GPL-2.0-only */")
    Rows(spec).requests(spec["operations"]["list"])


if __name__ == "__main__":
    main()
