#!/usr/bin/env python3
"""mcp_massgen.py - `berth mcp` as MassGen's client has it: its framing and order of requests, its limits, its time-outs, its end.

What is imitated is massgen/mcp_tools/client.py and security.py (v0.1.x), and the stdio client of the Python SDK below them.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from mcp_client import BERTH, PATIENCE, case, main  # noqa: E402

# The SDK hands on these variables and no others.
ENV = {k: os.environ[k] for k in ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER") if k in os.environ}
RESERVED = {"connect", "disconnect", "list", "help", "version", "status", "health", "ping", "echo", "test", "debug", "admin", "system",
            "config", "settings", "auth", "login", "logout", "exit", "quit"}
os.chdir(os.environ["TMPDIR"])
WS = os.path.join(os.getcwd(), "workspace")
os.mkdir(WS)
if os.getuid() == 0:
    os.chown(WS, 1000, 1000)
with open("massgen.yaml", "w", encoding="utf-8") as f:
    f.write("""agents:
  - id: agent_a
    backend: {type: openai, model: gpt-5-mini, cwd: workspace, enable_mcp_command_line: true, command_line_execution_mode: docker}
""")


class Session:
    """A client that asks one after the other, with ids from 0, and keeps what comes too late apart."""

    def __init__(self, *options):
        self.last, self.late = -1, []
        self.server = subprocess.Popen([BERTH, "-c", "massgen.yaml", "mcp", "--agent", "agent_a", *options], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)

    def say(self, **message):
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n")
        self.server.stdin.flush()

    def begin(self, method, params=None):
        self.last += 1
        self.say(method=method, id=self.last, **({"params": params} if params else {}))

    def ask(self, method, params=None):
        self.begin(method, params)
        while True:
            message = json.loads(self.server.stdout.readline().decode("utf-8", "strict"))
            if message["id"] == self.last:
                return message
            self.late.append(message)

    def connect(self):
        got = self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "mcp", "version": "0.1.0"}})
        assert got["id"] == 0 and got["result"]["protocolVersion"] == "2025-06-18", got
        assert got["result"]["serverInfo"]["name"] and got["result"]["serverInfo"]["version"], got
        self.say(method="notifications/initialized")
        return self

    def end(self):
        """As the SDK ends a server: its input is closed, it has two seconds, then a signal, and two more."""
        self.server.stdin.close()
        try:
            return self.server.wait(2)
        except subprocess.TimeoutExpired:
            self.server.terminate()
            return self.server.wait(PATIENCE)


@case("connecting: the tools, and what it has not")
def _():
    s = Session().connect()
    tools = s.ask("tools/list")["result"]["tools"]
    for tool in tools:
        name = tool["name"]
        assert name.lower() not in RESERVED and re.fullmatch(r"[A-Za-z0-9_.-]+", name) and len(name) <= 100, name
        assert name.strip("_.-") == name and "__" not in name and len(f"mcp__berth__{name}") <= 64, name
    assert {"read_text_file", "execute_command"} <= {t["name"] for t in tools}
    # It takes an error in these words for "has none", and logs any other with a trace of its stack.
    for method in ("resources/list", "prompts/list"):
        got = s.ask(method)
        assert "result" in got or "method not found" in got["error"]["message"].lower(), got
    assert s.end() == 0


@case("calls within its limits: ten kilobytes of arguments")
def _():
    s = Session().connect()
    got = s.ask("tools/call", {"name": "write_file", "arguments": {"path": "a.txt", "content": "ä" * 9000}})["result"]
    assert not got.get("isError"), got
    got = s.ask("tools/call", {"name": "read_text_file", "arguments": {"path": f"{WS}/a.txt"}})["result"]
    assert got["content"][0]["text"] == got["structuredContent"]["content"] == "ä" * 9000
    got = s.ask("tools/call", {"name": "execute_command", "arguments": {"command": "ls"}})["result"]
    assert got["isError"] and "`berth up`" in got["content"][0]["text"], got
    assert s.end() == 0


@case("a call that timed out is given up without a word: the rest goes on, and the end is in time")
def _():
    with open(f"{WS}/ones", "w", encoding="utf-8") as out:
        out.write("a\n" * (4 << 20))
    if os.getuid() == 0:
        os.chown(out.name, 1000, 1000)
    s = Session().connect()
    s.begin("tools/call", {"name": "edit_file", "arguments": {"path": "ones", "edits": [{"oldText": " a\n" * (1 << 19) + "b", "newText": ""}]}})
    got = s.ask("tools/call", {"name": "get_file_info", "arguments": {"path": "ones"}})["result"]
    assert not got.get("isError") and not s.late
    assert s.end() == 0


@case("a run of MassGen's moves the workspace: the newest is served, or the one that is named")
def _():
    runs = [os.path.join(os.getcwd(), f".massgen/workspaces/workspace_{n:08x}") for n in (1, 2)]
    for i, run in enumerate(runs):
        os.makedirs(run)
        while i and subprocess.check_output(["stat", "-c", "%w%y", runs[0]]) == subprocess.check_output(["stat", "-c", "%w%y", run]):
            os.rmdir(run)
            os.mkdir(run)
        if os.getuid() == 0:
            os.chown(run, 1000, 1000)
    for i, options in ((1, ()), (0, ("--workspace", runs[0])), (1, ("--workspace", f"agent_a={runs[1]}"))):
        s = Session(*options).connect()
        got = s.ask("tools/call", {"name": "write_file", "arguments": {"path": "a.txt", "content": str(i)}})["result"]
        assert not got.get("isError"), got
        assert s.end() == 0
        with open(f"{runs[i]}/a.txt", encoding="utf-8") as text:
            assert text.read() == str(i)
        os.remove(f"{runs[i]}/a.txt")
    for wrong in (WS, f"agent_b={runs[0]}", f"{runs[0]}/..", "/etc"):
        done = subprocess.run([BERTH, "-c", "massgen.yaml", "mcp", "--agent", "agent_a", "--workspace", wrong], env=ENV,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 2 and "is not a workspace that a run of MassGen has for the agent agent_a" in done.stderr, done
    shutil.rmtree(".massgen")


@case("the entries for it name what its allow-list needs")
def _():
    for path in ("configs/massgen.yaml", "configs/pages/berth-mcp.1.txt"):
        with open(os.path.join(os.environ["SRC"], path), encoding="utf-8") as text:
            assert re.search(r"command: berth\b[^}]*?allowed_executables: \[berth\]", text.read(), re.S), path


@case("the entries for other clients are what these read")
def _():
    with open(os.path.join(os.environ["SRC"], "configs/pages/berth-mcp.1.txt"), encoding="utf-8") as text:
        blocks = re.findall(r"(?:^    .*\n)+", text.read(), re.M)
    command = ["berth", "-c", "/path/to/team.yaml", "mcp", "--agent", "alpha"]
    found = {}
    for block in blocks:
        if block.lstrip().startswith("{"):
            key, servers = next(iter(json.loads(block).items()))
            if "berth" in servers:
                found[key] = servers["berth"]
        elif block.lstrip().startswith("["):
            found["toml"] = tomllib.loads(textwrap.dedent(block))["mcp_servers"]["berth"]
    for key in ("mcpServers", "servers", "toml"):
        assert [found[key]["command"], *found[key]["args"]] == command, (key, found)
    assert found["servers"]["type"] == "stdio"
    assert found["mcp"] == {"type": "local", "enabled": True, "command": command}
    with open(os.path.join(os.environ["SRC"], "configs/examples/mcp.json"), encoding="utf-8") as text:
        assert json.load(text)["mcpServers"]["berth"] == found["mcpServers"]


main()
