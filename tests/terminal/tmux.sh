#!/bin/bash
# tmux.sh - the console inside tmux: start, resize, crash, quit; what a person's multiplexer then shows.
set -u
. "$SRC/tests/lib/engine.sh"
server=berth-test-$$
fake=''
finish() {
	tmux -L "$server" kill-server 2>/dev/null
	[ -z "$fake" ] || kill "$fake" 2>/dev/null
}
trap finish EXIT
command -v tmux >/dev/null || { echo "there is no tmux"; exit 1; }

mux() {
	tmux -L "$server" -f /dev/null "$@"
}
shows() {
	mux capture-pane -p | grep -qF -- "$1"
}
verdict() {
	if [ "$2" = 0 ]; then
		echo "ok $1"
	else
		mux capture-pane -p | sed 's/^/# /'
		echo "not ok $1"
	fi
}

echo '{"containers": [{"name": "alpha", "cpu": 40}, {"name": "beta"}]}' >"$TMPDIR/s"
/usr/bin/python3 "$SRC/tests/scenario/fake_engine.py" "$TMPDIR/e" "$TMPDIR/s" &
fake=$!
wait_for 20 test -S "$TMPDIR/e"

open_console() {
	mux kill-server 2>/dev/null
	server+=x # another one: the old may take a while to be gone
	# The shell stays, so that what the program leaves behind can be seen.
	mux new-session -d -x 100 -y 24 "PS1='prompt> ' sh" && mux set-option -g remain-on-exit on &&
		mux send-keys "$BERTH -H unix://$TMPDIR/e; echo ended \$?" Enter
	wait_for 20 shows alpha
}
restored() {
	[ "$(mux display-message -p '#{alternate_on}#{cursor_flag}#{mouse_any_flag}')" = 010 ] &&
		mux send-keys 'stty -a | grep -q " echo " && echo echo is on' Enter && wait_for 20 shows "echo is on"
}

open_console && [ "$(mux display-message -p '#{alternate_on}')" = 1 ]
verdict tmux-start $?

mux resize-window -x 40 -y 12 && wait_for 20 shows alpha && mux resize-window -x 160 -y 50 && wait_for 20 shows beta
verdict tmux-resize $?

mux send-keys '?' && wait_for 20 shows "mark the row" && mux send-keys Escape && wait_for 20 shows alpha
verdict tmux-help $?

wait_for 20 shows beta && mux send-keys q && wait_for 20 shows "ended 0" && restored
verdict tmux-quit $?

open_console && pkill -ABRT -f "^[^ ]*berth-core -H unix://$TMPDIR/e|^$BERTH -H unix://$TMPDIR/e" && wait_for 20 shows "ended 134" && restored
verdict tmux-crash-restores $?
exit 0
