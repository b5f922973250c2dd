#!/bin/bash
# packages.sh - what configs/install-packages says and asks of apt, told by an apt-get that installs nothing.
cd "$TMPDIR" || exit 1
. "$SRC/tests/lib/check.sh"
of=packages
mkdir bin configs
cp "$SRC"/configs/{install-packages,progress} configs/

program() { # NAME, the script on stdin
	{ printf '#!/bin/bash\ncd "$TMPDIR" || exit 1\n'; cat; } >"bin/$1"
	chmod +x "bin/$1"
}

# The words are those of apt 2.6.1 and dpkg 1.21.22 in the C locale.
program apt-get <<'END'
echo "$*" >>asked
case "$*" in
*update*) : >lists ;;
*--assume-no*)
	[ -e lists ] || { echo "E: Unable to locate package one"; exit 100; }
	echo "0 upgraded, 117 newly installed, 0 to remove and 0 not upgraded."
	echo "Need to get 1,200 kB/151 MB of archives."
	echo "After this operation, 640 MB of additional disk space will be used."
	exit 1 ;;
*--download-only*)
	printf 'dlstatus:1:%s:Retrieving file 1 of 2\n' 0 12.5 40.1 80 99.9 >&3 ;;
*)
	[ ! -e broken ] || { echo "E: Sub-process /usr/bin/dpkg returned an error code (1)"; exit 100; }
	printf 'pmstatus:one:%s:Installing one\n' 0 50 100 >&3 ;;
esac
END
program dpkg-query <<'END'
cat installed
END
program id <<'END'
cat uid
END

try() { # LIST-ARGUMENT: exit code in $status
	rm -f asked
	PATH=$PWD/bin:$PATH configs/install-packages "$1" >said 2>&1 </dev/null
	status=$?
}

said() { # PATTERN...: each is in a line of its own, in this order
	local line=0 at
	for pattern in "$@"; do
		at=$(grep -nE -- "$pattern" said | cut -d : -f 1 | awk -v after="$line" '$1 > after {print; exit}')
		[ -n "$at" ] || { echo "not said: $pattern"; return 1; }
		line=$at
	done
}

printf 'one\ntwo|other # why\nthree test\n' >configs/packages
echo 0 >uid
printf 'ii  one\nii  other\nrc  three\n' >installed
echo 1000 >uid
try build
check "nothing is missing: no word, no root" [ "$status:$(cat said)" = 0: ]
check "and apt is not asked" [ ! -e asked ]
try test
check "an ordinary user is told the command" said 'sudo apt-get install --no-install-recommends three$'
check "and it fails" [ "$status" = 1 ]
: >installed
echo 0 >uid
try build
check "lists are read where there are none, sizes come before anything is done" \
	said '^Packages: reading' '^Packages: 1,200 kB to download, 640 MB on disk; 117 in all, with what these need: one two$' \
	'downloading: 0 %' 'downloading: 40 %' 'downloading: 80 %' 'installing: 0 %' 'installing: 100 %'
check "it worked" [ "$status" = 0 ]
check "no terminal: nothing is redrawn" bash -c '! grep -q "[[:cntrl:]]" said'
check "nothing is removed for it" bash -c 'grep install asked && ! grep install asked | grep -v -e --no-remove'
: >broken
try build
check "apt's own error is shown" said '^E: Sub-process'
check "and it fails then, too" [ "$status" != 0 ]
check "a terminal has a bar" bash -c 'printf "%s 100\n" 0 30 100 | script -qec configs/progress\ It /dev/null | grep -q "It \[#* *\] 100 %"'
exit $bad
