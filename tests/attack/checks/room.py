"""room.py - where attacks happen: a team of agents on the tests' engine, berth to drive, findings to count.

A check is a function with @attack(NUMBERS or names).  It leaves findings: (number, held, what).  A number with no
finding, or with one that did not hold, fails; so does every number of a function that raised.
"""
import glob
import http.client
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import traceback
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.environ.get("SRC", os.path.abspath(os.path.join(HERE, "../../..")))
BUILD = os.environ.get("BUILD", os.path.join(SRC, "build"))
BERTH = os.environ.get("BERTH", os.path.join(BUILD, "berth"))
INSIDE = os.path.join(BUILD, "attack-inside")
SOAK = os.environ.get("BERTH_SOAK") == "1"
SLOWER = int(os.environ.get("BERTH_SLOWER", "1"))  # an emulated machine: deadlines are that much later
SANITIZER = re.compile(rb"(Address|Thread|Leak|UndefinedBehavior)Sanitizer|runtime error:")
attacks = []


def attack(*names):
    def keep(function):
        attacks.append((names, function))
        return function
    return keep


class Done:
    """A finished berth: out, err, code, and its peak memory in bytes."""

    def __init__(self, code, out, err, rss):
        self.code, self.out, self.err, self.rss = code, out, err, rss

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"exit {self.code}, out {self.out[-400:]!r}, err {self.err[-600:]!r}"


def wait_for(what, seconds=60):
    """Until what() is true; its value.  A deadline, not a measurement."""
    until = time.monotonic() + seconds * SLOWER
    while True:
        value = what()
        if value or time.monotonic() > until:
            return value
        time.sleep(0.02)


def line_of(process, seconds=60):
    """The next line that it says; one that says nothing within the time is killed, and that is a failure."""
    late = threading.Timer(seconds * SLOWER, process.kill)
    late.start()
    try:
        line = process.stdout.readline()
    finally:
        late.cancel()
    assert line, f"{process.args} said nothing within {seconds} s"
    return line


class Engine:
    """The tests' engine, asked directly: what the host's side looks like to others."""

    def __init__(self, url):
        self.box = b""
        self.url, self.path = url, url.removeprefix("unix://")

    def ask(self, method, target, body=None, kind="application/json", timeout=120):
        link = http.client.HTTPConnection("engine", timeout=timeout)
        link.sock = socket.socket(socket.AF_UNIX)
        link.sock.settimeout(timeout)
        link.sock.connect(self.path)
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        link.request(method, "/v1.41" + target, body, {"Content-Type": kind} if body is not None else {})
        reply = link.getresponse()
        text = reply.read()
        link.close()
        return reply.status, (json.loads(text) if text[:1] in (b"{", b"[") and text.count(b"\n") < 3 else text)

    def inspect(self, name):
        status, reply = self.ask("GET", f"/containers/{name}/json")
        return reply if status == 200 else None

    def names(self):
        return {c["Names"][0][1:]: c for c in self.ask("GET", "/containers/json?all=1")[1]}

    def load(self, tag, files, changes=()):
        """An image of busybox and these files: {path: (mode, bytes)}; bytes None: a directory."""
        if not self.box:
            self.box = subprocess.run([f"{SRC}/configs/images/make-box"], stdout=subprocess.PIPE, check=True).stdout
        out = io.BytesIO(self.box)
        with tarfile.open(fileobj=out, mode="a") as tar:
            for path, (mode, data) in files.items():
                entry = tarfile.TarInfo("./" + path)
                entry.mode = mode
                entry.type = tarfile.DIRTYPE if data is None else tarfile.REGTYPE
                entry.size = len(data or b"")
                tar.addfile(entry, io.BytesIO(data or b""))
        query = [("fromSrc", "-"), ("repo", tag.split(":")[0]), ("tag", tag.split(":")[1])]
        query += [("changes", c) for c in changes]
        status, reply = self.ask("POST", "/images/create?" + urllib.parse.urlencode(query), out.getvalue(), "application/x-tar")
        assert status == 200 and b"error" not in (reply if isinstance(reply, bytes) else json.dumps(reply).encode()), reply


def cgroup_dir(container, controller):
    """Where the container's group of this controller is, on v1 and v2."""
    for pattern in (f"/sys/fs/cgroup/{controller}/**/*{container}*", f"/sys/fs/cgroup/**/*{container}*"):
        for path in glob.iglob(pattern, recursive=True):
            if os.path.isdir(path):
                return path
    return None


def processes(container):
    """The host's view: every process in the container's group, children groups included."""
    top = cgroup_dir(container, "pids")
    found = []
    for where, _, files in os.walk(top or "/nonexistent"):
        if "cgroup.procs" in files:
            try:
                with open(os.path.join(where, "cgroup.procs"), encoding="ascii") as f:
                    found += [int(line) for line in f]
            except OSError:
                pass
    return found


