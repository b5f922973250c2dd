#!/usr/bin/python3
"""ignore.py - which files berth leaves out because of ignore files, against git: listed and generated rule files, each on a
tree of its own. Many trees lie side by side in one repository, so that one run of each program judges them all."""
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from oracle_trees import SHORT, SHOWN, SOAK, on_own_mount, shrink  # noqa: E402

BERTH, TMPDIR = os.environ["BERTH"], os.environ["TMPDIR"]
PLACE = os.path.join(TMPDIR, "trees")
# The short tier has a few hundred, else there are some thousands; always the same ones.
GENERATED = 300 if SHORT else 30000 if SOAK else 2000
NAMES = 14  # at most, of a generated tree
BATCH = 1000
TOPS = 10  # of the generated ones lie also at the top of a repository, where paths have no directory in front

# Where berth is meant to differ: lines of rules, and why. A tree on which the programs differ is accepted only if they agree
# once these lines are gone.
MEANT = [
    (re.compile(rb"!?/?(?=[^\r\n]*/)[^*?\[\\\r\n]*[^*?\[\\/\r\n]\*\*+(?:\\?/.*|[ \r]*)"),
     "git before 2.53 takes the ** of foo**/bar for one that stands alone, though gitignore(5) says that it is as *: foobar is ignored"),
]

# Names that the listed rules are tried on: for what concerns directories, and for what concerns characters.
PATHS = [b"a", b"ab", b"b", b"x.log", b"d/x.log", b"d/e/x.log", b"a.c", b"src/a.js", b"src/d/a.js", b"src/d/e/a.js", b"src/.js", b"srcx/a.js", b"d/src/a.js", b"foo/bar",
         b"foo/d/bar", b"foo/d/e/bar", b"d/foo/bar", b"foobar", b"foo.d/bar", b"build/x", b"d/build/x", b"d/e/build", b".hidden", b"d/.hidden", b"**", b"d/e/f/g/h"]
CHARACTERS = [b"a", b"ab", b"b", b"x.log", b"d/x.log", b"src/a.js", b"A", b"Z1", b"9", b"7z", b"_", b"-", b"d/-", b"]", b"[", b"[a", b"[a]", b"!", b"!a", b"#", b"#a", b"a b",
              b"a ", b"a  ", b" a", b" ", b"\\", b"a\\", b"\\a", b"*", b"a*b", b"?", b"^", b"\ta", b"a\r", b"\r", b"\x7f", b"\x01", b"\x0b", b"\xc3\xa9", b"\xff", b"d/\xff\xfe",
              b"\xef\xbb\xbfa", b":", b"a:]"]

