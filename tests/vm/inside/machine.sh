#!/bin/bash
# machine.sh - is this the machine that the tests are about? And what later work needs of it: quotas, clones, pressure.
. "$(dirname "$0")/lib.sh"

check 'cgroup v2 alone' [ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ]
check 'docker drives systemd' says 0 'systemd 2' docker info -f '{{.CgroupDriver}} {{.CgroupVersion}}'
check 'AppArmor enforces' grep -q 'docker-default (enforce)' /sys/kernel/security/apparmor/profiles
check 'Landlock is on' grep -q landlock /sys/kernel/security/lsm
check 'pressure is measured' grep -q '^some avg10=' /proc/pressure/cpu /proc/pressure/memory /proc/pressure/io
check 'and of each cgroup' test -r /sys/fs/cgroup/system.slice/memory.pressure

work=$(mktemp -d)
chmod 755 "$work"
cd "$work" || exit 1

project_quota() { # MOUNT: the user's tree may hold a megabyte (root is not held to ext4's quotas)
	mkdir "$1/tree" && chown user "$1/tree"
	chattr -p 7 +P "$1/tree" && setquota -P 7 0 1024 0 0 "$1" || return
	! user dd if=/dev/zero of="$1/tree/big" bs=64k count=32 || return
	[ "$(stat -c %s "$1/tree/big")" -le 1048576 ] && dd if=/dev/zero of="$1/beside" bs=64k count=32
}

ext4_quota() {
	truncate -s 64M ext4 && mkfs.ext4 -q -O quota,project -E quotatype=prjquota ext4 &&
		mkdir on-ext4 && mount -o loop,prjquota ext4 on-ext4 && project_quota "$work/on-ext4"
}

xfs_quota() {
	truncate -s 512M xfs && mkfs.xfs -q -m reflink=1 xfs &&
		mkdir on-xfs && mount -o loop,prjquota xfs on-xfs && project_quota "$work/on-xfs"
}

clone() {
	head -c 1000000 /dev/urandom >on-xfs/a && cp --reflink=always on-xfs/a on-xfs/b && cmp on-xfs/a on-xfs/b
}

check 'ext4 keeps a project quota' ext4_quota
check 'XFS keeps a project quota' xfs_quota
check 'XFS clones a file' clone
umount "$work"/on-*
rm -rf "$work"
