#!/usr/bin/env python3
"""terminal_declared.py - terminals of a team file: started with the agent, compared, started again when they fail; and what each does."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from boxed import BERTH, begin, berth, case, done, wait_until, write_team  # noqa: E402
from person import Person  # noqa: E402

SCHEMA = [sys.executable, os.path.join(os.environ["SRC"], "tests/lib/schema.py"), os.path.join(os.environ["SRC"], "tests/data/schema/terminals.json")]
if not os.path.exists(os.path.join(os.environ["BUILD"], "berth-terminal")):
    print("skip terminal_declared: berth was built without libvterm")
    sys.exit(77)
ID = begin("decl")


def rows():
    text = berth("terminal", "list", ID, "--json")
    subprocess.run(SCHEMA, input=text, text=True, check=True)
    return {r["name"]: r for r in json.loads(text)["terminals"]}


def does(name="main"):
    r = rows().get(name)
    return r and (r["status"], r["reason"])


def screen(name="main"):
    return json.loads(berth("terminal", "screen", ID, name, "--json"))["lines"]


def team(terminal, options=""):
    write_team(f"network: none, terminal: {terminal}", options=options)


def keepers():
    """Processes that keep something for this test: all of them have its runtime directory."""
    found = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
            with open(f"/proc/{pid}/environ", "rb") as f:
                found += b"keep" in words and b"workspace" in words and f"XDG_RUNTIME_DIR={os.environ['XDG_RUNTIME_DIR']}".encode() in f.read().split(b"\0")
        except OSError:
            pass
    return found


def starts():
    text = berth("audit", "list", "--json", "--agent", ID)
    records = [json.loads(line) for line in text.splitlines() if '"terminal.start"' in line]
    return sum(r.get("act") == "terminal.start" and r.get("outcome") == "ok" for r in records)


@case("a file that is wrong is refused with its place, and nothing is started")
def wrong():
    team("{size: 9}")
    assert "team.yaml:3:" in berth("config", "check", "team.yaml", code=2)
    assert "expected COLUMNSxROWS" in berth("up", "team.yaml", code=2)
    assert berth("terminal", "list") == "there is no terminal\n"


@case("up starts them, with their command and size")
def up():
    team("[{name: main, command: [sh, -c, 'stty size; read x; echo got $x; sleep 1000'], size: 120x30}, {name: once, command: 'echo done; exit 0'}]")
    berth("config", "check", "team.yaml")
    berth("up", "team.yaml")
    wait_until(lambda: screen()[0] == "30 120")
    wait_until(lambda: rows()["once"]["state"] == "ended")
    assert does("once") == ("ended", "exit code 0"), does("once")


@case("one that reads from its terminal waits")
def waits():
    wait_until(lambda: does() == ("waiting", "sh reads from the terminal"))
    assert rows()["main"]["since"] > 0
    assert "waiting" in berth("terminal", "list", ID)


@case("the console names it, and no longer when it was answered", "tmux")
def console():
    with Person(BERTH) as p:
        p.see("waits in its terminal main: sh reads from the terminal")
        p.type("1")
        p.see("waiting")
        berth("terminal", "send", ID, "--key", "Enter", "--", "x")
        wait_until(lambda: "waiting" not in p.screen())
    wait_until(lambda: screen()[1:3] == ["x", "got x"])
    assert does()[0] != "waiting", does()


@case("silence alone is not called waiting, nor is a shell at its prompt")
def quiet():
    berth("terminal", "start", ID, "still", "--", "sleep", "1000")
    berth("terminal", "start", ID, "shell", "--", "sh", "-i")
    berth("terminal", "start", ID, "busy", "--", "sh", "-c", "while :; do :; done")
    berth("terminal", "start", ID, "asks", "--", "sh", "-c", "printf 'name> '; read x")
    berth("terminal", "start", ID, "bell", "--", "sh", "-c", "printf 'look \\033]0;\\342\\200\\256title\\007\\033]9;come here\\007'; sleep 1000")
    wait_until(lambda: does("shell")[0] == "idle")
    wait_until(lambda: does("busy")[0] == "working" and "runs" in does("busy")[1])
    wait_until(lambda: does("bell")[0] == "waiting")
    assert does("bell")[1] == "it sent a notice: come here", does("bell")
    # A question of a script is no prompt, and a bell that was answered asks no more.
    wait_until(lambda: does("asks") == ("waiting", "sh reads from the terminal"))
    berth("terminal", "send", ID, "bell", "x")
    shown = berth("terminal", "list", ID)
    assert "title" in shown and not set(shown) & set("\033\u202e"), shown
    wait_until(lambda: does("still")[0] == "quiet")
    assert does("still")[1].startswith("quiet for "), does("still")
    wait_until(lambda: does("bell")[0] == "quiet")
    for name in "still", "shell", "busy", "asks", "bell":
        berth("terminal", "stop", ID, name)


@case("a flood is working, and bounded")
def flood():
    berth("terminal", "start", ID, "flood", "--", "sh", "-c", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done")
    wait_until(lambda: does("flood")[0] == "working")
    berth("terminal", "stop", ID, "flood")


@case("up again leaves what runs and what was stopped, and starts what is new in the file")
def again():
    n = starts()
    berth("terminal", "stop", ID, "once")
    berth("up", "team.yaml")
    assert starts() == n and "once" not in rows()
    assert screen()[0] == "30 120"


@case("one that does not start is tried again, and differs from the file until then")
def not_started():
    options = "block: ['forbidden .*'], "
    team("[{name: main, command: [sh, -c, 'stty size; read x; echo got $x; sleep 1000'], size: 120x30}, {name: bad, command: [forbidden, thing]}]", options)
    for _ in range(2):
        assert "the terminal bad" in berth("up", "team.yaml", code=4)
    assert "bad" not in rows()


@case("what was changed in the file is drift, and runs on as it was")
def drift():
    n = starts()
    team("[{name: main, command: sh, size: 100x30}, {name: new, command: [sleep, '1000']}]")
    berth("up", "team.yaml")
    assert starts() == n + 1 and screen()[0] == "30 120"
    wait_until(lambda: does("new") and rows()["new"]["state"] == "running")


@case("start with the name of the file's terminal runs that")
def by_name():
    berth("terminal", "stop", ID, "new")
    berth("terminal", "start", ID, "new")
    assert rows()["new"]["command"] == "sleep 1000", rows()["new"]


@case("down ends them")
def down():
    berth("down", "team.yaml")
    assert berth("terminal", "list") == "there is no terminal\n"


@case("one that fails is started again, and no other; what keeps that ends when it is stopped")
def on_failure():
    # How often, and with what pauses, is a unit test's.
    team("[{name: main, command: 'echo x >>/tmp/n; [ $(wc -l </tmp/n) -ge 3 ] && sleep 1000; exit 3', restart: on-failure}, "
         "{name: good, command: 'exit 0', restart: on-failure}, {name: no, command: 'exit 3'}]")
    n = starts()
    berth("up", "team.yaml")
    wait_until(lambda: starts() == n + 5)
    wait_until(lambda: berth("exec", ID, "--", "sh", "-c", "wc -l </tmp/n").strip() == "3")
    wait_until(lambda: does("good") == ("ended", "exit code 0") and does("no") == ("ended", "exit code 3"))
    assert rows()["main"]["state"] == "running" and keepers()
    berth("terminal", "stop", ID)
    wait_until(lambda: not keepers())
    assert starts() == n + 5 and sorted(rows()) == ["good", "no"]


@case("one that a person starts again is kept, too")
def kept_again():
    berth("terminal", "start", ID)
    assert keepers()
    berth("terminal", "stop", ID)


@case("a rule of the agent's refuses its terminal, and nothing is left of the agent")
def rules():
    berth("down", "team.yaml")
    write_team("network: none, block: ['forbidden .*'], terminal: {command: [forbidden, thing]}")
    p = subprocess.run([os.environ["BERTH"], "up", "team.yaml"], capture_output=True, text=True, check=False)
    assert p.returncode and "the terminal main" in p.stderr and "forbidden" in p.stderr, p
    assert berth("terminal", "list") == "there is no terminal\n"
    assert not subprocess.run(["docker", "ps", "-aq", "--filter", f"name=berth-{ID}"], capture_output=True, text=True, check=True).stdout


done()
