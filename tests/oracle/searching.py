#!/usr/bin/python3
"""searching.py - the lines that berth files search finds, against ripgrep on the same files."""
import json
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from oracle_trees import SHORT, SHOWN, shrink  # noqa: E402

BERTH, PLACE = os.environ["BERTH"], os.path.join(os.environ["TMPDIR"], "tree")
GENERATED = 40 if SHORT else 80

BOM = b"\xef\xbb\xbf"
FILES = {
    "plain": b"one two\nthree\ntwo\n",
    "unended": b"one\nlast two",
    "crlf": b"one\r\ntwo\r\nthe two\r\n",
    "mixed": b"two\r\none\ntwo\r",
    "cr": b"one\rtwo\rthree",
    "empty": b"",
    "newline": b"\n",
    "newlines": b"\n\n\ntwo\n\n",
    "bom": BOM + b"two\nTWO\n",
    "bom only": BOM,
    "bom twice": BOM + BOM + b"two\n",
    "bom later": b"one\n" + BOM + b"two\n",
    "utf-16le": "one\ntwo é\n".encode("utf-16"),
    "utf-16be": b"\xfe\xff" + "one\ntwo é\n".encode("utf-16-be"),
    "utf-16 odd": b"\xff\xfet\0w\0o\0\n",
    "utf-8": "café two\nCAFÉ\nŜtraße\nKelvin K\n".encode(),
    "latin-1": b"caf\xe9 two\n\xe9two\ntwo\xe9\n",
    "not utf-8": b"\xff\xc0two\xf5\n\x80\ntwo\xed\xa0\x80\n",
    "controls": b"\x01two\x1b[31mtwo\x7f\n\ttwo\n",
    "long": b"x" * 70000 + b" two " + b"y" * 70000 + b"\ntwo\n",
    "long words": b"word " * 30000 + b"two\n",
    "words": b"two_ two2 atwo two-two (two) twofold\ntwo\n_two\n2two\n",
    "case": b"TWO\nTwo\ntWo\n",
    "dots": b"a.b\naxb\na\\b\n$two^\n",
    "a\nb": b"two\n",
    ":2:two": b"two\n",
}

# PATTERN, berth's flags, ripgrep's flags
LISTED = [
    ("two", [], ["-F"]), ("two", ["-i"], ["-F", "-i"]), ("two", ["-w"], ["-F", "-w"]), ("two", ["-w", "-i"], ["-F", "-w", "-i"]), ("TWO", ["-i"], ["-F", "-i"]),
    ("a.b", [], ["-F"]), ("a\\b", [], ["-F"]), ("$two^", [], ["-F"]), ("é", [], ["-F"]), ("é", ["-i"], ["-F", "-i"]), ("café", ["-i"], ["-F", "-i"]), ("k", ["-i"], ["-F", "-i"]),
    ("ŝ", ["-i"], ["-F", "-i"]), ("\t", [], ["-F"]), (" ", [], ["-F"]), ("\x1b[31m", [], ["-F"]), ("two ", [], ["-F"]),
    ("^two", ["-E"], []), ("^two$", ["-E"], []), ("two$", ["-E"], []), ("^$", ["-E"], []), ("^", ["-E"], []), (".", ["-E"], []), ("a.b", ["-E"], []), ("t.o", ["-E"], []), ("[tT]wo", ["-E"], []),
    ("one|three", ["-E"], []), ("(one|two) ", ["-E"], []), (r"\btwo\b", ["-E"], []), (r"\bt", ["-E"], []), (r"two\s", ["-E"], []), (r"\s$", ["-E"], []), (r"\S+two", ["-E"], []), (r"[^a-z]two", ["-E"], []),
    (r"\d", ["-E"], []), (r"x{100}", ["-E"], []), (r"(?i)two", ["-E"], []), ("two", ["-E", "-i"], ["-i"]), ("two|one", ["-E", "-w"], ["-w"]), ("caf.", ["-E"], []), ("caf..two", ["-E"], []), (r"\x{e9}", ["-E"], []),
    ("z*", ["-E"], []), ("two", ["--glob", "u*"], ["-F", "-g", "u*"]), ("two", ["--max-per-file", "1"], ["-F", "-m", "1"]),
]

# Where berth is meant to differ.
MEANT = "a word beside a byte that is not UTF-8: ripgrep wants a character there that is not a letter; for berth, as for grep, such a byte is not a letter"
meant = 0


def hits(command, read):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=120, cwd=PLACE)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{command}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    found = read(done.stdout)
    if (done.returncode == 1) != (not found):
        raise RuntimeError(f"{command}: exit {done.returncode}, {len(found)} lines found")
    return found


