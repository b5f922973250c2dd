#!/bin/bash
# readme.sh - the README's two commands on a bare machine, from a clone and a source archive, by root and an ordinary user.
#
# Everything that is used and that no list of configs/packages names is missing here, so it fails: the build list has to
# do for quickstart and the README's cmake lines, which come first, the whole list for tests/run. What it took is told in
# lines "note TEXT". The long form tries each tree with each user.

. "$SRC/tests/lib/bareroot.sh"
. "$SRC/tests/lib/sources.sh"

inside() { # COMMAND...: in the tree, by the pair's user
	bareroot_run "$root" -u "$who" -d "$tree" "$@"
}

# The tree as it is here, whoever owns it; the repository with it, for a clone. git's archives are writable by the
# group, and root's tar keeps that.
lay_tree() {
	local mode=()
	[ "$kind" = clone ] || mode=(--mode=g+w)
	bareroot_run "$root" -u "$who" mkdir "$tree" || return
	if [ "$kind" = clone ] && [ -e "$SRC/.git" ]; then
		git -c safe.directory='*' clone -q --no-checkout --no-hardlinks "$SRC" "$root/root$tree" || return
	elif [ "$kind" = clone ]; then
		git init -q "$root/root$tree" || return
	fi
	bareroot_run "$root" chown -R "$who:" "$tree" &&
		sources | tar -C "$SRC" --owner=0 --group=0 "${mode[@]}" -c -T - | inside tar -x || return
	[ ! -e "$root/root$tree/.git" ] || git -c safe.directory='*' -C "$root/root$tree" reset -q
}

# An engine as Debian's service starts it, for its group. The packages are there: root has run the tests.
start_engine() {
	bareroot_run "$root" usermod --append --groups docker "$who" &&
		bareroot_run "$root" sh -c 'exec setsid dockerd >/var/log/dockerd.log 2>&1 </dev/null &' &&
		wait_for 60 bareroot_run "$root" docker version
}

# Root's compiles everything. What root's tests have compiled is not compiled again for the user, whose packages include
# ccache: the same flags, and a compiler called by the same name.
quickstart() {
	local launcher=()
	[ "$who" = root ] || launcher=(CC=gcc CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_DIR=/srv/compiled/ccache CCACHE_READONLY=1 "CCACHE_TEMPDIR=/tmp/ccache-$who"
		CCACHE_NOHASHDIR=1 "CCACHE_BASEDIR=$tree")
	inside env "${launcher[@]}" ./configs/quickstart && cp "$TMPDIR/log" "$TMPDIR/said"
}

# No terminal: nothing is redrawn, and the end says what runs, how to look, how to remove it.
said_right() {
	cat "$TMPDIR/said"
	! grep -q $'[\r\e]' "$TMPDIR/said" &&
		[[ $(tail -n 4 "$TMPDIR/said") == *"running:   two agents and 4 containers"*"export PATH="*"/build:"*"to look: "*"build/berth"*"to remove: "*"quickstart --stop" ]]
}

listed() {
	inside ./build/berth ps >"$TMPDIR/ps"
	cat "$TMPDIR/ps"
	grep -q 'primes' "$TMPDIR/ps" && grep -q 'berth-demo-chatter' "$TMPDIR/ps"
}

answered() {
	[ "$(inside ./build/berth exec resting -- sh -c 'echo "$((6 * 7)) $(id -u)"')" = "42 $1" ]
}

containers() {
	inside ./build/berth ps --format '{{.ID}} {{.Name}}' | sort
}

# It may be run again: nothing is made anew, and no second program started.
again() {
	local before
	before=$(containers) && [ "$(wc -l <<<"$before")" -ge 6 ] && inside ./configs/quickstart && [ "$before" = "$(containers)" ] &&
		[ "$(inside ./build/berth exec primes -- pidof primes.sh | wc -w)" = 1 ]
}

# An ordinary user's engine goes on, and nothing of the demo is left on it; root's goes with it.
stopped() {
	inside ./configs/quickstart --stop || return
	[ "$who" != root ] || ! inside ./build/berth engine status || return
	[ "$who" = root ] || ! inside sh -c 'docker ps -aq --filter label=berth.demo=1; docker volume ls -q | grep berth-home-
		docker network ls -q --filter name=berth-demo; docker images -q berth-demo; ls -d ~/.local/share/berth-demo' 2>/dev/null | grep . || return
	inside ./configs/quickstart --stop
}