# Rules, and names beside those.
LISTED_PATHS = [
    # a name, anchors, directories
    (b"a\n",), (b"/a\n",), (b"a/\n", b"e/a/x", b"f/a"), (b"/d/\n",), (b"d/e\n", b"f/d/e/x"), (b"/d/e/\n",), (b"build/\n",), (b"/build\n",), (b"/\n",),
    (b"//\n",), (b"//a\n",), (b"a//b\n", b"c/a/b"), (b"foo//\n",), (b"./a\n",), (b"d/./e\n",), (b"d/../a\n",), (b"\n\n\n",), (b"",),
    # stars
    (b"*\n",), (b"*.log\n",), (b"/*.log\n",), (b"d/*.log\n",), (b"*/x.log\n",), (b"*/*/x.log\n",), (b"/*\n",), (b"*/\n",), (b"*a*b*\n", b"xaxbx"),
    (b"a*\n",), (b"*a\n",), (b"?\n",), (b"??\n",), (b"src/?/a.js\n",), (b"s*c/*.js\n",), (b"/*/*\n",), (b"*.\n", b"x."), (b".*\n",), (b"*.*\n",),
    # two stars alone between slashes, and not alone
    (b"**\n",), (b"/**\n",), (b"**/\n",), (b"**/x.log\n",), (b"**/build\n",), (b"**/build/\n",), (b"/**/a\n",), (b"d/**\n",), (b"d/**/\n",),
    (b"foo/**/bar\n",), (b"/foo/**/bar\n",), (b"**/foo/**/bar\n",), (b"foo/**/**/bar\n",), (b"**/e/**\n",), (b"**/**\n",), (b"**/*\n",), (b"*/**\n",),
    (b"**/*.js\n",), (b"src/**/*.js\n",), (b"src/*/**/*.js\n",), (b"**/src/*.js\n",), (b"**.log\n",), (b"src/**.js\n",), (b"/**.log\n",),
    (b"d/**.log\n",), (b"**log\n",), (b"s**c/a.js\n",), (b"src/**s\n",), (b"foo**/bar\n", b"foox/bar"), (b"foo**bar\n",), (b"/foo**bar\n",),
    (b"?**/bar\n", b"f/bar"), (b"**o/bar\n",), (b"**?/bar\n",), (b"***\n",), (b"d/***\n",), (b"***/x.log\n",), (b"foo/***/bar\n",),
    (b"**a/**\n", b"ba/c"), (b"**\\/x.log\n",), (b"foo/**\\/bar\n",), (b"foo\\/**/bar\n",), (b"foo/**/\n",), (b"**/d/**/x.log\n",), (b"*/**/x.log\n",),
    # the last line that matches decides; below what is left out nothing comes back
    (b"*.log\n!x.log\n",), (b"!x.log\n*.log\n",), (b"d/\n!d/x.log\n",), (b"d/*\n!d/x.log\n",), (b"/*\n!/foo\n/foo/*\n!/foo/bar\n",), (b"*\n!*/\n!*.js\n",),
    (b"**\n!src/**\n",), (b"*\n!src/\n!src/**\n",), (b"src/**\n!src/**/\n!**/a.js\n",), (b"foo/**\n!foo/d/\n!foo/d/bar\n",), (b"a\n!a\na\n",), (b"!\na\n",), (b"!/\na\n",),
    (b"*\n!.*\n",), (b"d\n!d\n",), (b"d/\n!d\n",), (b"d\n!d/\n",),
]
LISTED_CHARACTERS = [
    # brackets
    (b"[ab]\n",), (b"[!ab]\n",), (b"[^ab]\n",), (b"[a-c]\n",), (b"[c-a]\n",), (b"[]]\n",), (b"[!]]\n",), (b"[]-a]\n",), (b"[-a]\n",), (b"[a-]\n",),
    (b"[\\]]\n",), (b"[\\a-c]\n",), (b"[a-\\c]\n",), (b"[\\\\]\n",), (b"[a\n",), (b"[\n",), (b"[]\n",), (b"[!\n",), (b"[!]\n",), (b"[^]\n",), (b"a[\n",),
    (b"*[\n",), (b"[a\\]\n",), (b"[[]\n",), (b"[[]a]\n",), (b"[[a]\n",), (b"[a/b]\n", b"x/b"), (b"d[/]x.log\n",), (b"d[!a]x.log\n",), (b"[a-c-e]\n", b"d", b"e"),
    (b"[*]\n",), (b"[?]\n",), (b"[\xc3\xa9]\n",), (b"[!\x80-\xff]\n",), (b"[\x80-\xff]\n",), (b"[]-]\n",), (b"[--0]\n", b"0"), (b"[^^]\n",), (b"[!!]\n",), (b"[a!]\n",),
    (b"[ ]\n",), (b"a[ ]b\n",), (b"[#]a\n",), (b"src/[a-z].js\n",), (b"s[r]c/**\n",),
    *((b"[[:%s:]]\n" % name,) for name in (b"alnum", b"alpha", b"blank", b"cntrl", b"digit", b"graph", b"lower", b"print", b"punct", b"space", b"upper", b"xdigit")),
    *((b"[![:%s:]]*\n" % name,) for name in (b"alnum", b"alpha", b"blank", b"cntrl", b"digit", b"graph", b"lower", b"print", b"punct", b"space", b"upper", b"xdigit")),
    (b"[[:digit:]z]*\n",), (b"[[:digit:][:upper:]]*\n",), (b"[[:bogus:]]\n",), (b"[[:ALPHA:]]\n",), (b"[[:alpha:]\n",), (b"[[:alpha]\n",), (b"[[:alpha]]\n",),
    (b"[[:]\n",), (b"[[:]]\n",), (b"[[::]]\n",), (b"[:alpha:]\n",), (b"[[.a.]]\n",), (b"[[=a=]]\n",), (b"[a-[:digit:]]\n",), (b"[[:digit:]-z]\n",), (b"[[:word:]]\n",),
    (b"*[[:digit:]]\n",), (b"**/[[:lower:]].c\n",), (b"d/[[:alpha:]].log\n",), (b"[^[:space:]]\n",),
    # escapes, blanks, comments
    (b"\\#a\n",), (b"#a\n",), (b"\\!a\n",), (b"!a\n",), (b"!!a\n",), (b"\\a\n",), (b"a\\\n",), (b"\\\n",), (b"\\\\\n",), (b"a\\\\\n",), (b"\\\\a\n",), (b"\\*\n",),
    (b"a\\*b\n",), (b"\\?\n",), (b"\\[\n",), (b"\\[a]\n",), (b"\\[a\n",), (b"\\**\n",), (b"*\\*\n",), (b"d\\/x.log\n",), (b"d/\\x.log\n",), (b"/\\a\n",), (b"foo\\/\n",),
    (b"\\/a\n",), (b"a \n",), (b"a  \n",), (b"a\\ \n",), (b"a\\  \n",), (b"a \\ \n",), (b"a\\ \\ \n",), (b"a\\\\ \n",), (b"a\\\\\\ \n",), (b" a\n",), (b" \n",), (b"\\ \n",),
    (b"a b\n",), (b"a\\ b\n",), (b"a\t\n", b"a\t"), (b"\ta\n",), (b"a \t\n", b"a \t"), (b" #a\n", b" #a"), (b"a #b\n", b"a #b"), (b"d/ \n",), (b"! a\n*\n! a\n",),
    # line ends, BOM, NUL, the last line
    (b"a\r\n",), (b"a\r\nb\r\n",), (b"a\r",), (b"a\r\r\n",), (b"a \r\n",), (b"a\\ \r\n",), (b"a\\\r\n",), (b"\r\n",), (b"d/\r\n",), (b"a\rb\n",), (b"#a\r\nb\r\n",), (b"a",),
    (b"a\n\n\nb",), (b"\xef\xbb\xbfa\n",), (b"\xef\xbb\xbf#a\nb\n",), (b"\xef\xbb\xbf!a\n",), (b"\xef\xbb\xbf\na\n",), (b"\xef\xbb\xbf",), (b"\xef\xbb\xbf\xef\xbb\xbfa\n",),
    (b"b\n\xef\xbb\xbfa\n",), (b"\xef\xbb\xbfx.log\r\n*.c\r\n",), (b"\xfe\xffa\n",), (b"a\0b\nA\n",), (b"\0a\nA\n",), (b"#\0\nA\n",), (b"a \0b\nA\n",), (b"\0",), (b"\xff\n",), (b"\xc3\xa9\n",),
    (b"?\xa9\n",), (b"[\xff]\n",), (b"*\xfe\n",),
]

