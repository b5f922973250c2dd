#!/usr/bin/python3
"""shells.py - what the command rules expect of a script, against what bash and dash do with it.

Every script runs in an empty directory tree (chroot) in namespaces of its own: no network, no other
processes, no programs but markers, which write down that they ran.  Two properties: what an allow list of
a and b passes runs nothing but a and b; what a block list of x passes does not run x.  First come the scripts of
tests/data/rules/corpus.txt, whose recorded behaviour must still be that of the shells; then generated ones,
from the same seeds in each run (BERTH_SOAK: many more, and BERTH_SEED chooses others).

  shells.py             what tests/run calls
  shells.py --record    reads scripts from stdin (one a line, \\n for a line break) and writes corpus lines
"""
import concurrent.futures
import json
import os
import queue
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

SRC = os.environ.get("SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD") or SRC + "/build-dev"
SOAK = os.environ.get("BERTH_SOAK") == "1"
COUNT = 150000 if SOAK else 800
SEED = int(os.environ.get("BERTH_SEED") or "1")
WORKERS = 8
MARKERS = ["a", "b", "x", "y", "env", "nice", "timeout", "time", "coproc", "select", "function", "[["]
NOT_JUDGED = {"env", "nice", "timeout", "time", "[["}  # wrappers; and no program has this name
BUILTINS = [":", "true", "false", "echo", "printf", "cd", "eval", "set", "export", "read", "test", "\\[", "trap",
            "shift", "unset", "local", "declare", "let", "wait", "exit", "return", "type", "umask", "break", "readonly"]
ALLOW = "\n".join(f"{name}( .*)?" for name in ["a", "b"] + BUILTINS)
BLOCK = "x( .*)?"
SHELLS = [("bash", "/bin/bash", "bash"), ("dash", "/bin/dash", "dash"), ("bash as sh", "/bin/bash", "sh")]


