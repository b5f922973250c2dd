#!/bin/bash
# sudo.sh - sudo: true loosens what it should, and all else holds.  busybox's su stands in for sudo.
export DOCKER_HOST=$BERTH_TEST_ENGINE
. "$SRC/tests/lib/engine.sh"
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
image=su-$$:1 agent=su$$
clean_up() {
	"$BERTH" down --all --yes >/dev/null 2>&1
	docker volume ls -q | grep "^berth-home-berth-$agent" | xargs -r docker volume rm >/dev/null 2>&1
	docker image rm -f "$image" >/dev/null 2>&1
}
trap clean_up EXIT

# As root, inside; both streams in one.
root() {
	"$BERTH" exec "$agent" -- /usr/bin/su -c "exec 2>&1; $1"
}

mkdir image
cat >image/Dockerfile <<'DOCKER'
FROM box:1
RUN sed -i 's/^root:x:/root::/' /etc/passwd && cp /bin/busybox /usr/bin/su && chmod 4755 /usr/bin/su && \
    printf '#!/bin/sh\nexec /usr/bin/su -c "id -u"\n' >/usr/bin/become && chmod 755 /usr/bin/become
DOCKER
"$BERTH" image build -t "$image" image >build.log 2>&1 || { cat build.log; echo "not ok the test's image"; exit 1; }
mkdir ws docs
echo no >docs/a
chmod 0755 . ws docs
chown 4321:4322 ws
umask 077
cat >team.yaml <<YAML
agents:
  $agent: {image: "$image", workspace: $PWD/ws, sudo: true, memory: 64m, pids: 64, context_paths: [{path: $PWD/docs}], secrets: [key]}
  ${agent}n: {image: "$image", workspace: $PWD/ws, memory: 64m, pids: 64}
secrets: {key: {env: THE_KEY}}
YAML
export THE_KEY='a secret'

check 'what is loosened is said' says 0 '*loosened: root inside*loosened: a writable root*loosened: the capabilities*loosened: new privileges*' \
	"$BERTH" up team.yaml
"$BERTH" up --json team.yaml >up.json
check 'and in JSON, with everything in force as asked' /usr/bin/python3 -c '
import json
sudo, none = sorted(json.load(open("up.json"))["agents"], key=lambda a: len(a["agent"]))
assert len(sudo["loosened"]) == 4 and not none["loosened"], (sudo["loosened"], none["loosened"])
assert sudo["was_up"] and none["was_up"]'
check 'config check says it, too' says 0 '*loosened*root inside*loosened*new privileges*' "$BERTH" config check team.yaml
"$BERTH" down team.yaml >/dev/null
check 'everything that was asked for is in force' bash -c '
	"$BERTH" up --json team.yaml >up.json && /usr/bin/python3 -c "
import json
for a in json.load(open(\"up.json\"))[\"agents\"]:
    assert a[\"up\"] and len(a[\"enforced\"]) > 10, a
    assert not [x for x in a[\"enforced\"] if not x[\"same\"]], a"'

check 'commands run as the owner of the workspace, who has a name' says 0 '4321 4322 berth-4321' \
	"$BERTH" exec "$agent" -- sh -c 'echo "$(id -u) $(id -g) $(whoami)"'
check 'without any capability' says 0 'CapEff:*0000000000000000' "$BERTH" exec "$agent" -- grep CapEff /proc/self/status
check 'the secret is theirs' says 0 'a secret' "$BERTH" exec "$agent" -- sh -c 'cat /run/secrets/key && [ "$(stat -c "%u %a" /run/secrets/key)" = "4321 400" ]'
check 'they become root' says 0 0 root 'id -u'
check 'who writes to the root file system' says 0 'here' root 'echo here >/etc/x && chown 7:7 /etc/x && cat /etc/x'
check 'with seven capabilities' says 0 'CapEff:*00000000000000fb' root 'grep CapEff /proc/self/status'
check 'under the same seccomp profile' says 0 'Seccomp:*2' root 'grep Seccomp: /proc/self/status'
check 'no mount' says 1 '*ermi*' root 'mount -t tmpfs x /mnt || mount -t tmpfs x /tmp'
check 'what is mounted read-only stays so' says 1 '*' root "mount -o remount,rw $PWD/docs || echo yes >$PWD/docs/a"
check 'and is as it was' [ "$(cat docs/a)" = no ]
check 'no device' says 1 '*ermi*' root 'mknod /tmp/d b 8 0'
check 'no module, no host name' says 1 '*ermi*' root 'hostname x || insmod /bin/busybox'
check 'no clock' says 0 "date: can't set date: Operation not permitted*" root 'date -s 2020-01-01'
check 'no network but itself' says 0 'lo' root 'ls /sys/class/net'
check 'the memory limit is not its to change' says 1 '*' root \
	'if [ -d /sys/fs/cgroup/memory ]; then echo -1 >/sys/fs/cgroup/memory/memory.limit_in_bytes; else echo max >/sys/fs/cgroup/memory.max; fi'
check 'init cannot be traced' says 1 '*' root 'cat /proc/1/mem || cat /proc/1/environ'
check 'a time-out ends what root started, in sessions of their own' bash -c '
	"$BERTH" exec --timeout 1 "$1" -- /usr/bin/su -c "setsid sleep 4711 & trap \"\" TERM; sleep 4712"
	[ $? = 124 ] && ! docker top "berth-$1" | grep -q 471' - "$agent"
check 'the terminal is theirs' bash -c 'script -qec "$BERTH exec -t $1 -- sh -c \"echo se\"\"en >\\\$(tty)\"" /dev/null </dev/null | grep -q seen' - "$agent"
check 'without sudo: the rules refuse su' says 125 '*refused*without sudo*' "$BERTH" exec "${agent}n" -- /usr/bin/su -c 'id -u'
check 'and by another name it gains nothing' says 1 '*' "$BERTH" exec "${agent}n" -- become
check 'a workspace of root is refused' says 4 '*belongs to root*chown 1000:1000*' \
	bash -c '"$BERTH" down team.yaml >/dev/null; mkdir -m 0755 rootws && sed "s|/ws,|/rootws,|" team.yaml >rootws.yaml && "$BERTH" up rootws.yaml'
exit $bad
