#!/usr/bin/python3
"""fake_ssh.py - an ssh that connects to nobody; tests/scenario/ssh.py puts it in front of PATH under the name ssh.

By the host's name: hang* never connects, refuse* is refused, held* connects when there is a file $FAKE_SSH.go, ask* asks at the terminal, without echo; any other is "connected": a master in the background that listens on
its control socket, where a forwarded socket is a symbolic link to the "far" one. Whatever it does is a line in $FAKE_SSH:
[pid, what, arguments, monotonic time]. Like the real one it leaves children: one that hears no signal, as a ProxyCommand may, and one in a
session of its own, as the master of a jump host is.
"""
import json
import os
import signal
import socket
import sys
import termios
import time

args = sys.argv[1:]
host = args[args.index("--") + 1]
control = args[args.index("-S") + 1]


def note(what):
    with open(os.environ["FAKE_SSH"], "a", encoding="utf-8") as f:
        f.write(json.dumps([os.getpid(), what, args, time.monotonic()]) + "\n")


def leave_children():
    for apart in (False, True):
        if os.fork() == 0:
            if apart:
                os.setsid()
            for sig in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                signal.signal(sig, signal.SIG_IGN)
            note("child")
            time.sleep(600)
            os._exit(0)


def ask():
    tty = os.open("/dev/tty", os.O_RDWR)
    before, quiet = termios.tcgetattr(tty), termios.tcgetattr(tty)

    def end(*_):
        termios.tcsetattr(tty, termios.TCSANOW, before)
        os._exit(255)

    signal.signal(signal.SIGTERM, end)
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(tty, termios.TCSANOW, quiet)
    note("asking")
    time.sleep(600)


def become_master():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(control)
    listener.listen(64)
    if os.fork():
        os._exit(0)
    os.setsid()
    with open(control + ".pid", "w", encoding="utf-8") as f:
        f.write(str(os.getpid()))
    note("master")
    while True:
        listener.accept()[0].close()


if "-O" in args:
    note(args[args.index("-O") + 1])
    if "exit" in args:
        with open(control + ".pid", encoding="utf-8") as f:
            os.kill(int(f.read()), signal.SIGKILL)
    else:
        near, far = args[args.index("-L") + 1].split(":")
        os.symlink(far, near)
elif host.startswith("refuse"):
    note("refused")
    sys.exit("ssh: connect to host refuse: Connection refused")
else:
    note("connecting")
    if host.startswith("ask"):
        ask()
    leave_children()
    if host.startswith("hang"):
        time.sleep(600)
    while host.startswith("held") and not os.path.exists(os.environ["FAKE_SSH"] + ".go"):
        time.sleep(0.01)
    become_master()
