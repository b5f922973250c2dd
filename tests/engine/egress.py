#!/usr/bin/env python3
"""egress.py - what an agent without a network reaches: what its rules allow, each way around them, and ends that die.

The test speaks from inside the container's network (setns); the servers are on this machine's loopback.  It runs in a
mount namespace of its own, where /etc/hosts is its own: names that mean what the test says.
"""
import atexit
import json
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from boxed import (BERTH, Server, begin, berth, case, client, clients, connect, done, echo, end_pids,  # noqa: E402
                   give_v6, inspect_pid, say, wait_until, write_team)
from said import everything  # noqa: E402

ID = begin("net", "127.77.0.1 web.test other.test sub.wild.test wild.test", "169.254.169.254 meta.test", "10.9.8.7 inner.test", "::1 six.test", "93.184.217.7 engine.test")
HERE = "127.77.0.1"


def web(server, conn):
    """Answers a request with its body; what was heard is all until the end, which comes with the answer's."""
    data, want = b"", 0
    while b"\r\n\r\n" not in data or len(data) < want:
        more = conn.recv(65536)
        if not more:
            return
        data += more
        head, end, _ = data.partition(b"\r\n\r\n")
        length = re.search(rb"\r\nContent-Length: (\d+)", head)
        want = len(head + end) + int(length[1] if length else 0)
    conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")
    conn.shutdown(socket.SHUT_WR)
    server.heard = data + everything(conn)


def say_to_web(text):
    """What is answered, and what arrived there."""
    WEB.heard = b""
    got = say(text)
    return got, wait_until(lambda: WEB.heard)


def make_certificate():
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem",
                    "-days", "2", "-subj", "/CN=web.test"], check=True, capture_output=True)


def tls(server, conn):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("cert.pem", "key.pem")
    with context.wrap_socket(conn, server_side=True) as secure:
        server.heard = secure.recv(100)
        secure.sendall(b"secret " + server.heard)


make_certificate()
ECHO, WEB, SECURE = Server(echo, HERE), Server(web, HERE), Server(tls, HERE, 443)
SIX = Server(echo, "::1", 0, socket.AF_INET6)
LOCAL = Server(echo)


def write_allow(allow):
    write_team(f"network: {{allow: {json.dumps(allow)}, deny: ['denied.wild.test']}}")


ALLOW = [f"{HERE}:{ECHO.port}", f"{HERE}:{WEB.port}", f"{HERE}:443", f"web.test:{ECHO.port}", f"web.test:{WEB.port}", "web.test",
         "meta.test:80", "inner.test:80", "*.wild.test", f"sub.wild.test:{ECHO.port}", f"host.docker.internal:{LOCAL.port}",
         f"[::1]:{SIX.port}", f"six.test:{SIX.port}", "engine.test:80"]
write_allow(ALLOW)


def remove_public_network():
    """Also one that a test before it left, which was ended: two cannot have one subnet."""
    ids = subprocess.run(["docker", "network", "ls", "-q", "--filter", "name=^public-net"], capture_output=True, text=True, check=False).stdout.split()
    for i in ids:
        subprocess.run(["docker", "network", "rm", i], check=False, capture_output=True)


remove_public_network()
atexit.register(remove_public_network)
subprocess.run(["docker", "network", "create", "--subnet", "93.184.217.0/24", f"public-{ID}"], check=True, capture_output=True)


def refused(target, code):
    s, head = connect(target)
    with s:
        assert head.startswith(b"HTTP/1.1 " + code), (target, head)
        return everything(s).decode()


def socks(address, port, command=1):
    s = client()
    s.sendall(b"\5\1\0")
    assert s.recv(2) == b"\5\0"
    s.sendall(b"\5" + bytes([command]) + b"\0" + address + struct.pack(">H", port))
    return s, s.recv(10)


@case("up starts one end")
def _():
    berth("up", "team.yaml")
    assert len(end_pids()) == 1
    berth("up", "team.yaml")
    assert len(end_pids()) == 1


@case("the end has given everything up")
def _():
    with open(f"/proc/{end_pids()[0]}/status", encoding="ascii") as f:
        status = dict(line.split(":\t", 1) for line in f.read().splitlines() if ":\t" in line)
    assert status["Uid"].split() == ["65534"] * 4, status["Uid"]
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2" and int(status["CapEff"], 16) == 0, status
    links = [os.readlink(f"/proc/{end_pids()[0]}/fd/{fd}") for fd in os.listdir(f"/proc/{end_pids()[0]}/fd")]
    assert all(x.startswith(("socket:", "anon_inode:", "pipe:", "/dev/null")) for x in links), links


