#!/usr/bin/env python3
"""sandbox.py - an agent in gVisor: up, commands by the engine with the lane's results, egress by a relay, what is told of it.

The engine has runsc as a runtime (lib/engine.sh); the package is Debian's.
"""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from boxed import BERTH, Server, begin, berth, case, done, end_pid, end_pids, wait_until, write  # noqa: E402

ID = begin("sand", "127.82.0.1 web.test")
BOX = f"berth-{ID}"
HERE = "127.82.0.1"


def write_team(more, rest="", pids=512):
    write("team.yaml", f"agents:\n  {ID}: {{image: 'box:1', workspace: {os.getcwd()}/ws, memory: 128m, pids: {pids}, {more}}}\n{rest}")


def web(server, conn):
    while b"\r\n\r\n" not in server.heard:
        more = conn.recv(65536)
        if not more:
            return
        server.heard += more
    server.heard = b""
    conn.sendall(b"HTTP/1.0 200 OK\r\n\r\nyes")


WEB = Server(web, HERE)


def run(*argv, code=0, more=()):
    p = subprocess.run([BERTH, "exec", "--json", *more, ID, "--", *argv], capture_output=True, text=True, timeout=120, check=False)
    assert p.returncode == code, (argv, p.returncode, p.stdout, p.stderr)
    return json.loads(p.stdout)


def ps():
    return next(c for c in json.loads(berth("ps", "--json"))["containers"] if c["name"] == BOX)


def processes():
    """Command lines inside."""
    return berth("exec", ID, "--", "sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")


@case("a runtime that the engine does not have is refused in a sentence that names those it has")
def _():
    write_team("runtime: nosuch")
    out = berth("up", "team.yaml", code=2)
    assert f"{ID}: this engine has no runtime nosuch, only " in out and "runsc" in out and "daemon.json" in out, out
    assert not [c for c in json.loads(berth("ps", "--json", "--all"))["containers"] if c["name"] == BOX]
    write_team("runtime: '../x'")
    assert "expected the name of a runtime" in berth("config", "check", "team.yaml", code=2)


@case("secrets and sudo do not go in: refused before anything is made")
def _():
    write_team("runtime: runsc, secrets: [k]", "secrets: {k: {env: HOME}}\n")
    assert "supports neither secrets nor sudo" in berth("up", "team.yaml", code=2)
    write_team("runtime: runsc, sudo: true")
    assert "neither secrets nor sudo" in berth("up", "team.yaml", code=2)
    write_team("runtime: runsc", pids=64)
    assert "pids: 64 is too low for its runtime runsc" in berth("up", "team.yaml", code=2)
    assert not [c for c in json.loads(berth("ps", "--json", "--all"))["containers"] if c["name"] == BOX]


@case("up: it is gVisor, its limits and mounts were read back, and that is told")
def _():
    write("ws/file", "of the workspace\n")
    write_team(f"runtime: runsc, network: {{allow: ['{HERE}:{WEB.port}']}}")
    out = berth("up", "--json", "team.yaml")
    assert "runsc, a kernel of its own" in out, out
    assert "gVisor" in berth("exec", ID, "--", "dmesg")
    p = subprocess.run(["docker", "inspect", "-f", "{{.HostConfig.Runtime}}", BOX], capture_output=True, text=True, check=True)
    assert p.stdout.strip() == "runsc"
    assert "runsc (gVisor)" in berth("doctor")


@case("commands: by the engine, with their codes, signals, input and output")
def _():
    one = run("cat", f"{os.getcwd()}/ws/file")
    assert one["path"] == "engine" and one["ended"] == "exit", one
    assert berth("exec", ID, "--", "cat", f"{os.getcwd()}/ws/file") == "of the workspace\n"
    assert run("sh", "-c", "exit 7", code=7)["ended"] == "exit"
    assert run("/no/such", code=127)["ended"] == "failed"
    assert run("/etc", code=126)["ended"] == "failed"
    p = subprocess.run([BERTH, "exec", ID, "--", "sh", "-c", "cat; echo err >&2"], input="in", capture_output=True, text=True, timeout=60, check=False)
    assert (p.returncode, p.stdout, p.stderr) == (0, "in", "err\n"), p
    assert berth("exec", ID, "--", "sh", "-c", "id -u; env | grep -c ^HTTP_PROXY=") == "1000\n1\n"


