#!/bin/bash
# transports.sh - every verb over tcp and TLS, and what podman's service can of them.
set -u
. "$SRC/tests/lib/engine.sh"
TMPDIR=${TMPDIR:-/tmp}
verbs=$BUILD/engine_verbs
trap 'engine_doors_close "$BERTH_TEST_ENGINE_DIR"; podman_stop "$TMPDIR/p"' EXIT

say() {
	local name=$1 status=$2
	case $status in
	0) echo "ok $name" ;;
	77) echo "skip $name: $3" ;;
	*) echo "not ok $name" ;;
	esac
}

url=$(engine_tcp "$BERTH_TEST_ENGINE_DIR") || exit 1
BERTH_TEST_ENGINE=$url "$verbs"
say tcp $?

url=$(engine_tls "$BERTH_TEST_ENGINE_DIR") || exit 1
export DOCKER_CERT_PATH=$BERTH_TEST_ENGINE_DIR/tls
BERTH_TEST_ENGINE=$url DOCKER_TLS_VERIFY=1 "$verbs"
say tls $?
# A client without a certificate and a CA that is another's must both be refused, with a sentence.
BERTH_TEST_ONLY=test_tls_refused BERTH_TEST_TLS_URL=$url "$verbs"
say tls-refusals $?
unset DOCKER_CERT_PATH

if ! command -v podman >/dev/null; then
	say podman 77 "there is no podman"
	exit
fi
if podman_start "$TMPDIR/p"; then
	BERTH_TEST_ENGINE=unix://$TMPDIR/p/podman.sock BERTH_TEST_PODMAN=1 "$verbs"
	say podman $?
else
	say podman 1
fi
