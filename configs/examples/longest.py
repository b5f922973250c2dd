#!/usr/bin/env python3
# longest.py - a tool of tools.yaml: the longest line of each file that it is called with.
import sys

for name in sys.argv[1:]:
    with open(name, errors="replace") as f:
        print(f"{name}: {max((len(line.rstrip()) for line in f), default=0)}")
