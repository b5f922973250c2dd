#!/bin/bash
# restarts.sh - starts that are not ours: by docker, by its restart policy, by systemd. And the end of all.
. "$(dirname "$0")/lib.sh"

lane() {
	says 0 '*"path": "lane"*' user berth exec --json "$1" -- true
}
running() {
	[ "$(docker inspect -f '{{.State.Running}}' "$1")" = true ]
}

check 'docker restart' docker restart -t 1 berth-one
# Its init lets nobody but root read its mounts.
check 'nothing runs in what nobody has looked at since' says 125 '*berth up /home/user/team.yaml*' user berth exec one -- true
check 'up gives the same container its lane back' says 0 '*"offered_again": true*' user berth up --json team.yaml
check 'it is there' lane one

docker run -d --name kept --restart always --network none box:1 sleep 1000000 >/dev/null
was=$(docker inspect -f '{{.State.Pid}}' kept)
kill -9 "$was"
another() {
	local pid
	pid=$(docker inspect -f '{{.State.Pid}}' kept) && [ "$pid" != 0 ] && [ "$pid" != "$was" ]
}
check 'the restart policy starts it again' wait_for 60 another
check 'and exec finds the new one' says 0 here user berth exec kept -- echo here

check 'systemctl restart docker' systemctl restart docker
check 'what has a restart policy runs' wait_for 60 running kept
statistics() {
	user berth ps --json | python3 -c 'import json, sys
c = {c["name"]: c for c in json.load(sys.stdin)["containers"]}["kept"]
assert c["memory_bytes"] > 0 and c["pids"] == 1, c'
}
check 'statistics of it are read again' statistics
check 'an agent does not run by itself' says 125 '*is not running*' user berth exec one -- true
check 'up starts the agents again' user berth up team.yaml
check 'and the lane is back' lane one

# The whole container, by the kernel: a bomb goes on forking until all of it is killed at once.
cp "$IN/build/attack-inside" /home/user/two/bomb
user berth exec two -- /home/user/two/bomb resources fork-bomb >/dev/null 2>&1 &
job=$!
pid=$(docker inspect -f '{{.State.Pid}}' berth-two) id=$(docker inspect -f '{{.Id}}' berth-two)
forks() {
	[ "$(cat "$1/pids.current")" -ge 24 ]
}
check 'a bomb goes off' wait_for 60 forks "$(group berth-two)"
check 'cgroup.kill ends all of a container' strace -f -o /tmp/kill.trace -e trace=openat,write "$IN/build/vm-end" "$pid" "$id"
check 'it was that' grep -qE 'write\([0-9]+, "1", 1\) += 1' /tmp/kill.trace
stopped() {
	! running "$1"
}
check 'docker sees its end' wait_for 60 stopped berth-two
told() {
	! kill -0 "$job"
}
check 'who ran it is told' wait_for 60 told
