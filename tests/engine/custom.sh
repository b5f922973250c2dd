#!/bin/bash
# custom.sh - commands of berth.yaml on a real engine: what reaches them, in which form, who records it, and how they end.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/engine.sh"
n=cust$$
trap 'docker rm -f $n $n.esc >/dev/null 2>&1' EXIT
docker run -d --name "$n" --network none --label com.docker.compose.project='$(touch pwned); `touch pwned`; "x' \
	--label com.docker.compose.service="a'b" box:1 sleep 600 >/dev/null || exit 1
cat >berth.yaml <<YAML
commands:
  - name: show
    key: "M-s"
    run: 'echo "\$BERTH_NAME|\$BERTH_STATE|\$BERTH_IMAGE|\$BERTH_PROJECT|\$BERTH_SERVICE|\$BERTH_PID"'
    confirm: no
  - {name: same, run: 'docker inspect -f "{{.Id}}" "\$BERTH_ID"; echo "\$BERTH_ID"'}
  - {name: fail, run: 'echo bad >&2; exit 7'}
  - {name: inside, exec: 'hostname; echo \$0 \$BERTH_NAME end'}
  - {name: asks, run: 'read -r word </dev/tty || echo nobody to ask'}
  - {name: reads, run: 'cat'}
  - {name: slow, run: 'sleep 600 & echo \$! >pid; wait'}
YAML
berth=("$BERTH" --settings berth.yaml)

shown() {
	"${berth[@]}" custom show "$n" >out 2>&1 || { cat out; return 1; }
	cat out
	grep -qF "$n|running|box:1|\$(touch pwned); \`touch pwned\`; \"x|a'b|" out && [ ! -e pwned ]
}
check 'nothing of the row is put into the line' shown
docker run -d --name "$n.esc" --network none --label com.docker.compose.project="$(printf 'a\033]0;owned\007\nb')" box:1 sleep 600 >made || exit 1
bare() {
	"${berth[@]}" custom show "$n.esc" >out 2>&1 || { cat out; return 1; }
	cat -v out
	[ "$(wc -l <out)" = 1 ] && ! LC_ALL=C grep -q '[[:cntrl:]]' out && grep -q 'owned' out
}
check 'nothing of it means something to a terminal' bare
same() {
	"${berth[@]}" custom same "$n" >out
	cat out
	[ "$(wc -l <out)" = 2 ] && [ "$(uniq out | wc -l)" = 1 ]
}
check 'docker there is docker here' same
check 'its exit code' says 7 '*bad*' "${berth[@]}" custom fail "$n"
check 'in the container' says 0 "*sh end*" "${berth[@]}" custom inside "$n"
check 'one that is none' says 2 '*has no command nosuch; it has show, same, fail, inside, asks, reads, slow*' "${berth[@]}" custom nosuch "$n"
check 'a container that is none' says 1 '*no container*' "${berth[@]}" custom show nobody
check 'read-only' says 4 '*read-only*' "${berth[@]}" --read-only custom show "$n"
check 'read-only, in the container' says 125 '*read-only*' "${berth[@]}" --read-only custom inside "$n"
check 'without any' says 2 '*berth.yaml has no commands*' "$BERTH" custom show "$n"
printf 'commands: [{name: a, run: x, exec: y}]\n' >both.yaml
check 'both' says 2 '*both.yaml:1:*the command a has both*' "$BERTH" --settings both.yaml custom a "$n"
check 'config check says so' says 2 '*the command a has both*' "$BERTH" config check both.yaml
check 'all of it is on record' bash -c "\$BERTH audit list --act command.run --json >log; cat log; grep -q '\"command\": \"show\"' log && grep -q '\"outcome\": \"failed\"' log && grep -q '\"outcome\": \"refused\"' log"

piped() { echo typed | "${berth[@]}" custom reads "$n"; }
check 'what comes by a pipe is its input' says 0 'typed' piped
# As sudo and ssh do: in a group of its own it would be stopped for good, and no signal but one ends it.
on_terminal() { script -qec "timeout -k 1 60 $BERTH --settings berth.yaml custom asks $n </dev/null" /dev/null </dev/null; }
check 'nobody is asked at a terminal where nobody types' says 0 '*nobody to ask*' on_terminal

# Ended, it takes what it started with it.
"${berth[@]}" custom slow "$n" </dev/null >slow.out 2>&1 &
slow=$!
wait_for 60 test -s pid
kill -TERM $slow
wait $slow
ended=$?
gone() { ! kill -0 "$(<pid)" 2>/dev/null; }
check 'a signal ends it and what it started' bash -c "[ $ended = 143 ]"
check 'nothing is left of it' wait_for 60 gone

cat >view.script <<EOT
size 120 30
wait $n
key M-s
wait $n|running|box:1|
wait show $n
key q
key :
type inside
key Enter
wait Run inside for $n
advance 400
key y
wait sh end
EOT
check 'in the console, by key and by word' says 0 '' "${berth[@]}" --script view.script
exit $bad
