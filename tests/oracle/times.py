#!/usr/bin/python3
"""times.py - the moments that --since and --until take, against docker's, GNU date's and exact arithmetic for Go's durations."""
import fractions
import os
import random
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import oracle  # noqa: E402

SHORT, SOAK = os.environ.get("BERTH_TEST_CHANGED"), os.environ.get("BERTH_SOAK")
FOR_DOCKER = 50 if SHORT else 3000 if SOAK else 80  # a process each
FOR_DATE = 300 if SHORT else 100000 if SOAK else 3000
NOW = 1795207502  # 2026-11-20T20:45:02Z
LAST = (1 << 63) - 1
ZONES = ["UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "NPT-5:45", "EST5EDT,M3.2.0,M11.1.0"]

LISTED = """
2026-11-20 2026-11-20Z 2026-11-20+02:00 2026-11-20-05:30 2026-11-20T20:45 2026-11-20T20:45Z 2026-11-20T20:45+02:00 2026-11-20T20:45:02 2026-11-20T20:45:02Z
2026-11-20T20:45:02-00:00 2026-11-20T20:45:02+14:00 2026-11-20T20:45:02-12:00 2026-11-20T20:45:02.1Z 2026-11-20T20:45:02.12 2026-11-20T20:45:02.123456789Z
2026-11-20T20:45:02.999999999Z 2026-11-20T20:45:02.1234567899Z 2026-11-20T20:45:02.9999999999999999999Z 2026-11-20T20:45:02.123456789+05:45 2026-11-20T20:45:02.000000001-03:00
2026-11-20T20:45:02.Z 2026-11-20T20:45:02. 2026-11-20T20:45:02,5Z 2026-11-20T20:45:02+0200 2026-11-20T20:45:02+02 2026-11-20T20:45:02+2:00 2026-11-20T20:45:02+24:00
2026-11-20T20:45:02+02:60 2026-11-20T20:45:02ZZ 2026-11-20t20:45:02z 2026-11-20T20:45:02z 2026-11-20t20:45:02Z 2026-11-20T20 2026-11-20T 2026-11 2026-1-2 2026-11-20T5:04
0001-01-01 0001-01-01T00:00:00Z 0000-01-01T00:00:00Z 1582-10-10T00:00:00Z 1969-12-31T23:59:59.999999999Z 1970-01-01T00:00:00Z 1970-01-01T00:00:00.000000001Z 2038-01-19T03:14:08Z
2262-04-11T23:47:16.854775807Z 2262-04-11T23:47:17Z 9999-12-31T23:59:59Z 9999-12-31T23:59:59.999999999-12:00 10000-01-01T00:00:00Z 99-01-01
2024-02-29 2026-02-29 1900-02-29T00:00:00Z 2000-02-29T00:00:00Z 2100-02-29T00:00:00Z 2026-02-30 2026-04-31T00:00Z 2026-06-31T00:00:00Z 2026-13-01 2026-00-10 2026-11-00 2026-11-32
2016-12-31T23:59:60Z 2016-12-31T23:59:60.5Z 2026-11-20T23:59:61Z 2026-11-20T24:00:00Z 2026-11-20T24:00 2026-11-20T21:60 2026-11-20T20:45:60
0 1 1795207502 1795207502.5 1795207502.123456789 1795207502.000000001 1795207502.999999999 1795207502.1234567899 1795207502. .5 00 007 2026 20261120 99999999999 9223372036 9223372037
9223372036854775807 9223372036854775808 1e3 0x10 1_000 -5 +5 -1.5
0s 1s 90s 10m 1h30m 1.5h 1.h .5h .h 300ms 1s5us 1us 1ns 1.5ns 0.5ns 1m1m 1h1s1m 100000h 2540400h 1h30 h 1 -1h +1h 1h-1m 5x 3d 2d04h 1.5d 1w 1y 1H 1M 1S 1Ms 1mS
0.1h 0.000000001s 1.000000001s 0.0000000001s 0.0000000001h 0.3333333333333h 1.0000000000001h 0.1111111111111111111111111h 1.999999999m 0.999999999h 0.123456789h 1.123456789123456789h
999999999ns 1.0000000005us 1.0000000005ms 5000000000h 9223372036854775807ns 9223372036854775808ns 99999999999999999999s 1h99999999999999999999ns
1.2.3s 1..5h 1s1 s1
yesterday now 20:45 20:45:02 24:00 11-20 today noon tomorrow
""".split() + ["", " ", "2026-11-20 20:45:02", "2026-11-20 20:45:02Z", "2026-11-20 20:45", "2026-11-20 20:45:02.123456789", " 2026-11-20", "2026-11-20 ", "11-20 20:45:02", "1h 30m", " 1h", "1h ", "2026-03-29T02:30", "2026-03-29 02:30:00.5", "2026-10-25T02:30",
               "20 Nov", "2026-11-20T20:45:02 Z", "2026-11-20  20:45", "1 h", "1\u00b5s", "1\u03bcs", "1.5\u00b5s", "\u0661s", "1\u00b5", "2026-11-20T20:45:02\u2013", "2026-11-20T20:45:02Z\n", "1h\n", "5\n"]

DATE = r"\d{4}-\d\d-\d\d"
CLOCK = r"\d\d:\d\d(:\d\d(\.\d+)?)?"
ZONE = r"([Zz]|[+-]\d\d:\d\d)?"
UNIT = "(ns|us|\u00b5s|\u03bcs|ms|s|m|h|d)"
AMOUNT = r"(\d+\.?\d*|\.\d+)"

# Where berth is meant to differ: what fits the pattern, and why.
DOCKER = [
    (rf"({AMOUNT}{UNIT})*{AMOUNT}d({AMOUNT}{UNIT})*", "berth has days, too, which it prints in spans"),
    (rf"{DATE}[t ]{CLOCK}{ZONE}|{DATE}(T{CLOCK})?z", "RFC 3339 has t, z and a blank, too, which docker's layouts have not"),
    (rf"(\d\d-\d\d[Tt ])?{CLOCK}", "berth takes what it prints without a year or a day"),
    (r"[+-].*", "docker takes signs, so moments to come; for berth a duration is how long ago, and no number has a sign"),
    (rf"{DATE}T\d\d?{ZONE}", "docker takes an hour alone for a time of day"),
    (rf"{DATE}T\d:.*|{DATE}T.*,.*", "Go takes hours of one digit, and a comma in front of a fraction"),
    (rf"{DATE}.*[+-](24:\d\d|\d\d:60)", "Go takes offsets of 24 hours and of 60 minutes, which RFC 3339 has not"),
    (rf"({AMOUNT}{UNIT})*(\d{{7,}}\.?\d*h|\d{{9,}}\.?\d*m|\d{{10,}}\.?\d*s)({AMOUNT}{UNIT})*", "what is longer than Go's 292 years is for berth since ever"),
    (r"0000-.*", "docker has a year 0"),
    (r"\d+\.\d{19,}|92233720368547758\d\d(ns)?", "numbers at the end of what 64 bits hold"),
]
SUM = [
    (r".*\d{19,}.*", "numbers that 64 bits do not hold are refused"),
]
GNU = [
    (rf"(?!{DATE}([Tt ]{CLOCK})?{ZONE}$)(?s:.)*", "date also takes words, offsets without colon, hours alone and much else"),
    (rf"{DATE}[+-]\d\d:\d\d", "for date what follows a day alone is a time of day"),
    (r"0000-.*", "date has a year 0"),
    (rf"{DATE}.*[+-](24:00|\d\d:60)", "date takes offsets of 24 hours and of 60 minutes, which RFC 3339 has not"),
    (r"\d{4}-03-\d\d[Tt ]02:\d\d(:.*)?", "the hour that the clock skips in spring: date refuses it, berth takes mktime's reading"),
]


def as_text(given):
    return given.decode(errors="surrogateescape")


def fits(pattern):
    compiled = re.compile(pattern, re.ASCII)
    return lambda text, _: bool(compiled.fullmatch(as_text(text)))


def berth(inputs, **env):
    return oracle.judge("times", inputs, NOW * 1000, **env)


def clamped(ns):
    return min(max(ns, 1), LAST)


class AsDocker:
    def __init__(self):
        self.docker, self.known = oracle.Docker(os.environ["TMPDIR"]), {}

    def ask(self, texts):
        """Two of them at once; each alone where docker refuses both."""
        texts = [text for text in dict.fromkeys(texts) if text and text not in self.known]
        command = [b"events", b"--filter=label=NUMBER"]
        pairs = [texts[at:at + 2] for at in range(0, len(texts), 2)]
        before = time.time()
        answers = self.docker.run_all([command + [name + text for name, text in zip((b"--since=", b"--until="), pair)] for pair in pairs])
        alone = [text for pair, answer in zip(pairs, answers) if not answer for text in pair]
        answers += self.docker.run_all([command + [b"--since=" + text] for text in alone])
        after = time.time()
        self.known[b""] = None, before, after
        for pair, answer in zip(pairs + [[text] for text in alone], answers):
            for name, text in zip(("since", "until"), pair):
                self.known[text] = answer and answer[name], before, after

    def differ(self, inputs):
        self.ask(inputs)
        found = []
        for text, ns in zip(inputs, berth(inputs, TZ="UTC0")):
            said, before, after = self.known[text]
            if said is None or ns == -1:
                found.append((said, ns) if (said is None) != (ns == -1) else None)
                continue
            seconds, _, fraction = said.partition(".")
            value = int(seconds) * 10**9 + int((fraction + "000000000")[:9])
            same = clamped(value) == ns
            if re.fullmatch(f"({AMOUNT}{UNIT})+", as_text(text)):  # a duration, of which docker says seconds
                ago = NOW * 10**9 - ns
                same = ns == 1 and value < 10**18 or before - ago / 1e9 - 1.01 <= value / 1e9 <= after - ago / 1e9 + 0.01
            found.append(None if same else (said, ns))
        return found


def date(inputs, zone):
    """Nanoseconds by GNU date; None where it refuses."""
    lines = [text for text in inputs if b"\n" not in text]
    done = subprocess.run(["stdbuf", "-oL", "date", "-f", "-", "+%s.%N"], input=b"".join(text + b"\n" for text in lines), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "TZ": zone, "LC_ALL": "C"}, check=False, timeout=60).stdout.splitlines()
    assert len(done) == len(lines), (len(done), len(lines))
    said = dict(zip(lines, done))
    found = []
    for text in inputs:
        number = re.fullmatch(rb"(-?\d+)\.(\d{9})", said.get(text, b""))
        found.append(int(number[1]) * 10**9 + int(number[2]) if number else None)
    return found


