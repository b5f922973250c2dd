# shellcheck shell=bash
# mux.sh - a tmux server of the test's own, and scripted engines for what runs in it. Source it, with SRC and TMPDIR set; both
# end with the test.
#
#   mux COMMAND...        tmux's, on that server
#   shows TEXT            the pane shows it
#   verdict NAME STATUS   "ok NAME", or what the pane shows and "not ok NAME"
#   fake_engine NAME DOCUMENT   a scripted engine (tests/scenario/fake_engine.py) at unix://$TMPDIR/NAME

. "$SRC/tests/lib/wait.sh"
server=berth-test-$$
fakes=()
command -v tmux >/dev/null || { echo "there is no tmux"; exit 1; }

mux_finish() {
	tmux -L "$server" kill-server 2>/dev/null
	[ ${#fakes[@]} = 0 ] || kill "${fakes[@]}" 2>/dev/null
}
trap mux_finish EXIT

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

fake_engine() {
	printf '%s\n' "$2" >"$TMPDIR/$1.json"
	/usr/bin/python3 "$SRC/tests/scenario/fake_engine.py" "$TMPDIR/$1" "$TMPDIR/$1.json" &
	fakes+=($!)
	wait_for 60 test -S "$TMPDIR/$1"
}
