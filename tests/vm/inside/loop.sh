#!/bin/bash
# loop.sh - a task in a loop image on a kernel that lets root resize one: it grows while an agent has it, to the limit.
# shellcheck source=tests/vm/inside/lib.sh
. "$(dirname "$0")/lib.sh"
work=$(mktemp -d)
chmod 755 "$work"
cd "$work" || exit 1
export HOME=/root XDG_RUNTIME_DIR=$work/run XDG_DATA_HOME=$work/data XDG_STATE_HOME=$work/state
mkdir -m 700 run data state
trap 'berth down --all --yes >/dev/null 2>&1; docker volume rm berth-home-berth-loop >/dev/null 2>&1; exit $bad' EXIT
tasks=$XDG_DATA_HOME/berth/workspaces/tasks

run() { berth exec loop -- sh -c "cd $tasks/grows/files; $1"; }
limits() { berth workspace show grows --json | python3 -c "import json,sys; d=json.load(sys.stdin)['limits']; print($1)"; }

check 'a task in an image' says 0 "$tasks/grows" berth workspace create task grows --loop 10m
chown -hR 1000:1000 "$tasks/grows"
echo 'agents: {loop: {image: "box:1", workspace: "task:grows", memory: 64m, pids: 32}}' >team.yaml
check 'up' says 0 '*' berth up team.yaml
check 'so that nothing but the image stops it' says 0 '*loop image*recorded*' berth workspace limit grows --on-breach warn
check 'too much' says 1 '*' run 'head -c 50000000 /dev/zero >big'
check 'went to the limit' test "$(stat -c %s "$tasks/grows/files/big")" -lt 14000000
check 'larger, while it is used' says 0 '*60M*loop image*' berth workspace limit grows --bytes 60m
check 'it fits' says 0 '' run 'head -c 50000000 /dev/zero >big'
check 'the image says so' says 0 True limits '60<<20 <= d["quota"]["bytes"] < 70<<20'
check 'its space is taken' test "$(($(stat -c '%b * 512' "$XDG_DATA_HOME/berth/workspaces/.images/task:grows")))" -gt 60000000
check 'across more groups' says 0 '*400M*' berth workspace limit grows --bytes 400m --files 20000
check 'with more files' says 0 True limits 'd["quota"]["files"] > 20000 and d["files"] == 20000'
check 'more than fit' says 4 '*at most * files and cannot*' berth workspace limit grows --files 1000000
check 'none is made smaller' says 0 '*20M*' berth workspace limit grows --bytes 20m
check 'but counted' says 0 True limits 'd["bytes"] == 20<<20 and d["quota"]["bytes"] >= 400<<20 and d["over"]'
check 'down' says 0 '*' berth down team.yaml
check 'archived' says 0 '*' berth workspace archive grows
check 'no device is left' says 0 '' losetup -a
check 'what is on disk is sound' says 0 '*' berth workspace verify
check 'the log is sound' says 0 '*' berth audit verify

# For after the reboot.
export XDG_DATA_HOME=/var/lib/berth-loop XDG_STATE_HOME=/var/lib/berth-loop/state
(umask 077 && mkdir -p "$XDG_DATA_HOME/state")
check 'one that stays' says 0 '*' berth workspace create task stays --loop 10m
echo kept >"$XDG_DATA_HOME/berth/workspaces/tasks/stays/files/word"
