#!/usr/bin/env python3
"""mcp_hostile.py - `berth mcp` under attack: what a model, its harness or the agent inside could send, name or swap."""
import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from mcp_client import BERTH, ODD, PATIENCE, Client, case, main  # noqa: E402

os.chdir(os.environ["TMPDIR"])
os.environ["XDG_STATE_HOME"] = os.path.join(os.getcwd(), "state")
WS, OUT = os.path.join(os.getcwd(), "ws"), os.path.join(os.getcwd(), "out")
os.umask(0o022)
for d in (WS, OUT):
    os.mkdir(d)
with open(os.path.join(OUT, "secret"), "w", encoding="utf-8") as f:
    f.write("a secret\n")
with open("team.yaml", "w", encoding="utf-8") as f:
    f.write(f"agents:\n  one: {{image: 'box:1', workspace: {WS}}}\n")
MANY = 390000  # values in a message: few enough to be read
LIBC, EXCHANGE = ctypes.CDLL(None), 2


def own(path):
    if os.getuid() == 0:
        os.chown(path, 1000, 1000, follow_symlinks=False)
    return path


def put(path, data):
    with open(os.path.join(WS, path), "wb") as out:
        out.write(data if isinstance(data, bytes) else data.encode())
    return own(out.name)


own(WS)
own(OUT)
put("a.txt", "hello\nworld\n")


def memory(c):
    """The most that the server ever had, MiB."""
    with open(f"/proc/{c.server.pid}/status", encoding="ascii") as status:
        return int(status.read().split("VmHWM:")[1].split()[0]) >> 10


def wait_until(what):
    until = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


def staged():
    """What a batch has put aside and not taken away again."""
    return [n for d in os.listdir(WS) if d.startswith(".berth") for n in os.listdir(f"{WS}/{d}")]


def error_of(c, number, text):
    c.say_bytes(text if isinstance(text, bytes) else text.encode())
    return c.wait(number)["error"]["code"]


@case("what goes beyond a limit is still answered to who asked")
def _():
    with Client("team.yaml") as c:
        many = ",".join("0" * 450000)
        assert error_of(c, 900, f'{{"jsonrpc":"2.0","method":"ping","params":{{"x":[{many}]}},"id":900}}\n') == -32600
        deep = "[" * 500 + "]" * 500
        assert error_of(c, 901, f'{{"jsonrpc":"2.0","method":"ping","params":{{"x":{deep}}},"id":901}}\n') == -32600
        keys = ",".join(f'"k{i}":"]"' for i in range(300))
        assert error_of(c, 902, f'{{"jsonrpc":"2.0","method":"ping","params":{{{keys}}},"id":902}}\n') == -32600
        assert c.ask("ping")["result"] == {}
        assert memory(c) < 128, memory(c)


@case("odd ids")
def _():
    with Client("team.yaml") as c:
        for spelt, number in (("0", 0), ("-7", -7), ("77.0", 77), ('""', ""), ('"__proto__"', "__proto__"), ('"\\u00e4\\n"', "ä\n"),
                              (json.dumps("x" * 100000), "x" * 100000), ("9223372036854775807", 2 ** 63 - 1)):
            c.say_bytes(f'{{"jsonrpc":"2.0","id":{spelt},"method":"ping"}}\n'.encode())
            assert c.wait(number)["result"] == {}, spelt
        for spelt in ("null", "[]", "{}", "1.5", "1e400", "9223372036854775808", "true"):
            c.say_bytes(f'{{"jsonrpc":"2.0","id":{spelt},"method":"ping"}}\n'.encode())
            assert c.wait(None)["error"]["code"] == -32600, spelt
    # Of a request that stays open it is kept.
    with Client("team.yaml", era="new") as c:
        for spelt, kept in (("x" * 1000, True), ("x" * 2000, False)):
            c.say({"jsonrpc": "2.0", "id": spelt, "method": "subscriptions/listen", "params": {"notifications": {}, "_meta": c.meta()}})
            if not kept:
                assert c.wait(spelt)["error"]["code"] == -32600
        c.server.stdin.close()
        assert c.server.wait(PATIENCE) == 0
        assert c.wait("x" * 1000)["result"]["resultType"] == "complete"