@case("commands find the proxy, and it answers them")
def _():
    out = berth("exec", ID, "--", "sh", "-c", f"env | grep -ci proxy; wget -q -O - http://web.test:{WEB.port}/x")
    assert out == "10\nyes", out
    assert wait_until(lambda: WEB.heard).startswith(b"GET /x "), WEB.heard


@case("an http address: the request is the target's own")
def _():
    got, heard = say_to_web(f"GET http://web.test:{WEB.port}/a?b HTTP/1.1\r\nHost: web.test:{WEB.port}\r\nProxy-Authorization: x\r\nA: b\r\n"
                            "Connection: keep-alive\r\n\r\n")
    assert got.endswith(b"yes"), got
    assert heard == (f"GET /a?b HTTP/1.1\r\nHost: web.test:{WEB.port}\r\nConnection: close\r\nA: b\r\n\r\n").encode(), heard


@case("a body passes, and no second request behind it")
def _():
    _got, heard = say_to_web(f"POST http://web.test:{WEB.port}/ HTTP/1.1\r\nHost: web.test:{WEB.port}\r\nContent-Length: 4\r\n\r\nbody"
                             "GET /evil HTTP/1.1\r\nHost: other.test\r\n\r\n")
    assert heard.endswith(b"\r\n\r\nbody"), heard


@case("what is no request, or names two hosts, is refused")
def _():
    came = WEB.came
    host = f"web.test:{WEB.port}"
    for text in (f"GET http://{host}/ HTTP/1.1\r\nHost: other.test\r\n\r\n",
                 f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nHost: other.test:{WEB.port}\r\n\r\n",
                 f"GET http://{host}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                 f"GET http://{host}/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                 f"GET http://{host}/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                 f"GET http://{host}/ HTTP/1.1\r\nA : b\r\n\r\n", f"GET http://{host}/ HTTP/1.1\r\nA\r\n\r\n",
                 f"GET http://{host}/ HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", f"GET http://{host}/ HTTP/1.1\r\nA: b\nB: c\r\n\r\n",
                 f"GET http://{host}/\0 HTTP/1.1\r\n\r\n", f"GET http://{host}/ HTTP/2.0\r\n\r\n", f"GET https://{host}/ HTTP/1.1\r\n\r\n",
                 f"GET http://u@{host}/ HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", f"GET ftp://{host}/ HTTP/1.1\r\n\r\n",
                 f"GET http://{host}/#x HTTP/1.1\r\n\r\n", f"GET http://{host} x HTTP/1.1\r\n\r\n",
                 f"GET http://{host}/ HTTP/1.1\r\nA: {'b' * 20000}\r\n\r\n", "\r\n\r\n", "CONNECT\r\n\r\n",
                 "CONNECT web.test HTTP/1.1\r\n\r\n", "CONNECT http://web.test:443 HTTP/1.1\r\n\r\n"):
        got = say(text)
        assert got.startswith(b"HTTP/1.1 400 "), (text[:80], got)
    assert WEB.came == came


def echoes(target, family=socket.AF_INET):
    s, head = connect(target, family)
    with s:
        assert head == b"HTTP/1.1 200 Connection established\r\n\r\n", head
        sent = os.urandom(3_000_000)
        threading.Thread(target=lambda: (s.sendall(sent), s.shutdown(socket.SHUT_WR)), daemon=True).start()
        assert everything(s) == sent


@case("CONNECT, both ways, half closed")
def _():
    echoes(f"web.test:{ECHO.port}")


@case("what comes with the request is passed on")
def _():
    with client() as s:
        s.sendall(f"CONNECT web.test:{ECHO.port} HTTP/1.1\r\n\r\nearly".encode())
        s.shutdown(socket.SHUT_WR)
        assert everything(s).endswith(b"\r\n\r\nearly")


