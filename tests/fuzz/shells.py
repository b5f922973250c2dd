#!/usr/bin/python3
"""shells.py - what the command rules expect of a script, against what bash and dash do with it.

Every script runs in an empty directory tree (chroot) in namespaces of its own: no network, no other
processes, no programs but markers, which write down that they ran.  Two properties: what an allow list of
a and b passes runs nothing but a and b; what a block list of x passes does not run x.  First come the scripts of
tests/data/rules/corpus.txt, whose recorded behaviour must still be that of the shells; then generated ones,
from the same seeds in each run (BERTH_SOAK: many more, and BERTH_SEED chooses others).  All scripts are judged by
one process, and run by one (judge/runner.c) with a few workers.

  shells.py             what tests/run calls
  shells.py --record    reads scripts from stdin (one a line, \\n for a line break) and writes corpus lines
"""
import os
import random
import shutil
import subprocess
import sys
import tempfile

SRC = os.environ.get("SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD") or SRC + "/build-dev"
SOAK = os.environ.get("BERTH_SOAK") == "1"
COUNT = 150000 if SOAK else 1000
SEED = int(os.environ.get("BERTH_SEED") or "1")
WORKERS = 2 * len(os.sched_getaffinity(0))
# A script that is not done in time says nothing; one of the corpus gets a second, longer try, and so do all where the
# machine is so busy that few are done.
LIMIT_MS, BUSY_MS, PATIENT_MS = 1000, 8000, 30000
MARKERS = ["a", "b", "x", "y", "env", "nice", "timeout", "time", "coproc", "select", "function", "[["]
NOT_JUDGED = {"env", "nice", "timeout", "time", "[["}  # wrappers; and no program has this name
BUILTINS = [":", "true", "false", "echo", "printf", "cd", "eval", "set", "export", "read", "test", "\\[", "trap",
            "shift", "unset", "local", "declare", "let", "wait", "exit", "return", "type", "umask", "break", "readonly"]
ALLOW = "\n".join(f"{name}( .*)?" for name in ["a", "b"] + BUILTINS)
BLOCK = "x( .*)?"
SHELLS = ["bash", "dash", "sh"]  # the last is bash under this name


def encode(text):
    return text.encode("utf-8", "surrogateescape") + b"\0"


class World:
    """The tree in which scripts run."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="shells.")
        for directory in ["bin", "m", "w", "dev", "log", "tmp"]:
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

    def bring(self, path, to):
        target = self.root + to
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target):
            shutil.copy(path, target)

    def run(self, cases, limit=LIMIT_MS):
        """Of each (shell, script) which markers ran, in their order; None: not done in time."""
        done = subprocess.run([f"{BUILD}/rules-runner", self.root, str(WORKERS), str(limit)],
                              input=b"".join(encode(shell) + encode(script) for shell, script in cases),
                              stdout=subprocess.PIPE, check=False)
        if done.returncode == 77:
            print("skip shells: no namespaces of its own can be had here")
            sys.exit(77)
        lines = done.stdout.decode("ascii").splitlines()
        if done.returncode or len(lines) != len(cases):
            print(f"not ok rules-runner: exit {done.returncode}, {len(lines)} results of {len(cases)}")
            sys.exit(1)
        return [None if line == "late" else line.split() for line in lines]

    def end(self):
        shutil.rmtree(self.root)


def judge(scripts):
    """Under the allow and the block list, each as bash -c and as sh -c: is it refused?"""
    done = subprocess.run([f"{BUILD}/rules-judge", ALLOW, BLOCK], input=b"".join(map(encode, scripts)),
                          stdout=subprocess.PIPE, check=False)
    lines = done.stdout.decode("ascii").splitlines()
    if done.returncode or len(lines) != len(scripts):
        print(f"not ok rules-judge: exit {done.returncode} on {scripts[len(lines)] if len(lines) < len(scripts) else ''!r}")
        sys.exit(1)
    return [[c == "R" for c in line] for line in lines]


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


def outside(ran):
    return [m for m in ran if m not in ("a", "b") and m not in NOT_JUDGED]


def behaviour(world, scripts):
    """Of each as the first two columns of corpus.txt have it."""
    cases = [(shell, script) for script in scripts for shell in SHELLS[:2]]
    ran = world.run(cases)
    again = [i for i, one in enumerate(ran) if one is None]
    for i, one in zip(again, world.run([cases[i] for i in again], PATIENT_MS)):
        ran[i] = one
    shown = ["?" if one is None else " ".join(sorted(one)) or "-" for one in ran]
    return list(zip(shown[::2], shown[1::2]))


def corpus(world):
    with open(f"{SRC}/tests/data/rules/corpus.txt", encoding="utf-8") as f:
        lines = [line.rstrip("\n").split("\t", 3) for line in f if line.strip() and not line.startswith("#")]
    bad = 0
    for line, got in zip(lines, behaviour(world, [unquote(line[3]) for line in lines])):
        if tuple(line[:2]) != got:
            bad += 1
            print(f"    bash and dash ran {got}, recorded is {line[:2]}: {line[3]}")
    print(f"{'not ok' if bad or not lines else 'ok'} shells.corpus: {len(lines)} scripts do in bash and dash what is recorded")
    return bad or not lines


def record(world):
    lines = sys.stdin.read().splitlines()
    scripts = [unquote(line) for line in lines if line and not line.startswith("#")]
    found = iter(zip(behaviour(world, scripts), judge(scripts)))
    for line in lines:
        if line and not line.startswith("#"):
            ran, refused = next(found)
            line = "\t".join([*ran, "".join("R" if one else "." for one in refused), line])
        print(line)


def too_many(late, cases):
    return late > len(cases) // 5


def generated(world):
    seeds = range(SEED * 1000000, SEED * 1000000 + COUNT)
    # where the name of a command may be computed, only the allow list can hold
    scripts = [Random(seed, seed % 2 == 0).make() for seed in seeds]
    verdicts = judge(scripts)
    cases = []
    for seed, script, refused in zip(seeds, scripts, verdicts):
        for shell in SHELLS:
            sh = shell != "bash"
            if not refused[sh] or (seed % 2 and not refused[2 + sh]):
                cases.append((shell, script, seed, not refused[sh], bool(seed % 2) and not refused[2 + sh]))
    bad = late = 0
    results = world.run([case[:2] for case in cases])
    if too_many(results.count(None), cases):
        again = [i for i, ran in enumerate(results) if ran is None]
        for i, ran in zip(again, world.run([cases[i][:2] for i in again], BUSY_MS)):
            results[i] = ran
    for (shell, script, seed, allowed, unblocked), ran in zip(cases, results):
        late += ran is None
        for why in [allowed and outside(ran or []) and "allowed", unblocked and "x" in (ran or []) and "not blocked"]:
            if why:
                bad += 1
                if bad <= 20:
                    print(f"    seed {seed}: {why}, and {shell} ran {' '.join(ran)}: {quote(script)}", flush=True)
    passed = sum(not refused[0] for refused in verdicts)
    name = f"shells.generated: {COUNT} scripts from seed {SEED}, {passed} allowed, {len(cases)} runs, {late} not done in time"
    if passed < COUNT // 20 or too_many(late, cases):
        print(f"not ok {name}: too few for the test to say anything")
        return 1
    print(f"{'not ok' if bad else 'ok'} {name}, {bad} contradictions")
    return bad


def main():
    world = World()
    try:
        if sys.argv[1:] == ["--record"]:
            record(world)
            return 0
        return 1 if corpus(world) + generated(world) else 0
    finally:
        world.end()


sys.exit(main())
