#!/usr/bin/python3
"""dockerignore.py - what berth image build leaves out of a context, against what the docker command sends: listed and generated .dockerignore files."""
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../lib"), os.path.join(HERE, "../scenario")]
import oracle  # noqa: E402
from scenario import BERTH, Fake  # noqa: E402

SHORT, SOAK = os.environ.get("BERTH_TEST_CHANGED"), os.environ.get("BERTH_SOAK")
GENERATED = 40 if SHORT else 5000 if SOAK else 150  # two processes each
PLACE = os.path.join(os.environ["TMPDIR"], "contexts")
DONE = [{"stream": "Step 1/1 : FROM box:1\n"}, {"aux": {"ID": "sha256:" + "ab" * 32}}, {"stream": "Successfully built abab\n"}]

# The tree of every context.  What a rule of letters may name is there.
NAMES = ["a", "b", "ab", "a b", "x.log", "y.md", "README.md", ".hidden", "d/a", "d/b", "d/x.log", "d/e/a", "d/e/x.log", "d/e/f/a", "foo/bar", "foo/d/bar", "foobar", "src/a.js", "src/d/a.js", "srcx/a.js", "d2/Dockerfile", "build/x",
         "d/build/x", "x\ny/a.log", "a]", "]", " a", "a ", "^a", "[a]", "*", "?", "!a", "#a", "\\", "-", "^", "9", "Z", "\u00e9", "\u00e9.log", "a\tb", ":", "deep/1/2/3/4/x"]
EMPTY = ["none", "d/none"]

LISTED = [rules.encode() for rules in (
    "", "\n\n", "a", "a\n", "/a", "./a", "a/", "//a", "a//b", "d/", "d", "/d/", "d/*", "d/**", "d/e", "d/../a", "../a", ".", "/", "*", "**", "***", "*/", "**/", "*.log", "**/*.log", "**/x.log", "*/x.log", "*/*/x.log", "d/*.log", "d/**/x.log",
    "**/d", "**/d/**", "**/e/**", "d/**/a", "foo/**/bar", "foo/bar", "foo*", "foo**", "**foo", "**bar", "**/bar", "src/**", "src/*", "src*/a.js", "s?c/a.js", "?", "??", "[ab]", "[^ab]", "[!a]", "[a-c]", "[\\]]", "[]a]", "[a", "a[", "[", "[]",
    "\\a", "\\*", "\\?", "\\[a\\]", "\\\\", "a\\", "\\!a", "\\#a", "#a", " #a", "a #b", "a b", "a\\ b", " a", "a ", "\ta", "a\r\n", "a\r\nb\r\n", "\ufeffa", "\ufeff#a\na", "\ufeff!a", "!a", "!", "! a", "a\n!a", "!a\na", "*\n!a", "*\n!d", "*\n!d/a",
    "*\n!d/e/a", "*\n!d/e", "*\n!d/**", "**\n!d", "**\n!**/a", "**\n!d/e/f", "**\n!*.md", "*.md\n!README.md", "*.md\n!README*\nREADME.md", "d\n!d/a", "d/*\n!d/e", "d\n!d/none", "*\n!none", "d/**\n!d/e/a", "**/a\n!d/a\nd/a", "*\n!*/\n!*/*/", "a\n\n\nb", "a\0b",
    "Dockerfile", "*\n!Dockerfile", ".dockerignore", "Dockerfile\n.dockerignore", "**/Dockerfile", "d2\n!d2/Dockerfile", "\u00e9", "?.log", "[\u00e0-\u00ff]", "a\tb", "a?b", ":", "(a|b)", "a+", "{a,b}", "^", "[^]", "-", "$", "deep/**/4", "deep/*/2", "none", "d/none", "**/none",
    "a/**/../b", "d/./e", "d/e/..", "*/../a", "../../a", "/../a", "!../a\na", "[a-]", "[-a]", "[z-a]", "[a\\-c]", "**/**/a", "**/*/a", "*/**", "d/***/a", "a**", "d**/a", "**d/a", "d/e**", "x.*", ".*", "*.*",
    # White space.
    "\x0ba", "a\x0c", "\u00a0a", "a\u0085", "\u2003a\u3000 \u1680", "\u2028a\u2029", "a\u200b", "\u00a0\na", "\u00a0#a", "*\n!\u00a0a\u202f", "/ a", "a /", "*\n!a /", "*\n!/ a", "/\u00a0a", "./!a", "*\n./!a", "*\n/!d", "!/", "./!", "! /", "a\n!.",
    # Sets.
    "[[:alpha:]]", "[^[:alpha:]]", "[[:^alpha:]]", "[[:digit:]a]", "[[:upper:][:digit:]-]", "[[:foo:]]", "[[::]", "[[:alpha:]", "[[:a]", "[[:a]b:]", "[[:alpha:]-a]", "[[:alpha:][-x]]", "[[.a.]]", "[[=a=]]", "[a-[:digit:]]", "[[:word:]].*", "a]", "]", "[a]]", "*]",
    # Where the regular expression is something else than the pattern.
    "[a*]", "[?]", "[a?]", "\\d", "src\\a.js", "[\\d]", "[a-\\z]", "\\\u00e9", "^*", "*^a", "a^?", "^a", "**/^a", "^a**", "\\^*", "b\n\ufeff*.log", "b\n\ufeffa", "**/*.log", "**/a.log", "x**", "?**", "*.log", "*\n!**/*.log",
    # What a line did to the directory above.
    "d/a\n!d", "d\n!d/e\nd", "d/e/a\n!d", "**/x.log\n!d", "**/x.log\n!d/e", "*\n!d\nd/e/f\n!d/e", "d/e\n!d\nd/e/a", "!d\nd/a", "*\n!d\nd/a\n!d/a", "d/**\n!d/e\nd/e/a\n!d/e")]
