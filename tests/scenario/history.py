#!/usr/bin/python3
"""history.py - what a console saw is there after its end, also after kill -9; `berth history` prints it."""
import csv
import io
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import schema  # noqa: E402
from scenario import BERTH, Fake, berth, case, main, neutral, wait_for  # noqa: E402

SCHEMAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/schema")
# Ten samples a second: what is seen ten times has a row.
FAST = "size 100 30\nkey + + + + + + + +\nkey 2\nwait one\n"


def fits(name, document):
    with open(os.path.join(SCHEMAS, name + ".json"), encoding="utf-8") as f:
        problems = []
        schema.check(json.load(f), document, "", problems)
    assert not problems, problems


class Home:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="h")
        self.env = {"XDG_STATE_HOME": self.dir}
        self.ring = os.path.join(self.dir, "berth/history.ring")

    def script(self, text):
        path = os.path.join(self.dir, "script")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def history(self, *args):
        return berth("history", *args, env=self.env)


def engine():
    return Fake(containers=[{"name": "one", "cpu": 40, "memory": 64 << 20, "labels": {"berth.agent": "a", "berth.role": "agent"}},
                            {"name": "bad\x1b[31mname"}, {"name": "old", "state": "exited", "exit": 3}])


@case
def history_is_kept():
    home = Home()
    empty = home.history()
    assert empty.code == 0 and b"CONTAINER" in empty.out, empty.out
    home.history("one").fails_with(1, "nothing is kept")
    with engine() as fake:
        done = berth("--script", home.script(FAST + "key H\nwait highest second\nkey Esc\n"), fake=fake, env=home.env)
        assert done.code == 0, done.err.decode()
    assert stat.S_IMODE(os.stat(home.ring).st_mode) == 0o600
    assert os.stat(home.ring).st_size <= 64_000_000
    listed = home.history("--json").json()
    fits("history_list", listed)
    assert {c["container"] for c in listed["containers"]} >= {None, "one"}, listed
    neutral(home.history().out)
    document = home.history("one", "--json").json()
    fits("history", document)
    assert document["container"] == "one" and document["agent"] == "a" and document["points"], document
    assert all(abs(p["memory_bytes"] - (64 << 20)) < 1 << 20 for p in document["points"]), document
    assert "started" in [e["event"] for e in document["events"]] or not document["events"]
    assert home.history("a", "--json").json()["container"] == "one"
    rows = list(csv.DictReader(io.StringIO(home.history("one", "--csv").out.decode())))
    assert len(rows) == len(document["points"]) and float(rows[0]["memory_bytes"]) > 1 << 20, rows
    table = home.history("--all", "--since", "10m")
    assert table.code == 0 and b"CPU %" in table.out and b"nothing is kept" in table.out, table.out


@case
def history_survives_kill():
    home = Home()
    with engine() as fake:
        with subprocess.Popen([BERTH, "-H", fake.url, "--script", home.script(FAST + "wait nothing that comes\n")],
                              env={**os.environ, **home.env}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as console:
            wait_for(lambda: home.history("one", "--json").code == 0 and home.history("one", "--json").json()["points"],
                     "no point came")
            console.send_signal(signal.SIGKILL)
        exact = ["one", "--json", "--step", "1", "--since", "5m"]
        before = [p["at"] for p in home.history(*exact).json()["points"]]
        done = berth("--script", home.script(FAST + "key H\nwait highest second\n"), fake=fake, env=home.env)
        assert done.code == 0, done.err.decode()
    document = home.history(*exact).json()
    fits("history", document)
    assert before and set(before) <= {p["at"] for p in document["points"]}, (before, document)


@case
def history_of_two_consoles():
    """One of them writes; the other shows the same."""
    home = Home()
    with engine() as fake:
        text = FAST + "key H\nwait highest second\n"
        both = [subprocess.Popen([BERTH, "-H", fake.url, "--script", home.script(text)], env={**os.environ, **home.env},
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
        for console in both:
            out, err = console.communicate(timeout=60)
            assert console.returncode == 0, err.decode() + out.decode()


@case
def history_put_aside():
    home = Home()
    os.makedirs(os.path.dirname(home.ring), 0o700)
    with open(home.ring, "wb") as f:
        f.write(b"\x1b[31mnot a ring" * 1000)
    home.history("one").fails_with(1, "is not a berth history file")
    with engine() as fake:
        done = berth("--script", home.script(FAST + "wait renamed\nkey H\nwait highest second\n"), fake=fake, env=home.env)
        assert done.code == 0, done.err.decode()
    assert any("damaged-" in name for name in os.listdir(os.path.dirname(home.ring)))


@case
def history_is_asked_right():
    home = Home()
    for args in (["one", "--all"], ["--csv"], ["one", "--step", "0"], ["one", "--step", "x"], ["one", "--json", "--csv"],
                 ["one", "--since", "yesterday"], ["one", "--since", "1h", "--until", "2h"],
                 ["one", "--since", "30d", "--step", "1"], ["one", "two"]):
        home.history(*args).fails_with(2)


main()