list_targets() { # FOLDER: what its build makes, without its name
	inside ninja -C "$1" -t targets all | sed "s|$tree/$1/||" | sort
}

# The README's other way: its cmake line. It makes what quickstart has compiled, so only that is not done again.
installed() {
	inside cmake -G Ninja -B build-plain &&
		diff <(list_targets build) <(list_targets build-plain) &&
		inside env DESTDIR=/opt/plain ninja -C build install && inside /opt/plain/usr/local/bin/berth --version
}

# Each test in there is one of this machine. What is skipped in there is skipped on every stranger's machine;
# but for what npm is needed for, which no list of configs/packages names.
run_tests() { # TESTS/RUN-ARGUMENT...
	local name="$of: tests/run $*" status begun=$SECONDS
	inside ./tests/run "$@" >"$TMPDIR/log" 2>&1 </dev/null
	status=$?
	sed -nE 's/  [0-9.]+ s$//; s/^ok +/ok /p; s/^FAIL +/not ok /p; / npm /s/^skip +/note /p; s/^skip +/not ok not run: /p' "$TMPDIR/log" | sed "s/$/, $of/"
	sed -nE "s/^(slow|--) +/note $of: /p; s/^flaky +/note $of: flaky: /p" "$TMPDIR/log"
	echo "note $name: $((SECONDS - begun)) s; $(tail -n 1 "$TMPDIR/log")"
	if [ $status = 0 ] && ! grep '^skip ' "$TMPDIR/log" | grep -qv ' npm '; then
		echo "ok $name"
	else
		grep -vE '^(ok|--|slow) ' "$TMPDIR/log" | tail -n 150 | sed 's/^/# /'
		echo "not ok $name: exit $status, $(tail -n 1 "$TMPDIR/log")"
		bad=1
	fi
}

megabytes() { # FOLDER: what lies there, without what is mounted
	du -sxm "$root/root$1" | cut -f 1
}

pair() { # clone|archive root|USER [TESTS/RUN-ARGUMENT...]; none: no tests are run
	local begun home uid
	kind=$1 who=$2
	shift 2
	of="$kind as $([ "$who" = root ] && echo root || echo 'a user')"
	home=$(bareroot_run "$root" -u "$who" pwd) uid=$(bareroot_run "$root" id -u "$who")
	tree="$home/a $kind"
	step "the tree" lay_tree
	[ "$who" = root ] || step "an engine for its group" start_engine
	begun=$SECONDS
	step "quickstart" quickstart
	sed -n "s/^Packages: .* in all/note $of: &/p" "$TMPDIR/said"
	step "it says what runs, how to look, how to remove" said_right
	step "berth ps" listed
	step "berth exec" answered "$((uid ? uid : 1000))"
	[ "$who" = root ] || step "quickstart again" again # it configures anew, and root's is compared below
	step "quickstart --stop" stopped
	echo "note $of: quickstart, all of it: $((SECONDS - begun)) s; the machine has $(megabytes /) MB, build/ $(megabytes "$tree/build") MB"
	[ "$who" != root ] || step "the README's cmake lines" installed
	bareroot_compiled "$root" "$who"
	[ $# = 0 ] || run_tests "$@"
	echo "note $of: the machine has $(megabytes /) MB, build-release/ $(megabytes "$tree/build-release") MB"
	bareroot_run "$root" rm -rf "$tree"
}

root=$TMPDIR/bare
trap 'bareroot_close "$root"' EXIT
bareroot_open "$root" || { echo "not ok a bare root"; exit 1; }
echo "note the bare root: $(megabytes /) MB, of them $(megabytes /var/cache/apt/archives) MB of packages from earlier runs; ready after $SECONDS s"
# Not all of it: the rest ran on this machine, of the linters what takes minutes. These need what only configs/packages brings.
pair clone root --variant release lint.archive lint.format lint.include lint.pages lint.modules lint.shell lint.thin lint.threads \
	lint.tree lint.version unit.armour unit.checkpoint unit.files_scan unit.files_search unit.tarball \
	scenario.cli scenario.completion scenario.files scenario.mcp scenario.workspace_git
bareroot_user "$root" ada
if [ "${BERTH_SOAK:-0}" != 1 ]; then
	pair archive ada
else
	pair archive ada --variant asan unit golden
	pair clone ada lint unit golden scenario
	pair archive root lint unit golden scenario
fi
exit $bad
