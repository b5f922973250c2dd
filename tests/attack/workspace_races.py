#!/usr/bin/python3
"""workspace_races.py - an agent swaps, renames and replaces what is in its workspace while root works on it.

As the user of an agent, in the workspace: directories change places with links that lead out, what is above them is
renamed and moved, files become links, FIFOs and directories and come back.  Meanwhile every verb of `berth workspace` runs
as root, again and again.  Each may refuse, but it ends; nothing outside is read or changed, and nothing of it is in what
berth keeps.  BERTH_SOAK=1: two minutes.
"""
import contextlib
import ctypes
import json
import os
import shutil
import stat
import subprocess
import sys
import time

AGENT = 1000
SOAK = bool(os.environ.get("BERTH_SOAK"))
SECONDS = 120 if SOAK else 12
SECRET = b"HOST-SECRET-77ab\n"
EXCHANGE = 2
PATIENCE = 120  # for a verb: one that waits for a FIFO waits for ever; and until one is won that a busy machine loses

bad = 0


def report(name, good, what=""):
    global bad
    bad |= not good
    print(f"{'ok' if good else 'not ok'} {name}")
    if not good:
        print(f"# {what}"[:2000])


# ---- the agent


def agent(kind, outside):
    """In the workspace, until it is killed."""
    os.setgroups([])
    os.setgid(AGENT)
    os.setuid(AGENT)
    rename = ctypes.CDLL(None).renameat2
    with open("begun-" + kind, "w"):
        pass
    links = {b"files/link": outside + "/dir", b"files/d/link": "../../../../../../../outside", b"files/to-file": outside + "/secret"}

    def exchange(a, b):
        rename(-100, a, -100, b, EXCHANGE)

    def quietly(call, *args):
        with contextlib.suppress(OSError):
            call(*args)

    def put(path, text):
        with open(path, "w") as f:
            f.write(text)

    n = 0
    while True:
        n += 1
        for path, to in links.items():
            if n % 64 == 1:
                quietly(os.symlink, to, path)
        if kind == "swap":
            for a, b in ((b"files/d", b"files/link"), (b"files/d/in", b"files/d/link"), (b"files/f", b"files/to-file")):
                exchange(a, b)
                exchange(a, b)
        elif kind == "rename":
            for a, b in (("files/d/in", "files/away"), ("files/d", "files/e"), ("files", "was")):
                quietly(os.rename, a, b)
                quietly(os.rename, b, a)
        else:
            quietly(os.makedirs, "files/d/in")
            quietly(put, "files/new", "mine\n")
            quietly(os.rename, "files/new", "files/f")
            quietly(put, "files/d/in/f", "mine\n" * (n % 5000))
            quietly(os.unlink, "files/turn")
            quietly((lambda p: os.mkfifo(p), os.mkdir, lambda p: os.symlink(outside + "/secret", p), lambda p: put(p, "mine\n"))[n % 4], "files/turn")
            quietly(os.rmdir, "files/turn")


@contextlib.contextmanager
def agents(workspace, outside):
    kinds = ("swap", "rename", "replace")
    running = [subprocess.Popen([sys.executable, os.path.abspath(__file__), "agent", kind, outside], cwd=workspace) for kind in kinds]
    try:
        while not all(os.path.exists(f"{workspace}/begun-{kind}") for kind in kinds):
            assert all(process.poll() is None for process in running)
            time.sleep(0.01)
        yield running
    finally:
        for process in running:
            process.kill()
            process.wait()


# ---- the host


