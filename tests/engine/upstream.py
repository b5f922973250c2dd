#!/usr/bin/env python3
"""upstream.py - an agent's egress by way of another proxy: what that is asked, what it is never asked, and its login.

The proxy is the test's own, on loopback; it leads every address to servers of the test.
"""
import base64
import json
import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from boxed import connect as connect_to  # noqa: E402
from boxed import (Server, begin, berth, case, client, done, echo, end_pid, say, wait_until, write,  # noqa: E402
                   write_team)
from said import everything  # noqa: E402

HERE = "127.77.0.9"
FAR, FAR6 = "93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"
ID = begin("up", f"{HERE} proxy.test", f"{FAR} far.test other.test", f"{FAR6} six.test", "10.1.2.3 inner.test")
LOGIN = "berth:pass:word-0123"
RUN = f"{os.environ['XDG_RUNTIME_DIR']}/berth"


def pump(a, b):
    def back():
        try:
            while data := b.recv(65536):
                a.sendall(data)
            a.shutdown(socket.SHUT_WR)
        except OSError:
            pass
    t = threading.Thread(target=back, daemon=True)
    t.start()
    while data := a.recv(65536):
        b.sendall(data)
    b.shutdown(socket.SHUT_WR)
    t.join()


class Proxy(Server):
    """Leads CONNECT to a server of the test by its port, or answers what it was told to."""

    def __init__(self):
        self.to, self.asked, self.answer = {}, [], None
        super().__init__(Proxy.lead, HERE)

    def lead(self, conn):
        head = b""
        while b"\r\n\r\n" not in head:
            more = conn.recv(65536)
            if not more:
                return
            head += more
        head, _, rest = head.partition(b"\r\n\r\n")
        self.asked.append(head.decode())
        assert not rest, rest
        if self.answer is not None:
            conn.sendall(self.answer)
            return
        with socket.create_connection(self.to[int(head.split()[1].rsplit(b":", 1)[1])]) as s:
            first = s.recv(64) if b":7 " in head else b""  # who speaks first is heard with the head
            conn.sendall(b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n" + first)
            pump(conn, s)


def openssl(*args):
    subprocess.run(["openssl", *args], check=True, capture_output=True)


def tls(server, conn):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("cert.pem", "key.pem")
    with context.wrap_socket(conn, server_side=True) as s:
        server.heard = s.recv(65536)
        s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret")


def web(server, conn):
    server.heard = conn.recv(65536)
    conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")


def greet(_server, conn):
    conn.sendall(b"SSH-2.0-far\r\n")
    while data := conn.recv(65536):
        conn.sendall(data)


openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=far.test",
        "-addext", "subjectAltName=DNS:far.test,DNS:api.nowhere.test")
PROXY = Proxy()
LOCAL = Server(echo, HERE)
SECURE = Server(tls, HERE)
PLAIN = Server(web, HERE)
PROXY.to = {443: (HERE, SECURE.port), 80: (HERE, PLAIN.port), 7: (HERE, Server(greet, HERE).port), 9: (HERE, Server(echo, HERE).port)}
ALLOW = ["far.test", "far.test:80", "far.test:7", "far.test:9", "six.test:9", "inner.test:9", "nowhere.test:9", f"{FAR}:9", f"[{FAR6}]:9",
         f"{HERE}:{LOCAL.port}", f"host.docker.internal:{Server(echo).port}"]
OWN_PORT = int(ALLOW[-1].rsplit(":", 1)[1])
write("login", LOGIN + "\n", 0o600)
ROUTE = {name: {"to": f"https://{host}", "header": "X-Key: ${secret:KEY}", "allow": ["GET /*"], "ca": f"{os.getcwd()}/cert.pem"}
         for name, host in (("api", "api.nowhere.test"), ("far", "far.test"), ("inner", "inner.test"))}
KEY = "key-that-stays-outside"


def up(upstream, code=0, options="", **env):
    write_team(f"network: {{allow: {json.dumps(ALLOW)}, upstream: {json.dumps(upstream)}, routes: {json.dumps(ROUTE)}}}",
               "secrets:\n  LOGIN: {file: login}\n  SHELL_LOGIN: {env: UPSTREAM_LOGIN}\n  KEY: {env: ROUTE_KEY}\n", options)
    PROXY.asked.clear()
    PROXY.answer = None
    return berth("up", "team.yaml", code=code, env={"ROUTE_KEY": KEY, **env})


def connect(target):
    s, head = connect_to(target)
    return s, head.decode()


def passes(target):
    s, head = connect(target)
    with s:
        assert " 200 " in head, (target, head)
        s.sendall(b"hello")
        assert s.recv(5) == b"hello"


def refused(target, words):
    s, head = connect(target)
    with s:
        assert " 502 " in head, (target, head)
        body = everything(s).decode()
        assert words in body, body


