#!/bin/bash
# bench.sh - `berth bench`: suite files, the history, comparing, what is wrong and how it is said.
# shellcheck disable=SC2016,SC2317 # programs for bash -c; functions called by name
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"

# expect NAME STATUS PATTERN COMMAND...: exit code, and both outputs together.
expect() {
	check "$1" says "${@:2}"
}

fits() {
	local schema=$1
	shift
	"$@" >fits.out || [ $? = 1 ] || return 2
	/usr/bin/python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/$schema.json" <fits.out
}

B=("$BERTH" bench)
history=$XDG_STATE_HOME/berth/bench/history.db

# Names and options.
expect 'list names suites and tests' 0 '*self/caught*read_files_parallel*file_count*' "${B[@]}" list
expect 'list as JSON fits its schema' 0 '' fits bench_list "${B[@]}" list --json
expect 'an empty history' 0 'No benchmark has been run yet*' "${B[@]}" list --runs
expect 'unknown suite' 2 'berth: *neither a benchmark nor a file `slef` (did you mean self?)*' "${B[@]}" run slef
expect 'unknown case' 2 'berth: *`self/cought` (did you mean caught?)*' "${B[@]}" run self/cought
expect 'no samples' 2 'berth: --samples takes a number from 1*' "${B[@]}" run --samples 0 self
expect 'a threshold that is none' 2 'berth: --threshold*' "${B[@]}" run self --threshold 2
expect 'compare with what is not there' 2 'berth: the benchmark history has no run `v9`*it is empty*' "${B[@]}" compare v9
expect 'run against what is not there' 1 'berth: *no run `v9`*' "${B[@]}" run self --compare-to v9
expect 'read-only: nothing runs' 4 'berth: *read-only*' "$BERTH" --read-only bench run self

# A suite file as a person writes it; FILE CONTENT.
suite() {
	printf '%b\n' "$2" >"$1"
	chmod 644 "$1"
}
suite unknown.yaml 'benchmarks:\n  file_operations:\n    - test: read_files_paralel'
expect 'unknown test' 2 'berth: unknown.yaml:3:13: *`read_files_paralel` (did you mean read_files_parallel?)*' "${B[@]}" run unknown.yaml
suite zero.yaml 'benchmarks:\n  file_operations:\n    - test: read_files_parallel\n      repetitions: 0'
expect 'zero repetitions' 2 'berth: zero.yaml:4:20: *' "${B[@]}" run zero.yaml
suite key.yaml 'benchmarks:\n  self:\n    - test: caught\n      repetition: 3'
expect 'unknown key' 2 'berth: key.yaml:4:7: *repetitions*' "${B[@]}" run key.yaml
suite format.yaml 'benchmarks:\n  self:\n    - test: caught\nreport: {format: markdwon}'
expect 'unknown format' 2 'berth: format.yaml:4:*markdown*' "${B[@]}" run format.yaml
suite empty.yaml 'report: {threshold: 0.9}'
expect 'no benchmarks' 2 'berth: empty.yaml*`benchmarks:`*' "${B[@]}" run empty.yaml
suite arms.yaml 'benchmarks:\n  mine:\n    - {test: command, name: x, arms: {a: "true"}, baseline: b}'
expect 'a baseline that is no arm' 2 'berth: arms.yaml:3:*`baseline`*' "${B[@]}" run arms.yaml
suite others.yaml 'benchmarks:\n  self:\n    - test: caught'
chmod 666 others.yaml
expect 'a file that others can write' 4 'berth: others.yaml can be written by others*' "${B[@]}" run others.yaml
expect 'a file that is not there' 1 'berth: *missing.yaml*' "${B[@]}" run missing.yaml
[ -e "$history" ] && grep -q . <("${B[@]}" list --runs --json | grep '"id"') &&
	{ echo 'not ok wrong files leave no run'; bad=1; }

# The very example of the requirements, with the first baseline of its kind; then against it.
suite example.yaml 'benchmarks:\n  file_operations:\n    - test: read_files_parallel\n      file_count: [10, 50, 100]\n      repetitions: 10\n    - test: write_files_batch\nreport: {format: markdown, compare_to: v0.1.14, threshold: 0.95}'
expect 'the example: compared with nothing' 0 '*no figures of v0.1.14*compared with nothing*read_files_parallel-warm-100*write_files_batch-10*report: */out/report.md*' \
	"${B[@]}" run --samples 2 example.yaml --out out
expect 'and it is not filed as that release' 1 '' bash -c '"$@" | grep v0.1.14' - "${B[@]}" list --runs
"${B[@]}" run --samples 2 --release v0.1.14 example.yaml >/dev/null 2>&1
suite short.yaml 'benchmarks:\n  file_operations:\n    - test: read_files_parallel\n      file_count: 10\nreport: {format: markdown, compare_to: v0.1.14}'
expect 'the example: compared with it' 0 '*as fast as v0.1.14*against v0.1.14:*' \
	bash -c '"$@"; [ $? -le 1 ]' - "${B[@]}" run --samples 3 short.yaml --out out
