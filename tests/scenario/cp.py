#!/usr/bin/env python3
"""cp.py - `berth cp` and an engine that lies: about what a path is, in the tar that it sends, about what it did."""
import base64
import io
import json
import os
import pty
import re
import subprocess
import tarfile
import tempfile
import time

from scenario import BERTH, HOSTILE, Fake, berth, case, main, neutral

DIR, LINK, FILE = 1 << 31 | 0o755, 1 << 27 | 0o777, 0o644


def raw(head, body=b""):
    return f"HTTP/1.1 200 OK\r\n{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n" + body.decode("latin-1")


def path_is(path, mode, target="", **more):
    """What HEAD says of it."""
    text = base64.b64encode(json.dumps({"name": "x", "size": 1, "mode": mode, "linkTarget": target, **more}).encode()).decode()
    return {"match": f"^HEAD .*archive.path={path.replace('/', '%2F')}$", "do": "raw", "raw": raw(f"X-Docker-Container-Path-Stat: {text}\r\n")}


def missing(path):
    return {"match": f"^HEAD .*archive.path={path.replace('/', '%2F')}$", "do": "status", "status": 404}


def sends(tar):
    return {"match": "^GET .*archive", "do": "raw", "raw": raw("Content-Type: application/x-tar\r\n", tar)}


def tar_of(*names, **more):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in names:
            one = tarfile.TarInfo(name)
            one.type = more.get("type", tarfile.REGTYPE) if name != "d" else tarfile.DIRTYPE
            one.linkname = more.get("target", "")
            one.size = 4 if one.isreg() else 0
            one.mode = 0o755
            tar.addfile(one, io.BytesIO(b"text") if one.isreg() else None)
    return out.getvalue()


def copy(*faults, words=("x:/d",), into=None, options=(), writable=True, mounts=(), puts=None, asked=None, state="running", env=None, **engine):
    """Its result, and what is in the directory that it copied to."""
    place = into or tempfile.mkdtemp(prefix="cp")
    with Fake(containers=[{"name": "x", "state": state, "mounts": list(mounts), "inspect": [{"HostConfig": {"ReadonlyRootfs": not writable}}]}],
              faults=list(faults), **engine) as fake:
        result = berth(*options, "cp", *words, place, fake=fake, env=env)
        if asked is not None:
            asked += fake.requests()
        if puts is not None:
            puts += [r.rsplit("path=", 1)[1] for r in fake.requests() if r.startswith("PUT")]
    neutral(result.err)
    return result, sorted(os.listdir(place)) if not into else None


@case
def what_it_says_of_a_path():
    for head in ("", "X-Docker-Container-Path-Stat: \r\n", "X-Docker-Container-Path-Stat: !!!!\r\n", "X-Docker-Container-Path-Stat: abcde\r\n",
                 f"X-Docker-Container-Path-Stat: {base64.b64encode(b'[]').decode()}\r\n", f"X-Docker-Container-Path-Stat: {base64.b64encode(b'{').decode()}\r\n",
                 f"X-Docker-Container-Path-Stat: {'A' * 30000}\r\n"):
        result, there = copy({"match": "^HEAD .*archive", "do": "raw", "raw": raw(head)})
        result.fails_with(1, "describe")
        assert not there, there
    # podman's alphabet
    text = base64.urlsafe_b64encode(json.dumps({"name": "\u00ff>>>???~~~", "mode": FILE}, ensure_ascii=False).encode()).decode()
    assert "-" in text or "_" in text, text
    result, there = copy({"match": "^HEAD .*archive", "do": "raw", "raw": raw(f"X-Docker-Container-Path-Stat: {text}\r\n")}, sends(tar_of("file")), words=("x:/file",))
    assert result.code == 0 and there == ["file"], (result.err, there)


