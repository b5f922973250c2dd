"""resources.py - checks 45 to 50: forks, memory, CPU, output, and many commands."""
import os
import re
import subprocess
import threading
import time

from room import BUILD, SLOWER, SOAK, attack, cgroup_dir, processes, wait_for


# A sanitizer keeps what was freed for a while, which is no growth of ours.
SMALL = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"}


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read()


@attack(45)
def fork_bomb(room):
    container = room.id_of(room.a)
    begun = time.monotonic()
    bomb = room.popen("exec", "--timeout", "600", room.a, "--", "/attack/inside", "resources", "fork-bomb")
    full = wait_for(lambda: len(processes(container)) >= 40)
    room.finding(45, bool(full), f"the bomb went off: {len(processes(container))} processes")
    most = 0
    for _ in range(20):
        most = max(most, len(processes(container)))
        time.sleep(0.01)
    room.finding(45, most <= 48, f"at most {most} processes at once, of 48 allowed")
    other = room.exec(room.b, "echo", "here", timeout=120)
    room.finding(45, other.out == b"here\n", f"another container answers meanwhile: {other!r}")
    listed = room.berth("ps", timeout=120)
    room.finding(45, listed.code == 0 and room.a.encode() in listed.out, "berth ps answers meanwhile")
    mine = room.exec(room.a, "true", timeout=120)
    room.finding(45, mine.code in (0, 125), f"the same container: runs it, or says clearly why not: {mine!r}")
    room.finding(45, mine.code == 0 or b"Resource temporarily unavailable" in mine.err, f"its sentence: {mine.err!r}")
    bomb.terminate()
    bomb.communicate(timeout=120)
    room.finding(45, bool(room.settled(container)), f"cancelled, all of it is gone: {processes(container)} after {time.monotonic() - begun:.0f} s")
    again = room.exec(room.a, "echo", "again")
    room.finding(45, again.out == b"again\n", f"and the container works: {again!r}")


@attack(46)
def allocation_bomb(room):
    for what in (("/attack/inside", "resources", "eat"), ("sh", "-c", "/attack/inside resources eat")):
        done = room.exec(room.a, *what, options=("--json",))
        room.finding(46, done.json["ended"] == "oom" and done.code == 137, f"{what}: {done.json['ended']}, exit {done.code}")
    done = room.exec(room.a, "sh", "-c", "kill -9 $$", options=("--json",))
    room.finding(46, done.json["ended"] == "signal" and done.json["signal"] == 9, f"a plain SIGKILL is told apart: {done.json['ended']}")
    done = room.exec(room.a, "/attack/inside", "resources", "eat")
    room.finding(46, b"out of memory" in done.err, f"its sentence: {done.err!r}")
    state = room.engine.inspect("berth-" + room.a)["State"]
    room.finding(46, state["Running"], "the container lives on")


@attack(47)
def swap(room):
    container = room.id_of(room.a)
    where = cgroup_dir(container, "memory")
    v1 = os.path.join(where, "memory.memsw.limit_in_bytes")
    v2 = os.path.join(where, "memory.swap.max")
    limits = room.engine.inspect("berth-" + room.a)["HostConfig"]
    room.finding(47, limits["MemorySwap"] == limits["Memory"] == 96 << 20, f"asked: {limits['Memory']} and {limits['MemorySwap']}")
    if os.path.exists(v1):
        room.finding(47, int(read(v1)) == 96 << 20, f"memory and swap together: {read(v1).strip()}")
        used = int(read(v1.replace("limit", "max_usage"))) - 0
        room.finding(47, used <= 96 << 20, f"at most {used} bytes of both were ever used")
    elif os.path.exists(v2):
        room.finding(47, read(v2).strip() == "0", f"memory.swap.max is {read(v2).strip()}")
    else:
        assert len(read("/proc/swaps").splitlines()) == 1, "this machine swaps and its kernel does not limit it"


