#!/usr/bin/env python3
"""hang.py - an engine that takes connections and never answers: who waits is told, and C-c ends it.

The engine's own time-outs would end it, too, and say so: what C-c ended dies of it, or says that it was cancelled.
"""
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import threading
import time

BERTH = os.environ["BERTH"]
PATIENCE = 120
os.chdir(os.environ["TMPDIR"])
SOCKET = os.path.join(os.getcwd(), "e")
bad = 0


def report(name, why):
    global bad
    if why:
        bad = 1
        print("#", why)
    print("not ok" if why else "ok", name, flush=True)


def listen():
    s = socket.socket(socket.AF_UNIX)
    s.bind(SOCKET)
    s.listen(64)
    kept = []

    def accept():
        while True:
            kept.append(s.accept()[0])

    threading.Thread(target=accept, daemon=True).start()


def wait_for_text(read, text):
    """What has been said once `text` is in it; None when it does not come."""
    seen, until = b"", time.monotonic() + PATIENCE
    while text not in seen and time.monotonic() < until:
        if select.select([read], [], [], 0.1)[0]:
            try:
                part = os.read(read, 65536)
            except OSError:
                break
            if not part:
                break
            seen += part
    return seen if text in seen else None


def command(words):
    here, there = pty.openpty()
    p = subprocess.Popen([BERTH, *words.split()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=there, start_new_session=True)
    os.close(there)
    said = wait_for_text(here, b"waiting for the engine at unix://" + SOCKET.encode())
    if said is None:
        p.kill()
        p.wait()
        os.close(here)
        return report("is told: berth " + words, "nothing was said of waiting")
    p.send_signal(signal.SIGINT)
    try:
        p.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        p.kill()
        p.wait()
        os.close(here)
        return report("is told, and C-c ends it: berth " + words, "it goes on")
    cancelled = p.returncode == -signal.SIGINT or wait_for_text(here, b"cancelled") is not None
    os.close(here)
    report("is told, and C-c ends it: berth " + words, "" if cancelled else f"exit {p.returncode}, and it does not say why")


def becoming():
    """SIGTERM at each system call (or 12 of them) between berth's handlers and its becoming berth-core."""
    words = [BERTH, "exec", "nobody", "--", "true"]
    trace = ["strace", "-qq", "-o", "calls"]
    env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    p = subprocess.Popen([*trace, *words], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env, start_new_session=True)
    until, lines, becomes = time.monotonic() + PATIENCE, [], []
    while not becomes and time.monotonic() < until:
        with open("calls", encoding="utf-8") if os.path.exists("calls") else open(os.devnull, encoding="utf-8") as f:
            lines = f.read().splitlines()
        becomes = [n for n, line in enumerate(lines) if line.startswith("execve(") and "berth-core" in line]
        time.sleep(0.02)
    os.killpg(p.pid, signal.SIGKILL)
    p.wait()
    handled = [n for n, line in enumerate(lines) if line.startswith("rt_sigaction(SIGTERM, {sa_handler=0x")]
    if not becomes or not handled:
        return report("SIGTERM while berth becomes berth-core", "strace shows no way there: " + "; ".join(lines[-3:]))
    calls = [line.split("(")[0] for line in lines]
    window = range(handled[-1] + 1, becomes[-1])
    places = [n for n in window if calls[n].isidentifier()]
    lost = []
    for n in sorted({*places[:: len(places) // 10 + 1], *places[-2:]}):
        inject = f"inject={calls[n]}:signal=SIGTERM:when={calls[:n + 1].count(calls[n])}"
        p = subprocess.Popen([*trace, "-e", inject, *words], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env,
                             start_new_session=True)
        try:
            _, said = p.communicate(timeout=PATIENCE)
            # 125: the engine was asked already. -SIGTERM: this time the allocator made more calls, and it had no handler yet.
            if p.returncode not in (143, -signal.SIGTERM) and not (p.returncode == 125 and b"cancelled" in said):
                lost.append(f"{inject}: exit {p.returncode}, {said}")
        except subprocess.TimeoutExpired:
            lost.append(f"{inject}: it goes on")
            os.killpg(p.pid, signal.SIGKILL)
            p.communicate()
    report("SIGTERM while berth becomes berth-core", "; ".join(lost))


def console(words):
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(BERTH, [BERTH, *words.split()])
    if wait_for_text(fd, b"Agents") is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return report("C-c ends the console: berth " + words, "no first picture")
    until, ends = time.monotonic() + PATIENCE, True
    os.write(fd, b"\x03")
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if select.select([fd], [], [], 0.05)[0]:
            try:
                os.read(fd, 65536)
            except OSError:
                time.sleep(0.01)
        if ends and time.monotonic() > until:
            ends = False
            os.kill(pid, signal.SIGKILL)
    os.close(fd)
    report("C-c ends the console: berth " + words, "" if ends else "it goes on")


os.environ["DOCKER_HOST"] = "unix://" + SOCKET
os.mkdir("work")
os.chown("work", 1000 if os.getuid() == 0 else -1, -1)
with open("team.yaml", "w") as f:
    f.write("agents: {worker: {image: box:1, workspace: ./work}}\n"
            "custom_tools: {warm: {type: docker, image: box:1, script: echo hi, pool: {size: 2}}}\n")
listen()
for line in ("exec nobody -- true", "exec --timeout 60 nobody -- true", "ps", "doctor", "up team.yaml", "down team.yaml",
             "clean --dry-run", "clean --yes", "image ls", "image pull box:1", "-c team.yaml tool run warm"):
    command(line)
becoming()
console("")
console("-c team.yaml")
sys.exit(bad)
