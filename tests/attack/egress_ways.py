#!/usr/bin/env python3
"""egress_ways.py - the ways around an agent's egress rules in one list, each tried from inside its container.

What no rule names are traps: sockets of this machine that listen, and that nobody accepts.  A way is lost when its answer
is no success and no trap holds a connection.  What the rules allow is tried before and after, and the test springs each
trap itself: that all is refused proves nothing where nothing can be reached.
"""
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from boxed import (PATIENCE, PROXY_PORT, Server, begin, berth, case, client, done, echo, end_pid, give_v6,  # noqa: E402
                   inspect_pid, say, wait_until, write)
from said import everything  # noqa: E402

AT_LEAST, FLOOD = 60, 10_000
GOOD_AT, TRAP_AT, DNS_AT, TMP = "127.77.0.9", "127.77.0.10", "127.77.0.53", os.environ["TMPDIR"]
ID = begin("ways", f"{GOOD_AT} good.test other.test", f"{TRAP_AT} trap.test deny.wild.test", "169.254.169.254 meta.test", "127.0.0.1 loop.test",
           "::ffff:127.0.0.1 mapped.test", "64:ff9b::7f00:1 nat.test", "2002:7f00:1:: tunnel.test", "168.63.129.16 wire.test")
# Names that the hosts file does not know are asked of a server of this test.
write("resolv.conf", f"nameserver {DNS_AT}\nsearch lab.test\noptions timeout:30 attempts:2\n")
subprocess.run(["mount", "--bind", "resolv.conf", "/etc/resolv.conf"], check=True)


class Names(threading.Thread):
    """Keeps each question, answers A by `answers`: a list of addresses for each time that it is asked, the last for all others."""

    def __init__(self, answers):
        super().__init__(daemon=True)
        self.answers, self.questions = answers, []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((DNS_AT, 53))
        self.start()

    def run(self):
        while True:
            asked, asker = self.socket.recvfrom(4096)
            labels, at = [], 12
            while asked[at]:
                labels.append(asked[at + 1:at + 1 + asked[at]].decode("ascii", "replace"))
                at += 1 + asked[at]
            name, kind = ".".join(labels).lower(), struct.unpack_from(">H", asked, at + 1)[0]
            self.questions.append(name)
            turns = self.answers.get(name, [[]])
            found = (turns.pop(0) if len(turns) > 1 else turns[0]) if kind == 1 else []
            self.socket.sendto(asked[:2] + (b"\x81\x80" if name in self.answers else b"\x81\x83") + struct.pack(">HHHH", 1, len(found), 0, 0)
                               + asked[12:at + 5] + b"".join(b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton(a) for a in found), asker)


def tls(server, conn):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("cert.pem", "key.pem")
    with context.wrap_socket(conn, server_side=True) as secure:
        server.heard += secure.recv(100)
        secure.sendall(b"yes")


def web(server, conn):
    """Sends every visitor on to a trap."""
    server.heard = conn.recv(65536)
    conn.sendall(f"HTTP/1.1 302 Found\r\nLocation: http://{TRAP_AT}:{PORT}/\r\nContent-Length: 0\r\n\r\n".encode())


def listen(address, port, family=socket.AF_INET):
    s = socket.socket(family)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, port))
    s.listen()
    s.setblocking(False)
    return s


def set_traps():
    """At one port each, and the good server at the same: a way that takes one host for another is not lost for its port's sake."""
    good = Server(echo, GOOD_AT)
    port = good.port
    mine = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True).stdout.split()
    traps = {f"{a}:{port}": listen(a, port, socket.AF_INET6 if ":" in a else socket.AF_INET)
             for a in ("127.0.0.1", "::1", TRAP_AT, *(a for a in mine if not a.startswith("fe80")))}
    traps |= {f"{TRAP_AT}:{p}": listen(TRAP_AT, p) for p in (22, 80, 443)}
    traps["abstract"] = socket.socket(socket.AF_UNIX)
    traps["abstract"].bind("\0" + ID)
    traps["abstract"].listen()
    traps["abstract"].setblocking(False)
    for address in ("127.0.0.1", TRAP_AT):
        traps[f"udp {address}"] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        traps[f"udp {address}"].bind((address, port))
        traps[f"udp {address}"].setblocking(False)
    return good, traps, mine


