#!/usr/bin/env python3
"""egress_addresses.py - what an allowed name may lead to: no address of this machine and none that is denied, however it is written.

In a network of its own, where this machine has a public address, and with names that mean what the test says.
"""
import os
import socket
import ssl
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
OWN, OTHER = "93.184.215.20", "93.184.215.21"
BRIDGED, OVERLAID, PUBLIC = "93.184.216.7", "93.184.217.7", "93.184.218.7"  # on this machine's bridge, in a network of the engine, elsewhere
ROUTED = "93.184.219.7"  # answers here, and is on no interface
LATER = "93.184.220.7"  # on a bridge that is made while an end runs
HOSTS = f"""127.0.0.1 localhost
{OWN} own.test
::ffff:{OWN} mapped.test
64:ff9b::{socket.inet_aton(OWN).hex()[:4]}:{socket.inet_aton(OWN).hex()[4:]} nat.test
2002:{socket.inet_aton(OWN).hex()[:4]}:{socket.inet_aton(OWN).hex()[4:]}:: tunnel.test
::ffff:{OTHER} other.test
168.63.129.16 wire.test
{BRIDGED} bridged.test
64:ff9b::{socket.inet_aton(BRIDGED).hex()[:4]}:{socket.inet_aton(BRIDGED).hex()[4:]} bridged-nat.test
{OVERLAID} overlaid.test
::ffff:{OVERLAID} overlaid-mapped.test
2a0a:1:2::7 overlaid-six.test
{PUBLIC} public.test
{ROUTED} routed.test
{LATER} later.test
"""
os.chdir(os.environ["TMPDIR"])
os.environ["XDG_RUNTIME_DIR"] = os.getcwd()
if "OWN_NETWORK" not in os.environ:
    if subprocess.run(["unshare", "-nm", "true"], capture_output=True, check=False).returncode:
        print("skip egress_addresses: no network namespace can be made here (unshare -n)")
        sys.exit(77)
    with open("hosts", "w", encoding="ascii") as f:
        f.write(HOSTS)
    os.environ["OWN_NETWORK"] = "1"
    os.execvp("unshare", ["unshare", "-nm", "--propagation", "private", "sh", "-c",
                          f'mount --bind hosts /etc/hosts && ip link set lo up && ip addr add {OWN}/32 dev lo && '
                          'ip link add br-test type bridge && ip addr add 93.184.216.1/24 dev br-test && ip link set br-test up && ip route add local 93.184.219.0/24 dev lo && exec "$@"', "sh", sys.executable, __file__])
from egress_end import PATIENCE, End, established, tell, tell_routes  # noqa: E402
from mcp_client import case, main  # noqa: E402
from said import everything  # noqa: E402

HERE = socket.create_server(("0.0.0.0", 0), backlog=64)
HERE.settimeout(PATIENCE)
PORT = HERE.getsockname()[1]


def said(end, target):
    with end.ask(target) as s:
        return s.recv(4096).decode()


def is_nobody_here():
    HERE.setblocking(False)
    try:
        HERE.accept()
        return False
    except BlockingIOError:
        return True
    finally:
        HERE.settimeout(PATIENCE)


@case("this machine's public address is nobody's to reach by a name, in each way to write it")
def _():
    names = ("own", "mapped", "nat", "tunnel", "wire")
    with End("berth-x", *(f"allow file 0 {n}.test:{PORT}" for n in names)) as end:
        for name in names:
            got = said(end, f"{name}.test:{PORT}")
            assert got.startswith("HTTP/1.1 502") and "resolves only to private or local addresses" in got, (name, got)
    assert is_nobody_here()


