"""guest.py - attacks on the init from inside: all they gain is a lie about their own result, or an error that says so."""
import os
import re
import signal
import socket
import subprocess
import time

from room import attack, line_of, processes, wait_for


def init_of(room, agent):
    return room.engine.inspect("berth-" + agent)["State"]["Pid"]


def fill(address):
    """Connections until no more are taken."""
    queue = []
    while len(queue) < 4096:
        conn = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        conn.setblocking(False)
        try:
            conn.connect(address)
        except BlockingIOError:
            return queue
        queue.append(conn)
    raise AssertionError("the queue has no end")


def limit_descriptors(init, limit):
    subprocess.run(["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", "prlimit", f"--pid={init}", f"--nofile={limit}"],
                   check=True)


def works(room, name, agent, init):
    """The container is what it was: the same init, nothing left of the attack, and it runs commands."""
    room.finding(name, bool(room.settled(room.id_of(agent))), f"left: {processes(room.id_of(agent))}")
    room.finding(name, init_of(room, agent) == init, "the init is the one it was")
    done = room.exec(agent, "echo", "works")
    room.finding(name, done.out == b"works\n", f"it works: {done!r}")


@attack("guest-signals", "guest-tracing", "guest-own")
def by_hand(room):
    init = init_of(room, room.a)
    for what, name in (("signals", "guest-signals"), ("look", "guest-tracing"), ("own", "guest-own")):
        done = room.inside(room.a, "guest", what)
        lines = done.out.decode().splitlines()
        room.finding(name, done.code == 0 and lines, f"{what}: {done!r}")
        for line in lines:
            _, verdict, text = line.split(" ", 2)
            room.findings.append((name, verdict, text))
        works(room, name, room.a, init)
    # The engine, from outside, is obeyed.
    status, _ = room.engine.ask("POST", f"/containers/berth-{room.c}/stop?t=60")
    ended = room.engine.inspect("berth-" + room.c)["State"]
    room.finding("guest-signals", status == 204 and not ended["Running"] and ended["ExitCode"] != 137,
                 f"docker stop does not have to kill it: {status}, exit {ended['ExitCode']}")
    assert room.berth("up", room.path("team.yaml"), env={"ATTACK_KEY": room.key}).code == 0


def standing(pid):
    """What others could change of a process, as the host sees it."""
    def read(name):
        with open(f"/proc/{pid}/{name}", encoding="ascii") as f:
            return f.read()
    stat = read("stat").rpartition(")")[2].split()
    allowed = re.findall(r"(?:Cpus|Mems)_allowed:\t\S+", read("status"))
    return read("limits"), stat[15:17], stat[37:39], allowed, read("oom_score_adj"), read("comm")


