"""mcp_client.py - a client of `berth mcp` for tests: every line is held against the protocol's schema, every answer against its tool's.

Run with TMPDIR and BERTH set.  case(NAME) decorates a test, main() runs them all.
"""
import json
import os
import subprocess
import sys
import threading
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mcp_messages  # noqa: E402
import schema  # noqa: E402

BERTH = os.environ["BERTH"]
PATIENCE = 60
CASES = []
# What no argument should be, for those that send it as every one.
ODD = ["", "\0", "\ud800", "a\0b", "../out/secret", "link/secret", "direct", "self", "/", "/proc/self/environ", "x" * 5000, "a/" * 2500,
       "--help", "%s%n", "(", "[", "\\", "\r\n\x1b[2J", 0, -1, 1.5, 1e308, -2 ** 63, 2 ** 63, True, None, [], {}, [[]], [None], ["link/secret"],
       ["../out"], [{}], {"A": "b"}, {"": "x"}, {"A=B": "x"}, [{"path": "link/x", "content": "y"}], [{"oldText": "", "newText": "\0"}],
       json.loads("[" * 60 + "]" * 60)]


def case(name):
    def add(f):
        CASES.append((name, f))
        return f
    return add


def main():
    bad = 0
    for name, f in CASES:
        try:
            f()
            print("ok", name, flush=True)
        except Exception:
            bad = 1
            print("not ok", name)
            print("".join("# " + line + "\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
    sys.exit(bad)


class Client:
    """One server, spoken to as a session (era "old") or by requests that stand for themselves ("new")."""

    def __init__(self, team, *words, era="old", agent=None, begin=True):
        self.era, self.last, self.answers, self.notes, self.lines = era, 0, {}, [], []
        self.asked, self.problems = {}, []  # by id: method, and whether it stands for itself; what does not fit the protocol
        self.news, self.ended = threading.Condition(), False
        argv = [BERTH, *(["-c", team] if team else []), "mcp", *(["--agent", agent] if agent else []), *words]
        self.server = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.tools = {}
        if begin:
            if era == "old":
                got = self.ask("initialize", protocolVersion="2025-11-25", capabilities={},
                               clientInfo={"name": "test", "version": "1"})
                assert got["result"]["protocolVersion"] == "2025-11-25", got
                self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
            self.tools = {t["name"]: t for t in self.ask("tools/list")["result"]["tools"]}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.server.poll() is None:
            self.server.stdin.close()
            assert self.server.wait(PATIENCE) == 0, self.server.stderr.read()
        self.reader.join(PATIENCE)
        assert not self.problems, self.problems[:3]

    def read(self):
        for line in self.server.stdout:
            message = json.loads(line)
            bad = mcp_messages.check(message, *self.asked.get(message.get("id"), (None, None)))
            with self.news:
                self.lines.append(line)
                self.problems += [(x, line[:1000]) for x in bad]
                if "method" in message:
                    self.notes.append(message)
                else:
                    assert message["id"] not in self.answers, line
                    self.answers[message["id"]] = message
                self.news.notify_all()
        with self.news:
            self.ended = True
            self.news.notify_all()

    def say_bytes(self, data):
        self.server.stdin.write(data)
        self.server.stdin.flush()

    def say(self, message):
        if isinstance(message, dict) and isinstance(message.get("id"), (int, str)):
            params = message.get("params")
            meta = params.get("_meta") if isinstance(params, dict) else None
            self.asked[message["id"]] = message.get("method"), mcp_messages.META + "protocolVersion" in (meta or {})
        self.say_bytes(json.dumps(message).encode() + b"\n")

    def meta(self, more=None):
        new = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
               "io.modelcontextprotocol/clientCapabilities": {}} if self.era == "new" else {}
        return new | (more or {})

    def begin(self, method, _meta=None, **params):
        """Ask, and do not wait: the id of the request."""
        self.last += 1
        meta = self.meta(_meta)
        self.say({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params | ({"_meta": meta} if meta else {})})
        return self.last

    def wait(self, number):
        with self.news:
            assert self.news.wait_for(lambda: number in self.answers or self.ended, PATIENCE), (number, "no answer")
            assert number in self.answers, (number, "the server has ended", self.server.stderr.read())
            assert not self.problems, self.problems[:3]
            return self.answers.pop(number)

    def ask(self, method, _meta=None, **params):
        return self.wait(self.begin(method, _meta, **params))

    def call(self, name, **arguments):
        """What a tool answers; its text and its object fit each other and the schema."""
        got = self.ask("tools/call", name=name, arguments=arguments)
        result = got["result"]
        assert not result.get("isError"), (name, arguments, result)
        assert (result.get("resultType") == "complete") == (self.era == "new"), result
        tool = self.tools.get(name)
        if tool:
            problems = []
            schema.check(tool["outputSchema"], result["structuredContent"], "", problems)
            assert not problems, (name, problems)
        block = result["content"][0]
        if block["type"] != "text":
            return block
        if "content" in result["structuredContent"]:
            assert result["structuredContent"]["content"] == block["text"], result
            return block["text"]
        assert json.loads(block["text"]) == result["structuredContent"], result
        return result["structuredContent"]

    def fails(self, name, **arguments):
        """The sentence of a tool that fails."""
        got = self.ask("tools/call", name=name, arguments=arguments)
        assert "result" in got and got["result"].get("isError") is True, (name, arguments, got)
        text = got["result"]["content"][0]["text"]
        assert text and "\n" not in text, text
        return text
