#!/usr/bin/env python3
"""terminals.py - agents' own terminals: started, watched, several at once, bounded, stopped; they outlive who started them."""
import json
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from boxed import BERTH, begin, berth, case, done, wait_until, write_team  # noqa: E402

SCHEMA = [sys.executable, os.path.join(os.environ["SRC"], "tests/lib/schema.py"), os.path.join(os.environ["SRC"], "tests/data/schema")]
if not os.path.exists(os.path.join(os.environ["BUILD"], "berth-terminal")):
    print("skip terminals: berth was built without libvterm")
    sys.exit(77)
ID = begin("term")
NIGHT = 1000000 + os.getpid()  # seconds
write_team("network: none, block: ['forbidden .*']")
berth("up", "team.yaml")


def fits(schema, text):
    subprocess.run([SCHEMA[0], SCHEMA[1], os.path.join(SCHEMA[2], schema)], input=text, text=True, check=True)
    return json.loads(text)


def rows(*args):
    return {r["name"]: r for r in fits("terminals.json", berth("terminal", "list", *args, "--json"))["terminals"]}


def screen(name="main"):
    return fits("terminal_screen.json", berth("terminal", "screen", ID, name, "--json"))


def start(name, script, *options):
    berth("terminal", "start", ID, name, *options, "--", "sh", "-c", script)


def keepers():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if f.read() == f"berth-terminal\0berth-{ID}\0".encode():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def sleepers():
    """How many of these sleep: a number that is this test's own."""
    found = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                found += f.read() == f"sleep\0{NIGHT}\0".encode()
        except OSError:
            pass
    return found


class Seat:
    """A person at a terminal of 80x24: what it shows, and keys."""
    count = 0

    def __init__(self, *argv):
        Seat.count += 1
        self.tmux = ["tmux", "-L", f"berth-{os.getpid()}-seat-{Seat.count}", "-f", "/dev/null"]
        subprocess.run([*self.tmux, "new-session", "-d", "-x", "80", "-y", "24", "env", *argv, ";",
                        "set", "status", "off", ";", "set", "remain-on-exit", "on"], check=True)

    def tell(self, *words):
        return subprocess.run([*self.tmux, *words], check=True, capture_output=True, text=True).stdout

    def screen(self):
        return self.tell("capture-pane", "-e", "-p")

    def see(self, text):
        wait_until(lambda: text in self.screen())

    def all(self):
        """With what is above the screen, which tmux moves up by a line when its program has ended."""
        return self.tell("capture-pane", "-p", "-S", "-")

    def type(self, *keys):
        self.tell("send-keys", *keys)

    def pid(self):
        return int(self.tell("display", "-p", "#{pane_pid}"))

    def ended(self):
        return self.tell("display", "-p", "#{pane_dead}").strip() == "1"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run([*self.tmux, "kill-server"], check=False)


def attached(name, *options):
    return Seat(BERTH, "terminal", "attach", ID, name, *options)


@case("a terminal goes on when berth has exited, and shows what its program prints")
def goes_on():
    assert berth("terminal", "list") == "there is no terminal\n"
    out = berth("terminal", "start", ID, "--", "sh", "-c", 'printf "\\033]0;a title\\007\\033[2J\\033[3;5Hhello"; read x; echo "got $x"; sleep 1000')
    assert out == f"terminal main of {ID} is running\n", out
    wait_until(lambda: screen()["lines"][2] == "    hello")
    s = screen()
    assert (s["title"], s["columns"], s["rows"], s["state"], s["exit_code"]) == ("a title", 80, 24, "running", None), s
    assert s["cursor"] == {"column": 10, "row": 3, "shown": True}, s
    assert "hello" in berth("terminal", "screen", ID)
    assert "a title" in berth("terminal", "list", ID)
    assert "is already running" in berth("terminal", "start", ID, code=1)


@case("several, of other sizes and places, one process for all")
def several():
    start("two", "stty size; pwd; sleep 1000", "--size", "120x30", "-w", "/tmp")
    wait_until(lambda: screen("two")["lines"][:2] == ["30 120", "/tmp"])
    start("three", "echo $TERM; tty >/dev/null && echo a terminal; sleep 1000")
    wait_until(lambda: screen("three")["lines"][:2] == ["xterm-256color", "a terminal"])
    assert sorted(rows(ID)) == ["main", "three", "two"], rows(ID)
    assert len(keepers()) == 1, keepers()


@case("one that ends says how")
def ends():
    start("short", "echo bye; exit 7")
    wait_until(lambda: rows(ID)["short"]["state"] == "ended")
    assert rows(ID)["short"]["exit_code"] == 7 and screen("short")["lines"][0] == "bye"
    berth("terminal", "start", ID, "nothing", "--", "no-such-program")
    wait_until(lambda: rows(ID)["nothing"]["exit_code"] == 127)
    start("short", "sleep 1000")
    assert rows(ID)["short"]["state"] == "running"


@case("a flood is bounded, and its end is shown")
def flood():
    start("flood", "head -c 30000000 /dev/zero | tr '\\0' x; echo; echo the end")
    wait_until(lambda: rows(ID)["flood"]["state"] == "ended")
    assert "the end" in screen("flood")["lines"]
    with open(f"/proc/{keepers()[0]}/status", encoding="ascii") as f:
        kib = int(next(line for line in f if line.startswith("VmRSS")).split()[1])
    if os.environ.get("VARIANT") not in ("asan", "tsan"):  # these keep memory of their own
        assert kib < 24000, kib