def sprung():
    """The traps that hold somebody, and hold nobody afterwards."""
    found = []
    for name, trap in TRAPS.items():
        try:
            while True:
                trap.recv(4096) if name.startswith("udp") else trap.accept()[0].close()
                found.append(name)
        except BlockingIOError:
            pass
    return found


subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj",
                "/CN=good.test"], check=True, capture_output=True)
GOOD, TRAPS, MINE = set_traps()
PORT = GOOD.port
SECURE, WEB = Server(tls, GOOD_AT, 443), Server(web, GOOD_AT, 80)
DNS = Names({"control.wild.test": [[GOOD_AT]], "rebind.wild.test": [[GOOD_AT], ["127.0.0.1"]], "both.wild.test": [["127.0.0.1", GOOD_AT]],
             "trap.wild.test": [[TRAP_AT]], "zero.wild.test": [["0.0.0.0"]], "cgnat.wild.test": [["100.64.0.1"]], "nothing.wild.test.lab.test": [[GOOD_AT]]})
RULES = ["good.test", GOOD_AT, f"{GOOD_AT}:80", f"{GOOD_AT}:{PORT}", "good.test:80", *(f"{n}:{PORT}" for n in (
    "good.test", "*.wild.test", "loop.test", "mapped.test", "nat.test", "tunnel.test")), "meta.test:80", "wire.test:80"]
write("team.yaml", f"""agents:
  {ID}: {{image: 'box:1', workspace: {TMP}/ws, memory: 64m, pids: 64, network: {{allow: {RULES}, deny: [deny.wild.test]}}}}
  {ID}b: {{image: 'box:1', workspace: {TMP}/ws2, memory: 64m, pids: 64}}
""")
os.mkdir("ws2")
os.chown("ws2", 1000, 1000)
berth("up", "team.yaml")
give_v6()
berth("up", "team.yaml")
GIVEN = dict(line.split("=", 1) for line in berth("exec", ID, "--", "env").splitlines() if "=" in line)
ENV = {k: v for k, v in GIVEN.items() if "proxy" in k.lower()} | {"PATH": os.environ["PATH"], "HOME": TMP, "LC_ALL": "C.UTF-8"}

# --- The kinds of ways: each returns what it was answered, and fails when that is a success.


def connect(target):
    """CONNECT, as it stands; its head."""
    s = client()
    s.sendall(b"CONNECT " + (target if isinstance(target, bytes) else target.encode()) + b" HTTP/1.1\r\n\r\n")
    head = b""
    while b"\r\n\r\n" not in head and (more := s.recv(1)):
        head += more
    return s, head


def tunnel(target):
    s, head = connect(target)
    with s:
        assert head.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 403 ", b"HTTP/1.1 502 ")), head
        return head + everything(s)


def http(text):
    got = say(text)
    assert not got or got.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 403 ", b"HTTP/1.1 502 ")), got
    return got


def socks(request, hello=b"\5\1\0"):
    with client() as s:
        s.sendall(hello)
        got = s.recv(2)
        if got == b"\5\0":
            s.sendall(request)
            got = s.recv(10)
        assert len(got) < 2 or got[:2] not in (b"\5\0", b"\0\x5a"), got
        return got


def name_of(host, port, command=1):
    return b"\5" + bytes([command]) + b"\0\3" + bytes([len(host)]) + host + struct.pack(">H", port)


def first(data, byte_by_byte=False):
    """What a TLS connection to an allowed name says first; not a byte of it may arrive."""
    SECURE.heard = b""
    s, head = connect("good.test:443")
    with s:
        assert b" 200 " in head, head
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for part in ([bytes([b]) for b in data] if byte_by_byte else [data]):
                s.sendall(part)
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        assert everything(s) == b"", "it was answered"
    assert SECURE.heard == b"", SECURE.heard


