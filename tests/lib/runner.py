"""Build berth in the variants that are needed and run its tests, each inside a time limit.

  tests/run                    the short tier: what a contributor runs
  tests/run --full             every label in every variant: what CI runs
  tests/run LABEL... | LABEL.NAME...   all of a label, or single tests, in every variant they have
  tests/run --again            the tests whose last run here failed
  tests/run --list             the names of all tests
  tests/run --flaky            the tests that failed once and then passed, with date and commit

  --variant asan|tsan|release  only this build of the labels that have several
  --deadline MINUTES           end the whole run by then: 20 for the short tier, else 75
  --without-engine             skip what needs a Docker engine instead of failing it
  --soak                       the long forms of the tests, hours
  --record                     write how long the tests took in runs here to tests/durations

Labels: bench lint unit golden scenario oracle terminal engine attack fault vm bare fuzz. Builds stay in build-VARIANT,
where cmake's presets have theirs; logs of failed and flaky tests in build-test/logs. Everything else that a run makes,
including its Docker engine, is removed when it ends, however it ends.

A test is a program built from tests/LABEL/NAME.c or an executable tests/LABEL/NAME.{sh,py}. It passes with exit code 0;
77 is a skip, the last line of its output the reason. A script that prints lines "ok NAME", "not ok NAME" or "skip NAME:
REASON" is counted by those; lines "note TEXT" are shown. A script starts in TMPDIR, a program in BUILD. Tests get:
  SRC BUILD BERTH          source tree, build tree, the program in it
  VARIANT                  asan, tsan or release
  HOME TMPDIR XDG_*        directories of this test alone, short paths
  BERTH_TEST_ENGINE[_DIR]  (engine attack bench fault) the engine of this run, tests/lib/engine.sh, with the image box:1
  BERTH_TEST_CACHE         what takes minutes to make and later runs can use: images, packages, compiled objects
  BERTH_TEST_PROXY         the http_proxy that the run was started with: for packages
  BERTH_SOAK               1 with --soak, otherwise not set
  BERTH_TEST_CHANGED       1 in the short tier, otherwise not set: what reads all sources may read the changed ones only,
                           what makes inputs may make hundreds instead of thousands

Limits: a test may take five times its time in tests/durations, at least 60 s and at most 10 minutes (bare and vm 32); what
takes minutes with an empty cache has the most. At the deadline whatever runs is ended, and what has not been started fails
as "not run: deadline". A failed test is run once more at the end, alone; if it passes then, it is reported as flaky and
does not fail the run. Unit, golden, lint and fuzz tests are not run again. The last line is "N passed, N failed, N
skipped"; the exit code is 1 if anything failed.
"""

import collections
import concurrent.futures
import contextlib
import datetime
import fcntl
import fractions
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

SRC = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORES = len(os.sched_getaffinity(0))
LABELS = "bench lint unit golden scenario oracle terminal engine attack fault vm bare fuzz".split()  # in this order
SHORT = "lint unit golden scenario oracle terminal engine attack".split()

# The builds that a label runs in.
VARIANTS = collections.defaultdict(lambda: ["asan"], {
    "unit": ["asan", "tsan", "release"],
    "scenario": ["asan", "tsan", "release"],
    "terminal": ["asan", "tsan", "release"],
    "engine": ["asan", "tsan", "release"],
    "golden": ["asan", "release"],
    "fuzz": ["fuzz"],
    "bench": ["release"],
    "bare": ["release"],
    "vm": ["release"],
})
# Under tsan, which makes a program ten times slower, only what has many threads. It also miscounts descriptors that libuv
# closes by the bare system call (engine.paths).
ONLY_TSAN = {
    "scenario": {"scenario.clean", "scenario.containers", "scenario.hang", "scenario.mcp", "scenario.mcp_calls", "scenario.mcp_hostile"},
    "engine": {"engine.agents", "engine.clean", "engine.many", "engine.mcp", "engine.pool", "engine.tools"},
    "terminal": {"terminal.console"},
}
# What measures memory does it without a sanitizer, too, which keeps what is freed and so says nothing of it.
ONLY_RELEASE = {
    "golden": {"golden.valgrind"},
    "scenario": {"scenario.mcp", "scenario.mcp_hostile", "scenario.workspace_large"},
    "engine": {"engine.limits", "engine.routes", "engine.terminals"},
    "terminal": {"terminal.agent_terminals", "terminal.memory"},
}
# Long ones without threads: TSan has nothing to see there.
NOT_TSAN = {"unit.leaks", "unit.edit", "unit.files_sieve"}
NOT_SANITIZED = {"golden.valgrind", "terminal.memory"}  # the sanitizers cannot run under valgrind, and hold what is freed

# Of engine and attack the short tier runs these: each command once, each isolation layer once.
SHORT_TESTS = {
    "engine": {"engine.cli", "engine.verbs", "engine.agents", "engine.journal", "engine.tool_cli"},
    "attack": {"attack.hardening"},
}
# Not in the short tier: the one configures and builds the tree three times, the other fetches a suite from npm.
LONG_TESTS = {"lint.parts", "scenario.mcp_conformance"}

