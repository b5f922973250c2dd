#!/usr/bin/python3
"""copying.py - what berth's copies of a tree lose, against cp -a, rsync and tar: files copy and move, workspace fork, and a
checkpoint that is restored."""
import collections
import ctypes
import hashlib
import itertools
import os
import random
import shutil
import stat
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from oracle_trees import SHORT, SHOWN, SOAK, on_own_mount, shrink  # noqa: E402

BERTH, TMPDIR = os.environ["BERTH"], os.environ["TMPDIR"]
GENERATED = 120 if SHORT else 20000 if SOAK else 300
ROOT = os.geteuid() == 0
numbers = itertools.count()
YEAR = 31556952
BLOCK = 4096
SECOND = 10**9

# attrs: {name: value}; data: [(where, bytes)] of a file of this size; to: the target, or the name of the other hard link.
Node = collections.namedtuple("Node", "name kind mode owner attrs data size to times", defaults=(0o644, None, (), (), 0, None, None))


def acl(*entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, bits, who) for tag, bits, who in entries)


ANY = 0xffffffff
ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
FOR_1001 = acl((1, 6, ANY), (2, 4, 1001), (4, 0, ANY), (0x10, 4, ANY), (0x20, 0, ANY))
FOR_GROUP = acl((1, 7, ANY), (4, 5, ANY), (8, 7, 1002), (0x10, 7, ANY), (0x20, 1, ANY))
CAPABILITY = struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0)
SOME_ATTRS = [("user.a", b"1"), ("user.empty", b""), ("user.long", b"x" * 3000), ("user.bytes", bytes(range(256))), (ACCESS, FOR_1001), (ACCESS, FOR_GROUP)]
MANY_ATTRS = tuple((f"user.{'n' * 200}{i}", b"v") for i in range(30))  # their names are more than 4 KiB
NAMES = [b"a", b"b", b"c", b"d", b"a b", b"-x", b"a\nb", b"\xff\xfe", b"\x01", b"\\", b'"', b"*", b" ", b"...", b"\xc3\xa9", b"n" * 255]
YEARS = [1, 1500, 1676, 1677, 1678, 1900, 1969, 1970, 2000, 2026, 2038, 2106, 2261, 2262, 2263, 2446, 5000, 9999]
MODES = [0o644, 0o600, 0o000, 0o755, 0o777, 0o400, 0o4755, 0o2755, 0o6711, 0o1644, 0o7777]
DIR_MODES = [0o755, 0o700, 0o555, 0o000, 0o1777, 0o2775, 0o3770, 0o7777, 0o4755]
LAYOUTS = [((), 0), (((0, b"a"),), 1), (((0, b"a" * 5000),), 5000), ((), 1), ((), 100000), ((), 1 << 20), (((0, b"a"),), 1 << 22),
           (((1 << 20, b"end"),), (1 << 20) + 3), (((65536, b"x" * 4096),), 100000), (((0, b"x" * 4096), (8192, b"y" * 4096)), 12288), (((0, b"x" * 200000),), 200000),
           (((300000, b"x"), (700000, b"y" * 9000)), 1 << 20), (((4096, b"z"),), 8192)]


def at_year(year, more=0):
    return (year - 1970) * YEAR * SECOND + more


