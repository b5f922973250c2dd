#!/usr/bin/env python3
"""mcp_clients.py - clients that others wrote drive every tool: the SDKs of both eras, and the inspector's command line.

They come from npm.  They check what they get against the schemas themselves; what each tool answered to each of them is
compared with what is written here.
"""
import contextlib
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import npm  # noqa: E402
from mcp_client import BERTH, case, main  # noqa: E402

SDK, CLIENT, INSPECTOR = "@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/client@2.4.0", "@modelcontextprotocol/inspector@2.12.0"
DRIVER = os.path.join(os.environ["SRC"], "tests/lib/mcp_sdk.mjs")
os.chdir(os.environ["TMPDIR"])
os.chmod(".", 0o755)
HERE, ID = os.getcwd(), f"cl{os.getpid()}"


def found(place, why):
    if why:
        print(f"skip mcp_clients: {why}")
        sys.exit(77)
    return place


def berth(*words):
    got = subprocess.run([BERTH, *words], capture_output=True, text=True, check=False)
    assert got.returncode == 0, (words, got.stderr)
    return got.stdout


NODE = found(*npm.node())
PLACE = found(*npm.install("mcp-clients-1.32.2-2.4.0-2.12.0", SDK, CLIENT, INSPECTOR))
os.environ["XDG_DATA_HOME"] = os.path.join(HERE, "data")
os.environ["XDG_STATE_HOME"] = os.path.join(HERE, "state")
os.environ["DOCKER_HOST"] = os.environ["BERTH_TEST_ENGINE"]
os.environ["MCP_CATALOG_PATH"] = os.path.join(HERE, "catalog.json")
TASKS = os.path.join(HERE, "data/berth/workspaces/tasks")
PICTURE = "iVBORw0KGgo="


@contextlib.contextmanager
def agent_up(agent):
    """A task of its own for each client, with the same files."""
    with open(f"{agent}.yaml", "w", encoding="utf-8") as out:
        out.write(f"""agents:
  {agent}: {{image: 'box:1', workspace: 'task:{agent}', memory: 64m, pids: 128, forks: 5, hand_over: [reader],
    network: {{allow: [ok.test]}}}}
custom_tools:
  {agent}t: {{type: docker, image: 'box:1', script: 'echo "got $1"'}}
""")
    os.chmod(out.name, 0o644)
    berth("up", "--create", out.name)
    with open(f"{TASKS}/{agent}/p.png", "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n")
    subprocess.run(["chown", "1000:1000", out.name], check=True)
    try:
        yield
    finally:
        berth("down", f"{agent}.yaml")


def steps(agent):
    """Of every tool at least one call: its arguments, and what has to stand in the answer; "!" first: in its error."""
    ws = f"{TASKS}/{agent}"
    return [
        ("write_file", {"path": "a.txt", "content": "one\ntwo\n"}, "a.txt"),
        ("write_multiple_files", {"files": [{"path": "d/b.txt", "content": "two\n"}, {"path": "d/c.txt", "content": "x"}]}, '"written":2'),
        ("read_text_file", {"path": "a.txt"}, "one\\ntwo\\n"),
        ("read_file", {"path": "a.txt", "head": 1}, "one\\n"),
        ("read_media_file", {"path": "p.png"}, PICTURE),
        ("read_multiple_files", {"paths": ["a.txt", "none"]}, "none: Error - "),
        ("edit_file", {"path": "a.txt", "edits": [{"oldText": "one", "newText": "1"}], "dryRun": True}, "-one"),
        ("create_directory", {"path": "e/f"}, "e/f"),
        ("list_directory", {"path": "d"}, "[FILE] b.txt"),
        ("list_directory_with_sizes", {"path": "d", "sortBy": "size"}, "Total: 2 files"),
        ("directory_tree", {"path": "d"}, "c.txt"),
        ("move_file", {"source": "d/c.txt", "destination": "d/moved"}, "moved"),
        ("search_files", {"path": ".", "pattern": "*.txt"}, f"{ws}/a.txt"),
        ("get_file_info", {"path": "a.txt"}, "size: 8"),
        ("list_allowed_directories", {}, ws),
        ("scan_directory", {"path": "d"}, '"files":2'),
        ("search_text", {"path": ".", "pattern": "t.o", "regex": True}, '"hits":2'),
        ("transform_files", {"path": "d", "pattern": "two", "replacement": "second"}, '"applied":false'),
        ("copy_files", {"source": "d", "destination": "g"}, '"files":2'),
        ("delete_files", {"paths": ["g"], "recursive": True}, '"files":2'),
        ("compare_files", {"file1": "a.txt", "file2": "d/b.txt"}, "-one"),
        ("compare_directories", {"dir1": "d", "dir2": "e"}, '"equal":false'),
        ("execute_command", {"command": "cat a.txt; exit 3"}, '"exit_code":3'),
        ("start_command", {"command": "read x; echo got $x"}, '"command_id":2'),
        ("list_commands", {}, '"commands":['),
        ("write_command", {"command_id": 2, "input": "it\n"}, '"written":3'),
        ("read_command", {"command_id": 2, "wait": 30}, "got it\\n"),
        ("kill_command", {"command_id": 2}, '"state":"ended"'),
        ("list_tools", {}, f"{agent}t"),
        ("run_tool", {"tool": f"{agent}t", "args": ["word"]}, "got word"),
        ("checkpoint", {"checkpoint": "c1"}, '"name":"c1"'),
        ("workspace_info", {}, "c1"),
        ("write_file", {"path": "a.txt", "content": "other\n"}, "a.txt"),
        ("diff", {"from": "c1"}, '"path":"a.txt"'),
        ("restore", {"checkpoint": "c1"}, '"checkpoint":"c1"'),
        ("read_text_file", {"path": "a.txt"}, "one\\ntwo\\n"),
        ("fork", {"count": 1}, f"{agent}-1"),
        ("limits", {}, '"memory_bytes"'),
        ("network_log", {}, '"connections":['),
        ("request_egress", {"host": "a.test", "reason": "a test"}, '"allowed":false'),
        ("expose_port", {"port": 80}, "!does not list 80"),
        ("put_result", {"result": "r", "text": "done"}, '"name":"r"'),
        ("get_results", {}, "done"),
        ("list_shared", {}, '"version":"start"'),
        ("hand_over", {"task": "nobody", "paths": ["a.txt"]}, "!does not name it"),
        ("read_text_file", {"path": "/etc/passwd"}, "!outside"),
        ("read_text_file", {"way": 1}, "!argument"),
    ]


