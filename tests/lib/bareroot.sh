# bareroot.sh - a bare Debian 12 to try things in: minbase, and nothing of this machine but its network.
#
# Source it, as root, with SRC set. A root is a directory of its own; what runs in it has mount, pid, cgroup, uts, ipc
# and network namespaces of its own and ends with bareroot_close, or with the shell that opened the root.
#
#   bareroot_open DIR               a fresh root, DIR/root its files; DIR must not exist yet
#   bareroot_run DIR [-u USER] [-d FOLDER] COMMAND...
#                                   run it inside, as a new login would: stdin and both outputs are the caller's, the
#                                   environment is HOME USER LOGNAME SHELL PATH LANG=C LC_ALL=C. Any number of times, what
#                                   an earlier one left running is still there. Ends with the command's exit code
#   bareroot_user DIR USER          an ordinary user there, with a home (uid 1000 and up)
#   bareroot_compiled DIR USER      the user's tests/run takes from, and root's adds to, what other runs have compiled and checked
#   bareroot_close DIR              end all that runs in it, keep the downloaded packages for the next root, remove it
#
# Kept between runs, below ${BERTH_TEST_CACHE:-${XDG_CACHE_HOME:-~/.cache}/berth-tests}/bare and made anew when a week
# old: base.tar, the minbase, and archives/, the packages that roots downloaded. What was compiled and checked is beside
# it: nothing in there is found but by the whole content of what the machine's own compiler reads, headers included.
#
# For the tests in there, too: step NAME COMMAND... says "ok $of: NAME" or "not ok ..." with the last it printed, and
# sets bad=1; a note tells how long it took. What it prints is in $TMPDIR/log.

. "$SRC/tests/lib/wait.sh"

bareroot_tests=${BERTH_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/berth-tests}
bareroot_cache=$bareroot_tests/bare
bad=0

step() { # NAME COMMAND...
	# shellcheck disable=SC2154 # what it is about, the test's own
	local name="$of: $1" begun=$SECONDS
	shift
	if "$@" >"$TMPDIR/log" 2>&1 </dev/null; then
		echo "ok $name"
		echo "note $name: $((SECONDS - begun)) s"
	else
		echo "not ok $name"
		tail -n 60 "$TMPDIR/log" | sed 's/^/# /'
		# shellcheck disable=SC2034 # for the test to end with
		bad=1
	fi
}

# Where this machine's apt takes Debian 12 from. The bare root has Debian's keys: lines name none.
bareroot_sources() {
	local found
	found=$(apt-get indextargets --format '$(REPO_URI) $(SUITE) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
		awk '$3 ~ /^bookworm(-updates|-security)?$/ {print "deb", $1, $3, $4}' | sort -u)
	[ -n "$found" ] || { echo "apt here knows no server that has Debian 12 (bookworm)." >&2; return 1; }
	printf '%s\n' "$found"
}

# What this machine's apt was told about reaching them, a proxy for one. Nothing else of its configuration: that names
# programs of this machine.
bareroot_apt_settings() {
	apt-config dump Acquire 2>/dev/null | grep -iE '^Acquire::(https?|ftp|Check-|Retries|Queue)[^ ]* "[^"]' || :
	local proxy=${BERTH_TEST_PROXY-${http_proxy-}}
	[ -z "$proxy" ] || echo "Acquire::http::Proxy \"$proxy\";"
}

# The minbase, unless there is one of this week.
bareroot_base() {
	local base=$bareroot_cache/base.tar settings=() line
	mkdir -p "$bareroot_cache"
	(
		flock -w 900 9 || { echo "Another run holds $bareroot_cache/lock for 15 minutes." >&2; exit 1; }
		[ -z "$(find "$base" -mtime -7 2>/dev/null)" ] || exit 0
		command -v mmdebstrap >/dev/null || { echo "There is no mmdebstrap." >&2; exit 1; }
		rm -rf "$bareroot_cache/archives"
		mkdir "$bareroot_cache/archives"
		while read -r line; do
			settings+=("--aptopt=$line")
		done < <(bareroot_apt_settings)
		bareroot_sources | mmdebstrap --quiet --variant=minbase "${settings[@]}" bookworm "${base%.tar}.new.tar" - >&2 &&
			mv "${base%.tar}.new.tar" "$base"
	) 9>"$bareroot_cache/lock"
}

# The hierarchies of cgroup v1, or the one of v2, where they are mounted here.
bareroot_hierarchies() {
	awk '$4 == "/" && / - cgroup2? / && !seen[$3]++ {print $5}' /proc/self/mountinfo
}

