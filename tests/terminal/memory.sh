#!/bin/bash
# memory.sh - what the console holds with every view visited, 40 containers and full logs of eleven of them: 24 MB at most.
set -u
. "$SRC/tests/lib/mux.sh"

fake_engine e "$(/usr/bin/python3 -c 'import json
print(json.dumps({"containers": [{"name": f"many-{i}", "cpu": i} for i in range(40)], "log_rate": 2000000}))')" || exit 1

resident() {
	sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$(mux display-message -p '#{pane_pid}')/status"
}
visit() {
	local tab
	for tab in Agents Jobs Clean Audit Events Host Bench Cont; do
		mux send-keys : "$1" Enter
		shift
		wait_for 60 shows "▸$tab" || return
	done
}
# By lines or, where they are long (the numbers in them are those of a clock), by bytes.
full() {
	mux capture-pane -p | grep -qE '(50|4[0-9]),[0-9]{3} lines'
}
small() {
	local kb
	mux new-session -d -x 100 -y 30 "exec $BERTH -H unix://$TMPDIR/e" && wait_for 60 shows "40 up" || return
	visit agents jobs clean audit events host bench containers || return
	mux send-keys '/' 'many-1' Enter '*' l && wait_for 180 full || return
	visit agents jobs clean audit events host bench containers || return
	kb=$(resident)
	echo "# $kb kB resident"
	[ "$kb" -le 24576 ]
}
small
verdict memory-of-the-console $?