@case
def links_without_end():
    result, there = copy(path_is("/d", LINK, "/d"), words=("-L", "x:/d"))
    result.fails_with(1, "too many links")
    for n, code in ((40, 0), (41, 1)):  # as many as Linux follows
        result, there = copy(*(path_is(f"/{i}", LINK, f"/{i + 1}") for i in range(n)), path_is(f"/{n}", FILE), sends(tar_of(f"{n}")), words=("-L", "x:/0"))
        assert result.code == code and there == ([] if code else ["0"]), (n, result.err, there)
    result, there = copy(path_is("/d", LINK, "relative"), words=("x:/d/",))
    result.fails_with(1, "leads nowhere")
    result, there = copy(path_is("/a", LINK, "/dev/shm"), words=("x:/a/b",))
    result.fails_with(2, "/dev/shm/b")
    result, there = copy(path_is("/a", FILE), words=("x:/a/b",))
    result.fails_with(2, "not a directory")
    assert not there, there


@case
def names_that_lead_out():
    for name in ("../evil", "d/../../evil", "/evil", "d/..", "other", "d/a/../../../evil", *HOSTILE):
        result, there = copy(path_is("/d", DIR), sends(tar_of("d", name.replace("\0", ""))))
        assert result.code == 1 and b"in the container's tar, which" in result.err and there in ([], ["d"]), (name, result.code, result.err, there)
    for kind, target in ((tarfile.SYMTYPE, "/etc"), (tarfile.LNKTYPE, "/etc/passwd"), (tarfile.LNKTYPE, "../../etc/passwd")):
        result, there = copy(path_is("/d", DIR), sends(tar_of("d", "d/l", "d/l/x", type=kind, target=target)))
        assert result.code == 1 and there == ["d"], (kind, target, result.code, result.err, there)


@case
def a_further_name_on_another_file_system():
    """It cannot be made there, but no symbolic link is the reason."""
    with tempfile.TemporaryDirectory() as top, io.BytesIO() as out:
        with tarfile.open(fileobj=out, mode="w") as tar:
            for name, kind in (("d", tarfile.DIRTYPE), ("d/a", tarfile.REGTYPE), ("d/s", tarfile.DIRTYPE), ("d/s/b", tarfile.LNKTYPE)):
                one = tarfile.TarInfo(name)
                one.type, one.linkname = kind, "d/a" if kind == tarfile.LNKTYPE else ""
                tar.addfile(one)
        other = os.path.join(top, "s")
        os.mkdir(other)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", other], capture_output=True, check=False).returncode:
            return
        try:
            result, _ = copy(path_is("/d", DIR), sends(out.getvalue()), words=("x:/d/.",), into=top)
        finally:
            subprocess.run(["umount", other], check=True)
        assert result.code == 1 and b"cannot write s/b" in result.err and b"symbolic link" not in result.err, result.err


@case
def a_link_that_was_copied_is_replaced():
    """As by a rename.  Followed, the next copy to that name would be one to wherever the container chose."""
    def link(target):
        return path_is("/f", LINK, "/x"), sends(tar_of("f", type=tarfile.SYMTYPE, target=target))
    with tempfile.TemporaryDirectory() as top:
        victim, place, text = os.path.join(top, "victim"), os.path.join(top, "copied"), [path_is("/f", FILE), sends(tar_of("f"))]
        with open(victim, "w", encoding="utf-8") as f:
            f.write("mine")
        for target in (victim, "nowhere", "copied"):
            result, _ = copy(*link(target), words=("x:/f",), into=place)
            assert result.code == 0 and os.readlink(place) == target, (target, result.err)
            assert b"1 symbolic link leads out of what was copied, the first: copied" in result.err, result.err
            result, _ = copy(path_is("/d", DIR), sends(tar_of("d")), into=place)
            result.fails_with(2, "is not a directory")
            result, _ = copy(*text, words=("x:/f",), into=place)
            assert result.code == 0 and not os.path.islink(place) and open(place, "rb").read() == b"text" and not result.err, (target, result.err)
        assert open(victim, "rb").read() == b"mine"
        os.unlink(place)
        os.mkdir(os.path.join(top, "dir"))
        os.symlink("dir", place)  # a person's own is followed
        result, _ = copy(*text, words=("x:/f",), into=place)
        assert result.code == 0 and os.path.islink(place) and os.listdir(place) == ["f"], result.err
        os.unlink(place)
        os.mkfifo(os.path.join(top, "pipe"))
        os.symlink("pipe", place)  # as /dev/stdout is one
        result, _ = copy(*text, words=("x:/f",), into=place)
        result.fails_with(2, "is a pipe, socket or device")
        assert os.path.islink(place)


