#!/bin/sh
# chatter.sh - writes the kind of log that an agent's tool writes; some of it to stderr.
trap 'echo "level=info msg=bye"; exit 0' TERM INT
n=0
while :; do
	n=$((n + 1))
	case $((n % 12)) in
	0) echo "level=error msg=\"fetch failed\" url=https://example.invalid/page/$n attempt=3" >&2 ;;
	4) echo "level=warn msg=\"slow answer\" ms=$((900 + n % 700))" >&2 ;;
	7) echo "step $n: read $((n * 37 % 900)) files, $((n * 91 % 64)) changed — größer, 大きい, ✓" ;;
	9) echo "{\"step\":$n,\"tool\":\"search\",\"hits\":$((n * 13 % 250)),\"query\":\"open issues\"}" ;;
	*) echo "level=info msg=\"step done\" step=$n ms=$((20 + n * 7 % 300))" ;;
	esac
	head -c 65536 /dev/zero >/tmp/scratch
	sleep 0.$((n % 8 + 1)) &
	wait $!
done