class Room:
    def __init__(self, only=()):
        self.engine = Engine(os.environ["BERTH_TEST_ENGINE"])
        self.findings, self.only = [], set(only)
        self.top = tempfile.mkdtemp(prefix="a")
        os.chmod(self.top, 0o755)
        self.env = dict(os.environ, DOCKER_HOST=self.engine.url, XDG_STATE_HOME=self.path("state"),
                        XDG_RUNTIME_DIR=tempfile.mkdtemp(prefix="r", dir="/tmp"), HOME=self.path("home"), TERM="xterm-256color")
        self.cleanups = [lambda: shutil.rmtree(self.env["XDG_RUNTIME_DIR"], True)]
        os.makedirs(self.path("home"))
        self.secret = self.path("host/secret")
        self.write("host/secret", "HOST-SECRET-5f1d\n")
        self.tag = f"x{os.getpid()}"  # names of ours on an engine that other tests use too
        self.a, self.b, self.c = (self.tag + n for n in "abc")

    # -- files of the host

    def path(self, *names):
        return os.path.join(self.top, *names)

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(path, mode)
        return path

    def workspace(self, name, uid=1000):
        path = self.path(name)
        os.makedirs(path, exist_ok=True)
        os.chown(path, uid, uid)
        return path

    # -- findings

    def finding(self, number, held, what):
        self.findings.append((number, "held" if held else "BROKE", what))

    def absent(self, number, probe):
        self.findings.append((number, "absent", probe))

    def collect(self, done):
        lines = done.out.decode("utf-8", "replace").splitlines()
        for line in lines:
            number, verdict, what = line.split(" ", 2)
            self.findings.append((int(number), verdict, what))
        return lines

    # -- berth

    def popen(self, *args, env=None, cwd=None, stdin=subprocess.DEVNULL, program=None, **more):
        return subprocess.Popen([program or BERTH, *args], env=dict(self.env, **(env or {})), cwd=cwd or self.top, stdin=stdin,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def berth(self, *args, timeout=120, env=None, cwd=None, stdin=b"", program=None):
        """Run it.  One that does not come back within the time has hung: that is a failure."""
        process = subprocess.Popen([program or BERTH, *args], env=dict(self.env, **(env or {})), cwd=cwd or self.top,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = process.communicate(stdin, timeout * SLOWER)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise AssertionError(f"berth {' '.join(args)[:200]} did not come back within {timeout} s") from None
        assert not SANITIZER.search(err), err.decode("utf-8", "replace")[-3000:]
        assert process.returncode >= 0, f"berth {args} ended by signal {-process.returncode}: {err[-500:]}"
        return Done(process.returncode, out, err, 0)

    def exec(self, agent, *argv, options=(), **more):
        return self.berth("exec", *options, agent, "--", *argv, **more)

    def inside(self, agent, *words, options=(), **more):
        return self.exec(agent, "/attack/inside", *map(str, words), options=options, **more)

    def try_inside(self, agent, *words, **more):
        """Run a group and take its findings."""
        done = self.inside(agent, *words, **more)
        assert done.code == 0, done
        return self.collect(done)

    def team(self, text, name="team.yaml"):
        return self.write(name, text)

    def up(self, text, name="team.yaml", **more):
        done = self.berth("up", "--json", self.team(text, name), **more)
        if done.code == 0:
            self.cleanups.append(lambda: self.berth("down", self.path(name)))
        return done

    def id_of(self, agent):
        return self.engine.inspect("berth-" + agent)["Id"]

    def settled(self, container, count=1):
        """The host's view of the container's processes comes down to its init."""
        return wait_for(lambda: len(processes(container)) <= count)

    def audit(self, *args):
        done = self.berth("audit", "list", "--json", *args)
        return [json.loads(line) for line in done.out.decode().splitlines()][:-1]

    # -- the day

    def run(self, names):
        for numbers, function in sorted(attacks, key=lambda a: a[0][0] if isinstance(a[0][0], int) else 99):
            if self.only and not self.only & {str(n) for n in numbers} | self.only & {function.__name__}:
                continue
            begun = time.monotonic()
            try:
                function(self)
            except Exception:  # the others still run
                for n in numbers:
                    self.finding(n, False, function.__name__ + ": " + traceback.format_exc(limit=-3).replace("\n", " | "))
            if "BERTH_ATTACK_TIMES" in os.environ:
                print(f"# {time.monotonic() - begun:6.1f} s {function.__name__}", file=sys.stderr)
        return self.verdicts(names)

    def verdicts(self, names):
        """{number: (ok|not ok|skip, reason)}, and the findings that broke, said aloud."""
        out = {}
        wanted = list(names) + [n for numbers, _ in attacks for n in numbers if isinstance(n, str)]
        for n in wanted:
            mine = [f for f in self.findings if f[0] == n]
            broke = [f for f in mine if f[1] == "BROKE"]
            for f in broke[:12]:
                print(f"# {n}: {f[2]}")
            if broke or not mine:
                out[n] = ("not ok", "nothing was tried" if not mine else "")
            elif all(f[1] == "absent" for f in mine):
                out[n] = ("skip", mine[0][2])
            else:
                out[n] = ("ok", "")
        return out

    def close(self):
        for undo in reversed(self.cleanups):
            try:
                undo()
            except Exception:
                traceback.print_exc()
        subprocess.run(["chmod", "-R", "u+rwx", self.top], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["rm", "-rf", self.top], check=False)  # deeper than Python's own can go
