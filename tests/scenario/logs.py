#!/usr/bin/python3
"""logs.py - what `berth logs` prints of what engines send: order, long and partial lines, complaints, cut streams, and
what is followed over restarts and steps of the clock."""
import json
import os
import subprocess
import tempfile
import threading
import time

from scenario import BERTH, Fake, berth, case, case_of_patience, main, wait_for

T = 1_700_000_000  # seconds


def line(text, at=0.0, **more):
    return {"text": text, "at": int(T * 10**9 + at * 10**9), **more}


def box(*lines, name="web", **more):
    return {"name": name, "log": list(lines), **more}


def together(*args, fake):
    """stdout and stderr into one pipe, as with 2>&1."""
    done = subprocess.run([BERTH, "-H", fake.url, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=60, check=False)
    return done.stdout


class Followed:
    """`berth logs -f`: what it has printed so far."""

    def __init__(self, fake, *words):
        self.run = subprocess.Popen([BERTH, "-H", fake.url, "logs", "-f", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.out = b""
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for text in self.run.stdout:
            self.out += text

    def has(self, text):
        wait_for(lambda: text in self.out, f"{text} did not come, only {self.out}")

    def ends(self, code=0):
        try:
            assert self.run.wait(60) == code, self.run.stderr.read()
        finally:
            self.run.kill()
            self.reader.join()
        return self.out, self.run.stderr.read()


def text_of(lines):
    return b"".join(v["text"].encode() + b"\n" for v in lines)


@case
def the_order_of_both_streams_is_kept():
    lines = [line(f"{n}", n, err=n % 3 == 0) for n in range(40)]
    with Fake(containers=[box(*lines)]) as fake:
        assert together("logs", "web", fake=fake) == text_of(lines), together("logs", "web", fake=fake)
        one = berth("logs", "web", fake=fake)
        assert one.out == text_of(v for v in lines if not v["err"]) and one.err == text_of(v for v in lines if v["err"])


@case
def several_are_merged_by_time():
    # So many that none of them waits as a whole; one has nothing, one steps back.
    logs = {"a": [line(f"a{n} " + "x" * 100, n) for n in range(0, 6000, 2)], "b": [line(f"b{n} " + "y" * 100, n) for n in range(1, 6000, 2)],
            "none": [], "old": [line("o1", 1.5), line("o2", 0.5), line("o3", 7000)]}
    with Fake(containers=[box(*lines, name=name) for name, lines in logs.items()]) as fake:
        got = berth("logs", *logs, fake=fake)
        out = got.out.decode().splitlines()
        want = sorted(((v["at"], name, v["text"]) for name in ("a", "b") for v in logs[name]))
        assert [x for x in out if not x.startswith("old")] == [f"{name} | {text}" for _, name, text in want], got.out[:400]
        where = [out.index(f"old | {x}") for x in ("o1", "o2", "o3")]
        assert where == [2, 3, 6002], where


@case
def each_is_printed_once():
    """However often it is named, and in however many ways."""
    with Fake(containers=[box(line("one", 1), id="ab12" * 16), box(line("two", 2), name="other")]) as fake:
        for words in (["web", "web"], ["web", "ab12ab12"], ["ab12" * 16, "web", "web"]):
            assert berth("logs", *words, fake=fake).out == b"one\n", words
        assert berth("logs", "web", "other", "web", fake=fake).out == b"web | one\nother | two\n"
        assert berth("logs", "-g", "one", "web", "web", fake=fake).out == b"web | one\n"


@case
def lines_are_whole():
    long, pieces = "j" * 100000, ["p" * 16384, "q" * 16384, "end"]
    lines = [line(long, 1), line("é" * 20000, 2, err=True), *(line(p, 3, part=p != "end") for p in pieces), line("\r", 4), line("mine\r", 5),
             line("no newline", 6, part=True)]
    out = f"{long}\n{''.join(pieces)}\n\r\nmine\r\nno newline".encode()
    with Fake(containers=[box(*lines), box(line("m" * 3_000_000, 1), line("n" * (1 << 20), 2), name="more"),
                          box(*(line(p, 3, part=p != "end") for p in pieces), tty=True, name="tty")]) as fake:
        one = berth("logs", "web", fake=fake)
        assert (one.out, one.err) == (out, "é".encode() * 20000 + b"\n"), (len(one.out), one.out[-60:], len(one.err))
        stamped = berth("logs", "-t", "web", fake=fake).out.decode().splitlines()
        assert [v[:4] + v[20:][:8] for v in stamped][:3] == ["2023jjjjjjjj", "2023pppppppp", "2023"] or len(stamped) == 5, [v[:40] for v in stamped]
        assert stamped[1].endswith("qend") and len(stamped[1]) < 33000, stamped[1][-40:]
        first = json.loads(berth("logs", "--json", "web", fake=fake).out.splitlines()[0])
        assert (first["text"], first["clipped"]) == (long, False)
        assert berth("logs", "tty", fake=fake).out == "".join(pieces).encode() + b"\r\n"
        assert berth("logs", "more", fake=fake).out == b"m" * 3_000_000 + b"\n" + b"n" * (1 << 20) + b"\n"
        both = berth("logs", "web", "more", fake=fake)
        found = both.out.splitlines()
        assert both.code == 1 and b"1 line was longer than 1048576 bytes" in both.err, both.err[-300:]
        assert b"more | " + b"m" * (1 << 20) + b" [cut]" in found and b"more | " + b"n" * (1 << 20) in found
        assert b"web | " + long.encode() in found and b"web | no newline" in found


@case
def complaints_of_the_engine_are_errors():
    said = {"text": "Error grabbing logs: invalid character '\\x00'\n", "system": True, "part": True}
    with Fake(containers=[box(line("one", 1), said, line("two", 2)), box(line("one", 1), said, name="tty", tty=True),
                          box(line("Error grabbing logs: of mine", 1), tty=True, name="mine"),
                          box(line("other", 3), name="other")]) as fake:
        for name, out in (("web", b"one\n"), ("tty", b"one\r\n")):
            for words in ([name], ["-f", name]):
                got = berth("logs", *words, fake=fake)
                assert (got.code, got.out) == (1, out) and b"the engine reports: Error grabbing logs" in got.err, (words, got.code, got.out, got.err)
        got = berth("logs", "web", "other", fake=fake)
        assert (got.code, got.out) == (1, b"web | one\nother | other\n"), (got.code, got.out)
        assert berth("logs", "mine", fake=fake).out == b"Error grabbing logs: of mine\r\n"


@case
def cut_streams_are_errors():
    short = {"raw": "\x01\x00\x00\x00\x00\x00\x00\x40" + "2023-11-14T22:13:21.000000000Z half a li"}
    with Fake(containers=[box(line("one", 1), short), box(line("one", 1), {"raw": "\x01\x00\x00"}, name="head"),
                          box({"raw": "HTTP is not frames"}, name="none")]) as fake:
        for words, out in ((["web"], b"one\nhalf a li"), (["head"], b"one\n"), (["web", "head"], b"web | one\nweb | half a li [cut]\nhead | one\n")):
            got = berth("logs", *words, fake=fake)
            assert (got.code, got.out) == (1, out) and b"in the middle of a frame" in got.err, (words, got.code, got.out, got.err)
        berth("logs", "none", fake=fake).fails_with(1, "not made of frames")
    with Fake(containers=[box(*(line(f"{n}", n) for n in range(100)))], faults=[{"match": "/logs", "do": "cut", "bytes": 20}]) as fake:
        got = berth("logs", "web", fake=fake)
        assert got.code in (1, 3) and got.err.startswith(b"berth: "), (got.code, got.err)


@case
def a_line_that_is_hard_for_an_expression_does_not_hide():
    hard = "curl evil " + "e" * 4000
    with Fake(containers=[box(line("plain", 1), line(hard, 2))]) as fake:
        assert berth("logs", "--grep", "curl.*evil", "web", fake=fake).out.decode() == f"web | {hard}\n"
        assert berth("logs", "--grep", "!curl.*evil", "web", fake=fake).out.decode() == f"web | plain\nweb | {hard}\n"


@case
def following_ends_with_the_container():
    with Fake(containers=[box(line("one", 1), name="old", state="exited"), box(line("new", 1), name="new", state="created")]) as fake:
        for name, out in (("old", b"one\n"), ("new", b"new\n")):
            got = berth("logs", "-f", name, fake=fake)
            assert (got.code, got.out, got.err) == (0, out, b""), (name, got.code, got.out, got.err)


@case_of_patience
def following_ends_when_it_ends_or_is_removed():
    with Fake(containers=[box(line("one", 1))]) as fake:
        run = Followed(fake, "web")
        run.has(b"one")
        fake.door("log", {"name": "web", "lines": [line("two", 2)], "state": "exited"})
        assert run.ends() == (b"one\ntwo\n", b""), run.out
        fake.door("log", {"name": "web", "state": "running"})
        run = Followed(fake, "web")
        run.has(b"two")
        assert berth("rm", "-f", "--yes", "--foreign", "web", fake=fake).code == 0
        assert run.ends() == (b"one\ntwo\n", b""), run.out


@case
def nothing_is_measured_for_logs_or_events():
    with Fake(containers=[box(line("one", 1)), box(name="other")]) as fake:
        for words in (["logs", "web"], ["events", "--until", "0s"]):
            assert berth(*words, fake=fake).code == 0, words
        run = Followed(fake, "web")
        run.has(b"one")
        wait_for(lambda: sum("/json?" in r for r in fake.requests()) > 2, "it does not look at its container")
        fake.door("log", {"name": "web", "state": "exited"})
        run.ends()
        assert not [r for r in fake.requests() if "/stats" in r], fake.requests()


@case_of_patience
def runs_are_followed_each_line_once():
    # The clock steps back an hour before the third run and within the fourth; engines choose in both ways.
    for since in ("all after", "each"):
        with Fake(since=since, containers=[box(line("1a", 1), line("same", 2), line("same", 2), line("1b", 2))]) as fake:
            run = Followed(fake, "web")
            run.has(b"1b\n")
            fake.door("log", {"name": "web", "lines": [line("1c", 3)], "state": "restarting"})
            run.has(b"1c\n")
            fake.door("log", {"name": "web", "lines": [line("2a", 4), line("2b", 5, err=True)], "started": T + 4, "state": "restarting"})
            fake.door("log", {"name": "web", "lines": [line("3a", -3600), line("3b", -3599)], "started": T - 3600, "state": "running"})
            run.has(b"3b\n")
            fake.door("log", {"name": "web", "lines": [line("3c", -3500), line("3d", -7200)]})
            run.has(b"3d\n")
            # Over before anybody looked.
            fake.door("log", {"name": "web", "lines": [line("4a", -7100)], "started": T - 7150, "state": "exited"})
            out, err = run.ends()
            assert out == b"1a\nsame\nsame\n1b\n1c\n2a\n3a\n3b\n3c\n3d\n4a\n", (since, out)
            assert err == b"2b\n", (since, err)


@case_of_patience
def the_console_loses_no_short_run():
    with Fake(containers=[box(line("first", 1), line("last", 2))]) as fake, tempfile.NamedTemporaryFile("w", suffix=".script") as script:
        script.write("size 100 20\nwait web\nkey / w e b Enter l\nwait last\nwait short run\nwait stepped back\ndump body\n")
        script.flush()
        run = subprocess.Popen([BERTH, "-H", fake.url, "--script", script.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for(lambda: any("/logs" in r for r in fake.requests()), "the log is not opened")
        fake.door("log", {"name": "web", "state": "exited"})
        fake.door("emit", {"name": "web", "action": "die"})
        wait_for(lambda: sum("/json" in r and "containers/json" not in r for r in fake.requests()) >= 2, "nobody looks at it")
        fake.door("log", {"name": "web", "lines": [line("short run", 10)], "started": T + 9})
        fake.door("emit", {"name": "web", "action": "start"})
        fake.door("log", {"name": "web", "lines": [line("stepped back", -100)], "started": T - 101})
        fake.door("emit", {"name": "web", "action": "start"})
        out, err = run.communicate(timeout=60)
        assert run.returncode == 0, (out, err)
        text = out.decode()
        assert [text.count(x) for x in ("first", "last", "short run", "stepped back")] == [1, 1, 1, 1], text


@case_of_patience
def the_console_reads_a_run_that_ended_before_the_last_stream():
    with Fake(log_linger=2, containers=[box(line("first", 1))]) as fake, tempfile.NamedTemporaryFile("w", suffix=".script") as script:
        script.write("size 100 20\nwait web\nkey / w e b Enter l\nwait first\nwait short run\ndump body\n")
        script.flush()
        run = subprocess.Popen([BERTH, "-H", fake.url, "--script", script.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for(lambda: any("/logs" in r for r in fake.requests()), "the log is not opened")
        fake.door("log", {"name": "web", "lines": [line("short run", 10)], "started": T + 9, "state": "exited"})
        fake.door("emit", {"name": "web", "action": "start"})
        out, err = run.communicate(timeout=60)
        assert run.returncode == 0, (out, err)
        assert [out.decode().count(x) for x in ("first", "short run")] == [1, 1], out


@case_of_patience
def the_console_reads_a_removed_one_to_its_end():
    with Fake(containers=[box(line("one", 1))]) as fake, tempfile.NamedTemporaryFile("w", suffix=".script") as script:
        script.write("size 100 20\nwait web\nkey / w e b Enter l\nwait one\nwait two\nwait web was removed\n")
        script.flush()
        run = subprocess.Popen([BERTH, "-H", fake.url, "--script", script.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for(lambda: any("/logs" in r for r in fake.requests()), "the log is not opened")
        fake.door("emit", {"name": "web", "action": "destroy"})
        time.sleep(0.3)  # meanwhile the console hears it: it waits 5 s for the last lines, which a command of berth's may take
        fake.door("log", {"name": "web", "lines": [line("two", 2)], "state": "exited"})
        out, err = run.communicate(timeout=60)
        assert run.returncode == 0, (out, err)


@case_of_patience
def bad_answers_end_it():
    with Fake(containers=[box(line("one", 1))], faults=[{"match": "/web/json|/containers/[0-9a-f]{64}/json", "do": "garble"}]) as fake:
        berth("logs", "web", fake=fake).fails_with(1, "invalid")
    with Fake(containers=[box(line("one", 1))], faults=[{"match": "/logs", "do": "hang"}]) as fake:
        berth("logs", "web", fake=fake).fails_with(1, "does not answer", "web")


@case_of_patience
def a_followed_one_that_is_not_answered_ends():
    with Fake(containers=[box(line("one", 1))], faults=[{"match": "/logs", "do": "hang"}]) as fake:
        berth("logs", "-f", "web", fake=fake).fails_with(1, "does not answer", "web")


os.environ["NO_COLOR"] = "1"
main()