@case("keys that mean something elsewhere mean nothing here")
def _():
    with Client("team.yaml") as c:
        for key in ("__proto__", "constructor", "prototype", "toString", "", "path\0", "Path", "path ", "_meta"):
            assert "not an argument" in c.fails("read_text_file", **{"path": "a.txt", key: {"path": "/etc/passwd"}})
            assert "not an argument" in c.fails("write_multiple_files", files=[{"path": "x", "content": "", key: 1}])
        for name in ("__proto__", "constructor", "", "read_text_file\0", "READ_TEXT_FILE", "x" * 5000, "../read_file", "tools/call"):
            assert c.ask("tools/call", name=name, arguments={})["error"]["code"] == -32602, name
        for name in (None, 7, ["read_text_file"], {"name": "read_text_file"}):
            assert c.ask("tools/call", name=name, arguments={})["error"]["code"] == -32602, name
        assert c.call("read_text_file", path="a.txt", head=1.0) == "hello\n"
        assert not os.path.exists(f"{WS}/x")


@case("batches, in the one revision that has them")
def _():
    batch = [{"jsonrpc": "2.0", "id": i, "method": "ping"} for i in range(50, 60)]
    batch += [{"jsonrpc": "2.0", "method": "notifications/none"}, {"jsonrpc": "2.0", "id": 60, "method": "none"}, 7]
    with Client("team.yaml", begin=False) as c:
        c.ask("initialize", protocolVersion="2025-03-26")
        c.say(batch)
        assert all(c.wait(i)["result"] == {} for i in range(50, 60))
        assert c.wait(60)["error"]["code"] == -32601 and c.wait(None)["error"]["code"] == -32600
        c.say([[{"jsonrpc": "2.0", "id": 61, "method": "ping"}]])
        assert c.wait(None)["error"]["code"] == -32600
        c.say([])
        assert c.wait(None)["error"]["code"] == -32600
    with Client("team.yaml") as c:
        c.say(batch)
        assert c.wait(None)["error"]["code"] == -32600


@case("what is no file is not waited for")
def _():
    os.mkfifo(f"{WS}/fifo")
    own(f"{WS}/fifo")
    with socket.socket(socket.AF_UNIX) as s, Client("team.yaml") as c:
        here = os.getcwd()
        os.chdir(WS)
        s.bind("sock")
        os.chdir(here)
        own(f"{WS}/sock")
        for name in ("fifo", "sock"):
            c.fails("read_text_file", path=name)
            c.fails("read_media_file", path=name)
            c.fails("write_file", path=name, content="x")
            c.fails("edit_file", path=name, edits=[{"oldText": "a", "newText": "b"}])
            c.fails("compare_files", file1="a.txt", file2=name)
            c.fails("list_directory", path=name)
            c.fails("search_text", path=name, pattern="a")
            c.fails("transform_files", path=name, pattern="a", replacement="b")
            assert f"{name}: Error - " in c.call("read_multiple_files", paths=[name, "a.txt"])
        c.call("get_file_info", path="fifo")
        assert c.call("search_text", path=".", pattern="hello")["hits"] == 1
    os.unlink(f"{WS}/fifo")
    os.unlink(f"{WS}/sock")


@case("names that are no text: every answer is UTF-8 and one line")
def _():
    for name in (b"\xff\xfe", b"new\nline", b"esc\x1b[31m", "\u202e\u2028".encode(), b'quote"\\'):
        with open(os.path.join(WS.encode(), name), "wb") as out:
            out.write(b"odd\n")
        own(out.name)
    with Client("team.yaml") as c:
        for tool, more in (("list_directory", {}), ("list_directory_with_sizes", {}), ("directory_tree", {}), ("scan_directory", {}),
                           ("search_files", {"pattern": "*"}), ("search_text", {"pattern": "odd"}),
                           ("transform_files", {"pattern": "odd", "replacement": "even"})):
            c.call(tool, path=".", **more)
        assert c.call("read_text_file", path="new\nline") == "odd\n"
        assert c.fails("read_text_file", path="no\n\x1b]0;x\x07" + "é" * 200)
    for line in c.lines:
        line.decode()
    for name in os.listdir(WS.encode()):
        if name not in (b"a.txt", b".berth"):
            os.unlink(os.path.join(WS.encode(), name))


