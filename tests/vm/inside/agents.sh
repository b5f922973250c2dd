#!/bin/bash
# agents.sh - an ordinary user of the docker group and his two agents, from doctor to OOM.
. "$(dirname "$0")/lib.sh"

no_group() { # the user may do all that because of the group, not otherwise
	id -nG user | grep -qw docker && ! setpriv --reuid 1000 --regid 1000 --clear-groups test -w /var/run/docker.sock
}
check 'the user is one of the docker group' no_group

user berth doctor --json >/tmp/doctor.json
check 'doctor is content' python3 - <<'PY'
import json
d = json.load(open("/tmp/doctor.json"))
found = {c["name"]: c for c in d["checks"]}
assert d["ok"], [c for c in d["checks"] if c["state"] == "missing"]
for name in "engine containers statistics cgroups dockerd openat2 pidfd seccomp apparmor runtime_directory state_directory".split():
    assert found[name]["state"] == "ok", found[name]
assert found["apparmor"]["found"].endswith("confined by berth-agent"), found["apparmor"]
PY

mkdir -p /home/user/one /home/user/two /home/user/docs
echo read me >/home/user/docs/text
cat >/home/user/team.yaml <<'YAML'
agents:
  one: {image: "box:1", workspace: ./one, memory: 64m, cpus: 0.5, pids: 32, tmp: 8m, context_paths: [{path: ./docs}]}
  two: {image: "box:1", workspace: ./two, memory: 48m, cpus: 0.5, pids: 32, context_paths: [{path: ./docs}]}
YAML
chown -R 1000:1000 /home/user
up() {
	user berth up --json team.yaml >/tmp/up.json
}
check 'up of two at once' up
cat >/tmp/up.py <<'PY'
import json
agents = json.load(open("/tmp/up.json"))["agents"]
assert len(agents) == 2 and all(a["up"] for a in agents), agents
other = [(a["agent"], e) for a in agents for e in a["enforced"] if not e["same"]]
assert not other, other
held = [e["actual"] for a in agents for e in a["enforced"] if e["what"] == "AppArmor"]
assert held == ["berth-agent (enforce)"] * 2, held
for what in ("memory", "memory and swap", "processes", "mounts", "seccomp"):
    assert all(any(e["what"] == what for e in a["enforced"]) for a in agents), agents
PY
check 'every limit and mount is in force' python3 /tmp/up.py

limits() { # as the kernel says them, of the container's own cgroup
	local g
	g=$(group berth-one)
	says 0 "67108864 0 32 50000 100000" bash -c "echo \$(cat $g/memory.max $g/memory.swap.max $g/pids.max $g/cpu.max)"
}
check 'the kernel has the same limits' limits

check 'exec' says 0 'hello' user berth exec one -- echo hello
check 'exec passes the exit code on' says 7 '' user berth exec one -- sh -c 'exit 7'
check 'exec goes over the lane' says 0 '*"path": "lane"*' user berth exec --json one -- true
written() {
	user berth exec one -- sh -c 'echo y >/home/user/one/y' && [ "$(stat -c %u /home/user/one/y)" = 1000 ]
}
check "what it writes is the user's" written
check 'context is read-only' says 1 '*Read-only file system*' user berth exec one -- sh -c 'echo x >/home/user/docs/text'

ends() { # nothing but the init
	wait_for 20 bash -c "[ \$(find $(group berth-one) -name cgroup.procs -exec cat {} + | wc -l) = 1 ]"
}
check 'a time-out' says 124 '*' user berth exec --timeout 2 one -- sh -c '(setsid sleep 600 &); sleep 600'
check 'ends the whole tree' ends
check 'want of memory is told apart' says 137 '*"ended": "oom"*' user berth exec --json one -- tail /dev/zero
check 'from a plain SIGKILL' says 137 '*"ended": "signal"*' user berth exec --json one -- sh -c 'kill -9 $$'

# shellcheck disable=SC2016 # the container's shell
facts='cat /proc/self/attr/current; grep -E "^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status'
cat >/tmp/walls.py <<'PY'
import sys
text = sys.stdin.read()
assert text.startswith("berth-agent (enforce)\n"), text
assert dict(line.split(":\t") for line in text.splitlines()[1:]) == {"Uid": "1000\t1000\t1000\t1000", "NoNewPrivs": "1",
    "CapEff": "0" * 16, "CapBnd": "0" * 16, "Seccomp": "2"}, text
PY
walls() {
	user berth exec "$1" -- sh -c "$facts" | python3 /tmp/walls.py
}
check 'AppArmor, seccomp and no capabilities, read from inside' walls one

cat >/tmp/stats.py <<'PY'
import http.client, json, socket
link = http.client.HTTPConnection("engine")
link.sock = socket.socket(socket.AF_UNIX)
link.sock.connect("/var/run/docker.sock")
rows = {c["name"]: c for c in json.load(open("/tmp/ps.json"))["containers"]}
for name in ("berth-one", "berth-two"):
    link.request("GET", f"/v1.41/containers/{name}/stats?stream=false&one-shot=true")
    s = json.load(link.getresponse())
    memory = s["memory_stats"]["usage"] - s["memory_stats"]["stats"]["inactive_file"]
    row = rows[name]
    assert abs(row["memory_bytes"] - memory) <= 256 << 10, (name, row["memory_bytes"], memory)
    assert row["memory_limit_bytes"] == s["memory_stats"]["limit"], (name, row, s["memory_stats"]["limit"])
    assert row["pids"] == s["pids_stats"]["current"] and row["pids_limit"] == 32, (name, row, s["pids_stats"])
    io = {"Read": 0, "Write": 0}
    for entry in s["blkio_stats"]["io_service_bytes_recursive"] or ():
        io[entry["op"].capitalize()] += entry["value"]
    print(name, row["memory_bytes"], memory, io)
PY
user berth ps --json >/tmp/ps.json
check 'statistics equal those of docker' python3 /tmp/stats.py

check 'the audit log is whole' says 0 '*' user berth audit verify
