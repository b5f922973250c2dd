#!/bin/sh
# primes.sh - counts primes by trial division, in bursts, so that the CPU column has a pulse.
trap 'exit 0' TERM INT
from=2
while :; do
	to=$((from + 60000 + from / 60000 % 4 * 40000))
	found=$(awk -v a="$from" -v b="$to" 'BEGIN {
		for (n = a; n < b; n++) {
			prime = n > 1
			for (d = 2; d * d <= n; d++) if (n % d == 0) { prime = 0; break }
			c += prime
		}
		print c + 0
	}')
	echo "primes from $from to $to: $found"
	from=$((to > 1500000 ? 2 : to))
	sleep $((from / 60000 % 3 + 1)) &
	wait $!
done
