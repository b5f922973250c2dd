#!/usr/bin/python3
"""diffs.py - the diffs that berth prints, against git apply and patch: applied to the old tree they give the new one."""
import collections
import itertools
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from mcp_client import Client  # noqa: E402
from oracle_trees import SHORT, SHOWN, SOAK, on_own_mount, shrink  # noqa: E402

BERTH, TMPDIR = os.environ["BERTH"], os.environ["TMPDIR"]
GENERATED = 60 if SHORT else 10000 if SOAK else 200
LISTED = 200 if SHORT else 100000 if SOAK else 500  # at most, drawn from all
ENV = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_CEILING_DIRECTORIES": TMPDIR, "LC_ALL": "C"}
APPLY = {
    "git apply": ["git", "apply", "-p1", "--whitespace=nowarn", "--unidiff-zero"],
    "patch": ["patch", "-p1", "--silent", "--force", "--no-backup-if-mismatch"],
}
numbers = itertools.count()

# A change is (name, old, new); a side is None, or (mode, bytes), whose mode is 0o644, 0o755 or LINK.
LINK = "link"
Change = collections.namedtuple("Change", "name old new")


def sides(change):
    return [side for side in change[1:] if side]


def is_utf8(*texts):
    try:
        return all(text.decode() is not None for text in texts)
    except UnicodeDecodeError:
        return False


def is_binary(change, _):
    return any(side[0] != LINK and b"\0" in side[1] for side in sides(change))


def has_blank_and_no_lines(change, _):
    return b" " in change.name and (any(not side[1] for side in sides(change)) or len({side and side[1] for side in change[1:]}) == 1)


def is_directory_too(change, changes):
    return any(other.name.startswith(change.name + b"/") for other in changes)


def is_link_that_turns(change, _):
    return change.old and change.new and change.old[0] == change.new[0] == LINK


# Where it is not meant to give the new tree, or git's lines: program, changes, and why.
MEANT = [
    ("git apply", is_binary, "a file that is not text is only reported as different, as git diff does without --binary; git apply refuses that"),
    ("patch", is_binary, "the same; patch skips it"),
    ("patch", has_blank_and_no_lines,
     "patch reads a name with a blank in --- and +++ lines only; git prints none where nothing but the mode changes, or an empty file comes or goes"),
    ("patch", lambda change, _: change.name.endswith(b" "), "patch takes no blank at the end of a name for part of it"),
    ("patch", is_directory_too, "patch goes from file to file, and removes last: a file cannot take the place of a directory, nor the other way round"),
    ("git diff", is_link_that_turns, "a link that leads elsewhere goes and comes again: of a changed one patch needs the mode, which git has in the index line"),
    ("git diff", lambda change, _: not is_utf8(change.name) or not change.name.decode().isprintable() and b"\xe2" in change.name,
     "with core.quotePath=false git prints bytes that are no UTF-8, and characters that reorder a line, as they are"),
]

NAMES = [b"a", b"b", b"d/a", b"d/e/a", b"a b", b" a", b"a ", b"d e/f g", b"a\tb", b"a\nb", b"a\rb", b"a\r", b'a"b', b"a'b", b"a\\b", b"\\", b'"', b"a\x01b", b"\x7f", b"\xff",
         b"\xc3\xa9", b"d\xff/a", b"-", b"--", b"a -> b", b"a/b b/a", b"diff --git a b", b"a\n+++ b", b"dev/null", b"\xe2\x80\xae.c", b"a.orig", b"*", b"$x", b"a\tx y", b"\xc2\xa0",
         b"2026-01-01 00:00:00", b"x\t2026-01-01", b"#", b"\xed\xa0\x80", b"b/b", b"a/a", b"...", b"x..y", b"~", b"a" * 200]
