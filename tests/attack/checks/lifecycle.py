"""lifecycle.py - checks 57 to 60, 63 and 64: killed, failed and shared; secrets; and what the log knows of it all."""
import glob
import json
import os
import shutil
import subprocess
import time

from console import Console
from room import SOAK, Room, attack, processes, wait_for


def definition(room, agent, workspace, more=""):
    return f"agents:\n  {agent}:\n    image: attack:1\n    workspace: {workspace}\n    memory: 64m\n{more}"


@attack(57)
def killed(room):
    """berth killed at any moment of `up`: the next one finds its own remains, and only those."""
    siblings = {a: room.id_of(a) for a in (room.a, room.b)}
    foreign = room.tag + "foreign"
    labels = room.engine.inspect("berth-" + room.a)["Config"]["Labels"]
    status, reply = room.engine.ask("POST", f"/containers/create?name=berth-{foreign}", {
        "Image": "attack:1", "Cmd": ["sleep", "1000"], "Labels": labels, "HostConfig": {"NetworkMode": "none"}})
    assert status == 201, reply
    stranger = reply["Id"]
    room.cleanups.append(lambda: room.engine.ask("DELETE", f"/containers/{stranger}?force=1&v=1"))
    room.engine.ask("POST", f"/containers/{stranger}/start")

    agent = room.tag + "k"
    path = room.team(definition(room, agent, room.workspace("ws-k")), "k.yaml")
    room.cleanups.append(lambda: room.berth("down", path))
    for i in range(60 if SOAK else 5):
        process = room.popen("up", path)
        # Not a wait for something: the moments are spread over what an `up` takes here.
        try:
            process.wait(timeout=0.02 + 0.13 * (i % 12))
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
        done = room.berth("up", path)
        room.finding(57, done.code == 0, f"up after one that was killed: {done!r}")
        mine = [n for n in room.engine.names() if n == "berth-" + agent]
        room.finding(57, len(mine) == 1, f"containers of the agent: {mine}")
        done = room.exec(agent, "sh", "-c", "echo kept > $HOME/file && cat $HOME/file")
        room.finding(57, done.out == b"kept\n", f"its home can be written: {done!r}")
        room.berth("down", path)
        room.engine.ask("DELETE", f"/volumes/berth-home-berth-{agent}")
    room.finding(57, {a: room.id_of(a) for a in siblings} == siblings, "the living siblings are the same")

    # A foreign container under the agent's name, with our labels copied to it.
    theirs = room.team(definition(room, foreign, room.workspace("ws-f")), "foreign.yaml")
    for verb in ("up", "down"):
        done = room.berth(verb, theirs)
        room.finding(57, done.code == 1 and b"not created by berth" in done.err, f"{verb} over a foreign container: {done!r}")
    seen = room.engine.inspect(stranger)
    room.finding(57, seen and seen["State"]["Running"] and seen["Id"] == stranger, "it runs as before")
    if "clean" in room.berth("--help").out.decode().split():
        def left():
            room.berth("clean", "--yes", timeout=120)
            return [n for n in room.engine.names() if n.startswith("berth-helper-")]
        # The engine may still be making what a killed berth had asked for.
        room.finding(57, wait_for(lambda: not left()), f"helpers left after clean: {left()}")
        room.finding(57, room.engine.inspect(stranger)["State"]["Running"], "clean left the foreign one alone")
        room.finding(57, {a: room.id_of(a) for a in siblings} == siblings, "and the living siblings")


@attack(58)
def failed_start(room):
    """Creating works and starting does not: nothing is left, and berth says why."""
    ws = room.workspace("stuck/ws")
    # The image has a file where the workspace's parent would have to be.  Not below /tmp, which is a tmpfs inside.
    top = room.path("stuck")
    other = f"/var/berth-{room.tag}"
    os.makedirs(other + "/dir")
    room.cleanups.append(lambda: shutil.rmtree(other, True))
    ws = other + "/dir"
    os.chown(ws, 1000, 1000)
    room.engine.load("attack-stuck:1", dict(room.tools, **{"var": (0o755, None), ws[1:].rpartition("/")[0]: (0o644, b"in the way\n")}))
    agent = room.tag + "stuck"
    before = set(room.engine.names())
    done = room.up(definition(room, agent, ws).replace("attack:1", "attack-stuck:1"), "stuck.yaml")
    room.finding(58, done.code == 1 and done.err.strip(), f"up: {done!r}")
    room.finding(58, set(room.engine.names()) == before, f"containers left: {set(room.engine.names()) - before}")
    left = [p for d in ("state", "run") for p in glob.glob(room.path(d) + "/**/*stuck*", recursive=True)]
    left += glob.glob(room.env["XDG_RUNTIME_DIR"] + "/**/*stuck*", recursive=True)
    room.finding(58, not left, f"records left: {left}")
    room.finding(58, not any("stuck" in line.split()[4] for line in open("/proc/self/mountinfo", encoding="ascii")), f"mounts below {top}")


