"""workspace.py - checks 34 to 44: what an agent leaves in its workspace, met by berth on the host's side."""
import io
import json
import os
import shutil
import stat
import subprocess
import tarfile
import tempfile
import time

from room import BERTH, SLOWER, SOAK, attack, wait_for

ENTRIES = 100000 if SOAK else 20000


def secret_in(room, done):
    return b"HOST-SECRET" in done.out or b"HOST-SECRET" in done.err


def untouched(room, number):
    with open(room.secret, "rb") as f:
        room.finding(number, f.read() == b"HOST-SECRET-5f1d\n", "the host's file is as it was")
    room.finding(number, os.listdir(room.path("host")) == ["secret"], "the host's directory is as it was")


def leaked(root):
    """Files below root that hold the host's secret: copies that followed a link."""
    out = subprocess.run(["grep", "-rIl", "--no-messages", "--devices=skip", "HOST-SECRET-5f1d", root], stdout=subprocess.PIPE, check=False)
    return out.stdout.decode("utf-8", "replace").split()


@attack(34, 35, 37, 38, 39, 40, 41, 43)
def litter(room):
    marker = room.path("ran-on-the-host")
    room.try_inside(room.a, "litter", room.secret, room.path("docs/mine"), marker, ENTRIES)
    ws = room.path("ws-a")
    hostile = {"PATH": os.environ["PATH"]}

    # A .berth of the agent's, where earlier versions prepared their changes: not used, and in nobody's way.
    done = room.berth("files", "write", "--root", ws, "new", stdin=b"x\n")
    room.finding(43, done.code == 0 and not os.listdir(ws + "/.berth"), f"a planted .berth: {done!r}")
    os.rmdir(ws + "/.berth")
    os.unlink(ws + "/new")

    for path in ("absolute", "absolute-dir/secret", "nest/inner/link", "nest/inner/dir/secret", "nest/inner/up/../host/secret"):
        done = room.berth("files", "read", "--root", ws, path)
        room.finding(34, done.code != 0 and not secret_in(room, done), f"reading {path}")
        done = room.berth("files", "write", "--root", ws, path, stdin=b"OVERWRITTEN\n")
        room.finding(34, not secret_in(room, done), f"writing {path}")
    untouched(room, 34)

    # Whole trees: links are copied as links, never followed; nothing of the host lands in the copy.
    done = room.berth("files", "copy", "--root", ws, "nest", "copied")
    room.finding(35, not leaked(ws + "/copied"), f"the copy holds the host's {leaked(ws + '/copied')}")
    room.finding(35, not os.path.lexists(ws + "/copied") or os.path.islink(ws + "/copied/inner/link"), "a link is copied as a link")
    done = room.berth("files", "search", "--root", ws, "--all", "--files", "HOST-SECRET", "nest")
    room.finding(35, not done.out.strip(), f"search does not follow: {done.out[:100]!r}")
    done = room.berth("files", "delete", "--recursive", "--root", ws, "copied")
    room.finding(35, done.code == 0 and not os.path.lexists(ws + "/copied"), f"deleting the copy: {done!r}")
    untouched(room, 35)

    room.finding(37, not os.path.lexists(ws + "/hard"), "no hard link was made")
    room.finding(37, os.stat(room.path("docs/mine")).st_nlink == 1, "the read-only file has one name")

    # FIFO and socket: everything comes back (room.berth fails what hangs).
    for args in (("read", "special/fifo"), ("read", "special/socket"), ("scan", "--totals", "special"),
                 ("search", "needle", "special"), ("copy", "special", "special-copy"),
                 ("transform", "needle", "pin", "special")):
        done = room.berth("files", args[0], "--root", ws, *args[1:], timeout=120, env=hostile)
        room.finding(38, args[0] != "read" or done.code in (1, 4), f"files {args}: exit {done.code}")
    room.berth("files", "delete", "--recursive", "--root", ws, "special-copy")

    # Odd names: as they are for programs, harmless for terminals.
    done = room.berth("files", "scan", "--root", ws, "--json", "names")
    lines = done.out.splitlines()
    entries = [json.loads(line) for line in lines]
    room.finding(39, done.code == 0 and len(entries) >= 24, f"{len(entries)} odd names listed")
    room.finding(39, not any(c in done.out for c in (b"\x1b", b"\x07", b"\x9b31m")), "the list is free of control bytes")
    for path in ("../ws-b", "../ws-a-evil/x", "names/../../host/secret", "/etc/passwd", ws + "-evil/x", "x" * 5000, "names/" + "y" * 256):
        os.makedirs(ws + "-evil", exist_ok=True)
        done = room.berth("files", "read", "--root", ws, path)
        room.finding(39, done.code in (1, 2, 4) and not secret_in(room, done), f"reading {path[:60]}: exit {done.code}")
        done = room.berth("files", "write", "--root", ws, path, stdin=b"x")
        room.finding(39, done.code in (1, 2, 4), f"writing {path[:60]}: exit {done.code}")
    room.finding(39, not os.listdir(ws + "-evil"), "the neighbour whose name begins alike is empty")

    done = room.berth("files", "scan", "--root", ws, "--totals", "--json", timeout=120)
    summary = [json.loads(line) for line in done.out.splitlines()][-1]
    room.finding(40, done.code in (0, 1) and ENTRIES < json.loads(json.dumps(summary)).get("summary", {}).get("files", ENTRIES + 1), f"a scan of all of it: {str(summary)[:200]}")
    for path in ("loop-a", "self/self/self/loop-b"):
        done = room.berth("files", "read", "--root", ws, path)
        room.finding(40, done.code in (1, 4), f"reading {path}: exit {done.code}")

    # Nothing of the workspace is taken for berth's own or runs on the host.
    for args in (("ps",), ("config", "check", ws + "/berth.yaml"), ("doctor",), ("up", room.path("team.yaml"))):
        room.berth(*args, cwd=ws)
    room.berth("files", "search", "--root", ".", "x", ".", cwd=ws)
    room.finding(43, not os.path.lexists(marker), "nothing ran on the host")
    done = room.berth("up", "berth.yaml", cwd=ws)
    room.finding(43, done.code == 2, f"a team file from inside a workspace: {done!r}")
    room.finding(43, not os.path.lexists(marker), "its command did not run")
    done = room.berth("up", room.team(f"agents:\n  {room.tag}self:\n    image: attack:1\n    workspace: .\n", "self.yaml"))
    room.finding(43, done.code == 2 and b"holds this file" in done.err, f"a workspace around its team file: {done!r}")

    # At last all of it goes, by the one who owns it.
    for path in ("wide", "deep", "closed", "special", "names", "nest"):
        done = room.berth("files", "delete", "--recursive", "--root", ws, path, timeout=120)
        number = {"closed": 41, "wide": 40, "deep": 40}.get(path, 39)
        room.finding(number, done.code == 0 and not os.path.lexists(f"{ws}/{path}"), f"deleting {path}: {done!r}")
    untouched(room, 41)


