#!/usr/bin/env python3
"""slow_start.py - the time of a command is over while the engine still starts it: it is ended all the same.

A proxy passes everything on but the engine's answer to the start of an exec, which it keeps back.
"""
import json
import os
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


def relay(client):
    engine = socket.socket(socket.AF_UNIX)
    engine.connect(ENGINE)
    keep_back = threading.Event()
    threading.Thread(target=answer, args=(engine, client, keep_back), daemon=True).start()
    while data := client.recv(65536):
        words = data.split(b"\r\n", 1)[0].decode().split()
        if len(words) > 1 and words[0] == "POST" and words[1].endswith("/start"):
            keep_back.set()
            execs.append(words[1].split("/")[-2])
        engine.sendall(data)
    if not keep_back.is_set():  # who hangs up on a start changes nothing
        engine.shutdown(socket.SHUT_RDWR)


def answer(engine, client, keep_back):
    while data := engine.recv(65536):
        if not keep_back.is_set():
            client.sendall(data)
    client.shutdown(socket.SHUT_RDWR)


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


def main():
    subprocess.run([*DOCKER, "run", "-d", "--name", box, "--network", "none", "box:1", "/demo/idle.sh"],
                   check=True, stdout=subprocess.DEVNULL)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("p.sock")
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    seconds = 1
    while not execs:  # on a busy machine the time is over before anything is asked to start
        berth = subprocess.run([BERTH, "-H", f"unix://{os.getcwd()}/p.sock", "exec", "--timeout", str(seconds),
                                box, "--", "sleep", "4716"], capture_output=True, text=True)
        seconds *= 2
    begun = within(60, lambda: state(execs[-1])["Pid"] > 0)
    gone = within(15, lambda: not state(execs[-1])["Running"])
    print("ok" if berth.returncode == 124 else "not ok", "a start that takes longer than the command may is a time-out")
    print("ok" if begun and gone else "not ok", "and what is started then does not stay")
    if berth.returncode != 124 or not (begun and gone):
        print("#", berth.returncode, berth.stdout, berth.stderr, begun, gone)
        sys.exit(1)


try:
    main()
finally:
    subprocess.run([*DOCKER, "rm", "-f", box], stdout=subprocess.DEVNULL)