def differ_from_date(inputs):
    found = [None] * len(inputs)
    for zone in ZONES:
        for i, (text, want, ns) in enumerate(zip(inputs, date(inputs, zone), berth(inputs, TZ=zone))):
            if (want is None) != (ns == -1) or (want is not None and clamped(want) != ns):
                found[i] = found[i] or (zone, want, ns)
    return found


NS = {"ns": 1, "us": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}


def differ_from_sum(inputs):
    """Each part of a duration is whole nanoseconds, rounded down, as Go has it."""
    found = []
    for text, ns in zip(inputs, berth(inputs)):
        want, text = ns if re.fullmatch(rb"\d+(\.\d+)?", text) else -1, as_text(text)
        if re.fullmatch(f"({AMOUNT}{UNIT})+", text, re.ASCII):
            parts = re.findall(rf"{AMOUNT}{UNIT}", text)
            want = clamped(NOW * 10**9 - sum(fractions.Fraction("0" + amount.rstrip(".")) * NS[unit] // 1 for amount, unit in parts))
        found.append((want, ns) if want != ns else None)
    return found


def mutated(rng, text):
    if rng.random() < 0.85 or not text:
        return text
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(("", "", "0", "1", "9", ":", "-", ".", "T", "Z", "+", " ", "s", "h")) + text[at + rng.choice((0, 1)):]


def digits(rng, *sizes):
    return "".join(rng.choice("0123456789") for _ in range(rng.choice(sizes)))


def stamp(rng):
    year = rng.choice((rng.randrange(1, 10000), rng.randrange(1900, 2300), rng.randrange(2020, 2030), 2024, 2000, 2100))
    text = f"{year:04}-{rng.choice((rng.randrange(1, 13), 2, 2, rng.randrange(14))):02}-{rng.choice((rng.randrange(1, 29), 28, 29, 30, 31, rng.randrange(33))):02}"
    if rng.random() < 0.15:
        return text + rng.choice(("", "", "Z"))
    text += rng.choice("TTTTt ") + f"{rng.randrange(24) if rng.random() < 0.95 else 24:02}:{rng.randrange(60) if rng.random() < 0.95 else 60:02}"
    if rng.random() < 0.8:
        text += f":{rng.randrange(60) if rng.random() < 0.9 else rng.choice((59, 60)):02}"
        if rng.random() < 0.5:
            text += "." + digits(rng, 1, 3, 6, 9, 9, 9, 10, 12)
    offset = f"{rng.choice('+-')}{rng.randrange(15):02}:{rng.choice((0, 30, 45, 59)):02}"
    return text + rng.choice(("", "Z", "Z", "Z", "z", offset, offset))


def duration(rng, units=("ns", "us", "\u00b5s", "ms", "s", "s", "m", "m", "h", "h", "d")):
    amounts = [rng.choice((digits(rng, 1, 2), digits(rng, 1, 2, 5, 9), digits(rng, 1, 3) + "." + digits(rng, 1, 3, 9, 9, 10, 13, 18), "." + digits(rng, 1, 9), digits(rng, 1) + "."))
               for _ in range(rng.choice((1, 1, 2, 3)))]
    return "".join(amount + rng.choice(units) for amount in amounts)


def epoch(rng):
    return rng.choice((digits(rng, 1, 4, 9, 10), str(rng.randrange(2 * NOW)))) + rng.choice(("", "", "." + digits(rng, 1, 3, 6, 9, 9, 9, 10, 12)))


def printed(rng):
    """What berth prints is what it takes, to the precision that is printed."""
    bad = 0
    times = [rng.randrange(1, NOW * 1000) for _ in range(50)] + [NOW * 1000 - rng.randrange(86000000) for _ in range(50)]
    for zone in ZONES:
        for ms, (stamp_text, wall, span) in zip(times, oracle.judge("printed", [b"%d" % ms for ms in times], TZ=zone)):
            got = berth([form.encode() for form in (stamp_text, wall, span)], TZ=zone)
            s = ms // 1000
            unit = 1 if s < 3600 else 60 if s < 86400 else 3600
            want = [ms * 10**6, s * 10**9 if NOW - s < 86000 else got[1], clamped((NOW - s // unit * unit) * 10**9)]
            if got != want:
                bad += 1
                print(f"# {ms} in {zone}: {stamp_text}, {wall}, {span} are taken for {got}, not {want}")
    print(f"note oracle times, printed: {len(times) * len(ZONES)} moments in three forms, {bad} taken for another")
    print("not ok" if bad else "ok", "what berth prints it takes")
    return bool(bad)


def main():
    rng = random.Random(32)
    listed = [text.encode() for text in LISTED]

    def some(n, *kinds):
        return [mutated(rng, rng.choice(kinds)(rng)).encode() for _ in range(n)]
    failed = printed(rng)
    durations = [text for text in listed if not re.search(rb"[-+]", text) and re.search(rb"[a-z]$", text)] + [text.encode() for text in (duration(rng) for _ in range(FOR_DATE))]
    failed |= oracle.check("times, durations", durations, differ_from_sum, [(fits(pattern), why) for pattern, why in SUM], "exact arithmetic")
    failed |= oracle.check("times, dates", listed + some(FOR_DATE, stamp), differ_from_date, [(fits(pattern), why) for pattern, why in GNU], "date")
    if not shutil.which("docker"):
        print("skip times as docker: there is no docker here")
        return int(failed)
    failed |= oracle.check("times, all", listed + some(FOR_DOCKER, stamp, lambda r: duration(r, ("ns", "us", "ms", "s", "m", "h")), epoch), AsDocker().differ,
                           [(fits(pattern), why) for pattern, why in DOCKER], "docker")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
