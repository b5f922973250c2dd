#!/bin/bash
# massgen.sh - MassGen's files on a real engine: who may write what; and two files that name their agents alike.
export DOCKER_HOST=$BERTH_TEST_ENGINE
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/engine.sh"
p=m$$
trap 'docker rm -f {massgen,berth}-$p-{a,b} >/dev/null 2>&1; docker volume rm -f berth-home-{massgen,berth}-$p-{a,b} >/dev/null 2>&1' EXIT

chmod 755 . && mkdir a b docs src src/keep && chown -R 1000:1000 a b docs src
agents() { # IDS...: agents of box:1
	for id; do
		echo "  - {id: $p-$id, backend: {cwd: $id, command_line_docker_image: 'box:1', command_line_docker_memory_limit: 64m,"
		echo "     enable_mcp_command_line: true, command_line_execution_mode: docker}}"
	done
}
context() {
	printf 'orchestrator:\n  context_paths:\n    - {path: docs}\n    - {path: src, permission: write, protected_paths: [keep]}\n'
}
{ echo agents: && agents a b && echo '  - {id: thinker, backend: {type: openai}}' && context; } >team.yaml
{ echo agents: && agents a && context; } >sole.yaml

said() { # CODE PATTERN ARGUMENTS...
	local want=$1 pattern=$2 got=0
	shift 2
	"$BERTH" "$@" >out 2>&1 || got=$?
	cat out
	[ "$got" = "$want" ] && grep -qE -- "$pattern" out
}
writes() { # ID DIR
	"$BERTH" exec "$p-$1" -- touch "$PWD/$2/new-$1"
}
forbidden() {
	! writes "$@" && grep -q 'Read-only file system' "$TMPDIR/check.out"
}

runs() { # WORD: a command of a
	"$BERTH" journal list "$p-a" | grep -q "running.*$1"
}
home_marked() { # true|false OPTIONS...
	"$BERTH" "${@:2}" clean --dry-run --json |
		python3 -c 'import json, sys; print([(i["marked"], i["why"]) for i in json.load(sys.stdin)["items"] if i["name"] == sys.argv[1]])' \
			"berth-home-massgen-$p-a" >home
	cat home
	grep -qi "^\[($1, .*last used" home
}
# While they coordinate nobody writes to a context path, and whoever reads the output knows.
check 'up says who is left out' said 0 '^team.yaml:[0-9:]+ agents\[2\]: no backend.cwd' up team.yaml
check 'and that nobody writes yet' grep -q "only its final agent write to $PWD/src, .* --final AGENT" out
check 'the workspace is written' writes a a
check 'a context path is not, by a' forbidden a src
check 'nor by b' forbidden b src
check 'nor one to be read' forbidden b docs
check 'the log has it so' bash -c '"$BERTH" audit list --json | grep -q "$PWD/src ro"'
# One of them presents the result.
check '--final of no agent' said 2 'no container for an agent nobody' up --final nobody team.yaml
check '--final' said 0 "$p-b +recreated" up --final "$p-b" team.yaml
check 'b writes' writes b src
check 'but not what is protected' forbidden b src/keep
check 'nor what is to be read' forbidden b docs
check 'and a does not' forbidden a src
check 'up --json fits its schema' bash -c '"$BERTH" up team.yaml --json | python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/up.json"'
check 'and took it back' forbidden b src

# Another file with an agent of the same name.
was=$(docker inspect -f '{{.Id}}' "massgen-$p-a")
check 'the second file is refused, the first is named' said 1 "massgen-$p-a is up from another file, $PWD/team.yaml" up sole.yaml
check 'its container is left alone' [ "$(docker inspect -f '{{.Id}}' "massgen-$p-a")" = "$was" ]
check 'down of the second leaves it alone, too' said 0 "massgen-$p-a +is up from another file, $PWD/team.yaml: left unch" down sole.yaml
check 'not that nobody is up' bash -c '! grep -q "No agent" out'
check 'it is still there' writes a a
# A file that up would refuse goes down.
echo 'agentz: [' >team.yaml
check 'down of a broken file' said 0 "massgen-$p-a +down" down team.yaml
check 'all of it' grep -qE "massgen-$p-b +down" out
check 'and why it is broken' grep -q 'team.yaml:' out
check 'again: it is wrong, and nothing is up' said 2 'team.yaml:' down team.yaml
check 'now the second may' said 0 "$p-a +up" up sole.yaml
check 'whose only agent is the final one' writes a src
# What it runs is somebody's work: named, and ended only on request.
"$BERTH" exec "$p-a" -- sleep 1000 >/dev/null 2>&1 &
check 'a command of it runs' wait_for 60 runs sleep
sed 's/command_line_docker_memory_limit: 64m/command_line_docker_cpu_limit: 1000, command_line_docker_memory_limit: 96m/' sole.yaml >third.yaml
check 'a third is told what runs' said 1 "up from another file, $PWD/sole.yaml, and runs .sleep 1000.: .*--replace" up third.yaml
check 'and it goes on' runs sleep
check '--replace takes over' said 0 "$p-a +recreated" up --replace third.yaml
check 'fewer CPUs than asked for are reported' grep -qE "not enforced: cpus declared 1000.00, actual $(nproc).00" out
check 'check says so, too' said 0 "1000 CPUs are more than this machine has" config check third.yaml
rm third.yaml
check 'down of a file that is gone' said 0 "massgen-$p-a +down" down third.yaml
# Its home is shown, and time or a person marks it.
echo 'hz: 1' >usual.yaml
check 'clean-up does not mark a home of a moment ago' home_marked false --settings usual.yaml
echo 'clean: {home_days: 0}' >clean.yaml
check 'unless it is to' home_marked true --settings clean.yaml
rm sole.yaml

