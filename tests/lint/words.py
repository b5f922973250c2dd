#!/usr/bin/env python3
# words.py - checks that words which read translated do not come back in texts that users see.
#
#   words.py          searches C string literals of backend/, tui/ and include/, configs/pages, the README and CONTRIBUTING
#
# words.allowed has one exception a line: FILE WORD: REASON.  It covers every use of the word in the file.
import os
import re
import subprocess
import sys

source = os.environ["SRC"]
words = {
    r"\bdeeds?\b": "operation",
    r"\banew\b": "again, or recreated",
    r"\b(is|are) told\b": "is reported, shown or printed",
    r"(?<!there )\b(is|are) no (?!longer\b|more\b)": "is not a",
    r"\bby itself\b": "automatically",
    r"\bat once\b": "immediately; of several: in parallel, at a time",
    r"\b(somebody|nobody)\b": "someone, another user, no one",
    r"\bbeside\b": "next to, or in addition to",
    r"\bof (ours|yours)\b": "our, your",
    r"\bspoken\b": "supported",
    r"\b(has|have) to be\b": "must be",
    r"\bmend(s|ed)?\b": "fix",
    r"\berrands?\b": "blocking task",
    r"\bstranger\b": "another user",
    r"\b(lies|stands) (in|there|beside)\b": "is in",
    r"(?:^|[:;,] )say (which|where|what|one|how|--)": "give, or use",
    r"\b(says|tells) (why|more|all|what|which)\b": "shows, lists, reports",
    r"\bthere is no such\b": "not found",
}
literal = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*\\?\n?\s*"(?:[^"\\\n]|\\.)*")*')
around = 24


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def texts(path):
    """(line, text) of what a user may see of a file"""
    with open(f"{source}/{path}", encoding="utf-8") as file:
        text = file.read()
    if not path.endswith((".c", ".h")):
        return [(1, re.sub(r"[ \t]*\n[ \t]*(?!\n)", lambda m: " \n"[m.group().count("\n") > 1], text))]
    text = re.sub(r"/\*.*?\*/|//[^\n\"]*$", blank, text, flags=re.S | re.M)
    return [(text.count("\n", 0, m.start()) + 1, "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', m.group())))
            for m in literal.finditer(text) if not text[:m.start()].rstrip().endswith("#include")]


def find(path):
    for line, text in texts(path):
        text = text.replace("\\n", " ").replace("\\t", " ")
        for word, instead in words.items():
            for m in re.finditer(word, text, re.I):
                yield line, text[max(0, m.start() - around):m.end() + around].strip(), m.group().strip(), instead


def read_allowed():
    allowed = {}
    with open(f"{source}/tests/lint/words.allowed", encoding="utf-8") as table:
        for line in table:
            if line.strip() and not line.startswith("#"):
                head, _, why = line.strip().partition(": ")
                path, _, word = head.partition(" ")
                allowed[path, word] = why
    return allowed


shell = '. "$SRC/tests/lib/sources.sh" && sources "backend/*.[ch]" "tui/*.[ch]" "include/*.h" "configs/pages/*.txt" README.md .github/CONTRIBUTING.md'
files = subprocess.run(["bash", "-c", shell], check=True, capture_output=True, text=True).stdout.split()
found = [(path, *hit) for path in files for hit in find(path)]
allowed = read_allowed()
seen = {(path, word.lower()) for path, _, _, word, _ in found}
bad = [f"{path}:{line}: \"{word}\" in \"{text}\": write {instead}" for path, line, text, word, instead in found if (path, word.lower()) not in allowed]
bad += [f"words.allowed: {path} has no \"{word}\" (any more): take the line out" for path, word in sorted(allowed.keys() - seen)]
bad += [f"words.allowed: {path} {word} lacks its reason" for (path, word), why in allowed.items() if len(why.split()) < 3]
print("not ok" if bad else "ok", "plain words in what users read")
for problem in bad:
    print("#", problem)
sys.exit(bool(bad))