TENANT = """
for d in /tmp /dev/shm $HOME /run; do echo tenant > $d/left 2>/dev/null; mkdir -p $d/.left; done
echo tenant > $HOME/.profile; echo 'tenant' > $HOME/.ash_history; mkdir -p $HOME/.ssh $HOME/bin; printf '#!/bin/sh\necho tenant\n' > $HOME/bin/ls; chmod +x $HOME/bin/ls
(setsid sh -c 'trap "" TERM HUP; while :; do sleep 1000; done' >/dev/null 2>&1 </dev/null &)
(setsid nc -lU /tmp/socket >/dev/null 2>&1 </dev/null &)
/attack/inside guest hoard >/dev/null 2>&1 </dev/null &
export TENANT=tenant; cat /run/secrets/key > /tmp/secret; hostname; id -u
"""
NEXT = """
hostname; env | grep -c tenant; find /tmp /dev/shm /run $HOME -mindepth 1 2>/dev/null | grep -v '^/run/secrets' | wc -l
ps | wc -l; cat /proc/net/unix | wc -l; ls /proc | grep -c '^[0-9]'; cat /proc/sysvipc/shm | wc -l; ls /dev/mqueue | wc -l
"""


@attack(59)
def pool(room):
    """One call's container is never another's: cold ones by birth, warm ones because each is used once."""
    path = room.team("custom_tools:\n  t:\n    image: attack:1\n    script: 'eval \"$1\"'\n    resources: {memory: 64m, pids: 64}\n"
                     "    pool: {size: 1}\n    secrets: [key]\nsecrets: {key: {env: ATTACK_KEY}}\n", "tools.yaml")

    def run(script):
        return room.berth("-c", path, "tool", "run", "t", "--", script, env={"ATTACK_KEY": room.key})

    def warm():
        return [n for n, c in room.engine.names().items() if c["Labels"].get("berth.role") == "pool" and c["State"] == "running"]
    room.env["ATTACK_KEY"] = room.key
    keeper = Console(room, "-c", path)
    del room.env["ATTACK_KEY"]
    try:
        end = time.monotonic() + 60
        while not warm() and time.monotonic() < end:
            keeper.feed(0.1)
        room.finding(59, warm(), "the console keeps one warm")
        hosts = []
        for call in range(3):
            dirty = run(TENANT)
            clean = run(NEXT)
            lines = dirty.out.decode().split()
            room.finding(59, dirty.code == 0 and lines[-1] != "0", f"the tenant: {dirty!r}")
            seen = clean.out.decode().split()
            hosts += [lines[0], seen[0]] if lines and seen else []
            # no variable, no file, nobody but the init, its supervisor and the command's own processes, one
            # line of header each in the tables of sockets and segments
            room.finding(59, clean.code == 0 and seen[1] == "0" and seen[2] == "0" and int(seen[5]) <= 8 and seen[6] == "1" and seen[7] == "0",
                         f"what the next one sees: {clean!r}")
            end = time.monotonic() + 60
            while call < 2 and not warm() and time.monotonic() < end:
                keeper.feed(0.1)
        room.finding(59, len(set(hosts)) == len(hosts) == 6, f"each call has a container of its own: {hosts}")
        gone = wait_for(lambda: not [h for h in hosts if room.engine.inspect(h)])
        room.finding(59, gone, f"used ones that are left: {[h for h in hosts if room.engine.inspect(h)]}")
    finally:
        keeper.close()
    room.finding(59, wait_for(lambda: not warm()), f"with their keeper they go: {warm()}")


def holders(room, value, top):
    out = subprocess.run(["grep", "-rlaF", "--no-messages", "--devices=skip", value, top], stdout=subprocess.PIPE, check=False)
    return out.stdout.decode().split()


