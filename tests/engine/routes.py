#!/usr/bin/env python3
"""routes.py - routes with keys: what an agent gets through one, what it cannot, and that the key stays outside.

As egress.py: the test speaks from inside the container's network, the servers are on this machine's loopback, and names
mean what a hosts file of the test's own says.
"""
import glob
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
from boxed import BERTH, PATIENCE, Server, begin, berth, case, client, clients, done, end_pid, inspect_pid, say, wait_until, write_team  # noqa: E402
from said import everything  # noqa: E402

ID = begin("route", "127.77.0.2 api.test wrong.test")
KEY = "sk-sksk-test-3f9aZ_k7.sksk-Qx=="
os.environ["ROUTE_KEY"] = KEY


def make_certificates():
    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, capture_output=True)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=own")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "req.pem", "-subj", "/CN=api.test")
    with open("ext", "w", encoding="ascii") as f:
        f.write("subjectAltName=DNS:api.test\n")
    openssl("x509", "-req", "-in", "req.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "cert.pem", "-days", "2",
            "-extfile", "ext")


class Upstream(Server):
    """Answers by path; keeps each request as it came, with its body."""

    def __init__(self):
        self.go = threading.Event()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain("cert.pem", "key.pem")
        super().__init__(Upstream.secure, "127.77.0.2")
        self.heard = []

    def secure(self, conn):
        with self.context.wrap_socket(conn, server_side=True) as s:
            while self.answer(s, s.makefile("rb")):
                pass

    def answer(self, s, f):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = f.readline()
            if not line:
                return False
            head += line
        path = head.split(b" ")[1].split(b"?")[0].decode()
        fields = {k.strip().lower(): v.strip() for k, _, v in (x.partition(b":") for x in head.split(b"\r\n")[1:])}
        body = b""
        if fields.get(b"transfer-encoding") == b"chunked":
            while n := int(f.readline(), 16):
                body += f.read(n)
                f.readline()
            f.readline()
        else:
            body = f.read(int(fields.get(b"content-length", 0)))
        self.heard.append((head, body))
        return getattr(self, "do_" + path.rsplit("/", 1)[1].replace("-", "_"), self.do_other)(s, head, body)

    @staticmethod
    def plain(s, body, kind=b"application/json", status=b"200 OK", more=b""):
        s.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Type: " + kind + b"\r\nContent-Length: %d\r\n" % len(body) + more + b"\r\n" + body)
        return True

    def do_other(self, s, head, body):
        return self.plain(s, b'{"heard": %d}' % len(body))

    def do_echo(self, s, head, body):
        return self.plain(s, head + body)

    def do_split(self, s, head, body):
        s.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for byte in b"sk-sk" + KEY.encode() + KEY.encode()[:-1] + b"|" + KEY.encode():
            s.sendall(b"1\r\n" + bytes([byte]) + b"\r\n")
        s.sendall(b"0\r\nX-Trailer: " + KEY.encode() + b"\r\n\r\n")
        return True

    def do_header(self, s, head, body):
        return self.plain(s, b"{}", status=b"401 no " + KEY.encode(), more=b"X-Was: Bearer " + KEY.encode() + b"\r\nConnection: keep-alive\r\n")

    def do_sse(self, s, head, body):
        s.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: one\n\n")
        assert self.go.wait(PATIENCE)
        s.sendall(b"data: two\n\n")
        return False

    def do_redirect(self, s, head, body):
        return self.plain(s, b"", status=b"302 Found", more=b"Location: https://api.test:%d/v1/echo\r\n" % self.port)

    def do_packed(self, s, head, body):
        return self.plain(s, b"\x1f\x8b" + bytes(20), more=b"Content-Encoding: gzip\r\n")

    def do_part(self, s, head, body):
        return self.plain(s, KEY.encode()[:9], status=b"206 Partial Content")

    def do_cut(self, s, head, body):
        s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
        return False

    def do_big(self, s, head, body):
        return self.plain(s, b"a" * 20_000_000)

    def do_openai(self, s, head, body):
        return self.plain(s, b'{"model": "gpt-4o-2024-08-06", "choices": [{"text": "\\"usage\\": {\\"prompt_tokens\\": 9}"}], '
                             b'"usage": {"prompt_tokens": 1000, "completion_tokens": 100, "details": {"prompt_tokens": 7}}}')

    def do_anthropic(self, s, head, body):
        text = (b'event: message_start\ndata: {"type": "message_start", "message": {"model": "claude-sonnet-4-1", '
                b'"usage": {"input_tokens": 2000, "output_tokens": 1}}}\n\nevent: message_delta\n'
                b'data: {"type": "message_delta", "usage": {"output_tokens": 300}}\n\n')
        return self.plain(s, text, b"text/event-stream")

    def do_cut_off(self, s, head, body):
        s.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
                  b'data: {"type": "message_start", "message": {"model": "claude-sonnet-4-1", "usage": {"input_tokens": 10, "output_tokens": 1}}}\n\n'
                  b"data: " + b"x" * 4000 + b"\n\n")
        assert self.go.wait(PATIENCE)
        while True:  # until it is hung up on
            s.sendall(b"data: more\n\n")

    def do_gemini(self, s, head, body):
        return self.plain(s, b'data: {"modelVersion": "gemini-2.5-pro", "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2}}\n\n'
                             b'data: {"usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 20, "thoughtsTokenCount": 5}}\n\n',
                          b"text/event-stream")