expect 'its report' 0 '*# Benchmarks of*## Against v0.1.14*Figures*' cat out/report.md

# Own comparisons.
own() {
	suite own.yaml "benchmarks:\n  mine:\n    - test: command\n      name: words\n      repetitions: 5\n      arms: $1\n      $2"
}
own '{cat: [cat, own.txt], sed: sed -n p own.txt}' 'at_least: {sed: 0.001}'
seq 100 >own.txt
expect 'any command against any other' 0 '*mine/words*met*sed is at least 0.001x*1 met, 0 missed*' "${B[@]}" run own.yaml
own '{cat: [cat, own.txt], sed: sed -n 2p own.txt}' 'check: output'
expect 'another result fails the case' 1 '*FAILED*another result*1 failed*' "${B[@]}" run own.yaml
own '{cat: [cat, own.txt], no: exit 3}' 'check: exit'
expect 'an exit code fails the case' 1 '*FAILED: no: it exited with 3*' "${B[@]}" run own.yaml
late() { # on a busy machine cat may not end in a second either
	local seconds code
	for seconds in 1 5 25; do
		own '{cat: [cat, own.txt], slow: sleep 100 & sleep 100}' "timeout: $seconds"
		"${B[@]}" run own.yaml >late.out 2>&1
		code=$?
		! grep -q 'slow: it was ended' late.out || break
	done
	cat late.out
	return $code
}
expect 'a time-out fails the case' 1 '*FAILED: slow: it was ended*' late
own '{cat: [cat, own.txt], gone: [no-such-program-here, x]}' 'check: exit'
expect 'a missing program is not run, and not passed' 1 '*not run: no-such-program-here*0 cases measured, 0 failed, 1 not run*' "${B[@]}" run own.yaml

# The person's own folder: listed, run by name, and from the console; files elsewhere by their path.
export XDG_CONFIG_HOME=$TMPDIR/config
mkdir -p "$XDG_CONFIG_HOME/berth/bench"
own '{cat: [cat, own.txt], sed: sed -n p own.txt}' "directory: $TMPDIR"
(echo '# How words are printed' && cat own.yaml) >"$XDG_CONFIG_HOME/berth/bench/words-10.yaml"
suite "$XDG_CONFIG_HOME/berth/bench/words-2.yml" 'nonsense: 1'
mkfifo "$XDG_CONFIG_HOME/berth/bench/pipe.yaml"
expect 'own suites are listed' 0 '*your own suites*words-2 *words-10 *How words are printed*' "${B[@]}" list
expect 'and fit the schema' 0 '' fits bench_list "${B[@]}" list --json
expect 'an own suite runs by its name' 0 '*mine/words*' "${B[@]}" run words-10
expect 'a wrong one is told with its place' 2 'berth: */words-2.yml:1:1: *nonsense*' "${B[@]}" run words-2
rm "$XDG_CONFIG_HOME/berth/bench/pipe.yaml"
cat >bench.script <<END
key 9
wait words-2
expect How words are printed
key g j R
wait Benchmarks done: 1 measured
expect mine/words
key g R
wait words-2.yml:1:1
key o
type $TMPDIR/missing.yaml
key Enter
wait cannot read
key o
type $TMPDIR/own.yaml
key Enter
wait R runs it
key R
wait own
wait Benchmarks done: 1 measured
key 4
wait bench mine
expect you
expect took
END
expect 'own suites run in the console' 0 '' env BERTH_BENCH_LIVE= "$BERTH" -H "unix://$TMPDIR/no-engine" --script bench.script
unset XDG_CONFIG_HOME

# A run that was cancelled, and one that was killed: nothing looks as if it were running, what was not run is not done.
printf '%b' 'berth-bench-live 1\nrun\t7\tnow\t-\t-\t0.95\t3\t30\n' >cut.live
for i in 0 1 2; do printf 'case\t%d\tcut/%s\tabout\ts\t10\t-\n' $i "case$i" >>cut.live; done
printf '%b' 'begin\t0\nstate\t0\tnot_run\tno such program\nbegin\t1\narm\t1\t0\tone\tbaseline\nv\t1\t0\t0.5\t4\nend\tcancelled\t-\n' >>cut.live
cat >cut.script <<END
key 9
wait case2
expect 0/3 cases
expect not run
refuse waits
refuse 4 of 10
END
expect 'a cancelled run does not look as if it ran' 0 '' env BERTH_BENCH_LIVE="$PWD/cut.live" "$BERTH" -H "unix://$TMPDIR/no-engine" --script cut.script

