#!/bin/bash
# stranger.sh - a user whom /etc/passwd does not name: a number only, as a directory service or a container gives one.
. "$(dirname "$0")/lib.sh"

check 'names are asked of systemd and sss' bash -c 'for db in passwd group; do grep -E "^$db:" /etc/nsswitch.conf | grep -w systemd | grep -qw sss || exit 1; done'
check 'and there is no such user' bash -c '! getent passwd 4321'
home=/tmp/stranger
mkdir -p $home && cd $home && mkdir tree && echo needle >tree/a && chown -R 4321:4321 $home || exit 1
stranger() {
	(cd $home && exec setpriv --reuid 4321 --regid 4321 --clear-groups env -i HOME=$home PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 "$@")
}
recorded() { # ACT OUTCOME: there is a record of it, of that number
	stranger berth audit list --json >$home/log
	grep "\"act\": \"$1\"" $home/log | tee /dev/stderr | grep "\"outcome\": \"$2\"" | grep -q '"uid": 4321'
}
check 'files read' says 0 needle stranger berth files read tree/a
check 'it is recorded' recorded file.read ok
check 'files search' says 0 '*needle*' stranger berth files search needle tree
written() {
	echo text | stranger berth files write tree/b
}
check 'so is that' recorded file.search ok
check 'files write' written
check 'and that' recorded file.write ok
check 'files copy' says 0 '*' stranger berth files copy tree copy
check 'it is recorded too' recorded file.copy ok
check 'the copy is the same' diff -r tree copy
check 'ps without the docker group: a sentence' says 3 'berth: *' stranger berth ps
docker_gid=$(getent group docker | cut -d : -f 3)
grouped() {
	(cd $home && exec setpriv --reuid 4321 --regid 4321 --groups "$docker_gid" env -i HOME=$home PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 "$@")
}
cat >team.yaml <<'YAML'
agents:
  numbered: {image: "box:1", workspace: ./tree, memory: 64m}
YAML
check 'up of an agent' grouped berth up team.yaml
check 'exec over the lane' says 0 '4321*' grouped berth exec numbered -- id -u
check 'exec says how' says 0 '*"path": "lane"*' grouped berth exec --json numbered -- true
check 'exec is recorded' recorded container.exec ok
check 'its log is whole' says 0 '*' stranger berth audit verify
check 'down' grouped berth down team.yaml