@case("SOCKS5: names and addresses; BIND, UDP, SOCKS4 and passwords are not done")
def _():
    for address in (bytes([3, 8]) + b"web.test", bytes([1]) + socket.inet_aton(HERE)):
        s, reply = socks(address, ECHO.port)
        with s:
            assert reply[:2] == b"\5\0", reply
            s.sendall(b"hi")
            assert s.recv(2) == b"hi"
    for address, port, command in ((bytes([3, 9]) + b"evil.test", 80, 1), (bytes([3, 8]) + b"web.test", ECHO.port, 2),
                                   (bytes([3, 8]) + b"web.test", ECHO.port, 3), (bytes([3, 8]) + b"web\0test", ECHO.port, 1),
                                   (bytes([3, 12]) + b"web.test:443", ECHO.port, 1), (bytes([1]) + socket.inet_aton("127.0.0.1"), ECHO.port, 1),
                                   (bytes([9]) + b"1234", 80, 1)):
        s, reply = socks(address, port, command)
        with s:
            assert reply[0] == 5 and reply[1] != 0, (address, reply)
    with client() as s:
        s.sendall(b"\5\1\2")
        assert s.recv(10) == b"\5\xff"
    assert not say(b"\4\1\0\x50\x7f\0\0\1\0").startswith(b"\0\x5a")


@case("hosts that no rule names, in all their spellings")
def _():
    came = ECHO.came + LOCAL.came
    for host in ("evil.test", "127.0.0.1", "localhost", "web.test.evil.test", "xweb.test", "10.9.8.7", "169.254.169.254", "127.77.0.2"):
        assert "no rule allows" in refused(f"{host}:{LOCAL.port}", b"403")
    for host in ("2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "127.1", "127.0.0.01", "[::ffff:127.0.0.1%25lo]", "user@web.test",
                 "web.test@evil.test", "web..test", "w\u00e9b.test", "web.test:80:80", "::1", "[127.0.0.1]", "web.test%2e"):
        refused(f"{host}:{LOCAL.port}", b"400")
    refused(f"[::ffff:127.0.0.1]:{LOCAL.port}", b"403")
    refused(f"web.test:{LOCAL.port}", b"403")
    assert "denied by a rule of this agent (deny denied.wild.test)" in refused("denied.wild.test:443", b"403")
    refused("wild.test:443", b"403")
    assert ECHO.came + LOCAL.came == came


@case("a name that is allowed and means what is private leads nowhere")
def _():
    for name in ("meta.test:80", "inner.test:80"):
        assert "no rule allows them" in refused(name, b"502")
    assert "does not resolve" in refused("nothing.wild.test:443", b"502")


@case("a name that means an address in a network of the engine leads nowhere, public or not")
def _():
    assert "no rule allows them" in refused("engine.test:80", b"502")
    rules = {r["rule"]: r["verb"] for r in json.loads(berth("net", "list", ID, "--json"))["rules"]}
    assert rules["93.184.217.0/24"] == "engine", rules
    assert "a network of the engine: by address only" in berth("net", "list", ID)


@case("an address that is allowed by itself, v6, and this machine's own by its name")
def _():
    for target, server in ((f"{HERE}:{ECHO.port}", ECHO), (f"[::1]:{SIX.port}", SIX), (f"six.test:{SIX.port}", SIX),
                           (f"host.docker.internal:{LOCAL.port}", LOCAL)):
        came = server.came
        s, head = connect(target)
        with s:
            assert b" 200 " in head, (target, head)
            s.sendall(b"x")
            assert s.recv(1) == b"x" and server.came == came + 1


