#!/usr/bin/python3
"""globs.py - what berth files scan --glob finds, against rg --glob on the same tree."""
import os
import random
import shutil
import subprocess
import sys

BERTH, PLACE = os.environ["BERTH"], os.path.join(os.environ["TMPDIR"], "tree")
GENERATED = 0 if os.environ.get("BERTH_TEST_CHANGED") else 40

NAMES = [b"a.c", b"a.h", b"b.js", b"x.log", b".hidden.c", b"README.md", b"src/a.c", b"src/b.js", b"src/d/a.c", b"src/d/e/b.js", b"lib/a.c", b"lib/a.h", b"lib/src/a.c",
         b"build/x.log", b"d/build/x", b"[", b"[a]", b"{a,b}", b"!a", b"#a", b"a b", b"^", b"-", b"]", b"a\\", b"*", b"?", b"\xc3\xa9.c", b"9", b"Z"]

LISTED = ["*", "**", "*.c", "/*.c", "*.{c,h}", "{src,lib}/**/*.{c,js}", "src/*.c", "src/**", "src/**/*.c", "src/**.c", "**.c", "**/src/*.c", "**/d/**", "*/a.c", "?", "[ab].c", "[!a]*",
          "[^a].c", "[]]", "[a-]", "[[]a]", "[{]*", "\\[a\\]", "\\{a,b\\}", "\\*", "\\!a", "!*.c", "!src", "!/src", "!*.{c,js}", "a.{,c}", "README*", "src", "d/build/x", "build", "a b", "**/.*",
          "a\\\\", "z", "src/**/**/a.c", "a[", "a\\", "*.{c", "!["]

# Where berth is meant to differ, and why.
MEANT = {
    "": "ripgrep takes the empty pattern for all; berth refuses what can match nothing",
    "!": "the same",
    "src/": "ripgrep finds no file silently: the pattern is of directories; berth says what to write",
    "[[:alpha:]].c": "ripgrep knows no classes; berth has git's",
    "[[:bogus:]]": "the same: for berth there is no such class, which it says",
    "[b-a]": "ripgrep refuses a range that goes backwards; for git it holds nothing",
    "./src/*.c": "ripgrep finds no file silently; the ./ that people write in front changes nothing for berth",
    "#a": "for ripgrep a comment, so it finds all; for berth a name",
}


def found(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=60)
    if done.returncode == 2:
        return None
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{command}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    return sorted(name.removeprefix(b"./") for name in done.stdout.split(b"\0")[:-1])


def rg(glob):
    return found(["rg", "--no-config", "--threads=1", "--no-ignore", "--hidden", "--files", "--null", f"--glob={glob}", "--", "."])


def berth(glob):
    return found([BERTH, "files", "scan", "--type", "f", "-0", f"--glob={glob}"])


def generated(rng):
    parts = ["a", "b", ".c", ".js", "*", "*", "?", "[ab]", "[!a]", "{a,b}", "{c,js}", "x", "src", "\\a"]
    middle = ["src", "lib", "d", "*", "**", "{src,lib}", "?ib"]
    folders = [rng.choice(middle) for _ in range(rng.choice((0, 0, 1, 1, 2)))]
    return rng.choice(("", "", "", "!", "/")) + "/".join(folders + ["".join(rng.choice(parts) for _ in range(rng.choice((1, 2, 2, 3))))])


def main():
    if not shutil.which("rg"):
        print("there is no ripgrep here (rg)")
        return 77
    for name in NAMES:
        path = os.path.join(PLACE.encode(), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb"):
            pass
    os.chdir(PLACE)
    rng = random.Random(31)
    globs = LISTED + [generated(rng) for _ in range(GENERATED)]
    bad = 0
    for glob in globs:
        want, got = rg(glob), berth(glob)
        if want != got:
            bad += 1
            print(f"# {glob}: rg finds {want}, berth {got}")
    same = [glob for glob in MEANT if rg(glob) == berth(glob)]
    print(f"note oracle globs: {len(globs)} patterns, {len(globs) - bad} as ripgrep, {bad} otherwise; {len(MEANT)} more differ as they are meant to")
    print("not ok" if bad else "ok", "patterns find what ripgrep's find")
    print(*(f"# {glob}: no difference any more" for glob in same), sep="\n", end="\n" if same else "")
    print("not ok" if same else "ok", "what is meant to differ does")
    return int(bool(bad or same))


if __name__ == "__main__":
    sys.exit(main())
