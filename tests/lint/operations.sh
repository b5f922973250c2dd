#!/bin/bash
# operations.sh - every operation of the table is performed somewhere: its OP_ name occurs outside the table.
cd "$SRC" || exit 1
bad=0
# shellcheck disable=SC2013 # names without blanks
for name in $(sed -n 's/^\tX(\([A-Z_]*\),.*/\1/p' include/berth/operation.h); do
	if ! grep -rqw "OP_$name" backend tui bench; then
		echo "not ok $name"
		echo "# include/berth/operation.h: nothing performs OP_$name"
		bad=1
	fi
done
[ $bad = 0 ] && echo "ok every operation is performed"
exit $bad