def hello(name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


@case("TLS to the host that was asked for")
def _():
    s, head = connect("web.test:443")
    assert b" 200 " in head
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations("cert.pem")
    context.check_hostname = False
    with context.wrap_socket(s, server_hostname="web.test") as secure:
        secure.sendall(b"hello")
        assert secure.recv(100) == b"secret hello"


@case("TLS for another, for nobody, or none: not a byte arrives")
def _():
    heard = []
    raw = Server(lambda server, conn: heard.append(conn.recv(65536)), "127.77.0.1", 0)
    SECURE.heard = b""
    came = SECURE.came
    for first in (hello("other.test"), hello(None), hello("web.test.evil.test"), b"GET / HTTP/1.1\r\nHost: web.test\r\n\r\n",
                  b"SSH-2.0-x\r\n", b"\x16\x03\x01\x40\x00" + bytes(17000), b"\x16\x03\x01\x00\x00" * 100):
        s, head = connect("web.test:443")
        with s:
            assert b" 200 " in head
            s.sendall(first)
            assert everything(s) == b"", first[:20]
    wait_until(lambda: SECURE.came == came + 7)  # dialled, and hung up on
    assert SECURE.heard == b"" and not heard, SECURE.heard
    raw.socket.close()


@case("a first message in single bytes is read as a whole one")
def _():
    s, _head = connect("web.test:443")
    with s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in hello("web.test"):
            s.sendall(bytes([byte]))
        assert s.recv(1) == b"\x16"


@case("a person allows, denies and forgets: the next connection, and those that are open")
def _():
    target = f"other.test:{ECHO.port}"
    refused(target, b"403")
    berth("net", "allow", ID, target)
    s, head = connect(target)
    assert b" 200 " in head, head
    s.sendall(b"x")
    assert s.recv(1) == b"x"
    t, _head = connect(f"web.test:{ECHO.port}")
    berth("net", "deny", ID, target)
    assert everything(s) == b""
    s.close()
    refused(target, b"403")
    t.sendall(b"y")
    assert t.recv(1) == b"y"
    t.close()
    berth("net", "forget", ID, target)
    refused(target, b"403")
    rules = json.loads(berth("net", "list", ID, "--json"))["rules"]
    assert len([r for r in rules if r["verb"] != "engine"]) == len(ALLOW) + 1 and all(r["origin"] == "file" for r in rules), rules
    berth("net", "forget", ID, "web.test", code=4)
    berth("net", "forget", ID, "nobody.test", code=1)
    berth("net", "allow", ID, "http://x/", code=2)
    acts = [json.loads(line) for line in berth("audit", "list", "--act", "net.*", "--json").splitlines()]
    assert [a["act"] for a in acts if a.get("outcome") == "ok" and a["agent"] == ID][:3] == ["net.allow", "net.deny", "net.forget"], acts


@case("the file's rules are taken anew by up, without making the container anew")
def _():
    before = inspect_pid()
    write_allow(ALLOW + [f"other.test:{ECHO.port}"])
    berth("up", "team.yaml")
    s, head = connect(f"other.test:{ECHO.port}")
    s.close()
    assert b" 200 " in head and inspect_pid() == before
    write_allow(ALLOW)
    berth("up", "team.yaml")
    refused(f"other.test:{ECHO.port}", b"403")


@case("tls: true on another port: TLS for that name and nothing else, by the file and by hand")
def _():
    secure = Server(tls, HERE)
    filed, by_hand = f"web.test:{secure.port}", f"other.test:{secure.port}"

    def speaks(target, name):
        s, head = connect(target)
        assert b" 200 " in head, head
        with s:
            s.sendall(hello(name))
            try:
                return s.recv(1) == b"\x16"
            except ConnectionResetError:
                return False
    write_allow(ALLOW + [f"{HERE}:{secure.port}", {"host": filed, "tls": True}])
    berth("up", "team.yaml")
    assert speaks(filed, "web.test") and not speaks(filed, "other.test")
    berth("net", "allow", ID, filed)  # of two rules the stricter counts
    assert speaks(filed, "web.test") and not speaks(filed, "other.test")
    berth("net", "allow", ID, by_hand)
    assert speaks(by_hand, "x.test")
    berth("net", "allow", ID, "tls://" + by_hand)  # in its place
    assert speaks(by_hand, "other.test") and not speaks(by_hand, "x.test")
    rules = {r["rule"]: r for r in json.loads(berth("net", "list", ID, "--json"))["rules"]}
    assert rules["tls://" + filed]["tls"] and rules["tls://" + filed]["origin"] == "file" and not rules[filed]["tls"], rules
    assert rules["tls://" + by_hand]["origin"] == "session" and by_hand not in rules and rules["web.test"]["tls"], rules
    assert f"tls://{by_hand} " in berth("net", "list", ID)
    got = json.loads(berth("net", "test", ID, by_hand, "--json"))
    assert got["verdict"] == "allowed" and got["tls"] and got["rule"] == "tls://" + by_hand, got
    berth("net", "deny", ID, "tls://" + by_hand, code=2)
    berth("net", "allow", ID, f"tls://{HERE}:1", code=2)
    berth("net", "forget", ID, by_hand, filed)
    refused(by_hand, b"403")
    write_allow(ALLOW)
    berth("up", "team.yaml")
    refused(filed, b"403")


@case("network_rate is a limit of the end's, taken by up without making the container anew")
def _():
    before = inspect_pid()
    write_team(f"network: {{allow: {json.dumps(ALLOW)}, deny: ['denied.wild.test']}}", options="network_rate: 1g,")
    berth("up", "team.yaml")
    rules = [r["rule"] for r in json.loads(berth("net", "list", ID, "--json"))["rules"] if r["verb"] == "rate"]
    assert rules == [str(1 << 30)] and "a second, each way" in berth("net", "list", ID), rules
    echoes(f"web.test:{ECHO.port}")
    write_allow(ALLOW)
    berth("up", "team.yaml")
    assert "a second, each way" not in berth("net", "list", ID) and inspect_pid() == before


@case("what leads to the host's own loopback is said to be loosened, by the file and by hand")
def _():
    def loosened():
        return json.loads(berth("up", "team.yaml", "--json"))["agents"][0]["loosened"]
    own = f"host.docker.internal:{LOCAL.port}"
    others = [rule for rule in ALLOW if rule != own and not rule.startswith((HERE, "[::1]"))]
    assert len(loosened()) == 1 and "the host's loopback" in loosened()[0], loosened()
    assert "loosened: services on the host's loopback" in berth("up", "team.yaml")
    write_allow(others)
    berth("up", "team.yaml")
    assert loosened() == []
    berth("net", "allow", ID, own)
    assert len(loosened()) == 1
    berth("net", "forget", ID, own)
    assert loosened() == []
    for rule in (own, f"{HERE}:{ECHO.port}", f"[::1]:{SIX.port}"):
        write_allow(others + [rule])
        assert len(loosened()) == 1, rule
    write_allow(ALLOW)
    berth("up", "team.yaml")


@case("the log and the sums say what happened")
def _():
    log = json.loads(berth("net", "log", ID, "-n", "512", "--json"))["connections"]
    seen = {c["verdict"] for c in log}
    assert {"allowed", "denied", "no rule", "malformed", "no address", "other name"} <= seen, seen
    big = [c for c in log if c["up"] >= 3_000_000 and c["down"] >= 3_000_000]
    assert big and not big[0]["open"], big
    usage = json.loads(berth("net", "usage", ID, "--json"))
    assert usage["open"] == 0 or usage["open"] < 5, usage
    assert usage["connections"] >= len(log) and usage["up"] >= 3_000_000
    reached = {(r["host"], r["port"]): r for r in usage["reached"]}
    mine = reached["web.test", ECHO.port]
    assert mine["connections"] == 5 and mine["up"] >= 3_000_000 and mine["down"] >= 3_000_000, mine
    assert usage["since"] <= mine["first"] <= mine["last"], (usage["since"], mine)
    assert not {"evil.test", "inner.test", "meta.test", "denied.wild.test"} & {host for host, _ in reached}, reached
    assert sum(r["up"] for r in usage["reached"]) <= usage["up"]
    text = berth("net", "usage", ID)
    assert "reached since 20" in text and f"web.test:{ECHO.port} " in text, text


@case("what is no longer in the ring is said to be missing: in the log, in decisions, in the report")
def _():
    log = json.loads(berth("net", "log", ID, "-n", "3", "--json"))
    assert len(log["connections"]) == 3 and log["older"] == log["connections"][0]["id"] - 1, log
    assert f"{log['older']} older ones are not shown; --last 512" in berth("net", "log", ID, "-n", "3")
    before = json.loads(berth("net", "usage", ID, "--json"))["connections"]
    for _ in range(60):
        for s in clients(10):
            s.close()
    wait_until(lambda: json.loads(berth("net", "usage", ID, "--json"))["connections"] >= before + 600)
    log = json.loads(berth("net", "log", ID, "-n", "512", "--json"))
    assert log["older"] > 0, log["older"]
    assert f"{log['older']} older ones are no longer kept" in berth("net", "log", ID, "-n", "512")
    last = json.loads(berth("audit", "export", "--decisions").splitlines()[-1])["summary"]
    assert last["connections_lost"] == log["older"] and not last["complete"] and last["known_since"] is None, last
    assert f"Up to {log['older']} older connections are missing: of each agent the last 512 are kept" in berth("report")
    usage = json.loads(berth("net", "usage", ID, "--json"))
    assert any(r["host"] == "web.test" and r["up"] >= 3_000_000 for r in usage["reached"]), "sums stay"


@case("a thousand at once, each with its own bytes; more than that are turned away and the end lives")
def _():
    held = clients(1000)
    for i, s in enumerate(held):
        s.sendall(f"CONNECT web.test:{ECHO.port} HTTP/1.1\r\n\r\n{i:08d}".encode())
    for i, s in enumerate(held):
        want = b"HTTP/1.1 200 Connection established\r\n\r\n" + f"{i:08d}".encode()
        got = b""
        while len(got) < len(want):
            more = s.recv(4096)
            assert more, (i, got)
            got += more
        assert got == want, (i, got)
    flood = clients(500)
    wait_until(lambda: json.loads(berth("net", "usage", ID, "--json"))["open"] == 1024)
    for s in held + flood:
        s.close()
    wait_until(lambda: json.loads(berth("net", "usage", ID, "--json"))["open"] == 0)
    s, head = connect(f"web.test:{ECHO.port}")
    s.close()
    assert b" 200 " in head


@case("only its owner asks it")
def _():
    with tempfile.TemporaryDirectory(dir="/tmp") as other:  # the tree may be closed to others
        for name in ("berth", "berth-core", "berth-files"):
            shutil.copy(f"{os.path.dirname(BERTH)}/{name}", other)
        os.chmod(other, 0o755)
        p = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"{other}/berth", "net", "usage", ID],
                           env={k: v for k, v in os.environ.items() if not k.endswith("SAN_OPTIONS")}, capture_output=True, text=True)
    assert p.returncode in (1, 3, 4) and p.stderr.startswith("berth: "), p


