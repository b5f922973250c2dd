#!/usr/bin/env python3
"""egress_relay.py - egress by a relay, as where no descriptor crosses.

`path: relay` in a definition says so for a runtime where they would; the frames are tried one by one in unit/mux.c.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from boxed import connect as connect_to  # noqa: E402
from boxed import BERTH, Server, begin, berth, case, clients, done, echo, end_pid, end_pids, inside, wait_until, write_team  # noqa: E402
from said import everything  # noqa: E402

ID = begin("relay")
BOX = f"berth-{ID}"
HERE = "127.81.0.1"
ECHO = Server(echo, HERE)
PIECE = os.urandom(1 << 20)
DOWN = Server(lambda server, conn: [conn.sendall(PIECE) for _ in range(16)], HERE)


def write_path(path):
    write_team(f"network: {{path: {path}, allow: ['{HERE}:{ECHO.port}', '{HERE}:{DOWN.port}']}}")


def connect(port):
    return connect_to(f"{HERE}:{port}")


def reaches():
    try:
        s, head = connect(ECHO.port)
    except OSError:
        return False
    with s:
        if not head.startswith(b"HTTP/1.1 200"):
            return False
        s.sendall(b"x")
        return s.recv(1) == b"x"


def relays():
    """Numbers, inside, of the program that carries connections."""
    out = berth("exec", ID, "--", "sh", "-c", "grep -l '^berth-relay$' /proc/[0-9]*/comm 2>/dev/null; true")
    return [line.split("/")[2] for line in out.split()]


def usage():
    return json.loads(berth("net", "usage", ID, "--json"))


@case("up starts a relay in the place of sockets, and says so")
def _():
    write_path("relay")
    berth("up", "team.yaml")
    assert len(end_pids()) == 1 and len(relays()) == 1, (end_pids(), relays())
    assert usage()["path"] == "relay" and "by a relay" in berth("net", "usage", ID)
    listed = {a["id"]: a["path"] for a in json.loads(berth("agent", "list", "--json"))["agents"]}
    assert listed[ID] == "relay" and f"{ID:20}  up         relay " in berth("agent", "list"), listed
    links = [os.readlink(f"/proc/{end_pid()}/fd/{fd}") for fd in os.listdir(f"/proc/{end_pid()}/fd")]
    assert all(x.startswith(("socket:", "anon_inode:", "pipe:", "/dev/null")) for x in links), links
    with open(f"/proc/{end_pid()}/status", encoding="ascii") as f:
        status = dict(line.split(":\t", 1) for line in f.read().splitlines() if ":\t" in line)
    assert status["Uid"].split() == ["65534"] * 4 and status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", status


@case("what is allowed is reached, and what is not is refused")
def _():
    assert reaches()
    s, head = connect(ECHO.port + 1)
    with s:
        assert head.startswith(b"HTTP/1.1 403") and b"berth net allow" in everything(s), head


@case("megabytes each way, to their end, on eight connections at once")
def _():
    wrong = []

    def up():
        s, head = connect(ECHO.port)
        with s:
            got = b""
            sender = threading.Thread(target=s.sendall, args=(PIECE,))
            sender.start()
            while len(got) < len(PIECE) and (more := s.recv(1 << 16)):
                got += more
            sender.join()
            if got != PIECE or not head.startswith(b"HTTP/1.1 200"):
                wrong.append("up")

    def down():
        s, head = connect(DOWN.port)
        with s:
            if everything(s) != PIECE * 16 or not head.startswith(b"HTTP/1.1 200"):
                wrong.append("down")

    threads = [threading.Thread(target=t) for t in (up, down) * 4]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong


@case("who reads nothing keeps nobody waiting")
def _():
    slow = [connect(DOWN.port)[0] for _ in range(20)]
    assert reaches()
    for s in slow:
        s.close()
    wait_until(lambda: usage()["open"] == 0)


@case("more clients than a relay carries wait, and are served")
def _():
    first, idle = end_pid(), clients(300)
    for s in idle[:200]:
        s.close()
    wait_until(reaches)
    for s in idle:
        s.close()
    wait_until(lambda: usage()["open"] == 0)
    assert end_pid() == first  # or all of them were cut off


@case("a decision closes what is open, also for who does nothing")
def _():
    s, head = connect(ECHO.port)
    with s:
        assert head.startswith(b"HTTP/1.1 200")
        berth("net", "deny", ID, f"{HERE}:{ECHO.port}")
        assert s.recv(1) == b""
    berth("net", "forget", ID, f"{HERE}:{ECHO.port}")
    assert reaches()


@case("an agent that ends its relay has lost its egress, and the keeper starts another")
def _():
    first, was = end_pid(), relays()
    berth("exec", ID, "--", "kill", "-9", *was)
    wait_until(lambda: reaches() and end_pid() != first)
    assert relays() != was and len(relays()) == 1, (was, relays())


@case("kill -9 of the end: its relay goes with it, and the keeper starts both")
def _():
    first = end_pid()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: reaches() and end_pid() not in (0, first))
    assert len(relays()) == 1, relays()


@case("a relay of the agent's own gets nothing and hurts nobody")
def _():
    p = subprocess.run([BERTH, "exec", ID, "--", "/.berth/init", "relay"], input=bytes([1, 0, 0, 0, 0, 0, 0, 0]), capture_output=True, timeout=60,
                       check=False)
    assert p.returncode == 1 and p.stdout[0] == 1 and p.stdout[4] == 98, p  # EADDRINUSE
    assert reaches()


@case("its port taken by a command: up says so, and nothing else is harmed")
def _():
    with open(f"{os.environ['XDG_RUNTIME_DIR']}/berth/keeper", encoding="ascii") as f:
        keeper = int(f.read())
    os.kill(keeper, signal.SIGSTOP)
    try:
        os.kill(end_pid(), signal.SIGKILL)
        wait_until(lambda: not relays())
        with inside(lambda: socket.create_server(("127.0.0.1", 3128))):
            out = berth("up", "team.yaml", code=1)
            assert "has taken port 3128" in out, out
        berth("up", "team.yaml")
        assert reaches()
    finally:
        os.kill(keeper, signal.SIGCONT)


def container_id():
    return next(c["id"] for c in json.loads(berth("ps", "--json"))["containers"] if c["name"] == BOX)


@case("another path is another container")
def _():
    before = container_id()
    write_path("lane")
    berth("up", "team.yaml")
    assert reaches() and usage()["path"] == "lane" and relays() == [] and container_id() != before
    write_path("relay")
    berth("up", "team.yaml")
    assert reaches() and usage()["path"] == "relay"


@case("down leaves nothing of it")
def _():
    berth("down", "team.yaml")
    wait_until(lambda: not end_pids())
    assert not [f for f in os.listdir(f"{os.environ['XDG_RUNTIME_DIR']}/berth/egress") if f.startswith(BOX)]


done()
