#!/usr/bin/env python3
"""mcp_waiting.py - `berth mcp`: many calls that wait, that are cancelled, or that ask for the last of something at the same time."""
import fcntl
import json
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


def waiting_for(lock):
    """How many processes wait for this lock."""
    inode = os.fstat(lock.fileno()).st_ino
    with open("/proc/locks", encoding="ascii") as locks:
        return sum("-> FLOCK" in line and line.split()[6].endswith(f":{inode}") for line in locks)


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


@case("forks: 1 is one fork, however many are asked for at the same time")
def _():
    for task, most in (("forked0", 1), ("forked1", 2)):
        servers = [Client("team.yaml", agent=task) for _ in range(most)]
        numbers = [(c, c.begin("tools/call", name="fork", arguments={"reason": "x"})) for _ in range(8) for c in servers]
        got = [c.wait(n)["result"] for c, n in numbers]
        made = [x["structuredContent"]["forks"] for x in got if not x.get("isError")]
        assert len(made) == 1 and len(made[0]) == 1, got
        assert all("need approval" in x["content"][0]["text"] for x in got if x.get("isError")), got
        assert [d for d in os.listdir(f"{TREE}/tasks") if d.startswith(f"{task}-")] == [f"{task}-1"], os.listdir(f"{TREE}/tasks")
        for c in servers:
            c.__exit__()


@case("who waits to fork is not waited for when it is cancelled")
def _():
    with open(f"{TREE}/.forking", "w", encoding="ascii") as lock, Client("team.yaml", agent="forked2") as c:
        fcntl.flock(lock, fcntl.LOCK_EX)
        n = c.begin("tools/call", name="fork", arguments={})
        cancel(c, n)
        assert c.call("list_directory", path=".")
        c.server.stdin.close()
        assert c.server.wait(PATIENCE) == 0 and n not in c.answers


@case("what is handed over at the same time is no more than the limit")
def _():
    names = [f"files/big{n}" for n in range(8)]
    for name in names:
        with open(f"{TREE}/tasks/giver/{name}", "wb") as out:
            out.write(os.urandom(400000))
    with open("small.set", "w", encoding="utf-8") as out:
        out.write("workspaces: {limit_bytes: 1m}\n")
    os.makedirs(f"{TREE}/shared/inter_task/taker", exist_ok=True)
    with Client("team.yaml", "--settings", "small.set", agent="giver") as c:
        with open(f"{TREE}/.handing", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            numbers = [c.begin("tools/call", name="hand_over", arguments={"task": "taker", "paths": [name]}) for name in names]
            # Each looks at what is there only when it is its turn.
            wait_until(lambda: waiting_for(lock) == len(names))
            assert not set(numbers) & set(c.answers)
        got = [c.wait(n)["result"] for n in numbers]
    held = os.listdir(f"{TREE}/shared/inter_task/taker/giver/files")
    assert len(held) == 2, (held, got)
    assert sum(not x.get("isError") for x in got) == 2, got
    assert json.dumps(got).count("more than the limit of its workspace") == 6, got


main()