@case("an end that is killed: what is open closes, clients are told, up brings another")
def _():
    s, _head = connect(f"web.test:{ECHO.port}")
    with open(f"{os.environ['XDG_RUNTIME_DIR']}/berth/keeper", encoding="ascii") as f:
        os.kill(int(f.read()), signal.SIGKILL)  # who would do it before (egress_keeper.py)
    with s:
        os.kill(end_pids()[0], signal.SIGKILL)
        assert everything(s) == b""
    wait_until(lambda: b"503" in say("GET http://web.test/ HTTP/1.1\r\n\r\n"))
    berth("net", "usage", ID, code=1)
    last = json.loads(berth("audit", "export", "--decisions").splitlines()[-1])["summary"]
    assert not last["complete"] and last["known_since"] and "are not all known" in berth("report"), last
    berth("up", "team.yaml")
    again = json.loads(berth("audit", "export", "--decisions").splitlines()[-1])["summary"]
    assert not again["complete"] and again["known_since"] > last["known_since"], (last, again)
    s, head = connect(f"web.test:{ECHO.port}")
    s.close()
    assert b" 200 " in head, head


@case("an end that stands still is none beside which another is started")
def _():
    first = end_pids()
    os.kill(first[0], signal.SIGSTOP)
    berth("up", "team.yaml")
    assert len(end_pids()) == 1 and end_pids() != first, (first, end_pids())
    echoes(f"web.test:{ECHO.port}")


