#!/usr/bin/env python3
"""cp.py - `berth cp` does what `docker cp` does, in both directions, and reports what it left out."""
import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenario"))
from scenario import BERTH, case, case_of_patience, main  # noqa: E402

ENGINE = os.environ["BERTH_TEST_ENGINE"]
BOX = f"cp{os.getpid()}"
SAME = f"{BOX}-same"  # what is compared with docker: without a tmpfs, about which berth would ask the engine each time
HERE = os.path.join(os.environ["TMPDIR"], "cp")
STATE = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
TREE = r"""mkdir -p /src/d/sub /src/d/empty && cd /src && echo file >f && chmod 640 f && ln -s f lf && ln -s d ld && ln -s nowhere lx && ln -s lf llf && cd d &&
echo a >a && ln a again && echo b >sub/b && chmod 700 sub && ln -s a link && ln -s /etc/passwd abs && echo x >"$(printf 'new\nline')" &&
echo u >é && echo r >"$(printf 'bad\377')" && ln -s "$(printf 'bad\377')" blink && touch -d @1000000000 a && printf '' >none && cp none .. && chmod 555 empty"""
NEEDED = [TREE]  # what the cases need in BOX, next to each of them; made by one command, before the first
AT_A_TIME = min(8, 2 * (os.cpu_count() or 2))
turns = threading.BoundedSemaphore(AT_A_TIME)  # cases run beside each other: more commands than that would only wait for each other
containers = []


def run(*words, **more):
    with turns:
        return subprocess.run(words, capture_output=True, timeout=120, check=False, **more)


def docker(*words, **more):
    done = run("docker", "-H", ENGINE, *words, **more)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def container(name, *words):
    """Of this test: removed in the end, together with the others."""
    containers.append(name)
    docker(words[0], "--name", name, "--network", "none", *words[1:])


def berth(*words, code=0, **more):
    done = run(BERTH, "-H", ENGINE, "cp", *words, **more)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done


def tree(top):
    """What is below a directory of this machine, with everything that a copy keeps."""
    found = {}
    for folder, dirs, files in os.walk(os.fsencode(top)):
        for name in dirs + files:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            what = os.readlink(path) if stat.S_ISLNK(st.st_mode) else open(path, "rb").read() if stat.S_ISREG(st.st_mode) else None
            found[os.path.relpath(path, os.fsencode(top))] = (stat.S_IFMT(st.st_mode), stat.S_ISLNK(st.st_mode) or stat.S_IMODE(st.st_mode), what,
                                                              stat.S_ISREG(st.st_mode) and int(st.st_mtime))
    return found


def tree_inside(path, box=BOX):
    found = {}
    with tarfile.open(fileobj=io.BytesIO(docker("cp", f"{box}:{path}", "-")), errors="surrogateescape") as tar:
        for one in tar:
            found[one.name] = (one.type, one.mode, one.linkname, one.uid, one.gid, one.isfile() and (tar.extractfile(one).read(), int(one.mtime)))
    return found


def prepare(top):
    shutil.rmtree(top, ignore_errors=True)
    os.makedirs(os.path.join(top, "dir/d"))
    for name, text in (("file", "old"), ("dir/f", "old f"), ("dir/d/a", "old a"), ("dir/kept", "kept")):
        with open(os.path.join(top, name), "w", encoding="utf-8") as f:
            f.write(text)
        os.utime(os.path.join(top, name), (1, 1))
    os.symlink("dir", os.path.join(top, "ldir"))


def same_end(ours, theirs, what):
    assert (ours.returncode == 0) == (theirs.returncode == 0), (what, ours.returncode, ours.stderr, theirs.returncode, theirs.stderr)


