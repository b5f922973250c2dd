#!/bin/bash
# thin.sh - berth itself is linked to libc alone: that is why --version is as fast as an empty program.
needed=$(readelf -d "$BERTH" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
if [ "$VARIANT" != release ]; then # the sanitizers bring their own
	needed=$(grep -vE '^lib(asan|ubsan|tsan|m|pthread|dl|rt|resolv|gcc_s|stdc\+\+)\.so' <<<"$needed")
fi
if [ "$needed" = libc.so.6 ]; then
	echo "ok berth needs libc only"
else
	echo "not ok berth needs libc only"
	# shellcheck disable=SC2001
	sed 's/^/# /' <<<"$needed"
	exit 1
fi
