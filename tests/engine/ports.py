#!/usr/bin/env python3
"""ports.py - a server inside a container without a network is reached from this machine: opened, listed, closed, lost, bounded.

Servers that do what busybox cannot are threads of this test in the container's network namespace.
"""
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import boxed  # noqa: E402
from boxed import BERTH, PATIENCE, begin, berth, case, done, echo, give_v6, inside, inspect_pid, wait_until, write_team  # noqa: E402
from mcp_client import Client  # noqa: E402
from person import Person  # noqa: E402
from said import everything, everything_cut  # noqa: E402

SCHEMA = [sys.executable, os.path.join(os.environ["SRC"], "tests/lib/schema.py"), os.path.join(os.environ["SRC"], "tests/data/schema")]
ID = begin("port")
write_team("network: none, ports: [3000]")


class Server(boxed.Server):
    """A listener inside, answered out here: a socket stays in the namespace in which it was made."""

    def __init__(self, fn, port=0, family=socket.AF_INET, backlog=512):
        super().__init__(fn, "127.0.0.1" if family == socket.AF_INET else "::1", port, family, backlog,
                         lambda family: inside(lambda: socket.socket(family)))


def fits(schema, text):
    subprocess.run([SCHEMA[0], SCHEMA[1], os.path.join(SCHEMA[2], schema)], input=text, text=True, check=True)
    return json.loads(text)


def rows(*args):
    return fits("ports.json", berth("port", "list", *args, "--json"))["ports"]


def row(port):
    return next((r for r in rows(ID) if r["port"] == port), None)


def open_port(spec, *more):
    return fits("port.json", berth("port", "open", "--json", ID, str(spec), *more))["host_port"]


def client(port, address="127.0.0.1"):
    s = socket.create_connection((address, port), timeout=PATIENCE)
    return s


def refused(port, address="127.0.0.1"):
    try:
        client(port, address).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # it was still listening, and ends now
        pass
    return False


def is_cut(port):
    """A connection that ends by itself, by a reset, which may come before connect() has returned."""
    try:
        with client(port) as s:
            return everything_cut(s) == (b"", True)
    except ConnectionResetError:
        return True


def end_pids():
    return boxed.end_pids("ports", f"berth-{ID}")


berth("up", "team.yaml")


@case("a server of busybox in a container without a network answers on 127.0.0.1, and nothing was made anew")
def _():
    before = inspect_pid()
    berth("exec", ID, "--", "sh", "-c", "mkdir /tmp/www && echo hello from inside > /tmp/www/index.html")
    served = subprocess.Popen([BERTH, "exec", ID, "--", "httpd", "-f", "-p", "127.0.0.1:3000", "-h", "/tmp/www"], stdin=subprocess.DEVNULL)
    out = berth("port", "open", ID, "3000:0")
    where = out.split()[-1]
    assert out == f"port 3000 of berth-{ID} is at {where}\n" and where.startswith("127.0.0.1:"), out
    port = int(where.split(":")[1])

    def answers():
        with client(port) as s:
            try:
                s.sendall(b"GET /index.html HTTP/1.0\r\n\r\n")
                return everything(s).endswith(b"hello from inside\n")
            except (ConnectionResetError, BrokenPipeError):
                return False
    wait_until(answers)
    assert inspect_pid() == before and len(end_pids()) == 1
    assert "berth.ports/1" in berth("port", "list", "--json") and str(port) in berth("port", "list", ID)
    got = row(3000)
    assert got["state"] == "open" and got["connections"] >= 1 and got["up"] > 17 and got["down"] >= 28 and got["agent"] == ID, got
    served.kill()
    served.wait()


@case("what has the port open holds nothing but its sockets")
def _():
    with open(f"/proc/{end_pids()[0]}/status", encoding="ascii") as f:
        status = dict(line.split(":\t", 1) for line in f.read().splitlines() if ":\t" in line)
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2" and int(status["CapEff"], 16) == 0, status
    if not os.geteuid():
        assert status["Uid"].split() == ["65534"] * 4, status["Uid"]
    links = [os.readlink(f"/proc/{end_pids()[0]}/fd/{fd}") for fd in os.listdir(f"/proc/{end_pids()[0]}/fd")]
    assert all(x.startswith(("socket:", "anon_inode:", "pipe:", "/dev/null")) for x in links), links