def rg(pattern, flags):
    out = subprocess.run(["rg", "--no-config", "--threads=1", "--json", *flags, "--", pattern, "."], stdout=subprocess.PIPE, check=False, timeout=120, cwd=PLACE).stdout
    found = set()
    for line in out.splitlines():
        data = json.loads(line)
        if data["type"] == "match":
            found.add((data["data"]["path"]["text"].removeprefix("./"), data["data"]["line_number"]))
    return found


def berth(pattern, flags):
    def read(out):
        found = set()
        for line in out.decode(errors="replace").splitlines():
            data = json.loads(line)
            if "line" in data:
                found.add((data["path"], data["line"]))
        return found

    return hits([BERTH, "files", "search", "--json", *flags, "--", pattern, "."], read)


def make(files):
    shutil.rmtree(PLACE, ignore_errors=True)
    os.makedirs(PLACE)
    for name, data in files.items():
        with open(os.path.join(PLACE, name), "wb") as file:
            file.write(data)


def generated_files(rng):
    parts = [b"two", b"Two", b"one", b" ", b"\n", b"\n", b"\r\n", b"\t", b"_", b"2", b".", b"\xc3\xa9", b"\xe9", b"x" * 50, b"\xef\xbb\xbf", b"a", b"b"]
    files = {}
    for i in range(rng.choice((1, 2, 6))):
        data = b"".join(rng.choice(parts) for _ in range(rng.choice((0, 1, 5, 40, 400))))
        if rng.random() < 0.15:
            data = b"\xff\xfe" + data.decode(errors="ignore").encode("utf-16-le")
        files[f"f{i}"] = data
    return files


def generated_pattern(rng):
    literal = rng.random() < 0.5
    parts = ["two", "Two", "one", "a", "b", "_", "2", " ", "x", "é"] + ([] if literal else [".", "[ab]", "[^a]", "(one|two)", "t+", "x*", r"\w", r"\d", "a?", r"\b"])
    pattern = "".join(rng.choice(parts) for _ in range(rng.choice((1, 1, 2, 3))))
    if not literal and rng.random() < 0.3:
        pattern = rng.choice(("^" + pattern, pattern + "$"))
    flags = [flag for flag in ("-i", "-w") if rng.random() < 0.25]
    return pattern, flags + ([] if literal else ["-E"]), flags + (["-F"] if literal else [])


def is_utf8(files, name, line):
    text = files[name].split(b"\n")[line - 1]
    return text.decode(errors="ignore").encode() == text


def compare(files, pattern, flags, others):
    """What only ripgrep finds, and what only berth."""
    global meant
    want, got = rg(pattern, others), berth(pattern, flags)
    more = got - want
    if "-w" in flags:
        more = {at for at in more if is_utf8(files, *at)}
        meant += len(got - want) - len(more)
    return sorted(want - got), sorted(more)


def smaller(files):
    """Files that lack one, or a line of one."""
    for name, data in files.items():
        yield {other: text for other, text in files.items() if other != name}
        lines = data.splitlines(keepends=True)
        for i in range(len(lines)):
            yield {**files, name: b"".join(lines[:i] + lines[i + 1:])}


def differs(files, pattern):
    make(files)
    return any(compare(files, *pattern))


def main():
    if not shutil.which("rg"):
        print("there is no ripgrep here (rg)")
        return 77
    bad = 0
    make(FILES)
    for pattern in LISTED:
        missing, more = compare(FILES, *pattern)
        if missing or more:
            bad += 1
            print(f"# {pattern[0]!r} {pattern[1]}: only ripgrep finds {missing[:6]}, only berth {more[:6]}")
    print("not ok" if bad else "ok", "listed patterns in listed files find the lines that ripgrep's find")
    print("ok" if meant else "not ok", MEANT.partition(":")[0])
    rng = random.Random(47)
    differ = 0
    for _ in range(GENERATED):
        files, pattern = generated_files(rng), generated_pattern(rng)
        if differs(files, pattern):
            differ += 1
            if differ <= SHOWN:
                files = shrink(files, smaller, lambda options: [i for i, files in enumerate(options) if differs(files, pattern)])
                make(files)
                missing, more = compare(files, *pattern)
                print(f"# {pattern[0]!r} {pattern[1]} in {files}: only ripgrep finds {missing[:6]}, only berth {more[:6]}")
    print("not ok" if differ else "ok", "generated patterns in generated files, too")
    print(f"note oracle searching: {len(LISTED)} listed, {len(LISTED) - bad} as ripgrep; {GENERATED} generated, {GENERATED - differ} as ripgrep; {meant} lines differ as they are meant to")
    return int(bool(bad or differ or not meant))


if __name__ == "__main__":
    sys.exit(main())