def ticks(pid):
    """Of CPU time, hundredths of a second."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return sum(map(int, f.read().rpartition(")")[2].split()[11:13]))


def is_watcher(pid, init):
    return os.stat(f"/proc/{pid}/exe").st_ino == os.stat(f"/proc/{init}/exe").st_ino


@attack("guest-watchers", "guest-pestered")
def watchers(room):
    """Every call that names a process, against the init and the supervisors; then all the signals that may be sent."""
    name, init = "guest-watchers", init_of(room, room.a)
    other = room.popen("exec", room.a, "--", "sh", "-c", "echo on; exec sleep 1000")
    line_of(other)
    them = [p for p in processes(room.id_of(room.a)) if is_watcher(p, init)]
    before = {p: standing(p) for p in them}
    done = room.inside(room.a, "watchers", "try")
    lines = done.out.decode().splitlines()
    room.finding(name, done.code == 0 and len(lines) > 200, f"{done!r}")
    for line in lines:
        _, verdict, text = line.split(" ", 2)
        room.findings.append((name, verdict, text))
    room.finding(name, len(them) == 2 and {p: standing(p) for p in them} == before, "they stand as they stood")
    name = "guest-pestered"
    pest = room.popen("exec", room.a, "--", "/attack/inside", "watchers", "pester", "1000")
    wait_for(lambda: len(processes(room.id_of(room.a))) >= 9)
    done = [room.exec(room.a, "echo", "works", timeout=120) for _ in range(5)]
    room.finding(name, all(d.out == b"works\n" for d in done), f"under a rain of signals: {done}")
    done = room.exec(room.a, "sleep", "1000", options=("--timeout", "1"), timeout=120)
    room.finding(name, done.code == 124 and not done.err.count(b"did not answer"), f"and its time-outs are kept: {done!r}")
    for process in (pest, other):
        process.terminate()
        process.communicate(timeout=120)
    works(room, name, room.a, init)


@attack("guest-without-descriptors")
def without_descriptors(room):
    """Nothing inside can take them from the init any more; where the host does, it says so and does not spin."""
    name, init = "guest-without-descriptors", init_of(room, room.c)
    limit_descriptors(init, "3:")
    done = room.exec(room.c, "true", timeout=120)
    room.finding(name, done.code == 125 and b"Too many open files" in done.err, f"{done!r}")
    # As long as who never rests needs for half a second of a processor: one that spins would have as much of it.
    begun, mine = ticks(init), time.process_time()
    while time.process_time() < mine + 0.5:
        pass
    spent = ticks(init) - begun
    room.finding(name, spent < 10, f"{spent} ticks were spent waiting, where 50 could be")
    limit_descriptors(init, "64:")
    works(room, name, room.c, init)


@attack("guest-lost")
def lost(room):
    """An init that answers nobody: commands are not run by the engine instead, and `up` makes the container anew."""
    name, init = "guest-lost", init_of(room, room.c)
    os.kill(init, signal.SIGSTOP)
    try:
        waiting = [room.popen("exec", room.c, "--", "true") for _ in range(3)]
        address = os.path.join(room.env["XDG_RUNTIME_DIR"], "berth/lanes/berth-" + room.c + ".sock")
        queue = fill(address)
        done = room.exec(room.c, "touch", "/tmp/by-the-engine", timeout=120)
        room.finding(name, done.code == 125 and b"lane lost" in done.err, f"with {len(queue)} in the queue: {done!r}")
        for conn in queue:
            conn.close()
    finally:
        os.kill(init, signal.SIGCONT)
    for process in waiting:
        process.communicate(timeout=120)
    works(room, name, room.c, init)
    room.finding(name, room.exec(room.c, "test", "-e", "/tmp/by-the-engine").code == 1, "nor did it run by another way")
    os.kill(init, signal.SIGSTOP)
    done = room.berth("up", room.path("team.yaml"), env={"ATTACK_KEY": room.key}, timeout=120)
    room.finding(name, done.code == 0 and b"lane lost" in done.out + done.err, f"up says so: {done!r}")
    works(room, name, room.c, init_of(room, room.c))


@attack("guest-supervisor")
def supervisor(room):
    name, init = "guest-supervisor", init_of(room, room.a)
    for what in ("kill-all", "kill-supervisor", "stop-supervisor", "stop-all", "chain"):
        done = room.inside(room.a, "guest", what, options=("--timeout", "3"), timeout=120)
        room.finding(name, done.code in (124, 125, 137), f"{what}: {done!r}")
        room.finding(name, done.code == 124 or b"supervisor" in done.err or b"container ended" in done.err, f"{what} is told as such: {done.err!r}")
        works(room, name, room.a, init)


@attack("guest-passed-output")
def passed_output(room):
    """A command's output, handed to a process of another command, does not keep the first one's client waiting."""
    name = "guest-passed-output"
    keeper = room.popen("exec", room.a, "--", "/attack/inside", "guest", "keep", "/tmp/pass")
    line_of(keeper)
    done = room.inside(room.a, "guest", "give", "/tmp/pass", timeout=120)
    room.finding(name, done.code == 0 and done.out == b"given\n", f"{done!r}")
    keeper.terminate()
    keeper.communicate(timeout=120)


@attack("guest-starved")
def starved(room):
    """Memory that belongs to no process, and a client that reads nothing: others go on."""
    name, init = "guest-starved", init_of(room, room.c)
    for _ in range(2):
        room.inside(room.c, "guest", "hoard", options=("--timeout", "2"), timeout=120)
        works(room, name, room.c, init)
    stuck = room.popen("exec", room.a, "--", "sh", "-c", "yes | head -c 100000000; echo >&2 done")
    time.sleep(0.1)
    os.kill(stuck.pid, 19)
    began = [room.exec(room.a, "sh", "-c", "yes | head -c 3000000 | wc -c", timeout=120).out for _ in range(3)]
    room.finding(name, began == [b"3000000\n"] * 3, f"others meanwhile: {began}")
    os.kill(stuck.pid, 18)
    out, err = stuck.communicate(timeout=120)
    room.finding(name, len(out) == 100000000 and err == b"done\n", f"and the stopped one loses nothing: {len(out)} bytes")


@attack("guest-killed")
def killed(room):
    """The init itself killed, from the host: whoever waits hears of it, and `up` makes the container anew."""
    name = "guest-killed"
    waiting = room.popen("exec", room.c, "--", "sleep", "1000")
    wait_for(lambda: len(processes(room.id_of(room.c))) > 2)
    os.kill(init_of(room, room.c), 9)
    _, err = waiting.communicate(timeout=120)
    room.finding(name, waiting.returncode in (125, 137) and err, f"exit {waiting.returncode}, {err!r}")
    room.finding(name, wait_for(lambda: not processes(room.id_of(room.c))) or not processes(room.id_of(room.c)), "nothing is left of the container's processes")
    done = room.exec(room.c, "true")
    room.finding(name, done.code == 125 and done.err, f"the next one: {done!r}")
    done = room.berth("up", room.path("team.yaml"), env={"ATTACK_KEY": room.key})
    room.finding(name, done.code == 0 and room.exec(room.c, "true").code == 0, f"up makes it anew: {done!r}")