@attack(41)
def closed_for_its_owner(room):
    """The same without being root: an owner opens what he closed."""
    if os.getuid():
        return
    # Not below the room: what leads there may be open to root alone.
    base = tempfile.mkdtemp(prefix="b", dir="/tmp")
    os.chmod(base, 0o711)
    try:
        delete_as_owner(room, base)
    finally:
        remove_soon(base)


def remove_soon(base):
    """What syncs the log after its command has ended may still write there."""
    for _ in range(100):
        shutil.rmtree(base, True)
        if not os.path.lexists(base):
            return
        time.sleep(0.02)
    shutil.rmtree(base)


def delete_as_owner(room, base):
    ws, state, copy = (os.path.join(base, name) for name in ("ws", "state", "program"))
    for path in (ws, state, copy):
        os.mkdir(path, 0o700)
        os.chown(path, 1000, 1000)
    for name in ("berth", "berth-core", "berth-files"):
        shutil.copy(os.path.join(os.path.dirname(BERTH), name), copy)
    subprocess.run(["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", "sh", "-c",
                    "mkdir -p closed/in && : > closed/in/file && chmod 0 closed/in closed"], cwd=ws, check=True)
    done = room.berth("--reuid", "1000", "--regid", "1000", "--clear-groups", os.path.join(copy, "berth"), "files", "delete", "--recursive", "--root", ws,
                      "closed", program="setpriv", env={"XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": state, "HOME": state})
    room.finding(41, done.code == 0 and not os.path.lexists(ws + "/closed"), f"its owner deletes it: {done!r}")


