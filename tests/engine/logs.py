#!/usr/bin/env python3
"""logs.py - `berth logs` prints what `docker logs` prints, byte for byte; followed, it goes on over restarts."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenario"))
from scenario import BERTH, case, main, wait_for  # noqa: E402

ENGINE = os.environ["BERTH_TEST_ENGINE"]
NAME = f"logs{os.getpid()}"
made = []


def docker(*words):
    return subprocess.run(["docker", "-H", ENGINE, *words], check=True, capture_output=True, timeout=60)


def box(name, script, *options):
    made.append(f"{NAME}-{name}")
    docker("run", "-d", "--network", "none", "--name", made[-1], *options, "box:1", "sh", "-c", script)
    return made[-1]


def berth(*words):
    done = subprocess.run([BERTH, "-H", ENGINE, "logs", *words], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    return done


def same(name, *options):
    theirs, ours = docker("logs", *options, name), berth(*options, name)
    for what in ("stdout", "stderr"):
        a, b = getattr(theirs, what), getattr(ours, what)
        at = next((n for n, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        assert a == b, (name, options, what, at, len(a), len(b), a[at - 20:at + 40], b[at - 20:at + 40])


LINES = ("i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo out $i; echo err $i >&2; done; head -c 100000 /dev/zero | tr '\\0' x; echo; "
         "head -c 16384 /dev/zero | tr '\\0' y; echo; head -c 16385 /dev/zero | tr '\\0' z; echo; printf 'cr\\r\\n\\n\\r\\n'; "
         "printf 'a\\0b\\377\\n'; head -c 20000 /dev/zero | tr '\\0' e >&2; printf 'no newline'")


@case
def as_docker_prints_it():
    names = [box("plain", LINES), box("tty", LINES, "-t")]
    docker("wait", *names)
    docker("start", "-a", names[0])
    for name, options in ((names[0], ()), (names[0], ("--tail", "70")), (names[0], ("--until", "1h")), (names[1], ()), (names[1], ("-f",))):
        same(name, *options)


@case
def followed_over_restarts():
    again = box("again", "echo run $(cat /proc/uptime) >&2; echo out; exit 1", "--restart", "on-failure:2")
    got = berth("-f", again)
    want = docker("logs", again)
    assert got.stdout == want.stdout == b"out\n" * 3 and got.stderr == want.stderr, (got, want)
    hand = box("hand", "date; echo up; exec sleep 1000")
    run = subprocess.Popen([BERTH, "-H", ENGINE, "logs", "-f", hand], stdout=subprocess.PIPE)
    run.stdout.readline()
    docker("restart", "-t", "0", hand)
    wait_for(lambda: docker("logs", hand).stdout.count(b"up") == 2, "it did not start again")
    want = docker("logs", hand).stdout.split(b"\n", 1)[1]
    assert run.stdout.read(len(want)) == want
    docker("rm", "-f", hand)
    out, _ = run.communicate(timeout=60)
    assert (out, run.returncode) == (b"", 0), (out, run.returncode)


try:
    main()
finally:
    subprocess.run(["docker", "-H", ENGINE, "rm", "-f", *made], capture_output=True, check=False)
