#!/usr/bin/env python3
"""alerts.py - rules of berth.yaml: two consoles and one bell, commands, webhooks, logs, and what an agent writes there."""
import fcntl
import http.server
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

PATIENCE = 60
BERTH = os.environ["BERTH"]
os.chdir(os.environ["TMPDIR"])
os.environ["DOCKER_HOST"] = os.environ["BERTH_TEST_ENGINE"]
ID = f"alerts{os.getpid()}"
NAMES = []
posted = []
failed = 0


def case(name):
    def run(fn):
        global failed
        try:
            fn()
            print("ok", name)
        except Exception as e:  # pylint: disable=broad-except
            print("not ok", name)
            print("#", type(e).__name__, str(e)[-1500:].replace("\n", " | "))
            failed = 1
        sys.stdout.flush()
    return run


def run(*args):
    return subprocess.run(args, check=True, capture_output=True, text=True, timeout=120).stdout


def wait_until(what, say="it does not come"):
    until = time.monotonic() + PATIENCE
    while not (got := what()):
        assert time.monotonic() < until, say
        time.sleep(0.005)
    return got


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):  # pylint: disable=invalid-name
        posted.append((self.path, self.headers["Content-Type"], self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(500 if self.path == "/broken" else 204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Console:
    """In a terminal of its own, whose bytes are kept."""

    def __init__(self, settings, *options):
        self.out = b""
        self.bells = []
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(BERTH, [BERTH, "--settings", settings, *options])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 110, 0, 0))
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        wait_until(lambda: b"Agents" in self.out, "no console")

    def read(self):
        while True:
            try:
                piece = os.read(self.fd, 65536)
            except OSError:
                return
            self.out += piece
            # What ends an OSC rings no bell.
            rings = re.sub(rb"\x1b\][^\x07]*\x07", b"", self.out).count(b"\x07")
            self.bells += [time.monotonic()] * (rings - len(self.bells))

    def end(self, how=signal.SIGTERM):
        os.kill(self.pid, how)
        os.waitpid(self.pid, 0)
        self.reader.join(PATIENCE)
        os.close(self.fd)


def start(what, *argv, options=()):
    name = f"{ID}-{what}"
    NAMES.append(name)
    run("docker", "run", "-d", "--name", name, "--network", "none", *options, "box:1", *argv)
    return name


def write_settings(name, *alerts):
    with open(name, "w", encoding="utf-8") as f:
        f.write("hz: 2\nalerts:\n")
        for a in alerts:
            f.write("  - " + json.dumps(a) + "\n")
    return name


def records(act):
    lines = run(BERTH, "audit", "list", "--json", "--act", act).splitlines()
    return [r for r in map(json.loads, lines) if "summary" not in r]


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as f:
        return f.read().splitlines()


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
threading.Thread(target=server.serve_forever, daemon=True).start()
HOOK = f"http://127.0.0.1:{server.server_port}"


@case("two consoles ring once, and the command knows what for")
def _():
    file = write_settings("two.yaml", {
        "name": "failed; $(touch owned)", "when": f'name ~ "^{ID}-two" and state = exited and exit_code != 0',
        "notify": "osc9", "command": 'echo "$BERTH_NAME $BERTH_EXIT_CODE $BERTH_ALERT $BERTH_STATE" >>told',
        "webhook": HOOK + "/secret-path"})
    one, two = Console(file), Console(file)
    took = []
    for i in range(5):
        box = start(f"two{i}", "sh", "-c", "sleep 1000; true", "--password=hunter2")
        wait_until(lambda box=box: box.encode() in run(BERTH, "ps", "--format", "{{.Name}}").encode())
        at = time.monotonic()
        run("docker", "kill", box)
        wait_until(lambda i=i: len(one.bells) + len(two.bells) > i, "no bell")
        took.append((one.bells + two.bells)[-1] - at)
        wait_until(lambda i=i: len(lines_of("told")) > i and len(posted) > i, "no command, or no webhook")
    print(f"# from `docker kill` to the bell: {sorted(round(t * 1000) for t in took)} ms")
    assert sorted(lines_of("told")) == [f"{ID}-two{i} 137 failed; $(touch owned) exited" for i in range(5)], lines_of("told")
    assert not os.path.exists("owned")
    assert len(one.bells) + len(two.bells) == 5, (one.bells, two.bells)
    assert min(len(one.bells), len(two.bells)) == 0
    talker = one if one.bells else two
    assert f"\x1b]9;berth: {ID}-two0: failed, $(touch owned)\x07".encode() in talker.out, talker.out[-800:]
    path, kind, body = posted[0]
    said = json.loads(body)
    assert path == "/secret-path" and kind == "application/json"
    assert said["schema"] == "berth.alert/1" and said["name"] == f"{ID}-two0" and said["exit_code"] == 137, said
    assert "command" in said and "hunter2" not in body.decode(), said
    # The other takes over, and does not tell again what still holds.
    talker.end(signal.SIGKILL)
    other = two if talker is one else one
    box = start("two9", "sh", "-c", "exit 3")
    wait_until(lambda: len(other.bells) == 1, "nobody took over")
    wait_until(lambda: len(lines_of("told")) == 6)
    assert lines_of("told")[5].startswith(box + " 3 "), lines_of("told")
    other.end()
    # Nor does one that is started anew.
    again = Console(file)
    box = start("two10", "sh", "-c", "exit 4")
    wait_until(lambda: len(again.bells) == 1)
    wait_until(lambda: len(lines_of("told")) == 7)
    assert lines_of("told")[6].startswith(box + " 4 ")
    again.end()
    run("docker", "rm", "-f", *[n for n in NAMES if "-two" in n])


@case("what was told is in the audit log, without the webhook's path")
def _():
    assert len(records("alert")) == 7
    commands = [r for r in records("alert.command") if r["phase"] == "outcome"]
    # The console that was killed may not have told how its last one ended.
    assert len(commands) in (6, 7) and all(r["outcome"] == "ok" for r in commands), commands
    posts = [r for r in records("alert.post") if r["phase"] == "outcome"]
    assert posts and "secret-path" not in json.dumps(posts)
    subprocess.run([BERTH, "audit", "verify"], check=True, capture_output=True)


@case("a log rule reads only the logs it names, and a line stays a line")
def _():
    file = write_settings("logs.yaml", {
        "name": "log", "when": f'name = {ID}-noisy and log ~ "ERROR"', "command": 'printf "%s\\n" "$BERTH_LINE" >>lines'})
    quiet = start("quiet", "sh", "-c", "while :; do echo ERROR of another; sleep 0.1; done")
    con = Console(file)
    noisy = start("noisy", "sh", "-c",
                  "printf 'ok\\nERROR \\033]0;x\\007 $(touch owned) `touch owned`\\n'; while :; do sleep 0.1; echo ERROR; done")
    wait_until(lambda: lines_of("lines"), "the first line of what began later was missed")
    assert "ERROR" in lines_of("lines")[0] and "\x1b" not in lines_of("lines")[0] and "touch owned" in lines_of("lines")[0]
    assert not os.path.exists("owned")
    read = {r["name"] for r in records("container.logs")}
    assert noisy in read and quiet not in read, read
    # Once for the many that followed.
    wait_until(lambda: run("docker", "logs", noisy).count("ERROR") > 20)
    assert len(lines_of("lines")) == 1 and len(con.bells) == 1, (lines_of("lines"), con.bells)
    con.end()
    run("docker", "rm", "-f", noisy, quiet)


@case("it must hold for as long as the rule says; gone and come again is a new cause")
def _():
    file = write_settings("for.yaml", {"when": f"name ~ ^{ID}-long and state = running for 5s", "command": "echo x >>long"})
    con = Console(file)
    short = start("longer-no", "sleep", "0.3")
    at = time.monotonic()  # before it runs: the rule's time begins no earlier
    box = start("long", "sleep", "1000")
    wait_until(lambda: lines_of("long"))
    assert time.monotonic() - at > 4.5
    run("docker", "restart", "-t", "0", box)
    wait_until(lambda: len(lines_of("long")) == 2, "the second time was not told")
    con.end()
    run("docker", "rm", "-f", box, short)


@case("a command that fails, one that hangs and a webhook that is refused are told; read-only runs none")
def _():
    file = write_settings(
        "bad.yaml",
        {"name": "bad", "when": f"name = {ID}-bad and state = exited", "bell": False, "command": "exit 3",
         "webhook": HOOK + "/broken"},
        {"name": "hangs", "when": f"name = {ID}-bad and state = exited", "bell": False, "command": "echo $$ >hangs; sleep 1000"})
    con = Console(file)
    box = start("bad", "true")

    def outcome(act, rule):
        return [r for r in records(act) if r["phase"] == "outcome" and r["params"]["rule"] == rule]
    bad = wait_until(lambda: outcome("alert.command", "bad"))[0]
    assert bad["outcome"] == "failed" and "exit 3" in bad["error"], bad
    hook = wait_until(lambda: outcome("alert.post", "bad"))[0]
    assert hook["outcome"] == "failed" and "500" in hook["error"], hook
    pid = int(wait_until(lambda: lines_of("hangs"))[0])
    assert not con.bells
    # Who quits takes what hangs along.
    con.end()
    wait_until(lambda: not os.path.exists(f"/proc/{pid}") or "State:\tZ" in open(f"/proc/{pid}/status", encoding="utf-8").read())
    run("docker", "rm", "-f", box)
    os.rename("hangs", "hung")
    con = Console(file, "--read-only")
    box = start("bad", "true")
    refused = wait_until(lambda: [r for r in records("alert.command") if r.get("outcome") == "refused"])
    assert "read-only" in refused[0]["error"], refused
    assert not os.path.exists("hangs")
    con.end()
    run("docker", "rm", "-f", box)


@case("in a quiet time nothing is told")
def _():
    now = time.localtime()
    hour = f"{now.tm_hour:02d}:00-{(now.tm_hour + 2) % 24:02d}:00"
    name = f"{ID}-calm"
    file = write_settings(
        "quiet.yaml",
        {"name": "calm", "when": f"name = {name} and state = running", "quiet": [hour], "command": "echo x >>calm"},
        {"name": "loud", "when": f"name = {name} and state = running", "command": "echo x >>loud"})
    con = Console(file)
    start("calm", "sleep", "1000")
    wait_until(lambda: lines_of("loud"))
    assert not lines_of("calm") and len(con.bells) == 1
    assert not [r for r in records("alert") if r["params"]["rule"] == "calm"]
    con.end()


@case("a wrong condition is said with its line before anything starts")
def _():
    with open("wrong.yaml", "w", encoding="utf-8") as f:
        f.write("hz: 1\nalerts:\n  - when: 'pids > 1'\n  - when: 'pids >'\n")
    for args in (["config", "check", "wrong.yaml"], ["--settings", "wrong.yaml", "ps"]):
        p = subprocess.run([BERTH, *args], capture_output=True, text=True, check=False)
        assert p.returncode == 2 and 'wrong.yaml:4:11: in "when" at character 7: value missing' in p.stdout + p.stderr, p


subprocess.run(["docker", "rm", "-f", *NAMES], check=False, capture_output=True)
server.shutdown()
sys.exit(failed)