@attack(48)
def cpu(room):
    container = room.id_of(room.a)
    where = cgroup_dir(container, "cpu")
    acct = cgroup_dir(container, "cpuacct")

    def used():
        if os.path.exists(os.path.join(acct, "cpuacct.usage")):
            return int(read(os.path.join(acct, "cpuacct.usage"))) / 1e9
        return int(re.search(r"usage_usec (\d+)", read(os.path.join(where, "cpu.stat")))[1]) / 1e6

    def throttled():
        return int(re.search(r"nr_throttled (\d+)", read(os.path.join(where, "cpu.stat")))[1])

    before, stopped, begun = used(), throttled(), time.monotonic()
    room.try_inside(room.a, "resources", "spin", 2)
    wall, spent = time.monotonic() - begun, used() - before
    if os.path.exists(os.path.join(where, "cpu.max")):
        quota, period = read(os.path.join(where, "cpu.max")).split()
    else:
        quota, period = (read(os.path.join(where, f"cpu.cfs_{name}_us")) for name in ("quota", "period"))
    room.finding(48, int(quota) * 2 == int(period), f"half a core: {quota.strip()} of {period.strip()} us")
    # On a machine so busy that it never got half a core there was nothing to hold back.
    room.finding(48, throttled() > stopped or spent < wall * 0.5, f"the kernel held it back {throttled() - stopped} times")
    # Of at least one core; when the kernel gives and takes depends on the machine's load.
    room.finding(48, spent <= wall * 0.7 + 0.5, f"{spent:.2f} s of CPU in {wall:.2f} s, with half a core")


@attack(49)
def endless_output(room):
    for what in ("cat /dev/urandom", "yes >&2"):
        # A busy machine needs longer for as much.
        for seconds in (1, 4, 16, 64):
            done = room.exec(room.a, "sh", "-c", what, options=("--json", "--timeout", str(seconds)), timeout=180)
            d = done.json
            if d["ended"] != "timeout" or d["dropped_bytes"] > 0:
                break
        room.finding(49, d["ended"] == "timeout" and done.code == 124, f"{what}: {d['ended']}")
        room.finding(49, len(d["stdout"]) <= 4 << 20 and len(d["stderr"]) <= 4 << 20 and d["dropped_bytes"] > 0,
                     f"{what}: {d['stdout_bytes'] + d['stderr_bytes']} bytes, {d['dropped_bytes']} dropped and counted")
    # Memory does not grow with the output: a reader that takes nothing, and one that takes all.
    process = room.popen("exec", room.a, "--", "yes", env=SMALL)
    time.sleep(0.2)
    sizes = []
    late = threading.Timer(180 * SLOWER, process.kill)
    late.start()
    for _ in range(20):
        got = len(process.stdout.read(4 << 20))
        assert got == 4 << 20, f"only {got} bytes more of endless output, after {len(sizes) * 4} MiB"
        sizes.append(int(re.search(r"VmRSS:\s+(\d+)", read(f"/proc/{process.pid}/status"))[1]))
    late.cancel()
    process.kill()
    process.communicate()
    room.finding(49, max(sizes) <= sizes[0] + 4096, f"berth's memory over 80 MiB of output: {sizes[0]} to {max(sizes)} KiB")
    room.finding(49, bool(room.settled(room.id_of(room.a))), "a client that was killed leaves nothing running")


@attack(50)
def many_execs(room):
    """In one process, as the console and the agents' server do it."""
    count = "10000" if SOAK else "1000"
    done = subprocess.run([os.path.join(BUILD, "attack-execs"), room.a, count], env=dict(room.env, **SMALL), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, timeout=600)
    room.finding(50, done.returncode == 0, f"{count} commands: {done.stdout[-500:]!r}")
    ids = room.engine.inspect("berth-" + room.a)["ExecIDs"]
    room.finding(50, not ids, f"the engine knows of {ids}")
    room.finding(50, bool(room.settled(room.id_of(room.a))), "only the init is left")
    pid = room.engine.inspect("berth-" + room.a)["State"]["Pid"]
    open_files = os.listdir(f"/proc/{pid}/fd")
    room.finding(50, len(open_files) <= 8, f"the guest has {len(open_files)} descriptors open")
    room.finding(50, "Threads:\t1" in read(f"/proc/{pid}/status"), "and one thread")