@case("what is on a bridge of this machine or in a network of the engine is reached by its address only")
def _():
    names = ("bridged", "bridged-nat", "overlaid", "overlaid-mapped", "overlaid-six")
    engine = ("engine file 0 93.184.217.0/24", "engine file 0 2a0a:1:2::/48")
    rules = [f"allow file 0 {n}.test:{PORT}" for n in (*names, "public")]
    with End("berth-x", *rules, *engine) as end:
        for name in names:
            got = said(end, f"{name}.test:{PORT}")
            assert "resolves only to private or local addresses" in got, (name, got)
        got = said(end, f"public.test:{PORT}")  # nobody is there, but somebody looked
        assert "does not answer" in got, got
        tell("berth-x", *rules, *engine, f"allow session 1 {BRIDGED}:{PORT}", f"allow session 1 {OVERLAID}:{PORT}")
        for name in ("bridged", "overlaid"):
            got = said(end, f"{name}.test:{PORT}")
            assert "does not answer" in got, (name, got)


@case("a network that the engine makes while the end runs is known by its bridge: nobody has to tell")
def _():
    with End("berth-x", f"allow file 0 later.test:{PORT}") as end:
        routes("later.test")
        for got in (said(end, f"later.test:{PORT}"), said_of_route(end, 0)):
            assert got.startswith("HTTP/1.1 502") and "resolves only" not in got, got
        for words in ("link add br-later type bridge", "addr add 93.184.220.1/24 dev br-later", "link set br-later up"):
            subprocess.run(["ip", *words.split()], check=True)
        for got in (said(end, f"later.test:{PORT}"), said_of_route(end, 0)):
            assert "resolves only to private or local addresses" in got, got


@case("what is open by a name ends when the engine makes a network there")
def _():
    rules = [f"allow file 0 routed.test:{PORT}"]
    with End("berth-x", *rules) as end:
        for later in ((), (f"allow session 1 {ROUTED}:{PORT}",)):
            with end.ask(f"routed.test:{PORT}") as s:
                established(s)
                conn, _ = HERE.accept()
                conn.sendall(b"x")
                assert s.recv(1) == b"x"
                tell("berth-x", *rules, "engine file 0 93.184.219.0/24", *later)
                if later:
                    conn.sendall(b"y")
                    assert s.recv(1) == b"y"
                else:
                    assert everything(s) == b""
                conn.close()
            tell("berth-x", *rules)


def routes(*hosts, more=()):
    tell_routes("berth-x", *(line for i, host in enumerate(hosts) for line in
                             (f"route r{i}", f"to https://{host}:{PORT}", "header X-Key: ${secret:K}", "key 0123456789", "permit GET /x", *more)))


def asked_route(end, i):
    s = socket.create_connection(end.agent.getsockname(), PATIENCE)
    s.sendall(f"GET /r{i}/x HTTP/1.1\r\n\r\n".encode())
    return s


def said_of_route(end, i):
    with asked_route(end, i) as s:
        return everything(s).decode()


def make_context():
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem", "-out", "cert.pem",
                    "-days", "2", "-subj", "/CN=routed.test", "-addext", "subjectAltName=DNS:routed.test"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("cert.pem", "key.pem")
    with open("cert.pem", encoding="ascii") as f:
        return context, f.read().splitlines()


TLS, CA = make_context()


def accept_route():
    conn, _ = HERE.accept()
    conn.settimeout(PATIENCE)
    return TLS.wrap_socket(conn, server_side=True)


@case("a route leads to none of these by a name either; to what it, or a rule, names as an address it does")
def _():
    names = ("own", "wire", "bridged", "overlaid", "mapped", "nat", "tunnel", "bridged-nat", "overlaid-mapped", "overlaid-six")
    engine = ("engine file 0 93.184.217.0/24", "engine file 0 2a0a:1:2::/48")
    with End("berth-x", *engine) as end:
        routes(*(f"{n}.test" for n in (*names, "public")), OWN)
        for i, name in enumerate(names):
            got = said_of_route(end, i)
            # Where this machine has no v6, curl does not look for such addresses.
            assert got.startswith("HTTP/1.1 502") and ("resolves only to private or local addresses" in got or i > 3), (name, got)
        got = said_of_route(end, len(names))  # nobody is there, but somebody looked
        assert got.startswith("HTTP/1.1 502") and "resolves only" not in got, got
        assert is_nobody_here()
        for i, rules in ((len(names) + 1, ()), (0, (f"allow session 1 {OWN}:{PORT}",))):
            tell("berth-x", *engine, *rules)
            with asked_route(end, i) as s:
                conn, _ = HERE.accept()
                assert conn.recv(1) == b"\x16"  # a ClientHello
                conn.close()
                assert everything(s).startswith(b"HTTP/1.1 502")
        for i in (0, len(names) + 1):
            tell("berth-x", *engine, f"allow session 1 {OWN}:{PORT}", f"deny session 1 [::ffff:{OWN}]:{PORT}")
            assert not said_of_route(end, i).startswith("HTTP/1.1 200"), i
    assert is_nobody_here()