# How many run at once of a label or a test; what is not here keeps a core busy. Scenarios, the console and attacks mostly
# wait, and the engine's tests do for theirs: each of these has an engine to itself meanwhile. The gate measures: it is
# alone. Where N may run at once, each takes an Nth of the machine: the next begin in what those before leave free.
AT_ONCE = {"scenario": 2 * CORES, "terminal": 2 * CORES, "engine": 2 * CORES, "attack": 2 * CORES, "bench.gate": 1}
# These take no place among the others: nearly all of their time they wait, for clocks of theirs or of berth's.
WAITS_ONLY = {"lint.runner", "scenario.drip"}
WITH_ENGINE = {"engine", "attack", "bench", "fault"}
OWN_ENGINE = {"attack.hardening"}  # a new one, of no test before: floods of it are measured, and what it leaves meets nobody
NOT_AGAIN = {"unit", "golden", "lint", "fuzz"}
# Last, without engines: the machines keep about one core busy each, and of what is beside them no load can hurt fuzz.
LAST = {"vm", "bare", "fuzz"}
AMONG = {"attack": "engine", "bare": "vm"}  # ordered with the tests of that label: the longest of both is one of them
# A machine too slow for all of it leaves these out after second builds of others: they take minutes, and what berth does is
# tested elsewhere.
SPARE = {"lint.parts", "engine.runtime", "engine.mcp_clients", "bench.smoke"}

MINUTE = 60
BUILD_LIMIT = 25 * MINUTE
STOP_LIMIT = 2 * MINUTE  # of an engine
SHORTEST_LIMIT = MINUTE
SEEN_ENOUGH = 2 * MINUTE  # of recorded time: before that nobody knows how slow the machine is
LONGEST_LIMIT = 10 * MINUTE
# These take minutes where earlier runs have kept nothing for them in the cache, whatever they took on this machine. lint.tidy:
# of a tree that was never read, 9 minutes on two quiet cores. engine.runtime installs Debian's packages into two images.
FROM_CACHE = {"bare": 32 * MINUTE, "vm": 32 * MINUTE, "lint.tidy": 25 * MINUTE, "engine.runtime": 15 * MINUTE, "lint.cppcheck": LONGEST_LIMIT,
              "lint.parts": LONGEST_LIMIT, "scenario.mcp_conformance": LONGEST_LIMIT, "oracle.server_filesystem": LONGEST_LIMIT,
              "engine.mcp_clients": LONGEST_LIMIT, "engine.egress_clients": LONGEST_LIMIT}
FEW = 40  # single tests: nothing else of the tests is built for them; nor for those in the tsan build
NEED_PROGRAMS_ONLY = {"lint", "unit", "scenario", "oracle"}
FUZZ_SCRIPTS_NEED = ["rules-judge", "rules-marker", "rules-runner"]
GRACE = 20  # seconds between SIGTERM and SIGKILL
TRACE_TIME = 1  # seconds for what is written in Python to say where it waits


class Test:
    def __init__(self, label, name, variant, path):
        self.label, self.name, self.variant, self.path = label, name, variant, path
        self.title = f"{name} ({variant})"
        self.is_script = not path.endswith(".c")
        self.at_once = AT_ONCE.get(name, AT_ONCE.get(label, CORES))
        self.share = 0 if name in WAITS_ONLY else fractions.Fraction(1, self.at_once)
        self.repeats = False  # in another build, what runs in one before

    def spare(self):
        """What a slow machine leaves out: 0 not at all, 1 second, 2 first."""
        return 2 if self.repeats else 1 if self.name in SPARE else 0


class Outcome:
    """What a test did: exit code, its log, seconds, and why it was ended, if it was."""

    def __init__(self, status, log, seconds, ended=""):
        self.status, self.log, self.seconds, self.ended = status, log, seconds, ended

    def lines(self):
        with open(self.log, errors="replace") as file:
            return file.read().splitlines()


class Options:
    soak = without_engine = False
    variant = None
    deadline = None
    picked = ()

    def __init__(self, full=False):
        self.full = full

    def short(self):
        return not self.full and not self.picked


def usage(message):
    print(f"tests/run: {message}", file=sys.stderr)
    sys.exit(2)


def cache_folder():
    return f"{os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')}/berth-tests"


def now():
    return time.monotonic()


def build_of(variant):
    """As deep in the tree as the build of quickstart: ccache knows an object by paths from there."""
    return f"{SRC}/build-{variant}"


def files_of(label):
    """NAME -> path of a label's tests; term.c is part of its neighbours."""
    found = {}
    folder = f"{SRC}/tests/{label}"
    for entry in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        path = f"{folder}/{entry}"
        base, kind = os.path.splitext(entry)
        if kind == ".c" and entry != "term.c" or kind in (".sh", ".py") and os.access(path, os.X_OK):
            found[f"{label}.{base}"] = path
    return found


def wanted(name, variant, options):
    label = name.partition(".")[0]
    if options.variant and variant not in (options.variant, "fuzz"):
        return False
    if variant == "tsan" and label in ONLY_TSAN and name not in ONLY_TSAN[label]:
        return False
    if variant != "release" and name in NOT_SANITIZED or variant == "tsan" and name in NOT_TSAN:
        return False
    asked_for = options.variant == variant and label != "golden"
    if variant == "release" and not asked_for and name not in ONLY_RELEASE.get(label, {name}):
        return False
    if options.picked:
        return label in options.picked or name in options.picked
    if options.full:
        return True
    if name in LONG_TESTS or label not in SHORT or variant != "asan":
        return False
    return name in SHORT_TESTS.get(label, {name})