def listed():
    file, folder = Node(b"a", "file", data=((0, b"text\n"),), size=5), Node(b"d", "dir", 0o755)
    inner = file._replace(name=b"d/a")
    for name in NAMES:
        yield [file._replace(name=name)]
        yield [folder._replace(name=name), file._replace(name=name + b"/" + name)]
        yield [Node(b"l", "link", to=name)]
    for mode in MODES:
        yield [file._replace(mode=mode)]
        yield [Node(b"p", "fifo", mode)]
    for mode in DIR_MODES:
        yield [folder._replace(mode=mode), inner]
    for data, size in LAYOUTS:
        yield [file._replace(data=data, size=size)]
    for year in YEARS:
        for kind, more in (("file", {"data": ((0, b"x"),), "size": 1}), ("dir", {"mode": 0o755}), ("link", {"to": b"x"}), ("fifo", {})):
            yield [Node(b"a", kind, times=(at_year(year, 123456789), at_year(year, 999999999)), **more)]
    for attr in SOME_ATTRS:
        yield [file._replace(attrs=(attr,))]
        yield [folder._replace(attrs=(attr,)), inner]
        if attr[0] == ACCESS:
            yield [Node(b"p", "fifo", attrs=(attr,))]
            yield [folder._replace(attrs=((DEFAULT, attr[1]),)), inner, inner._replace(name=b"d/e", kind="dir", mode=0o750), Node(b"d/p", "fifo"), Node(b"d/s", "socket")]
            yield [folder._replace(attrs=((DEFAULT, attr[1]), attr)), inner._replace(attrs=(("user.a", b"1"),))]
    yield [file._replace(data=((1 << 33, b"x"),), size=(1 << 33) + 1)]
    yield [file._replace(attrs=MANY_ATTRS)]
    yield [folder._replace(attrs=MANY_ATTRS), inner]
    yield [file._replace(attrs=(("user.big", b"x" * 30000),))]
    for first in (file, Node(b"a", "link", to=b"nowhere"), Node(b"a", "fifo", 0o640), Node(b"a", "socket", 0o600)):
        yield [first, Node(b"b", "hard", to=b"a")]
        yield [first, folder, Node(b"d/b", "hard", to=b"a"), Node(b"d/c", "hard", to=b"a")]
    yield [Node(b"a", "socket", 0o640)]
    if ROOT:
        yield [Node(b"a", "char", 0o600, size=0x103)]
        yield [Node(b"a", "block", 0o600, size=0x700)]
        yield [file._replace(attrs=(("security.capability", CAPABILITY),), mode=0o755)]
        yield [file._replace(attrs=(("trusted.a", b"1"),))]
        for owner in ((1000, 1000), (0, 1000), (1000, 0), (12345, 54321)):
            yield [file._replace(owner=owner, mode=0o6755)]
            yield [folder._replace(owner=owner, mode=0o3775), inner._replace(owner=owner)]
            yield [Node(b"l", "link", to=b"x", owner=owner), Node(b"p", "fifo", 0o2660, owner)]


def generated(rng):
    nodes, folders = [], [b""]
    for _ in range(rng.choice((1, 2, 3, 4, 6))):
        name = rng.choice(folders) + rng.choice(NAMES)
        if any(node.name == name for node in nodes):
            continue
        kind = rng.choice(("file", "file", "file", "dir", "dir", "link", "fifo", "hard", "socket") + (("char",) if ROOT else ()))
        node = Node(name, kind, rng.choice(MODES))
        if kind == "hard":
            others = [other for other in nodes if other.kind not in ("dir", "hard")]
            if others:
                nodes.append(node._replace(to=rng.choice(others).name))
            continue
        if kind == "dir":
            node = node._replace(mode=rng.choice(DIR_MODES))
            folders.append(name + b"/")
        elif kind == "file":
            data, size = rng.choice(LAYOUTS)
            node = node._replace(data=data, size=size)
        elif kind == "link":
            node = node._replace(to=rng.choice(NAMES))
        elif kind == "char":
            node = node._replace(size=0x103)
        if kind in ("file", "dir") and rng.random() < 0.5:
            attrs = dict(rng.sample(SOME_ATTRS, rng.choice((1, 1, 2, 3))))
            if kind == "dir" and rng.random() < 0.5:
                attrs[DEFAULT] = rng.choice((FOR_1001, FOR_GROUP))
            node = node._replace(attrs=tuple(attrs.items()))
        if rng.random() < 0.4:
            node = node._replace(times=(at_year(rng.choice(YEARS), rng.randrange(SECOND)), at_year(rng.choice(YEARS), rng.randrange(SECOND))))
        if ROOT and rng.random() < 0.2:
            node = node._replace(owner=(rng.choice((0, 1000, 70000)), rng.choice((0, 1000, 70000))))
        nodes.append(node)
    return nodes


