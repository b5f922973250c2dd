#!/usr/bin/env python3
"""mcp_calls.py - what the console shows of an agent's calls: as they happen, secrets masked, nothing of it obeyed."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from mcp_client import BERTH, Client, case, main  # noqa: E402

os.chdir(os.environ["TMPDIR"])
os.environ["XDG_STATE_HOME"] = os.path.join(os.getcwd(), "state")
os.environ["XDG_RUNTIME_DIR"] = os.path.join(os.getcwd(), "run")
WS = os.path.join(os.getcwd(), "ws")
for d in (WS, "run"):
    os.mkdir(d, 0o700)
if os.getuid() == 0:
    os.chown(WS, 1000, 1000)
with open("team.yaml", "w", encoding="utf-8") as f:
    f.write(f"agents:\n  one:\n    image: box:1\n    workspace: {WS}\n")


def console(*lines):
    """What the console shows of the calls of all agents, then after each of these lines of a script."""
    with open("calls.script", "w", encoding="utf-8") as f:
        f.write("\n".join(["size 160 40", "key 1", "key t", *lines]) + "\n")
    got = subprocess.run([BERTH, "-H", f"unix://{os.getcwd()}/none.sock", "--script", "calls.script"],
                         capture_output=True, text=True, timeout=60, check=False)
    assert got.returncode == 0, (got.stdout, got.stderr)
    return got.stdout


@case("there is none: it says how there would be")
def _():
    assert "no server runs" in console("wait No call yet", "dump")


@case("calls as they happen, and one in full")
def _():
    with Client("team.yaml") as c:
        c.call("write_file", path="a.txt", content="hello\nPASSWORD=hunter2\n")
        c.call("read_text_file", path="a.txt")
        c.fails("read_text_file", path="none\x1b[31m.txt")
        shown = console("wait 3 calls", "dump", "key j Enter", "wait RESULT", "dump")
        assert "1 error" in shown and "write_file" in shown and "path: a.txt" in shown, shown
        assert "hello" in shown and "hunter2" not in shown, shown
        assert "\x1b" not in shown, shown
    assert "no server runs" in console("wait write_file", "dump")


@case("a value whose name tells a secret is not kept")
def _():
    with Client("team.yaml") as c:
        c.ask("tools/call", name="read_text_file", arguments={"path": "a.txt", "api_token": "s3cr3t-value"})
        kept = subprocess.run(["grep", "-rac", "s3cr3t-value", "run"], capture_output=True, text=True, check=False)
        assert all(line.endswith(":0") for line in kept.stdout.split()), kept.stdout


main()