# Put this process into the cgroup NAME of every hierarchy; the first one makes them.
bareroot_join() {
	local name=$1 mount file
	while read -r mount; do
		if [ ! -d "$mount/$name" ]; then
			mkdir "$mount/$name" || return
			for file in cpus mems; do # cgroup v1 lets nothing into a cpuset before it has some
				[ ! -e "$mount/cpuset.$file" ] || cat "$mount/cpuset.$file" >"$mount/$name/cpuset.$file"
			done
		fi
		file=$mount/$name/init/cgroup.procs
		[ -e "$file" ] || file=$mount/$name/cgroup.procs
		echo "$BASHPID" >"$file" || return
	done < <(bareroot_hierarchies)
}

# In cgroup v2 a cgroup has processes, or children with controllers: what is in NAME goes to NAME/init, as systemd would.
bareroot_delegate() {
	local name=$1 mount pid word
	while read -r mount; do
		[ -n "$(cat "$mount/$name/cgroup.controllers" 2>/dev/null)" ] || continue
		mkdir "$mount/$name/init" || return
		while read -r pid; do
			echo "$pid" >"$mount/$name/init/cgroup.procs" || return
		done <"$mount/$name/cgroup.procs"
		for word in $(cat "$mount/$name/cgroup.controllers"); do
			echo "+$word" >"$mount/$name/cgroup.subtree_control" || return
		done
	done < <(bareroot_hierarchies)
}

# Runs as the first process of the namespaces: makes what a machine finds when it has booted, and waits.
# shellcheck disable=SC2016 # another shell's
bareroot_boot='
set -eu
root=$1 compiled=$2
mount --make-rprivate /
mount --bind "$root" "$root"
mkdir "$root/srv/compiled"
mount --bind "$compiled" "$root/srv/compiled"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs -o mode=755,size=16m dev "$root/dev"
for name in null zero full random urandom tty fuse net/tun; do
	[ -e "/dev/$name" ] || continue
	mkdir -p "$(dirname "$root/dev/$name")"
	: >"$root/dev/$name"
	mount --bind "/dev/$name" "$root/dev/$name"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"
