#!/bin/bash
# thin.sh - the programs that are started by the hundred load no library.  The sanitizers bring their own, and libc.
bad=0
for program in "$BERTH" "$BUILD/berth-files"; do
	needed=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
	if [ "$VARIANT" != release ]; then
		needed=$(grep -vE '^lib(c|asan|ubsan|tsan|m|pthread|dl|rt|resolv|gcc_s|stdc\+\+)\.so' <<<"$needed")
	fi
	if [ -z "$needed" ]; then
		echo "ok ${program##*/} loads no library"
	else
		echo "not ok ${program##*/} loads no library"
		# shellcheck disable=SC2001
		sed 's/^/# /' <<<"$needed"
		bad=1
	fi
done
exit $bad
