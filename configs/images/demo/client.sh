#!/bin/sh
# client.sh - asks the neighbour called "web" for pages, so that the network columns move.
# nslookup and nc, because a static busybox cannot use the C library's resolver, as its wget would.
trap 'exit 0' TERM INT
while :; do
	web=$(nslookup web 127.0.0.11 2>/dev/null | awk '/^Address/ && !/127.0.0.11/ {print $NF; exit}')
	for page in primes.sh chatter.sh idle.sh; do
		answer=$(printf 'GET /%s HTTP/1.0\r\n\r\n' "$page" | nc -w 2 "${web:-127.0.0.1}" 8080 2>/dev/null | head -n 1)
		case $answer in
		*200*) echo "GET /$page 200" ;;
		*) echo "GET /$page failed: ${answer:-no answer}" >&2 ;;
		esac
	done
	sleep 1 &
	wait $!
done
