"""files.py - checks 22 to 33: what a tool can write, fill and reach through the file system."""
import os
import subprocess

from room import attack, processes


def mount_below(room):
    """A file system of its own below a directory that is going to be granted read-only."""
    sub = room.path("docs/sub")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,uid=1000,gid=1000", "attack", sub], check=False).returncode:
        room.absent(26, "mount(8) cannot mount a tmpfs here")
        return
    room.cleanups.append(lambda: subprocess.run(["umount", "-l", sub], check=False))
    room.write("docs/sub/mine", "below\n", 0o666)
    os.chown(room.path("docs/sub/mine"), 1000, 1000)


@attack(22, 28, 29, 30, 31, 32, 33)
def reach(room):
    room.try_inside(room.a, "files", room.secret, room.path("ws-a"), room.path("ws-b"))
    left = [n for n in os.listdir(room.path("ws-a")) if n.startswith(("core", "attack-"))]
    room.finding(32, not left, f"files left in the workspace: {left}")
    # The image's own files, from the host: unchanged in the layer.
    state = room.engine.inspect("berth-" + room.a)
    upper = state["GraphDriver"]["Data"].get("UpperDir")
    written = [os.path.join(d, f) for d, _, fs in os.walk(upper) for f in fs] if upper else []
    # The engine itself makes mount points: empty files.
    room.finding(22, not any(os.path.getsize(f) for f in written if not os.path.islink(f)), f"the container's layer holds {written}")
    mounts = {m["Destination"]: m for m in state["Mounts"]}
    room.finding(33, room.path("ws-b") not in mounts and not mounts[room.path("docs")]["RW"], f"mounts {list(mounts)}")


@attack(31)
def workdir(room):
    """CVE-2024-21626 and its kin: an image whose working directory is a descriptor of the runtime."""
    for fd in (7, 8):
        tag = f"attack-workdir:{fd}"
        room.engine.load(tag, room.tools, [f"WORKDIR /proc/self/fd/{fd}"])
        agent = f"{room.tag}w{fd}"
        done = room.up(f"agents:\n  {agent}:\n    image: {tag}\n    workspace: {room.workspace('ws-w')}\n    memory: 64m\n", f"w{fd}.yaml")
        if done.code:
            room.finding(31, True, f"an image with WORKDIR /proc/self/fd/{fd} is refused")
            continue
        pid = room.engine.inspect("berth-" + agent)["State"]["Pid"]
        cwd = os.readlink(f"/proc/{pid}/cwd")
        room.finding(31, cwd in ("/", room.path("ws-w")), f"process 1 works in {cwd}")
        for deep in ("..", "../..", "../../..", "../../../../.."):
            seen = room.exec(agent, "cat", f"{deep}{room.secret}")
            room.finding(31, seen.code != 0 and b"HOST-SECRET" not in seen.out, f"cat {deep}{room.secret}")
        # What we do ourselves must not fall for it either: the directory of a command is named by who asks.
        room.berth("down", room.path(f"w{fd}.yaml"))


@attack(25, 26)
def read_only(room):
    room.try_inside(room.a, "read-only", 25, room.path("docs"))
    if not any(f[0] == 26 for f in room.findings):
        room.try_inside(room.a, "read-only", 26, room.path("docs/sub"))
    for name, text in (("docs/mine", b"mine\n"), ("docs/sub/mine", b"below\n"), ("shared/mine", b"mine\n")):
        with open(room.path(name), "rb") as f:
            room.finding(25, f.read() == text, f"{name} is as it was")
    done = room.exec(room.a, "sh", "-c", f"echo x > {room.path('shared/mine')}")
    room.finding(25, done.code != 0, "a protected path of a writable grant")
    done = room.exec(room.a, "sh", "-c", f"echo x > {room.path('shared/new')}")
    room.finding(25, done.code == 0, "the writable grant itself is writable")


@attack(23, 24, 27)
def floods(room):
    room.try_inside(room.c, "flood", 23, "bytes", "/tmp", 8 << 20)
    room.try_inside(room.c, "flood", 24, "bytes", "/dev/shm", 64 << 20)
    # Full to the brim at once, the container still works.
    done = room.exec(room.c, "sh", "-c", "for f in /tmp /dev/shm /run; do dd if=/dev/zero of=$f/x bs=64k 2>&1; done | tail -n 1; df -k /tmp /dev/shm")
    room.finding(24, done.code == 0 and room.exec(room.c, "sh", "-c", "rm /tmp/x /dev/shm/x /run/x").code == 0, f"all of them full: {done!r}")
    for place in ("/tmp", "/dev/shm", "/run"):
        room.try_inside(room.c, "flood", 27, "files", place, 400000, timeout=300)
    # What the last command was run by may still be on its way out.
    room.finding(27, bool(room.settled(room.id_of(room.c))) and len(processes(room.id_of(room.c))) == 1, "the container is still there")
