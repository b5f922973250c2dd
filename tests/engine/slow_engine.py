#!/usr/bin/env python3
"""slow_engine.py - an engine that is long about an exec or a removal: nothing stays that it starts late, no output is lost,
and what is given up is removed.

A proxy passes everything on but the engine's answer to the start of an exec: that it keeps back, or drips. Removals begin
late.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

ENGINE = os.environ["BERTH_TEST_ENGINE"].removeprefix("unix://")
BERTH = os.environ["BERTH"]
os.chdir(os.environ["TMPDIR"])
DOCKER = ["docker", "-H", "unix://" + ENGINE]
box = f"slow{os.getpid()}"
execs = []
drips = False
removal_s = 0
bad = 0


def relay(client):
    engine = socket.socket(socket.AF_UNIX)
    engine.connect(ENGINE)
    start = threading.Event()
    threading.Thread(target=answer, args=(engine, client, start), daemon=True).start()
    while data := client.recv(65536):
        words = data.split(b"\r\n", 1)[0].decode().split()
        if len(words) > 1 and words[0] == "POST" and words[1].endswith("/start"):
            start.set()
            execs.append(words[1].split("/")[-2])
        if words and words[0] == "DELETE":
            time.sleep(removal_s)
        engine.sendall(data)
    if not start.is_set():  # who hangs up on a start changes nothing
        engine.shutdown(socket.SHUT_RDWR)


def answer(engine, client, start):
    try:
        while data := engine.recv(2048 if drips else 65536):
            if not start.is_set():
                client.sendall(data)
            elif drips:
                threading.Event().wait(0.5)
                client.sendall(data)
        client.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # berth has hung up


def serve(listener):
    listener.listen(16)
    while True:
        threading.Thread(target=relay, args=(listener.accept()[0],), daemon=True).start()


def state(name):
    curl = ["curl", "-sS", "--unix-socket", ENGINE, f"http://engine/v1.41/exec/{name}/json"]
    return json.loads(subprocess.run(curl, check=True, capture_output=True).stdout)


def within(seconds, what):
    """Until it is so, or the time is over; what it is in the end."""
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        threading.Event().wait(0.05)
    return what()


def berth_exec(*words):
    return subprocess.run([BERTH, "-H", f"unix://{os.getcwd()}/p.sock", "exec", *words], capture_output=True)


def result(good, name, *why):
    global bad
    print("ok" if good else "not ok", name)
    if not good:
        bad = 1
        print("#", *why)


def late_start():
    seconds = 1
    while not execs and seconds < 200:  # on a busy machine the time is over before anything is asked to start
        berth = berth_exec("--timeout", str(seconds), box, "--", "sleep", "4716")
        seconds *= 2
    if not execs:
        return result(False, "a start that takes longer than the command may is a time-out", "nothing was asked to start:", berth)
    result(berth.returncode == 124, "a start that takes longer than the command may is a time-out", berth)
    begun = within(60, lambda: state(execs[-1])["Pid"] > 0)
    gone = within(60, lambda: not state(execs[-1])["Running"])
    result(begun and gone, "and what is started then does not stay", begun, gone)


def late_output():
    global drips
    drips = True
    berth = berth_exec(box, "--", "head", "-c", "30000", "/dev/zero")
    result(berth.returncode == 0 and len(berth.stdout) == 30000, "output that comes long after the end is not cut off",
           berth.returncode, len(berth.stdout), berth.stderr)


def late_removal():
    """Longer than who presses C-c waits for anything else."""
    global removal_s
    removal_s = 2
    tool = f"late{os.getpid()}"
    with open("team.yaml", "w", encoding="utf-8") as team:
        team.write(f"custom_tools: {{{tool}: {{type: docker, image: 'box:1', script: 'echo started; exec sleep 4717'}}}}\n")
    with subprocess.Popen([BERTH, "-H", f"unix://{os.getcwd()}/p.sock", "-c", "team.yaml", "tool", "run", tool],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as berth:
        said = berth.stdout.readline()
        berth.send_signal(signal.SIGINT)
        why = berth.stderr.read()
    left = subprocess.run([*DOCKER, "ps", "-aqf", f"name=berth-tool-{tool}"], check=True, capture_output=True).stdout
    result(said == b"started\n" and berth.returncode == 143 and not left, "the container of a tool that is interrupted is removed, also late",
           said, berth.returncode, why, left)
    if left:
        subprocess.run([*DOCKER, "rm", "-f", *left.decode().split()], stdout=subprocess.DEVNULL)


def main():
    subprocess.run([*DOCKER, "run", "-d", "--name", box, "--network", "none", "box:1", "/demo/idle.sh"],
                   check=True, stdout=subprocess.DEVNULL)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("p.sock")
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    late_start()
    late_output()
    late_removal()


try:
    main()
finally:
    subprocess.run([*DOCKER, "rm", "-f", box], stdout=subprocess.DEVNULL)
sys.exit(bad)
