"""scenario.py - what scenario tests share: a fake engine to start, berth to run, cases to count.

A test file registers functions with @case and ends with main(). Every case prints one "ok NAME" or
"not ok NAME" line, with the reason in "# " lines above it.
"""
import hmac
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
BERTH = os.environ.get("BERTH", os.path.join(HERE, "../../build/berth"))
SANITIZER = re.compile(rb"(Address|Thread|Leak|UndefinedBehavior)Sanitizer|runtime error:")
cases = []
patient = []


def case(function):
    cases.append(function)
    return function


def case_of_patience(function):
    """A case that waits for an engine more than it works: it runs beside the others."""
    patient.append(function)
    return case(function)


class Fake:
    """A fake engine while the `with` lasts."""

    def __init__(self, **scenario):
        self.dir = tempfile.mkdtemp(prefix="f")
        self.path = os.path.join(self.dir, "e.sock")
        self.url = "unix://" + self.path
        self.scenario = scenario
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.dir)

    def start(self):
        script = os.path.join(self.dir, "scenario.json")
        with open(script, "w", encoding="utf-8", errors="surrogateescape") as f:
            json.dump(self.scenario, f)
        self.process = subprocess.Popen(["/usr/bin/python3", os.path.join(HERE, "fake_engine.py"), self.path, script])
        wait_for(self.answers, "the fake engine did not start")

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def answers(self):
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.connect(self.path)
                return True
            except OSError:
                return False

    def door(self, name, body=None):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.path)
            data = json.dumps(body or {}).encode()
            s.sendall(f"POST /_fake/{name} HTTP/1.1\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode() + data)
            f = s.makefile("rb")
            length = 0
            for line in iter(f.readline, b"\r\n"):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            return json.loads(f.read(length))

    def requests(self):
        return self.door("requests")


def wait_for(condition, otherwise, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(otherwise)
        time.sleep(0.01)


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        assert not SANITIZER.search(self.err), self.err.decode(errors="replace")[-3000:]
        assert self.code >= 0, f"died of signal {-self.code}: {self.err.decode(errors='replace')[-1000:]}"

    def json(self):
        return json.loads(self.out)

    def fails_with(self, code, *words):
        """The contract: nothing on stdout, one sentence on stderr, the exit code of its kind."""
        err = self.err.decode()
        assert self.code == code, f"exit code {self.code}, expected {code}: {err}"
        assert self.out == b"", self.out[:200]
        assert re.fullmatch(r"berth: \S[^\n]*\n", err), f"not one sentence: {err!r}"
        neutral(self.err)
        for word in words:
            assert word.lower() in err.lower(), f"{word!r} is missing in {err!r}"


def berth(*args, fake=None, env=None, timeout=120, cwd=None):
    host = ["-H", fake.url] if fake else []
    done = subprocess.run([BERTH, *host, *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False, cwd=cwd,
                          env={**os.environ, **(env or {})})
    return Result(done)


def script(text, options, env, *steps):
    """Run the console by it; each step (what a picture shows, what is done then) follows a picture that it dumps."""
    with tempfile.NamedTemporaryFile("w", suffix=".script") as f:
        f.write(text)
        f.flush()
        with subprocess.Popen([BERTH, *options, "--script", f.name], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, **env}) as p:
            seen = ""
            for shown, act in steps:
                line = ""
                while shown not in line:
                    line = p.stdout.readline().decode()
                    assert line, (seen, p.stderr.read())
                    seen += line
                act()
            out, err = p.communicate(timeout=60)
            assert not SANITIZER.search(err), err.decode()
            assert p.returncode == 0, err.decode() + seen + out.decode()


def on_terminal(words, question, answer, env=None):
    """Its exit code and what it says when a person sits there and types this once it asks."""
    pid, fd = pty.fork()
    if not pid:
        os.execve(BERTH, [BERTH, *words], {**os.environ, **(env or {})})
    said = b""
    while True:
        try:
            if not select.select([fd], [], [], 120)[0]:
                os.kill(pid, signal.SIGKILL)
            piece = os.read(fd, 4096)
        except OSError:
            break
        said += piece
        if question in said and answer is not None:
            os.write(fd, answer)
            answer = None
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said


def made(name, agent="", role="agent", session="5e55", engine="FAKE:ENGN:0001/19bc47c8"):
    """Labels of a container that berth made here: with the keyed hash (backend/container/own.h), by this HOME's key; an engine is its id and a hash of its
    root directory (`berth ps --json`)."""
    state = os.path.join(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"), "berth")
    os.makedirs(state, mode=0o700, exist_ok=True)
    path = os.path.join(state, "owner.key")
    if not os.path.exists(path):  # whole at once: several cases run beside each other
        new = f"{path}.{threading.get_ident()}"
        with open(os.open(new, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(bytes(range(32)))
        os.replace(new, path)
    with open(path, "rb") as f:
        text = b"".join(word.encode() + b"\0" for word in (engine, name, session))
        proof = hmac.new(f.read(), text, "sha256").hexdigest()
    return {"berth.agent": agent, "berth.role": role, "berth.session": session, "berth.proof": proof}


def ps(fake, *args, **options):
    result = berth("ps", "--json", "--all", *args, fake=fake, **options)
    assert result.code == 0, result.err.decode()
    document = result.json()
    assert document["schema"] == "berth.ps/1"
    return document


def neutral(data):
    """Nothing that could move a terminal: no escape, no control, no bidi, valid UTF-8."""
    text = data.decode("utf-8")
    for ch in text:
        code = ord(ch)
        assert ch == "\n" or code >= 32, f"control {code:#x} in {text!r}"
        assert not 0x7F <= code <= 0x9F, f"control {code:#x} in {text!r}"
        assert not (0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069 or code in (0x200E, 0x200F, 0x61C)), \
            f"bidi {code:#x} in {text!r}"


HOSTILE = ["esc\x1b[31m\x1b]0;title\x07", "c1\x9b31m\x85", "bidi\u202egnp.exe\u2066x", "wide大きい", "combin\u0301\u0301ing",
           "new\nline\r\ttab", "del\x7f\x08\x08", "null\x00byte", "tag\U000e0041\ufeff", "x" * 5000]


def run_case(function):
    """What is printed of it: the reason above, where it failed."""
    try:
        function()
    except Exception:  # a failed case must not keep the others from running
        return [*("# " + line[:1000] for line in traceback.format_exc().splitlines()), f"not ok {function.__name__}"]
    return [f"ok {function.__name__}"]


def main():
    failed = 0
    only = sys.argv[1:]
    chosen = [c for c in cases if not only or c.__name__ in only]
    with ThreadPoolExecutor(8) as beside:
        waiting = [beside.submit(run_case, c) for c in chosen if c in patient]
        for lines in (*(run_case(c) for c in chosen if c not in patient), *(w.result() for w in waiting)):
            failed += lines[-1].startswith("not ok")
            print(*lines, sep="\n", flush=True)
    sys.exit(1 if failed else 0)
