#!/bin/sh
# primes.sh - counts primes by trial division, in bursts, so that the CPU column has a pulse.
stop() { echo "stopped at $from"; exit 0; }
trap stop TERM INT
from=2
while :; do
	to=$((from + 4000 + (from / 4000 % 5) * 3000))
	found=$(awk -v a="$from" -v b="$to" 'BEGIN {
		for (n = a; n < b; n++) {
			prime = n > 1
			for (d = 2; d * d <= n; d++) if (n % d == 0) { prime = 0; break }
			c += prime
		}
		print c + 0
	}')
	echo "primes from $from to $to: $found"
	from=$to
	[ "$from" -gt 2000000 ] && from=2
	sleep $((from / 4000 % 3 + 1)) &
	wait $!
done
