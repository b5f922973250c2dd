# shellcheck shell=bash
# vm.sh - the machine that users have: a stock Debian 12 with its own kernel and systemd, in qemu without KVM.
#
# Source it, as root, with SRC set.
#
#   vm_run DIR SECONDS    boot it with DIR/in as a second disk, run in/start there as root when docker runs, print what
#                         that prints. Ends with the exit code of in/start; 75 from it means: reboot, and once more.
#                         124: not done in time. Whatever went wrong, DIR/console is what the machine said.
#   vm_test PART...       what a test is: "NAME SECONDS" runs tests/vm/inside/NAME.sh there, one after the other, and
#                         "reboot" is one. Ends the shell.
#
# The image is kept below ${BERTH_TEST_CACHE:-${XDG_CACHE_HOME:-~/.cache}/berth-tests}/vm, made anew when a week old or
# when its recipe (tests/vm/packages, tests/vm/image, vm_make) has changed. A run never writes to it.

. "$SRC/tests/lib/bareroot.sh" # where packages come from
. "$SRC/tests/lib/package.sh"

vm_cache=${BERTH_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/berth-tests}/vm

vm_packages() {
	sed 's/#.*//' "$SRC/tests/vm/packages" | xargs | tr ' ' ,
}

vm_recipe() {
	cat "$SRC"/tests/vm/packages "$SRC"/tests/vm/image/* <(declare -f vm_make) | cksum | cut -d ' ' -f 1
}

vm_make() {
	local new=$1 line settings=()
	while read -r line; do
		settings+=("--aptopt=$line")
	done < <(bareroot_apt_settings)
	mkdir "$new" || return
	bareroot_sources | mmdebstrap --quiet --variant=minbase "${settings[@]}" --include="$(vm_packages)" \
		--essential-hook="$SRC/tests/vm/image/early" --customize-hook="$SRC/tests/vm/image/late" bookworm "$new/root" - >&2 || return
	cp "$new"/root/boot/vmlinuz-* "$new/kernel" && cp "$new"/root/boot/initrd.img-* "$new/initrd" &&
		mkfs.ext4 -q -L root -d "$new/root" "$new/disk" 4G && rm -rf "$new/root"
}

# The image, unless there is one of this week and this recipe.
vm_image() {
	local image
	mkdir -p "$vm_cache" || return
	(
		flock -w 900 9 || { echo "Another run holds $vm_cache/lock for 15 minutes." >&2; exit 1; }
		image=$vm_cache/$(vm_recipe)
		[ -z "$(find "$image/disk" -mtime -7 2>/dev/null)" ] || exit 0
		command -v mmdebstrap >/dev/null || { echo "There is no mmdebstrap." >&2; exit 1; }
		find "$vm_cache" -mindepth 1 -maxdepth 1 -type d -exec rm -rf {} +
		vm_make "$vm_cache/new" && mv "$vm_cache/new" "$image"
	) 9>"$vm_cache/lock"
}

vm_run() {
	local dir=$1 seconds=$2 image pid status
	[ "$(id -u)" = 0 ] || { echo "Only root can make the machine's image." >&2; return 1; }
	command -v qemu-system-x86_64 >/dev/null || { echo "There is no qemu-system-x86_64." >&2; return 1; }
	vm_image || return
	image=$vm_cache/$(vm_recipe)
	mkfs.ext4 -q -L berth-test -d "$dir/in" "$dir/disk" "$(($(du -sm "$dir/in" | cut -f 1) * 5 / 4 + 16))M" || return
	: >"$dir/results"
	# One that ends before its machine does takes it along. One processor: two emulated ones wait for each other wherever
	# the kernel wants both, for seconds where the host has other work. The time stamp counter is the host's and steady;
	# the emulated clock that the kernel would take instead of it costs a hundred times as much to read.
	# Its clock runs on while it waits for a processor, and systemd in it gives up: beside other work it comes first. Where
	# the kernel shares its time between sessions, that is said of its session, and of no other.
	TMPDIR=$dir setsid bash -c 'echo -10 2>/dev/null >/proc/self/autogroup; exec nice -n -10 "$@"' vm \
		setpriv --pdeathsig KILL timeout -k 5 "$seconds" \
		qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 1 -m 2560 -nodefaults -nographic \
		-kernel "$image/kernel" -initrd "$image/initrd" \
		-append 'root=/dev/vda rw console=ttyS0 quiet systemd.show_status=0 clocksource=tsc tsc=reliable mitigations=off rcupdate.rcu_expedited=1' \
		-drive "file=$image/disk,if=virtio,format=raw,snapshot=on,cache=unsafe" \
		-drive "file=$dir/disk,if=virtio,format=raw,readonly=on" \
		-serial "file:$dir/console" -device virtio-serial -chardev "file,id=results,path=$dir/results" \
		-device virtserialport,chardev=results,name=results -device virtio-rng-pci -nic none </dev/null >"$dir/qemu" 2>&1 &
	pid=$!
	tail -n +1 -f --pid="$pid" "$dir/results"
	wait "$pid"
	status=$?
	[ $status = 0 ] || { cat "$dir/qemu" >&2; return $status; }
	status=$(sed -n 's/^status //p' "$dir/results")
	return "${status:-1}"
}

vm_test() {
	local status limit=1700
	[ -z "${BERTH_SOAK-}" ] || limit=6000
	cd "$TMPDIR" && mkdir -p in/build in/src/tests in/src/configs && printf '%s\n' "$@" >in/parts && cp "$SRC"/tests/vm/inside/* in/ || exit 1
	package_make "$TMPDIR" >package.log 2>&1 || { cat package.log; echo 'not ok the package is made'; exit 1; }
	mv berth_*.deb in/berth.deb && "$SRC/configs/images/make-box" >in/box.tar || exit 1
	cp "$BUILD"/{vm-end,attack-inside,attack-evil-guest,attack-execs} in/build/ || exit 1
	cp -r "$SRC"/tests/{attack,lib} in/src/tests/ && cp -r "$SRC/configs/images" "$SRC"/configs/*.{yaml,json} in/src/configs/ || exit 1
	vm_run "$TMPDIR" "$limit"
	status=$?
	if [ $status != 0 ] && ! grep -q '^status ' results; then
		echo "not ok the machine did its work: it ended with $status; its console:"
		tail -n 60 console | tr -d '\r' | sed 's/^/# /'
	fi
	exit $status
}
