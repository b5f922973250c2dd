#!/usr/bin/env python3
"""egress_ask.py - what no rule decides waits for a person: held, answered, refused, bounded; the first answer counts.

As egress.py: the test speaks from inside the container's network; servers are on this machine's loopback, names in a
/etc/hosts of its own.
"""
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from boxed import BERTH, PATIENCE, Server, begin, berth, case, done, echo, end_pid, inside, wait_until, write_team  # noqa: E402
from mcp_client import Client  # noqa: E402

HERE = "127.78.0.1"
ID = begin("ask", f"{HERE} " + " ".join(f"n{i}.ask.test" for i in range(120)))
PORT = Server(echo, HERE).port


def write_ask(ask):
    write_team(f"network: {{allow: ['{HERE}:{PORT}', 'n0.ask.test:{PORT}'], deny: ['denied.test'], ask: {ask}}}")


def ask_for(*numbers):
    """Connections that ask for the names of these numbers."""
    def run():
        made = []
        for n in numbers:
            s = socket.socket()
            s.settimeout(PATIENCE)
            s.connect(("127.0.0.1", 3128))
            target = f"n{n}.ask.test:{PORT}"
            s.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
            made.append(s)
        return made
    return inside(run)


def answer_of(s):
    head = b""
    while b"\r\n\r\n" not in head:
        more = s.recv(4096)
        if not more:
            break
        head += more
    return head.decode()


def is_held(s):
    return not select.select([s], [], [], 0)[0]


def queue():
    q = json.loads(berth("net", "ask", ID, "--list", "--json"))
    assert q["container"] == f"berth-{ID}"
    return q["asked"]


def find(n):
    return next((x for x in queue() if x["host"] == f"n{n}.ask.test"), None)


def held(n, many=1):
    return wait_until(lambda: (x := find(n)) and x["held"] == many and x)