@case("it is on the record: what, of whom, where")
def _():
    text = berth("audit", "list", "--json", "--agent", ID)
    found = [json.loads(x) for x in text.splitlines() if '"port.open"' in x]
    assert found and "127.0.0.1:0" in json.dumps(found) and '3000' in json.dumps(found), text
    assert berth("port", "close", ID, "3000") == f"port 3000 of {ID} is closed\n"
    assert '"port.close"' in berth("audit", "list", "--json", "--agent", ID)


@case("closed: nobody listens, nothing runs, nothing is listed")
def _():
    assert not end_pids() and not rows(ID)
    assert "not open" in berth("port", "close", ID, "3000", code=1)


@case("many bytes both ways, half closed; of a server at ::1, too")
def _():
    give_v6()
    for family in (socket.AF_INET, socket.AF_INET6):
        server = Server(echo, family=family)
        port = open_port(f"{server.port}:0")
        sent = os.urandom(5_000_000)
        with client(port) as s:
            threading.Thread(target=lambda s=s, sent=sent: (s.sendall(sent), s.shutdown(socket.SHUT_WR)), daemon=True).start()
            got, cut = everything_cut(s)
            assert got == sent and not cut, (len(got), cut)
        assert row(server.port)["up"] == row(server.port)["down"] == len(sent), row(server.port)
        wait_until(lambda server=server: not row(server.port)["open"])
        berth("port", "close", ID, str(server.port))
        server.stop()


@case("loopback only, unless it is said")
def _():
    for address in ("0.0.0.0", "::", "10.1.2.3", "169.254.1.1"):
        out = berth("port", "open", ID, "3000:0", "--address", address, code=4)
        assert "--public" in out, out
    assert not rows(ID) and not end_pids()
    server = Server(echo)
    berth("port", "open", ID, f"{server.port}:0", "--address", "0.0.0.0", "--public")
    got = row(server.port)
    assert got["host_address"] == "0.0.0.0", got
    with client(got["host_port"], "127.66.0.1") as s:
        s.sendall(b"x")
        assert s.recv(1) == b"x"
    berth("port", "close", ID, str(server.port))
    open_port(f"{server.port}:0", "--address", "127.5.5.5")
    port = row(server.port)["host_port"]
    with client(port, "127.5.5.5") as s:
        s.sendall(b"x")
        assert s.recv(1) == b"x"
    with open("/proc/net/tcp", encoding="ascii") as f:
        assert f" 0505057F:{port:04X} 00000000:0000 0A " in f.read()
    berth("port", "close", ID, str(server.port))
    server.stop()


@case("wrong words are refused with 2, before anything is done")
def _():
    for spec in ("", "0", "65536", "3000:", "3000:65536", ":3000", "3000:80:90", "+3000", " 3000", "3000x", "03000000", "-1", "http"):
        assert "is not a port" in berth("port", "open", ID, "--", spec, code=2), spec
    for address in ("localhost", "127.1", "0x7f000001", "::1%lo", "1.2.3.4:80"):
        assert "is not an address" in berth("port", "open", ID, "3000", "--address", address, code=2), address
    berth("port", "close", ID, "3000:80", code=2)
    berth("port", "open", "nobody-here", "3000", code=1)
    assert not rows() and not end_pids()


@case("refused while nothing may be changed")
def _():
    berth("--read-only", "port", "open", ID, "3000:0", code=4)
    assert not rows(ID)
    assert berth("--read-only", "port", "list") == "no port is open\n"


@case("a port of this machine that is taken, and one that is open already")
def _():
    taken = socket.create_server(("127.0.0.1", 0))
    number = taken.getsockname()[1]
    assert "is taken" in berth("port", "open", ID, f"3000:{number}", code=1)
    assert not rows(ID)
    taken.close()
    open_port("3000:0")
    assert "already open" in berth("port", "open", ID, "3000:0", code=1)
    assert len(rows(ID)) == 1
    berth("port", "close", ID, "3000")


@case("nobody listens inside: the client is cut at once, and counted")
def _():
    port = open_port("3999:0")
    assert is_cut(port)
    assert row(3999)["refused"] == 1 and not row(3999)["open"]
    berth("port", "close", ID, "3999")


@case("at most 16 ports of a container")
def _():
    for i in range(16):
        berth("port", "open", ID, f"{4000 + i}:0")
    assert "the limit" in berth("port", "open", ID, "4100:0", code=4)
    assert len(rows(ID)) == 16
    for i in range(16):
        berth("port", "close", ID, str(4000 + i))
    assert not end_pids()


