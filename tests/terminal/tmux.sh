#!/bin/bash
# tmux.sh - the console inside tmux: start, resize, crash, quit; what a person's multiplexer then shows.
set -u
. "$SRC/tests/lib/mux.sh"

fake_engine e '{"containers": [{"name": "alpha", "cpu": 40}, {"name": "beta"}]}' || exit 1

open_console() {
	mux kill-server 2>/dev/null
	server+=x # another one: the old may take a while to be gone
	# The shell stays, so that what the program leaves behind can be seen.
	mux new-session -d -x 100 -y 24 "PS1='prompt> ' sh" && mux set-option -g remain-on-exit on &&
		mux send-keys "$BERTH -H unix://$TMPDIR/e; echo ended \$?" Enter
	wait_for 60 shows alpha
}
restored() {
	[ "$(mux display-message -p '#{alternate_on}#{cursor_flag}#{mouse_any_flag}')" = 010 ] &&
		mux send-keys 'stty -a | grep -q " echo " && echo echo is on' Enter && wait_for 60 shows "echo is on"
}

open_console && [ "$(mux display-message -p '#{alternate_on}')" = 1 ]
verdict tmux-start $?

mux resize-window -x 40 -y 12 && wait_for 60 shows alpha && mux resize-window -x 160 -y 50 && wait_for 60 shows beta
verdict tmux-resize $?

mux send-keys '?' && wait_for 60 shows "mark the row" && mux send-keys Escape && wait_for 60 shows alpha
verdict tmux-help $?

wait_for 60 shows beta && mux send-keys Q && wait_for 60 shows "ended 0" && restored
verdict tmux-quit $?

# A pager has the terminal as a shell would give it, C-c and C-z are for it, and the console is there again.
cat >"$TMPDIR/pager" <<'SH'
trap 'echo interrupted' INT
cat >"$TMPDIR/paged"
stty -a </dev/tty | grep -q ' icanon ' && echo paging
n=0 # a terminal that is gone would never say it
while [ "$line" != leave ] && [ $n -lt 100 ]; do read -r line </dev/tty; n=$((n + 1)); done
SH
paged() {
	export PAGER="sh $TMPDIR/pager"
	open_console && mux send-keys l && wait_for 60 shows "following" && mux send-keys '|' && wait_for 60 shows paging || return
	mux send-keys C-c && wait_for 60 shows interrupted && mux send-keys C-z && mux send-keys leave Enter && wait_for 60 shows following || return
	grep -q ready "$TMPDIR/paged" && mux send-keys Q && wait_for 60 shows "ended 0" && restored
}
paged
verdict tmux-pager $?
export PAGER=/nonexistent/pager
open_console && mux send-keys l && wait_for 60 shows "following" && mux send-keys '|' && wait_for 60 shows "There is no pager"
verdict tmux-no-pager $?

# A script for somebody who learns: at a pace, paused and hurried by keys, unable to change anything.
cat >"$TMPDIR/demo" <<'END'
say These are the containers.
key Down
say One is removed by D.
key D
expect Read-only
say That was all.
key g
END
demo() {
	mux kill-server 2>/dev/null
	server+=x
	mux new-session -d -x 100 -y 24 "PS1='prompt> ' sh" && mux set-option -g remain-on-exit on &&
		mux send-keys "$BERTH -H unix://$TMPDIR/e --demo $TMPDIR/$1; echo ended \$?" Enter
}
taught() {
	demo demo && wait_for 60 shows "These are the containers." && mux send-keys Space && wait_for 60 shows "Demo, paused" &&
		mux send-keys n && mux send-keys n && mux send-keys n && mux send-keys Space && wait_for 60 shows "That was all." &&
		wait_for 60 shows "the console is yours" && mux send-keys ':' ro Enter && wait_for 60 shows "cannot be turned off" &&
		mux send-keys Q && wait_for 60 shows "ended 0" && restored
}
taught
verdict tmux-demo $?
left() {
	demo demo && wait_for 60 shows "These are" && mux send-keys q && wait_for 60 shows "The demo was left" && mux send-keys Q && wait_for 60 shows "ended 0"
}
left
verdict tmux-demo-left $?
saves() {
	printf 'key C-s\nwait A demo saves nothing\n' >"$TMPDIR/saves"
	demo saves && wait_for 60 shows "the console is yours" && mux send-keys Q && wait_for 60 shows "ended 0"
}
saves
verdict tmux-demo-saves-nothing $?
wrong() {
	echo "expect nowhere" >"$TMPDIR/wrong"
	demo wrong && wait_for 60 shows "ended 1" && shows "there is no" && restored
}
wrong
verdict tmux-demo-wrong $?

# The shell in the pane has one child.
crashes() {
	local pid
	open_console && pid=$(pgrep -P "$(mux display-message -p '#{pane_pid}')") && kill -ABRT "$pid" && wait_for 60 shows "ended 134" && restored
}
crashes
verdict tmux-crash-restores $?