PROGRAMS = (("ours", [BERTH, "-H", ENGINE]), ("theirs", ["docker", "-H", ENGINE]))
# A file and a directory meet every destination; links to them, and what is in a directory, one of each kind; what is only written in
# another way (d/, ld/., f/.), empty, or leads nowhere, those where that could matter.
EVERY_OUT, KINDS_OUT = "new new/ file dir dir/ ldir no/such dir/d file/", "new new/ file dir ldir dir/d"
OUT = (("/src/f", EVERY_OUT), ("/src/d", EVERY_OUT), ("/src/d/.", KINDS_OUT), ("/src/lf", KINDS_OUT), ("/src/ld", KINDS_OUT), ("/src/ld/.", "new file dir dir/d"),
       ("/src/lx", "new file dir"), ("/src/d/", "new file dir"), ("/src/f/.", "new file dir"), ("/src/none", "new file"), ("src/f", "dir"),
       ("-L /src/lf", "new new/ file dir dir/d"), ("-L /src/ld", KINDS_OUT), ("-L /src/ld/.", "new dir"), ("-L /src/lx", "new dir"))
EVERY_IN, KINDS_IN = "new new/ file dir dir/ ldir no/such lfile", "new new/ file dir ldir lfile"
IN = (("f", EVERY_IN), ("d", EVERY_IN), ("d/.", KINDS_IN), ("lf", KINDS_IN), ("ld", KINDS_IN), ("ld/.", "new file dir"), ("lx", "new dir lfile"), ("d/", "new file dir"),
      ("f/.", "new file dir"), ("none", "new file"),
      ("-L lf", "new new/ file dir lfile"), ("-L ld", "new new/ file dir ldir"), ("-L ld/.", "new dir"), ("-L lx", "new dir"))


def ways(table):
    """Numbered: each has directories of its own, so that several can be copied, or all be looked at, at the same time."""
    pairs = [(words.split(), dest) for words, dests in table for dest in dests.split()]
    return [(n, words, dest) for n, (words, dest) in enumerate(pairs)]


def side_by_side(function, rows):
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return list(pool.map(lambda row: function(*row), rows))


def differences(one, other):
    return {k: (one.get(k), other.get(k)) for k in {*one, *other} if one.get(k) != other.get(k)}


@case
def out_as_docker():
    def compare(n, words, dest):
        ends, trees = [], []
        for name, program in PROGRAMS:
            top = os.path.join(HERE, f"out{n}", name)
            prepare(top)
            ends.append(run(*program, "cp", *words[:-1], f"{SAME}:{words[-1]}", os.path.join(top, dest)))
            trees.append(tree(top))
        same_end(*ends, (words, dest))
        assert trees[0] == trees[1], (words, dest, differences(*trees))
    side_by_side(compare, ways(OUT))


def trees_below_t():
    """Of all /t/NUMBER/NAME: one listing takes as long as one of a single tree.  Of a further name of a file, the first is given from there."""
    found = {}
    for path, (kind, mode, link, *rest) in tree_inside("/t", SAME).items():
        _, *where, below = path.split("/", 3) if path.count("/") > 2 else ("", path)
        if where:
            found.setdefault((int(where[0]), where[1]), {})[below] = (kind, mode, link.removeprefix(f"t/{where[0]}/{where[1]}/"), *rest)
    return found


@case
def in_as_docker():
    top, rows = os.path.join(HERE, "in"), ways(IN)
    shutil.rmtree(top, ignore_errors=True)
    docker("cp", f"{SAME}:/src", top)
    docker("exec", SAME, "sh", "-c", "rm -rf /t /w; mkdir -p /w/dir/d && cd /w && echo old >file && echo old >dir/f && echo old >dir/d/a && ln -s dir ldir && ln -s file lfile && "
                                     f"touch -d @1 file dir/f dir/d/a && for n in $(seq 0 {len(rows) - 1}); do mkdir -p /t/$n/ours /t/$n/theirs && "
                                     "cp -a /w /t/$n/ours && cp -a /w /t/$n/theirs || exit; done")

    def copy(n, words, dest):
        return [run(*program, "cp", *words[:-1], os.path.join(top, words[-1]), f"{SAME}:/t/{n}/{name}/w/{dest}") for name, program in PROGRAMS]
    ends, found = side_by_side(copy, rows), trees_below_t()
    for (n, words, dest), both in zip(rows, ends):
        same_end(*both, (words, dest))
        trees = [found[n, name] for name, _ in PROGRAMS]
        files = [{k: v for k, v in one.items() if v[0] != tarfile.DIRTYPE} for one in trees]
        assert files[0] == files[1], (words, dest, differences(*files))
        assert set(trees[0]) == set(trees[1]), (words, dest)