@case("this machine's loopback has a route by the name localhost, and no other is meant by it")
def _():
    with End("berth-x") as end:
        tell_routes("berth-x", "route r0", f"to http://localhost:{PORT}", "header X-Key: ${secret:K}", "key 0123456789", "permit GET /x")
        with asked_route(end, 0) as s:
            conn, _ = HERE.accept()
            with conn:
                assert conn.recv(4096).startswith(b"GET /x HTTP/1.1\r\n")
                conn.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
            assert everything(s).startswith(b"HTTP/1.1 204")
        tell("berth-x", f"deny session 1 127.0.0.1:{PORT}", f"deny session 1 [::1]:{PORT}")
        assert said_of_route(end, 0).startswith("HTTP/1.1 502")
    assert is_nobody_here()


@case("what a route's server sends ends when the engine makes a network there, and nothing is sent there any more")
def _():
    taken = "engine file 0 93.184.219.0/24"
    with End("berth-x") as end:
        routes("routed.test", more=[f"ca {line}" for line in CA])
        for later in ((), (f"allow session 1 {ROUTED}:{PORT}",)):
            with asked_route(end, 0) as s:
                with accept_route() as server:
                    assert server.recv(4096).startswith(b"GET /x HTTP/1.1\r\n")
                    server.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx")
                    got = b""
                    while not got.endswith(b"\r\n\r\nx"):
                        more = s.recv(4096)
                        assert more, got
                        got += more
                    tell("berth-x", taken, *later)
                    if later:
                        server.sendall(b"y")
                    assert everything(s) == (b"y" if later else b"")
            tell("berth-x", taken)
            got = said_of_route(end, 0)
            assert "resolves only to private or local addresses" in got, got
            tell("berth-x")
    assert is_nobody_here()


@case("a connection that an earlier request left is not used again where the engine made a network")
def _():
    with End("berth-x") as end:
        routes("routed.test", more=[f"ca {line}" for line in CA])
        with asked_route(end, 0) as s:
            with accept_route() as server:
                assert server.recv(4096).startswith(b"GET /x HTTP/1.1\r\n")
                server.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
                assert everything(s).endswith(b"\r\n\r\nx")
                tell("berth-x", "engine file 0 93.184.219.0/24")
                assert "resolves only to private or local addresses" in said_of_route(end, 0)
                assert server.recv(4096) == b""
    assert is_nobody_here()


@case("what is on a bridge of this machine is no service of its own: it is asked of the upstream proxy")
def _():
    with End("berth-x", f"allow file 0 {BRIDGED}:{PORT}", f"upstream file 0 http://127.0.0.1:{PORT}") as end, end.ask(f"{BRIDGED}:{PORT}"):
        conn, _ = HERE.accept()
        with conn:
            assert conn.recv(4096).startswith(f"CONNECT {BRIDGED}:{PORT} ".encode())