make_certificates()
UP = Upstream()
ALLOW = ["GET /v1/*", "POST /v1/*", "PUT /v1/echo", "HEAD /v1/echo"]
OWN = (f"127.77.0.2:{UP.port}",)  # where its name leads, which is this machine


def write_route(route=None, more="", secrets="", host="api.test", allow=OWN):
    routes = {"openai": {"to": f"https://{host}:{UP.port}", "header": "Authorization: Bearer ${secret:MODEL}", "allow": ALLOW,
                         "ca": os.path.join(os.getcwd(), "ca.pem"), **(route or {})}}
    write_team(f"network: {{allow: {json.dumps(allow)}, {more} routes: {json.dumps(routes)}}}",
               "secrets:\n  MODEL: {env: ROUTE_KEY}\n  OTHER: {env: ROUTE_KEY}\n", secrets)


write_route()


def ask(path, method="GET", headers="", body=""):
    length = f"Content-Length: {len(body)}\r\n" if body or method == "POST" else ""
    return say(f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n{headers}{length}\r\n{body}")


def unchunk(answer):
    head, _, rest = answer.partition(b"\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in head, head
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        n = int(size, 16)
        body += rest[:n]
        rest = rest[n + 2:]
        if not n:
            assert not rest, rest
            return body
    raise AssertionError("the last chunk has not come")


def usage_of_end():
    return json.loads(berth("net", "usage", ID, "--json"))


def usage_if_told():
    """None where a busy end did not answer in time."""
    p = subprocess.run([BERTH, "net", "usage", ID, "--json"], capture_output=True, text=True)
    assert p.returncode == 0 or "does not answer" in p.stderr, p
    return json.loads(p.stdout) if p.returncode == 0 else None


def usage():
    return usage_of_end()["routes"][0]


@case("a request goes out with the key, without what the agent says of itself")
def _():
    berth("up", "team.yaml")
    got = ask("/openai/v1/echo?a=b@c", "POST", "Authorization: Bearer mine\r\nauthorization_: x\r\nConnection: keep-alive\r\nProxy-X: y\r\n"
              "Accept-Encoding: gzip\r\nRange: bytes=0-3\r\nContent-Type: text/x\r\nX-Own: 1\r\nCookie: c\r\n"
              "TE: trailers\r\nX-Api-Key: mine\r\nx-goog-api-key: mine\r\n", "body")
    assert got.startswith(b"HTTP/1.1 200 OK\r\n") and got.endswith(b"body"), got
    head, body = UP.heard[-1]
    assert head.startswith(b"POST /v1/echo?a=b@c HTTP/1.1\r\nHost: api.test:%d\r\n" % UP.port), head
    assert body == b"body" and f"\r\nAuthorization: Bearer {KEY}\r\n".encode() in head, head
    lower = head.lower()
    assert lower.count(b"authorization: ") == 1 and b"\r\nx-own: 1\r\n" in lower and b"content-type: text/x" in lower, head
    for word in (b"mine", b"keep-alive", b"proxy-x", b"gzip", b"range", b"cookie", b"\r\nte:", b"127.0.0.1", b"expect"):
        assert word not in lower, (word, head)
    assert KEY.encode() not in got and b"Bearer " + b"*" * len(KEY) in got, got


@case("commands find the route and a key that is none")
def _():
    out = berth("exec", ID, "--", "sh", "-c", "echo $OPENAI_BASE_URL $OPENAI_API_KEY; wget -Y off -q -O - $OPENAI_BASE_URL/models")  # it knows no NO_PROXY
    assert out == 'http://127.0.0.1:3128/openai/v1 berth-adds-the-key-outside\n{"heard": 0}', out


@case("the key is covered wherever it stands, in one piece or in many")
def _():
    stars = b"*" * len(KEY)
    assert unchunk(ask("/openai/v1/split")) == b"sk-sk" + stars + KEY.encode()[:-1] + b"|" + stars
    got = ask("/openai/v1/header")
    assert got.startswith(b"HTTP/1.1 401 no " + stars) and b"X-Was: Bearer " + stars in got and b"keep-alive" not in got, got


@case("an encoded answer, and a part of one, do not come in")
def _():
    for path in ("packed", "part"):
        got = ask("/openai/v1/" + path)
        assert got.startswith(b"HTTP/1.1 502 ") and b"could not be masked" in got and KEY[:9].encode() not in got, got


@case("events come when they are sent")
def _():
    with client() as s:
        s.sendall(b"GET /openai/v1/sse HTTP/1.1\r\nHost: x\r\n\r\n")
        got = b""
        while b"data: one\n\n" not in got:
            more = s.recv(4096)
            assert more, got
            got += more
        UP.go.set()
        got += everything(s)
    assert unchunk(got) == b"data: one\n\ndata: two\n\n", got


@case("a redirection is given back")
def _():
    came = len(UP.heard)
    got = ask("/openai/v1/redirect")
    assert got.startswith(b"HTTP/1.1 302 ") and b"Location: https://api.test:" in got and len(UP.heard) == came + 1, got


@case("bodies with a length and in chunks, large ones, and HEAD")
def _():
    body = "x" * 3_000_000
    got = ask("/openai/v1/up", "POST", "", body)
    assert got.endswith(b'{"heard": 3000000}') and UP.heard[-1][1] == body.encode(), got
    got = say("POST /openai/v1/up HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n5\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ") and UP.heard[-1][1] == b"hello0123456789", got
    got = ask("/openai/v1/echo", "HEAD")
    assert got.startswith(b"HTTP/1.1 200 ") and got.endswith(b"\r\n\r\n"), got
    got = ask("/openai/v1/big")
    assert len(got.partition(b"\r\n\r\n")[2]) == 20_000_000


@case("an answer that ends early ends early inside, too")
def _():
    got = ask("/openai/v1/cut")
    assert b"Content-Length: 100" in got and got.endswith(b"short"), got


@case("methods, paths and names that are not listed")
def _():
    came = len(UP.heard)
    for method, path, code in (("DELETE", "/openai/v1/x", 403), ("GET", "/openai/v2/x", 403), ("GET", "/openai", 403), ("GET", "/openai/v1", 403),
                               ("PUT", "/openai/v1/echo2", 403), ("PUT", "/openai/v1/echo/", 403), ("get", "/openai/v1/x", 403),
                               ("GET", "/other/v1/x", 404), ("GET", "/OPENAI/v1/x", 404), ("CONNECT", "/openai/v1/x", 403)):
        got = ask(path, method)
        assert got.startswith(b"HTTP/1.1 %d " % code), (method, path, got)
    assert len(UP.heard) == came


@case("paths that mean another, hosts in them, line ends, and two lengths are refused")
def _():
    came = len(UP.heard)
    for path in ("/openai/v1/../admin", "/openai/v1/..", "/openai/v1/./x", "/openai//v1/x", "//openai/v1/x", "/openai/v1//x", "/openai/v1/%2e%2e/x",
                 "/openai/v1/%2E./x", "/openai/v1/a%2fb", "/openai/v1/a%5cb", "/openai/v1/a\\b", "/openai/v1/@evil.test/", "/openai@evil.test/v1/x",
                 "/openai/v1/x;y", "/openai/v1/..;/x", "/openai/v1/%00", "/openai/v1/%0d%0aX:y", "/openai/v1/%", "/openai/v1/%zz", "/openai/v1/x#y",
                 "/openai/v1/%252e", "/openai/v1/\x01", "/openai/v1/x?a#b", "/openai/v1/x?a\\b", "/openai/v1/%6dodels", "/@evil.test/v1/x",
                 "/openai/v1/x\r", "/openai/v1/x y", "/openai/v1/" + "a" * 3000, "/openai:443/v1/x/" + "@"):
        got = ask(path)
        assert got.startswith(b"HTTP/1.1 400 "), (path, got)
    head = "POST /openai/v1/x HTTP/1.1\r\n"
    for text in (head + "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx", head + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                 head + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n", head + "Transfer-Encoding: gzip, chunked\r\n\r\n",
                 head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", head + "Transfer-Encoding: xchunked\r\n\r\n",
                 head + "Content-Length: +1\r\n\r\nx", head + "Content-Length: 0x1\r\n\r\nx", head + "Content-Length : 1\r\n\r\nx",
                 head + "Content-Length: 1, 1\r\n\r\nx", head + "A: b\n\r\n\r\n", head + "A: b\r\n c\r\n\r\n", head + "A: b\rX: c\r\n\r\n",
                 head + "A\r\n\r\n", head + "A: \0\r\n\r\n", "GET /openai/v1/x HTTP/1.0\r\n\r\n", "GET /openai/v1/x HTTP/2.0\r\n\r\n",
                 "GET /openai/v1/x\r\n\r\n", "GET /openai/v1/x HTTP/1.1 x\r\n\r\n", "GET /openai/v1/\0x HTTP/1.1\r\n\r\n",
                 head + "A: " + "b" * 20000 + "\r\n\r\n"):
        got = say(text)
        assert got.startswith(b"HTTP/1.1 400 "), (text[:100], got)
    assert len(UP.heard) == came, UP.heard[came:]


@case("a key of the agent's in the query is not passed on, and the method is that of the request line")
def _():
    ask("/openai/v1/echo?alt=sse&key=mine&%61pi_key=mine&%24%6bey=mine&access%5ftoken=mine;b=2")
    assert UP.heard[-1][0].startswith(b"GET /v1/echo?alt=sse;b=2 HTTP/1.1\r\n") and b"mine" not in UP.heard[-1][0], UP.heard[-1]
    came = len(UP.heard)
    for query, header in (("?$httpMethod=DELETE", ""), ("?a&%24http%4Dethod=DELETE", ""), ("?_method=DELETE", ""), ("?%2524httpMethod=DELETE", ""),
                          ("?x-http-method-override=DELETE", ""), ("", "X-HTTP-Method-Override: DELETE\r\n"), ("", "x_http_method: DELETE\r\n")):
        got = ask("/openai/v1/echo" + query, "POST", header)
        assert got.startswith(b"HTTP/1.1 400 ") and b"method from the request line" in got, (query, header, got)
    assert len(UP.heard) == came


@case("chunks that are none end the request, and nothing is answered to what follows")
def _():
    for chunks in ("5;x=y\r\nhello\r\n0\r\n\r\n", "5\r\nhelloX\r\n0\r\n\r\n", "0x5\r\nhello\r\n0\r\n\r\n", "000000005\r\nhello\r\n0\r\n\r\n",
                   "-1\r\n\r\n", " 5\r\nhello\r\n0\r\n\r\n", "5\nhello\r\n0\r\n\r\n", "0\r\nX: y\r\n\r\n", "\r\n"):
        got = say("POST /openai/v1/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
        assert got.startswith(b"HTTP/1.1 502 ") and b"chunks" in got, (chunks, got)
    came = len(UP.heard)
    got = say("POST /openai/v1/x HTTP/1.1\r\nContent-Length: 1\r\n\r\nxGET /openai/v1/y HTTP/1.1\r\n\r\n")
    assert got.count(b"HTTP/1.1 200") == 1 and len(UP.heard) == came + 1


@case("the key is in no place that an agent, a disk or a log has")
def _():
    needle = KEY.encode()
    out = berth("exec", ID, "--", "sh", "-c", "cat /proc/1/environ /proc/self/environ; env; find / -xdev -type f 2>/dev/null | xargs cat 2>/dev/null")
    assert KEY not in out
    got = subprocess.run(["docker", "inspect", f"berth-{ID}"], capture_output=True, check=True).stdout
    got += subprocess.run(["docker", "exec", f"berth-{ID}", "cat", "/proc/1/environ"], capture_output=True).stdout
    assert needle not in got
    berth("net", "log", ID), berth("audit", "list", "--json")
    seen = 0
    for place in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HOME"):
        for path in glob.glob(os.environ.get(place, "/nonexistent") + "/**", recursive=True):
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as f:
                    assert needle not in f.read(), path
                seen += 1
    assert seen > 3
    status = open(f"/proc/{end_pid()}/status", encoding="ascii").read()
    assert "Uid:\t65534" in status and "Seccomp:\t2" in status, status
    p = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat", f"/proc/{end_pid()}/environ"], capture_output=True)
    assert p.returncode, "another of its user can look into it"


@case("tokens and dollars are counted, for three kinds of answers")
def _():
    before = usage()
    for path in ("openai", "anthropic", "gemini"):
        ask("/openai/v1/" + path, "POST")
    now = usage()
    assert now["tokens_in"] - before["tokens_in"] == 3010 and now["tokens_out"] - before["tokens_out"] == 425, (before, now)
    # 1000 * 2.5 + 100 * 10, 2000 * 3 + 300 * 15, 10 * 1.25 + 25 * 10, each a million
    assert abs(now["dollars"] - before["dollars"] - (3500 + 10500 + 262.5) / 1e6) < 2e-6, (before, now)
    assert now["requests"] - before["requests"] == 3 and now["down"] > before["down"] and now["refused"] > 10 and now["state"] == "ready", now


@case("a file that changes is told to the end without making the container anew; limits a minute; denied hosts")
def _():
    before = inspect_pid()
    spent = usage()["requests"]
    write_route({"requests_per_minute": 2})
    berth("up", "team.yaml")
    codes = [ask("/openai/v1/x").split(b" ")[1] for _ in range(3)]
    assert codes == [b"200", b"200", b"429"] and inspect_pid() == before and usage()["requests"] == spent + 2, codes
    write_route(more=f"deny: ['api.test:{UP.port}'],")
    berth("up", "team.yaml")
    assert ask("/openai/v1/x").startswith(b"HTTP/1.1 403 ")
    write_route()
    berth("up", "team.yaml")
    assert ask("/openai/v1/x").startswith(b"HTTP/1.1 200 ")


@case("a budget stops a route, outlives a killed end, and what names no tokens is counted by its bytes")
def _():
    write_route({"budget": {"tokens": usage()["tokens_in"] + usage()["tokens_out"] + 1500}})
    berth("up", "team.yaml")
    ask("/openai/v1/openai", "POST")
    estimated = usage()["estimated"]
    assert ask("/openai/v1/x", "POST", "", "b" * 4000).startswith(b"HTTP/1.1 200 ")
    assert usage()["estimated"] == estimated + 1
    got = ask("/openai/v1/x", "POST")
    assert got.startswith(b"HTTP/1.1 402 ") and b"budget" in got, got
    assert usage()["state"] == "budget spent"
    first = end_pid()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: end_pid() != first)
    berth("up", "team.yaml")
    assert ask("/openai/v1/x").startswith(b"HTTP/1.1 402 ")
    write_route({"budget": {"usd": 1000}})
    berth("up", "team.yaml")
    assert ask("/openai/v1/x").startswith(b"HTTP/1.1 200 ")


@case("an agent that leaves before an answer has ended has spent what came of it")
def _():
    before = usage()
    UP.go.clear()
    with client() as s:
        s.sendall(b"GET /openai/v1/cut_off HTTP/1.1\r\n\r\n")
        got = b""
        while got.count(b"x") < 4000:
            more = s.recv(65536)
            assert more, got
            got += more
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    UP.go.set()
    now = wait_until(lambda: (told := usage())["estimated"] > before["estimated"] and told)
    assert now["tokens_in"] - before["tokens_in"] == 10 and now["tokens_out"] - before["tokens_out"] >= 1000, (before, now)


@case("a server that is not the one that the file names is given nothing")
def _():
    came = len(UP.heard)
    write_route(host="wrong.test")
    berth("up", "team.yaml")
    got = ask("/openai/v1/x")
    assert got.startswith(b"HTTP/1.1 502 ") and len(UP.heard) == came, got
    write_route({"ca": os.path.join(os.getcwd(), "cert2.pem")})
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "k2", "-out", "cert2.pem", "-days", "2", "-subj", "/CN=x"],
                   check=True, capture_output=True)
    berth("up", "team.yaml")
    got = ask("/openai/v1/x")
    assert got.startswith(b"HTTP/1.1 502 ") and len(UP.heard) == came, got
    write_route()
    berth("up", "team.yaml")