NEEDED.append("mkdir -p /up/a /vol/up /far/er && ln -s ../../../x /up/a/out && ln -s ../x /up/next && echo a >/up/a/f && ln /up/a/f /up/g")


@case_of_patience
def a_link_that_leads_out_of_the_tree():
    """docker's client refuses to unpack such a one, and the engine to do it where the tree begins."""
    here = os.path.join(HERE, "up")
    berth(f"{BOX}:/up", here)
    assert os.readlink(os.path.join(here, "a/out")) == "../../../x" and os.stat(os.path.join(here, "g")).st_nlink == 2
    berth(here, f"{BOX}:/far/er")
    os.unlink(os.path.join(here, "a/out"))  # out of a volume is too far
    berth(here + "/.", f"{BOX}:/vol/up")
    there = docker("exec", BOX, "sh", "-c", "cd /far/er/up && readlink a/out && cat g && cd /vol/up && readlink next && cat g")
    assert there == b"../../../x\na\n../x\na\n", there


NEEDED.append("mkdir -p /own/d/sub /o && chown -R 5:6 /own && chmod 711 /own/d/sub && echo old >/own/d/f && cp -a /own /o/1 && cp -a /own /o/2")


@case_of_patience
def directories_keep_their_owner():
    here = os.path.join(HERE, "own")
    os.makedirs(os.path.join(here, "d/sub/new"))
    for name in ("d/f", "d/sub/f"):
        with open(os.path.join(here, name), "w", encoding="utf-8") as f:
            f.write("mine\n")
    for source, dest in ((here, "/"), (here + "/.", "/o/1"), (os.path.join(here, "d"), "/o/2")):
        done = berth(source, f"{BOX}:{dest}")
        assert b"copied 2 files" in done.stdout, done.stdout
    there = {**tree_inside("/own"), **tree_inside("/o")}
    for top in ("own", "o/1", "o/2"):
        owners = [(there[name][1] & 0o7777, *there[name][3:5]) for name in (top, f"{top}/d", f"{top}/d/sub")]
        assert owners == [(0o755, 5, 6), (0o755, 5, 6), (0o711, 5, 6)], (top, there)
        assert there[f"{top}/d/f"][3:5] == (0, 0) and there[f"{top}/d/f"][5][0] == b"mine\n" and there[f"{top}/d/sub/new"][3:5] == (0, 0), (top, there)


@case_of_patience
def a_read_only_container():
    name, path, bound = f"{BOX}-ro", os.path.join(HERE, "for-ro"), os.path.join(HERE, "bound")
    with open(path, "w", encoding="utf-8") as f:
        f.write("ro\n")
    os.makedirs(bound)
    container(name, "create", "--read-only", "-v", "/vol", "--mount", f"type=bind,src={bound},dst=/bound,readonly", "box:1", "true")
    for dest in ("/x", "/", "/bound", "/bound/x"):
        done = berth(path, f"{name}:{dest}", code=2)
        assert b"is read-only: copy into a volume" in done.stderr and done.stderr.count(b"\n") == 1, (dest, done.stderr)
    berth(path, f"{name}:/vol/x")
    assert tree_inside("/vol/x", name)["x"][5][0] == b"ro\n"


NEEDED.append("head -c 20000000 /dev/zero >/larger")


@case_of_patience
def space_is_left_for_others():
    small = os.path.join(HERE, "small")
    os.makedirs(small, exist_ok=True)
    if run("mount", "-t", "tmpfs", "-o", "size=64m", "none", small).returncode:
        return
    try:
        berth(f"{BOX}:/src/f", small)
        done = berth(f"{BOX}:/larger", small, code=1)
        assert b"less than 256 MiB would be left" in done.stderr and os.listdir(small) == ["f"], (done.stderr, os.listdir(small))
        larger, less = os.path.join(HERE, "larger"), {**os.environ, "TMPDIR": small}
        berth(f"{BOX}:/larger", larger)
        for words, more in (((f"{BOX}:/larger", larger), {}), ((larger, f"{BOX}:/larger"), {}), (("-", f"{BOX}:/"), {"input": bytes(20000000)})):
            done = berth(*words, code=1, env=less, **more)
            assert b"less than 256 MiB would be left in $TMPDIR" in done.stderr, (words, done.stderr)
    finally:
        run("umount", small)


