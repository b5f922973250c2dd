#!/usr/bin/env python3
# modules.py - check the module graph (who calls whom) from the object files and the includes.
#
#   modules.py            compares what it finds with modules.allowed, which explains its lines
#   modules.py --print    prints those lines as they would be now
#
# A module is a folder of backend/ or tui/ with all below it; backend/lane/guest, bench/ and tui/main.c are one each.  Folders
# of a module are its layers.  It calls another where an object of it needs what one of the other's defines, or a file of it includes a header of the
# other's.
import os
import re
import subprocess
import sys
from collections import defaultdict

source, build = os.environ["SRC"], os.environ["BUILD"]
largest_circle = 4
in_front_of_libc = "bench/alloc.c"  # its malloc is not what others mean
failed = 0


def report(name, problems):
    global failed
    print("not ok" if problems else "ok", name)
    for problem in problems:
        print("#", problem)
        failed = 1


def lines_of(command):
    shell = f'. "$SRC/tests/lib/sources.sh" && . "$SRC/tests/lib/objects.sh" && {command}'
    return subprocess.run(["bash", "-c", shell], check=True, capture_output=True, text=True).stdout.splitlines()


def module(path):
    parts = path.split("/")
    if path.startswith("backend/lane/guest/"):
        return "guest"
    return parts[0] if parts[0] in ("bench", "tests") else parts[1].removesuffix(".c")


def read_calls():
    """(file, file that defines what it needs, name) of all objects"""
    home, needed = {}, []
    sources = dict(line.split() for line in lines_of("objects backend tui bench"))
    symbols = subprocess.run(["nm", "-A", *sources], cwd=build, check=True, capture_output=True, text=True).stdout
    for line in symbols.splitlines():
        path, rest = line.split(":", 1)
        kind, name = rest.split()[-2:]
        if kind in "Uw":
            needed.append((sources[path], name))
        elif kind in "TDBRVWC" and name != "main" and sources[path] != in_front_of_libc:
            home[name] = sources[path]
    return [(file, home[name], name) for file, name in needed if name in home]


def read_includes(files):
    """(file, header of ours that it includes), include/berth apart"""
    there, found = set(files), []
    for file in files:
        folders = (os.path.dirname(file), "backend", "tui", "bench", "tests")
        with open(f"{source}/{file}", encoding="utf-8") as text:
            for name in re.findall(r'^\s*#\s*include\s+["<]([^">]+)', text.read(), re.M):
                paths = [os.path.normpath(f"{folder}/{name}") for folder in folders]
                found += [(file, path) for path in paths if path in there][:1]
    return found


def reach(start, arrows):
    seen, left = set(), [start]
    while left:
        new = arrows.get(left.pop(), set()) - seen
        seen |= new
        left += new
    return seen


def circle(start, arrows):
    """What start reaches and is reached from; empty for most"""
    ahead = reach(start, arrows)
    return {one for one in ahead if start in reach(one, arrows)} if start in ahead else set()


def measure(calls, includes):
    """{(module, module): an example}, {module: [headers that other modules include, that only tests do]}, {module: its largest circle}"""
    arrows, users, inside = {}, defaultdict(set), defaultdict(lambda: defaultdict(set))
    for file, header in includes:
        if module(file) != module(header) and module(header) != "tests":
            users[header].add(module(file))
            if module(file) != "tests":
                arrows[module(file), module(header)] = f"{file} includes {header}"
    for file, other, name in calls:
        if module(file) != module(other):
            arrows[module(file), module(other)] = f"{file} uses {name} of {other}"
        elif file != other:
            inside[module(file)][file].add(other)
    headers = {module(end): [0, 0] for file, other, *_ in calls + includes for end in (file, other) if module(end) != "tests"}
    for header, modules in users.items():
        headers[module(header)][modules == {"tests"}] += 1
    large = {name: max((circle(file, graph) for file in graph), key=len) for name, graph in inside.items()}
    return arrows, headers, {name: files for name, files in large.items() if len(files) > largest_circle}


def print_table(arrows, headers, large):
    left = {name: {callee for caller, callee in arrows if caller == name} for name in headers}
    calls = dict(left)
    while left:  # callers after what they call; those of a circle stand together
        free = sorted(name for name in left if not (left[name] - circle(name, left) - {name}) & left.keys())
        for name in free:
            print(f"{name} {headers[name][0]}+{headers[name][1]}:", *sorted(left.pop(name)))
    for name, files in sorted(large.items()):
        print(f"circle {name} {len(files)}: WHY")
    for one, other in sorted(arrows):
        if one < other and one in reach(other, calls):
            print(f"circle {one} {other}: WHY")