@attack(60)
def secrets(room):
    container = "berth-" + room.a
    done = room.exec(room.a, "sh", "-c", "stat -c '%a %u' /run/secrets/key; grep -c tmpfs.*secrets /proc/mounts; cat /run/secrets/key")
    room.finding(60, done.out.decode().split() == ["400", "1000", "1", room.key], f"the agent itself has it: {done!r}")
    places = {"inspect": json.dumps(room.engine.inspect(container)),
              "history": json.dumps(room.engine.ask("GET", "/images/attack:1/history")[1]),
              "the engine's logs": str(room.engine.ask("GET", f"/containers/{container}/logs?stdout=1&stderr=1")[1]),
              "top": json.dumps(room.engine.ask("GET", f"/containers/{container}/top")[1]),
              "ps": room.berth("ps", "--json").out.decode(), "audit list": room.berth("audit", "list", "--json").out.decode()}
    for name, text in places.items():
        room.finding(60, room.key not in text, f"{name} shows it")
    # Printed by a command, passed to one: what berth keeps of that is masked.
    room.exec(room.a, "sh", "-c", "cat /run/secrets/key; cat /run/secrets/key >&2")
    room.exec(room.a, "sh", "-c", "curl --token " + room.key + " || true; API_KEY=" + room.key + " true")
    room.exec(room.a, "env", "TOKEN=" + room.key, "true")
    room.berth("exec", room.a, "--", "nothing", "--password", room.key)
    for top in (room.path("state"), room.env["XDG_RUNTIME_DIR"], room.path("home")):
        found = wait_for(lambda t=top: not holders(room, room.key, t)) or holders(room, room.key, top)
        room.finding(60, found is True, f"kept below {top}: {found}")
    for pid in processes(room.id_of(room.a)):
        for part in ("cmdline", "environ"):
            with open(f"/proc/{pid}/{part}", "rb") as f:
                room.finding(60, room.key.encode() not in f.read(), f"/proc/{pid}/{part} of the container shows it")
    # Errors on the way do not say it either.
    text = definition(room, room.tag + "sec", room.path("nowhere"), "    secrets: [key]\nsecrets: {key: {env: ATTACK_KEY}}\n")
    done = room.up(text, "sec.yaml", env={"ATTACK_KEY": room.key})
    room.finding(60, done.code != 0 and room.key.encode() not in done.out + done.err, f"a failing up: {done!r}")


