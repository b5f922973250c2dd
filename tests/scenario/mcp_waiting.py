#!/usr/bin/env python3
"""mcp_waiting.py - `berth mcp`: many calls that wait, that are cancelled, or that ask for the last of something at the same time."""
import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from mcp_client import BERTH, PATIENCE, Client, case, main  # noqa: E402

os.chdir(os.environ["TMPDIR"])
os.environ["XDG_STATE_HOME"] = os.path.join(os.getcwd(), "state")
os.environ["XDG_DATA_HOME"] = os.path.join(os.getcwd(), "data")
TREE = os.path.join(os.environ["XDG_DATA_HOME"], "berth/workspaces")
USER = 1000 if os.getuid() == 0 else os.getuid()
TASKS = [f"forked{n}" for n in range(3)] + ["giver", "taker"]
for task in TASKS:
    subprocess.run([BERTH, "workspace", "create", "task", task], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["chown", "-R", f"{USER}:{USER}", f"{TREE}/tasks/{task}"], check=True)
with open("team.yaml", "w", encoding="utf-8") as out:
    out.write("agents:\n" + "".join(f"  {t}: {{image: 'box:1', workspace: '{TREE}/tasks/{t}', forks: 1, hand_over: [taker]}}\n" for t in TASKS))
os.chmod("team.yaml", 0o644)
SILENT = socket.socket(socket.AF_UNIX)  # an engine that takes every connection and never answers
SILENT.bind("silent.sock")
SILENT.listen(256)
HOST = ("-H", f"unix://{os.getcwd()}/silent.sock")


def wait_until(what):
    until = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


def children(c):
    """How many processes the server waits for."""
    n = 0
    for task in os.listdir(f"/proc/{c.server.pid}/task"):
        with open(f"/proc/{c.server.pid}/task/{task}/children", encoding="ascii") as f:
            n += len(f.read().split())
    return n


def cancel(c, number):
    c.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number} | ({"_meta": c.meta()} if c.meta() else {})})


@case("a cancelled call ends, and the server does not")
def _():
    for era in ("old", "new"):
        with Client("team.yaml", *HOST, agent="giver", era=era) as c:
            for _ in range(8):
                # Of several berth operations: the first is ended, and no other starts.
                numbers = [c.begin("tools/call", name="limits", arguments={}) for _ in range(4)]
                wait_until(lambda: children(c) == 4)
                for n in numbers:
                    cancel(c, n)
                wait_until(lambda: not children(c))
                assert c.call("list_directory", path=".")
            assert c.server.poll() is None and not set(c.answers)


@case("calls that wait for other processes keep no short call waiting")
def _():
    with Client("team.yaml", *HOST, agent="giver") as c:
        numbers = [c.begin("tools/call", name="limits", arguments={}) for _ in range(40)]
        wait_until(lambda: children(c) > 31)
        for i in range(10):
            c.call("write_file", path=f"files/short{i}", content="x")
        assert c.call("list_commands") == {"commands": []}
        assert not set(numbers) & set(c.answers)
        for n in numbers:
            cancel(c, n)
        wait_until(lambda: not children(c))


main()