@case("a few bytes of arguments do not become gigabytes")
def _():
    put("ones", b"a\n" * (1 << 20))
    with Client("team.yaml") as c:
        assert "at most" in c.fails("read_multiple_files", paths=["none"] * MANY)
        assert "at most" in c.fails("delete_files", paths=["none"] * MANY)
        for tool, name, more in (("search_files", "excludePatterns", {"pattern": "x"}), ("directory_tree", "excludePatterns", {}),
                                 ("search_text", "glob", {"pattern": "x"}), ("search_text", "exclude", {"pattern": "x"}), ("scan_directory", "glob", {}),
                                 ("transform_files", "exclude", {"pattern": "x", "replacement": "y"})):
            assert "at most 1000" in c.fails(tool, path=".", **{name: ["*a*"] * 1001}, **more), (tool, name)
        got = c.call("read_multiple_files", paths=["none"] * 20000)
        assert got.count("Error - ") == 20000
        c.fails("write_multiple_files", files=[{"path": "/etc/x", "content": ""}] * (MANY // 3))
        got = c.call("search_text", path="ones", pattern="a", limit=10 ** 9)
        assert got["truncated"] and len(got["matches"]) <= 200000
        assert "MiB" in c.fails("transform_files", path="ones", pattern="a", replacement="b" * 65536, dry_run=False)
        with open(f"{WS}/ones", "rb") as ones:
            assert ones.read(4) == b"a\na\n"
        assert memory(c) < 900, memory(c)


@case("calls and answers that nobody reads take no more memory than they may")
def _():
    put("lines", b"a\n" * (1 << 18))
    with Client("team.yaml") as c:
        numbers = [c.begin("tools/call", name="transform_files", arguments={"path": "lines", "pattern": "a", "replacement": "b" * 16})
                   for _ in range(24)]
        for n in numbers:
            got = c.wait(n)["result"]["structuredContent"]
            assert got["changed"] == 1 and got["truncated"] and len(got["diff"]) == 65536 and not got["applied"], got
        # What one replacement expands to is bounded, too.
        put("long", b"x" * 1000)
        assert "MiB" in c.fails("transform_files", path="long", pattern=".+", replacement="$0" * 65536, regex=True)
        assert memory(c) < 800, memory(c)
    put("text", b"0123456789abcde\n" * (1 << 18))
    with open("small.yaml", "w", encoding="utf-8") as f:
        f.write("mcp: {memory: 64m}\n")
    with subprocess.Popen([BERTH, "--settings", "small.yaml", "-c", "team.yaml", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        ask = [{"method": "initialize", "params": {"protocolVersion": "2025-11-25"}}]
        ask += [{"method": "tools/call", "params": {"name": name, "arguments": {key: value}}} for _ in range(30)
                for name, key, value in (("read_text_file", "path", "text"), ("read_multiple_files", "paths", ["text"]))]
        server.stdin.write(b"".join(json.dumps({"jsonrpc": "2.0", "id": i, **m}).encode() + b"\n" for i, m in enumerate(ask)))
        server.stdin.flush()
        still = []

        def rests():
            """No thread runs, and none did at the last looks."""
            states = []
            for task in os.listdir(f"/proc/{server.pid}/task"):
                with open(f"/proc/{server.pid}/task/{task}/stat", encoding="ascii") as stat:
                    states.append(stat.read().rsplit(")", 1)[1].split()[0])
            still.append(set(states) == {"S"} and len(states) > 2)
            return len(still) > 10 and all(still[-10:])

        wait_until(rests)
        with open(f"/proc/{server.pid}/status", encoding="ascii") as status:
            most = int(status.read().split("VmHWM:")[1].split()[0]) >> 10
        server.kill()
        assert most < (200 if os.environ["VARIANT"] in ("debug", "release") else 700), most
    os.unlink(f"{WS}/text")
    os.unlink(f"{WS}/lines")


@case("commands that are long take no memory when they have ended, and no more than there is while they run")
def _():
    with Client("team.yaml") as c:
        for name, arguments in (("start_command", {"command": "#" * 131072}), ("execute_command", {"argv": ["x" * 131072]}),
                                ("start_command", {"argv": ["x" * 100000] * 80}), ("start_command", {"command": "x", "env": {"A": "b" * 131071}}),
                                ("start_command", {"command": "x", "work_dir": "/" * 4096})):
            assert "too long" in c.fails(name, **arguments), name
        # Together more than it may have; with a sanitizer, which keeps what was freed, that would show nothing.
        words = ["é" * 50000] * (40 if os.environ["VARIANT"] in ("debug", "release") else 4)
        for _ in range(70):
            c.ask("tools/call", name="start_command", arguments={"argv": words})
        wait_until(lambda: all(x["state"] == "ended" for x in c.call("list_commands")["commands"]))
        listed = c.call("list_commands")["commands"]
        assert len(listed) == 64 and all(len(x["command"].encode()) < 4100 and x["command"].endswith("é...") for x in listed), listed[0]
        assert memory(c) < (200 if os.environ["VARIANT"] in ("debug", "release") else 900), memory(c)


@case("the names of a tree take no more memory than there is")
def _():
    for d in range(100):
        os.makedirs(f"{WS}/names/{d}")
        # Of one file, as ext4 looks long for a free inode where many files have just been removed.
        put(f"names/{d}/{'n' * 250}0", "")
        for i in range(1, 1000):
            os.link(f"{WS}/names/{d}/{'n' * 250}0", f"{WS}/names/{d}/{'n' * 250}{i}")
    with open("small.yaml", "w", encoding="utf-8") as f:
        f.write("mcp: {memory: 64m}\n")
    with Client("team.yaml", "--settings", "small.yaml") as c:
        for name, arguments in (("scan_directory", {"limit": 1}), ("search_text", {"pattern": "x", "limit": 1})):
            assert "MiB" in c.fails(name, path="names", **arguments), name
            c.call(name, path="names/0", **arguments)
    with Client("team.yaml") as c:
        assert c.call("scan_directory", path="names", limit=1)["files"] == 100000
    subprocess.run(["rm", "-rf", f"{WS}/names"], check=True)


@case("it ends with its client, whatever runs: an engine that never answers, a person who is asked")
def _():
    team = "agents:\n  one: {image: 'box:1', workspace: %s, forks: 0}\ncustom_tools:\n  t: {image: 'box:1', command: [x]}\n" % WS
    with open("tool.yaml", "w", encoding="utf-8") as f:
        f.write(team)
    os.chmod("tool.yaml", 0o644)

    def children(c):
        n = 0
        for task in os.listdir(f"/proc/{c.server.pid}/task"):
            with open(f"/proc/{c.server.pid}/task/{task}/children", encoding="ascii") as f:
                n += len(f.read().split())
        return n

    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind("silent.sock")
        silent.listen(16)
        for name, arguments in (("run_tool", {"tool": "t"}), ("limits", {}), ("expose_port", {"port": 80})):
            with Client("tool.yaml", "-H", f"unix://{os.getcwd()}/silent.sock") as c:
                c.begin("tools/call", name=name, arguments=arguments)
                if name != "expose_port":
                    wait_until(lambda: children(c))
                c.server.stdin.close()
                assert c.server.wait(PATIENCE) == 0, name
    os.unlink("silent.sock")


@case("a tree that is made to be long in an answer")
def _():
    here = os.getcwd()
    os.chdir(WS)
    for _ in range(700):
        os.mkdir("d")
        own("d")
        os.chdir("d")
    for i in range(4000):
        os.close(os.open(str(i), os.O_CREAT | os.O_WRONLY, 0o644))
    os.chdir(here)
    with Client("team.yaml") as c:
        assert "8 MiB" in c.fails("directory_tree", path=".")
        assert c.call("scan_directory", path=".")["truncated"]
        assert memory(c) < 200, memory(c)
        c.call("delete_files", paths=["d"], recursive=True)
    assert not os.path.exists(f"{WS}/d")


@case("work that would never end is ended with the call")
def _():
    put("ones", b"a\n" * (4 << 20))
    for arguments in ({"path": "ones", "edits": [{"oldText": " a\n" * (1 << 19) + "b", "newText": ""}]},
                      {"path": "ones", "edits": [{"oldText": "a", "newText": "a"}] * 100000}):
        with Client("team.yaml") as c:
            n = c.begin("tools/call", name="edit_file", arguments=arguments)
            c.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": n}})
            assert c.call("read_text_file", path="a.txt") == "hello\nworld\n"
            c.server.stdin.close()
            assert c.server.wait(PATIENCE) == 0
            assert n not in c.answers or c.answers[n]["result"]["isError"], n
    os.unlink(f"{WS}/ones")


@case("expressions and globs that explode elsewhere")
def _():
    put("long", b"a" * 100000 + b"!\n")
    put("a" * 200, "")
    with Client("team.yaml") as c:
        for pattern in ("^(a+)+$", "(a|aa)+(a|aa)+b", "(.*)*(.*)*x", "(?:(?:a*)*)*b"):
            c.call("search_text", path="long", pattern=pattern, regex=True)
        assert c.call("search_files", path=".", pattern="*a" * 60 + "b") == "No matches found"
        assert c.call("search_files", path=".", pattern="**/" * 80 + "b") == "No matches found"
        c.fails("search_text", path=".", pattern="(" * 5000, regex=True)


@case("one file is transformed, and only it")
def _():
    os.mkdir(f"{WS}/t")
    own(f"{WS}/t")
    for name in ("x[1]*.txt", "x1.txt", ".x[1]*.txt"):
        put(f"t/{name}", "one\n")
    with Client("team.yaml") as c:
        for name in ("t/x[1]*.txt", "t/.x[1]*.txt"):
            got = c.call("transform_files", path=name, pattern="one", replacement="two", dry_run=False)
            assert got["changed"] == 1 and c.call("read_text_file", path=name) == "two\n", got
        assert c.call("read_text_file", path="t/x1.txt") == "one\n"


@case("a directory that is swapped for a link all the time")
def _():
    os.mkdir(f"{WS}/swap")
    own(f"{WS}/swap")
    put("swap/secret", "open\n")
    os.symlink(OUT, f"{WS}/away")
    before = sorted(os.listdir(OUT))
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            assert LIBC.renameat2(-100, f"{WS}/swap".encode(), -100, f"{WS}/away".encode(), EXCHANGE) == 0
        if os.path.islink(f"{WS}/swap"):
            LIBC.renameat2(-100, f"{WS}/swap".encode(), -100, f"{WS}/away".encode(), EXCHANGE)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        with Client("team.yaml") as c:
            numbers = []
            for i in range(400):
                for name, arguments in (("read_text_file", {"path": "swap/secret"}), ("write_file", {"path": f"swap/{i % 20}", "content": "x"}),
                                        ("read_multiple_files", {"paths": ["swap/secret"] * 3}), ("copy_files", {"source": "swap", "destination": f"c{i}"}),
                                        ("search_text", {"path": "swap", "pattern": "secret"}), ("list_directory", {"path": "swap"}),
                                        ("move_file", {"source": "a.txt", "destination": f"swap/m{i}"}),
                                        ("edit_file", {"path": "swap/secret", "edits": [{"oldText": "secret", "newText": "b"}]}),
                                        ("delete_files", {"paths": ["swap/secret"]}))[:9 if i == 399 else 6]:
                    numbers.append(c.begin("tools/call", name=name, arguments=arguments))
            for n in numbers:
                assert "a secret" not in json.dumps(c.wait(n)), n
    finally:
        stop.set()
        swapper.join()
    assert sorted(os.listdir(OUT)) == before
    with open(f"{OUT}/secret", encoding="utf-8") as secret:
        assert secret.read() == "a secret\n"
    for i in range(400):
        copy = f"{WS}/c{i}/secret"
        if not os.path.islink(f"{WS}/c{i}") and os.path.exists(copy):
            with open(copy, encoding="utf-8") as text:
                assert text.read() == "open\n"


def tree_of(top):
    """Every name below, with the content of files."""
    got = {}
    for folder, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(folder, name)
            with open(path if name in files else os.devnull, "rb") as f:
                got[os.path.relpath(path, top)] = f.read()
    return got


@case("what is protected stays as it is, under every name that it gets and whatever the tree's own rules say")
def _():
    kept = f"{WS}/p/kept"
    os.makedirs(f"{kept}/d")
    for d in ("p", "p/kept", "p/kept/d"):
        own(f"{WS}/{d}")
    for f in ("p/kept/f", "p/kept/d/g", "p/near", "p/only"):
        put(f, "protected\n" if f != "p/near" else "near\n")
    with open("kept.yaml", "w", encoding="utf-8") as f:
        f.write(f"agents:\n  one:\n    image: 'box:1'\n    workspace: {WS}\n    context_paths:\n"
                f"      - {{path: {WS}, permission: write, protected_paths: [{kept}, {WS}/p/only]}}\n")
    before = tree_of(kept)
    with Client("kept.yaml") as c:
        # An ignore file of the tree takes nothing out of what is excluded.
        put("p/.gitignore", "!kept\n!kept/**\n!only\n")
        put(".gitignore", "!p/kept\n")
        c.call("transform_files", path=".", pattern="protected", replacement="lost", dry_run=False)
        c.call("transform_files", path="p", pattern="protected", replacement="lost", dry_run=False)
        assert tree_of(kept) == before
        # Another name above it, as the agent gives it inside.
        os.rename(f"{WS}/p", f"{WS}/q")
        edits = [{"oldText": "protected", "newText": "lost"}]
        for path in ("q/kept/f", "q/kept/d/g", "q/kept/new", "q/kept/n/new", "q/only"):
            c.fails("write_file", path=path, content="lost")
            c.fails("edit_file", path=path, edits=edits)
            c.fails("write_multiple_files", files=[{"path": "fine", "content": ""}, {"path": path, "content": "lost"}])
            c.fails("copy_files", source="q/near", destination=path, overwrite=True)
            c.fails("move_file", source="q/near", destination=path)
            c.fails("move_file", source=path, destination="stolen")
            c.fails("delete_files", paths=[path], recursive=True)
        for path in ("q/kept", "q/kept/d", "q"):
            c.fails("delete_files", paths=[path], recursive=True)
            c.fails("move_file", source=path, destination="stolen")
        # A directory above it that the agent has closed, so that nobody works a way up through it as the agent.
        os.chmod(f"{WS}/q", 0o600)
        c.fails("move_file", source="q", destination="stolen")
        c.fails("delete_files", paths=["q"], recursive=True)
        os.chmod(f"{WS}/q", 0o755)
        # A single file, by the way of another that lies beside it; and in the place of a link.
        c.fails("write_multiple_files", files=[{"path": "q/near", "content": "near\n"}, {"path": "q/only", "content": "lost"}], promise="visible")
        os.makedirs(f"{WS}/links")
        os.symlink("near", f"{WS}/links/only")
        c.ask("tools/call", name="copy_files", arguments={"source": "links", "destination": "q", "overwrite": True})
        assert not os.path.islink(f"{WS}/q/only")
        c.fails("create_directory", path="q/kept/made")
        c.fails("create_directory", path="q/kept/made/deep")
        c.fails("copy_files", source="q/near", destination="q/kept/near")
        os.makedirs(f"{WS}/src/kept")
        put("src/kept/f", "lost")
        put("src/only", "lost")
        c.ask("tools/call", name="copy_files", arguments={"source": "src", "destination": "q", "overwrite": True})
        c.ask("tools/call", name="transform_files", arguments={"path": ".", "pattern": "protected", "replacement": "lost", "dry_run": False})
        c.ask("tools/call", name="transform_files", arguments={"path": "q/kept", "pattern": "protected", "replacement": "lost", "dry_run": False})
        assert tree_of(f"{WS}/q/kept") == before, tree_of(f"{WS}/q/kept")
        with open(f"{WS}/q/only", encoding="utf-8") as only:
            assert only.read() == "protected\n"
        assert not os.path.exists(f"{WS}/fine") and not os.path.exists(f"{WS}/stolen")
        # And what is not protected can be changed under that name.
        c.call("write_file", path="q/near", content="changed")
        c.call("read_text_file", path="q/near")
        c.call("delete_files", paths=["q/near"])
        os.rename(f"{WS}/q", f"{WS}/p")


@case("a client that closed its end and is slow to read gets all that it asked for")
def _():
    put("text", b"0123456789abcde\n" * (1 << 14))
    with subprocess.Popen([BERTH, "-c", "team.yaml", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        ask = [{"method": "initialize", "params": {"protocolVersion": "2025-11-25"}}]
        ask += [{"method": "tools/call", "params": {"name": "read_text_file", "arguments": {"path": "text"}}}] * 8
        server.stdin.write(b"".join(json.dumps({"jsonrpc": "2.0", "id": i, **m}).encode() + b"\n" for i, m in enumerate(ask)))
        server.stdin.close()
        time.sleep(7)  # more than the 5 s after which calls that do not end are cancelled
        seen = [json.loads(line) for line in server.stdout]
        assert sorted(got["id"] for got in seen) == list(range(9)) and all("result" in got for got in seen), [str(got)[:80] for got in seen]
        assert server.wait(PATIENCE) == 0
    os.unlink(f"{WS}/text")


@case("ten thousand requests, read slowly: all answered, in bounded memory")
def _():
    put("a.txt", "hello\nworld\n")
    with subprocess.Popen([BERTH, "-c", "team.yaml", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        def ask():
            server.stdin.write(b'{"jsonrpc":"2.0","id":-1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n')
            for i in range(10000):
                server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {
                    "name": "read_text_file", "arguments": {"path": "a.txt"}}}).encode() + b"\n")
            server.stdin.close()

        asker = threading.Thread(target=ask)
        asker.start()
        seen = set()
        with open(f"/proc/{server.pid}/status", encoding="ascii") as status:
            for n, line in enumerate(server.stdout):
                got = json.loads(line)
                assert got["id"] not in seen and "result" in got, got
                seen.add(got["id"])
                if n == 5000:
                    assert int(status.read().split("VmHWM:")[1].split()[0]) < (160 if os.environ["VARIANT"] in ("debug", "release") else 640) << 10  # sanitizers keep what was freed
        asker.join()
        assert seen == set(range(-1, 10000)), f"{10001 - len(seen)} are not answered"
        assert server.wait(PATIENCE) == 0


@case("killed in the middle: nothing half done is left, and it is in the log")
def _():
    files = [{"path": f"batch/{i}", "content": "x" * 1000} for i in range(5000)]
    ask = b"".join(json.dumps({"jsonrpc": "2.0", "id": i, **m}).encode() + b"\n" for i, m in enumerate((
        {"method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
        {"method": "tools/call", "params": {"name": "write_multiple_files", "arguments": {"files": files}}})))
    for end in ("client", "server"):
        with subprocess.Popen([BERTH, "-c", "team.yaml", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            server.stdin.write(ask)
            server.stdin.flush()
            server.stdout.readline()
            if end == "client":
                server.stdout.close()
                server.stdin.close()
                assert server.wait(PATIENCE) == 0
            else:
                wait_until(lambda: staged() or os.path.exists(f"{WS}/batch"))
                server.kill()
        # The next one that works here clears up what the killed one left.
        with Client("team.yaml") as again:
            again.call("write_multiple_files", files=[{"path": "after", "content": ""}])
            n = len(os.listdir(f"{WS}/batch")) if os.path.isdir(f"{WS}/batch") else 0
            assert n in (0, 5000), (end, n)
            assert not staged(), (end, staged())
            again.call("delete_files", paths=["batch"] if n else ["after"], recursive=True)
    done = subprocess.run([BERTH, "audit", "list", "--json", "--agent", "one", "--act", "file.write"], capture_output=True, text=True,
                          check=True)
    assert "write_multiple_files" in done.stdout
    assert subprocess.run([BERTH, "audit", "verify"], capture_output=True, check=False).returncode == 0


@case("every argument of every tool, each with every odd value")
def _():
    put("plain", "text\n")
    for name, target in (("link", OUT), ("direct", f"{OUT}/secret"), ("self", "self")):
        os.symlink(target, f"{WS}/{name}")
        own(f"{WS}/{name}")
    usual = {"string": "plain", "integer": 1, "boolean": False, "array": ["plain"], "object": {}}
    odd = [*ODD, f"{OUT}/secret"]
    before, asked = sorted(os.listdir(OUT)), 0
    with Client("team.yaml") as c:
        for tool in c.tools.values():
            properties = tool["inputSchema"].get("properties", {})
            needed = {k: usual[properties[k]["type"]] for k in tool["inputSchema"].get("required", [])}
            for name in properties:
                numbers = [c.begin("tools/call", name=tool["name"], arguments=needed | {name: value}) for value in odd]
                for n, value in zip(numbers, odd, strict=True):
                    got = c.wait(n)
                    assert "a secret" not in json.dumps(got), (tool["name"], name, value, got)
                    assert got["result"]["content"] if "result" in got else got["error"]["message"], (tool["name"], name, value)
                asked += len(numbers)
            if not os.path.lexists(f"{WS}/plain"):
                put("plain", "text\n")
        assert c.ask("ping")["result"] == {}
    assert asked > 40 * len(odd) and sorted(os.listdir(OUT)) == before
    with open(f"{OUT}/secret", encoding="utf-8") as secret:
        assert secret.read() == "a secret\n"


main()