def hello(name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    outgoing = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def two_names():
    """A ClientHello whose list of names has a second one."""
    data = hello("good.test")
    at = data.index(b"\0\0\0\x0e\0\x0c\0\0\x09good.test")
    more = b"\0\0\x09trap.test"
    data = data[:at] + b"\0\0" + struct.pack(">HH", 14 + len(more), 12 + len(more)) + b"\0\0\x09good.test" + more + data[at + 18:]
    grow = len(more)
    extensions = at - 2
    while struct.unpack_from(">H", data, extensions)[0] + extensions + 2 != len(data) - grow:
        extensions -= 1
    data = data[:extensions] + struct.pack(">H", struct.unpack_from(">H", data, extensions)[0] + grow) + data[extensions + 2:]
    return data[:3] + struct.pack(">H", len(data) - 5) + data[5:6] + (len(data) - 9).to_bytes(3, "big") + data[9:]


def program(*args, env=None):
    """A program of this machine in the container's network, with what its commands are given."""
    p = subprocess.run(["nsenter", f"--net=/proc/{inspect_pid()}/ns/net", *args], capture_output=True, env=ENV if env is None else env,
                       timeout=PATIENCE, stdin=subprocess.DEVNULL)
    assert p.returncode, p.stdout[-500:]


def command(*args, agent=ID):
    """One of the agent's own."""
    p = subprocess.run([os.environ["BERTH"], "exec", "--timeout", "20", agent, "--", *args], capture_output=True, timeout=PATIENCE,
                       stdin=subprocess.DEVNULL)
    assert p.returncode and b"not found" not in p.stderr and b"cannot be run" not in p.stderr, p


def direct(address, port, family=socket.AF_INET, kind=socket.SOCK_STREAM):
    """Without the proxy."""
    p = f"import socket; s = socket.socket({int(family)}, {int(kind)}); s.settimeout(5); s.connect({(address, port)!r}); s.send(b'x'); s.recv(1)"
    program(sys.executable, "-c", p)


def by_dns(name, times=4):
    """To a name whose addresses are the test's: the good one may be dialled, and nothing else."""
    for _ in range(times):
        s, head = connect(f"{name}:{PORT}")
        with s:
            if b" 200 " in head:
                s.sendall(b"x")
                assert s.recv(1) == b"x"


def refuses_names(*hosts):
    """Names that are refused are not looked up: nothing can be told to whoever runs their servers."""
    asked = len(DNS.questions)
    for host in hosts:
        tunnel(f"{host}:443")
    assert len(DNS.questions) == asked, DNS.questions[asked:]


def by_search_domain():
    """A name that is allowed and unknown is not another one of this machine's own domain."""
    tunnel(f"nothing.wild.test:{PORT}")
    assert DNS.questions[-1] == "nothing.wild.test", DNS.questions[-1]


def after_refusal():
    s, head = connect(f"trap.test:{PORT}")
    with s:
        assert b" 403 " in head, head
        s.sendall(f"CONNECT good.test:{PORT} HTTP/1.1\r\n\r\n".encode())
        assert b" 200 " not in everything(s)


def redirected():
    got = say("GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 302 "), got
    program("curl", "-sSfL", "http://good.test/")


def second_request(head):
    got = say(head + f"GET http://trap.test:80/ HTTP/1.1\r\nHost: trap.test\r\n\r\n")
    assert got.count(b"HTTP/1.1 ") == 1 and b"trap.test" not in WEB.heard, (got, WEB.heard)


def denied_while_open():
    """What is open to a name ends when the name is denied, and no new one comes."""
    s, head = connect(f"good.test:{PORT}")
    with s:
        assert b" 200 " in head
        berth("net", "deny", ID, f"good.test:{PORT}")
        assert everything(s) == b""
    tunnel(f"good.test:{PORT}")
    berth("net", "forget", ID, f"good.test:{PORT}")


WAYS = [
    # Past the proxy.
    *((f"a connection of its own to {where}", lambda a=a, f=f: direct(a, PORT, f)) for where, a, f in (
        ("the host's loopback", "127.0.0.1", socket.AF_INET), ("::1", "::1", socket.AF_INET6), ("another loopback address", TRAP_AT, socket.AF_INET),
        *(("the host's own address " + a, a, socket.AF_INET6 if ":" in a else socket.AF_INET) for a in MINE),
        ("the metadata service", "169.254.169.254", socket.AF_INET), ("a public address", "192.0.2.1", socket.AF_INET))),
    ("a datagram", lambda: direct(TRAP_AT, PORT, kind=socket.SOCK_DGRAM)),
    ("a datagram to the resolver", lambda: direct(DNS_AT, 53, kind=socket.SOCK_DGRAM)),
    ("an abstract socket", lambda: program(
        sys.executable, "-c", f"import socket; socket.socket(socket.AF_UNIX).connect('\\0{ID}')")),
    ("a raw socket", lambda: command("ping", "-c", "1", "-W", "2", TRAP_AT)),
    ("a packet socket", lambda: command("arping", "-c", "1", "-w", "2", "-I", "lo", TRAP_AT)),
    ("a name server's address", lambda: command("nslookup", "control.wild.test", DNS_AT)),
    ("/dev/tcp of a shell", lambda: program("bash", "-c", f"exec 3<>/dev/tcp/{TRAP_AT}/{PORT}")),
    ("curl --noproxy", lambda: program("curl", "-sSf", "-m", "10", "--noproxy", "*", "--resolve", f"trap.test:443:{TRAP_AT}", "https://trap.test/")),
    ("no proxy variables", lambda: program("curl", "-sSf", "-m", "10", f"http://{TRAP_AT}:{PORT}/", env={"PATH": os.environ["PATH"]})),
    ("NO_PROXY of its own", lambda: program("curl", "-sSf", "-m", "10", f"http://trap.test:{PORT}/", env=ENV | {"no_proxy": "trap.test", "NO_PROXY": "*"})),
    ("the program for ssh", lambda: command("/.berth/init", "connect", "trap.test", "22")),
    ("the program for ssh, to an address", lambda: command("/.berth/init", "connect", TRAP_AT, "22")),
    ("another agent, which has no rules", lambda: command("nc", "-w", "2", "127.0.0.1", str(PROXY_PORT), agent=ID + "b")),
    # Other hosts.
    *((f"CONNECT {name}", lambda t=t: tunnel(t)) for name, t in (
        ("to what no rule names", f"trap.test:{PORT}"), ("to its address", f"{TRAP_AT}:{PORT}"), ("to the host's loopback", f"127.0.0.1:{PORT}"),
        ("to localhost", f"localhost:{PORT}"), ("to the host's own name", f"host.docker.internal:{PORT}"), ("to ::1", f"[::1]:{PORT}"),
        ("to the proxy itself", f"127.0.0.1:{PROXY_PORT}"), ("to 0.0.0.0", f"0.0.0.0:{PORT}"), ("to ::", f"[::]:{PORT}"),
        ("to a decimal address", f"2130706433:{PORT}"), ("to a hexadecimal address", f"0x7f000001:{PORT}"),
        ("to an octal address", f"0177.0.0.1:{PORT}"), ("to a short address", f"127.1:{PORT}"), ("to an address with zeros", f"127.0.0.01:{PORT}"),
        ("to a mixed address", f"0x7f.0.0.1:{PORT}"), ("to an address with a dot behind", f"127.0.0.1.:{PORT}"),
        ("to v4 mapped into v6", f"[::ffff:127.0.0.1]:{PORT}"), ("to the same in hexadecimal", f"[::ffff:7f00:1]:{PORT}"),
        ("to v4 by 6to4", f"[2002:7f00:1::]:{PORT}"), ("to v4 by NAT64", f"[64:ff9b::7f00:1]:{PORT}"), ("to an address with a zone", f"[::1%25lo]:{PORT}"),
        ("to v4 in brackets", f"[127.0.0.1]:{PORT}"), ("to a name with a dot behind", f"trap.test.:{PORT}"), ("in capitals", f"TRAP.TEST:{PORT}"),
        ("with an allowed name before", f"good.test.trap.test:{PORT}"), ("with letters before an allowed name", f"xgood.test:{PORT}"),
        ("as a user at a host", f"good.test@trap.test:{PORT}"), ("as a host at a host", f"trap.test@good.test:{PORT}"),
        ("to the name of a wildcard itself", f"wild.test:{PORT}"), ("to a denied name of a wildcard", f"deny.wild.test:{PORT}"),
        ("to that in capitals with a dot", f"DENY.Wild.test.:{PORT}"), ("with a letter that looks alike", f"g\u043e\u043ed.test:{PORT}"),
        ("with dots that are none", f"127\u30020\u30020\u30021:{PORT}"), ("with escapes", f"good.test%2e:{PORT}"), ("with an empty label", f"good..test:{PORT}"),
        ("with a NUL in its name", b"good.test\0.trap.test:%d" % PORT), ("with a blank in its name", f"good.test trap.test:{PORT}"),
        ("with another port", "good.test:22"), ("with a port that is one more time around", f"good.test:{65536 + 443}"),
        ("with two ports", f"good.test:443:{PORT}"), ("with a line break in it", f"good.test:443\r\nHost: trap.test:{PORT}"),
        ("with a name of 300 letters", f"{'a' * 300}.test:{PORT}"), ("as an address of the web", f"http://trap.test:{PORT}/"),
        ("to the metadata service", "169.254.169.254:80"), ("to that of v6", "[fd00:ec2::254]:80"))),
    # What allowed names mean.
    *((f"an allowed name that means {what}", lambda t=t: tunnel(t)) for what, t in (
        ("the metadata service", "meta.test:80"), ("that of Azure's hosts", "wire.test:80"),
        ("the host's loopback", f"loop.test:{PORT}"), ("it mapped into v6", f"mapped.test:{PORT}"),
        ("it by NAT64", f"nat.test:{PORT}"), ("it by 6to4", f"tunnel.test:{PORT}"), ("what no rule names", f"trap.wild.test:{PORT}"),
        ("0.0.0.0", f"zero.wild.test:{PORT}"), ("a carrier's address", f"cgnat.wild.test:{PORT}"))),
    ("an allowed name that means another host the second time", lambda: by_dns("rebind.wild.test")),
    ("an allowed name that means two hosts", lambda: by_dns("both.wild.test")),
    ("an allowed name that nobody knows, in the host's own domain", by_search_domain),
    ("names as a channel", lambda: refuses_names("c2VjcmV0.trap.test", "c2VjcmV0.evil.example", "secret.deny.wild.test.evil.example")),
    # HTTP.
    ("an address of the web that no rule names", lambda: http(f"GET http://trap.test:{PORT}/ HTTP/1.1\r\nHost: trap.test\r\n\r\n")),
    ("the Host of another", lambda: http("GET http://good.test/ HTTP/1.1\r\nHost: trap.test\r\n\r\n")),
    ("two Hosts", lambda: http("GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\nHost: trap.test\r\n\r\n")),
    ("no address, only a Host", lambda: http("GET / HTTP/1.1\r\nHost: trap.test\r\n\r\n")),
    ("a user in the address", lambda: http(f"GET http://good.test@trap.test:{PORT}/ HTTP/1.1\r\nHost: good.test\r\n\r\n")),
    ("a line break in the address", lambda: http(f"GET http://good.test/\r\nHost: trap.test\r\n HTTP/1.1\r\n\r\n")),
    ("two lengths", lambda: http("POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\nContent-Length: 0\r\nContent-Length: 90\r\n\r\n")),
    ("a length and chunks", lambda: http("POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")),
    ("a header that goes on in the next line", lambda: http("GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\nA: b\r\n c\r\n\r\n")),
    ("another scheme", lambda: http(f"GET ftp://trap.test:{PORT}/ HTTP/1.1\r\nHost: trap.test\r\n\r\n")),
    ("a second request on the same connection", lambda: second_request("GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\nConnection: keep-alive\r\n\r\n")),
    ("a second request behind a body", lambda: second_request("POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\nContent-Length: 1\r\n\r\nx")),
    ("a second CONNECT behind one that was refused", after_refusal),
    ("a redirect", redirected),
    ("HTTP to a name that is allowed for TLS", lambda: http("GET http://good.test:443/ HTTP/1.1\r\nHost: good.test:443\r\n\r\n")),
    # SOCKS.
    *((f"SOCKS5 to {what}", lambda r=r: socks(r)) for what, r in (
        ("a name that no rule names", name_of(b"trap.test", PORT)), ("an address in a name", name_of(b"127.0.0.1", PORT)),
        ("a name with a port in it", name_of(b"good.test:443", PORT)), ("a name with a NUL", name_of(b"good.test\0", PORT)),
        ("an address", b"\5\1\0\1" + socket.inet_aton("127.0.0.1") + struct.pack(">H", PORT)),
        ("an address of v6", b"\5\1\0\4" + socket.inet_pton(socket.AF_INET6, "::1") + struct.pack(">H", PORT)),
        ("v4 mapped into v6", b"\5\1\0\4" + socket.inet_pton(socket.AF_INET6, "::ffff:127.0.0.1") + struct.pack(">H", PORT)))),
    ("SOCKS5: BIND", lambda: socks(name_of(b"good.test", PORT, 2))),
    ("SOCKS5: UDP", lambda: socks(name_of(b"good.test", PORT, 3))),
    ("SOCKS4", lambda: socks(b"", b"\4\1" + struct.pack(">H", PORT) + socket.inet_aton("127.0.0.1") + b"\0")),
    ("SOCKS4 with a name", lambda: socks(b"", b"\4\1" + struct.pack(">H", PORT) + b"\0\0\0\1\0trap.test\0")),
    # TLS.
    ("TLS for another", lambda: first(hello("trap.test"))), ("TLS for nobody", lambda: first(hello(None))),
    ("TLS for another, byte by byte", lambda: first(hello("trap.test"), True)), ("TLS for two", lambda: first(two_names())),
    ("TLS for a longer name", lambda: first(hello("good.test.trap.test"))), ("ssh at the port of TLS", lambda: first(b"SSH-2.0-x\r\n")),
    ("a first message without an end", lambda: first(b"\x16\x03\x01\x40\x00" + bytes(17000))),
    ("CONNECT to a proxy behind the allowed name", lambda: first(f"CONNECT trap.test:{PORT} HTTP/1.1\r\n\r\n".encode())),
    ("a denial while it is open", denied_while_open),
]


def works():
    """What is allowed is reached: raw, by TLS, by HTTP and by a name of the test's server."""
    for target in (f"good.test:{PORT}", f"control.wild.test:{PORT}"):
        s, head = connect(target)
        with s:
            assert b" 200 " in head, (target, head)
            s.sendall(b"x")
            assert s.recv(1) == b"x"
    s, head = connect("good.test:443")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations("cert.pem")
    context.check_hostname = False
    with context.wrap_socket(s, server_hostname="good.test") as secure:
        secure.sendall(b"hello")
        assert secure.recv(100) == b"yes"
    assert say("GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n").startswith(b"HTTP/1.1 302 ")


@case("each trap springs, and what is allowed is reached")
def _():
    for name in TRAPS:
        address = name.split()[-1].rsplit(":", 1)
        if name == "abstract":
            socket.socket(socket.AF_UNIX).connect("\0" + ID)
        elif name.startswith("udp"):
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", (address[0], PORT))
        else:
            socket.create_connection((address[0], int(address[1])), PATIENCE).close()
    assert sorted(set(sprung())) == sorted(TRAPS)
    works()
    assert not sprung() and "control.wild.test" in DNS.questions


for way, attempt in WAYS:
    @case(way)
    def _(attempt=attempt):
        attempt()
        assert not sprung(), "a trap was reached"


@case(f"{len(WAYS)} ways, at least {AT_LEAST}; what is allowed is reached still, and no trap was")
def _():
    assert len({way for way, _ in WAYS}) >= AT_LEAST, len(WAYS)
    works()
    assert not sprung()


def memory(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith("Private")) * 1024


@case(f"{FLOOD:,} connections at once, which say nothing or half a request: the end lives, bounded, and serves others again")
def _():
    before = end_pid()
    # One program for each thousand: a process has so many descriptors, and dies with all that it holds.
    flood = "\n".join((
        "import socket, sys", "held = []",
        f"for i in range({FLOOD // 10}):",
        "    s = socket.socket()", "    s.setblocking(False)",
        f"    s.connect_ex(('127.0.0.1', {PROXY_PORT}))", "    held.append(s)",
        "for s in held[::2]:",
        "    try:", "        s.send(b'CONNECT good.test:')", "    except OSError:", "        pass",
        "print('held', flush=True)", "sys.stdin.read()"))
    floods = [subprocess.Popen(["nsenter", f"--net=/proc/{inspect_pid()}/ns/net", sys.executable, "-c", flood], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE) for _ in range(10)]
    try:
        for p in floods:
            assert p.stdout.readline() == b"held\n"
        usage = wait_until(lambda: berth("net", "usage", ID))
        assert usage and end_pid() == before
        assert "asan" in os.environ["VARIANT"] or memory(before) < 32 << 20, memory(before)
    finally:
        for p in floods:
            p.kill()
            p.wait()
    until = time.monotonic() + PATIENCE
    while True:
        try:
            works()
            break
        except (AssertionError, OSError):
            assert time.monotonic() < until
    assert end_pid() == before


@case("nobody who reads slowly or half closes holds up another")
def _():
    slow = [connect(f"good.test:{PORT}")[0] for _ in range(20)]
    for s in slow[:10]:  # never reads what comes back
        s.setblocking(False)
        try:
            while True:
                s.send(bytes(65536))
        except BlockingIOError:
            pass
    for s in slow[10:]:
        s.shutdown(socket.SHUT_WR)
    works()
    for s in slow[10:]:
        assert everything(s) == b""
    for s in slow:
        s.close()


berth("down", "team.yaml")
done()
