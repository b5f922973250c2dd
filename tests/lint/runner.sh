#!/bin/bash
# runner.sh - proves the test runner on planted tests, in a tree of their own where a minute lasts two seconds.
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/wait.sh"
cd "$TMPDIR" || exit 1
export XDG_CACHE_HOME=$TMPDIR/cache

# Each check has a new tree with nothing to build, whose tests are scripts of one line.
plant() { # NAME COMMAND...
	local name
	rm -rf tree
	mkdir -p tree/tests/{lib,scenario}
	sed 's/^MINUTE = 60$/MINUTE = 2/; s/^GRACE = 20 /GRACE = 1 /' "$SRC/tests/lib/runner.py" >tree/tests/lib/runner.py
	! diff -q "$SRC/tests/lib/runner.py" tree/tests/lib/runner.py >/dev/null || return
	printf 'cmake_minimum_required(VERSION 3.25)\nproject(planted NONE)\nadd_custom_target(programs)\n' >tree/CMakeLists.txt
	echo '{"version": 4, "configurePresets": [{"name": "asan", "generator": "Ninja", "binaryDir": "${sourceDir}/build"}]}' >tree/CMakePresets.json
	while [ $# -gt 0 ]; do
		name=tree/tests/scenario/$1.sh
		printf '#!/bin/bash\n%s\n' "$2" >"$name"
		chmod +x "$name"
		shift 2
	done
}

# run STATUS ARGUMENT...: what it printed is in said
run() {
	local wanted=$1 status
	shift
	env -u BERTH_TEST_BEGUN -u BERTH_TEST_RUN timeout 60 python3 -B tree/tests/lib/runner.py --variant asan scenario "$@" >said 2>&1
	status=$?
	cat said
	[ $status = "$wanted" ]
}

printed() {
	grep -qE -- "$1" said || { cat said; false; }
}

plant good true
check "a test that passes" run 0
check "is counted" printed '^2 passed, 0 failed, 0 skipped$'
python3 -B tree/tests/lib/runner.py --record >said && cat tree/tests/durations >>said
check "how long it took is recorded" printed '^[0-9]+ scenario.good asan$'
knows() { # CODE: of the runner in the tree
	python3 -B -c "import sys; sys.path.insert(0, 'tree/tests/lib'); import runner; from runner import *; $1" >said 2>&1 || { cat said; false; }
}
printf '%s\n' '300 bench.smoke asan' '20 scenario.good asan' '1 bare.package release' >>tree/tests/durations
check "not what a --full run does not do" knows 'Durations("none").record(); assert "bench.smoke" not in open(Durations.path).read()'
check "the longest of a label begins" knows '
tests = [Test(label, f"{label}.{name}", "asan", "") for label, name in (("vm", "a"), ("bare", "long"), ("lint", "short"), ("lint", "long"), ("lint", "new"), ("lint", "tidy"), ("bench", "long"), ("bench", "gate"))]
durations = Durations("none")
durations.known = {("lint.short", "asan"): 1, ("lint.long", "asan"): 90, ("lint.tidy", "asan"): 0, ("bench.long", "asan"): 90, ("bench.gate", "asan"): 1, ("bare.long", "asan"): 90, ("vm.a", "asan"): 80}
assert [test.name for test in durations.longest_first(tests)] == ["bench.gate", "bench.long", "lint.tidy", "lint.long", "lint.new", "lint.short", "bare.long", "vm.a"]'
check "what the cache may not hold has its limit whatever it took" knows '
assert Durations("none").limit(Test("bare", "bare.package", "release", "")) == FROM_CACHE["bare"] > LONGEST_LIMIT'
check "where tests take three times as long as recorded, so may all" knows '
durations = Durations("none")
test = Test("unit", "unit.a", "asan", "")
durations.known = {("unit.a", "asan"): SEEN_ENOUGH}
limit = durations.limit(test)
durations.ended(test, 3 * SEEN_ENOUGH)
assert durations.limit(test) == 3 * limit'
check "second builds and what is spare come last, and are left out, which is said, where what must follow needs the time" knows '
def late(minutes, expected, spent):
    run = Run(parse(["--deadline", str(minutes)]))
    run.durations.known = {("bare.package", "release"): 5 * MINUTE}
    run.durations.expected, run.durations.spent = expected, spent
    second = Test("unit", "unit.a", "tsan", "")
    second.repeats = True
    run.tests = [second, Test("lint", "lint.parts", "release", ""), Test("bare", "bare.package", "release", "")]
    made = []
    run.runnable = lambda tests: made.extend(tests) or tests
    assert [test.spare() for test in run.durations.longest_first(run.tests)] == [0, 1, 2]
    is_late = run.is_late([second])
    if is_late:
        run.run_tests(run.tests[:2])
        assert run.skipped == 2 and not run.failed and not made
    run.close()
    return is_late
enough = SEEN_ENOUGH
assert late(10, enough, 3 * enough) and not late(24, enough, 3 * enough) and not late(10, enough, enough)'
check "one runs in one build at a time" knows '
tests = [Test("scenario", "scenario." + name, variant, "") for name, variant in (("a", "asan"), ("a", "tsan"), ("b", "asan"))]
assert Run.next_of(tests[1:], tests[:1]) == tests[2] and not Run.next_of(tests[1:2], tests[:1])'
check "what waits only, or has an engine of its own, begins first of its label" knows '
tests = [Test("lint", "lint.b", "asan", ""), Test("lint", "lint.runner", "asan", ""), Test("engine", "engine.a", "asan", ""), Test("attack", "attack.long", "asan", "")]
durations = Durations("none")
durations.known = {("lint.b", "asan"): 90, ("attack.long", "asan"): 90, ("engine.a", "asan"): 1}
assert [test.name for test in durations.longest_first(tests)] == ["lint.runner", "lint.b", "attack.long", "engine.a"]'
check "beside what measures nothing runs, not even what waits only" knows '
gate, waits = Test("bench", "bench.gate", "release", ""), Test("lint", "lint.runner", "asan", "")
assert gate.share == 1 and waits.share == 0
assert not Run.next_of([waits], [gate]) and not Run.next_of([gate], [waits]) and Run.next_of([waits], []) == waits'
check "of the builds with one use only that is made" knows '
run = Run(parse([]))
run.tests = [Test("unit", "unit.a", "tsan", "a.c"), Test("terminal", "terminal.console", "tsan", "b.c"), Test("fuzz", "fuzz.b", "fuzz", "b.c"),
             Test("fuzz", "fuzz.shells", "fuzz", "b.py"), Test("attack", "attack.a", "asan", "a.sh")]
assert run.targets("tsan") == ["programs", "unit_a", "terminal_console"]
assert run.targets("fuzz") == ["fuzz_b", *FUZZ_SCRIPTS_NEED] and run.targets("asan") == ["all"]
run.close()'
# No test can make one: only the kernel, of a disk or a server that does not answer.
check "a process that cannot be killed does not keep the run" knows '
class Kept(subprocess.Popen):
    def wait(self, timeout=None):
        raise subprocess.TimeoutExpired("kept", timeout)
run = Run(parse([]))
subprocess.Popen = Kept
outcome = run.command("kept", ["sleep", "1000"], 1, run.environment, "kept.log", 1)
assert re.match("not done after 1 s; process [0-9]+ cannot be killed$", outcome.ended), outcome.ended
run.close()'
rm -f tree/tests/durations

all='touch "$SRC/build-test/${0##*/}"; until [ -e "$SRC/build-test/a.sh" ] && [ -e "$SRC/build-test/b.sh" ] && [ -e "$SRC/build-test/c.sh" ]; do sleep 0.1; done'
plant a "$all" b "$all" c "$all"
sed -i 's/^AT_ONCE = {"scenario": 2 \* CORES/AT_ONCE = {"scenario": 2/; s/^WAITS_ONLY = .*/WAITS_ONLY = {"scenario.b"}/' tree/tests/lib/runner.py
check "what waits only takes no place of others" run 0
check "so that three run where two may" printed '^flaky: 0$'

plant a 'mkdir "$SRC/build-test/alone"; sleep 1; rmdir "$SRC/build-test/alone"' b 'mkdir "$SRC/build-test/alone"; sleep 1; rmdir "$SRC/build-test/alone"'
sed -i 's/^AT_ONCE = {"scenario": 2 \* CORES/AT_ONCE = {"scenario": 1/' tree/tests/lib/runner.py
check "what measures runs alone" run 0
check "each the first time" printed '^flaky: 0$'

plant hang 'python3 -c "import time; time.sleep(1000)"; sleep 1000' good true
echo "0 scenario.hang asan" >tree/tests/durations
check "one that hangs is ended" run 1
check "at its own limit" printed '^FAIL +scenario.hang \(asan\)  not done after 2 s$'
check "it is said what it waited for" printed '^    \| waits: [0-9]+ /bin/bash .*scenario/hang.sh .*: state S '
check "and where, of what is written in Python" printed '^    \|   File "<string>", line 1 in <module>$'
check "and the others are run" printed '^ok +scenario.good'

plant deaf 'trap "" TERM; while :; do sleep 0.1; done'
echo "0 scenario.deaf asan" >tree/tests/durations
check "one that ignores SIGTERM is ended, too" run 1
check "and fails" printed '^FAIL +scenario.deaf \(asan\)  not done after 2 s$'

plant once 'mkdir "$SRC/build-test/once" 2>/dev/null && exit 1; exit 0'
check "one that fails once does not fail the run" run 0
check "it is called flaky" printed '^flaky +scenario.once \(asan\)'
check "and counted before the closing line" printed '^flaky: 1$'
python3 -B tree/tests/lib/runner.py --flaky >said
check "and remembered" printed ' scenario.once \(asan\)$'

plant twice 'echo "ok this"; echo "not ok that"; exit 1'
check "one that fails twice fails the run" run 1
check "for what failed" printed '^FAIL +scenario.that \(asan\)$'
check "its other lines are counted once" printed '^2 passed, 1 failed, 0 skipped$'
python3 -B tree/tests/lib/runner.py --list >said
check "--list" printed '^scenario.twice$'

plant leaves 'setsid sleep 471147 & exit 0'
check "a process that is left behind fails the run" run 1
check "with the test that started it" printed '^FAIL +nothing-left-behind  processes: .*sleep 471147 \(of scenario.leaves\)'
check "and is killed" bash -c '! pgrep -f "^sleep 471147$"'
check "also if it had no environment when it was looked for, for it was becoming another program" knows '
processes, looks = Processes("none"), [[], [7]]
processes.left = lambda: looks.pop(0) if looks else [7]
assert processes.wait_gone(0.3) == [7]'

plant soon 'sleep 1 & exit 0'
check "one that ends by itself within 2 s does not" run 0

plant careless 'touch a-file'
check "one that writes where it starts" run 0
check "leaves nothing in the tree" [ ! -e tree/a-file ]

hangs=()
for name in a b c d e f g h i j k l; do
	hangs+=("$name" 'sleep 1000')
done
plant "${hangs[@]}"
check "at the deadline the run ends" run 1 --deadline 2
check "what was running is ended" printed '^FAIL +scenario.a \(asan\)  not done: deadline$'
check "what was not started is named" printed '^FAIL +scenario.l \(asan\)  not run: deadline$'

plant quiet 'sleep 7'
check "a run that is silent for a minute" run 0
check "says what runs" printed '^--  +running: scenario.quiet \(asan\) since [0-9]+ s$'

plant skipped 'echo "no such thing here"; exit 77'
check "a skip" run 0
check "says why" printed '^skip +scenario.skipped \(asan\)  no such thing here$'

# Waits of the tests themselves end, too: wait.sh, and check.sh's `says`.
hangs_once() {
	mkdir hung 2>/dev/null || return 0
	sleep 471148 &
	sleep 471148
}
hangs() { sleep 471149; }
check "a wait goes on after an attempt that hangs" wait_for 4 hangs_once
check "whose processes are ended" wait_for 20 eval '! pgrep -f "^sleep 471148$"'
check "it ends though each hangs" eval '! wait_for 2 hangs'
check "a command that hangs is ended" eval 'within 1 hangs; [ $? = 124 ]'
check "else its exit code counts" eval 'within 20 bash -c "exit 3"; [ $? = 3 ]'
check "what a command leaves in the background is not waited for" within 5 says 0 here bash -c 'sleep 12 & echo $! >left; echo here'
kill "$(cat left)"

# What comes from npm (tests/lib/npm.py) is skipped where npm is missing, cannot connect, or is not answered.
from_npm() { # PATH REGISTRY SECONDS REASON
	mkdir -p npm
	BERTH_TEST_CACHE=$PWD/npm/cache TMPDIR=$(mktemp -d -p npm) BERTH_TEST_PROXY='' no_proxy='*' PATH=$1 npm_config_registry=$2 /usr/bin/python3 -B -c '
import sys
sys.path.insert(0, sys.argv[1])
import npm
place, why = npm.install("it", "it@1.0.0", probe=int(sys.argv[2]))
print(place, why)' "$SRC/tests/lib" "$3" >said
	printed "^None $4"
}
check "without npm it is said" from_npm /nonexistent http://127.0.0.1:1 60 'npm is not installed here$'
if command -v npm >/dev/null; then
	check "with npm and no network it is said" from_npm "$PATH" http://127.0.0.1:1 60 'npm view: .*ECONNREFUSED'
	/usr/bin/python3 -c 'import socket, time; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); time.sleep(60)' >port &
	silent=$!
	wait_for 20 [ -s port ] || exit 1
	check "with a registry that does not answer it is said, soon" from_npm "$PATH" "http://127.0.0.1:$(<port)" 3 'npm view took more than 3 s$'
	kill $silent
fi
check "and nothing is kept" [ ! -e npm/cache/it ]
exit $bad
