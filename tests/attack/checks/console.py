"""console.py - checks 61 and 62: what a tool prints or is called reaches no terminal raw and no document unescaped."""
import fcntl
import json
import os
import pty
import re
import select
import struct
import termios
import time

from room import BERTH, attack, wait_for

PAYLOADS = ["\x1b[31mPWN", "\x1b]0;PWN\x07", "\x1b]8;;http://pwn\x07PWN\x1b]8;;\x07", "\x1b]52;c;UFdO\x07", "\x1b[2J\x1b[HPWN", "\x1bP$qPWN\x1b\\",
            "\x1b[?1049lPWN", "\x1b[6nPWN", "\x1bcPWN", "\x9b31mPWN", "\x9d0;PWN\x9c", "\x07PWN", "\x08\x08\x08PWN", "\rPWN", "\u202ePWN", "\u2066PWN",
            "\u200bPWN", "a\u0301\u0302\u0303PWN", "\uff30\uff37\uff2e", "\U0001f4a3PWN", "\x00PWN", "\x7fPWN", "\x0e\x0fPWN"]
HARMLESS = "end-of-the-payloads"


class Console:
    """berth in a terminal of its own; everything it ever wrote there."""

    def __init__(self, room, *args):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(room.top)
            os.execve(BERTH, [BERTH, *args], room.env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
        self.seen, self.mark = b"", 0

    def feed(self, seconds):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if ready:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            self.seen += data
            if b"\x1b[6n" in data:
                os.write(self.fd, b"\x1b[1;1R")
            return bool(data)
        return True

    def until(self, text, seconds=60):
        """What was drawn since the last key shows the text, motions of the cursor apart."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            plain = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][0-9A-B]", b"", self.seen[self.mark:])
            if text.encode() in plain:
                return True
            if not self.feed(0.2):
                break
        return False

    def keys(self, *keys):
        self.mark = len(self.seen)
        for k in keys:
            os.write(self.fd, k.encode())

    def close(self):
        try:
            os.kill(self.pid, 15)
            end = time.monotonic() + 60
            while self.feed(0.5):
                if time.monotonic() > end:
                    os.kill(self.pid, 9)
        except OSError:
            pass
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def raw(data):
    """What of it a payload could have brought: a list of what was found."""
    found = []
    try:
        text = data.decode()
    except UnicodeDecodeError as e:
        return [f"invalid UTF-8 at {e.start}: {data[max(0, e.start - 20):e.start + 20]!r}"]
    for c in text:
        if "\x80" <= c <= "\x9f" or c in "\x07\x00\u202e\u2066":
            found.append(hex(ord(c)))
    for sequence in re.findall(r"\x1b[\]P^_X][^\x1b\x07]*", text):
        if "PWN" in sequence or "UFdO" in sequence or "pwn" in sequence:
            found.append(repr(sequence))
    found += re.findall(r"\x1b\[31mPWN|\x1bcPWN|\x1b\[6nPWN|\x1b\[2J\x1b\[HPWN", text)
    return [repr(f) for f in found]


@attack(61)
def escapes(room):
    labels = {f"evil.{i}": p for i, p in enumerate(PAYLOADS)}
    labels.update({"berth.agent": "\x1b]0;PWN\x07\x1b[31mPWN agent", "com.docker.compose.project": "\x1b]0;PWN\x07project", "berth.role": "\x9b31mrole"})
    name = "aaa-" + room.tag
    octal = "".join(f"\\{b:03o}" for p in PAYLOADS for b in (p.encode() if ord(p[0]) not in (0x9b, 0x9d) else p.encode("latin-1")) + b"\n")
    shout = f"printf '{octal}'; head -c 1000000 /dev/zero | tr '\\0' x; echo; printf '{octal}' >&2; echo {HARMLESS}; exec sleep 1000"
    status, reply = room.engine.ask("POST", f"/containers/create?name={name}", {
        "Image": "attack:1", "Cmd": ["sh", "-c", shout], "Labels": labels, "Env": ["EVIL=" + PAYLOADS[0]], "User": "1000",
        "HostConfig": {"NetworkMode": "none"}})
    assert status == 201, reply
    room.cleanups.append(lambda: room.engine.ask("DELETE", f"/containers/{name}?force=1&v=1"))
    room.engine.ask("POST", f"/containers/{name}/start")
    wait_for(lambda: HARMLESS.encode() in str(room.engine.ask("GET", f"/containers/{name}/logs?stdout=1&tail=3")[1]).encode())
    # Names of processes are the tool's too, and so is what a journal keeps of a command.
    room.exec(room.a, "sh", "-c", f"printf '{octal}'; printf '{octal}' >&2; echo {HARMLESS}", timeout=120)
    room.exec(room.a, "true", *(p for p in PAYLOADS if "\0" not in p))

    for args in (("ps", "--all"), ("ps", "--json", "--all"), ("audit", "list"), ("audit", "list", "--json"), ("clean", "--foreign", "--dry-run"),
                 ("exec", "--json", room.a, "--", "sh", "-c", f"printf '{octal}'"), ("exec", room.a, "--", "no\x1b]0;PWN\x07such"),
                 ("exec", "\x1b]0;PWN\x07", "--", "true"), ("up", "/nowhere/\x1b]0;PWN\x07"), ("\x1b[31mPWN",)):
        done = room.berth(*args, timeout=120)
        found = raw(done.out) + raw(done.err)
        found += ["escape"] if b"\x1b" in done.out + done.err else []
        room.finding(61, not found, f"berth {args[:2]}: {found[:5]}")
        if "--json" in args:
            for line in done.out.splitlines() if args[0] == "audit" else [done.out]:
                json.loads(line)

    console = Console(room)
    try:
        room.finding(61, console.until(name), f"the console lists it: {console.seen[-300:]!r}")
        for view, keys, text in (("logs", ["/", name, "\r", "l"], HARMLESS), ("inspect", ["\x1b", "i"], "ExecIDs"), ("labels", ["/", "evil.1\r"], "PWN")):
            if keys[0] == "\x1b":  # a key of its own, not the beginning of a sequence
                console.keys("\x1b")
                console.until("IMAGE", 20)
            console.keys(*keys[keys[0] == "\x1b":])
            room.finding(61, console.until(text), f"{view} shows {text}: {console.seen[console.mark:][-200:]!r}")
        console.keys("\x1b")
        console.until("IMAGE", 20)
        # Through the other views: whatever they show of it, for as long as they draw something new.
        for key in "123456789":
            console.keys(key)
            while console.feed(0.1) and len(console.seen) - console.mark < 65536 and select.select([console.fd], [], [], 0.2)[0]:
                pass
        found = raw(console.seen)
        room.finding(61, not found, f"the console wrote {found[:5]}")
    finally:
        console.close()


@attack(62)
def injection(room):
    before = set(room.engine.names())
    ws = room.path("ws-b")
    ids = ["a b", "a/b", "../a", "a\"b", "a'b", "a\\b", "a{b", "a}\",\"Privileged\":true,\"x\":\"", "a$(id)", "a;id", "a\nb", "a\tb", "a\x1b[31m", "-rf",
           "--", ".", "..", "a%2fb", "a?force=1", "a#b", "é", "\u202ea", "a" * 49, "", "null", "~", "*x", "&x", "!!python/object:x", "a: b", "[a]"]
    for agent in ids:
        done = room.berth("up", room.team("agents:\n  " + json.dumps(agent) + f": {{image: 'attack:1', workspace: {ws}}}\n", "inject.yaml"))
        if agent == "null":
            room.berth("down", room.path("inject.yaml"))
            continue
        room.finding(62, done.code == 2, f"the id {agent!r}: {done!r}")
    room.finding(62, set(room.engine.names()) <= before, f"made all the same: {set(room.engine.names()) - before}")

    fields = {"image": ["attack:1\",\"Privileged\":true,\"x\":\"", "attack:1/../../info", "../../containers/x", "attack:1?x=1", "-x", "", "a b"],
              "network": ["{internal: 'x\",\"Internal\":false,\"y\":\"'}", "{internal: ../x}", "{internal: 'a b'}", "'container:x'", "'host\",\"x'"]}
    for field, values in fields.items():
        for value in values:
            quoted = json.dumps(value) if field == "image" else value
            image = "" if field == "image" else "    image: attack:1\n"
            done = room.berth("up", room.team(f"agents:\n  {room.tag}inj:\n{image}    workspace: {ws}\n    {field}: {quoted}\n", "inject.yaml"))
            room.finding(62, done.code in (1, 2, 4), f"{field} {value!r}: {done!r}")
            room.finding(62, room.engine.inspect(f"berth-{room.tag}inj") is None, f"{field} {value!r}: nothing was made")
    networks = [n["Name"] for n in room.engine.ask("GET", "/networks")[1]]
    room.finding(62, not [n for n in networks if not re.fullmatch(r"[\w.-]+", n)], f"networks {networks}")

    # What may hold anything arrives as it is, and as nothing else.
    agent, values = room.tag + "env", {f"V{i}": v for i, v in enumerate([
        '"},"Privileged":true,{"', "a\nb", "$(id)", "\\", "\u00e9\u202e", "x" * 3000, "\x1b]0;PWN\x07", "a=b=c", "${HOME}"])}
    text = f"agents:\n  {agent}:\n    image: attack:1\n    workspace: {room.workspace('ws-env')}\n    memory: 64m\n    env: {json.dumps(values)}\n"
    done = room.up(text, "env.yaml")
    if done.code == 0:
        config = room.engine.inspect("berth-" + agent)
        env = dict(e.split("=", 1) for e in config["Config"]["Env"])
        room.finding(62, {k: env.get(k) for k in values} == values, f"the variables: {[(k, env.get(k), v) for k, v in values.items() if env.get(k) != v]}")
        room.finding(62, not config["HostConfig"]["Privileged"] and config["HostConfig"]["CapDrop"] == ["ALL"], "and nothing else came of them")
        labels = {k: v for k, v in config["Config"]["Labels"].items() if k.startswith("berth.")}
        room.finding(62, labels["berth.agent"] == agent and labels["berth.role"] == "agent", f"labels {labels}")
        inside = room.exec(agent, "sh", "-c", 'printf %s "$V0"')
        room.finding(62, inside.out.decode() == values["V0"], f"inside: {inside!r}")
    else:
        room.finding(62, done.code == 2, f"refused as a whole: {done!r}")
    room.berth("down", room.path("env.yaml"))

    for text in ("agents: &a {x: *a}\n", "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nagents: [*c,*c,*c,*c,*c,*c]\n",
                 "agents: {x: {workspace: a, workspace: b}}\n", "agents: " + "{a: " * 2000, "agents:\n  x: {workspase: y}\n", "\x00agents", "agents: !!binary x\n",
                 "%YAML 9.9\n---\nagents: 1\n", "agents: [" + "a," * 100000 + "]\n", "\xff\xfe", "---\nagents: {}\n---\nagents: {}\n"):
        done = room.berth("up", room.team(text, "inject.yaml"), timeout=120)
        room.finding(62, done.code == 2 and b"\x1b" not in done.err, f"{text[:40]!r}: {done!r}")
    for who in ("../x", "a/b", "x\ny", "--json", "-", "", "x" * 300, "%s%n", "berth-\"x"):
        done = room.berth("exec", "--", who, "true") if who.startswith("-") else room.berth("exec", who, "--", "true")
        room.finding(62, done.code in (2, 125), f"exec in {who[:20]!r}: {done!r}")
    room.finding(62, set(room.engine.names()) <= before, f"made all the same: {set(room.engine.names()) - before}")
