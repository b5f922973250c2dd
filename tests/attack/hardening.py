#!/usr/bin/python3
"""hardening.py - the 64 attacks of a malicious tool, from inside containers that berth made.

  tests/attack/hardening.py [NUMBER|NAME ...]

The inside half is attack-inside (tests/attack/inside), the outside half checks/*.py: both must agree.  Prints one
"ok NN-name", "not ok NN-name" or "skip NN-name: PROBE" line for each number, and counts at the end that all 64 were
reported and that at most eight do not apply here.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "checks"))
sys.dont_write_bytecode = True

from room import INSIDE, Room  # noqa: E402
import console  # noqa: E402, F401  (each registers its checks)
import files  # noqa: E402, F401
import guest  # noqa: E402, F401
import identity  # noqa: E402, F401
import lane  # noqa: E402, F401
import lifecycle  # noqa: E402, F401
import network  # noqa: E402, F401
import processes  # noqa: E402, F401
import profile_bench  # noqa: E402, F401
import resources  # noqa: E402, F401
import workspace  # noqa: E402, F401

NAMES = dict(enumerate("""capabilities no-new-privileges seccomp-filter not-root setuid-binary no-namespaces no-mounts no-devices
no-chroot bpf perf-events io-uring userfaultfd keyrings kernel-modules file-handles socket-families other-processes
masked-files kernel-knobs dev-nodes read-only-root tmp-size shm-size read-only-mount sub-mounts inode-flood sparse-file
engine-sockets host-files ways-out core-dumps other-workspaces absolute-symlink nested-symlink swap-race hard-link
special-files odd-names huge-trees closed-directories replaced-workspace git-hooks hostile-archive fork-bomb
allocation-bomb no-swap cpu-quota endless-output many-execs timeout-kills exit-codes no-zombies distinct-errors
no-network allow-list killed-berth failed-start pool-reuse secrets raw-escapes injection audit-entries two-berths""".split(), 1))
MAY_NOT_APPLY = 8


def set_up(room):
    with open(INSIDE, "rb") as f:
        program = f.read()
    tools = {"attack": (0o755, None), "attack/inside": (0o755, program), "attack/suid": (0o4755, program),
             "attack/open": (0o1777, None), "attack/open/file": (0o666, b"of the image\n")}
    room.engine.load("attack:1", tools)
    room.tools = tools
    for name, uid in (("ws-a", 1000), ("ws-b", 1001), ("ws-c", 1000)):
        room.workspace(name, uid)
    for name in ("docs", "docs/sub", "shared"):
        room.workspace(name)
        os.chown(room.write(name + "/mine", "mine\n", 0o666), 1000, 1000)
    files.mount_below(room)
    done = room.up(f"""
agents:
  {room.a}:
    image: attack:1
    workspace: ./ws-a
    memory: 96m
    cpus: 0.5
    pids: 48
    tmp: 8m
    context_paths: [{{path: ./docs}}, {{path: ./shared, permission: write, protected_paths: [mine]}}]
    secrets: [key]
  {room.b}:
    image: attack:1
    workspace: ./ws-b
    memory: 64m
    cpus: 1
    pids: 64
  {room.c}:
    image: attack:1
    workspace: ./ws-c
    memory: 64m
    tmp: 8m
secrets: {{key: {{env: ATTACK_KEY}}}}
""", env={"ATTACK_KEY": room.key})
    assert done.code == 0, done
    room.up_report = done.json


def main():
    if "BERTH_TEST_ENGINE" not in os.environ:
        print("BERTH_TEST_ENGINE is not set: start an engine with tests/run")
        return 1
    room = Room(sys.argv[1:])
    room.key = "s3cr3t-value-71c9"
    try:
        set_up(room)
        verdicts = room.run(NAMES)
    finally:
        room.close()
    for n, (verdict, reason) in verdicts.items():
        name = f"{n:02}-{NAMES[n]}" if isinstance(n, int) else n
        if room.only and not any(f[0] == n for f in room.findings):
            continue
        print(f"{verdict} {name}" + (f": {reason}" if reason else ""))
    if room.only:
        return any(v[0] == "not ok" for n, v in verdicts.items() if any(f[0] == n for f in room.findings))
    numbered = [v[0] for n, v in verdicts.items() if isinstance(n, int)]
    absent = numbered.count("skip")
    complete = sorted(n for n in verdicts if isinstance(n, int)) == list(range(1, 65)) and absent <= MAY_NOT_APPLY
    print(f"# {numbered.count('ok')} of {len(numbered)} hold, {absent} do not apply here (at most {MAY_NOT_APPLY} may)")
    print(("ok" if complete else "not ok") + " all-64-reported")
    return not complete or any(v[0] == "not ok" for v in verdicts.values())


if __name__ == "__main__":
    sys.exit(main())