NEEDED.append("mkdir -p /odd/mem && cd /odd && mkfifo pipe && ln pipe pipe2 && echo s >su && chmod 4755 su && chmod 2750 mem && ln -s nowhere l && ln l l2")


@case_of_patience
def what_cannot_be_taken_along_is_said():
    dest = os.path.join(HERE, "odd")
    done = berth(f"{BOX}:/odd", dest)
    assert b"left out: 2 pipes" in done.stderr and b"odd/pipe" in done.stderr and b"2 files or directories lost a set-user-ID" in done.stderr, done.stderr
    assert [stat.S_IMODE(os.lstat(os.path.join(dest, name)).st_mode) for name in ("su", "mem")] == [0o755, 0o750]
    assert sorted(os.listdir(dest)) == ["l", "l2", "mem", "su"] and os.readlink(os.path.join(dest, "l2")) == "nowhere", os.listdir(dest)
    assert b"copied 1 file (" in done.stdout and b"and 2 links" in done.stdout, done.stdout


NEEDED.append("mkdir -p /way && ln -s /mem /way/in && ln -s in /way/again && ln -s /dev/shm /way/shm")


@case_of_patience
def a_tmpfs_is_refused_or_named():
    done = berth(f"{BOX}:/mem/x", HERE, code=2)
    assert b"tmpfs /mem" in done.stderr and b"berth exec" in done.stderr, done.stderr
    done = berth(f"{BOX}:/deep", os.path.join(HERE, "deep"))
    assert b"1 tmpfs" in done.stderr and b"/deep/mem" in done.stderr, done.stderr
    # By a link of the container, and with .. in the path; engines report success for all of these.
    for path in ("/way/in/x", "/way/in", "/way/again/x", "/etc/../mem/x", "//mem/./x", "/mem"):
        done = berth(BERTH, f"{BOX}:{path}", code=2)
        assert b"tmpfs /mem" in done.stderr, (path, done.stderr)
    here = os.path.join(HERE, "of")
    os.makedirs(os.path.join(here, "mem"), exist_ok=True)
    done = berth(here + "/.", f"{BOX}:/deep")
    assert b"hidden in the container" in done.stderr and b"/deep/mem" in done.stderr, done.stderr
    done = berth(os.path.join(here, "mem"), f"{BOX}:/deep", code=2)
    assert b"tmpfs /deep/mem" in done.stderr, done.stderr
    for path in ("/dev/shm/x", "/proc/1/x", "/sys/x", "/way/shm/x", "/dev/null"):
        done = berth(BERTH, f"{BOX}:{path}", code=2)
        assert b"which the engine cannot read or write" in done.stderr, (path, done.stderr)


NEEDED.append("mkdir /piped")


@case_of_patience
def a_tar_through_the_pipe():
    done = berth(f"{BOX}:/src/d", "-")
    with tarfile.open(fileobj=io.BytesIO(done.stdout), errors="surrogateescape") as tar:
        assert "d/sub/b" in tar.getnames(), tar.getnames()
    for path in ("/src/d/.", "/src/d", "/src/f", "/src/lf"):
        ours, theirs = berth(f"{BOX}:{path}", "-").stdout, docker("cp", f"{BOX}:{path}", "-")
        names = [tarfile.open(fileobj=io.BytesIO(one), errors="surrogateescape").getnames() for one in (ours, theirs)]
        assert names[0] == names[1], (path, names)
    berth("-", f"{BOX}:/piped", input=done.stdout)
    noted = berth("-", f"{BOX}:/", input=done.stdout)
    assert docker("exec", BOX, "cat", "/piped/d/sub/b", "/d/sub/b") == b"b\nb\n"
    assert b"2 tmpfs" in noted.stderr and b"if the tar has any of it" in noted.stderr and b"/mem" in noted.stderr, noted.stderr
    assert b"must be a tar" in berth("-", f"{BOX}:/piped", code=2, input=b"").stderr


