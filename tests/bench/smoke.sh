#!/bin/bash
# smoke.sh - every suite of benchmarks still runs and its results still check; figures are not judged.
set -u
out=$TMPDIR/smoke.txt
"$BUILD/berth-bench" run --smoke --json "$TMPDIR/smoke.json" >"$out" 2>&1
rc=$?
[ $rc = 0 ] || { tail -n 40 "$out"; exit 1; }
/usr/bin/python3 - "$TMPDIR/smoke.json" <<'EOF'
import json, sys
bad = 0
for line in open(sys.argv[1]):
    case = json.loads(line)
    name = f"{case['suite']}/{case['case']}"
    if case["state"] == "failed":
        print(f"not ok {name}\n# {case['error']}")
        bad = 1
    elif case["state"] == "not_run":
        print(f"skip {name}: {case['error']}")
    else:
        print(f"ok {name}")
sys.exit(bad)
EOF
