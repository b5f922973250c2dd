# lib.sh - for the parts: what a check is, and how the ordinary user does something.
# shellcheck shell=bash disable=SC2034 # for who sources it
IN=/run/in KEEP=/var/lib/berth-test
export LC_ALL=C.UTF-8
TMPDIR=${TMPDIR:-/tmp} # check.sh's own, of no program that it starts
# shellcheck source=tests/lib/check.sh
. "$IN/src/tests/lib/check.sh"
# shellcheck source=tests/lib/wait.sh
. "$IN/src/tests/lib/wait.sh"
trap 'exit $bad' EXIT # a part ends as its checks did

# The user of the docker group, as he comes from his login.
user() {
	local id=1000 home=/home/user
	(cd $home && exec setpriv --reuid $id --regid $id --init-groups env -i HOME=$home USER=user LOGNAME=user SHELL=/bin/bash \
		PATH=/usr/local/bin:/usr/bin:/bin XDG_RUNTIME_DIR=/run/user/$id LANG=C.UTF-8 TERM=vt220 "$@")
}

# The container's cgroup: the systemd driver's place.
group() {
	echo "/sys/fs/cgroup/system.slice/docker-$(docker inspect -f '{{.Id}}' "$1").scope"
}
