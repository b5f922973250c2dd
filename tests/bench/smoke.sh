#!/bin/bash
# smoke.sh - every suite of benchmarks still runs and its results still check; figures are not judged.
set -u
out=$TMPDIR/smoke.txt
BERTH_BENCH_ENGINE=${BERTH_BENCH_ENGINE-${BERTH_TEST_ENGINE-}} "$BERTH" bench run --smoke --no-history --json >"$TMPDIR/smoke.json" 2>"$out"
rc=$?
if [ $rc -gt 1 ] || [ ! -s "$TMPDIR/smoke.json" ]; then
	tail -n 40 "$out"
	exit 1
fi
/usr/bin/python3 - "$TMPDIR/smoke.json" <<'PY'
import json, sys
bad = 0
for case in json.load(open(sys.argv[1]))["cases"]:
    name = f"{case['suite']}/{case['case']}"
    if case["state"] == "failed":
        print(f"not ok {name}\n# {case['error']}")
        bad = 1
    elif case["state"] == "not_run":
        print(f"skip {name}: {case['error']}")
    else:
        print(f"ok {name}")
sys.exit(bad)
PY