# The history.
expect 'report --json fits its schema' 0 '' fits bench_run "${B[@]}" report --json
expect 'trend --json fits its schema' 0 '' fits bench_trend "${B[@]}" trend --json file_operations
expect 'runs --json fits its schema' 0 '' fits bench_runs "${B[@]}" list --runs --json
expect 'compare --json fits its schema' 0 '' fits bench_compare "${B[@]}" compare --json '#1' '#2'
expect 'compare by commit that is not there' 2 'berth: *no run `abcdef12`*it has *' "${B[@]}" compare abcdef12
expect 'the page stands alone' 1 '' grep -E '(src|href)=|url\(|@import' <("${B[@]}" report --format html)
own '{"<i>a": [cat, own.txt], b: [cat, own.txt]}' 'check: output'
"${B[@]}" run own.yaml >own.out 2>&1
expect 'what a result holds is no markup in it' 0 '*&lt;i&gt;a*' "${B[@]}" report --format html
expect 'and every slot is filled' 1 '' grep -E '<i>|\{\{|^@@' <("${B[@]}" report --format html)
"${B[@]}" export all.jsonl
expect 'an export is imported once' 0 '0 runs with 0 cases imported, [0-9]* runs were already here' "${B[@]}" import all.jsonl
expect 'into an empty history all of it' 0 '[1-9]* runs with [1-9]* cases imported, 0 runs*' \
	env XDG_STATE_HOME="$TMPDIR/other" "${B[@]}" import all.jsonl
head -c 3000 all.jsonl >torn.jsonl
expect 'a torn export changes nothing' 2 'berth: torn.jsonl:*' env XDG_STATE_HOME="$TMPDIR/other" "${B[@]}" import torn.jsonl

# Cancelled: what was complete stays, and the run says so.
own '{cat: [cat, own.txt], slow: sleep 100}' 'timeout: 300'
XDG_STATE_HOME=$TMPDIR/third "${B[@]}" run self/caught own.yaml --samples 5 --follow live >/dev/null 2>cancel.err &
pid=$!
for _ in $(seq 600); do
	grep -q '^begin	1' live 2>/dev/null && break
	read -rt 0.1 <> <(:) || :
done
kill -INT $pid
wait $pid
expect 'cancelled' 0 'berth: cancelled: the history keeps what was complete (1 of 2 cases)*' cat cancel.err
expect 'its run says so' 0 '*cancelled*' env XDG_STATE_HOME="$TMPDIR/third" "${B[@]}" list --runs
expect 'and has the complete case' 0 '*self/caught*' env XDG_STATE_HOME="$TMPDIR/third" "${B[@]}" report last
expect 'who follows is told' 0 '*end	cancelled*' tail -n 1 live

# The last sample counts when its case has ended: a bar is not full while something is left to do.
counted() { # SAMPLES SUITE/CASE
	"${B[@]}" run --smoke --no-history --follow live "$2" >/dev/null && awk -F '\t' -v all="$1" '
		$1 == "case" { if ($6 != all) exit 1 }
		$1 == "v" { if ($5 < last || $5 >= all) exit 1; last = $5 }
		END { exit last != all - 1 }' live
}
expect 'samples of all arms count' 0 '' counted 6 self/a-a
expect 'those of a measurement count once' 0 '' counted 3 console/version

# Caught: a case slowed by a tenth, and not itself. CPU time, interleaved with an arm that is not slowed; what
# is flagged is measured twice. A machine so busy that a tenth drowns gets two more tries; a false alarm none.
export XDG_STATE_HOME=$TMPDIR/fourth
"${B[@]}" run self/caught --release v1 >/dev/null
expect 'against itself: nothing' 0 '*0 slower*' "${B[@]}" run self/caught --compare-to v1
expect 'slowed by a tenth: caught, exit 1' 0 '*caught*' bash -c '
	for try in 1 2 3; do
		BERTH_BENCH_SLOWER=10 "$@" >slow.txt
		[ $? = 1 ] && grep -q "slowed .*SLOWER" slow.txt && echo caught && exit
	done
	cat slow.txt' - "${B[@]}" run self/caught --compare-to v1

# Damaged: kept aside, reported, and the run goes on.
dd if=/dev/urandom of="$XDG_STATE_HOME/berth/bench/history.db" bs=512 count=4 conv=notrunc 2>/dev/null
expect 'a damaged history is kept aside' 0 'berth: The benchmark history was damaged: it is kept as *No benchmark has been run yet*' "${B[@]}" list --runs
expect 'as a file beside it' 0 '*damaged-*' ls "$XDG_STATE_HOME/berth/bench"
expect 'no report says nan' 1 '' grep -rlw nan --include='*.md' .
exit $bad
