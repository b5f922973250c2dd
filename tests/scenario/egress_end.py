#!/usr/bin/env python3
"""egress_end.py - an agent's end by itself: clients that go in the middle, a thousand at once; it stays and answers."""
import os
import select
import socket
import ssl
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from egress_end import PATIENCE, End, established, logged, reached, tell, tell_routes  # noqa: E402
from mcp_client import case, main  # noqa: E402
from said import everything  # noqa: E402

os.chdir(os.environ["TMPDIR"])
os.environ["XDG_RUNTIME_DIR"] = os.getcwd()


def serve(answer):
    server = socket.create_server(("127.0.0.1", 0), backlog=4096)

    def run():
        while True:
            conn, _ = server.accept()
            threading.Thread(target=answer, args=(conn,), daemon=True).start()
    threading.Thread(target=run, daemon=True).start()
    return f"127.0.0.1:{server.getsockname()[1]}"


def flood(conn):
    try:
        while True:
            conn.sendall(b"x" * 65536)
    except OSError:
        conn.close()


def echo(conn):
    while data := conn.recv(4096):
        conn.sendall(data)
    conn.close()


def hello(name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    outgoing = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


@case("clients that go while they are sent to, in every way, take nobody else with them")
def _():
    to, other = serve(flood), serve(echo)
    with End("berth-x", f"allow file 0 {to}", f"allow file 0 {other}") as end:
        with end.ask(other) as stays:
            established(stays)
            for i in range(120):
                with end.ask(to) as s:
                    got = 0
                    while got < 200000:
                        more = len(s.recv(65536))
                        assert more, got
                        got += more
                    if i % 3 == 0:  # a reset instead of an end
                        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    elif i % 3 == 1:
                        s.shutdown(socket.SHUT_RD)
                stays.sendall(b"%d" % i)
                assert int(stays.recv(16)) == i, "the end has ended"
        assert end.p.poll() is None


@case("a thousand connections at once, each open and answered")
def _():
    to = serve(echo)
    with End("berth-x", f"allow file 0 {to}") as end:
        made = [end.ask(to) for _ in range(1000)]
        for s in made:
            s.settimeout(PATIENCE)
            established(s)
        for i, s in enumerate(made):
            s.sendall(b"%05d" % i)
        for i, s in enumerate(made):
            assert s.recv(5, socket.MSG_WAITALL) == b"%05d" % i
        for s in made:
            s.close()
        with end.ask(to) as s:
            established(s)


@case("with few descriptors it turns away what it has no room for, and serves the others")
def _():
    def answer(s):
        try:
            s.sendall(f"CONNECT {to} HTTP/1.1\r\n\r\n".encode())
            return s.recv(39, socket.MSG_WAITALL)
        except (BrokenPipeError, ConnectionResetError):
            return b""
    to = serve(echo)
    with End("berth-x", f"allow file 0 {to}", files=160) as end:
        made = [socket.create_connection(end.agent.getsockname(), PATIENCE) for _ in range(200)]
        said = [answer(s) for s in made]
        served = [s for s, got in zip(made, said) if got.startswith(b"HTTP/1.1 200")]
        assert served and said.count(b"") == len(made) - len(served), {x: said.count(x) for x in said}
        for i, s in enumerate(served):
            s.sendall(b"%03d" % i)
            assert s.recv(3, socket.MSG_WAITALL) == b"%03d" % i
        for s in made:
            s.close()
        until = time.monotonic() + PATIENCE
        while not answer(socket.create_connection(end.agent.getsockname(), PATIENCE)):
            assert time.monotonic() < until


@case("connections that are turned away push none out of the log")
def _():
    to = serve(echo)
    with End("berth-x", f"allow file 0 {to}", files=160) as end:
        held = []
        try:
            while True:
                held.append(end.ask(to))
                established(held[-1])
        except (AssertionError, ConnectionResetError, BrokenPipeError):
            pass
        served = len(logged("berth-x"))
        for _ in range(600):
            with socket.create_connection(end.agent.getsockname(), PATIENCE) as s:
                try:
                    assert s.recv(1) == b""
                except ConnectionResetError:
                    pass
        assert logged("berth-x") == list(range(1, served + 1)) and len(held) - 1 <= served <= len(held), (served, len(held))
        for s in held:
            s.close()


@case("a rate holds for all connections together, is shared, and can be lifted")
def _():
    piece = os.urandom(300_000)

    def send(conn):
        conn.sendall(piece)
        conn.close()
    to, other = serve(send), serve(echo)
    allow = [f"allow file 0 {to}", f"allow file 0 {other}"]
    with End("berth-x", *allow, "rate file 0 400000") as end:
        began = time.monotonic()
        made = [end.ask(to) for _ in range(4)]
        for s in made:
            s.settimeout(PATIENCE)
            established(s)
        with end.ask(other) as small:  # is served while the others wait
            established(small)
            small.sendall(b"x")
            assert small.recv(1) == b"x"
        got = [b""] * len(made)
        while not all(len(g) == len(piece) for g in got):
            for s in select.select([s for s, g in zip(made, got) if len(g) < len(piece)], [], [], PATIENCE)[0]:
                more = s.recv(65536)
                assert more, [len(g) for g in got]
                got[made.index(s)] += more
        # 1,200,000 bytes at 400,000 a second, a quarter of a second's at once, and what fits into a pipe.
        assert time.monotonic() - began >= 2.4 and got == [piece] * 4
        with end.ask(other) as s:
            established(s)
            sender = threading.Thread(target=lambda: (s.sendall(piece * 2), s.shutdown(socket.SHUT_WR)))
            began = time.monotonic()
            sender.start()
            assert everything(s) == piece * 2
            sender.join()
            assert time.monotonic() - began >= 1
        tell("berth-x", *allow, "rate file 0 1000")
        with end.ask(to) as s:
            established(s)
            assert s.recv(1)
            tell("berth-x", *allow)
            assert len(everything(s)) == len(piece) - 1


@case("a rate holds for requests of routes and all other connections together, each way")
def _():
    piece = os.urandom(500_000)

    def answer(conn):
        f, size = conn.makefile("rb"), 0
        while (line := f.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length"):
                size = int(line.split(b":")[1])
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(piece) if not size else b"")
        got = f.read(size)
        conn.sendall(piece if not size else b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n%05d" % (got == piece))
        f.close()
        conn.close()

    def send(conn):
        conn.sendall(piece)
        conn.close()

    def sink(conn):
        conn.sendall(b"%d" % (everything(conn) == piece))
        conn.close()
    by_route, down, up = serve(answer), serve(send), serve(sink)

    def request(end, method, body):
        s = socket.create_connection(end.agent.getsockname(), PATIENCE)
        threading.Thread(target=lambda: s.sendall(f"{method} /own/x HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body), daemon=True).start()
        return s

    def both(end, method, body, to):
        began = time.monotonic()
        with request(end, method, body) as route, end.ask(to) as s:
            established(s)
            if body:
                threading.Thread(target=lambda: (s.sendall(body), s.shutdown(socket.SHUT_WR)), daemon=True).start()
            got = [b"", b""]
            readers = [threading.Thread(target=lambda i=i, x=x: got.__setitem__(i, everything(x))) for i, x in enumerate((route, s))]
            for t in readers:
                t.start()
            for t in readers:
                t.join()
        return got, time.monotonic() - began
    with End("berth-x", f"allow file 0 {down}", f"allow file 0 {up}", "rate file 0 400000") as end:
        tell_routes("berth-x", "route own", f"to http://{by_route}", "header X-Key: ${secret:K}", "key 0123456789", "permit GET /x", "permit PUT /x")
        got, took = both(end, "GET", b"", down)
        # A million bytes at 400,000 a second, a quarter of a second's at once, and what fits into a pipe.
        assert got[0].endswith(piece) and got[1] == piece and took >= 2, (len(got[0]), len(got[1]), took)
        got, took = both(end, "PUT", piece, up)
        assert got[0].endswith(b"00001") and got[1] == b"1" and took >= 2, (got, took)
        tell("berth-x", f"allow file 0 {down}", "rate file 0 1000")
        with request(end, "GET", b"") as s:
            assert s.recv(1)
            tell("berth-x", f"allow file 0 {down}")
            assert everything(s).endswith(piece)


@case("a rate holds for what comes along with the request as well")
def _():
    piece = os.urandom(15_000)

    def sink(conn):
        conn.sendall(b"%d" % (everything(conn) == piece))
        conn.close()
    to = serve(sink)
    with End("berth-x", f"allow file 0 {to}", "rate file 0 100000") as end:
        began, made = time.monotonic(), []
        for _ in range(20):
            s = socket.create_connection(end.agent.getsockname(), PATIENCE)
            s.sendall(f"CONNECT {to} HTTP/1.1\r\n\r\n".encode() + piece)
            s.shutdown(socket.SHUT_WR)
            made.append(s)
        for s in made:
            assert everything(s).endswith(b"\r\n\r\n1")
            s.close()
        # 300,000 bytes, a quarter of a second's and the last piece at once.
        assert time.monotonic() - began >= 2.4


@case("at a small rate nobody waits for ever: all connections and requests of routes get their share")
def _():
    def answer(conn):
        conn.recv(4096)
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + b"y" * 3000)
        conn.close()
    to, by_route = serve(flood), serve(answer)
    with End("berth-x", f"allow file 0 {to}", "rate file 0 20000") as end:
        tell_routes("berth-x", "route own", f"to http://{by_route}", "header X-Key: ${secret:K}", "key 0123456789", "permit GET /x")
        made = [end.ask(to) for _ in range(8)]
        for s in made:
            s.settimeout(PATIENCE)
            established(s)
            assert s.recv(1) == b"x"
        with socket.create_connection(end.agent.getsockname(), PATIENCE) as route:
            route.sendall(b"GET /own/x HTTP/1.1\r\n\r\n")
            assert everything(route).endswith(b"y" * 3000)
        for s in made:
            assert len(s.recv(3000, socket.MSG_WAITALL)) == 3000
            s.close()


@case("what was reached is what answered or took bytes, by target")
def _():
    def answer(conn):
        conn.recv(4096)
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        conn.close()
    nobody = socket.create_server(("127.0.0.1", 0))
    port = nobody.getsockname()[1]
    nobody.close()
    to, there = serve(echo), serve(answer).replace("127.0.0.1", "localhost")
    with End("berth-x", f"allow file 0 {to}", f"allow file 0 127.0.0.1:{port}") as end:
        assert reached("berth-x") == {"": 0}
        tell_routes("berth-x", *(line for name, at in (("gone", f"localhost:{port}"), ("here", there)) for line in
                                 (f"route {name}", f"to http://{at}", "header X-Key: ${secret:K}", "key 0123456789", "permit GET /x")))
        for name, code, so_far in (("gone", b"502", {"": 0}), ("here", b"200", {"localhost": 1, "": 0}), ("here", b"200", {"localhost": 2, "": 0})):
            with socket.create_connection(end.agent.getsockname(), PATIENCE) as s:
                s.sendall(f"GET /{name}/x HTTP/1.1\r\n\r\n".encode())
                assert everything(s).startswith(b"HTTP/1.1 " + code)
            assert reached("berth-x") == so_far, reached("berth-x")
        with end.ask(f"127.0.0.1:{port}") as s:
            assert s.recv(4096).startswith(b"HTTP/1.1 502")
        with end.ask(to) as s:
            established(s)
            assert reached("berth-x") == {"localhost": 2, "127.0.0.1": 1, "": 0}, reached("berth-x")


@case("Expect: is the target's to answer: the body comes when it has said so")
def _():
    heads = []

    def upload(conn):
        head = b""
        while b"\r\n\r\n" not in head:
            head += conn.recv(4096)
        heads.append(head)
        conn.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        conn.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + conn.recv(4, socket.MSG_WAITALL))
        conn.close()
    to = serve(upload)
    with End("berth-x", f"allow file 0 {to}") as end, socket.create_connection(end.agent.getsockname(), PATIENCE) as s:
        s.sendall(f"PUT http://{to}/ HTTP/1.1\r\nHost: {to}\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n".encode())
        assert s.recv(25, socket.MSG_WAITALL) == b"HTTP/1.1 100 Continue\r\n\r\n"
        s.sendall(b"body")
        assert everything(s).endswith(b"\r\n\r\nbody")
    assert b"\r\nExpect: 100-continue\r\n" in heads[0], heads


@case("tls:// asks for the name in TLS on another port, too: nothing else arrives")
def _():
    heard = []

    def hear(conn):
        while data := conn.recv(4096):
            heard.append(data)
            conn.sendall(b"heard")
        conn.close()
    port = serve(hear).rpartition(":")[2]
    other = serve(hear).rpartition(":")[2]
    own = f"host.docker.internal:{port}"
    with End("berth-x", f"allow file 0 tls://{own}", f"allow file 0 {own}", f"allow file 0 host.docker.internal:{other}") as end:
        for first in (hello("other.test"), hello(None), b"SSH-2.0-x\r\n", b"GET / HTTP/1.1\r\n\r\n"):
            with end.ask(own) as s:
                established(s)
                s.sendall(first)
                assert everything(s) == b"", first[:20]
        with socket.create_connection(end.agent.getsockname(), PATIENCE) as s:
            s.sendall(f"GET http://{own}/ HTTP/1.1\r\nHost: {own}\r\n\r\n".encode())
            said = everything(s)
            assert said.startswith(b"HTTP/1.1 403") and b"only TLS" in said, said
        assert not heard, heard
        with end.ask(own) as s:
            established(s)
            for byte in hello("host.docker.internal"):
                s.sendall(bytes([byte]))
            assert s.recv(5) == b"heard"
        with end.ask(f"host.docker.internal:{other}") as s:  # raw, for no rule asks
            established(s)
            s.sendall(b"SSH-2.0-x\r\n")
            assert s.recv(5) == b"heard"


@case("a rule that asks for TLS by now closes what nobody looked at, and nothing else")
def _():
    own = "host.docker.internal:" + serve(echo).rpartition(":")[2]
    with End("berth-x", f"allow session 1 {own}") as end, end.ask(own) as raw:
        established(raw)
        raw.sendall(b"x")
        assert raw.recv(1) == b"x"
        tell("berth-x", f"allow session 1 tls://{own}")
        assert everything(raw) == b""
        with end.ask(own) as s:
            established(s)
            first = hello("host.docker.internal")
            s.sendall(first)
            assert s.recv(len(first), socket.MSG_WAITALL) == first
            for rules in (f"allow session 1 {own}", f"allow session 1 tls://{own}"):
                tell("berth-x", rules)
                s.sendall(b"x")
                assert s.recv(1) == b"x"
        tell("berth-x", f"allow session 1 {own}")
        with end.ask(own) as s:
            established(s)
            s.sendall(b"x")
            assert s.recv(1) == b"x"


main()
