#!/usr/bin/env python3
# includes.py - includes stand in one order: in a .c its own header; then <...> of C, the system and libraries; then
# <berth/...>; then "..." of modules.
#
#   includes.py           says which files have another
#   includes.py --mend    puts them in order, where nothing but #define and #undef stands between them
#
# The own header is the first include of a .c: the header of its name, or where it has none that of its module or view. A
# header first shows that it needs no other before it. Within a group the order is free.
import os
import re
import subprocess
import sys

source = os.environ["SRC"]
include = re.compile(r'\s*#\s*include\s*([<"])([^">]+)')


def files():
    shell = '. "$SRC/tests/lib/sources.sh" && sources "*.c" "*.h"'
    return subprocess.run(["bash", "-c", shell], check=True, capture_output=True, text=True).stdout.split()


def group(line):
    bracket, name = include.match(line).groups()
    return 2 if bracket == '"' else 1 if name.startswith("berth/") else 0


def is_own(file, line):
    bracket, name = include.match(line).groups()
    stem = os.path.splitext(os.path.basename(file))[0]
    return file.endswith(".c") and (bracket == '"' or name == f"berth/{stem}.h")


def in_order(file, lines):
    found = [line for line in lines if include.match(line)]
    groups = [group(line) for line in (found[1:] if found and is_own(file, found[0]) else found)]
    return groups == sorted(groups)


def mended(file, lines):
    """The lines in order; None: something stands between them that says where they belong"""
    at = [i for i, line in enumerate(lines) if include.match(line)]
    own, groups, before = [], ([], [], []), []
    for i in range(at[0], at[-1] + 1):
        line = lines[i]
        if include.match(line):
            first = i == at[0] and is_own(file, line)
            (own if first else groups[group(line)]).extend(before + [line])
            before, last = [], own if first else groups[group(line)]
        elif re.match(r"\s*#\s*undef", line):
            last.append(line)
        elif re.match(r"\s*(#\s*define\b.*[^\\]|/\*.*\*/)$", line):
            before.append(line)
        elif line.strip():
            return None
    if before:
        return None
    blocks = ["\n".join(block) for block in (own, *groups) if block]
    return lines[:at[0]] + "\n\n".join(blocks).split("\n") + lines[at[-1] + 1:]


mend, problems = sys.argv[1:] == ["--mend"], []
for file in files():
    with open(f"{source}/{file}", encoding="utf-8") as text:
        lines = text.read().split("\n")
    if in_order(file, lines):
        continue
    better = mended(file, lines) if mend else None
    if better:
        with open(f"{source}/{file}", "w", encoding="utf-8") as text:
            text.write("\n".join(better))
    else:
        problems.append(file)
print("not ok" if problems else "ok", "includes stand in one order")
for file in problems:
    print(f"# {file}: its own header, <...>, <berth/...>, \"...\": tests/lint/includes.py --mend does it where it can")
sys.exit(bool(problems))