def piped(*words, before=(), **more):
    return subprocess.Popen([*before, BERTH, "-H", ENGINE, "cp", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


NEEDED.append("head -c 3000000 /dev/zero >/large")


@case_of_patience
def a_reader_that_stops_reading():
    with piped(f"{BOX}:/large", "-") as p:  # leaves
        p.stdout.read(1)
        p.stdout.close()
        said = p.stderr.read()
        assert p.wait(60) == 1 and said.count(b"\n") == 1 and b"Broken pipe" in said, (p.returncode, said)
    with piped(f"{BOX}:/large", "-") as p:  # stays, and the pipe is full
        p.stdout.read(1)
        p.send_signal(signal.SIGINT)
        assert p.wait(60) == 1, p.returncode
        assert b"cancelled" in p.stderr.read()
    with piped(f"{BOX}:/large", "-", bufsize=0, before=("nohup",)) as p:
        first = p.stdout.read(1)
        p.send_signal(signal.SIGHUP)
        rest, said = p.communicate(timeout=60)
        assert p.returncode == 0 and len(first + rest) > 3000000, (p.returncode, said)


@case_of_patience
def a_writer_that_stops_writing():
    with piped("-", f"{BOX}:/src", stdin=subprocess.PIPE) as p:
        p.stdin.write(bytes(300000))  # more than a pipe takes: it is being read
        p.send_signal(signal.SIGINT)
        assert p.wait(60) == 1, p.returncode
        assert b"cancelled" in p.stderr.read()


NEEDED.append("mkdir /special && mkfifo /special/pipe")


@case_of_patience
def what_is_no_file_here():
    there = os.path.join(HERE, "special")
    shutil.rmtree(there, ignore_errors=True)
    os.makedirs(there)
    pipe, link = os.path.join(there, "pipe"), os.path.join(there, "link")
    os.mkfifo(pipe)
    os.symlink("nowhere", link)
    for words in ((f"{BOX}:/src/f", pipe), (f"{BOX}:/src/d", link), (pipe, f"{BOX}:/x"), ("-L", link, f"{BOX}:/x"), (f"{BOX}:/special/pipe", there), (there + "/link/", f"{BOX}:/x")):
        done = run(BERTH, "-H", ENGINE, "cp", *words)
        assert done.returncode in (1, 2) and done.stderr.count(b"\n") == 1, (words, done.returncode, done.stderr)
    assert stat.S_ISFIFO(os.lstat(pipe).st_mode) and os.readlink(link) == "nowhere" and len(os.listdir(there)) == 2, os.listdir(there)


@case_of_patience
def berths_own_directories_stay_its_own():
    own = os.path.join(STATE, "berth")
    os.makedirs(own, mode=0o700, exist_ok=True)  # no other command may have run yet
    berth(f"{BOX}:/src/f", STATE)  # next to its directory
    os.unlink(os.path.join(STATE, "f"))
    for words in ((f"{BOX}:/src/f", own), (f"{BOX}:/src/.", STATE), (f"{BOX}:/src/f", os.path.join(own, "audit/f")), (STATE, f"{BOX}:/x"), (own, f"{BOX}:/x")):
        assert b"directory of berth itself" in berth(*words, code=4).stderr, words


@case_of_patience
def owner_is_the_user_of_the_container():
    name = f"{BOX}-user"
    container(name, "create", "--user", "1234:567", "box:1", "true")
    path = os.path.join(HERE, "mine")
    with open(path, "w", encoding="utf-8") as f:
        f.write("mine\n")
    berth(path, f"{name}:/tmp/mine")
    there = tree_inside("/tmp/mine", name)
    assert there["mine"][3:5] == (1234, 567), there
    shared = os.path.join(HERE, "shared")
    os.mkdir(shared)
    os.chmod(shared, 0o2770)  # files in it have its group
    berth(shared, f"{name}:/tmp/shared")
    there = tree_inside("/tmp/shared", name)
    assert there["shared"][1] & 0o7777 == 0o2770 and there["shared"][3:5] == (1234, 567), there
    berth("-a", f"{name}:/tmp/mine", os.path.join(HERE, "owned"))
    assert os.stat(os.path.join(HERE, "owned")).st_uid == 1234
    berth(f"{name}:/tmp/mine", os.path.join(HERE, "not-owned"))
    assert os.stat(os.path.join(HERE, "not-owned")).st_uid == os.geteuid()
    link = os.path.join(HERE, "link")
    os.symlink("mine", link)
    berth(link, f"{name}:/tmp/link")
    berth("-a", f"{name}:/tmp/link", os.path.join(HERE, "owned-link"))
    assert os.lstat(os.path.join(HERE, "owned-link")).st_uid == 1234


@case_of_patience
def a_user_by_name():
    name = f"{BOX}-named"
    container(name, "create", "--user", "me", "box:1", "true")
    path = os.path.join(HERE, "passwd")
    with open(path, "w", encoding="utf-8") as f:
        f.write("root:x:0:0::/:/bin/sh\nme:x:4321:765::/:/bin/sh\n")
    done = berth(path, f"{name}:/tmp/mine", code=1)
    assert b"/etc/passwd of the container has no me" in done.stderr and b"-a" in done.stderr, done.stderr
    docker("cp", path, f"{name}:/etc/passwd")
    berth(path, f"{name}:/tmp/mine")
    there = tree_inside("/tmp/mine", name)
    assert there["mine"][3:5] == (4321, 765), there


@case_of_patience
def wrong_use_is_one_sentence():
    for words, said in (((f"{BOX}:/a", f"{BOX}:/b"), b"path of this machine"), (("/a", "/b"), b"CONTAINER:PATH"), ((f"{BOX}:", HERE), b"path is missing"),
                        ((f"{BOX}:/src/f", os.path.join(HERE, "nosuch/")), b"not a directory")):
        done = berth(*words, code=2)
        assert said in done.stderr and done.stderr.count(b"\n") == 1, (words, done.stderr)
    assert b"there is no /nosuch in" in berth(f"{BOX}:/nosuch", HERE, code=1).stderr
    done = run(BERTH, "-H", ENGINE, "--read-only", "cp", BERTH, f"{BOX}:/x")
    assert done.returncode == 4, (done.returncode, done.stderr)


@case_of_patience
def both_ways_are_recorded():
    path = os.path.join(os.path.realpath(HERE), "recorded")
    berth("-L", f"{BOX}:/src/lf", "recorded", cwd=HERE)
    berth("-a", "./recorded", f"{BOX}:recorded", cwd=HERE)
    done = run(BERTH, "audit", "list", "--act", "container.copy_*", "--json", "-n", "2000")  # other cases copy meanwhile
    records = [record for record in map(json.loads, done.stdout.splitlines()) if record.get("params", {}).get("outside") == path]
    found = [(record["act"].rsplit("_", 1)[1], record["phase"], *(record["params"].get(key) for key in ("inside", "archive", "follow_link", "to"))) for record in records]
    assert sorted(found, key=repr) == [("in", "intent", "recorded", "yes", None, None), ("in", "outcome", "recorded", "yes", None, "/recorded"),
                                       ("out", "intent", "/src/lf", None, "yes", None), ("out", "outcome", "/src/lf", None, "yes", path)], (found, done.stdout[-4000:])


def start(name, needed, *options):
    container(name, "run", "-d", *options, "box:1", "sleep", "1000")
    docker("exec", name, "sh", "-c", " && ".join(f"({one})" for one in needed))


def begin():
    os.makedirs(HERE, exist_ok=True)
    side_by_side(start, ((SAME, [TREE]), (BOX, NEEDED, "--tmpfs", "/mem", "--tmpfs", "/deep/mem", "-v", "/vol")))


try:
    begin()
    main()
finally:
    run("docker", "-H", ENGINE, "rm", "-f", "-v", *containers)
