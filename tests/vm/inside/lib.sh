# lib.sh - for the parts: what a check is, and how the ordinary user does something.
# shellcheck shell=bash disable=SC2034 # for who sources it
IN=/run/in KEEP=/var/lib/berth-test
bad=0
export LC_ALL=C.UTF-8
trap 'exit $bad' EXIT # a part ends as its checks did

check() { # NAME COMMAND...
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		echo "ok $name"
	else
		echo "not ok $name"
		printf '%s\n' "$out" | sed 's/^/# /' | head -n 40
		bad=1
	fi
}

# says STATUS PATTERN COMMAND...: exit code, and both outputs together.
says() {
	local status=$1 pattern=$2 text got
	shift 2
	text=$("$@" 2>&1 </dev/null)
	got=$?
	echo "exit $got: $text"
	# shellcheck disable=SC2053 # a pattern
	[ $got = "$status" ] && [[ $text == $pattern ]]
}

# The user of the docker group, as he comes from his login.
user() {
	local id=1000 home=/home/user
	(cd $home && exec setpriv --reuid $id --regid $id --init-groups env -i HOME=$home USER=user LOGNAME=user SHELL=/bin/bash \
		PATH=/usr/local/bin:/usr/bin:/bin XDG_RUNTIME_DIR=/run/user/$id LANG=C.UTF-8 TERM=vt220 "$@")
}

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for() {
	local until=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$until" ] || return 1
		read -rt 0.2 <> <(:) || :
	done
}

# The container's cgroup: the systemd driver's place.
group() {
	echo "/sys/fs/cgroup/system.slice/docker-$(docker inspect -f '{{.Id}}' "$1").scope"
}