@case
def a_tar_that_ends_early():
    whole = tar_of("d", "d/a", "d/b")
    for n in (0, 512, 1024, 1536, 2048, 2100, 3071):
        result, there = copy(path_is("/d", DIR), sends(whole[:n]))
        result.fails_with(1, "ends early")
        assert not there, (n, there)
    result, there = copy(path_is("/d", DIR), sends(whole[:2048]), words=("x:/d",), into="-")
    assert result.code == 1 and b"ends early" in result.err, result.err
    for more in (bytes(100), bytes(1023)):
        result, there = copy(path_is("/d", DIR), sends(whole + more))
        result.fails_with(1, "ends early")
    result, there = copy(path_is("/d", DIR), sends(whole))
    assert result.code == 0 and there == ["d"], result.err
    result, there = copy(path_is("/d", DIR), sends(bytes(4096)))
    assert result.code == 1 and not there, (result.err, there)


@case
def what_it_did():
    here = tempfile.NamedTemporaryFile("w", suffix=".txt")
    name = os.path.basename(here.name)
    done = {"match": "^PUT .*archive", "do": "raw", "raw": raw("")}
    result, _ = copy(path_is("/d", DIR), missing(f"/d/{name}"), done, words=(here.name,), into="x:/d")
    result.fails_with(1, "reported success", f"/d/{name}")
    result, _ = copy(path_is("/d", DIR), path_is(f"/d/{name}", FILE), done, words=(here.name,), into="x:/d")
    assert result.code == 0 and result.out == f"copied 1 file (0B), 0 directories and 0 links to x:/d/{name}\n".encode(), result.out
    result, _ = copy(path_is("/d", DIR), {"match": f"^HEAD .*{name}$", "do": "status", "status": 500}, done, words=(here.name,), into="x:/d")
    assert result.code == 1 and b"part of it may be in x:/d" in result.err, result.err
    for status, note in ((500, True), (404, True), (403, False)):
        result, _ = copy(path_is("/d", DIR), {"match": "^PUT .*archive", "do": "status", "status": status, "message": "no \x1b[31mspace"}, words=(here.name,), into="x:/d")
        assert result.code == 1 and not result.out and (b"part of it may be in x:/d" in result.err) == note, (status, result.err)


@case
def a_link_on_the_way_in():
    """The engine unpacks by names, which a process in the container may change meanwhile."""
    here = tempfile.NamedTemporaryFile("w", suffix=".txt")
    name = os.path.basename(here.name)
    done = {"match": "^PUT .*archive", "do": "raw", "raw": raw("")}
    for source, dest in ((here.name, f"/e/{name}"), (tempfile.mkdtemp(prefix="d") + "/.", "/e")):
        result, _ = copy({**path_is("/d", DIR), "times": 1}, path_is("/d", LINK, "/e"), path_is("/e", DIR), path_is(f"/e/{name}", FILE), done, words=(source,), into="x:/d")
        assert result.code == 1 and not result.out and f"may have gone to {dest}.".encode() in result.err and f"may be in x:{dest}".encode() in result.err, result.err
    # What nobody can look at: nothing says that nothing was done.
    result, _ = copy({**path_is("/d", DIR), "times": 1}, path_is("/d", LINK, "/dev/shm"), done, words=(here.name,), into="x:/d")
    assert result.code == 1 and b"part of it may be in x:/d" in result.err, result.err