class Watcher:
    """A person at `berth net ask`."""

    def __init__(self, *options):
        self.p = subprocess.Popen([BERTH, "net", "ask", ID, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        first = self.line()  # it is there
        assert not options or json.loads(first)["reached"], first

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.send_signal(signal.SIGTERM)
        self.p.wait()

    def line(self):
        """The next one that it prints; one that says nothing for too long is killed."""
        late = threading.Timer(PATIENCE, self.p.kill)
        late.start()
        line = self.p.stdout.readline()
        late.cancel()
        assert line, "berth net ask says nothing"
        return line

    def say(self, line):
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()


def decide(n, answer, code=0):
    return berth("net", "ask", ID, f"n{n}.ask.test:{PORT}", "--answer", answer, code=code)


write_ask("true")
berth("up", "team.yaml")


@case("with nobody there an unknown target is refused at once, listed, and the answer says so")
def _():
    [s] = ask_for(1)
    said = answer_of(s)
    assert said.startswith("HTTP/1.1 403") and "no operator is available" in said, said
    x = find(1)
    assert x["held"] == 0 and x["count"] == 1, x
    decide(1, "once")  # for the next one
    [s, other] = ask_for(1, 1)
    said = sorted([answer_of(s)[:12], answer_of(other)[:12]])
    assert said == ["HTTP/1.1 200", "HTTP/1.1 403"], said


@case("a rule that is there decides, asking or not")
def _():
    with Watcher("--json"):
        [s] = ask_for(0)
        assert answer_of(s).startswith("HTTP/1.1 200")


@case("held, and allowed once: the one that waits passes, the next one waits")
def _():
    with Watcher("--json"):
        [s] = ask_for(2)
        x = held(2)
        assert is_held(s) and x["near"] == f"allow n0.ask.test:{PORT}", x
        decide(2, "once")
        assert answer_of(s).startswith("HTTP/1.1 200")
        s.sendall(b"hello")
        assert s.recv(5) == b"hello"
        [again] = ask_for(2)
        held(2)
        assert is_held(again)
        berth("net", "deny", ID, f"n99.ask.test:{PORT}")  # other rules are other ones: what was allowed once stays
        s.sendall(b"still")
        assert s.recv(5) == b"still"
        decide(2, "deny")
        said = answer_of(again)
        assert said.startswith("HTTP/1.1 403") and "denied" in said, said
        assert s.recv(5) == b"", "and what is open to it is closed"


@case("for the session: all that wait pass, the rule is listed")
def _():
    with Watcher("--json"):
        waiting = ask_for(3, 3, 3)
        held(3, 3)
        decide(3, "session")
        assert all(answer_of(s).startswith("HTTP/1.1 200") for s in waiting)
        assert f"n3.ask.test:{PORT}" in berth("net", "list", ID)
        [s] = ask_for(3)
        assert answer_of(s).startswith("HTTP/1.1 200")
        assert not find(3)
    said = berth("net", "test", ID, f"n3.ask.test:{PORT}")
    assert "is allowed" in said and "(session)" in said, said
    assert "is denied" in berth("net", "test", ID, "denied.test")
    assert "a person is asked" in berth("net", "test", ID, "unknown.test")


@case("the first answer counts")
def _():
    with Watcher("--json"), Watcher("--json"):
        [s] = ask_for(4)
        held(4)
        decide(4, "once")
        assert answer_of(s).startswith("HTTP/1.1 200")
        decide(4, "deny", code=1)
        assert f"n4.ask.test:{PORT}" not in berth("net", "list", ID)
    # Many at once: one wins, and the rules are its.
    with Watcher("--json"):
        [s] = ask_for(5)
        held(5)
        racing = [subprocess.Popen([BERTH, "net", "ask", ID, f"n5.ask.test:{PORT}", "--answer", a], stderr=subprocess.DEVNULL)
                  for a in ("deny", "session", "deny", "session")]
        codes = [p.wait() for p in racing]
        assert sorted(codes) == [0, 1, 1, 1], codes
        won = ("denied" not in answer_of(s), codes.index(0) % 2 == 1)
        assert won[0] == won[1], won


@case("typed at the list, by number and in words")
def _():
    with Watcher() as w:
        [s] = ask_for(6)
        line = w.line()
        while "n6.ask.test" not in line:
            line = w.line()
        w.say("a " + line.split()[0])
        assert answer_of(s).startswith("HTTP/1.1 200")
        [s] = ask_for(7)
        held(7)
        w.say(f"deny {ID} n7.ask.test:{PORT}")
        assert answer_of(s).startswith("HTTP/1.1 403")


@case("a client that gives up waits no longer; it stays listed")
def _():
    with Watcher("--json"):
        [s] = ask_for(8)
        held(8)
        s.close()
        held(8, 0)


@case("when the last person goes nobody waits any longer")
def _():
    with Watcher("--json"):
        [s] = ask_for(9)
        held(9)
    assert answer_of(s).startswith("HTTP/1.1 403")


@case("in the console: shown, allowed by a key, and the header says that somebody waits")
def _():
    with open("keys.script", "w", encoding="utf-8") as f:
        f.write(f"size 150 60\nwait {ID}\nkey 1\nwait idle\nkey @\nwait asks for the rest\nwait n50.ask.test\nwait !1\nkey /\ntype n50\nkey Enter\nadvance 600\n"
                "key A\nwait Done: allow\nexpect allowed\nkey /\nkey C-u\ntype n51\nkey Enter\nwait n51.ask.test\nadvance 600\nkey X\nwait Done: deny\n"
                "key /\nkey C-u\ntype n52\nkey Enter\nwait n52.ask.test\nadvance 600\nkey W\nwait Done: allow\nexpect in its team file\n")
    with subprocess.Popen([BERTH, "-c", "team.yaml", "--script", "keys.script"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as p:
        # Refused until it is there to be asked; then held until its key.
        passed = wait_until(lambda: (said := answer_of(ask_for(50)[0])) and "no operator is available" not in said and said)
        [s] = ask_for(51)
        said = answer_of(s)
        [s] = ask_for(52)
        saved = answer_of(s)
        out = p.communicate(timeout=60)[0]
        assert p.returncode == 0 and passed.startswith("HTTP/1.1 200"), (passed, out)
    assert "denied" in said, said
    berth("net", "forget", ID, f"n51.ask.test:{PORT}")
    assert saved.startswith("HTTP/1.1 200"), (saved, out)
    with open("team.yaml", encoding="utf-8") as f:
        assert f"'n0.ask.test:{PORT}', \"n52.ask.test:{PORT}\"]" in f.read()
    assert f"n52.ask.test:{PORT}" in berth("net", "list", ID)
    write_ask("true")
    berth("up", "team.yaml")


@case("in the console: ports of the agent stand beside its rules")
def _():
    where = json.loads(berth("port", "open", "--json", ID, "3000:0"))["host_port"]
    with open("ports.script", "w", encoding="utf-8") as f:
        f.write(f"size 150 60\nwait {ID}\nkey 1\nwait idle\nkey @\nwait RULES AND PORTS\nwait 3000 at 127.0.0.1:{where}\nexpect ago, open\n")
    p = subprocess.run([BERTH, "-c", "team.yaml", "--script", "ports.script"], capture_output=True, text=True, timeout=60, check=False)
    assert p.returncode == 0, p.stdout + p.stderr
    berth("port", "close", ID, "3000")


@case("garbage on the control socket, and people that go in the middle, change nothing")
def _():
    with Watcher("--json"):
        [s] = ask_for(18)
        held(18)
        for what in (0, 1, 2, *range(4, 12)):  # 3 tells rules, and none is a set of them
            for tail in (b"", b"\xff" * 7, b"\0" * 300, b"\xff" * 600, os.urandom(5000)):
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as c:
                    c.connect(f"{os.environ['XDG_RUNTIME_DIR']}/berth/egress/berth-{ID}.sock")
                    c.send(what.to_bytes(4, "little") + len(tail).to_bytes(4, "little") + tail)
        assert is_held(s)
        decide(18, "once")
        assert answer_of(s).startswith("HTTP/1.1 200")
    assert not [x for x in queue() if x["held"]]


@case("kill -9 of the end: nothing hangs, people are told, up brings it back with what was decided")
def _():
    with Watcher("--json") as w:
        [s] = ask_for(19)
        held(19)
        os.kill(end_pid(), signal.SIGKILL)
        try:
            assert s.recv(1) == b""
        except ConnectionResetError:
            pass
        while json.loads(w.line())["reached"]:
            pass
        berth("net", "ask", ID, f"n19.ask.test:{PORT}", "--answer", "session", code=1)
        assert f"n19.ask.test:{PORT}" not in berth("net", "list", ID)
        berth("up", "team.yaml")
        while not json.loads(w.line())["reached"]:
            pass
        [s, other] = ask_for(3, 19)
        assert answer_of(s).startswith("HTTP/1.1 200")
        held(19)
        assert is_held(other)
        other.close()


@case("an agent that asks in words, by its MCP server: refused with nobody there, else a person decides, and it gets there")
def _():
    with Client("team.yaml") as c:
        got = c.call("request_egress", host="n200.ask.test", port=PORT, reason="x")
        assert not got["allowed"] and "No operator is available" in got["message"], got
        with Watcher("--json"):
            n = c.begin("tools/call", name="request_egress",
                        arguments={"host": "n70.ask.test", "port": PORT, "reason": "\x1b[1mthe operator said yes"})
            assert held(70)["reason"] == "^[[1mthe operator said yes", find(70)
            decide(70, "once")
            got = c.wait(n)["result"]["structuredContent"]
            assert got["allowed"] and got["once"], got
            [s] = ask_for(70)
            assert answer_of(s).startswith("HTTP/1.1 200")
            [s] = ask_for(70)
            held(70)
            assert is_held(s)
            decide(70, "deny")
            got = c.call("request_egress", host="n70.ask.test", port=PORT, reason="once more")
            assert got["verdict"] == "denied", got
            berth("net", "forget", ID, f"n70.ask.test:{PORT}")


@case("16 are held and 64 listed; the rest is refused at once")
def _():
    with Watcher("--json"):
        made = ask_for(*range(20, 110))
        wait_until(lambda: len(queue()) == 64)
        wait_until(lambda: sum(x["held"] for x in queue()) == 16)
        for s in made[16:]:
            assert "403" in answer_of(s)
        assert all(is_held(s) for s in made[:16])
        for s in made:
            s.close()
        wait_until(lambda: sum(x["held"] for x in queue()) == 0)
    assert json.loads(berth("net", "usage", ID, "--json"))["held"] == 0


@case("the time is over")
def _():
    with open("berth.yaml", "w", encoding="utf-8") as f:
        f.write("egress: {ask_seconds: 1}\n")
    berth("--settings", "berth.yaml", "up", "team.yaml")
    with Watcher("--json"):
        for x in queue():
            berth("net", "ask", ID, f"{x['host']}:{x['port']}", "--answer", "once")
        [s] = ask_for(110)
        said = answer_of(s)
        assert "did not answer in time" in said, said


@case("how fast an answer acts")
def _():
    berth("up", "team.yaml")
    took = []
    with Watcher("--json") as w:
        for n in range(111, 119):
            [s] = ask_for(n)
            held(n)
            began = time.monotonic()
            w.say(f"session {ID} n{n}.ask.test:{PORT}")
            answer_of(s)
            took.append((time.monotonic() - began) * 1000)
    took.sort()
    other = []
    with Watcher("--json"):
        for n in range(10, 18):
            [s] = ask_for(n)
            held(n)
            began = time.monotonic()
            decide(n, "session")
            assert answer_of(s).startswith("HTTP/1.1 200")
            other.append((time.monotonic() - began) * 1000)
            s.setblocking(False)
            began = time.monotonic()
            berth("net", "deny", ID, f"n{n}.ask.test:{PORT}")
            assert s.recv(1) == b"", "closed before the command returns"
            other.append((time.monotonic() - began) * 1000)
    for what, ms in ("a command (as a key of the console starts it)", other[::2]), ("deny, with its process", other[1::2]):
        ms.sort()
        print(f"# {what} to effect, n {len(ms)}: p50 {ms[len(ms) // 2]:.1f} ms, worst {ms[-1]:.1f} ms")
    print(f"# answer typed to connection open, n {len(took)}: p50 {took[len(took) // 2]:.1f} ms, worst {took[-1]:.1f} ms")


@case("ask: false: nobody is asked")
def _():
    write_ask("false")
    berth("up", "team.yaml")
    with subprocess.Popen([BERTH, "net", "ask", ID, "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as p:
        assert json.loads(p.stdout.readline())["ask_seconds"] == 0
        [s] = ask_for(119)
        assert "the operator can allow it (berth net allow)" in answer_of(s)
        p.terminate()


@case("net allow --save: into the file that it came up from, which is the person's, with its comments")
def _():
    with open("team.yaml", encoding="utf-8") as f:
        was = f.read().replace("network:", "network: # the operator's\n     ")
    with open("team.yaml", "w", encoding="utf-8") as f:
        f.write(was)
    berth("net", "allow", "--save", ID, f"n200.ask.test:{PORT}")
    with open("team.yaml", encoding="utf-8") as f:
        now = f.read()
    assert now == was.replace("], deny:", f", \"n200.ask.test:{PORT}\"], deny:"), now
    rules = {r["rule"]: r["origin"] for r in json.loads(berth("net", "list", ID, "--json"))["rules"]}
    assert rules[f"n200.ask.test:{PORT}"] == "file", rules
    berth("-c", "team.yaml", "net", "deny", ID, "n201.ask.test", "--save")
    with open("team.yaml", encoding="utf-8") as f:
        assert "deny: ['denied.test', n201.ask.test]" in f.read()
    berth("up", "team.yaml")
    rules = {r["rule"]: r["origin"] for r in json.loads(berth("net", "list", ID, "--json"))["rules"]}
    assert rules[f"n200.ask.test:{PORT}"] == rules["n201.ask.test"] == "file", rules
    # What cannot be saved is not allowed either.
    os.chmod("team.yaml", 0o666)
    berth("net", "allow", "--save", ID, "n202.ask.test", code=2)
    os.chmod("team.yaml", 0o644)
    berth("--read-only", "net", "allow", "--save", ID, "n202.ask.test", code=4)
    assert "n202" not in berth("net", "list", ID)
    with open("team.yaml", encoding="utf-8") as f:
        assert "n202" not in f.read()
    out = berth("audit", "list", "--json", "--act", "net.allow")
    assert f'"saved":"{os.getcwd()}/team.yaml"' in out.replace(": ", ":"), out[-800:]


@case("what was decided is on record")
def _():
    said = [json.loads(x) for x in berth("audit", "list", "--json").splitlines()]
    acts = [(x["act"], x["outcome"]) for x in said if x.get("phase") == "outcome" and x["act"].startswith("net.")]
    assert ("net.allow", "ok") in acts and ("net.deny", "ok") in acts and len([x for x in acts if x[1] != "ok"]) >= 4, acts


berth("down", "team.yaml")
done()
