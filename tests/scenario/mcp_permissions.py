#!/usr/bin/env python3
"""mcp_permissions.py - `berth mcp`: who may delete and change what, the cases of MassGen's permission manager and file tracker.

The rules of single paths are in tests/unit/areas.c; here are the tools, on files, for one agent after the other.
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from mcp_client import Client, case, main  # noqa: E402

os.chdir(os.environ["TMPDIR"])
os.environ["XDG_STATE_HOME"] = os.path.join(os.getcwd(), "state")
os.umask(0o022)
TOP = os.path.join(os.getcwd(), "t")
WS, CTX, DOCS = (os.path.join(TOP, d) for d in ("ws", "ctx", "docs"))
NEAR = f"{TOP}/ws2"  # begins like the workspace


def team(name, ctx="write", read_first="true"):
    with open(name, "w", encoding="utf-8") as out:
        out.write(f"""agents:
  one:
    image: box:1
    workspace: {WS}
    read_before_delete: {read_first}
    context_paths:
      - {{path: {CTX}, permission: {ctx}, protected_paths: [{CTX}/kept, {CTX}/kept.txt]}}
      - {{path: {DOCS}}}
""")


def tree(*files):
    """A new tree with these files, and the directories of the agent."""
    shutil.rmtree(TOP, ignore_errors=True)
    for d in (WS, CTX, DOCS, NEAR, f"{CTX}/kept"):
        os.makedirs(d)
    for f in (f"{CTX}/kept.txt", f"{CTX}/kept/f", f"{DOCS}/f", f"{NEAR}/f", *(os.path.join(WS, f) for f in files)):
        os.makedirs(os.path.dirname(f), exist_ok=True)
        with open(f, "w", encoding="utf-8") as out:
            out.write("text\nmore\n")
    if os.getuid() == 0:
        subprocess.run(["chown", "-hR", "1000:1000", TOP], check=True)


for n, p in (("write.yaml", "write"), ("read.yaml", "read")):
    tree()
    team(n, p)
team("free.yaml", read_first="false")

# What is done first, what is then deleted, and whether that goes; paths are of the workspace.
READ, MANY = "read_text_file", "read_multiple_files"
TRACKED = (
    ("nothing was read", (), ["a"], False),
    ("it was read", ((READ, {"path": "a"}),), ["a"], True),
    ("it was read by another spelling", ((READ, {"path": f"{WS}/x/../a"}),), ["./a"], True),
    ("it was read as one of several", ((MANY, {"paths": ["a", "b"]}),), ["a", "b"], True),
    ("its first line was read", ((READ, {"path": "a", "head": 1}),), ["a"], True),
    ("none of its lines was read", ((READ, {"path": "a", "head": 0}),), ["a"], False),
    ("it was read as a medium", (("read_media_file", {"path": "a"}),), ["a"], True),
    ("it was compared", (("compare_files", {"file1": "a", "file2": "b"}),), ["a", "b"], True),
    ("it was written", (("write_file", {"path": "a", "content": "x"}),), ["a"], True),
    ("it is new", (("write_file", {"path": "new/deep", "content": "x"}),), ["new/deep"], True),
    ("it was written as one of several", (("write_multiple_files", {"files": [{"path": "a", "content": "x"}, {"path": "d/new", "content": "x"}]}),), ["a", "d/new"], True),
    ("it was edited", (("edit_file", {"path": "a", "edits": [{"oldText": "text", "newText": "x"}]}),), ["a"], True),
    ("it was only listed", (("list_directory", {"path": "."}), ("directory_tree", {"path": "."}), ("scan_directory", {"path": "."})), ["a"], False),
    ("it was only searched", (("search_text", {"path": ".", "pattern": "text"}), ("search_files", {"path": ".", "pattern": "a"})), ["a"], False),
    ("it was only looked at", (("get_file_info", {"path": "a"}),), ["a"], False),
    ("another was read", ((READ, {"path": "b"}),), ["a"], False),
    ("one of a batch was not read", ((READ, {"path": "a"}),), ["a", "b"], False),
    ("one of a batch is not there", ((READ, {"path": "a"}),), ["a", "none"], False),
    ("a batch was read", ((READ, {"path": "a"}), (READ, {"path": "b"})), ["a", "b"], True),
    ("a name that begins like it was read", ((READ, {"path": "ab"}),), ["a"], False),
    ("a name that it begins with was read", ((READ, {"path": "a"}),), ["ab"], False),
    ("the same name in other letters was read", ((READ, {"path": "A"}),), ["a"], False),
    ("the same name elsewhere was read", ((READ, {"path": "d/a"}),), ["a"], False),
    ("what was built is a file as any", (), ["build/a"], False),
    ("what was packed is a file as any", (), ["dist/a"], False),
    ("what was compiled is a file as any", (), ["m.pyc"], False),
    ("a file of a framework is a file as any", (), ["notes.next"], False),
    ("a directory of which nothing was read", (), ["d"], False),
    ("a directory of which one was read", ((READ, {"path": "d/a"}),), ["d"], False),
    ("a directory of which all were read", ((MANY, {"paths": ["d/a", "d/e/a"]}),), ["d"], True),
    ("a directory with a slash behind it", ((MANY, {"paths": ["d/a", "d/e/a"]}),), ["d/"], True),
    ("a directory that begins like one that was read", ((MANY, {"paths": ["d/a", "d/e/a"]}),), ["dd"], False),
    ("a directory that was made", (("create_directory", {"path": "made"}),), ["made"], True),
    ("a directory and a file in it", ((MANY, {"paths": ["d/a", "d/e/a", "a"]}),), ["a", "d"], True),
    ("it was moved here unread", (("move_file", {"source": "a", "destination": "moved"}),), ["moved"], False),
    ("it was copied here unread", (("copy_files", {"source": "a", "destination": "copied"}),), ["copied"], False),
)
FILES = ("a", "A", "b", "ab", "d/a", "d/e/a", "dd/a", "build/a", "dist/a", "m.pyc", "notes.next")


def seen():
    return sorted(os.path.join(d, f) for d, _, files in os.walk(WS) for f in files if "/.berth" not in d)


@case("only what was read or written is deleted, and of a batch all or nothing")
def _():
    for what, first, paths, may in TRACKED:
        tree(*FILES)
        with Client("write.yaml") as c:
            for tool, arguments in first:
                c.call(tool, **arguments)
            before = seen()
            if may:
                c.call("delete_files", paths=paths, recursive=True)
                assert not any(os.path.lexists(os.path.join(WS, p)) for p in paths), what
            else:
                got = c.ask("tools/call", name="delete_files", arguments={"paths": paths, "recursive": True})
                assert got["result"].get("isError"), (what, got)
                assert seen() == before, what


@case("a read that failed, and one of another session, is none")
def _():
    tree("a", "b")
    os.chmod(f"{WS}/b", 0)
    with Client("write.yaml") as c, Client("write.yaml") as other:
        other.call(READ, path="a")
        if os.getuid() == 0:
            assert c.fails(READ, path="b")
            assert c.call(MANY, paths=["b"]).startswith("b: Error")
            assert "has not been read" in c.fails("delete_files", paths=["b"])
        assert c.fails(READ, path="a", head=1, tail=1)
        assert "has not been read" in c.fails("delete_files", paths=["a"])
        other.call("delete_files", paths=["a"])


@case("a batch names how many were not read, and three of them")
def _():
    tree(*(f"d/{n}" for n in range(7)))
    with Client("write.yaml") as c:
        c.call(READ, path="d/0")
        told = c.fails("delete_files", paths=["d"], recursive=True)
        assert "6 files" in told and told.count(f"{WS}/d/") == 3 and f"{WS}/d/0" not in told, told


@case("without the rule what was not read goes")
def _():
    tree(*FILES)
    with Client("free.yaml") as c:
        c.call("delete_files", paths=list(FILES[:4]) + ["d", "build"], recursive=True)
        assert "recursive" in c.fails("delete_files", paths=["dd"])


def tries(c, path, source="own"):
    """How many of the tools that change a path take it, as a file's name."""
    calls = (("write_file", {"path": path, "content": "x"}), ("write_multiple_files", {"files": [{"path": path, "content": "x"}]}),
             ("edit_file", {"path": path, "edits": [{"oldText": "text", "newText": "x"}]}),
             ("copy_files", {"source": source, "destination": path, "overwrite": True}), ("move_file", {"source": source, "destination": path}),
             ("move_file", {"source": path, "destination": "taken"}), ("delete_files", {"paths": [path], "recursive": True}))
    return sum(not c.ask("tools/call", name=tool, arguments=arguments)["result"].get("isError") for tool, arguments in calls)