@case("a name that leads to this machine is not dialled, unless a rule names the address")
def _():
    came = UP.came
    write_route(allow=())
    berth("up", "team.yaml")
    got = ask("/openai/v1/x")
    assert got.startswith(b"HTTP/1.1 502 ") and b"resolves only to private or local addresses" in got and UP.came == came, got
    last = json.loads(berth("net", "log", ID, "-n", "1", "--json"))["connections"][-1]
    assert last["verdict"] == "no address" and not last["address"], last
    write_route()
    berth("up", "team.yaml")
    assert ask("/openai/v1/x").startswith(b"HTTP/1.1 200 ")
    last = json.loads(berth("net", "log", ID, "-n", "1", "--json"))["connections"][-1]
    assert last["verdict"] == "allowed" and last["address"] == "127.77.0.2", last


@case("files that would let the key in, or say nothing, are refused")
def _():
    for kwargs, word in (({"secrets": "secrets: [MODEL],"}, "also passed to"), ({"secrets": "secrets: [OTHER],"}, "also passed to"),
                         ({"secrets": f"env: {{X: '{KEY}'}},"}, "also passed to"), ({"secrets": "credentials: {env: [ROUTE_KEY]},"}, "also passed to"),
                         ({"route": {"header": "Authorization: Bearer x"}}, "not a valid header"),
                         ({"route": {"header": "Authorization: ${secret:NONE}"}}, "not declared"),
                         ({"route": {"to": "http://api.test"}}, "unencrypted"), ({"route": {"to": "https://u@api.test"}}, "user"),
                         ({"route": {"to": "https://api.test/v1"}}, "must not have a path"), ({"route": {"allow": ["GET v1"]}}, "METHOD /path"),
                         ({"route": {"allow": ["GET /v1/../x"]}}, "METHOD /path"), ({"route": {"env": ["a b"]}}, "variable")):
        write_route(**kwargs)
        got = berth("up", "team.yaml", code=2)
        assert word in got and KEY not in got, (kwargs, got)
    write_route()


