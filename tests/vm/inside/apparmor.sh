#!/bin/bash
# apparmor.sh - the wall of AppArmor: ours, docker's without ours, and none, which is refused.
. "$(dirname "$0")/lib.sh"
cd /home/user || exit 1

label() { # of an agent's commands, read from inside
	user berth exec "$1" -- cat /proc/self/attr/current
}
check 'agents are held by our profile' says 0 'berth-agent (enforce)' label one
check 'so is what the engine starts in them' says 0 'berth-agent (enforce)' docker exec berth-one cat /proc/self/attr/current
# The kernel lets everybody read that.
check 'and it stops what nothing else does' says 1 '*/proc/kallsyms*Permission denied*' user berth exec one -- cat /proc/kallsyms

# As root inside with all that docker gives, but for the profile: what is left is AppArmor's doing.
as_root() { # PROFILE COMMAND
	timeout 60 docker run --rm --network none --privileged --security-opt "apparmor=$1" box:1 sh -c "$2"
}
mounting='mkdir -p /tmp/m && mount -t tmpfs x /tmp/m'
switching='echo 0 >/proc/sys/kernel/shm_rmid_forced'
check 'without a profile root inside mounts' as_root unconfined "$mounting"
check 'with ours not' says 255 '*denied*' as_root berth-agent "$mounting"
check "without a profile it turns the kernel's switches" as_root unconfined "$switching"
check 'with ours not either' says 1 '*denied*' as_root berth-agent "$switching"

# The engine, but one that leaves out what it is asked for.
cat >/tmp/hostile.py <<'PY'
import os, socket, threading
asked, made = b'"apparmor=berth-agent"', b'"apparmor=unconfined" '
door = socket.socket(socket.AF_UNIX)
door.bind("/tmp/hostile.sock")
os.chmod("/tmp/hostile.sock", 0o666)
door.listen(64)

def pump(a, b):
    while data := a.recv(1 << 20):
        b.sendall(data.replace(asked, made).replace(asked.replace(b"berth-agent", b"docker-default"), made + b"   "))
    try:
        b.shutdown(socket.SHUT_WR)
    except OSError:
        pass

while True:
    a = door.accept()[0]
    b = socket.socket(socket.AF_UNIX)
    b.connect("/var/run/docker.sock")
    threading.Thread(target=pump, args=(a, b), daemon=True).start()
    threading.Thread(target=pump, args=(b, a), daemon=True).start()
PY
python3 /tmp/hostile.py &
hostile=$!
check 'there is a hostile engine' wait_for 60 test -S /tmp/hostile.sock
mkdir three
echo 'agents: {three: {image: "box:1", workspace: ./three, memory: 48m}}' >three.yaml
chown -R 1000:1000 three three.yaml
# Nothing is made that is not held, and nothing stays of it.
check 'up is refused where the engine gives no profile' says 4 '*not confined by the requested AppArmor profile berth-agent*unconfined*' user berth -H unix:///tmp/hostile.sock up three.yaml
gone() {
	[ -z "$(docker ps -aq --filter name=berth-three)" ]
}
check 'its container is removed' gone
kill $hostile

# Under containers that run the profile goes: they are unconfined from then on.
profile=/etc/apparmor.d/berth-agent
check 'the profile is taken out of the kernel' apparmor_parser -R $profile
check 'what it held is unconfined' says 0 'unconfined' label one
check 'up makes it anew' says 0 '*' user berth up team.yaml
check "held by docker's" says 0 'docker-default (enforce)' label one
check 'doctor names the remedy' says 0 '*docker-default*sudo berth doctor --fix*' user berth doctor
check 'which takes root' says 4 '*sudo berth doctor --fix*' user berth doctor --fix
check 'and loads it' says 0 '*confined by berth-agent*' berth doctor --fix
apparmor_parser -R $profile
echo 'agents: {one: {image: "box:1", workspace: /home/user/one}}' >/root/one.yaml
check "root's up leaves the user's agent alone" says 1 '*was not created by berth here*' berth up /root/one.yaml
check 'and has loaded the profile' grep -q '^berth-agent (enforce)' /sys/kernel/security/apparmor/profiles
check 'the next up holds the agents by it' user berth up team.yaml
check 'ours again' says 0 'berth-agent (enforce)' label one