# Rule files in several directories: {directory: rules}.
NESTED = [
    {b"": b"*.log\n", b"d": b"!x.log\n"}, {b"": b"!x.log\n", b"d": b"*.log\n"}, {b"": b"d/\n", b"d": b"!x.log\n"}, {b"": b"d/*\n", b"d": b"!x.log\n!e\n"},
    {b"": b"*\n", b"d": b"!*\n"}, {b"d": b"/x.log\n"}, {b"d": b"e/x.log\n"}, {b"d": b"/e/\n"}, {b"d": b"d/x.log\n"}, {b"d": b"**/x.log\n", b"d/e": b"!/x.log\n"},
    {b"d": b"\xef\xbb\xbf/x.log\r\n", b"d/e": b"!x.log\r\n"}, {b"src": b"**.js\n", b"src/d": b"!**.js\n"}, {b"": b"src/**\n", b"src": b"!a.js\n"},
    {b"": b"**/e/**\n", b"d/e": b"!*\n"}, {b"d": b"*\n!e/\n", b"d/e": b"!x.log\n"}, {b"": b".gitignore\n", b"d": b"x.log\n"}, {b"": b"/d/e\n", b"d": b"!e\n"},
    {b"d/e": b"../x.log\n"}, {b"foo": b"bar/\n", b"foo/d": b"/bar\n"},
]