class World:
    """The tree in which scripts run."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="shells.")
        for directory in ["bin", "m", "w", "dev", "tmp"]:
            os.mkdir(f"{self.root}/{directory}")
        open(f"{self.root}/dev/null", "w", encoding="ascii").close()
        for shell in ["/bin/bash", "/bin/dash"]:
            self.bring(os.path.realpath(shell), shell)
            out = subprocess.run(["ldd", shell], capture_output=True, text=True, check=True).stdout
            for word in out.split():
                if word.startswith("/") and os.path.exists(word):
                    self.bring(word, word)
        for name in MARKERS:
            shutil.copy(f"{BUILD}/rules-marker", f"{self.root}/m/{name}")
        self.log = f"{self.root}/log"
        inside = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount", "--pid", "--net",
                  "--ipc", "--fork", "--kill-child"]
        if subprocess.run(inside + ["true"], capture_output=True).returncode != 0:
            print("skip shells: no namespaces of its own can be had here")
            sys.exit(77)
        self.runner = subprocess.Popen(inside + [sys.executable, os.path.abspath(__file__), "--runner", self.root],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def bring(self, path, to):
        target = self.root + to
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target):
            shutil.copy(path, target)

    def run(self, path, name, script):
        """Which markers ran, in their order; None: not done in time."""
        self.runner.stdin.write(json.dumps([path, name, script]) + "\n")
        self.runner.stdin.flush()
        return json.loads(self.runner.stdout.readline())

    def end(self):
        self.runner.stdin.close()
        self.runner.stdout.read()
        self.runner.wait()
        shutil.rmtree(self.root)


class Runner:
    """Runs scripts in the tree, as process 1 of its namespaces: what they leave behind becomes its own."""

    def __init__(self, root):
        self.root, self.log, self.late = root, root + "/log", False
        signal.signal(signal.SIGALRM, self.stop)

    def stop(self, *_):
        """All but process 1, again and again: one may just have been made."""
        self.late = True
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def serve(self):
        for line in sys.stdin:
            print(json.dumps(self.run(*json.loads(line))), flush=True)

    def start(self, path, name, script):
        try:
            os.setsid()
            null = os.open("/dev/null", os.O_RDWR)
            for fd in range(3):
                os.dup2(null, fd)
            os.chroot(self.root)
            os.chdir("/w")
            for what, limit in [(resource.RLIMIT_CPU, 1), (resource.RLIMIT_FSIZE, 1 << 20),
                                (resource.RLIMIT_NOFILE, 64), (resource.RLIMIT_CORE, 0)]:
                resource.setrlimit(what, (limit, limit))
            os.execve(path, [name, "-c", script], {"PATH": "/m", "HOME": "/w", "LC_ALL": "C"})
        finally:
            os._exit(126)

    def run(self, path, name, script):
        # What another script left is gone; there is one empty file.
        for name_left in os.listdir(self.root + "/w"):
            os.unlink(f"{self.root}/w/{name_left}")
        for path_empty in [self.log, self.root + "/w/f"]:
            with open(path_empty, "w", encoding="ascii"):
                pass
        if os.fork() == 0:
            self.start(path, name, script)
        self.late = False
        signal.setitimer(signal.ITIMER_REAL, 30)
        try:
            while True:
                os.waitpid(-1, 0)
        except ChildProcessError:
            pass
        signal.setitimer(signal.ITIMER_REAL, 0)
        if self.late:
            return None
        with open(self.log, encoding="ascii") as log:
            return log.read().split()


class Judge:
    def __init__(self):
        self.pipe = subprocess.Popen([f"{BUILD}/rules-judge"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def end(self):
        self.pipe.stdin.close()
        self.pipe.wait()

    def ask(self, shell, kind, patterns, script):
        fields = [shell, kind, patterns, script]
        self.pipe.stdin.write(b"".join(f.encode("utf-8", "surrogateescape") + b"\0" for f in fields))
        self.pipe.stdin.flush()
        line = self.pipe.stdout.readline().decode("utf-8", "replace")
        if not line:
            print("not ok rules-judge ended on:", repr(script))
            sys.exit(1)
        return line[0] == "1", line[2:].strip()


class Random:
    """A script of constructs that are easily misread, of commands a b x y."""

    def __init__(self, seed, dynamic):
        self.r = random.Random(seed)
        self.dynamic = dynamic  # may a name be computed?
        self.depth = 0

    def pick(self, *of):
        return self.r.choice(of)

    def name(self):
        n = self.pick("a", "a", "a", "b", "b", "x", "y")
        form = self.r.random()
        if form < 0.7:
            return n
        if form < 0.95 or not self.dynamic:
            return self.pick("\\" + n, f"'{n}'", f'"{n}"', f"$'{n}'", f'$"{n}"', f"/m/{n}", f'""{n}', f"{n}''", "\\\n" + n,
                             f"{{{n},1}}", "$'\\x%02x'" % ord(n))
        return self.pick("$V", '"$V"', "${V}", "${V:-%s}" % n, '"$@"', "$*", f"$(echo {n})", "${V}" + n, "$U " + n,
                         "/m/?", "${V%%z}", "{%s..%s}" % (n, n), "$1 " + n)

    def word(self):
        return self.pick("1", "w", '"w w"', "'it;s'", "'#'", "#", "-p", "--", "\\;", '"$(%s)"' % self.inner(), "$(%s)" % self.inner(),
                         "`%s`" % self.inner().replace("`", "").replace("\\", ""), "$((1+2))", "$((V<<1))", "$[1<<2]", "${V:-$(%s)}" % self.inner(),
                         '"${V:-w}"', "<(%s)" % self.inner(), "{1,2}", "a=b", "~", "*", "$'\\''", "'$(x)'", "'`x`'",
                         '"\\$(x)"', "${#V}", "${V@P}", "${V@Q}", "$#", "${V//a/'}'}", '"${V#"}"}"', "))", "]]", "in", "do")

    def assign(self):
        return self.pick("V=a", "V=x", "V=b", "V=", "V+=x", "V[1]=1", "V[$(%s)]=1" % self.inner(), "V=$(%s)" % self.inner(), "U='a x'",
                         "V=(a x)", "V='a[$(x)]'", "IFS=a", "V=w$((1))")

    def redirect(self):
        return self.pick(">f", "2>f", "2>&1", "<f", "{fd}>f", "&>f", ">&f", "<<<w", ">>f", "<>f", ">|f", ">&-", "3<&0-",
                         "> >(%s)" % self.inner(), "<<'E'\nx\nE\n", "<<E\nx $(%s)\nE\n" % self.inner(), "<<-E\n\tx\n\tE\n",
                         "<<$'E'\nx\nE\n", "<<$(x)\nx\n$(x)\n", '<<"E"\n`x`\nE\n', "<<E\nx\\\nE\nE\n", "<<\\E\nx\nE\n")

    def inner(self):
        if self.depth > 2:
            return self.name()
        return self.script(self.pick(1, 1, 1, 2))

    def simple(self):
        parts = []
        if self.r.random() < 0.15:
            parts.append(self.pick("time", "time -p", "time --", "!", "time -p --", "nice", "env", "env V=1", "command", "exec", "timeout 1",
                                   "nice -n 1", "coproc", "builtin", "eval", "time -f w", "command -p", "exec -a b"))
        if self.r.random() < 0.15:
            parts.append(self.assign())
        if self.r.random() < 0.1:
            parts.append(self.redirect())
        if self.r.random() < 0.9:
            parts.append(self.name())
        parts += [self.word() for _ in range(self.pick(0, 0, 0, 1, 1, 2))]
        if self.r.random() < 0.12:
            parts.append(self.redirect())
        return " ".join(parts) or ":"

    def command(self):
        self.depth += 1
        kind = self.r.random() if self.depth < 4 else 0
        if kind < 0.55:
            out = self.simple()
        else:
            s = self.inner
            out = self.pick(
                lambda: f"({s()})", lambda: "{ %s; }" % s(), lambda: f"if {s()}; then {s()}; else {s()}; fi",
                lambda: f"for V in 1 {self.word()}; do {s()}; done", lambda: f"for V do {s()}; done",
                lambda: f"for V in a x\ndo {s()}\ndone", lambda: f"case {self.word()} in 1|w) {s()};; *) {s()};; esac",
                lambda: f"case w in (w) {s()} ;& x) {s()};; esac", lambda: f"case x in x) {s()}\nesac",
                lambda: f"f() {{ {s()}; }}; f", lambda: f"f() ( {s()} ); f", lambda: f"function f {{ {s()}; }}; f",
                lambda: f"[[ {self.word()} && -n {self.word()} ]] && {s()}", lambda: f"[[ w || {self.name()} ]]",
                lambda: f"[[ w < {self.name()} ]]", lambda: f"[[ w =~ ({self.name()}|w) ]]", lambda: f"((1 < 2)) && {s()}", lambda: "((V = 1 << 2))\n" + s(),
                lambda: f"while {s()}; false; do {s()}; done", lambda: f"for ((V=0;V<1;V++)); do {s()}; done",
                lambda: f"for ((V=0;V<1;V++)) do {s()}; done", lambda: f"eval '{self.simple_plain()}'", lambda: f"trap '{self.simple_plain()}' EXIT",
                lambda: "set -- %s\n%s" % (self.name(), s()), lambda: f"{self.assign()}; {s()}", lambda: f"{self.assign()}\n{s()}",
                lambda: f"coproc {s()}", lambda: f"coproc V {{ {s()}; }}", lambda: "let '%s'" % self.pick("V=1", "V[$(x)]=1", "1+1"),
                lambda: f"echo $((V[{self.pick('1', '$(x)', '0')}]))", lambda: f"V=({self.word()} {self.name()}); {s()}",
                lambda: f"printf -v '{self.pick('V', 'V[$(x)]')}' w", lambda: f"test -v '{self.pick('V', 'V[$(x)]')}'",
                lambda: f"# {self.word()}\n{s()}", lambda: f"select V in; do {s()}; done", lambda: f"alias a=x\n{s()}",
                lambda: f"shopt -s extglob\necho @({s()}|w)", lambda: f"bash -c '{self.simple_plain()}'", lambda: f"unset 'V[$(x)]'",
                lambda: f"bash <<'E'\n{s()}\nE\n", lambda: f"echo {self.name()} | bash")()
        self.depth -= 1
        return out

    def simple_plain(self):
        return self.pick("a", "x", "b; x", "a && x", "$V", "a # x", "a\nx")

    def script(self, n):
        out = self.command()
        for _ in range(n - 1):
            out += self.pick("; ", "\n", " && ", " || ", " | ", " & ", "\n\n", " |& ", ";", "&", "&&\\\n", " \\\n") + self.command()
        return out

    def mutate(self, text):
        """Cut, doubled, or with something put in that changes how the rest is read."""
        for _ in range(self.pick(0, 0, 0, 1, 1, 2, 3)):
            at = self.r.randrange(len(text) + 1)
            kind = self.r.random()
            if kind < 0.6:
                text = text[:at] + self.pick("\\\n", "'", '"', "$(", ")", "`", ";", "\n", "<<E\n", "#", "{", "}", "((", "))", "[[ ", " ]]",
                                             "case w in ", "esac", " in ", "do ", "\\", "$", "\nE\n", "&", "|", "<", ">", "(", "!", " x ", "\r",
                                             "${", "=", "$'", "if ", "fi", "time ") + text[at:]
            elif kind < 0.9:
                text = text[:at] + text[at + self.pick(1, 1, 2, 3):]
            else:
                to = min(len(text), at + self.r.randrange(12))
                text = text[:to] + text[at:]
        return text

    def make(self):
        return self.mutate(self.script(self.pick(1, 2, 2, 3))).replace("\0", "")


def quote(script):
    return script.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")


def unquote(line):
    out, at = "", 0
    while at < len(line):
        if line[at] == "\\" and at + 1 < len(line):
            out += {"n": "\n", "t": "\t", "r": "\r"}.get(line[at + 1], line[at + 1])
            at += 2
        else:
            out += line[at]
            at += 1
    return out


def verdicts(judge, script):
    """allow and block, each as bash -c and as sh -c"""
    return [judge.ask(shell, kind, ALLOW if kind == "allow" else BLOCK, script)[0]
            for kind in ["allow", "block"] for shell in ["bash", "sh"]]


def outside(ran):
    return [m for m in ran if m not in ("a", "b") and m not in NOT_JUDGED]


def violations(judge, world, script, dynamic):
    """Properties that do not hold for it, and whether each list passed it."""
    found, refused = [], verdicts(judge, script)
    if all(refused[:2]) and (dynamic or all(refused[2:])):
        return found, refused
    for what, path, name in SHELLS:
        sh = name != "bash"
        if refused[sh] and (refused[2 + sh] or dynamic):
            continue
        ran = world.run(path, name, script)
        if ran is None:
            continue
        if not refused[sh] and outside(ran):
            found.append(f"allowed, and {what} ran {' '.join(ran)}")
        if not refused[2 + sh] and not dynamic and "x" in ran:
            found.append(f"not blocked, and {what} ran {' '.join(ran)}")
    return found, refused


def each(pairs, function, items):
    """function(world, judge, item) of all, several at once, in their order"""
    def one(item):
        world, judge = pairs.get()
        try:
            return function(world, judge, item)
        finally:
            pairs.put((world, judge))

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        yield from pool.map(one, items)


def behaviour(world, script):
    """As the first two columns of corpus.txt have it."""
    ran = [world.run(path, name, script) for _, path, name in SHELLS[:2]]
    return ["?" if one is None else " ".join(sorted(one)) or "-" for one in ran]


def corpus(pairs):
    def look(world, _, line):
        bash, dash, _, text = line.split("\t", 3)
        return text, [bash, dash], behaviour(world, unquote(text))

    with open(f"{SRC}/tests/data/rules/corpus.txt", encoding="utf-8") as f:
        lines = [line for line in f.read().split("\n") if line and not line.startswith("#")]
    bad = 0
    for text, want, got in each(pairs, look, lines):
        if want != got:
            bad += 1
            print(f"    bash and dash ran {got}, recorded is {want}: {text}")
    print(f"{'not ok' if bad or not lines else 'ok'} shells.corpus: {len(lines)} scripts do in bash and dash what is recorded")
    return bad or not lines


def record(pairs):
    def look(world, judge, line):
        if line.startswith("#") or not line:
            return line
        script = unquote(line)
        said = "".join("R" if refused else "." for refused in verdicts(judge, script))
        return "\t".join([*behaviour(world, script), said, line])

    for line in each(pairs, look, sys.stdin.read().splitlines()):
        print(line)


def generated(pairs):
    def look(world, judge, seed):
        dynamic = seed % 2 == 0
        script = Random(seed, dynamic).make()
        return seed, script, *violations(judge, world, script, dynamic)

    bad = passed = scripts = 0
    for seed, script, found, refused in each(pairs, look, range(SEED * 1000000, SEED * 1000000 + COUNT)):
        scripts += 1
        passed += not refused[0]
        for what in found:
            bad += 1
            if bad <= 20:
                print(f"    seed {seed}: {what}: {quote(script)}", flush=True)
    name = f"shells.generated: {scripts} scripts, {passed} of them allowed"
    if passed < scripts // 20:
        print(f"not ok {name}: too few for the test to say anything")
        return 1
    print(f"{'not ok' if bad else 'ok'} {name}, {bad} contradictions")
    return bad


def main():
    if sys.argv[1:2] == ["--runner"]:
        Runner(sys.argv[2]).serve()
        return 0
    pairs = queue.Queue()
    for _ in range(WORKERS):
        pairs.put((World(), Judge()))
    try:
        if sys.argv[1:] == ["--record"]:
            record(pairs)
            return 0
        return 1 if corpus(pairs) + generated(pairs) else 0
    finally:
        while not pairs.empty():
            world, judge = pairs.get()
            judge.end()
            world.end()


sys.exit(main())
