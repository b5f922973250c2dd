"""processes.py - checks 51 to 54: what ends when a command ends, and how its end is told."""
from room import attack, line_of, processes, wait_for

TREES = ("sleep", "child", "setsid", "double-fork", "ignores", "stopped", "stops-itself", "subreaper", "refork", "holds-stdout")


@attack(51)
def timeouts(room):
    container = room.id_of(room.a)
    for tree in TREES:
        # The one that ends by itself may take its time to do so.
        limit = "60" if tree == "holds-stdout" else "0.3"
        done = room.inside(room.a, "trees", tree, options=("--json", "--timeout", limit), timeout=120)
        d = done.json
        if tree == "holds-stdout":
            # The command itself ended in order; what it left is ended with it, and the output with that.
            room.finding(51, d["ended"] == "exit" and done.code == 0, f"{tree}: {d['ended']} {done.code}")
        else:
            room.finding(51, d["ended"] == "timeout" and done.code == 124, f"{tree}: {d['ended']} {done.code} {d['error']}")
        room.finding(51, bool(room.settled(container)), f"{tree}: left {processes(container)}")
    # Cancelled instead of timed out, and the client killed: the same.
    for signal in ("terminate", "kill"):
        for tree in ("ignores", "stopped", "refork"):
            process = room.popen("exec", room.a, "--", "/attack/inside", "trees", tree)
            wait_for(lambda: len(processes(container)) > 2)
            getattr(process, signal)()
            process.communicate(timeout=120)
            room.finding(51, bool(room.settled(container)), f"{tree} after {signal}: left {processes(container)}")


@attack(52)
def codes(room):
    for script, want, ended in (("exit 0", 0, "exit"), ("exit 1", 1, "exit"), ("exit 126", 126, "exit"), ("exit 127", 127, "exit"),
                                ("exit 137", 137, "exit"), ("exit 143", 143, "exit"), ("exit 255", 255, "exit"),
                                ("kill -TERM $$", 143, "signal"), ("kill -KILL $$", 137, "signal"), ("kill -SEGV $$", 139, "signal"),
                                ("kill -INT $$", 130, "signal"), ("exit 124", 124, "exit"), ("exit 125", 125, "exit")):
        done = room.exec(room.a, "sh", "-c", script, options=("--json", "--timeout", "50"))
        room.finding(52, done.code == want and done.json["ended"] == ended, f"{script}: {done.code} {done.json['ended']}")
    for argv, want in ((("/nowhere/x",), 127), (("nowhere-x",), 127), (("/etc",), 126), (("/attack/open/file",), 126)):
        done = room.exec(room.a, *argv, options=("--json",))
        room.finding(52, done.code == want and done.json["ended"] == "failed" and done.json["error"], f"{argv}: {done.code} {done.json['ended']}")
    done = room.exec(room.a, "sh", "-c", "trap '' TERM; sleep 100", options=("--json", "--timeout", "0.2"))
    room.finding(52, done.code == 124 and done.json["ended"] == "timeout", f"a time-out: {done.code} {done.json['ended']}")


@attack(53)
def zombies(room):
    container = room.id_of(room.a)
    done = room.inside(room.a, "trees", "children", 1000, timeout=120)
    room.finding(53, done.out == b"1000 children\n", f"{done!r}")
    # An orphan's end is its subreaper's business: while the command runs, not only after it.
    process = room.popen("exec", room.a, "--", "sh", "-c", "/attack/inside trees children 200; echo made; cat", stdin=-1)
    line_of(process, 120)
    line_of(process, 120)

    def dead():
        found = 0
        for pid in processes(container):
            try:
                with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
                    found += f.read().rpartition(")")[2].split()[0] == "Z"
            except OSError:
                pass
        return found
    room.finding(53, bool(wait_for(lambda: dead() == 0)), f"{dead()} zombies while the command runs")
    process.communicate(b"", timeout=120)
    room.finding(53, bool(room.settled(container)), "none afterwards")


@attack(54)
def states(room):
    agent, ws = room.tag + "state", room.workspace("ws-state")
    text = f"agents:\n  {agent}:\n    image: attack:1\n    workspace: {ws}\n    memory: 64m\n"
    assert room.up(text, "state.yaml").code == 0
    said = {}
    for state, method, path in (("paused", "POST", "pause"), ("running", "POST", "unpause"), ("stopped", "POST", "stop?t=1"),
                                ("removed", "DELETE", "")):
        status, reply = room.engine.ask(method, f"/containers/berth-{agent}" + (f"/{path}" if path else "?v=1"))
        assert status < 300, reply
        done = room.exec(agent, "true", timeout=120)
        if state == "running":
            room.finding(54, done.code == 0, f"unpaused: {done!r}")
        else:
            said[state] = done.err.decode().strip()
            room.finding(54, done.code == 125 and said[state], f"{state}: {done!r}")
    room.finding(54, len(set(said.values())) == 3, f"each state has a sentence of its own: {said}")
    room.finding(54, "paused" in said["paused"], f"and the paused one says so: {said['paused']}")
    done = room.exec("nobody-" + agent, "true")
    room.finding(54, done.code == 125 and "nobody" in done.err.decode(), f"an agent that never was: {done!r}")