# Parts of generated patterns, each with what it might match.
PLAIN = [(b"a", b"a"), (b"b", b"b"), (b"c", b"c"), (b"ab", b"ab"), (b"x.log", b"x.log"), (b".js", b".js"), (b"foo", b"foo"), (b"A", b"A"), (b"9", b"9"), (b"-", b"-"), (b"_", b"_"),
         (b"\xc3\xa9", b"\xc3\xa9"), (b"\xff", b"\xff"), (b" ", b" "), (b"#", b"#"), (b"!", b"!"), (b"]", b"]"), (b"^", b"^"), (b".", b"."), (b"\t", b"\t"), (b"a", b"a"), (b"b", b"b"),
         (b"\\a", b"a"), (b"\\*", b"*"), (b"\\?", b"?"), (b"\\[", b"["), (b"\\#", b"#"), (b"\\!", b"!"), (b"\\ ", b" "), (b"\\\\", b"\\"), (b"\\]", b"]"), (b"\\b", b"b")]
WILD = [(b"*", b""), (b"*", b"x"), (b"*", b"ab"), (b"*", b""), (b"?", b"a"), (b"?", b"\xff"), (b"**", b""), (b"**", b"xy"), (b"***", b"z")]
SETS = [(b"[ab]", b"a"), (b"[a-c]", b"b"), (b"[!a]", b"b"), (b"[^b]", b"a"), (b"[]a]", b"]"), (b"[!]a]", b"b"), (b"[\\]]", b"]"), (b"[a-]", b"-"), (b"[z-a]", b"a"),
        (b"[[:alpha:]]", b"b"), (b"[[:digit:]x]", b"9"), (b"[![:upper:]]", b"a"), (b"[^[:space:]]", b"c"), (b"[[:punct:]]", b"-"), (b"[[:bogus:]]", b"a"), (b"[[:alpha]", b":"),
        (b"[", b"["), (b"[a", b"[a"), (b"[a-c-e]", b"-"), (b"[,-.]", b"-"), (b"[\\a-\\c]", b"b"), (b"[[:lower:][:digit:]]", b"9"), (b"[\x80-\xff]", b"\xff"), (b"[[]", b"["),
        (b"[a/]", b"a"), (b"[[:graph:]-z]", b"-"), (b"[[:xdigit:]", b"9")]