# --- trees ---

def make(path, node, top):
    if node.kind == "dir":
        os.mkdir(path)
    elif node.kind == "link":
        os.symlink(node.to, path)
    elif node.kind == "hard":
        os.link(os.path.join(top, node.to), path, follow_symlinks=False)
        return
    elif node.kind == "file":
        with open(path, "wb") as file:
            for where, data in node.data:
                file.seek(where)
                file.write(data)
            file.truncate(node.size)
    else:
        os.mknod(path, {"fifo": stat.S_IFIFO, "socket": stat.S_IFSOCK, "char": stat.S_IFCHR, "block": stat.S_IFBLK}[node.kind] | 0o600, node.size)
    if node.owner:
        os.lchown(path, *node.owner)
    if node.kind not in ("link", "dir"):
        os.chmod(path, node.mode)
    for name, value in node.attrs:
        try:
            os.setxattr(path, name, value, follow_symlinks=False)
        except OSError:
            pass  # not every file system has each of them
    if node.attrs and node.kind != "link" and not any(name == ACCESS for name, _ in node.attrs) and node.kind != "dir":
        os.chmod(path, node.mode)


def write(top, nodes):
    """A node that cannot be made is left out."""
    made = []
    os.mkdir(top)
    for node in nodes:
        path = os.path.join(top, node.name)
        try:
            make(path, node, top)
            made.append((path, node))
        except OSError:
            pass
    for path, node in reversed(made):
        if node.kind == "dir" and not any(name == ACCESS for name, _ in node.attrs):
            os.chmod(path, node.mode)
        if node.kind != "hard":
            os.utime(path, ns=node.times or (at_year(2020), at_year(2021)), follow_symlinks=False)
    os.utime(top, ns=(at_year(2019), at_year(2019)))


