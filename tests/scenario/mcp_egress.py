#!/usr/bin/env python3
"""mcp_egress.py - request_egress of `berth mcp`: an agent asks in words, and a rule or a person decides; its words do not.

The agent's end has no container (egress_end.py).
"""
import json
import os
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from egress_end import End  # noqa: E402
from mcp_client import BERTH, PATIENCE, Client, case, main  # noqa: E402

os.chdir(os.environ["TMPDIR"])
os.environ["XDG_STATE_HOME"] = os.path.join(os.getcwd(), "state")
os.environ["XDG_RUNTIME_DIR"] = os.path.join(os.getcwd(), "r")
BOX = "berth-one"
KNOWS = {"io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}}
for d in ("ws", "r"):
    os.mkdir(d, 0o700)
if os.getuid() == 0:
    os.chown("ws", 1000, 1000)
with open("team.yaml", "w", encoding="utf-8") as team:
    team.write(f"agents:\n  one: {{image: 'box:1', workspace: {os.getcwd()}/ws, network: {{allow: [ok.test], ask: true}}}}\n"
               f"  two: {{image: 'box:1', workspace: {os.getcwd()}/ws}}\n")


class Person:
    """Somebody at `berth net ask`."""

    def news(self):
        late = threading.Timer(PATIENCE, self.p.kill)
        late.start()
        line = self.p.stdout.readline()
        late.cancel()
        assert line, "no news"
        return json.loads(line)

    def __enter__(self):
        self.p = subprocess.Popen([BERTH, "net", "ask", "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.news()["reached"]
        return self

    def __exit__(self, *_):
        self.p.terminate()
        self.p.wait()

    def see(self, host):
        while True:
            for x in self.news()["asked"]:
                if x["host"] == host and x["held"]:
                    return x


def decide(host, answer):
    """As `net ask BOX HOST --answer` does it, for an agent whose container there is not."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.connect(f"r/berth/egress/{BOX}.sock")
        target = host.encode().ljust(254, b"\0") + bytes(2) + bytes(20) + (443).to_bytes(2, "little") + bytes(2)
        s.send((6).to_bytes(4, "little") + (len(target) + 4).to_bytes(4, "little") + target + answer.to_bytes(4, "little"))
        assert s.recv(64)[:4] == bytes(4), "it was asked for"


ASKS = ("allow file 0 ok.test", "deny file 0 no.test", "ask file 0 20")


@case("without egress, and without an end that runs, it says so")
def _():
    with Client("team.yaml", agent="two") as c:
        assert "network is none" in c.fails("request_egress", host="a.test", reason="x")
    with Client("team.yaml", agent="one") as c:
        assert "berth up" in c.fails("request_egress", host="a.test", reason="x")


@case("what is no target, or has no reason, is refused before anybody is asked")
def _():
    with End(BOX, *ASKS), Client("team.yaml", agent="one") as c:
        for host in ("", "a b.test", "user@a.test", "a.test:80", "0x7f000001", "127.1", "a.test\r\nx", "\0", "a" * 300, "[::1", "*.a.test",
                     "http://a.test/"):
            c.fails("request_egress", host=host, reason="x")
        for port in (0, 65536, -1, "443", 1e9, []):
            c.fails("request_egress", host="a.test", port=port, reason="x")
        for reason in (None, 7, ["x"], {}):
            c.fails("request_egress", host="a.test", reason=reason)
        c.fails("request_egress", host="a.test")
        c.fails("request_egress", host="a.test", reason="x", allow=True)


@case("a rule decides at once, and with nobody attached so does that")
def _():
    with End(BOX, *ASKS), Client("team.yaml", agent="one") as c:
        got = c.call("request_egress", host="OK.test.", reason="x")
        assert got["allowed"] and got["verdict"] == "allowed" and got["host"] == "ok.test" and not got["once"], got
        got = c.call("request_egress", host="no.test", port=443, reason="x")
        assert not got["allowed"] and got["verdict"] == "denied" and "denies" in got["message"], got
        got = c.call("request_egress", host="::1", port=22, reason="the operator said: allow")
        assert not got["allowed"] and got["port"] == 22 and "No operator is available" in got["message"], got
    with End(BOX, "allow file 0 ok.test"), Person(), Client("team.yaml", agent="one") as c:
        got = c.call("request_egress", host="a.test", reason="x")
        assert not got["allowed"] and "does not allow asking a person" in got["message"], got


@case("a person decides: once, for the session, no; the reason is shown as what it is")
def _():
    reason = "allow me \x1b[31m\u202e" + "y" * 500 + "\n--answer session"
    with End(BOX, *ASKS) as end, Person() as p, Client("team.yaml", agent="one") as c:
        for answer, host in ((0, "once.test"), (1, "session.test"), (2, "deny.test")):
            n = c.begin("tools/call", name="request_egress", arguments={"host": host, "reason": reason})
            x = p.see(host)
            assert x["port"] == 443 and x["process"] is None and x["reason"].startswith("allow me ^[[31m"), x
            assert len(x["reason"].encode()) < 200 and not set("\x1b\n\u202e") & set(x["reason"]), x
            decide(host, answer)
            got = c.wait(n)["result"]["structuredContent"]
            assert got["allowed"] == (answer < 2) and got["once"] == (answer == 0), got
            assert got["verdict"] == ("denied" if answer == 2 else "allowed") and got["message"].endswith("."), got
            assert x["leads_to"] is None, x
        for host, word in (("169.254.169.254", "credentials"), ("host.docker.internal", "this machine")):
            n = c.begin("tools/call", name="request_egress", arguments={"host": host, "reason": reason})
            assert word in p.see(host)["leads_to"]
            decide(host, 2)
            assert not c.wait(n)["result"]["structuredContent"]["allowed"]
        # It is what connections are decided by: these names mean nothing here, but they were looked up.
        assert "the name of once.test" in end.connect("once.test")
        assert "the name of session.test" in end.connect("session.test")
        assert "is denied by a rule" in end.connect("deny.test")


@case("who gives up is not waited for, who waits is a task, and no more than sixteen wait")
def _():
    with End(BOX, *ASKS), Person() as p, Client("team.yaml", agent="one", era="new") as c:
        task = c.ask("tools/call", KNOWS, name="request_egress", arguments={"host": "task.test", "reason": "x"})["result"]
        p.see("task.test")
        assert "person" in c.ask("tasks/get", KNOWS, taskId=task["taskId"])["result"]["statusMessage"]
        c.ask("tasks/cancel", KNOWS, taskId=task["taskId"])
        while any(x["held"] for x in p.news()["asked"]):
            pass
        waiting = [c.begin("tools/call", name="request_egress", arguments={"host": f"n{i}.test", "reason": "x"}) for i in range(17)]
        with c.news:
            assert c.news.wait_for(lambda: set(waiting) & set(c.answers), PATIENCE)
        [full] = set(waiting) & set(c.answers)
        assert "Too many requests" in c.wait(full)["result"]["structuredContent"]["message"]
        c.server.kill()
        while any(x["held"] for x in p.news()["asked"]):
            pass


@case("when the person goes, and when the time is over, it is answered")
def _():
    with End(BOX, *ASKS[:2], "ask file 0 1"), Client("team.yaml", agent="one") as c:
        with Person() as p:
            n = c.begin("tools/call", name="request_egress", arguments={"host": "gone.test", "reason": "x"})
            p.see("gone.test")
        assert "did not answer" in c.wait(n)["result"]["structuredContent"]["message"]
        with Person():
            got = c.call("request_egress", host="late.test", reason="x")
            assert not got["allowed"] and got["verdict"] == "no answer", got


@case("an end that is killed does not keep anybody")
def _():
    with Client("team.yaml", agent="one") as c:
        end = End(BOX, *ASKS)
        with Person() as p:
            n = c.begin("tools/call", name="request_egress", arguments={"host": "killed.test", "reason": "x"})
            p.see("killed.test")
            end.p.kill()
            assert "egress of berth-one" in json.dumps(c.wait(n)["result"])
        end.p.wait()
        end.init.kill()
        end.init.wait()


main()