def pattern(rng):
    """A pattern, and a path that it might match."""
    parts, path = [], []
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        if rng.random() < 0.15:
            parts.append(rng.choice((b"**", b"**", b"**", b"***", b"*")))
            path.append(rng.choice((b"", b"a", b"a/b")))
            continue
        tokens = [rng.choice(rng.choice((PLAIN, PLAIN, WILD, SETS))) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
        parts.append(b"".join(token for token, _ in tokens))
        path.append(b"".join(example for _, example in tokens))
    text = rng.choice((b"", b"", b"", b"/")) + b"/".join(parts) + rng.choice((b"",) * 6 + (b"/", b"/", b" ", b"  ", b"\\ ", b"\\", b"//", b"/**", b"**")) + rng.choice((b"",) * 9 + (b" ",))
    return rng.choice((b"", b"", b"", b"!")) + text, b"/".join(part for part in path if part)


def rule_file(rng, paths):
    lines = []
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        line, path = pattern(rng)
        if path:
            paths.append(path)
        lines.append(line)
        if rng.random() < 0.1:
            lines.append(rng.choice((b"", b"# comment", b"#", b"   ", b"!", b"a\0b")))
    end = rng.choice((b"\n", b"\n", b"\r\n"))
    text = end.join(lines) + rng.choice((end, end, b""))
    return (b"\xef\xbb\xbf" if rng.random() < 0.1 else b"") + text


class Tree:
    """Rule files, {directory: text}, and the names of other files."""

    def __init__(self, rules, names):
        self.rules, self.names = rules, names

    def write(self, top):
        made = {b""}
        files = set()
        wanted = [(os.path.join(folder, b".gitignore"), text) for folder, text in self.rules.items()] + [(name, b"") for name in self.names]
        for name, text in wanted:
            folders = [name[:at.start()] for at in re.finditer(b"/", name)]
            if name in made or name in files or not files.isdisjoint(folders):
                continue
            for folder in folders:
                if folder not in made:
                    os.mkdir(os.path.join(top, folder))
                    made.add(folder)
            files.add(name)
            with open(os.path.join(top, name), "wb") as file:
                file.write(text)


def valid(path):
    return all(part not in (b"", b".", b"..", b".git", b".gitignore", b".ignore") for part in path.split(b"/"))


def generated(rng):
    paths, rules = [], {}
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rules[rng.choice((b"", b"", b"a", b"a/b", b"foo"))] = rule_file(rng, paths)
    names = [b"a/b/c", b"a/x.log", b"foo/a/ab", b"foo/x.js", b"ab", b"b"]
    for path in paths:
        names += [path, b"foo/" + path, path + b"/x", path.replace(b"/", b"/b/", 1), b"a/" + path, b"x" + path, path + b"b"]
    names = sorted({name for name in names if valid(name)})
    return Tree(rules, rng.sample(names, min(len(names), NAMES)))


def listed():
    for listed_rules, common in ((LISTED_PATHS, PATHS), (LISTED_CHARACTERS, CHARACTERS)):
        for rules, *names in listed_rules:
            yield Tree({b"": rules}, common + names)
    for rules in NESTED:
        yield Tree(rules, PATHS)


GIT = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


def output(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=60, **more).stdout.split(b"\0")[:-1]


def by_tree(paths, count):
    found = [set() for _ in range(count)]
    for path in paths:
        number, _, rest = path.partition(b"/")
        found[int(number)].add(rest)
    return found


def repository():
    shutil.rmtree(PLACE, ignore_errors=True)
    os.mkdir(PLACE)
    subprocess.run(["git", "init", "-q", PLACE], check=True, env=GIT, timeout=60)


def git_and_berth():
    return (output(["git", "-C", PLACE, "ls-files", "--others", "--exclude-standard", "-z"], env=GIT),
            output([BERTH, "files", "scan", "--root", PLACE, "--ignore", "--type", "f", "-0"]))


def judge(trees):
    """[(what git lists, what berth lists)...] of each tree."""
    found = []
    for at in range(0, len(trees), BATCH):
        repository()
        batch = trees[at:at + BATCH]
        for number, tree in enumerate(batch):
            top = os.path.join(PLACE.encode(), b"%d" % number)
            os.mkdir(top)
            tree.write(top)
        git, berth = git_and_berth()
        found += zip(by_tree(git, len(batch)), by_tree(berth, len(batch)))
    return found


def judge_at_top(tree):
    repository()
    tree.write(PLACE.encode())
    git, berth = git_and_berth()
    return set(git), set(berth)


def smaller(tree):
    """Trees that lack one thing."""
    for folder, text in tree.rules.items():
        yield Tree({key: value for key, value in tree.rules.items() if key != folder}, tree.names)
        lines = text.splitlines(keepends=True)
        for i in range(len(lines)):
            yield Tree({**tree.rules, folder: b"".join(lines[:i] + lines[i + 1:])}, tree.names)
    for i in range(len(tree.names)):
        yield Tree(tree.rules, tree.names[:i] + tree.names[i + 1:])
    if sum(map(len, tree.rules.values())) < 100:
        for folder, text in tree.rules.items():
            for i in range(len(text)):
                yield Tree({**tree.rules, folder: text[:i] + text[i + 1:]}, tree.names)


def without_meant(tree):
    return Tree({folder: b"".join(line for line in re.findall(rb"[^\n]*\n|[^\n]+", text) if not any(rule.fullmatch(line.rstrip(b"\n")) for rule, _ in MEANT))
                 for folder, text in tree.rules.items()}, tree.names)


def differing(trees):
    """The numbers of those on which the programs differ: though they are not meant to, and as they are meant to."""
    numbers = [i for i, (git, berth) in enumerate(judge(trees)) if git != berth]
    bad = [i for i, (git, berth) in zip(numbers, judge([without_meant(trees[i]) for i in numbers])) if git != berth]
    return bad, [i for i in numbers if i not in bad]


def shrink_tree(tree):
    (git, berth), = judge([tree])
    for name in sorted(git ^ berth, key=len):  # one name is enough, mostly
        alone = Tree(tree.rules, [name])
        if differing([alone])[0]:
            tree = alone
            break
    return shrink(tree, smaller, lambda trees: differing(trees)[0])


def report(what, trees):
    bad, meant = differing(trees)
    print(f"note oracle ignore, {what}: {len(trees)} inputs, {len(trees) - len(bad) - len(meant)} as git, {len(meant)} differ as they are meant to, {len(bad)} otherwise")
    for i in bad[:SHOWN]:
        tree = shrink_tree(trees[i])
        (git, berth), = judge([tree])
        print(f"# number {i}: {tree.rules}: git lists {sorted(git)}, berth {sorted(berth)}")
    print("not ok" if bad else "ok", f"{what} rule files ignore what git ignores")
    return bool(bad)


def report_at_top(trees):
    bad = 0
    for tree in trees:
        git, berth = judge_at_top(tree)
        if git != berth and differing([tree])[1] == []:
            bad += 1
            print(f"# {tree.rules}: git alone lists {sorted(git - berth)}, berth alone {sorted(berth - git)}")
    print("not ok" if bad else "ok", "at the top of a repository, too")
    return bool(bad)


def report_excludes(trees):
    """The lines of a rule file as so many --exclude: they leave out what git ignores."""
    bad = given = refused = 0
    for tree in trees:
        lines = tree.rules.get(b"", b"\0").split(b"\n")
        # What only a file can have: NUL bytes, a mark of editors, CR in front of the newline.
        if set(tree.rules) != {b""} or any(b"\0" in line or line.endswith(b"\r") for line in lines) or lines[0].startswith(b"\xef\xbb\xbf"):
            continue
        given += 1
        git, _ = judge_at_top(tree)
        done = subprocess.run([BERTH, "files", "scan", "--root", PLACE, "--type", "f", "-0", *(word for line in lines if line for word in (b"--exclude", line))], capture_output=True, check=False, timeout=60)
        if done.returncode == 2 and b"can match nothing" in done.stderr:  # which berth says of a pattern and not of a file
            refused += 1
            continue
        assert done.returncode == 0, done.stderr
        berth = done.stdout.split(b"\0")[:-1]
        if git != {path for path in berth if not path.startswith(b".git/")}:
            bad += 1
            print(f"# {lines}: git alone lists {sorted(git - set(berth))}, berth alone {sorted(path for path in set(berth) - git if not path.startswith(b'.git/'))}")
    print(f"note oracle ignore, --exclude: {given} inputs, {given - bad - refused} as git, {refused} refused as what can match nothing, {bad} otherwise")
    print("not ok" if bad else "ok", "lines given as --exclude leave out what git ignores")
    return bool(bad)


def main():
    on_own_mount()
    rng = random.Random(30)
    trees = [generated(rng) for _ in range(GENERATED)]
    if not shutil.which("git"):
        print("there is no git here")
        return 77
    for _, why in MEANT:
        print(f"note oracle ignore, meant to differ: {why}")
    failed = report("listed", list(listed()))
    failed |= report("generated", trees)
    failed |= report_at_top(trees[:TOPS])
    given = [*listed(), *trees[:200]][::8 if SHORT else 1]
    meant = differing(given)[1]
    failed |= report_excludes([tree for i, tree in enumerate(given) if i not in meant])
    shutil.rmtree(PLACE)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