def extents(path, size):
    """Where there are data, in whole blocks."""
    found, at = [], 0
    with open(path, "rb") as file:
        while at < size:
            try:
                start = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            found.append((start // 4096, -(-at // 4096)))
    return found


def look(path, there, st):
    found = {"type": stat.S_IFMT(st.st_mode), "mode": stat.S_IMODE(st.st_mode), "owner": st.st_uid, "group": st.st_gid, "mtime": st.st_mtime_ns, "atime": st.st_atime_ns,
             "first": there.setdefault((st.st_dev, st.st_ino), path)}
    if stat.S_ISREG(st.st_mode):
        found["size"], found["holes"] = st.st_size, extents(path, st.st_size)
        with open(path, "rb") as file:
            found["hash"] = hashlib.sha1(b"".join(os.pread(file.fileno(), min((end - start) * 4096, 1 << 20), start * 4096) for start, end in found["holes"]).rstrip(b"\0")).hexdigest()
    elif stat.S_ISLNK(st.st_mode):
        found["target"] = os.readlink(path)
    elif not stat.S_ISDIR(st.st_mode):
        found["device"] = st.st_rdev
    found["attrs"] = {name: os.getxattr(path, name, follow_symlinks=False) for name in sorted(os.listxattr(path, follow_symlinks=False))}
    return found


def read(top):
    """{name: what it is} of all below: their times first, for reading changes those of access."""
    found, there, folders, seen = {}, {}, [top], []
    while folders:
        folder = folders.pop()
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            st = entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            seen.append((entry.path, st))
    for path, st in seen:
        found[os.path.relpath(path, top)] = look(path, there, st)
    for node in found.values():
        node["first"] = os.path.relpath(node["first"], top)
    return found


def fresh(what, where=TMPDIR):
    return os.path.join(where, f"{what}{next(numbers)}").encode()


def write_all(inputs, top=None):
    top = top or fresh("from")
    if not os.path.isdir(top):
        os.mkdir(top)
    for i, nodes in enumerate(inputs):
        write(os.path.join(top, b"%d" % i), nodes)
    os.utime(top, ns=(at_year(2018), at_year(2018)))
    return top


def read_all(top, count):
    """Of each input."""
    found = [{} for _ in range(count)]
    for i in range(count):
        if os.path.isdir(os.path.join(top, b"%d" % i)):
            found[i] = read(os.path.join(top, b"%d" % i))
    return found


def run(*command, may_fail=False, **more):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=300, **more)
    if done.returncode and not (may_fail and done.returncode == 1):
        raise RuntimeError(f"{command}: exit {done.returncode}: {done.stdout.decode(errors='replace')[-2000:]}")
    return done.returncode


def remove(*tops):
    for top in tops:
        shutil.rmtree(top, ignore_errors=True)


# --- programs: a source that is there, a copy that is made ---

def by_cp(source, to):
    run("cp", "-a", source, to)


def by_rsync(source, to):
    run("rsync", "-aHAXSU", "--numeric-ids", source + b"/", to)


def by_tar(source, to):
    options = ("--xattrs", "--xattrs-include=*", "--acls", "--numeric-owner")
    os.mkdir(to)
    run("tar", "-C", source, *options, "--format=posix", "-Scf", to + b".tar", ".")
    run("tar", "-C", to, *options, "-pxf", to + b".tar")
    os.unlink(to + b".tar")


def relative(path):
    return os.path.relpath(path, TMPDIR.encode())


def by_files_copy(source, to, *options):
    run(BERTH, "files", "copy", *options, "--root", TMPDIR, relative(source), relative(to))


def by_files_copy_owner(source, to):
    by_files_copy(source, to, "--keep-owner")


OTHER = os.path.join(TMPDIR, "other")  # another file system, where that may be


def by_files_move(source, to):
    """There and back: once is a rename only."""
    over = fresh("moved", OTHER)
    run(BERTH, "files", "move", "--root", TMPDIR, relative(source), relative(over), may_fail=True)
    run(BERTH, "files", "move", "--root", TMPDIR, relative(over), relative(to), may_fail=True)


def workspace(name):
    return os.path.join(os.environ["XDG_DATA_HOME"], "berth/workspaces/tasks", name, "files").encode()


def by_fork(source, to):
    name = f"w{next(numbers)}"
    run(BERTH, "workspace", "create", "task", name)
    os.rmdir(workspace(name))
    os.rename(source, workspace(name))
    run(BERTH, "workspace", "fork", name, "1")
    os.rename(workspace(name + "-1"), to)
    remove(os.path.dirname(workspace(name)), os.path.dirname(workspace(name + "-1")))


def spoil(top):
    """Something else about everything."""
    for folder, folders, files in list(os.walk(top, topdown=False)):
        for i, name in enumerate(sorted(files + folders)):
            path = os.path.join(folder, name)
            if i % 3 == 2 and name in files:
                os.unlink(path)
                continue
            if not os.path.islink(path):
                os.chmod(path, 0o700)
                for attr in os.listxattr(path):
                    os.removexattr(path, attr)
            if os.path.isdir(path) or os.path.isfile(path) and not os.path.islink(path):
                os.setxattr(path, "user.spoiled", b"1")
            if ROOT:
                os.lchown(path, 3, 3)
            os.utime(path, (5, 5), follow_symlinks=False)


def by_restore(source, to, damage=remove):
    name = f"w{next(numbers)}"
    run(BERTH, "workspace", "create", "task", name)
    os.rmdir(workspace(name))
    os.rename(source, workspace(name))
    run(BERTH, "workspace", "checkpoint", name, "one")
    for inner in os.scandir(workspace(name)):
        damage(inner.path)
    run(BERTH, "workspace", "restore", name, "one")
    os.rename(workspace(name), to)
    remove(os.path.dirname(workspace(name)))


def by_restore_spoiled(source, to):
    by_restore(source, to, spoil)


def without_rights():
    """Root that may read no more than others: as a user, but that every owner can be given."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        libc.prctl(24, capability, 0, 0, 0)


def by_cp_closed(source, to):
    run("cp", "-a", source, to, may_fail=True, preexec_fn=without_rights)


def by_files_copy_closed(source, to):
    run(BERTH, "files", "copy", "--keep-owner", "--root", TMPDIR, relative(source), relative(to), may_fail=True, preexec_fn=without_rights)


# --- where they are meant to differ: what berth makes of what the other makes; None: nothing ---

def is_type(*types):
    return lambda node: node["type"] in types


SPECIAL = (stat.S_IFSOCK, stat.S_IFCHR, stat.S_IFBLK)


def drop(node, *fields, **values):
    return {**{key: value for key, value in node.items() if key not in fields}, **values}


def plain_owner(node):
    own = (os.geteuid(), os.getegid())
    mode = node["mode"]
    if stat.S_ISDIR(node["type"]):
        mode &= ~(0 if node["group"] == own[1] else stat.S_ISGID) & ~stat.S_ISUID
    else:
        mode &= ~(stat.S_ISUID | stat.S_ISGID)
    attrs = {name: value for name, value in node["attrs"].items() if name.startswith(("user.", "system."))}
    return drop(node, owner=own[0], group=own[1], mode=mode if not stat.S_ISLNK(node["type"]) else node["mode"], attrs=attrs)


def closed(node):
    return None if stat.S_ISDIR(node["type"]) and not node["mode"] & 0o400 else node


def is_pipe_linked(nodes):
    """tar stores names of one pipe as so many pipes."""
    pipes = [node.name for node in nodes if node.kind == "fifo"]
    return any(node.kind == "hard" and node.to in pipes for node in nodes)


MEANT = [
    ({"files copy", "files copy --keep-owner", "files move", "unreadable"}, lambda node: None if node["type"] in SPECIAL else node,
     "a socket is of no use in another place and a device gives rights: both are left out and counted"),
    ({"files copy"}, plain_owner, "without --keep-owner the copy is the caller's own: no other owner, no set-id bits or capabilities that a tool may have put there"),
    ({"unreadable"}, closed, "of a directory that cannot be listed nothing is made: an empty one would look like its copy; both programs fail"),
]


class Kind:
    def __init__(self, what, other, berth, fit=lambda nodes: True, ignored=()):
        self.what, self.other, self.berth, self.fit, self.ignored = what, other, berth, fit, ignored
        self.name = what + {by_cp: "", by_cp_closed: "", by_rsync: ", rsync", by_tar: ", tar"}[other]

    def meant(self, tree):
        for whose, change, _ in MEANT:
            if self.what in whose:
                tree = {path: made for path, node in tree.items() if (made := change(node))}
        # The first of the names of an inode may be among what is gone.
        return tree

    def seen(self, tree, source):
        """What is compared. The time of access of a directory is none: reading it, as each program does, changes it."""
        seen = {}
        for path, node in tree.items():
            fields = self.ignored + (("atime",) if stat.S_ISDIR(node["type"]) else ())
            # Blocks of holes: to have as few as the source is right, whatever the other makes.
            if node.get("holes") == source.get(path, {}).get("holes") or node.get("size", BLOCK) <= BLOCK:
                fields += ("holes",)
            seen[path] = drop(node, *fields)
        return seen

    def judge(self, inputs):
        """[(what the other makes, berth)] of each input."""
        found, truth = [], write_all(inputs)
        sources = read_all(truth, len(inputs))
        remove(truth)
        for program in (self.other, self.berth):
            source, to = write_all(inputs), fresh("to")
            program(source, to)
            found.append([self.seen(tree, source) for tree, source in zip(read_all(to, len(inputs)), sources)])
            remove(source, to)
        return list(zip(*found))

    def differing(self, inputs):
        bad, meant = [], []
        self.judged = self.judge(inputs)
        for i, (other, berth) in enumerate(self.judged):
            if berth != other:
                (meant if berth == self.meant(other) else bad).append(i)
        return bad, meant

    def report(self, inputs):
        inputs = [nodes for nodes in inputs if self.fit(nodes)]
        bad, meant = self.differing(inputs)
        judged = self.judged
        print(f"note oracle copying, {self.name}: {len(inputs)} inputs, {len(inputs) - len(bad) - len(meant)} agree, {len(meant)} differ as they are meant to, {len(bad)} otherwise",
              flush=True)
        for i in bad[:SHOWN]:
            small = shrink(inputs[i], lambda nodes: [nodes for nodes in smaller(nodes) if self.fit(nodes)], lambda options: self.differing(options)[0])
            # What does not differ a second time is shown as it was.
            if not self.differing([small])[0]:
                small, self.judged = inputs[i], [judged[i]]
            (other, berth), = self.judged
            other = self.meant(other)
            for path in sorted({*other, *berth}):
                a, b = other.get(path), berth.get(path)
                if a is None or b is None:
                    print(f"# number {i}: {small}: {path} is there by {'berth' if b else 'the other'} only")
                elif a != b:
                    print(f"# number {i}: {small}: {path}: (other, berth) {({key: (a.get(key), b.get(key)) for key in {*a, *b} if a.get(key) != b.get(key)})}")
        print("not ok" if bad else "ok", self.name)
        return bool(bad)


def smaller(nodes):
    for i, node in enumerate(nodes):
        rest = [other for other in nodes if other is not node and other.to != node.name and not other.name.startswith(node.name + b"/")]
        if rest:
            yield rest
        for field, plain in (("mode", 0o755), ("owner", None), ("attrs", ()), ("times", None), ("data", ())):
            if getattr(node, field) != plain:
                yield nodes[:i] + [node._replace(**{field: plain})] + nodes[i + 1:]


def main():
    on_own_mount()
    os.umask(0o022)
    os.environ["XDG_DATA_HOME"] = os.path.join(TMPDIR, "data")
    os.environ["XDG_STATE_HOME"] = os.path.join(TMPDIR, "state")
    os.mkdir(OTHER)
    across = bool(os.environ.get("OWN_MOUNTS")) and subprocess.run(["mount", "-t", "tmpfs", "other", OTHER], stderr=subprocess.DEVNULL, check=False, timeout=60).returncode == 0
    rng = random.Random(34)
    inputs = [*listed(), *(nodes for nodes in (generated(rng) for _ in range(GENERATED)) if nodes)]
    for _, _, why in MEANT:
        print(f"note oracle copying, meant to differ: {why}")
    kinds = [Kind("files copy", by_cp, by_files_copy), Kind("files copy --keep-owner", by_cp, by_files_copy_owner)]
    if shutil.which("rsync"):
        kinds.append(Kind("files copy --keep-owner", by_rsync, by_files_copy_owner, fit=lambda nodes: all(node.size < 1 << 30 for node in nodes), ignored=("atime", "holes")))
    kinds.append(Kind("files copy --keep-owner", by_tar, by_files_copy_owner, fit=lambda nodes: not is_pipe_linked(nodes), ignored=("atime", "holes")))
    if across:
        kinds.append(Kind("files move", by_cp, by_files_move))
    kinds += [Kind("workspace fork", by_cp, by_fork), Kind("workspace restore", by_cp, by_restore), Kind("workspace restore", by_cp, by_restore_spoiled)]
    if ROOT:
        kinds.append(Kind("unreadable", by_cp_closed, by_files_copy_closed, ignored=("attrs",), fit=lambda nodes: not any(node.owner or {ACCESS, DEFAULT} & {name for name, _ in node.attrs} for node in nodes)))
    failed = [kind.report(inputs) for kind in kinds]
    return int(any(failed))


if __name__ == "__main__":
    sys.exit(main())