mount -t tmpfs -o mode=755 run "$root/run"
mkdir -m 1777 "$root/run/lock"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
# cgroups as this namespace sees them: its own is the root of each hierarchy.
hierarchies=$(cut -d : -f 2 /proc/self/cgroup)
if [ -z "$hierarchies" ]; then
	mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
	mount -t tmpfs -o mode=755 cgroup "$root/sys/fs/cgroup"
	for name in $hierarchies; do
		folder=$root/sys/fs/cgroup/${name#name=}
		mkdir "$folder"
		mount -t cgroup -o "${name/#name=/none,name=}" cgroup "$folder"
	done
fi
hostname bare
cd "$root"
mkdir -p .old
pivot_root . .old
cd /
umount -l /.old
rmdir /.old
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
echo ready >&3
exec 3>&- </dev/null >/dev/null 2>&1
exec /bin/bash -c "while :; do sleep infinity & wait; done" # bash reaps what is orphaned, sleep would not
'

# bareroot_says FD PROCESS WORD READ'S OPTIONS...: what that process says there is the word. It ends the waiting by its
# own end, too, which the pipe does not show: it is open here for both, as opening it for one would wait for the other.
bareroot_says() {
	local fd=$1 pid=$2 want=$3 word='' until=$((SECONDS + 120))
	shift 3
	until read -rt 0.5 -u "$fd" "$@" word; do
		[ "$SECONDS" -lt "$until" ] && kill -0 "$pid" 2>/dev/null || return 1
	done
	[ "$word" = "$want" ]
}

bareroot_open() {
	local dir=$1 root=$1/root name ready
	[ "$(id -u)" = 0 ] || { echo "Only root can make a bare root." >&2; return 1; }
	mkdir "$dir" || return
	name=berth-bare-$(cksum <<<"$dir" | cut -d ' ' -f 1)
	echo "$name" >"$dir/name"
	bareroot_base || return
	mkdir "$root" && tar -C "$root" --xattrs --xattrs-include='*' -xpf "$bareroot_cache/base.tar" || return
	bareroot_sources >"$root/etc/apt/sources.list"
	bareroot_apt_settings >"$root/etc/apt/apt.conf.d/10reach"
	cp -a /etc/apt/auth.conf* "$root/etc/apt/" 2>/dev/null || : # where the packages' server wants a password
	# It is thrown away in the end: nothing has to outlive a power failure.
	echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
	mkdir -p "$bareroot_tests/compiled"
	printf '127.0.0.1 localhost\n127.0.1.1 bare\n' >"$root/etc/hosts"
	echo bare >"$root/etc/hostname"
	echo 'nameserver 10.0.2.3' >"$root/etc/resolv.conf" # slirp4netns answers there
	cp -l "$bareroot_cache"/archives/*.deb "$root/var/cache/apt/archives/" 2>/dev/null ||
		cp "$bareroot_cache"/archives/*.deb "$root/var/cache/apt/archives/" 2>/dev/null || :

	mkfifo "$dir/ready"
	exec {ready}<>"$dir/ready"
	( # it joins first: a cgroup namespace's root is where its maker was
		bareroot_join "$name" || exit
		exec setpriv --pdeathsig KILL unshare --mount --pid --cgroup --uts --ipc --net --fork --kill-child=KILL \
			bash -c "$bareroot_boot" bareroot "$root" "$bareroot_tests/compiled"
	) 3>"$dir/ready" {ready}>&- </dev/null &
	echo $! >"$dir/holder"
	disown
	bareroot_says "$ready" "$(cat "$dir/holder")" ready || { echo "The bare root did not start within two minutes." >&2; return 1; }
	exec {ready}>&-
	pgrep -P "$(cat "$dir/holder")" >"$dir/pid" && bareroot_delegate "$name" || return
	bareroot_network "$dir"
}

# The root's way out: its own network stack, in a process, so that an engine in there meets none of this machine's
# bridges and packet filters.
bareroot_network() {
	local dir=$1 ready
	command -v slirp4netns >/dev/null || { echo "There is no slirp4netns." >&2; return 1; }
	mkfifo "$dir/network"
	exec {ready}<>"$dir/network"
	nsenter --target "$(cat "$dir/pid")" --net ip link set lo up || return
	setpriv --pdeathsig KILL slirp4netns --configure --mtu=65520 --disable-host-loopback --ready-fd=3 \
		"$(cat "$dir/pid")" tap0 3>"$dir/network" {ready}>&- >"$dir/slirp.log" 2>&1 </dev/null &
	echo $! >"$dir/slirp"
	disown
	bareroot_says "$ready" "$(cat "$dir/slirp")" 1 -n 1 || { cat "$dir/slirp.log" >&2; return 1; }
	exec {ready}>&-
}

# shellcheck disable=SC2016 # another shell's
bareroot_login='
user=$1 folder=$2
shift 2
IFS=: read -r _ _ uid gid _ home shell < <(getent passwd "$user") || { echo "bareroot: there is no user $user" >&2; exit 125; }
cd "${folder:-$home}" || exit 125
path=/usr/local/bin:/usr/bin:/bin
[ "$uid" != 0 ] || path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
exec setpriv --reuid "$uid" --regid "$gid" --init-groups env -i HOME="$home" USER="$user" LOGNAME="$user" SHELL="$shell" \
	PATH="$path" LANG=C LC_ALL=C "$@"
'

bareroot_run() {
	local dir=$1 user=root folder='' option OPTIND=2
	while getopts u:d: option; do
		case $option in
		u) user=$OPTARG ;;
		d) folder=$OPTARG ;;
		*) return 125 ;;
		esac
	done
	shift $((OPTIND - 1))
	(
		bareroot_join "$(cat "$dir/name")" || exit 125
		exec env -i PATH="$PATH" nsenter --target "$(cat "$dir/pid")" --mount --pid --cgroup --uts --ipc --net \
			/bin/bash -c "$bareroot_login" login "$user" "$folder" "$@"
	)
}

bareroot_user() {
	bareroot_run "$1" useradd --create-home --shell /bin/bash "$2"
}

bareroot_compiled() {
	# shellcheck disable=SC2016 # the shell in there
	bareroot_run "$1" -u "$2" sh -c 'mkdir -p ~/.cache/berth-tests && ln -sfn /srv/compiled ~/.cache/berth-tests/compiled'
}

bareroot_close() {
	local dir=$1 name mount file
	[ -e "$dir/name" ] || return 0
	name=$(cat "$dir/name")
	for file in holder slirp; do
		[ ! -e "$dir/$file" ] || kill -KILL "$(cat "$dir/$file")" 2>/dev/null
	done
	while read -r mount; do
		[ ! -d "$mount/$name" ] || wait_for 20 bareroot_empty "$mount/$name"
	done < <(bareroot_hierarchies)
	for file in "$dir"/root/var/cache/apt/archives/*.deb; do
		[ ! -e "$file" ] || [ -e "$bareroot_cache/archives/${file##*/}" ] ||
			ln "$file" "$bareroot_cache/archives/" 2>/dev/null || cp "$file" "$bareroot_cache/archives/"
	done
	rm -rf --one-file-system "$dir"
}

# Nothing runs in the cgroup any more, and it is gone.
bareroot_empty() {
	find "$1" -depth -type d -exec rmdir {} + 2>/dev/null
	[ ! -d "$1" ]
}