@attack(36)
def swap_race(room):
    ws, seconds = room.path("ws-a"), 60 if SOAK else 3
    def put(name, text):
        room.write("ws-a/" + name, text)
        os.chown(room.path("ws-a", name), 1000, 1000)
    os.makedirs(ws + "/tree", exist_ok=True)
    os.chown(ws + "/tree", 1000, 1000)
    put("file", "harmless\n")
    put("tree/secret", "harmless\n")
    # It goes on until the last operation is over, however long these take here.
    swapper = room.popen("exec", room.a, "--", "/attack/inside", "swapper", room.secret, str(seconds + 180 * SLOWER))
    wait_for(lambda: os.path.lexists(ws + "/link-tree") or swapper.poll() is not None)
    tried, won, until = 0, 0, time.monotonic() + seconds
    while swapper.poll() is None and (not won or time.monotonic() < until):
        for args, stdin in ((("read", "file", "tree/secret"), b""), (("copy", "tree", f"tree-{tried}"), b""),
                            (("search", "HOST-SECRET", "."), b""), (("write", "tree/secret"), b"harmless\n"),
                            (("scan", "--totals", "."), b""), (("transform", "harmless", "harmless", "tree"), b""),
                            (("delete", "--recursive", f"tree-{tried - 5}"), b"")):
            done = room.berth("files", args[0], "--root", ws, *args[1:], stdin=stdin)
            room.finding(36, not secret_in(room, done), f"files {args}: {done!r}")
            won += done.code == 0
            tried += 1
    raced = swapper.poll() is None
    put("enough", "")
    out, err = swapper.communicate()
    os.unlink(ws + "/enough")
    for line in out.decode().splitlines():
        number, verdict, what = line.split(" ", 2)
        room.findings.append((int(number), verdict, what))
    room.finding(36, raced and won > 0, f"{tried} operations in the race, {won} of them done; the swapper: exit {swapper.returncode}, {err[-300:]!r}")
    with open(room.secret, "rb") as f:
        room.finding(36, f.read() == b"HOST-SECRET-5f1d\n", "the host's file was not written")
    room.finding(36, os.listdir(room.path("host")) == ["secret"], "nor was anything made or removed beside it")
    for link in ("link-file", "link-tree", "file", "tree"):
        path = os.path.join(ws, link)
        if os.path.islink(path):
            os.unlink(path)
    room.finding(36, not leaked(ws), f"copies in the workspace: {leaked(ws)}")


