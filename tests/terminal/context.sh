#!/bin/bash
# context.sh - `:ctx NAME` in a terminal: another engine's console in the place of this one, with the options it was started with.
set -u
. "$SRC/tests/lib/mux.sh"

fake_engine e1 '{"containers": [{"name": "alpha"}]}' && fake_engine e2 '{"containers": [{"name": "beta"}]}' || exit 1
export DOCKER_CONFIG=$TMPDIR/docker
id=$(printf other | sha256sum | cut -d ' ' -f 1)
mkdir -p "$DOCKER_CONFIG/contexts/meta/$id"
printf '{"Name": "other", "Metadata": {}, "Endpoints": {"docker": {"Host": "unix://%s"}}}' "$TMPDIR/e2" >"$DOCKER_CONFIG/contexts/meta/$id/meta.json"

mux new-session -d -x 100 -y 24 "PS1='prompt> ' sh" && mux set-option -g remain-on-exit on
mux send-keys "$BERTH -H unix://$TMPDIR/e1 --read-only; echo ended \$?" Enter
wait_for 60 shows alpha
verdict context-begins $?

mux send-keys : 'ctx nosuch' Enter && wait_for 60 shows "There is no docker context nosuch" && shows alpha
verdict context-that-is-none $?

# Until it has ended, leaving for another engine would ask.
mux send-keys : ctx Enter && wait_for 60 shows other && wait_for 60 shows "contexts: done" && mux send-keys q && wait_for 60 shows alpha
verdict contexts-are-listed $?

mux send-keys : 'ctx other' Enter && wait_for 60 shows beta && shows read-only
verdict context-of-another-engine $?

mux send-keys Q && wait_for 60 shows "ended 0"
verdict context-ends $?