LISTED += [b"\xff", b"\xff*", b"a\xa0", b"\xa0a\x85", b"[\xff]", b"[^\xff]", b"\xc2", b"*\n!\xe2\x80a"]

PARTS = ["a", "b", "d", "e", "foo", "bar", "x.log", "src", "*", "*", "?", "**", "[ab]", "[^a]", "[a-f]", "[[:alpha:]]", "\\*", ".", "..", "*.log", "a*", "?oo", "**.log", "d2", ".hidden", "\u00e9", "build", "none", "x"]


def generated(rng):
    lines = []
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        path = "/".join("".join(rng.choice(PARTS) for _ in range(rng.choice((1, 1, 1, 2)))) for _ in range(rng.choice((1, 1, 2, 2, 3, 4))))
        lines.append(rng.choice(("", "", "", "!", "!", "/", "./", " ", "! ")) + path + rng.choice(("", "", "", "", "/", "/*", "/**", " ", "//", " /", "\u00a0")))
        if rng.random() < 0.1:
            lines.append(rng.choice(("", "# comment", "   ", "#", "*", "**")))
    end = rng.choice(("\n", "\n", "\n", "\r\n"))
    return (rng.choice(("",) * 9 + ("\ufeff",)) + end.join(lines) + rng.choice((end, ""))).encode()


def make(context, rules):
    shutil.copytree(os.path.join(PLACE, "tree"), context)
    with open(os.path.join(context, ".dockerignore"), "wb") as file:
        file.write(rules)


ONLY_DOCKER = "only docker takes the rules"


def refused(pattern, why):
    """What berth refuses, with a sentence: docker leaves out something else than the line says."""
    return lambda rules, differs: differs == ONLY_DOCKER and re.search(pattern, rules, re.MULTILINE), why


# Where berth is meant to differ, and why.
MEANT = [
    refused(rb"\0", "berth refuses rules that hold NUL bytes"),
    refused(rb"\\[a-zA-Z0-9]", "docker hands \\ and a letter to its regular expressions, where \\d is a digit; so it does Windows' separators"),
    refused(rb"\[[^\]\n]*[*?]", "docker's conversion puts a set of its own in the place of a * or ? within [ ]"),
    refused(rb"[^\[\n]\^.*|^\^.*[]*?[\\]", "for docker's regular expressions a ^ next to wildcards is the beginning of the path"),
    refused(rb"\n\xef\xbb\xbf", "docker drops a byte order mark only from patterns that become regular expressions; elsewhere nothing is left out"),
    (lambda rules, differs: re.search(rb"^!.*[*?[]", rules, re.MULTILINE) and differs.startswith("docker alone sends [],"),
     "docker's older builder does not enter what is left out for a rule with ! and a pattern, though its reference says so and BuildKit does"),
]


def differ(inputs):
    """What each sends; None of who refuses the rules."""
    shutil.rmtree(PLACE, ignore_errors=True)
    for name in (*NAMES, "Dockerfile"):
        path = os.path.join(PLACE, "tree", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(b"FROM box:1\n")
    for name in EMPTY:
        os.mkdir(os.path.join(PLACE, "tree", name))
    with Fake(stream=DONE) as fake:
        programs = {"berth": [BERTH, "-H", fake.url, "image", "build"], "docker": ["env", "DOCKER_BUILDKIT=0", "DOCKER_API_VERSION=1.41", "docker", "-H", fake.url, "build"]}

        def one(n):
            context = os.path.join(PLACE, str(n))
            make(context, inputs[n])
            for name, words in programs.items():
                done = subprocess.run([*words, "-t", f"{name}:{n}", context], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, timeout=120)
                assert done.returncode in (0, 1, 2), (name, inputs[n], done.stderr)
            shutil.rmtree(context)
        with concurrent.futures.ThreadPoolExecutor(oracle.CORES) as pool:
            list(pool.map(one, range(len(inputs))))
        sent = {image: set(names) - {"", "."} for image, names in fake.door("contexts")}
    found = []
    for n in range(len(inputs)):
        berth, docker = (sent.get(f"{name}:{n}") for name in ("berth", "docker"))
        if berth == docker:
            found.append(None)
        elif berth is None or docker is None:
            found.append(ONLY_DOCKER if berth is None else "only berth takes the rules")
        else:
            found.append(f"docker alone sends {sorted(docker - berth)}, berth alone {sorted(berth - docker)}")
    return found


def main():
    if not shutil.which("docker"):
        print("there is no docker here")
        return 77
    version = subprocess.run(["docker", "--version"], stdout=subprocess.PIPE, check=True, timeout=60).stdout.decode()
    if int(re.search(r"\d+", version)[0]) < 23:
        print(f"docker before 23.0 has other rules, and here is {version.strip()}")
        return 77
    rng = random.Random(36)
    return int(oracle.check("dockerignore", LISTED + [generated(rng) for _ in range(GENERATED)], differ, MEANT, "docker"))


if __name__ == "__main__":
    sys.exit(main())