@case("an upstream proxy is asked for the address that a route's name came to, and for none of these")
def _():
    proxy = f"upstream file 0 http://127.0.0.1:{PORT}"
    with End("berth-x", proxy, "engine file 0 93.184.217.0/24") as end:
        routes("own.test", "bridged.test", "overlaid.test", "nowhere.test", "public.test", BRIDGED)
        for i in range(3):
            assert "resolves only to private or local addresses" in said_of_route(end, i), i
        assert "the upstream proxy is not trusted to resolve it" in said_of_route(end, 3)
        assert is_nobody_here()
        for i, address in ((4, PUBLIC), (5, BRIDGED)):
            with asked_route(end, i) as s:
                conn, _ = HERE.accept()
                with conn:
                    assert conn.recv(4096).startswith(f"CONNECT {address}:{PORT} HTTP/1.1\r\n".encode())
                assert everything(s).startswith(b"HTTP/1.1 502")
        tell("berth-x", f"{proxy},trusted")
        for i, name in ((3, "nowhere"), (4, "public")):
            with asked_route(end, i) as s:
                conn, _ = HERE.accept()
                with conn:
                    assert conn.recv(4096).startswith(f"CONNECT {name}.test:{PORT} HTTP/1.1\r\n".encode())
                assert everything(s).startswith(b"HTTP/1.1 502")
    assert is_nobody_here()


@case("a route to localhost, whose key goes unencrypted, goes past the upstream proxy")
def _():
    with End("berth-x", f"upstream file 0 http://127.0.0.1:{PORT}") as end:
        tell_routes("berth-x", "route r0", f"to http://localhost:{PORT}", "header X-Key: ${secret:K}", "key 0123456789", "permit GET /x")
        with asked_route(end, 0) as s:
            conn, _ = HERE.accept()
            with conn:
                assert conn.recv(4096).startswith(b"GET /x HTTP/1.1\r\n")
            assert everything(s).startswith(b"HTTP/1.1 502")


@case("an address that is denied is denied by its names, too, however they write it")
def _():
    with End("berth-x", f"allow file 0 other.test:{PORT}", f"allow file 0 nat.test:{PORT}", f"deny file 0 {OTHER}:{PORT}",
             f"allow file 0 [::ffff:{OWN}]:{PORT}", f"deny session 1 {OWN}:{PORT}", f"allow file 0 host.docker.internal:{PORT}",
             f"deny file 0 [::ffff:127.0.0.1]:{PORT}") as end:
        for name in ("other.test", "nat.test"):
            assert said(end, f"{name}:{PORT}").startswith("HTTP/1.1 502"), name
        for name in ("host.docker.internal", OWN, f"[::ffff:{OWN}]"):
            got = said(end, f"{name}:{PORT}")
            assert got.startswith("HTTP/1.1 403") and f"(deny {OWN if OWN in name else '127.0.0.1'}:{PORT})" in got, (name, got)
    assert is_nobody_here()


@case("a rule for an address is one for both ways to write it, and what it opened closes with it")
def _():
    names = [f"allow file 0 {n}.test:{PORT}" for n in ("own", "mapped")]
    with End("berth-x", *names, f"allow session 1 [::ffff:{OWN}]:{PORT}") as end:
        for later in ((), (f"allow session 1 {OWN}:{PORT}", f"deny session 2 {OWN}:{PORT}")):
            opened = [end.ask(f"{n}:{PORT}") for n in ("own.test", "mapped.test", OWN)]
            for s in opened:
                established(s)
            there = [HERE.accept()[0] for _ in opened]  # in any order
            for conn in there:
                conn.sendall(b"x")
            for s in opened:
                assert s.recv(1) == b"x"
            tell("berth-x", *names, *later)
            for s in opened:
                assert everything(s) == b""
                s.close()
            tell("berth-x", *names, f"allow session 1 {OWN}:{PORT}")


@case("what is open to this machine by its name closes when its address is denied")
def _():
    allow = f"allow file 0 host.docker.internal:{PORT}"
    with End("berth-x", allow) as end, end.ask(f"host.docker.internal:{PORT}") as s:
        established(s)
        tell("berth-x", allow, "deny session 1 other.test")
        conn, _ = HERE.accept()
        conn.sendall(b"x")
        assert s.recv(1) == b"x"
        tell("berth-x", allow, f"deny session 1 127.0.0.1:{PORT}")
        assert everything(s) == b""


main()
