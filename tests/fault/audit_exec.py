#!/usr/bin/env python3
"""audit_exec.py - `berth exec` over a real lane, killed at any moment: no command that ran is without an intent.

The kills fall within the time that a command takes here (0 to 30 ms on a quiet machine).  1,000 with --soak, 100
without.  A command that lasts has its intent on the disk while it runs.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import time

BERTH = os.environ["BERTH"]
ENGINE = os.environ.get("BERTH_TEST_ENGINE")
KILLS = 1000 if os.environ.get("BERTH_SOAK") else 100
AGENT = f"ax{os.getpid()}"
bad = 0
if not ENGINE:
    print("there is no engine")
    sys.exit(77)
os.environ["DOCKER_HOST"] = ENGINE
os.chdir(os.environ["TMPDIR"])


def report(name, why):
    global bad
    if why:
        bad = 1
        print("#", why)
    print("not ok" if why else "ok", name, flush=True)


def berth(*words, **more):
    return subprocess.run([BERTH, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **more)


def records():
    return berth("audit", "list").stdout.splitlines()


def command(n):
    return ["exec", AGENT, "--", "sh", "-c", f": >made.{n}."]


def wait_for(what, seconds=60):
    until = time.monotonic() + seconds
    while not what() and time.monotonic() < until:
        time.sleep(0.02)
    return what()


def killed(n, within):
    """Was it told that its command ended well, before it was killed?"""
    p = subprocess.Popen([BERTH, *command(n)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.uniform(0, within))
    p.kill()
    return p.wait() == 0


def span_here():
    """Seconds that one takes here, stalls of the machine apart."""
    took = []
    for _ in range(5):
        begun = time.monotonic()
        subprocess.run([BERTH, *command("first")], check=True, stdin=subprocess.DEVNULL)
        took.append(time.monotonic() - begun)
    return max(sorted(took)[2], 0.03)


def kills():
    span, told, without, tried, ran = span_here(), set(), [], 0, 0
    alone = ["docker", "top", "berth-" + AGENT, "-o", "args"]
    ended = True
    # More of them, later or earlier, where none or all had run: the machine has become slower or faster.
    while tried == 0 or tried < 8 * KILLS and ended and ran in (0, tried):
        span *= 1 if tried == 0 else 3 if ran == 0 else 0.3
        told.update(n for n in range(tried, tried + KILLS) if killed(n, span))
        tried += KILLS
        # Each command has ended with its client: what is counted comes after all of them.
        ended = wait_for(lambda: subprocess.run(alone, capture_output=True, text=True, check=False).stdout.count("made.") == 0)
        ran = sum(os.path.exists(f"ws/made.{n}.") for n in range(tried))
    report("what was killed has ended", not ended)
    lines = records()
    intents = {m[1] for m in (re.search(r"container\.exec .*intent .*made\.(\d+)\.", one) for one in lines) if m}
    outcomes = {m[1] for m in (re.search(r"container\.exec .*ok .*made\.(\d+)\.", one) for one in lines) if m}
    for n in range(tried):
        if os.path.exists(f"ws/made.{n}.") and str(n) not in intents:
            without.append(f"{n} ran without an intent")
        if n in told and str(n) not in outcomes:
            without.append(f"{n} was told 0 without an outcome")
    print(f"note {tried} kills within {span * 1000:.0f} ms: {ran} ran, {len(told)} were told 0, {len(without)} without a record")
    report("no command that ran is without an intent, none that was told without an outcome", "; ".join(without))
    report("some ran and some did not: the kills fell where they should", "" if 0 < ran < tried else f"{ran} of {tried} ran")
    report("the log verifies", berth("audit", "verify").returncode)


def lasting():
    """fdatasync after the intent and before the outcome, in the order of the calls."""
    wait_for(lambda: "log.checkpoint" in records()[-1])
    p = subprocess.run(["strace", "-f", "-qq", "-s", "96", "-o", "calls", "-e", "trace=pwrite64,fdatasync", BERTH, "exec", AGENT, "--",
                        "sleep", "1"], stdin=subprocess.DEVNULL, check=False, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    with open("calls", encoding="utf-8", errors="replace") as f:
        lines = f.read().splitlines()
    intent = [n for n, one in enumerate(lines) if "pwrite64" in one and "container.exec" in one and '\\"intent\\":' not in one]
    outcome = [n for n, one in enumerate(lines) if "pwrite64" in one and '\\"intent\\":' in one]
    synced = [n for n, one in enumerate(lines) if "fdatasync(" in one]
    good = p.returncode == 0 and intent and outcome and any(intent[0] < n < outcome[0] for n in synced)
    report("the intent of a command that lasts is on the disk while it runs", "" if good else "; ".join(lines))


def children(pid):
    """Living and dead ones, with their states."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                state, parent = f.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid:
            found.append(f"{name} {state}")
    return found


def orphans():
    """Who sees to the disk while a command runs has signed the log, and is nobody's dead child."""
    p = subprocess.Popen([BERTH, "exec", AGENT, "--", "sleep", "7011"], stdin=subprocess.DEVNULL)
    signed = wait_for(lambda: "sleep 7011" in records()[-2] and "log.checkpoint" in records()[-1])
    wait_for(lambda: not children(p.pid))
    left = children(p.pid)
    p.terminate()
    p.wait(120)
    report("no child of it stays behind while a command runs", "" if signed and not left else f"signed {signed}, left {left}")


os.chmod(".", 0o755)
os.mkdir("ws")
os.chown("ws", 1000, 1000)
with open("team.yaml", "w", encoding="utf-8") as f:
    f.write(f"agents: {{{AGENT}: {{image: 'box:1', workspace: ./ws, memory: 64m}}}}\n")
shutil.rmtree("state", ignore_errors=True)
os.environ["XDG_STATE_HOME"] = os.getcwd() + "/state"
up = berth("up", "team.yaml")
if up.returncode:
    report("an agent comes up", up.stderr)
else:
    try:
        kills()
        lasting()
        orphans()
    finally:
        berth("down", "team.yaml")
        subprocess.run(["docker", "volume", "rm", "-f", f"berth-home-berth-{AGENT}"], stdout=subprocess.DEVNULL, check=False)
sys.exit(bad)
