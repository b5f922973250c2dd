#!/bin/bash
# threads.sh - nothing is shared between threads by accident: what the object files hold and call.
#
# Every variable that can be written and outlives a function, and every use of a function of libc that keeps
# state of its own, stands in threads.allowed with the sentence that says why two threads never meet there.
cd "$BUILD" || exit 1
. "$SRC/tests/lib/objects.sh"
bad=0

report() {
	if [ -n "$2" ]; then
		echo "not ok $1"
		# shellcheck disable=SC2001 # every line is indented
		sed 's/^/# /' <<<"$2"
		bad=1
	else
		echo "ok $1"
	fi
}

# attributes(7), "MT-Unsafe" or a buffer of its own; readdir is fine on a stream of one's own.
unsafe='(get|set|end)(pw|gr|sp|host|serv|proto|net|rpc|mnt|ut|usershell|fs)(ent|nam|gid|uid|by[a-z]+|x|line|id|spec|file)?(2|64)?'
unsafe+='|strtok|localtime|gmtime|ctime|asctime|strerror|strsignal|setenv|unsetenv|putenv|clearenv|setlocale|ttyname|ptsname|getlogin|s?rand|s?random'
unsafe+='|[dejlmn]rand48|srand48|chdir|fchdir|umask|hcreate|hsearch|hdestroy|getdate|inet_ntoa|ether_ntoa|ether_aton|crypt|l64a|[ef]cvt|getopt|getopt_long'
unsafe+='|dlerror|tmpnam|tempnam|mktemp|localeconv|mblen|mbtowc|wctomb|mbrlen|mbrtowc|wcrtomb|getpass|lgamma[fl]?|signgam|ftw|system|popen|tzset|readdir_r'

# FILE NAME of each, in what is installed: modules and programs, not the tests and not what only bench/ runs.  The
# guest has one thread, below.  Variables are those in sections that are written to, those of one thread apart: one of
# a function has a number behind its name; the sanitizers add names of their own.
shared() {
	objects backend tui | grep -v ' backend/lane/guest/' | cut -d ' ' -f 1 | xargs objdump -t | awk -v unsafe="^($unsafe)\$" '
		/: +file format / { file = $1; sub(/^.*\.dir\//, "", file); sub(/\.o:$/, "", file); next }
		NF < 4 { next }
		$(NF - 2) == "*UND*" { if ($NF ~ unsafe) print file, $NF; next }
		NF > 4 && $(NF - 2) ~ /^\.(data|bss)(\..*)?$/ && $(NF - 2) !~ /^\.data\.rel\.ro/ && $NF !~ /^(\.|_*asan_|__sanitizer|__tsan|__odr|__unnamed_)/ {
			sub(/\.[0-9]+$/, "", $NF); sub(/^.*\./, "", $NF); print file, $NF }' | sort -u
}

allowed=$(grep -v '^#' "$SRC/tests/lint/threads.allowed")
found=$(shared)
[ -n "$found" ] || { echo "not ok no objects to look at in $BUILD"; exit 1; }

report "what threads could share is known" "$(awk 'NR == FNR { known[$1 " " $2]; next }
	!(($1 " " $2) in known) { print $1 ": " $2 " is shared by all threads: give each its own, or say in tests/lint/threads.allowed why they never meet" }' \
	<(echo "$allowed") <(echo "$found"))"
report "nothing is allowed that is not there" "$(awk 'NR == FNR { there[$1 " " $2]; next }
	!(($1 " " $2) in there) { print "threads.allowed: " $1 " has no " $2 }' <(echo "$found") <(echo "$allowed"))"
report "the guest has one thread" "$(find CMakeFiles/berth-guest.dir -name '*.c.o' -exec nm -Au {} + | grep -E ' (pthread|thrd)_create$')"
report "each is allowed for a reason" "$(awk 'NF < 5 { print "threads.allowed: " $1 " " $2 " lacks its sentence" }' <<<"$allowed")"
exit $bad