def read_table():
    """[(module, headers, modules)] in order, {(module, number or module): the sentence}"""
    modules, known = [], {}
    with open(f"{source}/tests/lint/modules.allowed", encoding="utf-8") as table:
        for line in table:
            head, _, tail = line.partition(":")
            words = head.split()
            if words and words[0] == "circle":
                known[words[1], words[2]] = tail.strip()
            elif words and not line.startswith("#"):
                modules.append((words[0], [int(n) for n in words[1].split("+")], tail.split()))
    return modules, known


def compare(arrows, headers, large):
    modules, known = read_table()
    order = [name for name, _, _ in modules]
    allowed = {(name, callee) for name, _, callees in modules for callee in callees}
    # Two modules that call each other: what may stand in the table above its caller.
    mutual = {pair for one, other in known if not other.isdigit() for pair in ((one, other), (other, one))}
    report("the modules are those of modules.allowed", [f"{name} has no line" for name in sorted(headers.keys() - set(order))] +
           [f"{name}: no such module" for name in order if name not in headers] +
           [f"{name} has two lines" for name in sorted({n for n in order if order.count(n) > 1})])
    report("a module calls only what modules.allowed names", [f"{arrows[one, other]}: {one} may not call {other}"
           for one, other in sorted(arrows.keys() - allowed)])
    report("modules.allowed names nothing that is not called", [f"{one} does not call {other} (any more): take it out"
           for one, other in sorted(allowed - arrows.keys())])
    report("modules call down", [f"{one} stands above {other} in modules.allowed and calls it: modules call only what stands above them"
           for one, other in sorted(allowed) if {one, other} <= set(order) and order.index(other) >= order.index(one)
           and (one, other) not in mutual])
    problems = []
    for name, files in sorted(large.items()):
        if (name, str(len(files))) not in known:
            problems.append(f"{name}: {len(files)} files call each other in a circle, {largest_circle} are the most: "
                            + " ".join(sorted(os.path.basename(file) for file in files)))
    for one, other in sorted(known):
        there = len(large.get(one, ())) == int(other) if other.isdigit() else {(one, other), (other, one)} <= arrows.keys()
        if not there:
            problems.append(f"modules.allowed: there is no circle {one} {other} (any more): write what there is")
        if len(known[one, other].split()) < 4:
            problems.append(f"modules.allowed: circle {one} {other} lacks its sentence")
    report("no circle of many files", problems)
    problems = []
    for name, limits, _ in modules:
        for what, there, limit in zip(("other modules", "tests alone"), headers.get(name, limits), limits):
            if there > limit:
                problems.append(f"{name}: {there} headers are included by {what}, modules.allowed says {limit}: a module has one public header")
            elif there < limit:
                problems.append(f"{name}: only {there} headers are included by {what} now: write that into modules.allowed")
    report("modules are used through their public headers", problems)


def layers_in_circles(calls):
    """Folders of a backend module whose files call each other's; elsewhere a folder is one view, one suite"""
    layers = defaultdict(lambda: defaultdict(set))
    for file, other, _ in calls:
        one, two = os.path.dirname(file), os.path.dirname(other)
        if module(file) == module(other) and one != two and file.startswith("backend/"):
            layers[module(file)][one].add(two)
    circles = {frozenset(circle(one, graph)) for graph in layers.values() for one in graph} - {frozenset()}
    return [f"{' and '.join(sorted(each))} call each other: a layer calls only those below it" for each in circles]


def doubled(files):
    homes = defaultdict(set)
    for file in files:
        stem = os.path.splitext(file)[0]
        if module(file) not in ("bench", "tests", "guest"):
            homes[file.split("/")[0], os.path.basename(stem)].add(stem)
    return [f"{' and '.join(sorted(stems))}: a name says which of them it is" for _, stems in sorted(homes.items()) if len(stems) > 1]


files = lines_of("sources 'backend/*.[ch]' 'tui/*.[ch]' 'bench/*.[ch]' 'tests/*.[ch]'")
calls = read_calls()
found = measure(calls, read_includes(files))
if sys.argv[1:] == ["--print"]:
    print_table(*found)
    sys.exit()
compare(*found)
report("layers of a module call down", layers_in_circles(calls))
report("no file name twice in one half", doubled(files))
sys.exit(failed)
