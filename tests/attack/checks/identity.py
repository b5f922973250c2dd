"""identity.py - checks 1 to 21: who one is inside and what of the kernel one can use; and the profile call by call."""
import json
import os
import re

from room import SRC, attack, processes


@attack(*range(1, 10))
def identity(room):
    room.try_inside(room.a, "identity", room.path("ws-a"), "/tmp", "/home/agent", "/dev/shm", "/run")
    # The same as the host sees it, of every process there, for inside /proc might lie.
    for pid in processes(room.id_of(room.a)):
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            status = f.read()
        caps = re.findall(r"Cap\w+:\t([0-9a-f]+)", status)
        room.finding(1, len(caps) == 5 and not any(int(c, 16) for c in caps), f"the host sees capabilities {caps}")
        room.finding(2, "NoNewPrivs:\t1" in status, "the host sees NoNewPrivs")
        room.finding(3, "Seccomp:\t2" in status, "the host sees Seccomp")
        ids = re.findall(r"(?:Uid|Gid):((?:\t\d+)+)", status)
        room.finding(4, len(ids) == 2 and not any(n == "0" for i in ids for n in i.split()), f"the host sees {ids}")
    device = room.path("ws-a/disk")
    room.finding(8, not os.path.lexists(device), "no node is left in the workspace")


@attack(*range(10, 22))
def kernel(room):
    other = room.engine.inspect("berth-" + room.b)["State"]["Pid"]
    room.try_inside(room.a, "kernel", other)


def expected(profile, name, value):
    """The profile's answer to a call with this first argument (ioctl, fcntl: second) and others of 0: ENOSYS for allowed."""
    for rule in profile["syscalls"]:
        if name not in rule["names"]:
            continue
        fits = True
        for a in rule.get("args", ()):
            given = value if a["index"] == (name in ("ioctl", "fcntl")) else 0
            if a["op"] == "SCMP_CMP_EQ":
                fits &= given == a["value"]
            elif a["op"] == "SCMP_CMP_MASKED_EQ":
                fits &= given & a["value"] == a.get("valueTwo", 0)
            else:
                raise AssertionError(a)
        if fits:
            return "ENOSYS" if rule["action"] == "SCMP_ACT_ALLOW" else {1: "EPERM", 38: "ENOSYS"}[rule["errnoRet"]]
    return "EPERM"


@attack("seccomp-call-by-call")
def call_by_call(room):
    """Every system call that has a name, and the numbers without one, against configs/seccomp.json."""
    name = "seccomp-call-by-call"
    with open(f"{SRC}/configs/seccomp.json", encoding="utf-8") as f:
        profile = json.load(f)
    allowed = {n for rule in profile["syscalls"] for n in rule["names"]}
    lines = [line.split() for line in room.inside(room.a, "syscalls").out.decode().splitlines()]
    answers = {line[0]: line[2] for line in lines if line[0] != "unnamed"}
    assert len(answers) > 400, answers
    for call, got in answers.items():
        base, _, value = call.partition(":")
        if base in ("i386", "x32"):
            room.finding(name, got == "refused", f"{call}: {got}")
            continue
        want = expected(profile, base, int(value or 0))
        room.finding(name, got == want, f"{call}: {got}, where the profile says {want} (ENOSYS is the probe's word for allowed)")
    # Numbers newer than our headers: whatever they will be, they are not allowed... unless the profile names them,
    # which the engine's library then did not know.
    for _, number, got in (line for line in lines if line[0] == "unnamed"):
        room.finding(name, got in ("EPERM", "ENOSYS") and (got == "EPERM" or int(number) > 334), f"call {number}: {got}")
    # Whose files are in a project keeps them there, whatever stands in the half that the kernel does not look at.
    for request in (0x401C5820, 0x40086602, 0x40046602, 0x1_401C5820, 0xFF00_0000_4008_6602):
        room.finding(name, answers[f"ioctl:{request}"] == "EPERM", f"ioctl {request:#x}: {answers[f'ioctl:{request}']}")
    # Nobody on the host waits for the holder of a lease.
    for command in (1024, 1040, 0x1_0000_0400, 0xFF00_0000_0000_0410):
        room.finding(name, answers[f"fcntl:{command}"] == "EPERM", f"fcntl {command:#x}: {answers[f'fcntl:{command}']}")
    never = {"ptrace", "bpf", "io_uring_setup", "keyctl", "mount", "unshare", "setns", "userfaultfd", "perf_event_open",
             "open_by_handle_at", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp",
             "migrate_pages", "move_pages", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_getfd", "init_module", "kexec_load", "reboot", "swapon", "syslog"}
    room.finding(name, not never & allowed, f"the profile allows {never & allowed}")
    room.finding(name, {"read", "execve", "openat", "clone", "exit_group"} <= allowed, "the profile lets programs run")