def variants_of(label, options):
    """A label that has one build only runs in whatever build was asked for."""
    variants = VARIANTS[label]
    if options.variant and variants != ["fuzz"] and options.variant not in variants:
        return [options.variant]
    return variants


def select(options):
    """Tests, label by label."""
    tests = [Test(label, name, variant, path) for label in LABELS for variant in variants_of(label, options)
             for name, path in files_of(label).items() if wanted(name, variant, options)]
    names = set()
    for test in tests:
        test.repeats = test.name in names
        names.add(test.name)
    return tests


class Durations:
    """tests/durations, lines "SECONDS NAME VARIANT": the longest that a test took on two quiet cores. How long each took
    when it was last run is kept in the cache."""

    path = f"{SRC}/tests/durations"

    def __init__(self, cache):
        self.seen = {}
        self.expected = self.spent = 0  # of the tests that were run, as recorded and in this run
        self.known = self.read(self.path)
        self.cached = f"{cache}/durations"

    @staticmethod
    def read(path):
        found = (re.fullmatch(r"(\d+) (\S+) (\S+)", line) for line in read_lines(path))
        return {(line[2], line[3]): float(line[1]) for line in found if line}

    def recorded(self, test, otherwise=None):
        return self.known.get((test.name, test.variant), otherwise)

    def limit(self, test):
        known = self.recorded(test)
        kept = FROM_CACHE.get(test.name, FROM_CACHE.get(test.label))
        return kept or (LONGEST_LIMIT if known is None else min(LONGEST_LIMIT, max(SHORTEST_LIMIT, 5 * known)) * self.pace())

    def pace(self):
        """How many times as long as recorded the tests of this run take, once enough was seen; never less than once."""
        return max(1, self.spent / self.expected) if self.expected >= SEEN_ENOUGH else 1

    def need(self, tests):
        """Seconds that these will take at this pace, if as many run at once as may: at least what the longest takes."""
        alone = [self.recorded(test, MINUTE) for test in tests]
        together = sum(seconds * test.share for seconds, test in zip(alone, tests))
        return self.pace() * float(max([together, *alone]))

    def longest_first(self, tests):
        """Of each label, or what takes longest is alone at the end; before them what is alone anyway. What a slow machine
        leaves out comes after all else: second builds of a test when each ran in one."""
        return sorted(tests, key=lambda test: (test.spare(), LABELS.index(AMONG.get(test.label, test.label)), test.at_once > 1,
                                               test.share > 0, test.name not in FROM_CACHE, -self.recorded(test, MINUTE)))

    def ended(self, test, seconds):
        known = self.recorded(test)
        if known:
            self.expected += known
            self.spent += seconds

    def took(self, test, seconds):
        self.seen[test.name, test.variant] = seconds

    @staticmethod
    def write(path, durations):
        with open(f"{path}.new", "w") as file:
            file.writelines(f"{seconds:.0f} {name} {variant}\n" for (name, variant), seconds in sorted(durations.items()))
        os.replace(f"{path}.new", path)

    def remember(self):
        with locked(self.cached):
            self.write(self.cached, {**self.read(self.cached), **self.seen})

    def record(self):
        """What is in the cache becomes tests/durations, where it is longer than what is there or new."""
        everything = {(test.name, test.variant) for test in select(Options(full=True))}
        last = self.read(self.cached)
        merged = {key: max(last.get(key, 0), self.known.get(key, 0)) for key in {**last, **self.known} if key in everything}
        self.write(self.path, merged)
        print(f"tests/durations: {len(merged)} lines")


class Processes:
    """Processes of this run, found by BERTH_TEST_RUN in their environment wherever they have gone; BERTH_TEST_ID names
    the test that started one."""

    def __init__(self, run_id):
        self.mark = f"BERTH_TEST_RUN={run_id}".encode()

    def left(self, test_id=None):
        found = []
        own = os.getpid()
        for pid in os.listdir("/proc"):
            if not pid.isdigit() or int(pid) == own:
                continue
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    words = file.read().split(b"\0")
                if self.mark not in words or test_id is not None and f"BERTH_TEST_ID={test_id}".encode() not in words:
                    continue
                with open(f"/proc/{pid}/stat") as file:
                    if file.read().rpartition(")")[2].split()[0] == "Z":
                        continue
                found.append(int(pid))
            except OSError:
                continue
        return found

    def kill(self, test_id=None):
        until = now() + 10
        while (left := self.left(test_id)) and now() < until:
            for pid in left:
                send(os.kill, pid, signal.SIGKILL)
            time.sleep(0.05)

    def wait_gone(self, seconds):
        """Those that are still there.  While a process becomes another program it has no environment: one look that finds
        none is not enough."""
        until = now() + seconds
        for _ in range(3):
            while (left := self.left()) and now() < until:
                time.sleep(0.1)
            if left:
                break
            time.sleep(0.1)
        return left

    def report_waits(self, test_id, out):
        """What a test's processes wait for, a line each; those in Python print where they are, at SIGABRT."""
        for pid in self.left(test_id):
            try:
                with open(f"/proc/{pid}/stat") as file:
                    state = file.read().rpartition(")")[2].split()[0]
                with open(f"/proc/{pid}/wchan") as file:
                    wchan = file.read().strip("0\n")
                with open(f"/proc/{pid}/environ", "rb") as file:
                    traces = b"PYTHONFAULTHANDLER=1" in file.read().split(b"\0")
                out.write(f"waits: {self.describe([pid])}: state {state} {wchan}\n")
                out.flush()
                if traces and re.match("python3?[.0-9]*$", os.path.basename(os.readlink(f"/proc/{pid}/exe"))):
                    send(os.kill, pid, signal.SIGABRT)
            except OSError:
                continue

    @staticmethod
    def describe(pids):
        words = []
        for pid in pids:
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    command = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
                with open(f"/proc/{pid}/environ", "rb") as file:
                    test = re.search(rb"\0BERTH_TEST_NAME=([^\0]*)", file.read())
                words.append(f"{pid} {command[:200]}" + (f" (of {test[1].decode()})" if test else ""))
            except OSError:
                continue
        return "; ".join(words)