LINES = [b"a\n", b"b\n", b"c\n", b"\n", b" \n", b"\t\n", b"a\r\n", b"\r\n", b"-- a/a\n", b"++ b/b\n", b"- a\n", b"+ a\n", b"@@ -1 +1 @@\n", b"diff --git a/a b/b\n", b"\\ No newline at end of file\n",
         b"\xff\xfe\n", b"\xc3\xa9\n", b"a b\n", b"a" * 300 + b"\n", b"a\rb\n", b"\x0c\n", b"index 1..2\n", b"--- a/a\n", b"+++ b/a\n", b"\x1b[31m\n", b"1,2c1\n", b"\\\n"]


def listed():
    plain, other = (0o644, b"one\ntwo\nthree\n"), (0o644, b"one\n2\nthree\n")
    for name in NAMES:
        yield [Change(name, plain, other)]
        yield [Change(name, None, plain)]
        yield [Change(name, plain, None)]
        yield [Change(name, None, (0o644, b""))]
        yield [Change(name, (0o644, b""), None)]
        yield [Change(name, plain, (0o755, plain[1]))]
        yield [Change(name, (LINK, b"x"), (LINK, b"y"))]
    texts = [b"", b"a", b"a\n", b"a\nb", b"a\nb\n", b"b\na\n", b"\n", b"\n\n", b"a\r\n", b"a\r\nb\r\n", b"a\nb\r\n", b"a\r", b"\r", b"\0", b"a\0b\n", b"a\n" * 9000 + b"\0"]
    nodes = [None] + [(mode, text) for mode in (0o644, 0o755) for text in texts[:9]] + [(LINK, b"x"), (LINK, b"a b\n"), (LINK, b"\xff")]
    for old, new in itertools.permutations(nodes, 2):
        yield [Change(b"a", old, new)]
    for old, new in itertools.permutations(texts, 2):
        yield [Change(b"a", (0o644, old), (0o644, new)), Change(b"b", plain, other)]
    for node in (plain, (LINK, b"x")):  # a file where a directory was, and the other way round
        yield [Change(b"d", node, None), Change(b"d/a", None, plain)]
        yield [Change(b"d", None, node), Change(b"d/a", plain, None)]
        yield [Change(b"d", None, node), Change(b"d/e/a", plain, None), Change(b"d/b", other, None)]


def text(rng):
    lines = b"".join(rng.choice(LINES) for _ in range(rng.choice((0, 1, 2, 3, 5, 8, 20, 40))))
    return lines[:-1] if rng.random() < 0.3 else lines


def changed(rng, old):
    lines = old.splitlines(keepends=True) if rng.random() < 0.5 else re.findall(rb"[^\n]*\n|[^\n]+", old)
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        at = rng.randrange(len(lines) + 1)
        what = rng.randrange(4)
        if what == 0:
            lines.insert(at, rng.choice(LINES))
        elif what == 1:
            del lines[at:at + rng.choice((1, 1, 2, 5))]
        elif what == 2:
            lines[at:at + 1] = [rng.choice(LINES)]
        else:
            rng.shuffle(lines)
    new = b"".join(lines)
    what = rng.random()
    if what < 0.1:
        return new.removesuffix(b"\n")
    if what < 0.15:
        return new.replace(b"\n", b"\r\n")
    if what < 0.2:
        return b""
    return new + (b"\0" if what < 0.22 else b"")


def generated(rng):
    changes, taken = [], set()
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        name = rng.choice(NAMES)
        if rng.random() < 0.3:
            name = rng.choice((b"d/", b"d e/", b"\xff/")) + name
        parts = name.split(b"/")
        # No name is below that of a file.
        if any(other == name or other.startswith(name + b"/") or name.startswith(other + b"/") for other in taken) or len(parts) > 5:
            continue
        taken.add(name)
        old = rng.choice((None, (0o644, text(rng)), (0o644, text(rng)), (0o755, text(rng)), (LINK, rng.choice(NAMES))))
        new = rng.choice((None, (LINK, rng.choice(NAMES)), (0o755, text(rng)), (0o644, text(rng)), old))
        if old and old[0] != LINK and rng.random() < 0.7:
            new = (rng.choice((old[0], old[0], 0o644, 0o755)), changed(rng, old[1]))
        if old or new:
            changes.append(Change(name, old, new))
    return changes