@case("stop ends all that it started, and removes it")
def stop():
    start("tree", f"sleep {NIGHT} & sleep {NIGHT}")
    wait_until(lambda: sleepers() == 2)
    assert berth("terminal", "stop", ID, "tree") == f"terminal tree of {ID} is stopped\n"
    assert not sleepers()
    assert "tree" not in rows(ID)
    assert "no terminal named" in berth("terminal", "stop", ID, "tree", code=1)
    berth("terminal", "stop", ID, "flood")
    assert "flood" not in rows(ID)


@case("attached, a program looks as in a terminal of its own; after a detach and a kill, the same", "tmux")
def attach():
    for program, keys in (("vi", ("G", "i", "berth", "Escape")), ("less", ("G", "k"))):
        berth("terminal", "start", ID, program, "--", program, "/etc/passwd")
        with Seat(BERTH, "exec", "-t", ID, "--", program, "/etc/passwd") as direct:
            with attached(program) as seat:
                for one in (direct, seat):
                    one.see("root:")
                    one.type(*keys)
                wait_until(lambda: direct.screen() == seat.screen())
                shown = direct.screen()
                seat.type("C-]")
                wait_until(seat.ended)
                assert f"detached from terminal {program} of {ID}" in seat.all(), seat.all()
        with attached(program) as seat:
            wait_until(lambda: seat.screen() == shown)
            os.kill(seat.pid(), signal.SIGKILL)
            wait_until(seat.ended)
        with attached(program) as seat:
            wait_until(lambda: seat.screen() == shown)
    berth("terminal", "start", ID, "top", "--", "top")
    with attached("top") as seat:
        seat.see("PID")
        seat.type("q")
        wait_until(seat.ended)
        assert f"terminal top of {ID} has ended: exit code 0" in seat.all(), seat.all()
    for name in ("vi", "less", "top"):
        berth("terminal", "stop", ID, name)


@case("two at a terminal: one types, the other watches and can take over", "tmux")
def two_people():
    start("both", "while read x; do stty size; done")
    with attached("both") as one, attached("both", "--read-only") as other:
        other.see("read-only  C-]: detach")
        one.type("Enter")
        one.see("24 80")
        other.see("24 80")
        # The next one types only if this one has gone.
        one.type("C-]")
        wait_until(one.ended)
    with attached("both") as one:
        one.type("Enter")
        one.see("24 80")
        with attached("both") as other:
            other.see("C-t: type here")
            other.type("C-t")
            one.see("C-t: type here")
    berth("terminal", "stop", ID, "both")


@case("send types text and keys, and says what was not taken")
def send():
    start("typed", "while read -r x; do echo \"<$x>\"; done")
    assert berth("terminal", "send", ID, "typed", "--key", "Enter", "--", "some", "words") == f"typed into terminal typed of {ID}\n"
    wait_until(lambda: "<some words>" in screen("typed")["lines"])
    assert "is not a key" in berth("terminal", "send", ID, "typed", "--key", "Nokey", code=2)
    assert "control character" in berth("terminal", "send", ID, "typed", "a\nb", code=2)
    berth("--read-only", "terminal", "send", ID, "typed", "x", code=4)
    subprocess.run(["docker", "pause", f"berth-{ID}"], check=True, capture_output=True)
    try:
        assert "0 of 4 bytes taken in 5 s (4 more wait" in berth("terminal", "send", ID, "typed", "late", code=2)
    finally:
        subprocess.run(["docker", "unpause", f"berth-{ID}"], check=True, capture_output=True)
    berth("terminal", "send", ID, "typed", "--key", "C-d C-d")
    wait_until(lambda: rows(ID)["typed"]["state"] == "ended")
    assert "has ended" in berth("terminal", "send", ID, "typed", "x", code=2)


@case("what is refused is refused as for exec, and recorded")
def refused():
    berth("terminal", "start", ID, "bad", "--", "forbidden", "thing", code=4)
    berth("--read-only", "terminal", "start", ID, "bad", code=4)
    berth("--read-only", "terminal", "stop", ID, "main", code=4)
    assert "cannot be the name" in berth("terminal", "start", ID, "../x", code=2)
    assert "columns" in berth("terminal", "start", ID, "bad", "--size", "1x1", code=2)
    assert "bad" not in rows(ID)
    text = berth("audit", "list", "--json", "--agent", ID)
    found = [json.loads(line) for line in text.splitlines() if '"terminal.' in line]
    outcomes = {(r["act"], r.get("outcome")) for r in found}
    assert ("terminal.start", "ok") in outcomes and ("terminal.start", "refused") in outcomes, outcomes
    assert ("terminal.stop", "ok") in outcomes, outcomes
    assert ("terminal.send", "ok") in outcomes and ("terminal.send", "failed") in outcomes, outcomes
    sent = [r["params"] for r in found if r["act"] == "terminal.send" and r.get("outcome") == "ok"]
    assert {"terminal": "typed", "text": "some words", "pressed": "Enter"} in sent, sent
    if shutil.which("tmux"):
        assert ("terminal.attach", "ok") in outcomes and ("terminal.watch", "ok") in outcomes, outcomes
        typed = [r["params"] for r in found if r["act"] == "terminal.attach" and "typed" in r["params"]]
        assert {"terminal": "vi", "typed": "8"} in typed, typed


@case("with its process its commands end, and it is lost")
def lost():
    assert len(keepers()) == 1
    start("night", f"sleep {NIGHT}")
    wait_until(sleepers)
    os.kill(keepers()[0], signal.SIGKILL)
    wait_until(lambda: rows(ID)["main"]["state"] == "lost")
    wait_until(lambda: not sleepers())
    start("main", "echo again; sleep 1000")
    wait_until(lambda: screen()["lines"][0] == "again")


@case("down ends them, and nothing is left")
def down():
    berth("down", "team.yaml")
    wait_until(lambda: not keepers())
    assert berth("terminal", "list") == "there is no terminal\n"
    berth("terminal", "screen", ID, code=1)


done()