@attack(63)
def audit(room):
    """Every kind of attack above leaves an entry; and no entry goes without being noticed."""
    refused = room.exec(room.a, "sh", "-c", "rm -rf --no-preserve-root /")
    room.finding(63, refused.code == 125, f"a plainly destructive command: {refused!r}")
    room.exec(room.a, "sleep", "5", options=("--timeout", "0.1"))
    room.exec(room.a, "sh", "-c", "exit 3")
    room.exec(room.a, "true")
    room.berth("up", room.team(definition(room, room.tag + "etc", "/etc"), "etc.yaml"))
    for place in ("state", "state/berth", "home/.ssh"):
        os.makedirs(room.path(place), exist_ok=True)
        done = room.berth("up", room.team(definition(room, room.tag + "log", room.path(place)), "log.yaml"))
        room.finding(63, done.code in (1, 4), f"berth's own {place} as a workspace: {done!r}")
    room.berth("files", "read", "--root", room.path("ws-a"), "../host/secret")
    room.berth("files", "write", "--root", room.path("ws-b"), "x", stdin=b"x\n")
    room.berth("files", "delete", "--root", room.path("ws-b"), "x")

    def missing():
        records = room.audit()
        have = {(r["act"], r["outcome"]) for r in records}
        want = {("agent.up", "ok"), ("agent.up", "refused"), ("container.exec", "ok"), ("container.exec", "refused"),
                ("container.exec", "failed"), ("container.exec", "timeout"), ("file.write", "ok"), ("file.delete", "ok"), ("file.read", None)}
        return want - have - {(act, None) for act, _ in have}
    wait_for(lambda: not missing())
    room.finding(63, not missing(), f"entries that are missing: {missing()}")

    def verify(state):
        return room.berth("audit", "verify", env={"XDG_STATE_HOME": state}, timeout=120)
    room.berth("audit", "head")
    wait_for(lambda: verify(room.path("state")).code == 0)
    done = verify(room.path("state"))
    room.finding(63, done.code == 0, f"the log as it is: {done!r}")

    def segments(state):
        found = [p for p in glob.glob(state + "/berth/audit/**/*", recursive=True) if os.path.isfile(p)]
        return max(found, key=os.path.getsize)

    def edit(data):
        at = len(data) // 2
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]

    def lines(change):
        return lambda data: b"".join(change(data.splitlines(keepends=True)))
    tampering = {"a byte changed": edit, "cut in the middle of a record": lambda d: d[:len(d) * 2 // 3],
                 "a record taken out": lines(lambda x: x[:len(x) // 2] + x[len(x) // 2 + 1:]),
                 "two records swapped": lines(lambda x: x[:len(x) // 2] + [x[len(x) // 2 + 1], x[len(x) // 2]] + x[len(x) // 2 + 2:]),
                 "a record twice": lines(lambda x: x[:len(x) // 2] + [x[len(x) // 2]] + x[len(x) // 2:]),
                 "the beginning gone": lines(lambda x: x[len(x) // 3:]), "the end gone": lines(lambda x: x[:len(x) // 2]),
                 "emptied": lambda d: b""}
    for what, change in tampering.items():
        copy = room.path("tampered")
        shutil.rmtree(copy, True)
        shutil.copytree(room.path("state"), copy, symlinks=True)
        path = segments(copy)
        with open(path, "rb") as f:
            data = f.read()
        with open(path, "wb") as f:
            f.write(change(data))
        done = verify(copy)
        room.finding(63, done.code == 1 and done.out + done.err, f"{what}: {done!r}")


@attack(64)
def two(room):
    """Another person's berth on the same engine: nothing of ours is theirs, whatever they do by its ordinary means."""
    theirs = Room.__new__(Room)
    theirs.__dict__.update(room.__dict__)
    home = room.path("theirs")
    os.makedirs(home)
    run = home + "-run"
    os.makedirs(run, 0o700)
    theirs.env = dict(room.env, HOME=home, XDG_STATE_HOME=home, XDG_RUNTIME_DIR=run)

    def state():
        return {n: (c["Id"], c["State"]) for n, c in room.engine.names().items() if n.startswith("berth-" + room.tag)}
    before = state()
    for verb in (("up", room.path("team.yaml")), ("down", room.path("team.yaml")), ("down", "--all", "--yes"), ("ps",), ("exec", room.a, "--", "true")):
        done = theirs.berth(*verb, env={"ATTACK_KEY": "another"})
        if verb[0] == "up":
            room.finding(64, done.code == 1 and b"not created by berth" in done.err, f"up over our agents: {done!r}")
        room.finding(64, state() == before, f"after their {verb}: {state()} instead of {before}")
    if "clean" in room.berth("--help").out.decode().split():
        for options in (("--yes",), ("--foreign", "--yes")):
            done = theirs.berth("clean", *options, timeout=120, stdin=b"")
            room.finding(64, state() == before, f"after their clean {options}: {state()} instead of {before}, {done!r}")
    # Names that both use: a network is not shared by chance, nor is what an agent left in its home.
    agent, net = room.tag + "tw", room.tag + "shared"
    text = definition(room, agent, room.workspace("ws-tw"), f"    network: {{internal: {net}}}\nnetworks: {{{net}: {{members: [{agent}]}}}}\n")
    done = room.up(text, "tw.yaml")
    assert done.code == 0, done
    room.exec(agent, "sh", "-c", "echo private > $HOME/left")
    done = theirs.berth("up", theirs.team(text.replace(agent, agent + "2"), "tw2.yaml"))
    nets = [list(n["NetworkID"] for n in (room.engine.inspect("berth-" + a) or {"NetworkSettings": {"Networks": {}}})["NetworkSettings"]["Networks"].values())
            for a in (agent, agent + "2")]
    room.finding(64, done.code == 1 or nets[0] != nets[1], f"their agent on our network: {nets}, {done!r}")
    theirs.berth("down", room.path("tw2.yaml"))
    room.berth("down", room.path("tw.yaml"))
    done = theirs.berth("up", theirs.team(definition(room, agent, room.path("ws-tw")), "tw3.yaml"))
    seen = theirs.exec(agent, "sh", "-c", "cat $HOME/left")
    room.finding(64, b"private" not in seen.out, f"our agent's home in theirs: up {done!r}, then {seen!r}")
    theirs.berth("down", room.path("tw3.yaml"))
    room.berth("up", room.path("tw.yaml"))
    seen = room.exec(agent, "sh", "-c", "cat $HOME/left")
    room.finding(64, seen.out == b"private\n", f"our agent's home is ours again: {seen!r}")
    # Both at once, with agents of their own.
    pair = [theirs.popen("up", theirs.team(definition(room, room.tag + "t1", room.workspace("ws-t1")), "t1.yaml")),
            room.popen("up", room.team(definition(room, room.tag + "t2", room.workspace("ws-t2")), "t2.yaml"))]
    ends = [p.communicate(timeout=120) + (p.returncode,) for p in pair]
    room.finding(64, all(e[2] == 0 for e in ends), f"both at once: {ends}")
    mine = room.id_of(room.tag + "t2")
    theirs.berth("down", "--all", "--yes")
    room.finding(64, room.id_of(room.tag + "t2") == mine, "their down --all leaves ours up")
    room.finding(64, room.engine.inspect(f"berth-{room.tag}t1") is None, "and takes theirs down")
    room.berth("down", room.path("t2.yaml"))
    for name in ("t1", "t2", "tw"):
        room.engine.ask("DELETE", f"/volumes/berth-home-berth-{room.tag}{name}")
