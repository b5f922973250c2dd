#!/usr/bin/env python3
# pages.py - the pages for people who work on berth, and the floor plan in tui/main.c, name what exists: every path, and
# every folder of their part.
import os
import re
import subprocess
import sys

source = os.environ["SRC"]
# Page: the folder whose parts it lists, or None.
pages = {"README.md": None, ".github/CONTRIBUTING.md": None, "backend/README.md": "backend", "tui/README.md": "tui",
         "tests/README.md": "tests", "bench/README.md": "bench",
         "tui/main.c": None}
top = ("include", "backend", "tui", "bench", "tests", "themes", "configs", ".github", ".ci")
failed = 0


def named(text):
    """The paths that a page names: links, what stands in backquotes, and words that begin as paths of ours do."""
    words = re.findall(r"\]\(([^)#:]+)\)", text)
    words += [w for w in re.findall(r"`([^`\s]+)`", text) if re.search(r"/|\.(c|h|sh|py|ya?ml|json|md|txt)$", w)]
    words += re.findall(rf"(?<![\w./$~-])((?:{'|'.join(map(re.escape, top))})/[\w./-]*\w/?)", text)
    words += re.findall(r"(?<![\w./~-])([\w-]+(?:/[\w.-]+)+\.[ch])\b", text)
    return sorted({w for w in words if re.fullmatch(r"[\w./-]+", w) and not w.startswith("/") and not re.search(r"\b[A-Z]{4,}\b(?!\.md|$)", w)})


def exists(page, path):
    where = ("", os.path.dirname(page), "tui/programs")
    found = [p for p in (os.path.join(source, folder, path) for folder in where) if os.path.exists(p)]
    return any(os.path.isdir(p) or not path.endswith("/") for p in found)


def report(name, problems):
    global failed
    print("not ok" if problems else "ok", name)
    for problem in problems:
        print("#", problem)
        failed = 1


tracked = subprocess.run(["bash", "-c", '. "$SRC/tests/lib/sources.sh" && sources'], check=True, capture_output=True,
                         text=True).stdout.splitlines()
for page, part in pages.items():
    with open(f"{source}/{page}", encoding="utf-8") as file:
        text = file.read()
    if page.endswith(".c"):
        text = text[:text.index("*/")]
    paths = named(text)
    problems = [f"{page}: there is no {path}" for path in paths if not exists(page, path)]
    if part:
        folders = {f.split("/")[1] for f in tracked if f.startswith(f"{part}/") and f.count("/") > 1}
        problems += [f"{page}: says nothing of {part}/{folder}" for folder in sorted(folders) if f"| `{folder}/`" not in text]
    report(f"{page} names what there is", problems if paths else [f"{page}: names nothing"])
sys.exit(failed)