@case
def a_container_that_goes_meanwhile():
    """A path in it is then said to be missing."""
    asked = []
    result, _ = copy(missing("/d"), asked=asked)
    result.fails_with(1, "there is no /d in x")
    look = "^GET .*/containers/[0-9a-f]{64}/json$"
    before = asked[:next(n for n, r in enumerate(asked) if "archive" in r)]
    gone = {"match": look, "do": "status", "status": 404, "message": "No such container: x", "after": sum(bool(re.match(look, r)) for r in before)}
    result, _ = copy(missing("/d"), gone)
    result.fails_with(1, "No such container")


@case
def owners_that_the_engine_does_not_send():
    known = [path_is("/d", DIR), sends(tar_of("d")), path_is("/d/d", DIR), {"match": "^PUT .*archive", "do": "raw", "raw": raw("")}]
    for into in (None, "-"):
        result, _ = copy(*known, words=("-a", "x:/d"), into=into, product="podman", version="4.3.1")
        result.fails_with(2, "podman", "owners")
    result, there = copy(*known, product="podman", version="4.3.1")
    assert result.code == 0 and there == ["d"], result.err
    with tempfile.TemporaryDirectory() as top:
        os.mkdir(os.path.join(top, "d"))
        result, _ = copy(*known, words=("-a", os.path.join(top, "d")), into="x:/d", product="podman", version="4.3.1")
        assert result.code == 0, result.err
        if not os.geteuid():
            result, there = copy(*known, words=("-a", "x:/d"))
            assert result.code == 0 and there == ["d"], result.err
    for option in ("-a", "-L"):
        result, _ = copy(*known, words=(option, "-"), into="x:/d")
        result.fails_with(2, "do not apply to -")


@case
def the_content_of_a_directory_as_a_tar():
    for path, asks in (("/d/.", "%2Fd%2F."), ("/d/", "%2Fd"), ("/.", "%2F.")):
        asked = []
        result, _ = copy(path_is("/d", DIR), path_is("/", DIR), sends(tar_of("d")), words=(f"x:{path}",), into="-", asked=asked)
        assert result.code == 0 and [r.rsplit("path=", 1)[1] for r in asked if r.startswith("GET") and "archive" in r] == [asks], (path, asked)


