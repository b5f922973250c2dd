#!/bin/bash
# files_disk.sh - batches on disks that fill up or stop: a small tmpfs, an ext4 image shut down under us.
# shellcheck disable=SC2010,SC2015,SC2143,SC2317 # names are ours; the trap calls clean
[ "$(id -u)" = 0 ] || { echo "mounting takes root"; exit 77; }
# In a mount namespace of our own: a container started meanwhile would take our mounts with it, and a file
# system that was shut down would stay mounted there.
[ -n "${OWN_MOUNTS:-}" ] || OWN_MOUNTS=1 exec unshare --mount bash "$0" "$@"
bad=0
mounted=()
clean() {
	for at in "${mounted[@]}"; do umount -l "$at" 2>/dev/null; done
	rm -f "$TMPDIR/disk.img"
}
trap clean EXIT
cd "$TMPDIR" || exit 1
result() {
	if [ "$1" = 0 ]; then echo "ok $2"; else echo "not ok $2"; bad=1; fi
}

# A tree on another file system than the root is gone at once, however deep, and the mount stays.
mkdir -p over/mnt
mount -t tmpfs -o size=4m none over/mnt || { echo "tmpfs cannot be mounted here"; exit 77; }
mounted+=("$PWD/over/mnt")
mkdir -p over/mnt/t/a/b/c/d over/mnt/t/e
touch over/mnt/t/f over/mnt/t/a/b/c/d/f
"$BERTH" files delete --root over --recursive mnt/t && [ -z "$(ls -A over/mnt)" ] && ! compgen -G 'over/.berth*' >/dev/null
result $? 'a tree deleted on another file system'
text=$("$BERTH" files delete --root over --recursive mnt 2>&1)
[ $? = 4 ] && [[ $text == *"a file system is mounted there"* ]]
result $? 'a mount point stays'
umount over/mnt

# Moved onto itself, under the name that a second mount gives it: refused, and the file stays.
mkdir over/data && echo only >over/data/x && mount --bind over/data over/mnt && mounted+=("$PWD/over/mnt")
"$BERTH" files move --root over data/x mnt/x 2>/dev/null
[ $? = 4 ] && [ "$(cat over/data/x)" = only ]
result $? 'a file moved onto itself through a mount stays'
umount over/mnt

# A full disk: the batch fails as a whole, the old files stay, nothing is left over.
mkdir -p full from
mount -t tmpfs -o size=4m,nr_inodes=200 none full || { echo "tmpfs cannot be mounted here"; exit 77; }
mounted+=("$PWD/full")
for i in 1 2 3 4; do
	echo old >"full/f$i"
	head -c 1500000 /dev/zero | tr '\0' n >"from/f$i"
done
for promise in visible durable all; do
	text=$("$BERTH" files write --root full --from from --promise $promise f1 f2 f3 f4 2>&1)
	status=$?
	[ $status = 1 ] && [[ $text == *"No space left"* ]] && [ "$(cat full/f? | sort -u)" = old ] &&
		! compgen -G 'full/.berth*' >/dev/null
	result $? "a full disk, promise $promise"
done
for i in $(seq 300); do : >"full/i$i" || break; done 2>/dev/null
"$BERTH" files write --root full --from from --promise all f1 2>&1 | grep -q "No space left"
result $? 'no inode left'
rm -f full/i1 full/i2 full/i3 full/i4 full/i5 full/i6 full/i7
mkdir -p full/tree/a/b/c full/tree/d && : >full/tree/a/b/c/f && ln -s /etc full/tree/d/link
for i in $(seq 300); do : >"full/j$i" || break; done 2>/dev/null
"$BERTH" files delete --root full --recursive tree && [ ! -e full/tree ] && [ -d /etc ] && ! compgen -G 'full/.berth*' >/dev/null
result $? 'a tree goes all the same'
for i in $(seq 300); do : >"full/k$i" || break; done 2>/dev/null
"$BERTH" files delete --root full f1 && [ ! -e full/f1 ]
result $? 'so does a file'
umount full

# An image whose file system is shut down at once after a durable batch: what was promised is there.
truncate -s 64M disk.img && mkfs.ext4 -q disk.img && mkdir -p disk &&
	mount -o loop disk.img disk 2>/dev/null || { echo "skip shutdown: no loop device here"; exit $bad; }
mounted+=("$PWD/disk")
mkdir disk/d
for i in 1 2 3 4; do echo old >"disk/d/f$i"; mkdir -p from/d; echo "new $i" >"from/d/f$i"; done
sync
for promise in durable all; do
	for i in 1 2 3 4; do echo "$promise $i" >"from/d/f$i"; done
	"$BERTH" files write --root disk --from from --promise $promise d/f1 d/f2 d/f3 d/f4
	# EXT4_IOC_SHUTDOWN with NOLOGFLUSH: as if the power had gone.
	python3 -c 'import fcntl, os, struct
fd = os.open("disk", os.O_RDONLY)
fcntl.ioctl(fd, 0x8004587d, struct.pack("I", 2))' || { echo "skip shutdown: the ioctl is not there"; exit $bad; }
	umount disk && mount -o loop disk.img disk
	[ "$(cat disk/d/f?)" = "$(cat from/d/f?)" ]
	result $? "power loss after a batch, promise $promise"
done
exit $bad
