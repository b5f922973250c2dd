# sshd.sh - an sshd of a test's own, with keys of its own; sourced.
#
#   sshd_prepare DIR ADDRESS PORT   keys, what sshd and ssh read: DIR/sshd, DIR/config; ssh in PATH reads that one
#   sshd_start DIR [COMMAND...]     by COMMAND (nsenter ...); $sshd is its process
#   sshd_stop                       with whoever it has let in
# What ssh is started with as a new connection is counted: a line in DIR/started.

sshd_prepare() {
	local dir=$1 address=$2 port=$3
	mkdir -p "$dir/bin"
	ssh-keygen -q -t ed25519 -N '' -f "$dir/host" && ssh-keygen -q -t ed25519 -N '' -f "$dir/mine" || return
	cp "$dir/mine.pub" "$dir/authorized"
	mkdir -p /run/sshd
	cat >"$dir/sshd" <<-END
	Port $port
	ListenAddress $address
	HostKey $dir/host
	AuthorizedKeysFile $dir/authorized
	StrictModes no
	UsePAM no
	PidFile none
	END
	echo "[$address]:$port $(cut -d' ' -f1,2 "$dir/host.pub")" >"$dir/known"
	cat >"$dir/config" <<-END
	Host *
	  IdentityFile $dir/mine
	  UserKnownHostsFile $dir/known
	END
	# ssh takes the home from the password file, not from HOME.
	cat >"$dir/bin/ssh" <<-END
	#!/bin/sh
	[ "\$1" = -f ] && echo >>"$dir/started"
	exec "$(command -v ssh)" -F "$dir/config" "\$@"
	END
	chmod +x "$dir/bin/ssh"
	: >"$dir/started"
	PATH=$dir/bin:$PATH
}

sshd_start() {
	local dir=$1
	shift
	"$@" "$(command -v sshd || echo /usr/sbin/sshd)" -D -e -f "$dir/sshd" 2>>"$dir/log" &
	sshd=$!
	wait_for 60 socat -u /dev/null "TCP:$(awk '/^ListenAddress/ {a = $2} /^Port/ {p = $2} END {print a ":" p}' "$dir/sshd")"
}

sshd_stop() {
	pkill -P "$sshd"
	kill "$sshd"
	wait "$sshd" 2>/dev/null
}