@case
def who_reads_slowly():
    """The engine is not late when it waits for us."""
    whole, some = tar_of("d", *(f"d/{n}" for n in range(100))), 70000  # a little more than a pipe takes
    said, terminal = pty.openpty()
    until = os.path.join(tempfile.mkdtemp(prefix="u"), "go")
    sent = {**sends(whole), "until": until}
    cut = sent["raw"].index("\r\n\r\n") + 4 + some
    sent["raw"], sent["rest"] = sent["raw"][:cut], sent["raw"][cut:]
    with Fake(containers=[{"name": "x"}], faults=[path_is("/d", DIR), sent]) as fake, \
            subprocess.Popen([BERTH, "-H", fake.url, "cp", "x:/d", "-"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=terminal) as p:
        got = os.read(p.stdout.fileno(), 1)
        time.sleep(1.2)  # an engine is late after a second
        while len(got) < some:
            got += os.read(p.stdout.fileno(), some - len(got))
        time.sleep(0.2)
        with open(until, "wb"):
            got += p.stdout.read()
        assert p.wait(60) == 0 and got == whole, (p.returncode, len(got))
    os.write(terminal, b"end")
    text = os.read(said, 4096)
    assert text == b"end", text


@case
def where_nothing_can_be_written():
    here = tempfile.NamedTemporaryFile("w", suffix=".txt")
    name = os.path.basename(here.name)
    done = {"match": "^PUT .*archive", "do": "raw", "raw": raw("")}
    known = [path_is("/d/in", DIR), path_is("/d", DIR), path_is(f"/d/in/{name}", FILE), done]
    for more, words in (({"writable": False}, "/ in x is read-only"), ({"mounts": [{"Destination": "/d", "RW": False}]}, "/d in x is read-only"),
                        ({"mounts": [{"Destination": "/d", "RW": True}, {"Destination": "/d/in", "RW": False}]}, "/d/in in x is read-only")):
        for source in (here.name, "-"):
            puts = []
            result, _ = copy(*known, words=(source,), into="x:/d/in", puts=puts, **more)
            result.fails_with(2, words, "berth exec")
            assert not puts, puts
    for more, place in (({}, "%2F"), ({"writable": False, "mounts": [{"Destination": "/d", "RW": True}]}, "%2Fd"),
                        ({"writable": False, "mounts": [{"Destination": "/d", "RW": False}, {"Destination": "/d/in", "RW": True}]}, "%2Fd%2Fin")):
        puts = []
        result, _ = copy(*known, words=(here.name,), into="x:/d/in", puts=puts, **more)
        assert result.code == 0 and puts == [place], (more, result.err, puts)


@case
def a_tmpfs_that_nobody_knows_about():
    tmpfs = {"Type": "tmpfs", "Destination": "/a/mem"}
    result, there = copy({"match": "^HEAD .*archive.path=%2Fa$", "do": "status", "status": 500}, path_is("/d", DIR), sends(tar_of("d")), mounts=[tmpfs])
    assert result.code == 1 and not there, (result.err, there)
    result, there = copy(path_is("/a", LINK, "/a"), path_is("/d", DIR), sends(tar_of("d")), mounts=[tmpfs])  # there is none
    assert result.code == 0 and there == ["d"], (result.err, there)


@case
def what_podman_sees():
    """Its copier joins a running container (libpod/container_copy_linux.go), from 3.1 on."""
    tmpfs = {"Type": "tmpfs", "Destination": "/mem"}
    for version, state, code in (("4.3.1", "running", 0), ("3.1.0", "running", 0), ("4.3.1", "exited", 2), ("3.0.1", "running", 2)):
        for path in ("/mem/d", "/dev/shm/d"):
            result, there = copy(path_is(path, DIR), sends(tar_of("d")), words=(f"x:{path}",), mounts=[tmpfs], state=state, product="podman", version=version)
            assert result.code == code and there == ([] if code else ["d"]), (version, state, path, result.err, there)


@case
def in_read_only_mode():
    known = [path_is("/d", DIR), sends(tar_of("d", "d/a"))]
    result, there = copy(*known, options=("--read-only",))
    result.fails_with(4, "read-only")
    assert not there, there
    result, _ = copy(*known, options=("--read-only",), into="-")
    assert result.code == 0 and b"d/a" in result.out, result.err
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write("hosts:\n  - {host: 'unix:///*', read_only: true}\n")
        f.flush()
        result, there = copy(*known, options=("--settings", f.name))
        assert result.code == 0 and there == ["d"], (result.err, there)
        result, _ = copy(*known, options=("--settings", f.name), words=(f.name,), into="x:/d")
        result.fails_with(4, "read-only")


@case
def directories_of_berth_behind_links():
    """As where /home is a link, and where .config is kept elsewhere."""
    with tempfile.TemporaryDirectory() as top:
        real, known = os.path.join(top, "real"), [path_is("/d", DIR), sends(tar_of("d", "d/a"))]
        for name in ("dot/berth", "dot/other", "work"):
            os.makedirs(os.path.join(real, name))
        os.symlink("real", os.path.join(top, "home"))
        os.symlink("dot", os.path.join(real, ".config"))
        env = {"HOME": os.path.join(top, "home"), "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": ""}
        for name in ("dot", "dot/berth", ".config/berth", ".local/state/berth/new", "."):
            result, _ = copy(*known, words=("x:/d/.",), into=os.path.join(real, name), env=env)
            result.fails_with(4, "a directory of berth itself")
            result, _ = copy(*known, words=(os.path.join(real, name),), into="x:/d", env=env)
            assert result.code == 4 or name.endswith("new"), (name, result.err)
        for name in ("dot/other", "work"):
            result, _ = copy(*known, words=("x:/d/.",), into=os.path.join(real, name), env=env)
            assert result.code == 0 and os.listdir(os.path.join(real, name)) == ["a"], result.err


main()
