# engine.sh - engines of the tests' own: a real dockerd, TCP and TLS doors to it, podman's service.
#
# Source it. Everything lives below one directory; engine_stop takes it all away again.
#
#   engine_start DIR            a dockerd in a network namespace of its own; sets and exports
#                               BERTH_TEST_ENGINE=unix://DIR/docker.sock and BERTH_TEST_ENGINE_DIR=DIR
#   engine_kill DIR             SIGKILL, as a crash would; shims and containers live on
#   engine_again DIR            start it again on the same data
#   engine_stop DIR             remove containers, stop, unmount, remove cgroups and files
#   engine_api DIR METHOD PATH [CURL OPTIONS...]    fails on an HTTP error
#   engine_run DIR NAME [JSON]  create and start a box:1 container; JSON is merged into the request
#   engine_debian DIR           the image debian:1 with python3 (slow: only when a test needs it)
#   engine_tcp DIR              prints tcp://127.0.0.1:PORT
#   engine_tls DIR              prints tcp://127.0.0.1:PORT; DIR/tls holds ca.pem, cert.pem, key.pem
#   podman_start DIR [USER] / podman_stop DIR [USER]    podman's service at unix://DIR/podman.sock, box:1 in it; docker.sock
#                               is a link to it, so that engine_api and engine_run ask it as well.  USER: without root, as that
#                               user (podman_user), who must be able to reach DIR
#   podman_user DIR             an ordinary user with a range of others' numbers, known below DIR/etc only; prints its number
#
# All take a directory of their own, a short path: unix sockets allow 107 bytes.

: "${SRC:=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}"

. "$SRC/tests/lib/wait.sh"

engine_ping() {
	curl -sf -m 60 --unix-socket "$1" http://engine/_ping
}

# engine_comes SOCKET PID: it answers; who has ended does not, and is not waited for.
engine_comes() {
	wait_for 120 engine_came "$@" && engine_ping "$1"
}

engine_came() {
	engine_ping "$1" || process_gone "$2"
}

# HTTP errors go to stderr with the engine's sentence.
engine_api() {
	local dir=$1 method=$2 path=$3
	shift 3
	local reply
	reply=$(curl -sS -m 120 --fail-with-body -X "$method" --unix-socket "$dir/docker.sock" "$@" "http://engine/v1.41$path") ||
		{ echo "$method $path: $reply" >&2; return 1; }
	printf '%s' "$reply"
}

engine_launch() {
	local dir=$1
	# Only the network is unshared: the socket and the containers' cgroups stay visible from here. The
	# cgroupfs driver takes a parent on every machine; the containerd namespace matters where the
	# machine runs a containerd that dockerd would share.
	# -H a second time keeps dockerd from the machine's own default socket.
	setsid unshare --net -- sh -c 'ip link set lo up; exec dockerd "$@"' dockerd \
		--config-file="$dir/daemon.json" --host="unix://$dir/docker.sock" --data-root="$dir/data" \
		--exec-root="$dir/exec" --pidfile="$dir/docker.pid" --exec-opt native.cgroupdriver=cgroupfs \
		--cgroup-parent="/$(engine_cgroup "$dir")" --containerd-namespace="$(engine_cgroup "$dir")" \
		--containerd-plugins-namespace="$(engine_cgroup "$dir")-plugins" --shutdown-timeout=5 \
		>>"$dir/dockerd.log" 2>&1 </dev/null &
	disown
	engine_comes "$dir/docker.sock" $! && return
	echo "The tests' dockerd did not answer; its last words:" >&2
	tail -n 5 "$dir/dockerd.log" >&2
	return 1
}

# A name of its own for each directory.
engine_cgroup() {
	echo "berth-test-$(cksum <<<"$1" | cut -d ' ' -f 1)"
}

engine_box() {
	"$SRC/configs/images/make-box" >"$1/box.tar" &&
		engine_api "$1" POST '/images/create?fromSrc=-&repo=box:1' -H 'Content-Type: application/x-tar' \
			-T "$1/box.tar" >/dev/null && rm -f "$1/box.tar"
}

engine_start() {
	local dir=$1
	command -v dockerd >/dev/null || { echo "There is no dockerd." >&2; return 1; }
	[ "$(id -u)" = 0 ] || { echo "Only root can start dockerd." >&2; return 1; }
	mkdir -p "$dir"
	# gVisor makes no network of its own in a namespace whose root it is not.
	echo '{"runtimes": {"runsc": {"path": "runsc", "runtimeArgs": ["--network=none"]}}}' >"$dir/daemon.json"
	engine_launch "$dir" || return
	engine_box "$dir" || return
	export BERTH_TEST_ENGINE="unix://$dir/docker.sock" BERTH_TEST_ENGINE_DIR=$dir
}

# A zombie counts as gone: an init that reaps late must not cost the tests their time.
process_gone() {
	! grep -qs '^State:.[^Z]' "/proc/$1/status"
}

