#!/bin/bash
# quickstart.sh - what configs/quickstart says, with stand-ins for the engine, the build and berth.
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
unset DOCKER_HOST
mkdir -p tree/configs/images tree/build bin "private data/overlay2"
cp "$SRC"/configs/{quickstart,progress,demo.yaml} tree/configs/
stand_in() { # FILE: a program that does what standard input says
	{ echo '#!/bin/bash'; cat; } >"$1" && chmod +x "$1"
}
stand_in tree/configs/install-packages </dev/null
stand_in bin/docker <<'SH'
case "$*" in
*version) [ -z "${NO_ENGINE-}" ] ;;
*"ps -q") printf '%s\n' 1 2 ;;
top*) echo primes.sh ;;
esac
SH
# The build: what ninja prints is in the file "ninja".
stand_in bin/cmake <<SH
[ "\$1" != --build ] || cat "$PWD/ninja"
SH
stand_in tree/build/berth <<SH
case "\$*" in
"engine status --json") printf '{\n  "running": %s,\n  "socket": "/none/x.sock",\n  "data": "%s"\n}\n' "\$(cat "$PWD/running")" "$PWD/private data" ;;
"engine stop") echo stopped ;;
esac
SH
head -c 3000000 /dev/zero >"private data/overlay2/layer"
echo true >running
PATH=$PWD/bin:$PATH

said() { # PATTERN ARGUMENT...
	local pattern=$1
	shift
	tree/configs/quickstart "$@" >said 2>&1 </dev/null || return
	cat said
	# shellcheck disable=SC2053 # a pattern
	[[ $(<said) == $pattern ]]
}
quiet() {
	said '*' && ! grep -q Compiling said
}
on_path() {
	PATH=$PWD/tree/build:$PATH said '*' && ! grep -q 'export PATH' said
}

printf '%s\n' '[0/2] Re-checking globbed directories...' '[1/4] Building C object a.o' '[2/4] Building C object b.o' '[3/4] Generating c' '[4/4] Linking C executable berth' >ninja
check 'how far the build is' said '*Compiling: 25 %*Compiling: 100 %*'
check 'how to have berth on the PATH' said "*export PATH=$PWD/tree/build:\$PATH*to look: *to remove: *--stop"
check 'not where it is there' on_path
printf '%s\n' '[0/2] Re-checking globbed directories...' '[1/14] Generating version.h' 'ninja: no work to do.' >ninja
check 'nothing compiled, nothing said of it' quiet
check '--stop says what goes and what stays' said \
	"*the demo is gone*stopping berth's private engine with everything in it (containers besides the demo's: 2)*stopped*what stays of that engine (*M): rm -rf --one-file-system $PWD/private\\\\ data" --stop
echo false >running
check 'an engine that does not run is not stopped' bash -c '! NO_ENGINE=1 tree/configs/quickstart --stop 2>&1 | tee said | grep -q stopping; grep -q "what stays" said'
exit $bad