class Host:
    def __init__(self, top):
        self.top, self.data, self.outside = top, top + "/data", top + "/outside"
        self.tree = self.data + "/berth/workspaces"
        self.env = dict(os.environ, XDG_DATA_HOME=self.data, XDG_STATE_HOME=top + "/state", HOME=top)
        self.ends = {}
        self.faults = []

    def wins(self, verb):
        return self.ends.get(verb, []).count(0)

    def berth(self, *args):
        try:
            done = subprocess.run([os.environ["BERTH"], "workspace", *args], env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            self.faults.append(f"{args} does not end")
            return None
        self.ends.setdefault(args[0], []).append(done.returncode)
        if done.returncode not in (0, 1, 2, 4) or b"Sanitizer" in done.stderr:
            self.faults.append(f"{args}: exit {done.returncode}: {done.stderr!r}")
        if SECRET.strip() in done.stdout + done.stderr:
            self.faults.append(f"{args} told what lies outside")
        return done

    def need(self, *args):
        done = self.berth(*args)
        assert done and done.returncode == 0, done

    # What lies outside is looked at by name and never read before the end: reading would show in its times.
    def put_outside(self):
        self.places = [self.outside + name for name in ("", "/dir", "/dir/in", "/secret", "/dir/secret", "/dir/f", "/dir/in/f", "/dir/in/secret")]
        for path in self.places:
            if os.path.basename(path) in ("outside", "dir", "in"):
                os.mkdir(path, 0o700)
            else:
                with open(path, "wb") as f:
                    f.write(SECRET)
        for path in self.places:
            os.utime(path, ns=(10**9, time.time_ns()))
        self.was = self.see_outside()

    def see_outside(self):
        return [(path, s.st_mode, s.st_uid, s.st_gid, s.st_size, s.st_ino, s.st_nlink, s.st_mtime_ns, s.st_ctime_ns, s.st_atime_ns)
                for path, s in ((path, os.lstat(path)) for path in self.places)]

    def sees_reading(self):
        """Whether this file system notes that something was read."""
        probe = self.top + "/probe"
        with open(probe, "wb") as f:
            f.write(b"x")
        os.utime(probe, ns=(10**9, time.time_ns()))
        with open(probe, "rb") as f:
            f.read()
        return os.lstat(probe).st_atime_ns != 10**9

    def leaks(self):
        """Files of berth's with what lies outside in them; archives are compressed, and looked into apart."""
        found = []
        for at, _, files in os.walk(self.data):
            for name in files:
                path = os.path.join(at, name)
                if stat.S_ISREG(os.lstat(path).st_mode):
                    with open(path, "rb") as f:
                        text = f.read()
                    if name.endswith(".tar.zst"):
                        text = subprocess.run(["zstd", "-dqc"], input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
                    if SECRET.strip() in text:
                        found.append(path)
        return found

    def describe(self, workspace):
        return sorted((path, os.lstat(path).st_mtime_ns, os.lstat(path).st_mode, os.lstat(path).st_size)
                      for at, dirs, files in os.walk(f"{self.tree}/tasks/{workspace}") for path in (os.path.join(at, n) for n in dirs + files))

    def make_task(self, name):
        self.need("create", "task", name)
        files = f"{self.tree}/tasks/{name}/files"
        os.makedirs(files + "/d/in")
        for path in ("f", "d/f", "d/in/f", "d/in/g"):
            with open(f"{files}/{path}", "w") as f:
                f.write("mine\n")
        for at, dirs, names in os.walk(os.path.dirname(files)):
            for entry in dirs + names + ["."]:
                os.chown(os.path.join(at, entry), AGENT, AGENT, follow_symlinks=False)
        return os.path.dirname(files)

    def one_round(self, n):
        verbs = [("checkpoint", "t", f"c{n}"), ("diff", "t@start", "t"), ("diff", "t", "u", "--stat"), ("apply", "t", "files", "--into", "site", "--force"),
                 ("share", "--as", f"s{n}", "t", "files", "--into", "datasets"), ("hand-over", "t", "u", "files"), ("usage",), ("show", "t"),
                 ("restore", "t", "start"), ("verify", "t"), ("overlap", "t", "t-1"), ("drop", "t", f"c{n}")]
        forks = self.berth("fork", "--json", "t", "2")
        for verb in verbs:
            self.berth(*verb)
        if forks and forks.stdout:
            self.berth("clean", *(f["name"] for f in json.loads(forks.stdout)["forks"]))


def end_in_the_race(host):
    """What goes while its agent is still at work: removed, or archived, or refused."""
    for verb in ("clean", "archive"):
        name = f"going-{verb}"
        workspace = host.make_task(name)
        with agents(workspace, host.outside) as running:
            for _ in range(3):
                host.berth(verb, name)
            report(f"the agents were at work during {verb}", all(process.poll() is None for process in running))


def main():
    if os.geteuid() != 0:
        print("the host's side is root's")
        return 77
    top = os.path.join(os.environ["TMPDIR"], "races")
    os.mkdir(top, 0o711)
    host = Host(top)
    host.put_outside()
    host.need("create", "project", "site")
    host.make_task("u")
    workspace = host.make_task("t")
    host.need("checkpoint", "t", "start")
    untouched = host.describe("u")
    rounds = 0
    with agents(workspace, host.outside) as running:
        until = time.monotonic() + SECONDS
        while rounds < 2 or time.monotonic() < until:
            rounds += 1
            host.one_round(rounds)
        # Where a round takes that long, few may have been won.
        until, more = time.monotonic() + PATIENCE, 0
        while (host.wins("checkpoint") < 2 or not host.wins("diff")) and time.monotonic() < until:
            more += 1
            host.berth("checkpoint", "t", f"more{more}")
            host.berth("diff", "t@start", "t")
        report("the agents were at work all the time", all(process.poll() is None for process in running))
    end_in_the_race(host)
    now = host.see_outside()
    if host.sees_reading():
        report("nothing outside was read", [x[-1] for x in now] == [x[-1] for x in host.was], f"{host.was} {now}")
    else:
        print("skip nothing outside was read: this file system does not note it")
    report("nothing outside was changed", [x[:-1] for x in now] == [x[:-1] for x in host.was], f"{host.was} {now}")
    report("nothing was made or removed there", sorted(sum(([os.path.join(at, n) for n in d + f] for at, d, f in os.walk(host.outside)), [host.outside]))
           == sorted(host.places))
    report("nothing of it is in what berth keeps", not host.leaks(), host.leaks())
    report("another task is as it was", host.describe("u") == untouched, f"{untouched} {host.describe('u')}")
    report("every verb ended, and none broke", not host.faults, host.faults[:5])
    done = {verb: (len(codes), codes.count(0)) for verb, codes in host.ends.items()}
    print(f"# {rounds} rounds; of each verb so many runs, so many of them done: {done}")
    report("some went well in the race", host.wins("checkpoint") > 1 and host.wins("diff") > 0, done)
    # Without the agents all goes well again.
    shutil.rmtree(workspace + "/files", ignore_errors=True)
    for verb in (("checkpoint", "t", "after"), ("restore", "t", "start"), ("fork", "t", "1"), ("verify",), ("clean", "t")):
        done = host.berth(*verb)
        report(f"{verb[0]} afterwards", done and done.returncode == 0, done)
    hidden = [name for name in os.listdir(host.tree + "/tasks") if name.startswith(".")]
    report("nothing half done is left", not hidden, hidden)
    return bad


if __name__ == "__main__":
    if sys.argv[1:2] == ["agent"]:
        agent(*sys.argv[2:])
    sys.exit(main())