# process_is PID WORD: it lives, and was started with that.
process_is() {
	grep -qsa -- "$2" "/proc/$1/cmdline"
}

# Kill what a pid file names, if it is what it should be, and wait for its end.
engine_signal() {
	local signal=$1 pidfile=$2 what=$3 pid
	pid=$(cat "$pidfile" 2>/dev/null) && process_is "$pid" "$what" || return 0
	kill "-$signal" "$pid" 2>/dev/null
	wait_for 20 process_gone "$pid"
}

engine_kill() {
	engine_signal KILL "$1/docker.pid" "$1/docker.pid"
}

engine_again() {
	# Its containerd died with it; a zombie that nobody reaps would pass for a living one.
	rm -f "$1/docker.pid" "$1/exec/containerd/containerd.pid"
	engine_launch "$1"
}

engine_stop() {
	local dir=$1 name ids='' pid
	name=$(engine_cgroup "$dir")
	[ -d "$dir" ] || return 0
	if process_is "$(cat "$dir/docker.pid" 2>/dev/null)" "$dir/docker.pid"; then
		ids=$(engine_api "$dir" GET '/containers/json?all=1' -m 30 | grep -o '"Id":"[0-9a-f]\{64\}"' | cut -d '"' -f 4)
	fi
	for pid in $ids; do
		engine_api "$dir" DELETE "/containers/$pid?force=1&v=1" -m 60 >/dev/null &
	done
	# shellcheck disable=SC2046 # a list of process numbers
	wait $(jobs -p) 2>/dev/null
	engine_doors_close "$dir"
	engine_signal TERM "$dir/docker.pid" "$dir/docker.pid"
	engine_signal KILL "$dir/docker.pid" "$dir/docker.pid"
	engine_signal TERM "$dir/exec/containerd/containerd.pid" "$dir/exec"
	engine_signal KILL "$dir/exec/containerd/containerd.pid" "$dir/exec"
	# Shims of a crashed engine, and through them their containers.
	for pid in $(pgrep -f -- "-address $dir/exec/containerd/containerd.sock"); do
		pkill -KILL -P "$pid"
		kill -KILL "$pid" 2>/dev/null
	done
	awk -v d="$dir/" 'index($5, d) == 1 {print $5}' /proc/self/mountinfo | sort -r | xargs -r umount -l 2>/dev/null
	find /sys/fs/cgroup -depth -type d -path "*/$name*" -exec rmdir {} + 2>/dev/null
	rm -rf "$dir"
	if [ "${BERTH_TEST_ENGINE_DIR-}" = "$dir" ]; then
		unset BERTH_TEST_ENGINE BERTH_TEST_ENGINE_DIR
	fi
	return 0
}

