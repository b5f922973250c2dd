#!/bin/bash
# cli.sh - the command line's contract without an engine: sentences, exit codes, pipes, wrong files.
cd "$TMPDIR" || exit 1
unset DOCKER_HOST DOCKER_CONTEXT
bad=0

# expect NAME STATUS STDOUT STDERR COMMAND...: patterns of [[ == ]]; '' is nothing at all.
expect() {
	local name=$1 status=$2 out=$3 err=$4 got
	shift 4
	"$@" >out 2>err </dev/null
	got=$?
	# shellcheck disable=SC2053 # patterns
	if [ $got = "$status" ] && [[ $(<out) == $out ]] && [[ $(<err) == $err ]]; then
		echo "ok $name"
	else
		echo "not ok $name"
		printf '# exit %s, wanted %s\n' "$got" "$status"
		sed 's/^/# out: /' out
		sed 's/^/# err: /' err
		bad=1
	fi
}

expect version 0 'berth [0-9]*' '' "$BERTH" --version
expect help 0 'berth - *Commands:*ps*doctor*Exit codes:*' '' "$BERTH" --help
expect 'help of a command' 0 'Usage: berth ps*--json*' '' "$BERTH" help ps
expect 'help inside of a command' 0 'Usage: berth config check*FILE*' '' "$BERTH" config check --help
expect 'unknown subcommand' 2 '' 'berth: unknown subcommand "pss"; did you mean "ps"?' "$BERTH" pss
expect 'unknown option' 2 '' 'berth: unknown option "--jsn"; did you mean "--json"?' "$BERTH" ps --jsn
expect 'an escape in an argument stays text' 2 '' 'berth: unknown subcommand "^\[*' "$BERTH" $'\e]0;x\a'
expect 'help on a full disk' 1 '' 'berth: Cannot write to standard output: No space left on device' \
	bash -c '"$0" --help >/dev/full' "$BERTH"
expect 'completion of an unknown shell' 2 '' 'berth: unknown operand "csh"*' "$BERTH" completion csh
for seconds in 0 0.0001 0x10 ' 5' 1e3 5s nan '' .; do
	expect "--timeout of '$seconds'" 125 '' 'berth: --timeout takes seconds from 0.001 to 604800*' \
		"$BERTH" exec --timeout "$seconds" x -- true
done

# No engine.
expect 'ps without an engine' 3 '' "berth: *unix://$TMPDIR/none.sock*--host*" "$BERTH" -H "unix://$TMPDIR/none.sock" ps
expect 'ps --json without an engine' 3 '' 'berth: *' "$BERTH" -H "unix://$TMPDIR/none.sock" ps --json
expect 'a refused connection' 3 '' 'berth: *127.0.0.1:1*' "$BERTH" -H tcp://127.0.0.1:1 ps
expect 'an address that is none' 2 '' 'berth: *' "$BERTH" -H ftp://x ps
expect 'an unknown context' 2 '' 'berth: *nowhere*' "$BERTH" --context nowhere ps
expect 'doctor without an engine' 1 '*missing  engine*-> *1 missing*' '' "$BERTH" -H "unix://$TMPDIR/none.sock" doctor
mkdir -m 700 priv priv/berth
expect 'a private engine is started by berth' 3 '' "*berth's private engine is not running: start it with berth engine start" \
	env XDG_STATE_HOME="$TMPDIR/priv" "$BERTH" -H "unix://$TMPDIR/priv/berth/engine/docker.sock" ps
"$BERTH" -H "unix://$TMPDIR/none.sock" doctor --json >doctor.json
expect 'doctor --json without an engine fits its schema' 0 '' '' \
	bash -c 'python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/doctor.json" <doctor.json'
expect 'engine status' 1 '*not running*' '' "$BERTH" engine status
"$BERTH" engine status --json >engine.json
expect 'engine status --json fits its schema' 0 '' '' \
	bash -c 'python3 "$SRC/tests/lib/schema.py" "$SRC/tests/data/schema/engine.json" <engine.json'

# Configuration.
cp -r "$SRC/configs" . && chmod -R go-w configs # an archive unpacked by root is writable by the group
for file in configs/{team,massgen,berth}.yaml; do
	expect "the example ${file##*/}" 0 '*nothing wrong*' '' "$BERTH" config check "$file"
done
printf 'theme: dark\nhz: fast\n' >bad.yaml
expect 'a wrong value' 2 '' 'berth: bad.yaml:2:5: found "fast", expected a number from 0.1 to 10.' \
	"$BERTH" config check bad.yaml
expect 'wrong settings stop a command' 2 '' 'berth: bad.yaml:2:5: *' "$BERTH" --settings bad.yaml ps
expect 'missing settings stop a command' 2 '' 'berth: Cannot open none.yaml*' "$BERTH" --settings none.yaml ps
expect 'doctor tells wrong settings' 1 '*missing  settings*bad.yaml:2:5: *' '' "$BERTH" --settings bad.yaml doctor
printf 'hz: 1\ncolr: red\n' >bad.yaml
expect 'an unknown key' 2 '' 'berth: bad.yaml:2:1: unknown key "colr", expected theme, *' "$BERTH" config check bad.yaml
printf 'theem: dark\n' >bad.yaml
expect 'the nearest key' 2 '' '*1:1: unknown key "theem"; did you mean "theme"?' "$BERTH" config check bad.yaml
printf 'keys: {quit: "x x x", bogus: a}\n' >bad.yaml
expect 'keys are checked by the key map' 2 '' 'berth: bad.yaml:1:*bogus*' "$BERTH" config check bad.yaml
printf 'theme: nowhere\n' >bad.yaml
expect 'a theme that does not exist' 2 '' 'berth: *nowhere*' "$BERTH" config check bad.yaml
expect 'the shipped settings' 0 '*: settings, nothing wrong' '' "$BERTH" config check "$SRC/configs/berth.yaml"
for theme in "$SRC"/themes/*.yaml; do
	expect "theme $(basename "$theme")" 0 '*: a theme, nothing wrong' '' "$BERTH" config check "$theme"
done
expect 'a directory as a file' 2 '' 'berth: . is not a regular file: name one.' "$BERTH" config check .
head -c 100000 /dev/urandom >noise.yaml
expect 'noise' 2 '' 'berth: noise.yaml:*' "$BERTH" config check noise.yaml

# The man page says of every action where it is: by the names of all the views.
expect 'the manual names the views' 0 '*clean*-up (clean)*bench*-run (bench)*' '' cat "$BUILD/berth.1"
expect 'the manual leaves no place empty' 1 '' '' grep -e '()' -e 'every view' "$BUILD/berth.1"

# Installed: found in ../libexec/berth; missing: said.
mkdir -p inst/bin inst/libexec/berth
cp "$BERTH" inst/bin/berth
expect 'berth alone says what is missing' 1 '' 'berth: berth-core is missing*' inst/bin/berth ps
expect 'berth alone still tells its version' 0 'berth [0-9]*' '' inst/bin/berth --version
cp "$(dirname "$BERTH")/berth-core" inst/libexec/berth/
expect 'berth finds its programs' 0 '*nothing wrong' '' inst/bin/berth config check "$SRC/configs/berth.yaml"
ln -s inst/bin/berth link
expect 'also by a symbolic link' 0 '*nothing wrong' '' ./link config check "$SRC/configs/berth.yaml"
exit $bad