def write(top, changes, side):
    for change in changes:
        node, path = getattr(change, side), os.path.join(top, change.name)
        if not node:
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if node[0] == LINK:
            os.symlink(node[1], path)
            continue
        with open(path, "wb") as file:
            file.write(node[1])
        os.chmod(path, node[0])


def read(top):
    found = {}
    for folder, folders, files in os.walk(top):
        for name in files + folders:
            path = os.path.join(folder, name)
            rest = os.path.relpath(path, top)
            if os.path.islink(path):
                found[rest] = (LINK, os.readlink(path))
            elif not os.path.isdir(path):
                with open(path, "rb") as file:
                    found[rest] = (0o755 if os.stat(path).st_mode & 0o100 else 0o644, file.read())
    return found


def wanted(changes):
    return {change.name: change.new for change in changes if change.new}


def fresh(what):
    path = os.path.join(TMPDIR, f"{what}{next(numbers)}").encode()
    os.mkdir(path)
    return path


def run(command, **more):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=120, **more)
    if done.returncode:
        raise RuntimeError(f"{command}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def applied(program, patch, changes, inside):
    """(what is there then, what the program says)"""
    top = fresh("apply")
    folder = os.path.join(top, inside)
    os.makedirs(folder)
    write(folder, changes, "old")
    done = subprocess.run(APPLY[program], input=patch, cwd=top, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=60) if patch else None
    got = read(folder)
    shutil.rmtree(top)
    return got, done.stdout.decode(errors="replace") if done and done.returncode else ""


def hunk_counts(line):
    return [1 if count is None else int(count) for count in re.match(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", line).groups()]


def by_number(lines, pattern):
    """The pieces of a diff, by the number of the input in the names; what is in hunks is skipped by the counts in their heads."""
    pieces, number, left = {}, None, [0, 0]
    for line in lines:
        if max(left) > 0:
            left[0] -= line[:1] in b" -"
            left[1] -= line[:1] in b" +"
        elif line.startswith(b"@@ "):
            left = hunk_counts(line)
        elif match := re.match(pattern, line):
            number = int(match.group(1))
        elif not line.startswith((b"\\ ", b"--- ", b"+++ ", b"old mode", b"new mode", b"new file", b"deleted", b"Binary")):
            raise RuntimeError(f"a line of no diff: {line}")
        if number is not None:
            pieces[number] = pieces.get(number, b"") + line
    return pieces


def split(output):
    return re.findall(rb"[^\n]*\n|[^\n]+", output)


def workspace_diffs(inputs):
    """`berth workspace diff` of a workspace with the old trees and one with the new."""
    name = f"w{next(numbers)}"
    files = os.path.join(os.environ["XDG_DATA_HOME"], "berth/workspaces/tasks", name, "files").encode()
    run([BERTH, "workspace", "create", "task", name])
    run([BERTH, "workspace", "create", "task", name + "n"])
    for i, changes in enumerate(inputs):
        for to, side in ((files, "old"), (os.path.dirname(files) + b"n/files", "new")):
            os.makedirs(os.path.join(to, b"%d" % i))
            write(os.path.join(to, b"%d" % i), changes, side)
    lines = split(run([BERTH, "workspace", "diff", name, name + "n", "files"]))
    shutil.rmtree(os.path.dirname(files))
    shutil.rmtree(os.path.dirname(files) + b"n")
    pieces = by_number(lines, rb'(?:diff --git "?a/files|(?:added|removed|changed|mode|type) +"?files)/(\d+)')
    return [(pieces.get(i, b""), changes, b"files/%d" % i) for i, changes in enumerate(inputs)]


def transform_diffs(inputs):
    """`berth files transform` without --apply; the new tree is what --apply makes."""
    top = fresh("transform")
    for i, changes in enumerate(inputs):
        write(os.path.join(top, b"%d" % i), changes, "old")
    command = [BERTH, "files", "transform", "--root", top, "--all", "--regex", r"a+|^b$|^c$|\r", "Z"]
    pieces = by_number(split(run(command)), rb'--- "?a/(\d+)/')
    run(command + ["--apply"])
    found = []
    for i, changes in enumerate(inputs):
        new = read(os.path.join(top, b"%d" % i))
        found.append((pieces.get(i, b""), [Change(c.name, c.old, new[c.name]) for c in changes], b"%d" % i))
    shutil.rmtree(top)
    return found


def edit_diffs(inputs):
    """MCP's edit_file as a dry run; the new file is what it makes else."""
    top = fresh("edit")
    if os.getuid() == 0:
        os.chown(top, 1000, 1000)
    team = os.path.join(TMPDIR, f"team{next(numbers)}.yaml")
    with open(team, "w", encoding="utf-8") as file:
        file.write(f"agents:\n  one:\n    image: box:1\n    workspace: {os.fsdecode(top)}\n")
    found = []
    with Client(team) as client:
        for i, changes in enumerate(inputs):
            folder = os.path.join(top, b"%d" % i)
            change, = changes
            write(folder, changes, "old")
            if os.getuid() == 0:
                for path, _, files in os.walk(folder):
                    for name in [b"", *files]:
                        os.chown(os.path.join(path, name), 1000, 1000)
            asked = {"path": f"{i}/" + change.name.decode(), "edits": [{"oldText": change.old[1].decode(), "newText": change.new[1].decode()}]}
            diff = client.call("edit_file", dryRun=True, **asked)
            assert diff.startswith("```diff\n") and diff.endswith("```\n"), diff
            client.call("edit_file", **asked)
            found.append((diff.removeprefix("```diff\n").removesuffix("```\n").encode(), [Change(change.name, change.old, read(folder)[change.name])], b"%d" % i))
    shutil.rmtree(top)
    return found


def head_lines(patch):
    """What is not in hunks, by file.  Not the index lines, for berth prints no hashes, nor what berth says of what git does not know."""
    heads, left = {}, [0, 0]
    for line in split(patch):
        if max(left) > 0:
            left[0] -= line[:1] in b" -"
            left[1] -= line[:1] in b" +"
        elif line.startswith(b"@@ "):
            left = hunk_counts(line)
        elif line.startswith(b"diff --git "):
            head = heads.setdefault(line, [])
            head.append(line)
        elif not line.startswith((b"index ", b"\\ ", b"added ", b"removed ", b"changed ", b"mode ", b"type ")):
            head.append(line)
    return heads


def git_heads(changes, inside):
    top = fresh("git")
    for side in ("old", "new"):
        folder = os.path.join(top, side.encode(), inside)
        os.makedirs(folder)
        write(folder, changes, side)
    done = subprocess.run(["git", "-c", "core.quotePath=false", "diff", "--no-index", "--no-renames", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/", "old", "new"],
                          cwd=top, env=ENV, stdout=subprocess.PIPE, check=False, timeout=60)
    shutil.rmtree(top)
    return head_lines(re.sub(rb"([ \"][ab]/)(?:old|new)/(?=files/\d)", rb"\1", done.stdout))


def judged(program, find, inputs):
    """[what differs, or None] of each input"""
    found = []
    for patch, changes, inside in find(inputs):
        if program == "git diff":
            want, got, said = git_heads(changes, inside), head_lines(patch), ""
        else:
            want, (got, said) = wanted(changes), applied(program, patch, changes, inside)
        found.append(None if got == want and not said else (patch, want, got, said))
    return found


def without_meant(program, changes):
    return [change for change in changes if not any(program == whose and rule(change, changes) for whose, rule, _ in MEANT)]


def differing(program, find, inputs):
    """The numbers of those that differ: though they are not meant to, and as they are meant to."""
    odd = [i for i, what in enumerate(judged(program, find, inputs)) if what]
    rest = [without_meant(program, inputs[i]) for i in odd]
    bad = {i for i, changes in zip(odd, rest) if len(changes) == len(inputs[i])}
    again = [(i, changes) for i, changes in zip(odd, rest) if i not in bad and changes]
    bad |= {i for (i, _), what in zip(again, judged(program, find, [changes for _, changes in again]) if again else []) if what}
    return sorted(bad), [i for i in odd if i not in bad]


def smaller(changes):
    for i, change in enumerate(changes):
        if len(changes) > 1:
            yield changes[:i] + changes[i + 1:]
        for side in ("old", "new"):
            node = getattr(change, side)
            if not node or node[0] == LINK:
                continue
            lines = split(node[1])
            for at in range(min(len(lines), 60)):
                yield changes[:i] + [change._replace(**{side: (node[0], b"".join(lines[:at] + lines[at + 1:]))})] + changes[i + 1:]
        if change.name != b"z%d" % i:
            yield changes[:i] + [change._replace(name=b"z%d" % i)] + changes[i + 1:]


def report(what, find, program, inputs):
    bad, meant = differing(program, find, inputs)
    print(f"note oracle diffs, {what}, {program}: {len(inputs)} inputs, {len(inputs) - len(bad) - len(meant)} agree, {len(meant)} differ as they are meant to, {len(bad)} otherwise", flush=True)
    for i in bad[:SHOWN]:
        small = shrink(inputs[i], smaller, lambda options: differing(program, find, options)[0])
        print(f"# number {i}: {small}: {judged(program, find, [small])[0]}")
    print("not ok" if bad else "ok", f"{what}: {program}")
    return bool(bad)


def only_files(inputs):
    """Of each input the files that are there before."""
    kept = [[change for change in changes if change.old and change.old[0] != LINK] for changes in inputs]
    return [changes for changes in kept if changes]


def editable(inputs):
    """Those that edit_file makes as one edit: of a text as JSON has them, whose lines end alike."""
    return [changes for changes in inputs for c in changes[:1]
            if len(changes) == 1 and c.old and c.new and LINK not in (c.old[0], c.new[0]) and c.old[1] and c.old[1] != c.new[1] and is_utf8(c.name, c.old[1], c.new[1])
            and b"\0" not in c.old[1] + c.new[1] and (b"\r" not in c.old[1] or not re.search(rb"\r(?!\n)|(?<!\r)\n", c.old[1]))]


def report(what, find, program, inputs, fit=list):
    """`fit(inputs)`: those of them that the command takes."""
    bad, meant = differing(program, find, inputs)
    print(f"note oracle diffs, {what}, {program}: {len(inputs)} inputs, {len(inputs) - len(bad) - len(meant)} agree, {len(meant)} differ as they are meant to, {len(bad)} otherwise", flush=True)
    for i in bad[:SHOWN]:
        small = shrink(inputs[i], lambda changes: fit(list(smaller(changes))), lambda options: differing(program, find, options)[0])
        print(f"# number {i}: {small}: {judged(program, find, [small])[0]}")
    print("not ok" if bad else "ok", f"{what}: {program}")
    return bool(bad)


def main():
    missing = [program for program in ("git", "patch") if not shutil.which(program)]
    if missing:
        print(f"not here: {' '.join(missing)}")
        return 77
    on_own_mount()
    os.umask(0o022)
    os.environ["XDG_DATA_HOME"] = os.path.join(TMPDIR, "data")
    os.environ["XDG_STATE_HOME"] = os.path.join(TMPDIR, "state")
    rng = random.Random(32)
    inputs = list(listed())
    inputs = rng.sample(inputs, min(len(inputs), LISTED))
    made = [changes for changes in (generated(rng) for _ in range(GENERATED)) if changes]
    for program, _, why in MEANT:
        print(f"note oracle diffs, meant to differ: {program}: {why}")
    failed = False
    for program in ("git apply", "patch", "git diff"):
        failed |= report("workspace diff, listed", workspace_diffs, program, inputs)
        failed |= report("workspace diff, generated", workspace_diffs, program, made)
    for program in APPLY:
        failed |= report("files transform", transform_diffs, program, only_files(made + inputs[:LISTED // 4]), only_files)
        failed |= report("edit_file", edit_diffs, program, editable([[change] for changes in made + inputs[:LISTED // 4] for change in changes]), editable)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