@attack(42)
def replaced_workspace(room):
    """Between two runs the workspace becomes a link: to the system, or to where the host keeps things."""
    ws = room.workspace("ws-swap")
    agent = room.tag + "swap"
    text = f"agents:\n  {agent}:\n    image: attack:1\n    workspace: {ws}\n    memory: 64m\n"
    assert room.up(text, "swap.yaml").code == 0
    room.berth("down", room.path("swap.yaml"))
    for target in ("/etc", room.path("host"), "/proc/1/root", "/", room.path("nowhere")):
        shutil.rmtree(ws, True) if not os.path.islink(ws) else os.unlink(ws)
        os.symlink(target, ws)
        done = room.berth("up", room.path("swap.yaml"))
        room.finding(42, done.code in (1, 2, 4), f"a workspace that became a link to {target}: {done!r}")
        room.finding(42, room.engine.inspect("berth-" + agent) is None, "no container is left of it")
    os.unlink(ws)
    # A link further up is the same.
    os.makedirs(room.path("real/ws"))
    os.chown(room.path("real/ws"), 1000, 1000)
    os.symlink(room.path("real"), room.path("way"))
    done = room.up(text.replace(ws, room.path("way/ws")), "way.yaml")
    room.finding(42, done.code in (1, 2, 4), f"a link above the workspace: {done!r}")
    # While berth brings it up, over and over: what is mounted is what was checked, or nothing is.
    os.makedirs(ws)
    os.chown(ws, 1000, 1000)
    evil = ws + "-evil"
    os.symlink(room.path("host"), evil)
    swap = subprocess.Popen(["python3", "-c", SWAP, ws, evil])
    until, ups, refusals = time.monotonic() + (30 if SOAK else 3), 0, 0
    while time.monotonic() < until:
        done = room.berth("up", room.path("swap.yaml"))
        refusals += done.code != 0
        if done.code == 0:
            ups += 1
            seen = room.exec(agent, "sh", "-c", "cat secret 2>&1; ls -a")
            room.finding(42, not secret_in(room, seen), f"a container over the host's directory: {seen!r}")
        room.berth("down", room.path("swap.yaml"))
    swap.kill()
    swap.wait()
    room.finding(42, ups + refusals > 0, f"{ups} ups, {refusals} refusals in the race")
    room.finding(42, os.listdir(room.path("host")) == ["secret"], "the host's directory is as it was")


SWAP = """
import ctypes, sys
libc = ctypes.CDLL(None)
a, b = (s.encode() for s in sys.argv[1:])
while True:
    libc.renameat2(-100, a, -100, b, 2)
"""


