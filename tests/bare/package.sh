#!/bin/bash
# package.sh - the .deb on a bare machine: apt installs it, an agent works from it, apt removes it.
#
# It is made of this run's release build, here; nothing but what it depends on or recommends gets in there, and busybox
# for an image. The long form makes it twice more, in two folders, and compares.
# shellcheck disable=SC2016,SC2317 # programs for shells in there; functions called by name

. "$SRC/tests/lib/bareroot.sh"
. "$SRC/tests/lib/package.sh"

root=$TMPDIR/bare of="the package"

inside() {
	bareroot_run "$root" "$@"
}

# What a person needs beside the programs, and where the machine's own administrator writes only the AppArmor
# profile, which is a conffile.
holds_right() {
	local file missing=''
	dpkg-deb --contents "$package" >"$TMPDIR/contents"
	for file in bin/berth libexec/berth/berth-{core,files,image,mcp,egress,git,ssh,terminal,bench,guest} share/man/man1/berth.1.gz \
		share/bash-completion/completions/berth share/doc/berth/copyright share/berth/themes/ share/berth/images/; do
		grep -q " ./usr/$file" "$TMPDIR/contents" || missing="$missing $file"
	done
	echo "missing:$missing; maintained by $(dpkg-deb -f "$package" Maintainer)"
	[ "$(dpkg-deb -f "$package" Maintainer)" = "Ada <ada@example.org>" ] || return
	[ -z "$missing" ] && ! grep -vE ' \./(usr/.*|etc/(apparmor\.d/(berth-agent)?)?)?$' "$TMPDIR/contents" && ! grep -E '^.{5}w|^.{8}w' "$TMPDIR/contents" | grep -v '^l'
}

# The machine's files before and after: what is below /home, /root, /run, /tmp and apt's own books apart.
list_files() {
	inside find / -xdev \( -path /home -o -path /root -o -path /run -o -path /tmp -o -path /proc -o -path /sys -o -path /dev -o -path /srv \
		-o -path /var/cache -o -path /var/log -o -path /var/lib/apt \) -prune -o -name '*berth*' -print | sort
}

install_package() {
	cp "$package" "$root/root/opt/berth.deb" && inside apt-get update &&
		inside apt-get install -y /opt/berth.deb && rm "$root/root/opt/berth.deb" &&
		inside apt-get install -y --no-install-recommends busybox-static
}

says_version() {
	local deb
	deb=$(dpkg-deb -f "$package" Version)
	[[ $(inside berth --version) == "berth $deb"* ]]
}

# All is there that doctor looks for, but an engine.
is_whole() {
	inside berth doctor
	[ $? -le 1 ]
}

start_agent() {
	inside berth engine start &&
		inside sh -c 'busybox true && mkdir -p /root/box/bin && cp "$(command -v busybox)" /root/box/bin/ &&
			for a in sh id echo; do ln -sf busybox "/root/box/bin/$a"; done && tar -C /root/box -cf /root/box.tar . &&
			berth image import /root/box.tar box:1 && install -d -o 1000 -g 1000 /root/team/work &&
			echo "agents: {one: {image: \"box:1\", workspace: ./work}}" >/root/team/team.yaml && berth up /root/team/team.yaml'
}

answers() {
	[ "$(inside berth exec one -- sh -c 'echo "$((6 * 7)) $(id -u)"')" = "42 1000" ]
}

stop_agent() {
	inside berth down /root/team/team.yaml && inside berth engine stop
}

purge_package() {
	inside apt-get purge -y berth && list_files >"$TMPDIR/after" && inside test -d /root/.local/state/berth &&
		diff "$TMPDIR/before" "$TMPDIR/after"
}

same_twice() {
	local place sums=()
	for place in one 'an other'; do
		mkdir -p "$TMPDIR/$place" && git -c safe.directory='*' clone -q --no-hardlinks "$SRC" "$TMPDIR/$place/src" || return
		cmake -G Ninja -S "$TMPDIR/$place/src" -B "$TMPDIR/$place/src/build" -DBERTH_TESTS=OFF &&
			cmake --build "$TMPDIR/$place/src/build" --target package || return
		sums+=("$(sha256sum <"$(echo "$TMPDIR/$place/src/build"/berth_*.deb)")")
	done
	printf '%s\n' "${sums[@]}"
	[ "${sums[0]}" = "${sums[1]}" ]
}

trap 'bareroot_close "$root"' EXIT
export DEBFULLNAME=Ada DEBEMAIL=ada@example.org
step "it is made" package_make "$TMPDIR"
package=$(echo "$TMPDIR"/berth_*.deb)
[ -f "$package" ] || exit 1
echo "note the package: $(stat -c %s "$package") bytes; $(dpkg-deb -f "$package" Depends)"
step "what it holds" holds_right
bareroot_open "$root" || { echo "not ok a bare root"; exit 1; }
list_files >"$TMPDIR/before"
step "apt installs it" install_package
step "its version" says_version
step "berth doctor" is_whole
step "an engine and an agent" start_agent
step "berth exec" answers
step "down and stop" stop_agent
step "apt purge leaves the user's own state" purge_package
[ -z "${BERTH_SOAK-}" ] || step "two builds are the same" same_twice
exit $bad
