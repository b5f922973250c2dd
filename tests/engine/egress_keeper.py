#!/usr/bin/env python3
"""egress_keeper.py - an agent's end of egress that dies is started again: by the session's keeper, without `up`.

As egress.py: the test speaks from inside the container's network; the server is on this machine's loopback.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from boxed import BERTH, PATIENCE, Server, begin, berth, case, done, end_pid, inside, wait_until, write, write_team  # noqa: E402
from said import everything  # noqa: E402

ID = begin("keep")
RUN = f"{os.environ['XDG_RUNTIME_DIR']}/berth"
HERE = "127.79.0.1"
BOX = f"berth-{ID}"
KEYS = {"FROM_FILE": "key-of-a-file-0123456789", "FROM_COMMAND": "key-of-a-command-0123456789", "FROM_ENV": "key-of-a-shell-0123456789"}
PORT = Server(lambda server, conn: conn.sendall(b"hello"), HERE).port
ROUTES = {name: {"to": f"https://{HERE}:{PORT}", "header": f"X-Key: ${{secret:{secret}}}", "allow": ["GET /x"]}
          for name, secret in (("file", "FROM_FILE"), ("command", "FROM_COMMAND"), ("shell", "FROM_ENV"))}
write("key", KEYS["FROM_FILE"] + "\n", 0o600)
write("tell", f"#!/bin/sh\necho '{KEYS['FROM_COMMAND']}'\n", 0o755)
write_team(f"network: {{allow: ['{HERE}:{PORT}'], routes: {json.dumps(ROUTES)}}}", f"""secrets:
  FROM_FILE: {{file: key}}
  FROM_COMMAND: {{command: [{os.getcwd()}/tell, "a word", "", "it's"]}}
  FROM_ENV: {{env: EGRESS_TEST_KEY}}
""")


def up():
    berth("up", "team.yaml", env={"EGRESS_TEST_KEY": KEYS["FROM_ENV"]})


def say(request):
    def run():
        with socket.socket() as s:
            s.settimeout(PATIENCE)
            try:
                s.connect(("127.0.0.1", 3128))
                s.sendall(request)
                return everything(s).decode()
            except OSError:
                return ""
    return inside(run)


def reaches():
    said = say(f"CONNECT {HERE}:{PORT} HTTP/1.1\r\nHost: {HERE}:{PORT}\r\n\r\n".encode())
    return said.startswith("HTTP/1.1 200") and said.endswith("hello")


def route(name):
    return say(f"GET /{name}/x HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n\r\n".encode())


def states():
    return {r["name"]: r["state"] for r in json.loads(berth("net", "usage", ID, "--json"))["routes"]}


def keeper():
    try:
        with open(f"{RUN}/keeper", encoding="utf-8") as f:
            pid = int(f.read())
        os.kill(pid, 0)
        return pid
    except (OSError, ValueError):
        return 0


def records():
    out = berth("audit", "list", "--json", "--act", "net.restart")
    return [x for x in map(json.loads, out.splitlines()) if x.get("phase") == "outcome"]


@case("up starts a keeper for egress alone, and keeps references of routes, no key")
def _():
    up()
    assert keeper() and reaches()
    assert set(states().values()) == {"ready"}, states()
    with open(f"{RUN}/egress/{BOX}.routes", encoding="utf-8") as f:
        kept = f.read()
    assert "secret file " in kept and "secret command" in kept and not [k for k in KEYS.values() if k in kept], kept
    assert os.stat(f"{RUN}/egress/{BOX}.routes").st_mode & 0o777 == 0o600
    found = subprocess.run(["grep", "-rlaE", "|".join(KEYS.values()), RUN], capture_output=True, text=True, check=False)
    assert not found.stdout, found.stdout


@case("kill -9 of the end: the next connection works, it is on record, and keys are there again that can be")
def _():
    took = []
    for n in range(3):
        first = end_pid()
        os.kill(first, signal.SIGKILL)
        began = time.monotonic()
        wait_until(reaches)
        took.append((time.monotonic() - began) * 1000)
        assert end_pid() not in (0, first)
        told = wait_until(lambda n=n: len(r := records()) > n and r)
        assert told[-1]["outcome"] == "ok" and BOX in json.dumps(told[-1]) and '"unresolved": "1"' in json.dumps(told[-1]), told[-1]
    print(f"# kill -9 to the next connection through, n {len(took)}: " + ", ".join(f"{t:.0f} ms" for t in took))
    assert states() == {"file": "ready", "command": "ready", "shell": "key missing"}, states()
    said = route("shell")
    assert said.startswith("HTTP/1.1 503") and "key of the route shell is missing" in said and "berth up" in said, said
    assert "key missing" in berth("net", "usage", ID)


@case("what a person decided is there again, and up brings the shell's key")
def _():
    berth("net", "deny", ID, f"{HERE}:{PORT}")
    first = end_pid()
    os.kill(first, signal.SIGKILL)
    request = f"CONNECT {HERE}:{PORT} HTTP/1.1\r\n\r\n".encode()
    wait_until(lambda: "denied by a rule" in say(request))
    assert end_pid() != first
    berth("net", "forget", ID, f"{HERE}:{PORT}")
    up()
    assert reaches() and set(states().values()) == {"ready"}, states()


@case("the row says lost while it is away, and that it is back")
def _():
    os.kill(keeper(), signal.SIGSTOP)
    os.kill(end_pid(), signal.SIGKILL)
    with open("lost.script", "w", encoding="utf-8") as f:
        f.write(f"size 160 40\nwait {ID}\nkey 1\nwait egress lost\n")
    p = subprocess.run([BERTH, "-c", "team.yaml", "--script", "lost.script"], capture_output=True, text=True, timeout=60, check=False)
    os.kill(keeper(), signal.SIGCONT)
    assert p.returncode == 0, p.stdout + p.stderr
    wait_until(reaches)


@case("without a keeper doctor says so, and up starts one")
def _():
    first = keeper()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: not keeper())
    assert "nothing restarts the egress of 1 agent if it dies" in berth("doctor"), berth("doctor")
    os.kill(end_pid(), signal.SIGKILL)
    up()
    assert wait_until(keeper) != first and reaches()


@case("with its container the end goes, is not started again, and the keeper ends")
def _():
    n = len(records())
    subprocess.run(["docker", "kill", BOX], check=True, capture_output=True)
    wait_until(lambda: not end_pid())
    wait_until(lambda: not keeper())
    assert len(records()) == n, records()[n:]


@case("down ends it all")
def _():
    up()
    assert keeper() and reaches()
    berth("down", "team.yaml")
    wait_until(lambda: not keeper() and not end_pid())
    left = [f for f in os.listdir(f"{RUN}/egress") if f.startswith(BOX)]
    assert not left, left


done()