@case("a key in a header of another name takes the place of the agent's, and denying the host ends what is under way")
def _():
    write_route({"header": "x-api-key: ${secret:MODEL}"})
    berth("up", "team.yaml")
    ask("/openai/v1/x", "GET", "X-Api-Key: mine\r\nx_api_key: mine\r\nAuthorization: mine\r\n")
    head = UP.heard[-1][0]
    assert b"mine" not in head and head.lower().count(b"api-key") == 1 and f"x-api-key: {KEY}\r\n".encode() in head, head
    UP.go.clear()
    with client() as s:
        s.sendall(b"GET /openai/v1/sse HTTP/1.1\r\n\r\n")
        got = b""
        while b"data: one" not in got:
            more = s.recv(4096)
            assert more, got
            got += more
        berth("net", "deny", ID, f"api.test:{UP.port}")
        assert everything(s) == b""
    UP.go.set()
    berth("net", "forget", ID, f"api.test:{UP.port}")
    write_route()
    berth("up", "team.yaml")
    assert ask("/openai/v1/x").startswith(b"HTTP/1.1 200 ")


@case("presets are rules of the file, each shown with the name that it came by")
def _():
    write_route(allow=["preset:python", "example.test"])
    berth("up", "team.yaml")
    rules = json.loads(berth("net", "list", ID, "--json"))["rules"]
    assert [(r["rule"], r["origin"], r["preset"]) for r in rules] == [
        ("pypi.org", "file", "python"), ("files.pythonhosted.org", "file", "python"), ("example.test", "file", None)], rules
    assert "team file, preset python" in berth("net", "list", ID)
    berth("net", "allow", ID, "crates.io")
    write_route(allow=["preset:debian"])
    berth("up", "team.yaml")
    rules = {r["rule"]: r for r in json.loads(berth("net", "list", ID, "--json"))["rules"]}
    assert rules["deb.debian.org:80"]["preset"] == "debian" and rules["crates.io"]["origin"] == "session" and len(rules) == 5, rules
    write_route(allow=["preset:pyton"])
    assert "known presets: python, node" in berth("up", "team.yaml", code=2)
    write_route()
    berth("up", "team.yaml")


