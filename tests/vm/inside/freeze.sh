#!/bin/bash
# freeze.sh - a workspace that holds more than it may: its container is frozen by cgroup v2's freezer, where berth is
# root's, and paused by the engine, where it is an ordinary user's.
# shellcheck source=tests/vm/inside/lib.sh
. "$(dirname "$0")/lib.sh"

owner() { # NAME COMMAND...: as root or as the user
	local name=$1
	shift
	case $name in
	root) (cd /root && exec env HOME=/root XDG_RUNTIME_DIR=/run/freeze "$@") ;;
	user) user "$@" ;;
	esac
}
mkdir -m 700 /run/freeze
trap 'for who in root user; do owner $who berth down --all --yes; done >/dev/null 2>&1; exit $bad' EXIT
frozen() { owner "$1" berth workspace show "lim-$1" --json | python3 -c 'import json,sys; sys.exit(json.load(sys.stdin)["limits"]["frozen"] is None)'; }
# What the kernel says of the container's own cgroup.
stands() { grep -qx 'frozen 1' "$(group "berth-freeze-$1")/cgroup.events"; }
paused() { [ "$(docker inspect -f '{{.State.Paused}}' "berth-freeze-$1")" = "$2" ]; }
goes_on() { grep -qx 'frozen 0' "$(group "berth-freeze-$1")/cgroup.events"; }
# resumes WHO: else what was tried is shown.
resumes() { wait_for 60 goes_on "$1" || { owner "$1" berth audit list | tail -n 8 && false; }; }
not_thawed() { grep -rh '"workspace.thaw"' /home/user/.local/state/berth/audit | grep -q '"failed"'; }
ended() { ! kill -0 "$job" 2>/dev/null; }

for who in root user; do
	home=/root
	[ $who = root ] || home=/home/user
	files=$home/.local/share/berth/workspaces/tasks/lim-$who/files
	echo "agents: {freeze-$who: {image: \"box:1\", workspace: \"task:lim-$who\", memory: 64m, pids: 32}}" >$home/freeze.yaml
	check "$who: up" says 0 '*' owner $who berth up --create freeze.yaml
	check "$who: a limit" says 0 '*20M*counted*frozen*' owner $who berth workspace limit "lim-$who" --bytes 20m
	owner $who berth exec "freeze-$who" -- sh -c "cd $files; head -c 60000000 /dev/zero >big; echo through >end" >/dev/null 2>&1 &
	job=$!
	check "$who: more than it may" wait_for 60 frozen $who
	check "$who: the kernel has it stand" wait_for 60 stands $who
	if [ $who = root ]; then
		check "$who: by the freezer, not by the engine" paused $who false
	else
		check "$who: by the engine" paused $who true
	fi
	check "$who: why is said" says 125 '*its limit is 20M*workspace thaw*' owner $who berth exec --timeout 5 "freeze-$who" -- true
	check "$who: raised" says 0 '*1.0G*' owner $who berth workspace limit "lim-$who" --bytes 1g
	check "$who: it goes on" resumes $who
	check "$who: to its end" wait_for 120 ended
	check "$who: as if nothing had been" says 0 through cat "$files/end"
	check "$who: lowered below what it holds" says 0 '*20M*' owner $who berth workspace limit "lim-$who" --bytes 20m
	check "$who: it stands again" wait_for 60 stands $who
	if [ $who = user ]; then # the program that asks the engine is not for him for a moment
		chmod 700 /usr/libexec/berth/berth-core
		check "$who: raised, and nobody asks the engine" says 0 '*1.0G*' owner $who berth workspace limit "lim-$who" --bytes 1g
		check "$who: that is recorded" wait_for 60 not_thawed
		chmod 755 /usr/libexec/berth/berth-core
		check "$who: and tried again" resumes $who
		check "$who: lowered once more" says 0 '*20M*' owner $who berth workspace limit "lim-$who" --bytes 20m
		check "$who: it stands" wait_for 60 stands $who
	fi
	# And whatever else is in its group.
	keeper=$(cat "$(owner $who sh -c 'echo $XDG_RUNTIME_DIR')/berth/keeper")
	kill -9 -- "-$(cut -d' ' -f5 "/proc/$keeper/stat")"
	check "$who: the keeper killed, it goes on" resumes $who
	check "$who: down" says 0 '*down*' owner $who berth down freeze.yaml
	check "$who: the log is sound" says 0 '*' owner $who berth audit verify
done