engine_run() {
	local dir=$1 name=$2 json=${3-} body id
	body='{"Image":"box:1","Cmd":["/demo/idle.sh"],"HostConfig":{"NetworkMode":"none"}}'
	[ -z "$json" ] || body=$(/usr/bin/python3 -c 'import json, sys
a, b = json.loads(sys.argv[1]), json.loads(sys.argv[2])
a["HostConfig"].update(b.pop("HostConfig", {}))
print(json.dumps({**a, **b}))' "$body" "$json")
	id=$(engine_api "$dir" POST "/containers/create?name=$name" -H 'Content-Type: application/json' -d "$body" |
		grep -o '[0-9a-f]\{64\}') || return
	engine_api "$dir" POST "/containers/$id/start" && echo "$id"
}

engine_debian() {
	local dir=$1
	engine_api "$dir" GET /images/debian:1/json >/dev/null 2>&1 && return
	command -v mmdebstrap >/dev/null || apt-get install -y --no-install-recommends mmdebstrap >/dev/null || return
	mmdebstrap --quiet --variant=apt --include=python3-minimal bookworm "$dir/debian.tar" &&
		engine_api "$dir" POST '/images/create?fromSrc=-&repo=debian&tag=1' \
			-H 'Content-Type: application/x-tar' -T "$dir/debian.tar" >/dev/null && rm -f "$dir/debian.tar"
}

engine_free_port() {
	/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# A door is a socat in front of the unix socket: the engine's own network is not reachable from here.
engine_door() {
	local dir=$1 port=$2 listen=$3
	setsid socat "$listen" "UNIX-CONNECT:$dir/docker.sock" >>"$dir/socat.log" 2>&1 </dev/null &
	echo $! >"$dir/door.$port.pid"
	disown
	wait_for 60 bash -c ": </dev/tcp/127.0.0.1/$port" || { cat "$dir/socat.log" >&2; return 1; }
	echo "tcp://127.0.0.1:$port"
}

engine_doors_close() {
	local pidfile
	for pidfile in "$1"/door.*.pid; do
		[ -e "$pidfile" ] && engine_signal TERM "$pidfile" "$1/docker.sock"
	done
}

engine_tcp() {
	local port
	port=$(engine_free_port)
	engine_door "$1" "$port" "TCP-LISTEN:$port,bind=127.0.0.1,fork,reuseaddr"
}

# A CA, a server's and a client's certificate, as `docker` wants them in DOCKER_CERT_PATH.
engine_certificates() {
	local dir=$1/tls
	mkdir -p "$dir"
	(
		cd "$dir" || exit
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj '/CN=berth test CA' \
			-keyout ca-key.pem -out ca.pem &&
			openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=localhost' \
				-keyout server-key.pem -out server.csr &&
			openssl x509 -req -in server.csr -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 2 -out server.pem \
				-extfile <(echo 'subjectAltName=DNS:localhost,IP:127.0.0.1
extendedKeyUsage=serverAuth') &&
			openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=berth test client' \
				-keyout key.pem -out client.csr &&
			openssl x509 -req -in client.csr -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 2 -out cert.pem \
				-extfile <(echo 'extendedKeyUsage=clientAuth') &&
			cat server.pem server-key.pem >server-both.pem
	) 2>>"$dir/openssl.log" || { cat "$dir/openssl.log" >&2; return 1; }
}

engine_tls() {
	local dir=$1 port
	port=$(engine_free_port)
	engine_certificates "$dir" || return
	engine_door "$dir" "$port" \
		"OPENSSL-LISTEN:$port,bind=127.0.0.1,fork,reuseaddr,cert=$dir/tls/server-both.pem,cafile=$dir/tls/ca.pem,verify=1"
}

podman_user() {
	local dir=$1 number=$((200000 + $$)) # of this script alone: what it leaves is known by it
	cp -a /etc "$dir/etc" && mkdir -m 700 "$dir/home" "$dir/run" || return
	echo "berth-test:x:$number:$number::$dir/home:/bin/sh" >>"$dir/etc/passwd"
	echo "berth-test:x:$number:" >>"$dir/etc/group"
	echo "berth-test:$((10000000 + $$ * 65536)):65536" | tee -a "$dir/etc/subuid" >>"$dir/etc/subgid"
	chown "$number:$number" "$dir" "$dir/home" "$dir/run"
	echo "$number"
}

# podman_run DIR USER ARGUMENTS...: on that storage, in the place of this shell.
podman_run() {
	local dir=$1 user=$2 as=(setsid)
	shift 2
	[ -z "$user" ] || as=(setsid unshare --mount -- sh -c 'cd / && mount --make-rshared / && mount --bind "$0/etc" /etc && d=$0 && shift && exec setpriv "$@"' "$dir" x
		--reuid="$user" --regid="$user" --clear-groups env HOME="$dir/home" TMPDIR="$dir/home" XDG_RUNTIME_DIR="$dir/run")
	# By itself it asks for more than a machine may have, of `docker run` as well.
	export CONTAINERS_CONF="$dir/containers.conf"
	exec "${as[@]}" podman --root "$dir/root" --runroot "$dir/runroot" --tmpdir "$dir/tmp" --storage-driver vfs \
		--cgroup-manager cgroupfs --events-backend file "$@"
}

podman_start() {
	local dir=$1 user=${2-}
	command -v podman >/dev/null || { echo "There is no podman." >&2; return 1; }
	mkdir -p "$dir"
	printf '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n' >"$dir/containers.conf"
	podman_run "$dir" "$user" system service --time 0 "unix://$dir/podman.sock" >"$dir/podman.log" 2>&1 </dev/null &
	echo $! >"$dir/podman.pid"
	disown
	engine_comes "$dir/podman.sock" $! || { tail -n 5 "$dir/podman.log" >&2; return 1; }
	ln -sf podman.sock "$dir/docker.sock"
	engine_box "$dir"
}

podman_stop() {
	local dir=$1 user=${2-} pid id
	[ -d "$dir" ] || return 0
	timeout 60 bash -c '. "$SRC/tests/lib/engine.sh"; podman_run "$@"' - "$dir" "$user" rm --all --force --time 0 >/dev/null 2>&1
	engine_signal TERM "$dir/podman.pid" "$dir/podman.sock"
	engine_signal KILL "$dir/podman.pid" "$dir/podman.sock"
	# Without root there is a process more, which holds the user's namespace, and one that serves.
	for pid in ${user:+$(pgrep -U "$user")}; do
		kill -KILL "$pid" 2>/dev/null
		wait_for 20 process_gone "$pid"
	done
	# What podman could not remove, a container that ignores SIGTERM for one, hangs below its conmon.
	for pid in $(pgrep -f -- "-b $dir/root"); do
		pkill -KILL -P "$pid"
		kill -KILL "$pid" 2>/dev/null
	done
	for id in "$dir"/root/vfs-containers/*/; do
		find /sys/fs/cgroup -depth -type d -path "*libpod-$(basename "$id")*" -exec rmdir {} + 2>/dev/null
	done
	awk -v d="$dir/" 'index($5, d) == 1 {print $5}' /proc/self/mountinfo | sort -r | xargs -r umount -l 2>/dev/null
	rm -rf "$dir"
}
