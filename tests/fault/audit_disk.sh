#!/bin/bash
# audit_disk.sh - nothing is done that the log cannot take: full disks, no inodes, read-only; and kill -9.
# shellcheck disable=SC2015,SC2317 # the trap calls clean
[ "$(id -u)" = 0 ] || { echo "mounting takes root"; exit 77; }
[ -n "${OWN_MOUNTS:-}" ] || OWN_MOUNTS=1 exec unshare --mount bash "$0" "$@"
bad=0
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/wait.sh"
clean() {
	umount -l "$TMPDIR/state" 2>/dev/null
}
trap clean EXIT
result() {
	if [ "$1" = 0 ]; then echo "ok $2"; else echo "not ok $2"; bad=1; fi
}
# A path that makes a record of it some kilobytes long.
word=$(printf '%0200d' 0)
long=$word/$word/$word/$word/$word/$word/$word/$word/$word/$word/$word/$word
mkdir -p state run config/berth "work/$long"
echo two >config/a
chmod 700 run
export XDG_STATE_HOME=$PWD/state XDG_RUNTIME_DIR=$PWD/run XDG_CONFIG_HOME=$PWD/config
log=$PWD/state/berth/audit
files() {
	local verb=$1
	shift
	"$BERTH" files "$verb" --root work "$@" 2>err
}
disk() {
	umount -l state 2>/dev/null
	mount -t tmpfs -o "mode=700,$1" none state || { echo "tmpfs cannot be mounted here"; exit 77; }
}
# Refused: exit 1, one sentence, and the tree as it was.
refused() {
	local before after status
	before=$(ls work)
	files "$@" >out
	status=$?
	after=$(ls work)
	[ $status = 1 ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ] && grep -q "could not be recorded" err &&
		[ "$before" = "$after" ]
}
records() {
	"$BERTH" audit list | grep -c "$1"
}

# Nobody writes there any more: the child that signs the log still does for a moment, and gives space back.
settled() {
	wait_for 60 mount -o remount,ro state || echo '# somebody still writes there'
	mount -o remount,rw state
}
copied() { # TO
	files copy --overwrite a "$1" >out || { settled && files copy --overwrite a "$1" >out; }
}
# Records, long ones first, until there is no place for one more and nobody writes; n counts them.
fill() {
	local to until=$((SECONDS + 300))
	n=0
	for to in "$long/b" b; do
		while copied "$to"; do
			n=$((n + 1))
			[ "$SECONDS" -lt "$until" ] || { echo "# the log still takes records after $n copies"; return 1; }
		done
	done
	settled
}
# Done although it cannot be recorded, and said.
unrecorded() {
	XDG_CONFIG_HOME=$PWD/none fill && files "$@" >/dev/null && grep -qE 'not (recorded )?in the audit log' err
}

# Less than the reserve is free from the beginning.
echo one >work/a
disk size=700k
refused copy a b && refused write --from config a && refused read a && refused scan . && refused move a c
result $? 'with less than the reserve free nothing is done'
text=$("$BERTH" doctor 2>&1)
[[ $text == *missing*audit_log*full* ]]
result $? 'doctor says that the log cannot be written'
files delete a && [ ! -e work/a ]
result $? 'what frees space is done'

# The disk fills up: the reserve stays for what frees space, and space brings everything back.
disk size=6m
echo one >work/a
files copy a b && dd if=/dev/zero of=state/filler bs=4k 2>/dev/null
fill && refused copy a c
result $? "a disk that fills up stops commands (after $n)"
before=$(records 'file.copy .*intent')
for i in 1 2 3 4 5; do
	echo x >work/gone$i
	files delete gone$i || break
done
! compgen -G "work/gone*" >/dev/null && [ "$(records 'file.delete .*intent')" = 5 ]
result $? 'deleting goes on, and is recorded'
rm state/filler
files copy a c && [ "$(records 'file.copy .*intent')" = $((before + 1)) ] && "$BERTH" audit verify >/dev/null
result $? 'with space again everything goes on, and the log verifies'

# Where the settings say so it is done all the same, and a record tells how much.
rm -f work/c
dd if=/dev/zero of=state/filler bs=4k 2>/dev/null
fill
printf 'audit: {unavailable: warn}\n' >config/berth/berth.yaml
unrecorded copy a c && [ -e work/c ] && unrecorded copy a d && unrecorded read a
result $? 'warn: it is done, and said'
settled
rm state/filler config/berth/berth.yaml
# Whoever signs the log in the background may find room for a record of the first ones already.
files scan . >/dev/null && "$BERTH" audit list | grep log.gap >gaps
sed 's/^/# /' err gaps
awk -F 'unrecorded=' '{ n += $2 } END { exit n != 3 }' gaps && grep -q file.copy gaps && grep -q file.read gaps &&
	"$BERTH" audit verify >/dev/null
result $? 'what is missing is told once'

# No inode for a log, and a read-only place.
disk nr_inodes=2
rm -f work/b work/c work/d
refused copy a b && refused read a
result $? 'without inodes nothing is done'
disk size=6m
files read a >/dev/null
# Its child still writes for a moment.
wait_for 60 mount -o remount,ro state || echo '# somebody still writes there'
refused copy a b && refused scan .
result $? 'on a read-only file system nothing is done'
"$BERTH" doctor 2>&1 | grep -q 'missing.*audit_log'
result $? 'doctor says that, too'
mount -o remount,rw state

# Nothing hangs on what somebody put in the place of the log's files.
"$BERTH" audit verify >/dev/null || result 1 'the log verifies before'
for kind in fifo dir device; do
	for name in head 00000000000000000001.jsonl key; do
		mv "$log/$name" kept
		case $kind in
		fifo) mkfifo -m 600 "$log/$name" ;;
		dir) mkdir -m 700 "$log/$name" ;;
		device) mknod -m 600 "$log/$name" c 1 5 ;;
		esac
		timeout 120 "$BERTH" audit verify >/dev/null 2>&1
		status=$?
		timeout 120 "$BERTH" audit list >/dev/null 2>&1
		[ $? != 124 ] && [ $status = 1 ]
		result $? "a $kind as $name does not hang verify (exit $status)"
		rm -rf "${log:?}/$name"
		mv kept "$log/$name"
	done
done

# kill -9 at any moment: who did it has an intent, who was told 0 has an outcome.
disk size=64m
rm -rf work && mkdir work && echo one >work/a
kills=${BERTH_KILLS:-100} done=0 told=0
begun=$(date +%s%N)
"$BERTH" files copy --root work a first || result 1 'a copy that nobody kills'
span=$((($(date +%s%N) - begun) / 1000000)) # ms that one takes here
[ "$span" -lt 999 ] || span=999
for ((i = 0; i < kills; i++)); do
	"$BERTH" files copy --root work a "k$i." >/dev/null 2>&1 &
	pid=$!
	sleep "$(printf '0.%03d' $((RANDOM % (span + 1))))"
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null && : >"told.$i"
done
"$BERTH" audit list >recorded
missing=0
for ((i = 0; i < kills; i++)); do
	if [ -e "work/k$i." ]; then
		done=$((done + 1))
		grep -q "file.copy .*intent .*a k$i\.\$" recorded || missing=$((missing + 1))
	fi
	if [ -e "told.$i" ]; then
		told=$((told + 1))
		grep -q "file.copy .*ok .*a k$i\.\$" recorded || missing=$((missing + 1))
	fi
done
[ $missing = 0 ] && "$BERTH" audit verify >/dev/null
result $? "$kills kills: $done copies were made, $told told; $missing without a record"
rm -f told.*
exit $bad