@case("at most 256 connections: what is beyond is cut, and the others go on")
def _():
    server = Server(echo)
    port = open_port(f"{server.port}:0")
    held = []
    for _ in range(256):
        s = client(port)
        s.sendall(b"x")
        assert s.recv(1) == b"x"
        held.append(s)
    assert is_cut(port)
    for s in held:
        s.sendall(b"y")
        assert s.recv(1) == b"y"
        s.close()
    wait_until(lambda: not row(server.port)["open"])
    with client(port) as s:
        s.sendall(b"z")
        assert s.recv(1) == b"z"
    berth("port", "close", ID, str(server.port))
    server.stop()


@case("servers that linger, wait, never read, or accept nobody hold up no other, and no end")
def _():
    def stubborn(_server, conn):
        conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
        conn.setblocking(True)
        conn.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    good, bad, deaf = Server(echo), Server(stubborn), Server(None, backlog=1)
    port = {s.port: open_port(f"{s.port}:0") for s in (good, bad, deaf)}
    stuck = []
    for s in [client(port[bad.port]) for _ in range(8)] + [client(port[deaf.port]) for _ in range(8)]:
        s.setblocking(False)
        try:
            while s.send(bytes(65536)):
                pass
        except (BlockingIOError, ConnectionError):  # those that nobody accepted may be cut
            pass
        stuck.append(s)
    with client(port[good.port]) as s:
        s.sendall(b"x")
        assert s.recv(1) == b"x"
    for s in stuck[::2]:
        s.close()
    with client(port[good.port]) as s:
        s.sendall(b"x")
        assert s.recv(1) == b"x"
    for s in (bad, deaf, good):
        berth("port", "close", ID, str(s.port))
    assert not end_pids()
    for s in (bad, deaf, good):
        s.stop()


@case("the end is killed: clients are cut, the row says lost, opening it again mends it")
def _():
    server = Server(echo)
    port = open_port(f"{server.port}:0")
    s = client(port)
    s.sendall(b"x")
    assert s.recv(1) == b"x"
    os.kill(end_pids()[0], signal.SIGKILL)
    assert everything(s) == b""
    s.close()
    wait_until(lambda: refused(port))
    assert row(server.port)["state"] == "lost" and row(server.port)["host_port"] == port
    assert "lost" in berth("port", "list", ID)
    port = open_port(f"{server.port}:0")
    with client(port) as s:
        s.sendall(b"x")
        assert s.recv(1) == b"x"
    os.kill(end_pids()[0], signal.SIGKILL)
    wait_until(lambda: refused(port))
    berth("port", "close", ID, str(server.port))
    assert not rows(ID)
    server.stop()


@case("up opens what was lost as it was, on record; what it cannot is said and stays lost")
def _():
    opened = len(json.loads("[" + ",".join(berth("audit", "list", "--json", "--act", "port.open").splitlines()) + "]"))
    server = Server(echo)
    port, other = open_port(f"{server.port}:0"), open_port("3999:0")
    os.kill(end_pids()[0], signal.SIGKILL)
    wait_until(lambda: refused(port) and refused(other))
    taken = socket.create_server(("127.0.0.1", other))
    p = subprocess.run([BERTH, "up", "team.yaml"], capture_output=True, text=True, check=True)
    assert f"127.0.0.1:{other} is taken" in p.stdout + p.stderr, (p.stdout, p.stderr)
    assert row(server.port)["state"] == "open" and row(server.port)["host_port"] == port, rows()
    assert row(3999)["state"] == "lost" and row(3999)["host_port"] == other, rows()
    with client(port) as s:
        s.sendall(b"x")
        assert s.recv(1) == b"x"
        taken.close()
        berth("up", "team.yaml")
        assert row(3999)["state"] == "open"
        s.sendall(b"y")
        assert s.recv(1) == b"y", "and what is open stays"
    server.stop()
    subprocess.run(["docker", "restart", "-t", "1", f"berth-{ID}"], check=True, capture_output=True)
    wait_until(lambda: not end_pids())
    berth("up", "team.yaml")
    assert [r["state"] for r in rows(ID)] == ["open", "open"] and row(3999)["host_port"] == other, rows()
    again = Server(echo, server.port)
    with client(port) as s:
        s.sendall(b"x")
        assert s.recv(1) == b"x"
    again.stop()
    made = [x for x in map(json.loads, berth("audit", "list", "--json", "--act", "port.open").splitlines())][opened:]
    assert any(x.get("outcome") == "error" or x.get("outcome") == "failed" for x in made) and "3999" in json.dumps(made), made
    for n in (server.port, 3999):
        berth("port", "close", ID, str(n))
    assert not end_pids()