def tar_of(*entries):
    """A tar compressed with zstd: (name, type, text or where the link leads) each."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, kind, content in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = kind, 0o4777
            if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                entry.linkname = content
            if kind in (tarfile.CHRTYPE, tarfile.BLKTYPE):
                entry.devmajor, entry.devminor = 1, 3
            entry.size = len(content) if kind == tarfile.REGTYPE else 0
            tar.addfile(entry, io.BytesIO(content) if kind == tarfile.REGTYPE else None)
    return packed(plain.getvalue())


def packed(plain):
    return subprocess.run(["zstd", "-qc"], input=plain, stdout=subprocess.PIPE, check=True).stdout


def with_manifest_of(archive, tar):
    """What berth knows of a good archive, behind another tar: names, sizes and hashes are all there."""
    at = int.from_bytes(archive[-16:-8], "little")
    return tar + archive[at:-16] + len(tar).to_bytes(8, "little") + archive[-8:]


@attack(44)
def hostile_archives(room):
    """Tars that climb out, where berth reads archives: those of workspaces.  (Images are unpacked by the engine.)"""
    data = room.path("data")
    os.makedirs(data, 0o700)
    env = {"XDG_DATA_HOME": data}
    tree = data + "/berth/workspaces"
    archives, outside = tree + "/archives/tasks", room.path("outside")
    os.makedirs(outside)

    def berth(*args, timeout=180):
        return room.berth("workspace", *args, env=env, timeout=timeout)

    # What an agent leaves is archived and comes back as what is harmless, and nothing else is touched.
    assert berth("create", "task", "litter").code == 0
    work = tree + "/tasks/litter/files"
    os.symlink(room.secret, work + "/out")
    os.symlink("../../../../..", work + "/up")
    os.mkfifo(work + "/pipe")
    os.mknod(work + "/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    for name, mode in (("suid", 0o4755), ("sgid", 0o2755)):
        with open(f"{work}/{name}", "wb") as f:
            f.write(b"#!/bin/sh\n")
        os.chmod(f"{work}/{name}", mode)
    os.chown(work + "/sgid", 1234, 1234)
    os.chmod(work + "/sgid", 0o2755)
    done = berth("archive", "litter")
    room.finding(44, done.code == 0 and b"HOST-SECRET" not in done.out, f"litter is archived: {done!r}")
    with open(archives + "/litter.tar.zst", "rb") as f:
        good = f.read()
    plain = subprocess.run(["zstd", "-dqc"], input=good, stdout=subprocess.PIPE, check=True).stdout
    room.finding(44, b"HOST-SECRET" not in plain, "no link was followed into the archive")
    done = berth("unarchive", "litter", "--keep")
    room.finding(44, done.code == 0 and all(word in done.out for word in (b"files/null  a device", b"files/suid  its set-id bits",
                 b"files/sgid  its set-id bits", b"files/sgid  its owner")), f"what is dropped is told: {done!r}")
    room.finding(44, not os.path.lexists(work + "/null") and os.stat(work + "/suid").st_mode & 0o6000 == 0
                 and os.stat(work + "/sgid").st_mode & 0o6000 == 0 and os.stat(work + "/sgid").st_uid == os.geteuid(), "and dropped")
    room.finding(44, os.readlink(work + "/out") == room.secret, "a link is a link")

    # Archives that are none of berth's, and such with a manifest of berth's and a tar that is not its own.
    order = [m.name for m in tarfile.open(fileobj=io.BytesIO(plain)) if m.isreg()]
    texts = {m.name: tarfile.open(fileobj=io.BytesIO(plain)).extractfile(m).read() for m in tarfile.open(fileobj=io.BytesIO(plain)) if m.isreg()}
    same = [(name, tarfile.REGTYPE, texts[name]) for name in order]
    evil = b"EVIL\n"
    bomb = packed(bytes(200 << 20))
    hostile = {
        "parent": tar_of(("../../../../outside/evil", tarfile.REGTYPE, evil)),
        "absolute": tar_of((outside + "/evil", tarfile.REGTYPE, evil)),
        "link-then-file": tar_of(("way", tarfile.SYMTYPE, outside), ("way/evil", tarfile.REGTYPE, evil)),
        "hard-link": tar_of(("hard", tarfile.LNKTYPE, room.secret), ("hard", tarfile.REGTYPE, evil)),
        "device": tar_of(("dev", tarfile.CHRTYPE, b""), ("disk", tarfile.BLKTYPE, b"")),
        "names": tar_of(*[("../../../../outside/" + os.path.basename(name), kind, text) for name, kind, text in same]),
        "linked-names": tar_of(("files", tarfile.SYMTYPE, outside), *same),
        "more": tar_of(*same, ("more", tarfile.REGTYPE, evil)),
        "fewer": tar_of(*same[:-1]),
        "header": packed(b"\xff" * 512 * 64),
        "nothing": b"",
        "bomb": bomb * 50,
    }
    for name, tar in hostile.items():
        for kind, archive in (("bare", tar), ("grafted", with_manifest_of(good, tar))):
            with open(f"{archives}/bad.tar.zst", "wb") as f:
                f.write(archive)
            listed, verified = berth("archives"), berth("verify", "bad")
            done = berth("unarchive", "bad")
            what = f"a {kind} archive, {name}"
            # Links and devices of a tar are not looked at: with the right files behind them it is the good one.
            harmless = kind == "grafted" and name == "linked-names"
            room.finding(44, listed.code == 0 and (harmless or verified.code == 1), f"{what}: verify says {verified!r}")
            room.finding(44, (done.code == 0) == harmless, f"{what}: {done!r}")
            room.finding(44, os.listdir(outside) == [], f"{what}: nothing is outside")
            room.finding(44, harmless or not os.path.lexists(tree + "/tasks/bad"), f"{what}: no workspace is made of it")
            room.finding(44, set(os.listdir(tree + "/tasks")) - {".berth"} == ({"bad", "litter"} if harmless else {"litter"}), f"{what}: nothing is left behind")
            if harmless:
                room.finding(44, not os.path.islink(tree + "/tasks/bad/files"), f"{what}: the directory is one")
                shutil.rmtree(tree + "/tasks/bad")
    untouched(room, 44)

    # The archive itself is a link, a FIFO, a directory.
    for make in (lambda p: os.symlink(room.secret, p), os.mkfifo, os.mkdir):
        path = archives + "/odd.tar.zst"
        make(path)
        done = berth("unarchive", "odd")
        room.finding(44, done.code != 0 and not secret_in(room, done) and not os.path.lexists(tree + "/tasks/odd"), f"in an archive's place: {done!r}")
        os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    untouched(room, 44)
