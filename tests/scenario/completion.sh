#!/bin/bash
# completion.sh - what bash, zsh and fish offer: each shell runs the completion that berth prints for it.
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
. "$SRC/tests/lib/engine.sh" # wait_for

# What a shell would offer for the last of the words, sorted, in one line.
in_bash() {
	# shellcheck disable=SC1090 # generated
	source <("$BERTH" completion bash)
	berth() { "$BERTH" "$@"; }
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
	_berth
	printf '%s\n' "${COMPREPLY[@]}" | sort | xargs
}
# The system's functions stand for themselves: what they are asked for is what counts.
in_zsh() {
	"$BERTH" completion zsh >_berth
	# shellcheck disable=SC2016 # for zsh
	zsh -f -c '
		compdef() { : }
		_describe() { print -rl -- ${${(P)2}%%:*} }
		_files() { [[ $1 = -/ ]] && print -rl -- */(N:s./..) || print -rl -- *(N) }
		compset() { : }
		berth() { $BERTH "$@" }
		words=("$@") CURRENT=$#
		source ./_berth
		_berth' zsh "$@" | grep -e "^${*: -1}" | sort | xargs
}
in_fish() {
	"$BERTH" completion fish >berth.fish
	# shellcheck disable=SC2016 # for fish
	fish --no-config -c '
		function berth; $BERTH $argv; end
		source berth.fish
		complete -C "$argv"' "$*" | cut -f1 | sed 's./$..' | sort | xargs
}

export XDG_DATA_HOME=$TMPDIR/data
mkdir -p deep home/.docker/contexts/meta/one "$XDG_DATA_HOME/berth/workspaces/tasks/fix-parser"
chmod 700 "$XDG_DATA_HOME/berth"
printf '{"Name": "far-away", "Endpoints": {}}' >home/.docker/contexts/meta/one/meta.json
export DOCKER_CONFIG=$TMPDIR/home/.docker
mkdir -p "$XDG_DATA_HOME/berth/checkpoints/tasks/fix-parser/checkpoints"
touch "$XDG_DATA_HOME/berth/checkpoints/tasks/fix-parser/checkpoints/before"
touch deepfile 'spa ce.yaml'
cat >team.yaml <<YAML
agents: {a: {workspace: deep}}
custom_tools: {lint: {image: "box:1", command: [lint]}, fetch: {image: "box:1", command: [fetch]}}
YAML
/usr/bin/python3 "$SRC/tests/scenario/fake_engine.py" "$TMPDIR/e.sock" <<<'' &
fake=$!
trap 'kill $fake; wait 2>/dev/null' EXIT
wait_for 60 engine_ping e.sock || { echo "the fake engine does not answer"; exit 1; }
/usr/bin/curl -sf -m 20 --unix-socket e.sock -d '{"containers": [{"name": "web"}, {"name": "berth-al", "labels": {"berth.agent": "alpha", "berth.role": "agent"}}]}' http://e/_fake/set >/dev/null

# A person is not kept waiting for long: where the machine is busy nothing is offered, and is asked for again.
offers() { # SHELL WANTED WORDS...
	local got
	for _ in 1 2 3 4 5; do
		got=$("in_$1" "${@:3}")
		[ "$got" != "$2" ] || return 0
		[ -z "$got" ] || break
	done
	echo "offered: $got"
	return 1
}

for shell in bash zsh fish; do
	check "$shell: commands" offers $shell doctor berth doc
	check "$shell: verbs" offers $shell 'start status stop' berth engine st
	check "$shell: options, also after an operand" offers $shell --json berth up team.yaml --js
	check "$shell: none behind --" offers $shell '' berth exec alpha -- ls --js
	check "$shell: files" offers $shell 'team.yaml' berth config check tea
	check "$shell: directories" offers $shell 'deep' berth files scan dee
	check "$shell: no more operands than there are" offers $shell '' berth up team.yaml tea
	check "$shell: the value of an option is no option" offers $shell --yes berth clean --timeout 3 --ye
	check "$shell: containers and agents" offers $shell 'alpha' berth -H "unix://$TMPDIR/e.sock" stop al
	check "$shell: the agent of an option" offers $shell 'alpha' berth -H "unix://$TMPDIR/e.sock" audit list --agent al
	check "$shell: agents for exec" offers $shell 'web' berth -H "unix://$TMPDIR/e.sock" exec we
	check "$shell: tools of the team file" offers $shell 'fetch lint' berth -c team.yaml tool run ''
	check "$shell: contexts" offers $shell far-away berth --context fa
	check "$shell: themes" offers $shell harbour berth --theme harb
	check "$shell: suites" offers $shell 'files_read' berth bench run files_r
	check "$shell: shipped images" offers $shell 'runtime runtime-sudo' berth image build runt
	check "$shell: audit outcomes" offers $shell 'failed' berth audit list --outcome fai
	check "$shell: keys of a filter" offers $shell 'state=exited' berth ps -f state=ex
	check "$shell: those of events" offers $shell 'event=start' berth events --filter event=sta
	check "$shell: checkpoints of a workspace" offers $shell before berth workspace restore fix-parser be
	check "$shell: of that one alone" offers $shell '' berth workspace drop projects/fix-parser be
	check "$shell: workspaces" offers $shell tasks/fix-parser berth workspace show tasks/f
done
# A real bash at a terminal: what is completed is on the line, with a slash if bash took it for a directory.
typed() { # WANTED LINE
	local got
	mkdir -p alpha && "$BERTH" completion bash >bash.rc && printf 'PS1="> "\nberth() { echo "<$*>"; command %q "$@"; }\nbind "set bell-style none"\n' "$BERTH" >>bash.rc
	for _ in 1 2 3 4 5; do
		got=$(printf '%s\t\nexit\n' "$2" | script -qec 'bash --noprofile --rcfile bash.rc -i' /dev/null 2>&1 | tr -d '\r')
		[[ $got != *"<$1>"* ]] || return 0
		[[ $got == *"<${2#berth }>"* ]] || break # as it was typed
	done
	echo "$got"
	return 1
}
check 'bash: an agent is no directory' typed "-H unix://$TMPDIR/e.sock stop alpha" "berth -H unix://$TMPDIR/e.sock stop alp"
check 'bash: containers to copy from, each with its colon' offers bash 'web:' berth -H "unix://$TMPDIR/e.sock" cp we
check 'bash: files to copy' offers bash deepfile berth -H "unix://$TMPDIR/e.sock" cp deepf
check 'bash: no file of this machine for a path in a container' offers bash '' berth cp web : deepf
check 'fish: containers to copy to' offers fish 'web:' berth -H "unix://$TMPDIR/e.sock" cp deepfile we
check 'bash: a directory is one' typed 'files scan deep/' 'berth files scan dee'
check 'bash: a value after =' offers bash failed berth audit list --outcome = fai
check 'bash: and one with colons before' offers bash --json berth --team = team.yaml -H unix : ///x ps --js
check 'bash: a name with spaces is one' bash -c "$(declare -f in_bash)"'; in_bash berth up spa >/dev/null; [ ${#COMPREPLY[@]} = 1 ]'
check 'a hanging engine ends it, not the patience of the person' \
	bash -c 'kill -STOP '$fake'; "$BERTH" -H "unix://$PWD/e.sock" names containers; got=$?; kill -CONT '$fake'; [ $got = 142 ]'
exit $bad