# The project that its only agent may write, with its workspace and the file itself in it.
mkdir -p project/conf/deep project/ws && chown -R 1000:1000 project && cat >project/conf/deep/team.yaml <<YAML
agents:
  - {id: $p-a, backend: {cwd: project/ws, command_line_docker_image: 'box:1', command_line_docker_memory_limit: 64m,
     enable_mcp_command_line: true, command_line_execution_mode: docker}}
orchestrator: {context_paths: [{path: project, permission: write}]}
YAML
inside() { # the agent, in its project
	"$BERTH" exec "$p-a" -- sh -c "cd $PWD/project && $1"
}
cp project/conf/deep/team.yaml project.yaml
check 'up with a file inside what is written' said 0 "$p-a +up" up project/conf/deep/team.yaml
check 'the project is written' inside 'echo x >README && mkdir conf/new && mv conf/new conf/deep/old && rmdir conf/deep/old'
check 'the workspace, too' inside 'touch ws/x'
check 'the file is not' bash -c '! "$BERTH" exec "$1-a" -- sh -c "echo x >>$PWD/project/conf/deep/team.yaml"' - "$p"
for act in 'rm -f conf/deep/team.yaml' 'mv conf/deep/team.yaml x' 'mv conf old' 'mv conf/deep old' 'rm -rf conf' 'mv ws old' \
	'echo x >new && mv -f new conf/deep/team.yaml' 'ln -f README conf/deep/team.yaml'; do
	check "not by $act" bash -c '! "$BERTH" exec "$1-a" -- sh -c "cd $PWD/project && $2"' - "$p" "$act"
done
check 'it is what it was' cmp project.yaml project/conf/deep/team.yaml
check 'down of it' said 0 "massgen-$p-a +down" down project/conf/deep/team.yaml