@case("a name is looked up and judged here, and the proxy is asked for its address")
def _():
    up(f"http://proxy.test:{PROXY.port}")
    passes("far.test:9")
    assert PROXY.asked == [f"CONNECT {FAR}:9 HTTP/1.1\r\nHost: {FAR}:9"], PROXY.asked
    last = json.loads(berth("net", "log", ID, "-n", "1", "--json"))["connections"][-1]
    assert last["address"] == FAR and last["verdict"] == "allowed" and last["up"] == last["down"] == 5, last


@case("v6, addresses that are named, SOCKS5 and absolute form go by it, too")
def _():
    PROXY.asked.clear()
    passes("six.test:9")
    passes(f"[{FAR6}]:9")
    passes(f"{FAR}:9")
    with client() as s:
        s.sendall(b"\5\1\0")
        assert s.recv(2) == b"\5\0"
        s.sendall(b"\5\1\0\3\x08far.test" + struct.pack(">H", 9))
        assert s.recv(10)[:2] == b"\5\0"
        s.sendall(b"x")
        assert s.recv(1) == b"x"
    assert say("GET http://far.test/a HTTP/1.1\r\nHost: far.test\r\n\r\n").endswith(b"yes")
    assert PLAIN.heard.startswith(b"GET /a HTTP/1.1\r\nHost: far.test\r\n"), PLAIN.heard
    assert [x.split()[1] for x in PROXY.asked] == [f"[{FAR6}]:9", f"[{FAR6}]:9", f"{FAR}:9", f"{FAR}:9", f"{FAR}:80"], PROXY.asked


@case("what the target says first is passed on")
def _():
    s, head = connect("far.test:7")
    with s:
        assert " 200 " in head and s.recv(13) == b"SSH-2.0-far\r\n"
        s.sendall(b"x")
        assert s.recv(1) == b"x"


@case("what no rule allows, what is private and what is not known are not told to it")
def _():
    PROXY.asked.clear()
    s, head = connect("evil.test:9")
    s.close()
    assert " 403 " in head, head
    refused("inner.test:9", "no rule allows them")
    refused("nowhere.test:9", "cannot be resolved here, and the upstream proxy is not trusted")
    assert not PROXY.asked, PROXY.asked


@case("a route's name is looked up and judged here, too, and TLS stays with the name")
def _():
    PROXY.asked.clear()
    for name, words in (("inner", b"resolves only to private or local addresses"), ("api", b"cannot be resolved here, and the upstream proxy is not trusted")):
        got = say(f"GET /{name}/x HTTP/1.1\r\n\r\n")
        assert got.startswith(b"HTTP/1.1 502 ") and words in got, got
    assert not PROXY.asked, PROXY.asked
    got = say("GET /far/x HTTP/1.1\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 200 ") and got.endswith(b"secret") and b"Host: far.test\r\n" in SECURE.heard, (got, SECURE.heard)
    assert [x.split("\r\n")[0] for x in PROXY.asked] == [f"CONNECT {FAR}:443 HTTP/1.1"] and KEY not in PROXY.asked[0], PROXY.asked
    last = json.loads(berth("net", "log", ID, "-n", "1", "--json"))["connections"][-1]
    assert last["address"] == FAR and last["verdict"] == "allowed", last


@case("this machine's own, named by a rule, is dialled from here")
def _():
    PROXY.asked.clear()
    passes(f"{HERE}:{LOCAL.port}")
    passes(f"host.docker.internal:{OWN_PORT}")
    assert not PROXY.asked, PROXY.asked


@case("TLS for another is not passed on")
def _():
    came = SECURE.came
    s, head = connect("far.test:443")
    assert " 200 " in head
    context = ssl.create_default_context(cafile="cert.pem")
    with context.wrap_socket(s, server_hostname="far.test") as secure:
        secure.sendall(b"hello")
        assert secure.recv(100).startswith(b"HTTP/1.1 200")
    SECURE.heard = b""
    s, head = connect("far.test:443")
    with s:
        assert " 200 " in head
        context.check_hostname = False
        try:
            context.wrap_socket(s, server_hostname="other.test")
            raise AssertionError("it went through")
        except (ssl.SSLError, OSError):
            pass
    wait_until(lambda: SECURE.came == came + 2)
    assert not SECURE.heard


@case("a proxy that refuses, lies, talks too much or goes is an answer, and holds up nobody")
def _():
    for answer, words in ((b"HTTP/1.1 403 no\r\nContent-Length: 4\r\n\r\nevil", "refused far.test:9 (403)"),
                          (b"HTTP/1.1 407 who\r\n\r\n", "rejected the login (407)"), (b"HTTP/1.1 2000 x\r\n\r\n", "sent an invalid answer"),
                          (b"SSH-2.0-x\r\n\r\n\r\n", "sent an invalid answer"), (b"HTTP/1.1 20\r\n\r\n", "sent an invalid answer"),
                          (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 3000 + b"\r\n", "sent an invalid answer"), (b"", "sent an invalid answer"),
                          (b"HTTP/1.1 200 OK\r\nA: b", "sent an invalid answer"), (b"\0" * 100, "sent an invalid answer")):
        PROXY.answer = answer
        refused("far.test:9", words)
    PROXY.answer = None
    passes("far.test:9")
    up(f"http://{HERE}:1")
    refused("far.test:9", "upstream proxy for far.test:9 does not answer")
    up("http://proxy.nowhere.test:3128")
    refused("far.test:9", "upstream proxy for far.test:9 does not answer")