@case("a context path is changed only where it is granted so, never what is protected in it, excluded, or beside it")
def _():
    excluded = [f"{CTX}/{n}/f" for n in (".massgen", ".git", "node_modules", "__pycache__", ".venv", "venv", ".pytest_cache", ".mypy_cache",
                                         ".ruff_cache", "massgen_logs", "deep/node_modules/x", "deep/.git")] + [f"{CTX}/.env", f"{CTX}/.DS_Store", f"{CTX}/deep/.env"]
    never = [f"{DOCS}/f", f"{DOCS}/new", f"{NEAR}/f", f"{NEAR}/new", f"{CTX}/kept/f", f"{CTX}/kept/new", f"{CTX}/kept.txt", f"{CTX}/kept/", f"{TOP}/CTX/new",
             f"{CTX}/../docs/f", f"{WS}/../ws2/f", f"{TOP}/ctx2/new", f"{TOP}/new", CTX, f"{CTX}/", WS, "/etc/passwd", *excluded]
    often = [f"{CTX}/{n}" for n in ("new", "keptx", "kept.txt2", "KEPT", "Kept.txt", "deep/new", ".gitignore", ".env.example", "node_modules2", "build/a")]
    for name, may in (("write.yaml", True), ("read.yaml", False)):
        tree("own")
        for path in excluded:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as out:
                out.write("text\nmore\n")
        subprocess.run(["chown", "-hR", f"{1000 if os.getuid() == 0 else os.getuid()}", TOP], check=True)
        before = {}
        for d, _, files in os.walk(TOP):
            for f in files:
                with open(os.path.join(d, f), encoding="utf-8") as text:
                    before[os.path.join(d, f)] = text.read()
        with Client(name) as c:
            for path in never + ([] if may else often):
                assert tries(c, path) == 0, (name, path)
            for d, text in before.items():
                with open(d, encoding="utf-8") as now:
                    assert now.read() == text, d
            for path in often if may else []:
                c.call("write_file", path=path, content="x")
                c.call("delete_files", paths=[path])
            for path in (f"{CTX}/kept/f", f"{CTX}/kept.txt", f"{DOCS}/f", f"{CTX}/.env"):
                assert c.call(READ, path=path) == "text\nmore\n"
            for path in (f"{NEAR}/f", f"{TOP}/WS/own", "/etc/passwd"):
                assert "outside" in c.fails(READ, path=path)
            # In the workspace these names are the agent's own.
            for path in (".git/config", "node_modules/x", ".env"):
                c.call("write_file", path=path, content="x")
                c.call("delete_files", paths=[path])


main()