@case("the agent sees what dials inside, and reads neither its memory nor its descriptors")
def _():
    server = Server(echo)
    port = open_port(f"{server.port}:0")
    with client(port) as s:
        s.sendall(b"x")
        assert s.recv(1) == b"x"
    # A process without a command line of its own kind: what process 1 has forked says the same as it.
    out = berth("exec", ID, "--", "sh", "-c", "for p in /proc/[0-9]*; do test \"$(cat $p/cmdline)\" = \"$(cat /proc/1/cmdline)\" && "
                "echo $(ls $p/fd | wc -l) $(cat $p/environ $p/mem | wc -c); done 2>/dev/null; :").split("\n")[:-1]
    assert len(out) >= 2 and set(out) == {"0 0"}, out  # process 1 and what dials
    berth("port", "close", ID, str(server.port))
    server.stop()


@case("the agent kills what dials inside: its port is lost, others are not")
def _():
    server = Server(echo)
    port = open_port(f"{server.port}:0")
    berth("exec", ID, "--", "sh", "-c", "for p in /proc/[0-9]*; do p=${p#/proc/}; test $p = 1 || test $p = $$ || kill -9 $p; done 2>/dev/null", code=137)
    wait_until(lambda: row(server.port)["state"] == "lost")
    assert refused(port)
    port = open_port(f"{server.port}:0")
    with client(port) as s:
        s.sendall(b"x")
        assert s.recv(1) == b"x"
    berth("port", "close", ID, str(server.port))
    server.stop()


@case("an agent opens by itself what its file names")
def _():
    server = Server(echo, 3000)
    with Client("team.yaml") as c:
        got = c.call("expose_port", port=3000)
        assert got["host_address"] == "127.0.0.1" and got["port"] == 3000, got
        with client(got["host_port"]) as s:
            s.sendall(b"x")
            assert s.recv(1) == b"x"
        assert "already open" in c.fails("expose_port", port=3000)
        for port in (0, 65536):
            assert "from 1 to 65535" in c.fails("expose_port", port=port)
    assert row(3000)["state"] == "open"  # it is the session's, not the server's
    berth("port", "close", ID, "3000")
    server.stop()


@case("for another a person is asked: nobody there, no, and yes")
def _():
    with Client("team.yaml", era="new") as c:
        assert "console" in c.fails("expose_port", port=3001)
        with Person(BERTH) as p:
            n = c.begin("tools/call", name="expose_port", arguments={"port": 3001, "reason": "to \x1b[31mtry"})
            p.see(f"{ID} asks: open its port 3001")
            p.type("4")
            p.see("asks you")
            p.type("C")
            p.confirm("Stop the job")
            assert c.wait(n)["result"]["isError"] and not rows(ID)
            n = c.begin("tools/call", name="expose_port", arguments={"port": 3001})
            p.see("asks you")
            p.type("Home", "Y")
            p.confirm("Allow: open its port 3001")
            assert c.wait(n)["result"]["structuredContent"]["port"] == 3001
    assert [r["port"] for r in rows(ID)] == [3001]
    berth("port", "close", ID, "3001")


@case("in the console: opened from the agent's row after a dialog, listed, closed")
def _():
    server = Server(echo)
    with Person(BERTH, "-c", "team.yaml") as p:
        p.type("1")
        p.type("/")
        p.type(ID, "Enter")
        p.see(f"▌● {ID}")
        p.type("P")
        p.see(f"open port of {ID}")
        p.type(f"{server.port}:0", "Enter")
        p.confirm(f"Open port {server.port} of {ID}")
        p.see(f"port {server.port} of berth-{ID} is at 127.0.0.1:")
        with client(row(server.port)["host_port"]) as s:
            s.sendall(b"x")
            assert s.recv(1) == b"x"
        p.type("p")
        p.see("SINCE")
        p.see(f"127.0.0.1:{row(server.port)['host_port']}")
        p.type("q")
        p.type("X")
        p.see(f"close port of {ID}")
        p.type(str(server.port), "Enter")
        p.see(f"port {server.port} of berth-{ID} is closed")
    assert not rows(ID)
    assert '"program":"port"' in berth("audit", "list", "--json", "--act", "port.open").replace(" ", "")
    server.stop()


@case("down closes what is open")
def _():
    server = Server(echo)
    port = open_port(f"{server.port}:0")
    s = client(port)
    s.sendall(b"x")
    assert s.recv(1) == b"x"
    server.stop()
    berth("down", "team.yaml")
    assert everything(s) == b""
    s.close()
    wait_until(lambda: refused(port) and not end_pids())
    assert not rows()
    berth("port", "open", ID, "3000:0", code=1)


done()
