#!/bin/bash
# saved.sh - checkpoints: of a team file: before each command of an agent, or by the clock; the oldest automatic ones go.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/engine.sh"
agent=saved$$
mkdir -m 700 data state
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
chmod 755 .
tree=$PWD/data/berth/workspaces/tasks/save
files=$tree/files
trap '"$BERTH" down --all --yes >/dev/null 2>&1; docker rm -f berth-$agent >/dev/null 2>&1; docker volume rm -f berth-home-berth-$agent >/dev/null 2>&1' EXIT

# team RULE: the file of one agent whose checkpoints: are these.
team() {
	printf 'agents: {%s: {image: "box:1", workspace: "task:save", memory: 256m, cpus: 1, pids: 64, checkpoints: %s}}\n' "$agent" "$1" >team.yaml
	chmod 644 team.yaml
}
run() { "$BERTH" exec "$agent" -- sh -c "cd $files; $1"; }
automatic() { "$BERTH" workspace checkpoints save | awk '/^auto-/ {print $1}'; }
stay() { [ "$(automatic | wc -l)" = "$1" ]; }
newest() { automatic | tail -n 1; }

of='every command'
team '{every: command, keep: 3}'
check 'its file is sound' says 0 '*' "$BERTH" config check team.yaml
check 'up' says 0 '*' "$BERTH" up --create team.yaml
check 'none yet' test -z "$(automatic)"
check 'a command' says 0 '' run 'echo 1 >a'
check 'was preceded by one' stay 1
check 'in which it had done nothing' says 0 '*files/a*' "$BERTH" workspace diff "save@$(newest)" save
check 'the next' says 0 '' run 'echo 2 >a'
check 'holds what the one before did' says 0 '*-1*+2*' "$BERTH" workspace diff "save@$(newest)" save
check 'who changes nothing leaves none behind' says 0 2 run 'cat a; true'
before=$(automatic)
check 'but that before it' test "$(wc -l <<<"$before")" = 3
check 'again' says 0 2 run 'cat a'
check 'is not kept twice' test "$(automatic)" = "$before"
check 'one of a person' says 0 '*' "$BERTH" workspace checkpoint save mine
for i in 3 4 5 6 7; do run "echo $i >a"; done
check 'as many stay as shall' stay 3
check 'the newest' says 0 '*-6*+7*' "$BERTH" workspace diff "save@$(newest)" save
check 'and that of the person' says 0 '*mine *' "$BERTH" workspace checkpoints save
check 'a command that is refused' says 125 '*' "$BERTH" exec "$agent" -- rm -rf /
check 'makes none' says 0 '*-6*+7*' "$BERTH" workspace diff "save@$(newest)" save
check 'its restore' says 0 '*' "$BERTH" workspace restore save "$(newest)"
check 'brings back what the command changed' grep -qx 6 "$files/a"
many() {
	for i in 1 2 3 4 5 6; do "$BERTH" exec "$agent" -- sh -c "cd $files; echo $i >with.$i; echo ran" >"out.$i" 2>&1 & done
	wait
	cat out.?
	test "$(cat out.? | grep -cx ran)" = 6
}
check 'six at once' many
check 'still three stay' stay 3
rm -rf "$TMPDIR/aside" && mv "$XDG_DATA_HOME/berth/checkpoints/tasks/save" aside && : >"$XDG_DATA_HOME/berth/checkpoints/tasks/save"
check 'where none can be made nothing runs' says 125 '*not run*no checkpoint of tasks/save could be created*' run 'echo 8 >a'
check 'it did not' grep -qx 6 "$files/a"
rm "$XDG_DATA_HOME/berth/checkpoints/tasks/save" && mv aside "$XDG_DATA_HOME/berth/checkpoints/tasks/save"
# It lasts longer than the time after which a recorder leaves its intent to a child.
check 'by the engine, too' says 0 '' "$BERTH" --host "$DOCKER_HOST" exec "$agent" -- sh -c "sleep 0.5; echo 9 >$files/a"
check 'it was saved' says 0 '*-6*+9*' "$BERTH" workspace diff "save@$(newest)" save
check 'on record' says 0 '*workspace.snapshot*tasks/save*auto-*' "$BERTH" audit list
check 'down' says 0 '*' "$BERTH" down team.yaml

of='by the clock'
team '{every: 1s, keep: 2}'
check 'up' says 0 '*' "$BERTH" up team.yaml
last=$(newest)
more() { [ "$(newest)" != "$last" ]; }
check 'what changed is saved' wait_for 60 more
for i in 10 11 12; do
	last=$(newest)
	run "echo $i >a"
	check "and again ($i)" wait_for 60 more
done
check 'no command made one' says 0 '*-11*+12*' "$BERTH" workspace diff "save@$last" save
check 'two stay' wait_for 60 stay 2
check 'and that of the person' says 0 '*mine *' "$BERTH" workspace checkpoints save
keeper=$(cat "$XDG_RUNTIME_DIR/berth/keeper")
team '{every: 1h, keep: 2}'
check 'another file' says 0 '*' "$BERTH" up team.yaml
last=$(newest)
run 'echo 13 >a'
check 'goes from then on' grep -q ' 3600 2$' "$XDG_DATA_HOME/berth/workspaces/.held/task:save"
check 'the log is sound' says 0 '*' "$BERTH" audit verify
check 'down' says 0 '*' "$BERTH" down team.yaml
check 'the keeper ends' wait_for 60 test ! -e "/proc/$keeper"
exit $bad
