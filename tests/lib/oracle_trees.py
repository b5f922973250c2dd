"""oracle_trees.py - what the oracles of whole trees share: a file system in memory, and making an input on which programs differ small."""
import os
import subprocess
import sys

SHORT, SOAK = bool(os.environ.get("BERTH_TEST_CHANGED")), bool(os.environ.get("BERTH_SOAK"))
SHOWN = 5  # inputs with a difference that are made small and printed
ROUNDS = 60


def on_own_mount():
    """TMPDIR is in memory where that may be: tens of thousands of files take a disk in use a minute."""
    if os.environ.get("OWN_MOUNTS"):
        subprocess.run(["mount", "-t", "tmpfs", "trees", os.environ["TMPDIR"]], stderr=subprocess.DEVNULL, check=False, timeout=60)
    elif subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL, check=False, timeout=60).returncode == 0:
        os.execvpe("unshare", ["unshare", "--mount", *sys.argv], {**os.environ, "OWN_MOUNTS": "1"})


def shrink(item, smaller, differing):
    """The smallest that still differs: `smaller(item)` lists those that lack one thing, `differing(items)` the numbers of
    those on which the programs differ."""
    for _ in range(ROUNDS):
        options = list(smaller(item))
        bad = differing(options) if options else []
        if not bad:
            break
        item = options[bad[0]]
    return item