@case("a container that is started again has its egress after up: at ::1 as well, where it has such a thing")
def _():
    subprocess.run(["docker", "restart", "-t", "1", f"berth-{ID}"], check=True, capture_output=True)
    wait_until(lambda: not end_pids())
    give_v6()  # its listeners are made when up comes
    berth("up", "team.yaml")
    for family in (socket.AF_INET, socket.AF_INET6):
        for target in (f"web.test:{ECHO.port}", f"[::1]:{SIX.port}", f"six.test:{SIX.port}"):
            echoes(target, family)
        s, head = connect(f"[::1]:{LOCAL.port}", family)
        s.close()
        assert b" 403 " in head, head


@case("down ends it, one that stands still as well, and leaves nothing")
def _():
    os.kill(end_pids()[0], signal.SIGSTOP)
    # Another user's end of an agent of the same name has its rules elsewhere.
    with open(f"berth-{ID}", "w", encoding="ascii") as f:
        f.write("read -r word\n")
    other = subprocess.Popen(["berth-egress", f"berth-{ID}", "/elsewhere/x.rules", "1"], executable="/bin/sh", stdin=subprocess.PIPE)
    wait_until(lambda: other.pid in end_pids())
    berth("down", "team.yaml")
    wait_until(lambda: end_pids() == [other.pid])
    assert other.poll() is None
    other.communicate(b"go\n")
    assert other.returncode == 0, other.returncode
    runtime = subprocess.run(["find", "/run/user", "/tmp", os.environ.get("XDG_RUNTIME_DIR", "/nonexistent"), "-path",
                              f"*/egress/berth-{ID}.*"], capture_output=True, text=True).stdout
    assert not runtime, runtime


done()