def has_ended(process, seconds):
    """Whether it has within that time."""
    try:
        process.wait(timeout=max(0, seconds))
        return True
    except subprocess.TimeoutExpired:
        return False


def send(function, *arguments):
    try:
        function(*arguments)
    except (ProcessLookupError, PermissionError):
        pass


class Run:
    def __init__(self, options):
        self.options = options
        self.begun = float(os.environ.get("BERTH_TEST_BEGUN", now()))
        if not 0 <= now() - self.begun < 3600:
            self.begun = now()
        self.deadline = self.begun + MINUTE * options.deadline
        self.cache = cache_folder()
        self.logs = f"{SRC}/build-test/logs"
        self.durations = Durations(self.cache)
        self.passed = self.failed = self.skipped = 0
        self.failures = []
        self.flaky = []
        self.to_repeat = []
        self.outcome_of = {}  # name -> whether its last run here failed
        self.times = []
        self.built = {}
        self.engines = queue.Queue()  # directories of those that no test uses this moment
        self.all_engines = []
        self.own_engines = set()
        self.no_engine = ""  # why there is none
        self.running = {}  # title -> begun
        self.lock = threading.Lock()
        self.last_said = now()
        self.top = tempfile.mkdtemp(prefix="bt.", dir="/tmp")
        os.chmod(self.top, 0o711)  # ordinary users of a test pass through it
        self.run_id = f"{os.path.basename(self.top)}-{os.getpid()}"
        self.processes = Processes(self.run_id)
        self.count = 0
        for folder in (f"{self.cache}/compiled", self.logs):
            os.makedirs(folder, exist_ok=True)
        self.environment = self.base_environment()
        # ThreadSanitizer of clang 14 cannot place its shadow under the wider address randomisation of new kernels.
        fixed = subprocess.run(["setarch", "-R", "true"], stderr=subprocess.DEVNULL, timeout=10).returncode == 0
        self.fixed = ["setarch", "-R"] if fixed else []

    def base_environment(self):
        environment = dict(os.environ)
        compiled = f"{self.cache}/compiled"
        # What was compiled in one tree is not compiled again in another: names below the tree count as relative ones. A
        # result is found by the content of everything that the compiler reads, so a missing header is noticed.
        environment.setdefault("CCACHE_DIR", f"{compiled}/ccache")
        # And by the locale, in which a compiler warns: one for all, the bare root's.
        for name in ("LC_CTYPE", "LC_MESSAGES"):
            environment.pop(name, None)
        environment.update(CCACHE_BASEDIR=SRC, CCACHE_NOHASHDIR="1", LANG="C", LC_ALL="C", BERTH_TEST_RUN=self.run_id)
        if not os.access(compiled, os.W_OK):
            environment.update(CCACHE_READONLY="1", CCACHE_TEMPDIR=f"{self.top}/ccache")
        return environment

    # ---- output

    def say(self, line):
        with self.lock:
            print(line, flush=True)
            self.last_said = now()

    def result(self, verdict, name, note=""):
        if verdict == "ok":
            self.passed += 1
        elif verdict == "skip":
            self.skipped += 1
        elif verdict == "FAIL":
            self.failed += 1
            self.failures.append(name + (f"  {note}" if note else ""))
        self.say(f"{verdict:<8} {name}" + (f"  {note}" if note else ""))

    def show(self, outcome, lines=200):
        text = outcome.lines()
        if len(text) > lines:
            self.say(f"    | ... {len(text) - lines} lines before these")
        self.say("\n".join("    | " + line for line in text[-lines:]))

    def heartbeat(self):
        """A line a minute where nothing else was said."""
        if now() - self.last_said >= MINUTE and self.running:
            at = now()
            with self.lock:
                names = [f"{title} since {at - begun:.0f} s" for title, begun in self.running.items()]
            self.say("--       running: " + ", ".join(names))

    def remaining(self):
        return self.deadline - now()

    # ---- one command

    def command(self, title, arguments, limit, environment, log, test_id=None, cwd=SRC):
        """Run a command in a session of its own, within its limit and the deadline. Returns an Outcome."""
        begun = now()
        allowed = min(limit, self.remaining())
        if allowed <= 0:
            open(log, "a").close()
            return Outcome(None, log, 0, "not run: deadline")
        with self.lock:
            self.running[title] = begun
        try:
            with open(log, "ab") as out:
                process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=cwd,
                                           env=environment, start_new_session=True)
            ended = ""
            if not has_ended(process, allowed):
                ended = f"not done after {limit:.0f} s" if allowed == limit else "not done: deadline"
                if test_id is not None:
                    with open(log, "a") as out:
                        self.processes.report_waits(test_id, out)
                    has_ended(process, TRACE_TIME)
                send(os.killpg, process.pid, signal.SIGTERM)
                has_ended(process, GRACE)
                send(os.killpg, process.pid, signal.SIGKILL)
                if not has_ended(process, MINUTE):  # the kernel keeps it; the run does not wait for that
                    ended += f"; process {process.pid} cannot be killed"
                if test_id is not None:
                    self.processes.kill(test_id)
            return Outcome(process.returncode, log, now() - begun, ended)
        finally:
            with self.lock:
                del self.running[title]

    # ---- builds and the engine

    def targets(self, variant):
        """What to build: of single tests that were asked for, only these and what all need."""
        tests = [test for test in self.tests if test.variant == variant]
        of_tests = [f"{test.label}_{test.name.partition('.')[2]}" for test in tests if not test.is_script]
        if variant == "fuzz":
            return of_tests + FUZZ_SCRIPTS_NEED
        few = len(tests) <= FEW or variant == "tsan"
        if few and all(test.label in NEED_PROGRAMS_ONLY or test.name in ONLY_TSAN.get(test.label, ()) for test in tests):
            return ["programs"] + of_tests
        return ["all"]

    def use(self, variant):
        """Build a variant once; whether it is there."""
        if variant in self.built:
            return self.built[variant]
        build = build_of(variant)
        flags = ["--preset", variant]
        if shutil.which("ccache"):
            flags.append("-DCMAKE_C_COMPILER_LAUNCHER=ccache")
        if variant != "fuzz":
            flags.append("-DBERTH_TESTS=ON")
        log = f"{self.logs}/build.{variant}.log"
        if os.path.exists(log):
            os.unlink(log)
        # Two runs in one tree make one build after the other.
        script = ('src=$1 build=$2 jobs=$3 targets=$4; shift 4; cmake -S "$src" -B "$build" "$@" && '
                  'cmake --build "$build" -j "$jobs" --target $targets')
        outcome = self.wait(self.pool.submit(
            self.command, f"build.{variant}",
            ["flock", f"{SRC}/build-test/{variant}.lock", "sh", "-c", script, "sh", SRC, build, str(CORES), " ".join(self.targets(variant))] + flags,
            BUILD_LIMIT, self.environment, log))
        good = outcome.status == 0 and not outcome.ended
        self.built[variant] = good
        if good:
            self.result("ok", f"build.{variant}", f"{outcome.seconds:.0f} s")
            os.unlink(log)
        else:
            self.result("FAIL", f"build.{variant}", outcome.ended or f"exit {outcome.status}")
            lines = [line for line in outcome.lines() if not re.match(r"\[\d+/\d+\]|-- ", line)]
            self.say("\n".join("    | " + line for line in lines[:60]))
        return good

    def engine_shell(self, script, place):
        """A command that runs a line of shell with tests/lib/engine.sh; $1 is the engine's directory."""
        return ["bash", "-c", f'. "$SRC/tests/lib/engine.sh"; {script} "$1"', "bash", place]

    def start_engine(self, place):
        return self.command(os.path.basename(place), self.engine_shell("engine_start", place), 4 * MINUTE, {**self.environment, "SRC": SRC}, f"{place}.log")

    def need_engines(self, wanted):
        """So many engines, or at least one; false with no_engine where none starts."""
        places = [] if self.no_engine else [f"{self.top}/e{number}" for number in range(len(self.all_engines), wanted)]
        starts = [self.pool.submit(self.start_engine, place) for place in places]
        for place, start in zip(places, starts):
            outcome = self.wait(start)
            if outcome.status != 0 or outcome.ended:
                lines = [line for line in outcome.lines() if not line.startswith("time=")]
                self.no_engine = outcome.ended or (lines[0] if lines else "dockerd does not start")
                continue
            self.all_engines.append(place)
            self.engines.put(place)
        return bool(self.all_engines)

    def stop_engines(self):
        """Also behind the deadline."""
        stops = [self.stop_engine(place) for place in [*self.all_engines, *self.own_engines]]
        self.all_engines, self.own_engines, self.engines, self.no_engine = [], set(), queue.Queue(), ""
        for stop in stops:
            has_ended(stop, STOP_LIMIT + 10)

    def stop_engine(self, place):
        return subprocess.Popen(["timeout", "-k", "5", str(STOP_LIMIT)] + self.engine_shell("engine_stop", place), env={**self.environment, "SRC": SRC},
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    # ---- tests

    def arguments(self, test):
        build = build_of(test.variant)
        wrap = self.fixed if test.variant == "tsan" else []
        name = test.name.partition(".")[2]
        if test.label == "fuzz" and not test.is_script:
            # What earlier runs found comes first: new finds go to the first folder.
            found = f"{self.cache}/corpus/{name}"
            os.makedirs(found, exist_ok=True)
            seeds = f"{SRC}/tests/fuzz/corpus/{name}"
            return [f"{build}/fuzz_{name}", f"-max_total_time={600 if self.options.soak else 8}", "-rss_limit_mb=2048",
                    "-timeout=10", "-max_len=65536", "-print_final_stats=1", f"-artifact_prefix={self.logs}/fuzz.{name}-",
                    found] + ([seeds] if os.path.isdir(seeds) else [])
        if test.is_script:
            return wrap + [test.path]
        return wrap + [f"{build}/{test.label}_{name}"]

    def isolated(self, test, place, number, engine):
        """The environment of a test. Nothing of the user's reaches it: no engine, no configuration."""
        environment = dict(self.environment)
        for name in ("DOCKER_HOST DOCKER_CONTEXT DOCKER_CERT_PATH DOCKER_TLS_VERIFY DOCKER_CONFIG BERTH_SOAK XDG_CONFIG_HOME "
                     "XDG_STATE_HOME XDG_CACHE_HOME XDG_DATA_HOME NO_COLOR COLORTERM TMUX http_proxy https_proxy BERTH_TEST_BEGUN").split():
            environment.pop(name, None)
        build = build_of(test.variant)
        environment.update(
            HOME=f"{place}/home", TMPDIR=f"{place}/t", XDG_RUNTIME_DIR=f"{place}/run", LC_ALL="C.UTF-8", TZ="UTC", TERM="xterm-256color",
            PYTHONDONTWRITEBYTECODE="1", PYTHONFAULTHANDLER="1", BERTH_TEST_ID=str(number), BERTH_TEST_NAME=test.name, BERTH_TEST_CACHE=self.cache,
            BERTH_TEST_PROXY=os.environ.get("http_proxy", ""), SRC=SRC, BUILD=build, BERTH=f"{build}/berth", VARIANT=test.variant,
            ASAN_OPTIONS="detect_stack_use_after_return=1:strict_string_checks=1",
            LSAN_OPTIONS=f"suppressions='{SRC}/tests/lib/lsan.supp':print_suppressions=0",
            UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1",
            TSAN_OPTIONS=f"halt_on_error=1 second_deadlock_stack=1 suppressions='{SRC}/tests/lib/tsan.supp'")
        if self.options.soak:
            environment["BERTH_SOAK"] = "1"
        if self.options.short():
            environment["BERTH_TEST_CHANGED"] = "1"
        if engine:
            environment.update(BERTH_TEST_ENGINE=f"unix://{engine}/docker.sock", BERTH_TEST_ENGINE_DIR=engine)
        return environment

    def run_test(self, test, again=False):
        with self.lock:
            self.count += 1
            number = self.count
        place = f"{self.top}/{number:04}"  # paths of one length: where a line of a screen ends depends on it
        for folder in ("t", "home", "run"):
            os.makedirs(f"{place}/{folder}")
            os.chmod(f"{place}/{folder}", 0o700)
        log = f"{self.logs}/{test.name}.{test.variant}{'.again' if again else ''}.log"
        if os.path.exists(log):
            os.unlink(log)
        limit = 7200 if self.options.soak else self.durations.limit(test)
        cwd = f"{place}/t" if test.is_script else build_of(test.variant)  # never the tree: what a test leaves there is a source
        with self.engine_of(test, number) as engine:
            outcome = self.command(test.title, self.arguments(test), limit, self.isolated(test, place, number, engine), log, number, cwd)
        shutil.rmtree(place, ignore_errors=True)
        return outcome

    @contextlib.contextmanager
    def engine_of(self, test, number):
        """The directory of the engine that a test has to itself, or None."""
        if test.name in OWN_ENGINE:
            place = f"{self.top}/o{number}"
            self.own_engines.add(place)
            started = self.start_engine(place)
            yield place if started.status == 0 and not started.ended else None  # without one it says so and fails
            self.own_engines.discard(place)
            has_ended(self.stop_engine(place), STOP_LIMIT + 10)
        elif test.label in WITH_ENGINE and self.all_engines:
            engine = self.engines.get()
            yield engine
            self.engines.put(engine)
        else:
            yield None

    @staticmethod
    def verdicts(test, outcome):
        """[(verdict, name, note)...] of a test that was run."""
        if outcome.ended:
            return [("FAIL", test.title, outcome.ended)]
        variant = f"({test.variant})"
        if test.is_script and outcome.status != 77:
            lines = [re.match(r"(ok|not ok|skip) (.*)", line) for line in outcome.lines()]
            words = {"ok": "ok", "not ok": "FAIL", "skip": "skip"}
            found = [(words[line[1]], f"{test.label}.{line[2]} {variant}", "") for line in lines if line]
            if found:
                if outcome.status != 0 and not any(verdict == "FAIL" for verdict, _, _ in found):
                    found.append(("FAIL", test.title, f"exit {outcome.status}"))
                return found
        if outcome.status == 77:
            lines = outcome.lines()
            return [("skip", test.title, lines[-1] if lines else "it exited with 77")]
        if outcome.status == 0:
            if test.label == "fuzz" and not test.is_script:
                runs = [line.split()[-1] for line in outcome.lines() if "number_of_executed_units" in line]
                return [("ok", test.title, f"{runs[0] if runs else '?'} runs")]
            return [("ok", test.title, f"{outcome.seconds:.1f} s")]
        if outcome.status < 0:
            return [("FAIL", test.title, signal.Signals(-outcome.status).name)]
        return [("FAIL", test.title, f"exit {outcome.status}")]

    def judge(self, test, outcome, again=False):
        """Count and print what a test did; one that failed for the first time waits for its second run."""
        verdicts = self.verdicts(test, outcome)
        bad = [name for verdict, name, _ in verdicts if verdict == "FAIL"]
        if not outcome.ended.startswith("not run"):
            self.times.append((outcome.seconds, test.title))
            self.durations.ended(test, outcome.seconds)
        if bad and not again and test.label not in NOT_AGAIN and not outcome.ended.endswith("deadline"):
            self.say(f"again    {test.title}  failed, will be run once more at the end: "
                     f"{'; '.join(note or name for verdict, name, note in verdicts if verdict == 'FAIL')}")
            self.show(outcome, 60)
            self.to_repeat.append(test)
            return
        for verdict, name, note in verdicts:
            self.result(verdict, name, note)
        for line in outcome.lines():
            if line.startswith("note "):
                self.say(f"--       {line[5:]}")
        self.outcome_of[test.name] = self.outcome_of.get(test.name, False) or bool(bad)
        if bad:
            if not outcome.ended.startswith("not run"):
                self.show(outcome)
            return
        if again:
            self.flaky.append(test)
            self.say(f"flaky    {test.title}  it passed when it was run again")
        else:
            os.unlink(outcome.log)
            self.durations.took(test, outcome.seconds)

    def wait(self, future):
        while True:
            try:
                return future.result(timeout=1)
            except concurrent.futures.TimeoutError:
                self.heartbeat()

    def lost(self, tests, verdict, why):
        """Tests that cannot be run, told once for each label."""
        for label, variant in dict.fromkeys((test.label, test.variant) for test in tests):
            count = sum((test.label, test.variant) == (label, variant) for test in tests)
            self.result(verdict, f"{label} ({variant})", f"{count} tests not run: {why}")
        if verdict == "FAIL":
            self.outcome_of.update((test.name, True) for test in tests)

    def runnable(self, tests):
        """Those whose build there is, and their engine."""
        missing = {variant for variant in dict.fromkeys(test.variant for test in tests) if not self.use(variant)}
        self.lost([test for test in tests if test.variant in missing], "FAIL", "no build")
        tests = [test for test in tests if test.variant not in missing]
        of_engine = [test for test in tests if test.label in WITH_ENGINE]
        if of_engine and not self.need_engines(min(len(of_engine), max(test.at_once for test in of_engine))):
            of_engine = [test for test in of_engine if test.label != "fault"]  # of these only some need one, and say so
            self.lost(of_engine, "skip" if self.options.without_engine else "FAIL", self.no_engine)
            tests = [test for test in tests if test not in of_engine]
        return tests

    def run_tests(self, tests):
        """Each in one build, and then in the others: some of these are made only if there is time for them."""
        self.run_these([test for test in tests if not test.repeats])
        self.run_these([test for test in tests if test.repeats])

    def run_these(self, tests):
        """In their order, as many at once as the shares of the machine that they take allow."""
        waiting = self.runnable(self.in_time(self.durations.longest_first(tests)))
        begun, running = {}, {}
        left = collections.Counter((test.label, test.variant) for test in waiting)
        with concurrent.futures.ThreadPoolExecutor(2 * CORES + len(WAITS_ONLY)) as pool:
            while waiting or running:
                waiting = self.in_time(waiting)
                while test := self.next_of(waiting, running.values()):
                    waiting.remove(test)
                    begun.setdefault((test.label, test.variant), now())
                    running[pool.submit(self.run_test, test)] = test
                done, _ = concurrent.futures.wait(running, timeout=1, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    test = running.pop(future)
                    self.judge(test, future.result())
                    left[test.label, test.variant] -= 1
                    if not left[test.label, test.variant]:
                        self.say(f"--       {test.label} ({test.variant}): {now() - begun[test.label, test.variant]:.0f} s")
                self.heartbeat()

    def in_time(self, waiting):
        """These, or none, which is said: where the first can be left out, and what must follow needs its time."""
        if not waiting or not waiting[0].spare() or not self.is_late(waiting):
            return waiting
        self.lost(waiting, "skip", f"this machine takes {self.durations.pace():.1f} times as long as usual, and " +
                  ("each of them ran in another build" if waiting[0].repeats else "there is no time for it"))
        return []

    @staticmethod
    def next_of(waiting, running):
        """The first, if there is room for it. In two builds at once none runs: both would use the same addresses. What takes
        the whole machine measures: not even what only waits runs beside it."""
        names = {test.name for test in running}
        test = next((test for test in waiting if test.name not in names), None)
        shares = [each.share for each in running] + ([test.share] if test else [])
        return test if sum(shares) <= 1 and (1 not in shares or len(shares) == 1) else None

    def is_late(self, waiting):
        """Whether the first of these, the builds that they lack, and what is to follow need more than the time that is left."""
        need = self.durations.need
        follows = [test for test in self.tests if test.label in LAST]
        builds = len({test.variant for test in waiting} - set(self.built)) * self.durations.pace() * MINUTE
        return self.remaining() < need(waiting[:1]) + builds + need(follows) + 2 * need(self.to_repeat) + MINUTE

    def repeat(self):
        """Once more, alone, on a new engine: in the order of their first run."""
        tests, self.to_repeat = self.to_repeat, []
        if any(test.label in WITH_ENGINE for test in tests):
            self.stop_engines()
        for test in tests:
            if test.label in WITH_ENGINE and not self.need_engines(1):
                self.result("FAIL", test.title, f"not run again: {self.no_engine}")
                continue
            self.judge(test, self.wait(self.pool.submit(self.run_test, test, again=True)), again=True)

    def all(self):
        self.tests = select(self.options)
        with concurrent.futures.ThreadPoolExecutor(2 * CORES) as self.pool:
            self.run_tests([test for test in self.tests if test.label not in LAST])
            self.repeat()
            self.stop_engines()
            self.run_tests([test for test in self.tests if test.label in LAST])
            self.repeat()
        self.check_leftovers()

    def check_leftovers(self):
        left = self.processes.wait_gone(2)
        if left:
            self.result("FAIL", "nothing-left-behind", "processes: " + self.processes.describe(left))
        mounts = self.mounts()
        if mounts:
            self.result("FAIL", "nothing-left-behind", "mounts: " + " ".join(mounts))

    def mounts(self):
        with open("/proc/self/mountinfo") as file:
            return sorted((line.split()[4] for line in file if line.split()[4].startswith(self.top + "/")), reverse=True)

    def close(self):
        """Once, however the run ends."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.stop_engines()
        self.processes.kill()
        for mount in self.mounts():
            has_ended(subprocess.Popen(["umount", "-l", mount], stderr=subprocess.DEVNULL), 20)
        shutil.rmtree(self.top, ignore_errors=True)

    # ---- what is remembered

    def remember(self):
        path = f"{SRC}/build-test/failed"
        with locked(path):
            names = set(read_lines(path))
            names = {name for name in names if name not in self.outcome_of} | {name for name, bad in self.outcome_of.items() if bad}
            with open(f"{path}.new", "w") as file:
                file.writelines(name + "\n" for name in sorted(names))
            os.replace(f"{path}.new", path)
        if self.flaky:
            commit = subprocess.run(["git", "-C", SRC, "-c", "safe.directory=*", "rev-parse", "--short=12", "HEAD"], timeout=30,
                                    capture_output=True, text=True).stdout.strip() or "unknown"
            with open(f"{self.cache}/flaky", "a") as file:
                for test in self.flaky:
                    file.write(f"{datetime.date.today()} {commit} {test.title}\n")
        self.durations.remember()

    def summary(self):
        for seconds, title in sorted(self.times, reverse=True)[:25]:
            self.say(f"slow     {title}  {seconds:.1f} s")
        logs = sorted(os.listdir(self.logs))
        shown = {f"{test.name}.{test.variant}" for test in self.flaky} | {name for name, bad in self.outcome_of.items() if bad}
        for log in logs:
            if any(log.startswith(name) for name in shown):
                self.say(f"log      build-test/logs/{log}")
        for failure in self.failures:
            self.say(f"failed: {failure}")
        self.say(f"{now() - self.begun:.0f} s")
        for test in self.flaky:
            self.say(f"flaky    {test.title}")
        self.say(f"flaky: {len(self.flaky)}")
        self.say(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")


@contextlib.contextmanager
def locked(path):
    """Two runs at once take turns. One that keeps its turn for ten seconds has hung."""
    with open(f"{path}.lock", "w") as lock:
        until = now() + 10
        while now() < until:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.05)
        yield


def read_lines(path):
    try:
        with open(path) as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def parse(words):
    options = Options()
    picked = []
    all_names = {name for label in LABELS for name in files_of(label)}
    words = list(words)
    while words:
        word = words.pop(0)
        if word in ("-h", "--help"):
            print(__doc__.strip())
            sys.exit(0)
        if word == "--list":
            print("\n".join(name for label in LABELS for name in files_of(label)))
            sys.exit(0)
        if word == "--flaky":
            print("\n".join(read_lines(f"{cache_folder()}/flaky")) or "no test was flaky here")
            sys.exit(0)
        if word == "--record":
            Durations(cache_folder()).record()
            sys.exit(0)
        if word == "--again":
            path = f"{SRC}/build-test/failed"
            if not os.path.exists(path):
                usage("no run has ended here yet, so none has failed")
            names = [name for name in read_lines(path) if name in all_names]
            if not names:
                print("nothing failed when it was last run here")
                sys.exit(0)
            picked += names
        elif word in ("--full", "--soak", "--without-engine"):
            setattr(options, word[2:].replace("-", "_"), True)
        elif word == "--variant":
            options.variant = words.pop(0) if words else ""
            if options.variant not in ("asan", "tsan", "release"):
                usage("variants are: asan tsan release")
        elif word == "--deadline":
            value = words.pop(0) if words else ""
            if not re.fullmatch(r"[1-9]\d{0,3}", value):
                usage("--deadline wants minutes, 1 to 9999")
            options.deadline = int(value)
        elif word.startswith("-"):
            usage(f'unknown option "{word}"; tests/run --help lists them')
        elif word.partition(".")[0] not in LABELS:
            usage(f'unknown label "{word.partition(".")[0]}"; labels are: {" ".join(LABELS)}')
        elif "." in word and word not in all_names:
            usage(f'unknown test "{word}"; tests/run --list names them')
        else:
            picked.append(word)
    options.picked = picked
    options.full = options.full or options.soak and not picked
    if options.deadline is None:
        options.deadline = 6000 if options.soak else 20 if options.short() else 75
    return options


def main():
    options = parse(sys.argv[1:])
    run = Run(options)
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)):
        signal.signal(number, lambda *_, code=code: (run.close(), os._exit(code)))
    try:
        run.all()
    finally:
        run.close()
    run.summary()
    run.remember()
    sys.exit(1 if run.failed else 0)


if __name__ == "__main__":
    main()