@case("floods end in refusals, slow and silent agents hold up nobody")
def _():
    refused = usage_of_end()["refused"]
    held = clients(300)
    for s in held:
        s.sendall(b"POST /openai/v1/x HTTP/1.1\r\nContent-Length: 9\r\n\r\n")
    wait_until(lambda: (told := usage_if_told()) and told["refused"] > refused)
    for s in held:
        s.close()
    wait_until(lambda: (told := usage_if_told()) and told["open"] == 0)
    s = client()
    s.sendall(b"GET /openai/v1/big HTTP/1.1\r\n\r\n")  # and is not read
    assert ask("/openai/v1/x").startswith(b"HTTP/1.1 200 ")
    if os.environ.get("VARIANT") not in ("asan", "tsan"):  # these keep memory of their own
        with open(f"/proc/{end_pid()}/statm", encoding="ascii") as f:
            assert int(f.read().split()[1]) * 4096 < 64 << 20
    s.close()


@case("an end that nobody has told of its routes says so")
def _():
    os.kill(end_pid(), signal.SIGKILL)
    wait_until(lambda: b" 503 " in ask("/openai/v1/x"))
    berth("up", "team.yaml")
    assert ask("/openai/v1/x").startswith(b"HTTP/1.1 200 ")


@case("down leaves nothing")
def _():
    berth("down", "team.yaml")
    wait_until(lambda: not end_pid())
    left = subprocess.run(["find", os.environ["XDG_RUNTIME_DIR"], "-path", f"*/egress/berth-{ID}.*"], capture_output=True, text=True).stdout
    assert not left, left


done()