@case("what a command leaves behind ends with it")
def _():
    run("sh", "-c", "setsid sleep 54321 </dev/null >/dev/null 2>&1 & (setsid sleep 54321 &) ; exit 0")
    wait_until(lambda: "54321" not in processes().replace("cat /proc", ""))


@case("a time-out ends the command and all of it")
def _():
    one = run("sh", "-c", "setsid sleep 65432 & trap '' TERM; sleep 65432; sleep 65432", code=124, more=("--timeout", "1"))
    assert one["ended"] == "timeout", one
    wait_until(lambda: "65432" not in processes())


@case("C-c ends the command and all of it")
def _():
    with subprocess.Popen([BERTH, "exec", ID, "--", "sh", "-c", "echo on; sleep 76543; sleep 76543"], stdout=subprocess.PIPE, text=True) as p:
        assert p.stdout.readline() == "on\n"
        p.send_signal(signal.SIGINT)
        code = p.wait(60)
        assert code == 143, code
    wait_until(lambda: "76543" not in processes())


@case("egress: by a relay, allowed and refused, and again after each end was killed")
def _():
    fetch = ("wget", "-q", "-O", "-", f"http://{HERE}:{WEB.port}/x")
    assert berth("exec", ID, "--", *fetch) == "yes"
    assert "403" in berth("exec", ID, "--", "wget", "-O", "-", f"http://{HERE}:{WEB.port + 1}/x", code=1)
    assert json.loads(berth("net", "usage", ID, "--json"))["path"] == "relay"
    first = end_pid()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: end_pid() not in (0, first) and subprocess.run([BERTH, "exec", ID, "--", *fetch], capture_output=True,
                                                                      check=False).stdout == b"yes")


@case("a port is opened over a lane, and it has none: refused in a sentence")
def _():
    assert "has no lane, which opening ports needs" in berth("port", "open", ID, "3000", code=4)


@case("statistics come from its cgroup")
def _():
    wait_until(lambda: ps()["memory_bytes"])
    assert ps()["memory_limit_bytes"] == 128 << 20, ps()


@case("up again changes nothing, and a restart by its engine is looked at anew")
def _():
    before = ps()["id"]
    berth("up", "team.yaml")
    assert ps()["id"] == before
    subprocess.run(["docker", "restart", "-t", "1", BOX], check=True, capture_output=True)
    assert run("true")["path"] == "engine"
    berth("up", "team.yaml")
    assert ps()["id"] == before and "yes" in berth("exec", ID, "--", "wget", "-q", "-O", "-", f"http://{HERE}:{WEB.port}/x")


@case("a workspace that was exchanged under a restart is not entered")
def _():
    os.rename("ws", "was")
    os.mkdir("ws")
    os.chown("ws", 1000, 1000)
    subprocess.run(["docker", "restart", "-t", "1", BOX], check=True, capture_output=True)
    assert "is not what was checked" in berth("exec", ID, "--", "true", code=125)
    os.rmdir("ws")
    os.rename("was", "ws")


@case("without the line it is a container of the default runtime again")
def _():
    write_team(f"network: {{allow: ['{HERE}:{WEB.port}']}}")
    berth("up", "team.yaml")
    assert run("true")["path"] == "lane"
    assert json.loads(berth("net", "usage", ID, "--json"))["path"] == "lane"


@case("a tool with it is refused in a sentence")
def _():
    write_team("runtime: runsc", "custom_tools:\n  t: {type: docker, image: 'box:1', command: [echo], isolation: {runtime: runsc}}\n")
    p = subprocess.run([BERTH, "-c", "team.yaml", "tool", "run", "t"], capture_output=True, text=True, timeout=60, check=False)
    assert p.returncode == 125 and "the tool t: its runtime runsc provides its own kernel" in p.stderr, p


@case("down leaves nothing of it")
def _():
    berth("down", "team.yaml")
    wait_until(lambda: not end_pids())


done()
