#!/usr/bin/python3
"""sandbox.py - the attacks from inside a container, in gVisor: the programs of tests/attack/inside that know nothing of berth.

gVisor has walls of its own in place of berth's: where it answers another way than runc it must be one of DIFFERS, and for the
reason that stands there; what holds in runc and breaks here is a failure, and so is a difference that is none any more.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "checks"))
sys.dont_write_bytecode = True

from room import INSIDE, Room  # noqa: E402

# Number of the hardening table -> why gVisor is different there, and how each such finding begins; none reaches the host.
DIFFERS = {
    1: ("a user namespace of its own kernel gives it that kernel's capabilities, and status has no CapAmb",
        "/proc/self/status CapAmb", "/proc/1/status CapAmb", "capset of everything", "ambient CAP_CHOWN: EINVAL"),
    2: ("status does not say it; check 5 tries it", "/proc/self/status NoNewPrivs", "/proc/1/status NoNewPrivs"),
    3: ("the filter is around the sandbox, and calls inside are the sandbox's", "/proc/self/status Seccomp", "/proc/1/status Seccomp"),
    6: ("namespaces of its own kernel", "unshare ", "setns ", "clone with a new ", "clone3 with "),
    7: ("calls that it does not have", "fsopen: ENOSYS", "open_tree: ENOSYS", "move_mount: ENOSYS", "mount_setattr: ENOSYS"),
    8: ("devices that it does not have; fuse is its own", *(f"node {d}/{n}" for d in ("/tmp", "/dev/shm", "/run") for n in (
        "disk: ENXIO", "disk2: ENXIO", "mem: ENXIO", "kmsg: ENXIO", "tty0: ENXIO", "fuse: "))),
    9: ("chroot in a user namespace of its own kernel", "chroot: it worked (0)", "pivot_root: ENOENT"),
    11: ("no such device", "perf_event_open: ENODEV"),
    12: ("io_uring of its own kernel", "io_uring_setup", "io_uring_register: ENOSYS"),
    13: ("a call that it does not have", "userfaultfd: ENOSYS"),
    14: ("refused by another number", "keyctl: EACCES", "add_key: EACCES", "request_key: EACCES"),
    15: ("the log is its own kernel's", "syslog"),
    16: ("not supported by its file systems", "name_to_handle_at: EOPNOTSUPP", "open_by_handle_at: EOPNOTSUPP"),
    17: ("families and kinds that it does not have", "socket "),
    18: ("calls that it does not have", *(f"{c} of process 1: ENOSYS" for c in ("process_vm_readv", "process_vm_writev", "pidfd_getfd"))),
    21: ("nodes of its own kernel", "/dev/net", "/dev/fuse"),
    22: ("statvfs does not say so; every write is refused", "the root is mounted read-only"),
    25: ("O_TMPFILE is not supported", "O_TMPFILE: EOPNOTSUPP"),
    30: ("it knows no process that is not dumpable; berth puts no secret there", "/proc/1/environ", "/proc/1/maps", "/proc/1/fd/"),
    31: ("descriptors of process 1 are open to it likewise: they are /dev/null and its log", "/proc/1/fd/", "descriptor "),
}
WORKS = {1, 6, 8, 9, 12, 15, 30}  # where something is done that runc's host refuses, in the sandbox alone
GROUPS = [("identity",), ("kernel",), ("files",), ("read-only", 25), ("flood", 23), ("flood", 24), ("network",), ("resources",)]


def set_up(room):
    with open(INSIDE, "rb") as f:
        program = f.read()
    tools = {"attack": (0o755, None), "attack/inside": (0o755, program), "attack/suid": (0o4755, program),
             "attack/open": (0o1777, None), "attack/open/file": (0o666, b"of the image\n")}
    room.engine.load("attack:1", tools)
    for name, uid in (("ws-a", 1000), ("ws-b", 1001)):
        room.workspace(name, uid)
    room.workspace("docs")
    os.chown(room.write("docs/mine", "mine\n", 0o666), 1000, 1000)
    done = room.up(f"""
agents:
  {room.a}:
    image: attack:1
    workspace: ./ws-a
    memory: 256m
    cpus: 1
    pids: 256
    tmp: 8m
    runtime: runsc
    context_paths: [{{path: ./docs}}]
""")
    assert done.code == 0, done


def words_of(room, group):
    name = group[0]
    if name == "identity":
        return (name, room.path("ws-a"), "/tmp", "/home/agent", "/dev/shm", "/run")
    if name == "kernel":
        return (name, os.getpid())
    if name == "files":
        return (name, room.secret, room.path("ws-a"), room.path("ws-b"))
    if name == "read-only":
        return (name, 25, room.path("docs"))
    if name == "flood":
        return (name, group[1], "bytes", *(("/tmp", 8 << 20) if group[1] == 23 else ("/dev/shm", 64 << 20)))
    if name == "network":
        return (name, "none", f"berth-{room.a}", 9)
    return (name, "spin", 2)


def main():
    if "BERTH_TEST_ENGINE" not in os.environ:
        print("BERTH_TEST_ENGINE is not set: start an engine with tests/run")
        return 1
    room, wrong = Room(), 0
    try:
        set_up(room)
        for group in GROUPS:
            room.try_inside(room.a, *words_of(room, group), timeout=120)
    finally:
        room.close()
    numbers = sorted({f[0] for f in room.findings})
    broke = {n: [f[2] for f in room.findings if f[0] == n and f[1] == "BROKE"] for n in numbers}
    for n in numbers:
        reason, *known = DIFFERS.get(n, ("",))
        new = [what for what in broke[n] if not what.startswith(tuple(known)) or ("it worked" in what and n not in WORKS)]
        if new or (known and not broke[n]):
            wrong = 1
            print(f"not ok {n:02}: {'; '.join(new) or 'it is as in runc now'}")
        elif known:
            print(f"ok {n:02}-differs: {reason}")
        else:
            print(f"ok {n:02}")
    print(f"# {len(numbers)} of 64 tried in gVisor, {sum(1 for n in numbers if broke[n])} differ from runc")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
