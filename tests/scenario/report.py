#!/usr/bin/python3
"""report.py - the page of `berth report`: whole, inert whatever was recorded, and true about the log."""
import fcntl
import html.parser
import os
import re
import shutil
import struct
import tempfile

from scenario import Fake, berth, case, main, wait_for

VOID = {"meta", "br", "link", "img", "input"}
OPTIONAL_END = {"td", "th", "tr", "html", "head", "body"}
# What a name, a path, an argument may hold.
HOSTILE = ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "</title><svg onload=alert(1)>", "'; --", "{{what}}", "@@page-end",
           "\x1b]0;x\x07", "‮evil", "a&amp;b", "<style>*{display:none}</style>", "x--><iframe src=http://x>"]


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.text, self.metas, self.attributes = [], [], [], [], []
        self.feed(text)
        self.close()
        assert [t for t in self.open if t not in OPTIONAL_END] == [], self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag == "meta":
            self.metas.append(dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        while self.open and self.open[-1] != tag and self.open[-1] in OPTIONAL_END:
            self.open.pop()
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


KNOWN = {"html", "meta", "title", "style", "main", "h1", "h2", "h3", "div", "b", "span", "p", "table", "tr", "td", "th", "svg", "line",
         "text", "rect", "circle", "details", "summary", "code", "pre"}


def inert(text):
    """Parses, and holds nothing that a browser would fetch or run."""
    page = Page(text)
    assert set(page.tags) <= KNOWN, set(page.tags) - KNOWN
    csp = [m["content"] for m in page.metas if m.get("http-equiv") == "Content-Security-Policy"]
    assert csp == ["default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"], csp
    assert text.index("Content-Security-Policy") < text.index("<style>")
    for tag, name, value in page.attributes:
        assert not name.startswith("on") and name not in ("src", "href", "srcset", "action", "data", "xlink:href"), (tag, name, value)
    assert page.tags.count("style") == 2 and "url(" not in text and "@import" not in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f‪-‮]", text), "a control character"
    return page


class State:
    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="r")
        self.env = {"XDG_STATE_HOME": self.dir}
        return self

    def __exit__(self, *_):
        # What signs the log a moment later may still be at it.
        shutil.rmtree(self.dir, ignore_errors=True)

    def berth(self, *words):
        return berth(*words, env=self.env)

    def report(self, *words):
        done = self.berth("report", *words)
        assert done.code == 0, done.err
        return done.out.decode("utf-8")


@case
def an_empty_time_is_said():
    with State() as s:
        s.berth("report").fails_with(1, "no audit log")
        assert s.berth("files", "delete", "nowhere").code == 1
        page = inert(s.report("--since", "2000-01-01", "--until", "2000-01-02"))
        text = "".join(page.text)
        assert "Nothing was recorded in this time." in text
        # The title says of which zone its time is, so that --since takes it.
        since = re.search(r"all sessions since (\S+)", text).group(1)
        assert since.endswith("Z") and f"all sessions since {since}" in s.report("--since", since, "--until", "2000-01-02Z")


@case
def hostile_names_are_text():
    with State() as s:
        os.mkdir(f"{s.dir}/w")
        for i, name in enumerate(HOSTILE):
            s.berth("files", "write", "--root", f"{s.dir}/w", name.replace("/", "_") + str(i))
        text = s.report()
        page = inert(text)
        words = "".join(page.text)
        assert words.count("file.write") == len(HOSTILE), words
        for name in HOSTILE:
            shown = name.replace("/", "_").replace("\x1b", "^[").replace("\x07", "^G").replace("‮", "�")
            assert shown in words, (shown, words)
        assert "Files changed" in words and "verified" in words


@case
def what_is_not_signed_yet_is_said():
    with State() as s:
        os.mkdir(f"{s.dir}/w")
        s.berth("files", "write", "--root", f"{s.dir}/w", "f")
        wait_for(lambda: b"not signed yet" not in s.berth("audit", "verify").out, "the log is not signed")
        # Who waits with this lock will sign: nobody else does.
        with open(f"{s.dir}/berth/audit/key", "rb") as key:
            fcntl.fcntl(key, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_RDLCK, 0, 0, 0, 0))
            s.berth("files", "scan", f"{s.dir}/w")
            said = "the last 2 are not signed yet: a change there may go unnoticed."
            verdict = s.berth("audit", "verify")
            assert verdict.code == 0 and said.encode() in verdict.out, verdict.out
            assert said in s.report()


@case
def a_damaged_log_is_not_called_verified():
    with State() as s:
        os.mkdir(f"{s.dir}/w")
        for i in range(3):
            s.berth("files", "write", "--root", f"{s.dir}/w", f"f{i}")
        assert "class=\"good\">verified" in s.report()
        # What signs the log runs on for a moment; before that a damaged end is one that a crash left.
        wait_for(lambda: b"not signed yet" not in s.berth("audit", "verify").out, "the log is not signed")
        log = f"{s.dir}/berth/audit"
        name = next(n for n in sorted(os.listdir(log)) if n.endswith(".jsonl"))
        with open(f"{log}/{name}", "r+b") as f:
            was = f.read()
            f.seek(0)
            f.write(was.replace(b'"f1"', b'"f9"', 2))
        text = s.report()
        inert(text)
        assert "class=\"good\">verified" not in text and "class=\"bad\">" in text, text[:6000]


@case
def what_agents_used():
    """From what consoles kept: the row of an agent that the log names."""
    with State() as s:
        with open(f"{s.dir}/script", "w", encoding="utf-8") as f:
            # Ten samples a second: what is seen ten times has a row.  An act names the agent in the log.
            f.write("size 100 30\nkey + + + + + + + +\nkey 2\nwait one\nkey H\nwait highest second\nkey Esc\nwait one\n"
                    "key S\nwait Stop 1 container\nadvance 500\nkey y\nwait exited\n")
        s.berth("files", "delete", "nowhere")
        assert "Resources" not in "".join(inert(s.report()).text)
        with Fake(containers=[{"name": "one", "cpu": 40, "memory": 64 << 20, "labels": {"berth.agent": "a", "berth.role": "agent"}}]) as fake:
            done = berth("--script", f"{s.dir}/script", fake=fake, env=s.env)
            assert done.code == 0, done.err
        page = inert(s.report())
        words = "".join(page.text)
        assert "Resources" in words and "memory, highest 64M" in words, words
        assert page.tags.count("rect") >= 2, page.tags.count("rect")
        with open(f"{s.dir}/berth/history.ring", "r+b") as f:
            f.write(b"something else")
        words = "".join(inert(s.report()).text)
        assert "Resources" in words and "history.ring" in words and "memory, highest" not in words, words


@case
def where_it_goes():
    with State() as s:
        s.berth("files", "delete", "nowhere")
        done = s.berth("report", "-o", f"{s.dir}/page.html")
        assert done.code == 0 and done.out == b"", done.err
        assert os.stat(f"{s.dir}/page.html").st_mode & 0o7777 == 0o600
        with open(f"{s.dir}/page.html", encoding="utf-8") as f:
            inert(f.read())
        s.berth("report", "-o", f"{s.dir}/no/page.html").fails_with(1, "cannot write")
        s.berth("report", "--since", "yesterday").fails_with(2, "valid time")
        s.berth("report", "--since", "1h", "--until", "2h").fails_with(2, "before")
        s.berth("report", "--session", "nothing").fails_with(1, "no record of a session")
        assert not os.path.exists(f"{s.dir}/no")


main()