# A run of MassGen's moves the workspaces; the newest is followed, or the one that is named.
{ echo agents: && agents a b; } >run.yaml
runs=$PWD/.massgen/workspaces
mkdir -p "$runs" && mkdir "$runs"/{a,b}_{11111111,22222222} && chown -R 1000:1000 .massgen
born() { # ID: to the nanosecond, where the file system knows
	local at
	at=$(stat -c %w "$runs/a_$1")
	[ "$at" != - ] || at=$(stat -c %y "$runs/a_$1")
	echo "$at"
}
while [ "$(born 22222222)" = "$(born 11111111)" ]; do # the newer one is made again until it is
	rmdir "$runs"/{a,b}_22222222 && mkdir "$runs"/{a,b}_22222222 && chown 1000:1000 "$runs"/*
done
touch "$runs"/a_{11111111,22222222}/here
check 'check says which directory it is' said 0 "cwd: the workspace is $runs/a_22222222, of MassGen's newest run" config check run.yaml
check 'up with another one' said 0 "$p-a +up" up --workspace "$p-a=$runs/a_11111111" --workspace "$p-b=$runs/b_11111111" run.yaml
check 'which is mounted' "$BERTH" exec "$p-a" -- test -e "$runs/a_11111111/here"
export p BERTH
call() { # ARGUMENTS...: what berth mcp answers to one command
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}' \
		'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_command","arguments":{"command":"pwd; ls"}}}' |
		"$BERTH" -c run.yaml mcp --agent "$p-a" "$@" >out 2>&1
	cat out
}
check 'mcp of that run' bash -c "$(declare -f call); call --workspace '$runs/a_11111111' | grep -q 'a_11111111.*here'"
check 'mcp of the newest is told that it is not up' bash -c "$(declare -f call); call | grep -q 'of another run of MassGen than $runs/a_22222222'"
check 'up follows' said 0 "$p-a +recreated" up run.yaml
check 'and mcp works' bash -c "$(declare -f call); call | grep -q 'a_22222222.*here'"
check 'one that is no run' said 2 'is not a workspace that a run of MassGen has' up --workspace "$p-a=$PWD/b" run.yaml
check 'whose it is must be said' said 2 'name the agent' up --workspace "$PWD/b" run.yaml
check 'down of them' said 0 "massgen-$p-b +down" down run.yaml
rm -r .massgen run.yaml

# As in MassGen's own examples: a token that may be missing, a login that is not here, a folder that MassGen makes.
{ echo agents: && agents a && echo 'orchestrator: {agent_temporary_workspace: temporary}'; } |
	sed 's/command_line_execution_mode/command_line_docker_credentials: {mount: [gh_config], env_vars: [BERTH_NO_TOKEN]}, &/' >lent.yaml
check 'check says what is not here' said 0 "starts without: .BERTH_NO_TOKEN, ~/.config/gh" config check lent.yaml
check 'the folder is missing' said 2 'agent_temporary_workspace .*up --create does' up lent.yaml
check 'and is created' said 0 'warning: .*starts without: .BERTH_NO_TOKEN' up --create lent.yaml
check 'with what is there' writes a a
check 'and down' said 0 "massgen-$p-a +down" down lent.yaml

# The shipped files in a folder where nothing is: all that can be made is made, the rest is told with its command.
mkdir -p fresh/deep && sed "s,image: berth/runtime:local,image: 'box:1',; s/^  reviewer:/&\n    image: 'box:1'/; s/researcher/$p-a/g; s/reviewer/$p-b/g" \
	"$SRC/configs/team.yaml" >fresh/team.yaml
sed "s,massgen/mcp-runtime:latest,'box:1',; s/cwd: workspace2/&\n      command_line_docker_image: 'box:1'/; s/agent_\([ab]\)$/$p-\1/" \
	"$SRC/configs/massgen.yaml" >fresh/massgen.yaml
sed 's,path: docs,path: far/away/docs,' fresh/massgen.yaml >fresh/deep/massgen.yaml
here=$PWD && cd fresh && mkdir workspace1 workspace2 && chown 1000:1000 workspace1 workspace2
check 'a context path that is missing' said 2 'context path .*/fresh/docs of .*mkdir -p .*/fresh/docs; berth up --create' up massgen.yaml
rmdir workspace1
check 'massgen.yaml' said 0 "$p-b +up" up --create massgen.yaml
check 'with its folders' test -d workspace1 -a -d docs -a -d temp_workspaces -a -d snapshots
check 'down of it' said 0 "$p-a +down" down massgen.yaml
check 'a secret that is not there' said 2 'API_KEY, which is not set: export API_KEY=' up --create team.yaml
check 'team.yaml' env API_KEY=x LANG=C "$BERTH" up --create team.yaml
check 'with its folders, the protected one in them' test -d shared/templates -a -d "$p-a-output"
check 'down of this, too' said 0 "berth-$p-b +down" down team.yaml
check 'what cannot be made is named with its command' said 2 'mkdir -p .*/far/away/docs' up --create deep/massgen.yaml
cd "$here" || exit 1

# Where up and check refuse the same, both say so with 2.
{ echo agents: && agents circle; } >circle.yaml
ln -s circle circle
check 'check of a link that leads in a circle' said 2 'circle.yaml:.*symbolic links' config check circle.yaml
check 'up of it' said 2 'circle of .* cannot be reached: .*symbolic links' up circle.yaml

# Agents on another engine are told of, and left alone.
{ echo agents: && agents a; } >team.yaml
"$BERTH" up team.yaml >/dev/null || exit 1
state=$HOME/.local/state/berth/sessions
sed "s/massgen-$p-a/massgen-$p-far/; 3s/.*/ELSEWHERE/" "$state/massgen-$p-a.session" >"$state/massgen-$p-far.session"
"$BERTH" exec "$p-a" -- sleep 1000 >/dev/null 2>&1 &
check 'a command of it runs' wait_for 60 runs sleep
check 'down --all off a terminal changes nothing' said 2 '2 agents would go down, and 1 running command with them' down --all
check 'it lists what runs' grep -qE "massgen-$p-a +runs sleep 1000" out
check 'and says how' grep -q -- 'nothing was done: give --yes' out
check 'on a terminal it asks' bash -c 'script -qec "\"$BERTH\" down --all" /dev/null <<<n | grep -q "Nothing was done"'
check 'what runs is left alone' runs sleep
check '--yes is for --all' said 2 'down FILE does not ask' down --yes team.yaml
check 'down --all tells of another engine' said 0 "massgen-$p-far +is up on another engine \(ELSEWHERE\)" down --all --yes
check 'and takes down what is here' grep -qE "massgen-$p-a +down" out
check 'the record stays' [ -e "$state/massgen-$p-far.session" ]
rm "$state/massgen-$p-far.session"
exit $bad
