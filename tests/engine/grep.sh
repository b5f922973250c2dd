#!/bin/bash
# grep.sh - searching the logs of all containers on a real engine: by command, as JSON, in colour, and by `:grep` in the console.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
n=grep$$
boxes=$n-mute
for i in {1..19}; do boxes+=" $n-$i"; done
trap 'docker rm -f $boxes >/dev/null 2>&1' EXIT

# More than are read at once; one of them has a colour in its line, one writes to stderr, one has nothing that can be read.
for i in {1..19}; do
	docker run -d --name "$n-$i" --network none --label com.docker.compose.project="p$i" box:1 sh -c \
		"echo first $n; i=0; while [ \$i -lt 300 ]; do echo noise \$i; i=\$((i+1)); done; printf 'Needle\033[31m-$i\033[0m of $n\n' >&2" >/dev/null || exit 1
done
docker run -d --name "$n-mute" --network none --log-driver none box:1 true >/dev/null || exit 1
for i in {1..19}; do docker wait "$n-$i" >/dev/null; done

every() { # one line of each of the 19, and what else
	"$BERTH" logs --grep "needle.*$n" >out 2>err
	cat out err
	[ "$(grep -c Needle out)" = 19 ] && [ "$(cut -d ' ' -f 1 out | sort -u | wc -l)" = 19 ] && grep -q 'the search is incomplete: .*read' err
}
check 'a line of every container, and what could not be read' every
check 'capitals are meant when they are typed' says 0 "*Needle*" "$BERTH" logs -g "Needle" "$n-3"
check 'and are not found by others' says 1 '' "$BERTH" logs -g "NEEDLE" "$n-3"
check 'an expression' says 0 "$n-3 | noise 299" bash -c "\$BERTH logs -g '^noise 29[9]$' $n-3 | head -c 100"
check 'inverted' says 0 "*first $n*" bash -c "\$BERTH logs -g '!noise' $n-3"
check 'one that is none' says 2 '*is not a regular expression*' "$BERTH" logs -g '('
check 'nothing to look in' says 2 '*logs takes containers, or --grep*' "$BERTH" logs
check 'a filter' says 0 "$n-7 | *" bash -c "\$BERTH logs -g needle --filter project=p7 | head -c 100"
check 'a filter that is none' says 2 '*--filter takes*' "$BERTH" logs -g needle --filter colour=red
bounded() {
	"$BERTH" logs -g noise -m 5 >out 2>err
	cat out err
	[ "$(wc -l <out)" = 5 ] && grep -q 'stopped after 5 lines' err
}
check 'bounded' bounded
documents() {
	"$BERTH" logs -g "needle.*$n" --json --filter "name=$n-1" >out 2>err
	while read -r line; do
		/usr/bin/python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/log_line.json" <<<"$line" || return 1
	done <out
	head -n 3 out
	/usr/bin/python3 -c "
import json
rows = [json.loads(l) for l in open('out')]
assert len(rows) == 11, len(rows)
assert all(r['stream'] == 'stderr' and r['hits'] == ['Needle' + r['text'][6:]] and '\x1b' in r['text'] for r in rows), rows"
}
check 'as JSON' documents
# On a terminal the hit is red, and the line's own colours are harmless; not where they are not wanted.
seen() {
	script -qec "$*" /dev/null </dev/null | tr -d '\r'
}
check 'in colour on a terminal' bash -c "grep -qF \$'\033[1;31mNeedle\033[0m^[[31m-3^[[0m of' <<<\"\$1\"" - "$(seen "$BERTH" logs -g needle "$n-3")"
check 'not with NO_COLOR' bash -c "! grep -qF \$'\033[' <<<\"\$1\" && grep -q Needle <<<\"\$1\"" - "$(NO_COLOR=1 seen "$BERTH" logs -g needle "$n-3")"
check 'nobody reads it any more' bash -c "\$BERTH logs -g noise | head -n 1; [ \${PIPESTATUS[0]} -le 141 ]"
check 'what is read is on record' bash -c "\$BERTH audit list --act container.logs >log; grep -q '$n-3' log"

cat >view.script <<EOT
size 120 30
wait Containers
key :
type grep needle.*$n $n-3 $n-5
key Enter
wait $n-5 | Needle
wait $n-3 | Needle
wait : done.
key End Enter
wait 3▸Logs
wait noise 299
EOT
check 'in the console, and on to the log' says 0 '' "$BERTH" --script view.script
exit $bad
