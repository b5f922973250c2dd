#!/bin/sh
# idle.sh - waits to be told to stop, as an agent between two turns does.
trap 'exit 0' TERM INT
echo "ready"
while :; do
	sleep 3600 &
	wait $!
done
