#!/usr/bin/env python3
"""mcp_conformance.py - the official conformance suite against `berth mcp`, over tests/lib/mcp_bridge.py.

It comes from npm; the short tier leaves it out.  What does not apply is in tests/data/mcp_conformance.txt, with the
reason; all else has to pass.
"""
import fnmatch
import glob
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import npm  # noqa: E402
from mcp_bridge import Bridge  # noqa: E402

# Each with the arguments of its runs.
SUITES = {"0.1.16": [[]], "0.2.0-alpha.12": [["--requirements", "2025-11-25"], ["--requirements", "2026-07-28"]]}
BERTH, SRC = os.environ["BERTH"], os.environ["SRC"]
os.chdir(os.environ["TMPDIR"])
os.environ["XDG_STATE_HOME"] = os.path.join(os.getcwd(), "state")


def found(place, why):
    if why:
        print(f"skip mcp_conformance: {why}")
        sys.exit(77)
    return place


def failures(version, words, url):
    """Scenario/check of each failed check, with what it says; how many passed."""
    out = os.path.join(os.getcwd(), "-".join(["results", version, *(w.strip("-") for w in words)]))
    subprocess.run([NODE, f"{PLACES[version]}/node_modules/@modelcontextprotocol/conformance/dist/index.js", "server",
                    "--url", url, "-o", out, *words], stdout=subprocess.DEVNULL, timeout=250, check=False)
    failed, passed = {}, 0
    for path in glob.glob(f"{out}/**/checks.json", recursive=True):
        scenario = os.path.basename(os.path.dirname(path)).removeprefix("server-")
        scenario = re.sub(r"-20\d\d-\d\d-\d\dT.*", "", scenario)
        with open(path, encoding="utf-8") as f:
            for check in json.load(f):
                passed += check["status"] == "SUCCESS"
                if check["status"] == "FAILURE":
                    failed[f"{scenario}/{check['id']}"] = check.get("errorMessage", "")
    return failed, passed


NODE = found(*npm.node())
PLACES = {version: found(*npm.install(f"conformance-{version}", f"@modelcontextprotocol/conformance@{version}")) for version in SUITES}
os.mkdir("ws")
if os.getuid() == 0:
    os.chown("ws", 1000, 1000)
with open("team.yaml", "w", encoding="utf-8") as f:
    f.write(f"agents:\n  one: {{image: 'box:1', workspace: {os.getcwd()}/ws}}\n")
with open(f"{SRC}/tests/data/mcp_conformance.txt", encoding="utf-8") as f:
    reasons = dict(line.strip().split(" ", 1) for line in f if line.strip() and line[0] != "#")
used, bad = set(), False
for version, runs in SUITES.items():
    for words in runs:
        with Bridge([BERTH, "-c", "team.yaml", "mcp"]) as bridge:
            failed, passed = failures(version, words, bridge.url)
        applies = {name for name in reasons for check in failed if fnmatch.fnmatch(check, name) or fnmatch.fnmatch(check, f"{name}/*")}
        left = {check: why for check, why in failed.items()
                if not any(fnmatch.fnmatch(check, name) or fnmatch.fnmatch(check, f"{name}/*") for name in reasons)}
        used |= applies
        bad = bad or bool(left) or not passed
        print("not ok" if left or not passed else "ok", f"conformance {version} {' '.join(words)}: {passed} passed, {len(failed)} do not apply")
        for check, why in left.items():
            print(f"# {check}: {why}")
for name in sorted(set(reasons) - used):
    bad = True
    print(f"not ok tests/data/mcp_conformance.txt: nothing needs the line {name}")
sys.exit(bad)
