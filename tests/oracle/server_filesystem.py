#!/usr/bin/python3
"""server_filesystem.py - berth's file tools against @modelcontextprotocol/server-filesystem, which agents know: each call on two trees that are the same."""
import collections
import json
import os
import random
import re
import shutil
import stat
import subprocess
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import oracle  # noqa: E402
from npm import install  # noqa: E402

VERSION = "2026.8.31"
TMPDIR = os.environ["TMPDIR"]
GENERATED = 60 if os.environ.get("BERTH_TEST_CHANGED") else 5000 if os.environ.get("BERTH_SOAK") else 150  # of each kind
PATIENCE = 60
PROTOCOL = "2025-06-18"

Case = collections.namedtuple("Case", "tool arguments content", defaults=(None,))  # content: of the file "f"


class Server:
    """A server on a tree of its own."""

    def __init__(self, root, argv):
        self.root, self.last = root, 0
        self.program = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.ask("initialize", protocolVersion=PROTOCOL, capabilities={}, clientInfo={"name": "test", "version": "1"})
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def say(self, message):
        self.program.stdin.write(json.dumps(message).encode() + b"\n")
        self.program.stdin.flush()

    def ask(self, method, **params):
        self.last += 1
        self.say({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while True:
            message = json.loads(self.program.stdout.readline())
            if message.get("id") == self.last and "method" not in message:
                return message

    def call(self, tool, arguments):
        """(text, None, whether structuredContent is the same) or (None, why not, None); the text of what is no text is JSON."""
        answer = self.ask("tools/call", name=tool, arguments=arguments)
        if "error" in answer:
            return None, answer["error"]["message"], None
        result = answer["result"]
        text = "".join(block["text"] if block["type"] == "text" else json.dumps(block) for block in result["content"])
        if result.get("isError"):
            return None, text, None
        return text, None, result["structuredContent"] == {"content": text if result["content"][0]["type"] == "text" else result["content"]}

    def end(self):
        self.program.stdin.close()
        self.program.wait(PATIENCE)


# -- the trees

FILES = {"a.c": b"a\n", "a.h": b"", "b.js": b"x\n" * 100, ".hidden.c": b"h\n", "README.md": b"# r\n", "src/a.c": b"int a;\n", "src/b.js": b"b\n", "src/d/a.c": b"a\n", "src/d/e/b.js": b"b\n", "src/d/e/f/g.txt": b"g\n",
         "lib/a.c": b"a\n", "lib/src/a.c": b"a\n", "build/x.log": b"x\n", "d/build/x": b"x\n", "node_modules/m/index.js": b"m\n", ".git/config": b"c\n", "a b": b"blank\n", "[a]": b"b\n", "{a,b}": b"b\n", "\u00e9.txt": b"e\n",
         "-": b"-\n", "#a": b"#\n", "!a": b"!\n", "crlf": b"a\r\nb\r\nc\r\n", "nul": b"a\0b\n", "latin": b"caf\xe9\n", "none": b"", "last": b"a\nb", "empty/keep": None, "tool.sh": b"#!/bin/sh\n"}
LINKS = {"to_a": "a.c", "to_src": "src", "nowhere": "gone", "outside": "/etc/hostname"}


def build(root):
    os.makedirs(root, exist_ok=True)
    for entry in os.scandir(root):  # the directory itself stays: servers hold it open
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.remove(entry.path)
    for name, content in FILES.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
    for name, target in LINKS.items():
        os.symlink(target, os.path.join(root, name))
    os.chmod(os.path.join(root, "tool.sh"), 0o750)
    if os.getuid() == 0:
        for folder, folders, names in os.walk(root):
            for name in [".", *folders, *names]:
                os.chown(os.path.join(folder, name), 1000, 1000, follow_symlinks=False)


def state(root):
    """{path: its mode and bytes, where it leads, or None for a directory}."""
    found = {}
    for folder, folders, names in os.walk(root):
        for name in folders + names:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                found[os.path.relpath(path, root)] = os.readlink(path)
            elif os.path.isdir(path):
                found[os.path.relpath(path, root)] = None
            else:
                with open(path, "rb") as file:
                    found[os.path.relpath(path, root)] = (stat.S_IMODE(os.stat(path).st_mode), file.read())
    return found


# -- what is compared

def sorted_tree(entries):
    return sorted([entry["name"], entry["type"], sorted_tree(entry["children"]) if "children" in entry else None] for entry in entries)


def size_words(n):
    """As npm writes a size; berth writes the number of bytes."""
    unit = 0
    while n >= 1024 ** (unit + 1):
        unit += 1
    return f"{n / 1024 ** unit:.2f} {'BKMGT'[unit]}B" if unit else f"{n} B"


def sizes(text, case):
    """[(what, name, size)...] in their order, as far as that is asked for, and the totals."""
    lines = [re.sub(r"(\d+) bytes$", lambda n: size_words(int(n[1])), line) for line in text.split("\n")]
    entries = [list(re.fullmatch(r"\[(DIR|FILE)\] (.*?) *((?:[\d.]+ [KMGT]?B)?)", line).groups()) for line in lines if line.startswith("[")]
    if case.arguments.get("sortBy") != "size":
        return entries, lines[-2:]
    files = [entry for entry in entries if entry[0] == "FILE"]  # npm sorts directories in between, by a size that it does not show
    return [entry[2] for entry in files], sorted(entries), lines[-2:]


def media(text, server):
    block = json.loads(text)
    resource = block.get("resource")
    if resource:
        resource["uri"] = urllib.parse.unquote(resource["uri"]).replace(server.root + "/", "")
    return block


def meaning(server, case, text):
    """What an answer says, in a form that both have."""
    if case.tool == "read_multiple_files":
        return re.sub(r": Error - .*", ": Error", text.replace(server.root + "/", ""))
    if case.tool == "read_media_file":
        return media(text, server)
    if case.tool == "list_directory_with_sizes":
        return sizes(text, case)
    if case.tool in ("list_directory", "search_files"):
        return sorted(text.replace(server.root + "/", "").split("\n"))
    if case.tool == "directory_tree":
        return sorted_tree(json.loads(text))
    if case.tool == "get_file_info":
        found = dict(line.split(": ", 1) for line in text.split("\n"))
        return {key: found[key] for key in ("size", "isDirectory", "isFile", "permissions")}
    return text if case.tool in ("read_text_file", "read_file") else ""


CHANGES = ("move_file", "write_file", "create_directory")


class Both:
    def __init__(self, npm, berth):
        self.servers = [npm, berth]

    def run(self, case):
        """[(meaning or None, why not, the file or the tree, whether structuredContent is the same)...]; the trees are as before when it ends."""
        found = []
        for server in self.servers:
            path = os.path.join(server.root, "f")
            if case.content is not None:
                with open(path, "wb") as file:
                    file.write(case.content)
                if os.getuid() == 0:
                    os.chown(path, 1000, 1000)
            def own(value, root=server.root):
                return value.replace("ROOT", root) if isinstance(value, str) else [own(v) for v in value] if isinstance(value, list) else value

            text, why, same = server.call(case.tool, {key: own(value) for key, value in case.arguments.items()})
            after = None
            if case.tool == "edit_file":
                with open(path, "rb") as file:
                    after = file.read()
            elif case.tool in CHANGES:
                after = state(server.root)
                build(server.root)
            if case.content is not None and os.path.exists(path):
                os.remove(path)
            found.append((None if text is None else meaning(server, case, text), why, after, same))
        return found

    def differ(self, case):
        """(npm's, berth's) where they differ; None."""
        npm, berth = self.run(case)
        if case.tool == "read_text_file" and npm[0] is not None and berth[0] is not None and ("head" in case.arguments or "tail" in case.arguments):
            npm, berth = self.lines(case, npm, berth)
        return None if (npm[0], *npm[2:]) == (berth[0], *berth[2:]) else (npm, berth)

    def lines(self, case, npm, berth):
        """npm gives the first lines without the end of the last; of the last ones the nothing behind the end of a file is one to it: ask it for one more."""
        tail = case.arguments.get("tail")
        if not tail:
            return npm, (berth[0].removesuffix("\n"), *berth[1:])
        if tail > 0 and case.content and case.content.endswith(b"\n"):
            npm = self.run(case._replace(arguments={**case.arguments, "tail": tail + 1}))[0]
        return npm, berth


# -- where berth is meant to differ, and why

def edits(case):
    return case.arguments["edits"]


def said(sentence, *tools):
    return lambda case, npm, berth: case.tool in tools and berth[1] and npm[1] is None and re.search(sentence, berth[1])


def words(content):
    return [line.strip() for line in content.replace(b"\r", b"").split(b"\n") if line.strip()]


def is_fuzzy(case):
    return case.tool == "edit_file" and any(edit["oldText"].encode() not in case.content.replace(b"\r\n", b"\n") for edit in edits(case))


MEANT = [
    (said(r"occurs \d+ times", "edit_file"), "an edit whose old text is there several times: npm changes the first, berth says where they are"),
    (said("only part of a longer word", "edit_file"), "old text that is part of a word: npm changes the word, berth refuses"),
    (said("leading whitespace|another indentation", "edit_file"), "old lines with other blanks: berth refuses where it cannot tell how far the new ones are to be indented"),
    (lambda case, npm, berth: is_fuzzy(case) and npm[2] and berth[2] and words(npm[2]) == words(berth[2]), "old lines with other blanks: npm loses the indentation of lines, berth shifts all of them"),
    (lambda case, npm, berth: said("Could not find exact match", "edit_file")(case, npm, berth) and any(not edit["oldText"].strip() for edit in edits(case)), "old lines of other blanks alone: npm takes the first empty line, berth finds none"),
    (said("different line ends", "edit_file"), "lines that end differently: berth does not choose"),
    (said('"(oldText|edits)" is empty', "edit_file"), "npm takes an empty old text for the beginning of the file, and no edits for done"),
    (lambda case, npm, berth: case.tool == "edit_file" and b"\r\n" in case.content and npm[2] == (berth[2] or b"").replace(b"\r\n", b"\n"), "npm makes LF of all CR LF in a file, berth keeps them"),
    (lambda case, npm, berth: is_fuzzy(case) and npm[1] and not berth[1], "berth finds the last old line with its end where the file has none, and npm does not"),
    (said("is not a text file|UTF-16", "edit_file", "read_text_file", "read_file"), "berth does not take what holds NUL bytes for text"),
    (lambda case, npm, berth: case.tool in ("edit_file", "read_text_file", "read_file") and not is_utf8(case), "npm puts U+FFFD for bytes that are not UTF-8, into the file, too; berth keeps them"),
    (lambda case, npm, berth: case.tool == "read_text_file" and "tail" in case.arguments and case.content and b"\r\n" in case.content and npm[0] == (berth[0] or "").replace("\r\n", "\n"), "the last lines of a file lose their CR in npm's answer"),
    (lambda case, npm, berth: case.tool == "read_text_file" and any(case.arguments.get(key, 1) < 1 or case.arguments.get(key, 1) % 1 for key in ("head", "tail")), "npm takes 0 lines for all, and others than counts"),
    (lambda case, npm, berth: case.tool == "search_files" and "/" not in case.arguments["pattern"].removeprefix("!"), "a pattern without a slash: npm looks in the top directory alone, berth everywhere, as .gitignore and rg do"),
    (lambda case, npm, berth: any("/" not in pattern for pattern in case.arguments.get("excludePatterns", [])), "what is excluded: berth reads lines of .gitignore"),
    (lambda case, npm, berth: case.tool == "search_files" and berth[0] and npm[0] and set(berth[0]) ^ set(npm[0]) <= {"outside", "nowhere", "No matches found"}, "npm leaves out links that lead out of the tree or nowhere; berth names them"),
    (lambda case, npm, berth: case.tool == "search_files" and re.match(r"[!#/]|\./", case.arguments["pattern"]), "a pattern that begins with !, # or / means in berth what it means in .gitignore; ./ changes nothing"),
    (lambda case, npm, berth: case.tool == "search_files" and case.arguments["pattern"].endswith("/"), "a pattern that ends with a slash: npm finds nothing silently, berth says what to write"),
    (lambda case, npm, berth: case.tool == "search_files" and "***" in case.arguments["pattern"], "*** alone between slashes is ** to berth, as to git, and * to npm"),
    (lambda case, npm, berth: case.tool == "search_files" and "+(" in case.arguments["pattern"], "npm knows +(a|b)"),
    (lambda case, npm, berth: case.tool == "search_files" and "[" in case.arguments["pattern"] and berth[0] and npm[0] and set(npm[0]) - set(berth[0]) == {"\u00e9.txt"}, "a set holds bytes in berth, as in git"),
    (lambda case, npm, berth: case.tool in ("get_file_info", "move_file") and (case.arguments.get("path") or case.arguments.get("source")) in LINKS, "npm follows a link to its target, and reports and moves that; berth reports and moves the link"),
    (said("A path is empty", "list_directory", "list_directory_with_sizes", "directory_tree", "get_file_info", "create_directory"), "for npm an empty path is the top"),
    (said("is a symbolic link", "write_file"), "npm writes what a link leads to, berth says that it is one"),
    (lambda case, npm, berth: case.tool in ("write_file", "create_directory") and re.search("Parent directory does not exist|ENOENT", npm[1] or "") and not berth[1], "npm wants the parent directory to exist, berth makes it"),
    (lambda case, npm, berth: case.tool == "read_media_file" and {case.arguments["path"], os.path.dirname(case.arguments["path"])} & {*LINKS} and npm[0] and berth[0] and {**npm[0]["resource"], "uri": 0} == {**berth[0]["resource"], "uri": 0}, "npm gives the URI of what a link leads to, berth that of the path"),
    (lambda case, npm, berth: case.tool == "read_media_file" and npm[0] == berth[0] and not berth[3], "npm's structuredContent holds the data once more, berth's does not: it would double the answer"),
    (lambda case, npm, berth: case.tool == "read_multiple_files" and npm[0] and berth[0] and any("\0" in text or "\ufffd" in text for text in (npm[0], berth[0])), "of many files, too: what holds NUL bytes is no text to berth, and of what is not UTF-8 it says so"),
    (lambda case, npm, berth: case.tool == "list_directory_with_sizes" and npm[0] and berth[0] and {entry[1] for entry in npm[0][-2]} == {entry[1] for entry in berth[0][-2]} and {*LINKS} & {entry[1] for entry in npm[0][-2]}, "npm gives the size of what a link leads to, berth that of the link; by name npm sorts as people do, berth by bytes"),
]


def is_utf8(case):
    content = case.content if case.content is not None else FILES.get(case.arguments["path"]) or b""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


# -- cases

def edit(content, *pairs, **more):
    return Case("edit_file", {"path": "f", "edits": [{"oldText": old, "newText": new} for old, new in pairs], **more}, content)


PATHS = [*FILES, *LINKS, "", ".", "./a.c", "ROOT", "ROOT/a.c", "src/", "src/../a.c", "src//a.c", "to_src/a.c", "empty", "gone", "gone/x", "a.c/x", "..", "../x", "/etc/hostname", "/", "~", "to_src", "src/d/../d"]
PATTERNS = ["**/*.c", "src/**", "src/**/*.c", "**/a.c", "*/a.c", "**/*.{c,js}", "{src,lib}/*.c", "{src,lib}/**/*.c", "src/?.c", "src/[ab].*", "src/[!a].*", "**/d/**", "**/d", "**/src/*", "**/*", "*/*", "*/*/*", "**/.*", "**/.*/*",
            "**/a*", "src/d/e/f/g.txt", "gone/*", "**/x", "**/\u00e9*", "**/[[]a]", "**/{[a],x}", "**/\\[a\\]", "**/*.md", "**/README*", "*.c", "a.c", "*", "**", "src", "?", "src/", "/a.c", "./a.c", "!**/*.c", "#a", "**/#a", "**/!a",
            "**/+(a|b).c", "**/{a,b}.{c,h,js}", "**/*.[ch]", "**/*[.]c", "**/[a-b].*", "**/[^a].*", "src/*/a.c", "src/**/a.c", "src/**/**/a.c", "**/**/a.c", "**/to_*", "**/n*", "**/o*", "node_modules/**", ".git/*", "**/a b", "*/**/*.js", "src/***"]
EXCLUDES = [[], ["src"], ["*.c"], ["**/*.c"], ["build"], ["**/build/**"], ["src/d"], ["src/**"], ["node_modules", ".git"], ["a.c"], ["lib/*"]]
MOVES = [("a.c", "new.c"), ("a.c", "a.h"), ("a.c", "src"), ("a.c", "src/new.c"), ("a.c", "src/a.c"), ("src", "new"), ("src", "lib"), ("src", "src/d/x"), ("src", "empty"), ("a.c", "a.c"), ("gone", "x"), ("a.c", "gone/x"),
         ("a.c", "../x"), ("to_a", "new"), ("to_src", "new"), ("nowhere", "new"), ("a.c", "to_a"), ("a.c", "nowhere"), ("a.c", "to_src/new.c"), ("outside", "new"), ("src/d", "d2"), ("a.c", "a.c/x"), ("a b", "b a"), ("src/", "new/"),
         ("a.c", "./new.c"), ("empty", "new"), ("README.md", "readme.md"), (".hidden.c", "x"), ("a.c", "\u00e9")]
EDITED = [b"a\nb\nc\n", b"def f():\n    if x:\n        return 1\n    return 2\n", b"a\r\nb\r\nc\r\n", b"\ta\n\t\tb\n", b"one two three", b"x\n\n\ny\n", b"a  \nb\n", b"", b"a\nb\r\nc\n", b"caf\xc3\xa9\n", b"caf\xe9\nb\n", b"a\0b\n", b"```\ncode\n```\n"]
EDITS = [("b", "x"), ("a", ""), ("a\nb", "x"), ("a\nb\n", "x\n"), ("b\n", ""), ("c\n", "d"), ("if x:", "if y:"), ("if x:\n    return 1", "if y:\n    return 3"), ("    if x:\n        return 1\n", ""), ("return", "yield"), ("return 1", "return 1\n# c"),
         ("  a", "b"), ("two", "2"), ("tw", "2"), ("x\ny", "z"), ("x\n\n\ny", "z"), ("", "z"), ("a\r\nb", "x"), ("a", "x\r\ny"), ("a ", "b"), ("caf\u00e9", "x"), ("```", "~~~"), ("code", "$&$1\\n"), ("missing", "x"), ("a\n", "a\na\n"), ("\n", " "),
         ("a\nb\nc\n", ""), ("one two three", "1"), ("three\n", "3"), ("c\n\n", "c"), ("A", "x")]


def listed():
    for path in PATHS:
        for tool in ("read_text_file", "list_directory", "directory_tree", "get_file_info"):
            yield Case(tool, {"path": path})
    for pattern in PATTERNS:
        yield Case("search_files", {"path": ".", "pattern": pattern})
        yield Case("search_files", {"path": "src", "pattern": pattern})
    for excludes in EXCLUDES:
        yield Case("directory_tree", {"path": ".", "excludePatterns": excludes})
        yield Case("search_files", {"path": ".", "pattern": "**/*", "excludePatterns": excludes})
    for source, destination in MOVES:
        yield Case("move_file", {"source": source, "destination": destination})
    for content in EDITED:
        for pair in EDITS:
            yield edit(content, pair)
    yield edit(b"a\nb\n", ("a", "x"), ("b", "y"))
    yield edit(b"a\nb\n", ("a", "b"), ("b\nb", "y"))
    yield edit(b"a\nb\n", ("a", "x"), ("missing", "y"))
    yield edit(b"a\nb\n", ("a", "x"), dryRun=True)
    yield edit(b"a\nb\n")
    yield edit(b"a\n\n\nb\n", ("  \n", "x\n"))
    yield edit(b" return 1\r\n", ("return 1\n", "return 1\n  }\n"))
    yield edit(b"\r\n  # c", ("\n  # c", "b\n  # c\n\t}"))
    yield edit(b"c\r\nc\n", ("c\n", "d\n"))
    for content in (b"", b"\n", b"a", b"a\n", b"a\nb\nc\n", b"a\nb\nc", b"\n\na\n\n", b"a\r\nb\r\n", b"\xef\xbb\xbfa\n", b"x" * 3000 + b"\ny\n", b"caf\xe9\n", "\u00e9\n".encode() * 2000, b"a\0\n", b"a\rb\n"):
        for more in ({}, {"head": 1}, {"head": 2}, {"head": 3}, {"head": 100}, {"tail": 1}, {"tail": 2}, {"tail": 3}, {"tail": 100}, {"head": 0}, {"tail": 0}, {"head": -1}, {"head": 1, "tail": 1}, {"head": 1.5}):
            yield Case("read_text_file", {"path": "f", **more}, content)


READS = [["a.c"], ["a.c", "a.h"], ["a.c", "a.c"], ["gone"], ["gone", "a.c"], ["src", "a.c"], ["ROOT/a.c", "./a.c", "src/../a.c"], ["", "a.c"], ["/etc/hostname", "a.c"], ["../x"], ["to_a", "to_src/a.c"], ["nowhere", "outside"], ["last", "none", "crlf"],
         ["\u00e9.txt", "a b", "[a]", "{a,b}", "-", "#a", "!a"], [".hidden.c", ".git/config"], ["a.c/x"], ["nul"], ["latin", "a.c"], [name for name, content in FILES.items() if content is not None and name not in ("nul", "latin")]]
WRITTEN = ["new", "a.c", "src/a.c", "src/new", "to_src/new", "new/deep/x", "src", "empty", "to_a", "nowhere", "outside", "../x", "/etc/berth-oracle", "", ".", "a.c/x", "tool.sh", "\u00e9 2", "{a,b}", "./new", "src/../new", "ROOT/new", "src//new", ".git/config"]
TEXTS = ["", "x", "x\n", "\u00e9\n\U0001f389", "a\r\nb\r\n", "a\0b", "\u2028\ufeff", "x" * 200000]
MADE = ["new", "new/", "new/deep", "src", "src/new", "empty", "a.c", "a.c/x", "to_src", "to_src/new", "to_a", "nowhere", "outside", "../x", "/etc/berth-oracle", "", ".", "./new", "ROOT/new", "ROOT", "\u00e9 2", "src/../new", "src/d/e/f/g"]


def listed_more():
    """read_file, read_multiple_files, read_media_file, write_file, create_directory, list_directory_with_sizes."""
    for path in PATHS:
        yield Case("read_file", {"path": path})
        yield Case("read_media_file", {"path": path})
        for more in ({}, {"sortBy": "name"}, {"sortBy": "size"}):
            yield Case("list_directory_with_sizes", {"path": path, **more})
    for more in ({"sortBy": "time"}, {"sortBy": 1}):
        yield Case("list_directory_with_sizes", {"path": "src", **more})
    for paths in READS + [[]]:
        yield Case("read_multiple_files", {"paths": paths})
    for path in WRITTEN:
        yield Case("write_file", {"path": path, "content": "new\n"})
    for text in TEXTS:
        yield Case("write_file", {"path": "a.c", "content": text})
    for path in MADE:
        yield Case("create_directory", {"path": path})


def generated_edit(rng):
    indents = ("", "", "  ", "    ", "    ", "\t")
    names = ("a", "b", "c", "foo(x)", "if y:", "return 1", "}", "", "# c", "a.b = 1")
    lines = [rng.choice(indents) + rng.choice(names) + rng.choice(("", "", "", " ")) for _ in range(rng.choice((1, 3, 5, 8)))]
    at = rng.randrange(len(lines))
    old = lines[at:at + rng.choice((1, 1, 2, 3))]
    if rng.random() < 0.4:
        old = [rng.choice(("", "  ")) + line.strip() if rng.random() < 0.5 else line for line in old]
    new = [rng.choice((line, line, line.replace("a", "z"), rng.choice(indents) + rng.choice(names))) for line in old] + [rng.choice(indents) + rng.choice(names)] * rng.choice((0, 0, 1))
    end = rng.choice(("", "\n"))
    return edit((rng.choice(("\n", "\n", "\n", "\r\n")).join(lines) + rng.choice(("", "\n", "\n"))).encode(), ("\n".join(old) + end, "\n".join(new) + end))


def generated_read(rng):
    content = b"".join(rng.choice((b"a", b"\n", b"\n", b"bc", b"x" * 500, b"\r\n", "\u00e9".encode())) for _ in range(rng.choice((0, 3, 10, 30))))
    return Case("read_text_file", {"path": "f", **rng.choice(({}, {"head": rng.randrange(1, 12)}, {"tail": rng.randrange(1, 12)}))}, content)


def generated_search(rng):
    parts = [rng.choice(("src", "lib", "d", "*", "**", "**", "{src,lib}", "?", "s*", "[sl]*")) for _ in range(rng.choice((1, 1, 2)))]
    parts.append("".join(rng.choice(("a", "b", ".c", ".js", "*", "*", "?", "[ab]", "[!a]", "{a,b}", "{c,js}", "x")) for _ in range(rng.choice((1, 2, 2, 3)))))
    return Case("search_files", {"path": rng.choice((".", ".", "src", "lib")), "pattern": "/".join(parts)})


# -- and the judgement

def fits(case, differs):
    return next((i for i, (meant, _) in enumerate(MEANT) if meant(case, *differs)), None)


def shrink(both, case):
    def is_bad(less):
        differs = both.differ(less)
        return bool(differs) and fits(less, differs) is None
    if case.content is not None:
        case = case._replace(content=oracle.shrink(case.content, lambda content: is_bad(case._replace(content=content))))
    return case


def offers(server):
    """{tool: the arguments that it needs, all that it takes, its hints}."""
    return {tool["name"]: (sorted(tool["inputSchema"].get("required", [])), set(tool["inputSchema"].get("properties", {})), tool["annotations"])
            for tool in server.ask("tools/list")["result"]["tools"]}


def check_offers(both):
    """Every tool of npm's but the deprecated one is there, with its arguments and hints."""
    npms, own = (offers(server) for server in both.servers)
    bad = [name for name, (needed, taken, hints) in npms.items()
           if name != "read_file" and not (name in own and own[name][0] == needed and taken <= own[name][1] and own[name][2] == hints)]
    for name in bad:
        print(f"# {name}: npm's {npms[name]}, berth's {own.get(name)}")
    print("not ok" if bad else "ok", "the tools of npm's server, with their arguments and hints")
    return bool(bad)


def main():
    if not shutil.which("node"):
        print("npm is not installed here: there is no node")
        return 77
    place, why = install(f"server-filesystem-{VERSION}", f"@modelcontextprotocol/server-filesystem@{VERSION}")
    if why:
        print(why)
        return 77
    program = os.path.join(place, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js")
    os.umask(0o022)
    roots = [os.path.join(os.path.realpath(TMPDIR), name) for name in ("npm_tree", "own_tree")]
    for root in roots:
        build(root)
    with open(os.path.join(TMPDIR, "team.yaml"), "w", encoding="utf-8") as file:
        file.write(f"agents:\n  one: {{image: 'box:1', workspace: {roots[1]}}}\n")
    both = Both(Server(roots[0], ["node", program, roots[0]]), Server(roots[1], [os.environ["BERTH"], "-c", file.name, "mcp", "--agent", "one"]))
    rng = random.Random(34)
    cases = [*listed(), *listed_more()] + [make(rng) for make in (generated_edit, generated_read, generated_search) for _ in range(GENERATED)]
    bad, as_meant = [], [0] * len(MEANT)
    for case in cases:
        differs = both.differ(case)
        kind = differs and fits(case, differs)
        if kind is not None:
            as_meant[kind] += 1
        elif differs:
            bad.append(case)
    print(f"note oracle server_filesystem: {len(cases)} calls, {len(cases) - sum(as_meant) - len(bad)} as npm's server, {sum(as_meant)} differ as they are meant to, {len(bad)} otherwise")
    for case in bad[:oracle.SHOWN]:
        small = shrink(both, case)
        print(f"# {small}: npm's {both.differ(small)[0]}, berth's {both.differ(small)[1]}"[:1000])
    wrong = check_offers(both)
    for server in both.servers:
        server.end()
    print("not ok" if bad else "ok", "the file tools do what npm's server does")
    same = [why for (_, why), n in zip(MEANT, as_meant) if not n]
    print(*(f"# no call differs any more: {why}" for why in same), sep="\n", end="\n" if same else "")
    print("not ok" if same else "ok", "what is meant to differ does")
    return int(bool(bad or same or wrong))


if __name__ == "__main__":
    sys.exit(main())