@case("a trusted one is given names, and knows those that this machine does not; what is private stays closed")
def _():
    up({"proxy": f"http://{HERE}:{PROXY.port}", "trusted": True})
    passes("far.test:9")
    passes("nowhere.test:9")
    refused("inner.test:9", "no rule allows them")
    assert [x.split()[1] for x in PROXY.asked] == ["far.test:9", "nowhere.test:9"], PROXY.asked
    assert f"http://{HERE}:{PROXY.port},trusted" in berth("net", "list", ID)


@case("a route goes by it, and its key passes the proxy inside of TLS only")
def _():
    PROXY.asked.clear()
    got = say("GET /api/x HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 200 ") and b"secret" in got and b"Via" not in got, got
    assert f"X-Key: {KEY}".encode() in SECURE.heard, SECURE.heard
    assert len(PROXY.asked) == 1 and PROXY.asked[0].startswith("CONNECT api.nowhere.test:443 HTTP/1.1") and KEY not in PROXY.asked[0], PROXY.asked


@case("a login is sent, and stands nowhere")
def _():
    up({"proxy": f"http://{HERE}:{PROXY.port}", "login": "LOGIN"})
    word = base64.b64encode(LOGIN.encode()).decode()
    passes("far.test:9")
    assert say("GET /far/x HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    assert [f"Proxy-Authorization: Basic {word}" in x for x in PROXY.asked] == [True, True], PROXY.asked
    out = berth("net", "list", ID) + berth("net", "list", ID, "--json") + berth("net", "log", ID) + berth("net", "usage", ID, "--json")
    assert "pass:word" not in out and word not in out and ",login" in out, out
    found = subprocess.run(["grep", "-rlaE", f"pass:word|{word}", RUN, os.environ["HOME"]], capture_output=True, text=True, check=False)
    assert not found.stdout, found.stdout


@case("an end that is started again has the login of a file, and asks for that of a shell")
def _():
    first = end_pid()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: end_pid() not in (0, first) and b" 200 " in say("CONNECT far.test:80 HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n"))
    assert "Proxy-Authorization" in PROXY.asked[-1]
    up({"proxy": f"http://{HERE}:{PROXY.port}", "login": "SHELL_LOGIN"}, UPSTREAM_LOGIN=LOGIN)
    passes("far.test:9")
    first = end_pid()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: end_pid() not in (0, first) and say("GET http://evil.test/ HTTP/1.1\r\n\r\n"))
    PROXY.asked.clear()
    refused("far.test:9", "is missing; the operator must run berth up")
    assert not PROXY.asked
    up({"proxy": f"http://{HERE}:{PROXY.port}", "login": "SHELL_LOGIN"}, UPSTREAM_LOGIN=LOGIN)
    passes("far.test:9")


@case("what is no proxy, and a login that would come inside, is said before anything is done")
def _():
    good = f"http://{HERE}:{PROXY.port}"
    for upstream, words in (("https://proxy.test:3128", "is not an upstream proxy"), ("proxy.test:3128", "is not an upstream proxy"),
                            ("http://proxy.test", "has no port"), ("http://u:p@proxy.test:3128", "the address must not contain a user"),
                            ("http://proxy.test:3128/x", "needs a port"), ("http://proxy.test:3128,trusted", "needs a port"),
                            ("http://host.docker.internal:3128", "that this machine can resolve"), ({"trusted": True}, "upstream: is http://HOST:PORT"),
                            ({"proxy": good, "login": "NOBODY"}, "secret NOBODY of the upstream proxy is not declared"), ([good], "expected")):
        said = up(upstream, code=2)
        assert words in said and "pass" not in said, (upstream, said)
    assert "also passed to" in up({"proxy": good, "login": "LOGIN"}, code=2, options="secrets: [LOGIN],")
    said = up({"proxy": good, "login": "SHELL_LOGIN"}, code=2, UPSTREAM_LOGIN="no-colon-in-it")
    assert "must have the form USER:PASSWORD" in said and "no-colon" not in said, said


@case("without it everything is dialled from here again, and down leaves nothing")
def _():
    write_team(f"network: {{allow: {json.dumps(ALLOW)}}}")
    berth("up", "team.yaml")
    PROXY.asked.clear()
    passes(f"{HERE}:{LOCAL.port}")
    assert "upstream" not in berth("net", "list", ID)
    berth("down", "team.yaml")
    wait_until(lambda: not end_pid())
    assert not [f for f in os.listdir(f"{RUN}/egress") if f.startswith(f"berth-{ID}")]


done()