def judge(client, tools, plan, results):
    listed = {t["name"] for t in tools}
    planned = {name for name, _, _ in plan}
    assert planned - {"read_file"} <= listed, (client, planned - listed)
    assert len(results) == len(plan) > 40, client
    for (name, _, expected), got in zip(plan, results, strict=True):
        said = json.dumps(got, separators=(",", ":"), ensure_ascii=False)
        print(f"# {client}: {name}: {said[:100]}")
        assert "thrown" not in got, (client, name, got)
        assert bool(got.get("isError")) == expected.startswith("!"), (client, name, got)
        # An object stands in the text, too, as JSON.
        assert expected.lstrip("!") in said or expected in said.replace('\\"', '"'), (client, name, expected, said)


def drive(era, agent):
    plan = steps(agent)
    about = {"era": era, "command": BERTH, "args": ["-c", f"{agent}.yaml", "mcp"], "steps": [[n, a] for n, a, _ in plan]}
    with agent_up(agent):
        got = subprocess.run([NODE, DRIVER, PLACE], input=json.dumps(about), capture_output=True, text=True, timeout=300,
                             check=False)
    assert got.returncode == 0, got.stderr
    got = json.loads(got.stdout)
    judge(era, got["tools"], plan, got["results"])
    left = {t["name"] for t in got["tools"]} - {name for name, _, _ in plan}
    print(f"# {era}: {got['version']}, {len(got['tools'])} tools")
    assert not left, left
    assert [r["uri"] for r in got["resources"]] == [f"berth://agent/{agent}/{n}" for n in ("journal", "limits", "network", "workspace")]
    return got


@case("the SDK of the old era")
def _():
    drive("old", f"{ID}a")


@case("the client of the new era, with a session")
def _():
    assert drive("legacy", f"{ID}b")["version"] == "2025-11-25"


@case("the client of the new era, each request for itself")
def _():
    assert drive("new", f"{ID}c")["version"] == "2026-07-28"


@case("the client of the new era, which looks for itself")
def _():
    assert drive("auto", f"{ID}d")["version"] == "2026-07-28"


def inspect(agent, *words):
    """It hands on few variables of its own accord."""
    env = [w for k in ("DOCKER_HOST", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR") for w in ("-e", f"{k}={os.environ[k]}")]
    return subprocess.run([NODE, f"{PLACE}/node_modules/.bin/mcp-inspector", "--cli", *env, BERTH, "-c", f"{agent}.yaml", "mcp", *words],
                          capture_output=True, text=True, timeout=120, check=False)


@case("the inspector's command line: a server for each call")
def _():
    agent, results, plan = f"{ID}e", [], []
    with agent_up(agent):
        got = inspect(agent, "--method", "tools/list", "--strict")
        assert got.returncode == 0, (got.stdout, got.stderr)
        tools = json.loads(got.stdout)["tools"]
        for name, arguments, expected in steps(agent):
            if name == "read_file":
                continue  # it is not listed, and the inspector asks for nothing else
            if name in ("read_command", "write_command", "kill_command"):
                expected = "!no command"
            words = [w for k, v in arguments.items() for w in ("--tool-arg", f"{k}={v if isinstance(v, str) else json.dumps(v)}")]
            got = inspect(agent, "--method", "tools/call", "--tool-name", name, *words)
            assert got.stdout.startswith("{"), (name, got.stdout, got.stderr)
            results.append(json.loads(got.stdout))
            plan.append((name, arguments, '"command_id":1' if name == "start_command" else expected))
    judge("inspector", tools, plan, results)


main()
