#!/usr/bin/env python3
# exit_codes.py - one table of exit codes, kept by every command of the table: 0 done, 1 failed, 2 wrong usage or
# configuration, 3 no engine reached, 4 refused by policy; 125 where the command's own codes are passed on.
#
# Every command that help lists must stand here, with what it is asked when no engine answers, when nothing may be
# changed, and when what it names is not there.  None: the question does not arise.
import os
import re
import subprocess
import sys

from scenario import Fake, made

berth, source = os.environ["BERTH"], os.environ["SRC"]
os.chdir(os.environ["TMPDIR"])
failed = 0


def expect(name, good, why=""):
    global failed
    print("ok" if good else "not ok", name)
    if not good:
        failed = 1
        print("# " + str(why).replace("\n", "\n# "))


def run(*words, options=()):
    done = subprocess.run([berth, *options, *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


def write(name, text):
    with open(name, "w") as f:
        f.write(text)
    os.chmod(name, 0o644)


os.mkdir("work")
os.mkdir("root")
os.mkdir("bare")
write("root/file", "text\n")
write("root/other", "found\n")
write("team.yaml", "agents:\n  a: {workspace: ./work, image: 'box:1'}\ncustom_tools:\n  t: {image: 'box:1', script: 'true'}\n")
write("image.tar", "x" * 10240)
write("bare/Dockerfile", "FROM scratch\n")
write("plan.json", '{"schema": "berth.clean_plan/1"}')
os.environ["DOCKER_HOST"] = f"unix://{os.getcwd()}/no.sock"
assert run("workspace", "create", "task", "one")[0] == 0
assert run("workspace", "checkpoint", "one", "cp")[0] == 0

# words, and the codes they end with: no engine answers; --read-only; what it names is not there.
TABLE = {
    "ps": (["ps"], 3, 0, None),
    "stats": (["stats", "--no-stream"], 3, 0, None),
    "logs": (["logs", "x"], 3, 0, (["logs", "nobody"], 1)),
    "inspect": (["inspect", "x"], 3, 0, (["inspect", "nobody"], 1)),
    "top": (["top", "x"], 3, 0, (["top", "nobody"], 1)),
    "events": (["events"], 3, None, None),
    "history": (["history"], 0, 0, (["history", "nobody"], 1)),
    "start": (["start", "x"], 3, 4, (["start", "nobody"], 1)),
    "stop": (["stop", "x"], 3, 4, (["stop", "nobody"], 1)),
    "restart": (["restart", "x"], 3, 4, (["restart", "nobody"], 1)),
    "kill": (["kill", "-s", "TERM", "x"], 3, 4, (["kill", "nobody"], 1)),
    "rm": (["rm", "--yes", "x"], 3, 4, (["rm", "--yes", "nobody"], 1)),
    "limit": (["limit", "--pids", "9", "x"], 3, 4, (["limit", "--pids", "9", "nobody"], 1)),
    "cp": (["cp", "root/file", "x:/file"], 3, 4, (["cp", "root/file", "nobody:/file"], 1)),
    "undo": (["undo"], 0, 0, (["undo", "nobody"], 1)),
    "doctor": (["doctor"], 1, None, None),
    "check": (["check"], 2, None, (["-c", "nowhere.yaml", "check"], 3)),  # codes of monitoring plug-ins
    "audit list": (["audit", "list"], 0, 0, None),
    "audit verify": (["audit", "verify"], 0, 0, (["audit", "verify", "nowhere"], 1)),
    "audit export": (["audit", "export", "bundle"], 0, None, None),
    "journal list": (["journal", "list", "x"], 1, 1, None),
    "journal cast": (["journal", "cast", "x"], 1, 1, (["journal", "cast", "x", "first"], 2)),
    "report": (["report", "-o", "page.html"], 0, 0, (["report", "--session", "nothing"], 1)),
    "audit head": (["audit", "head"], 0, 0, None),
    "up": (["up", "team.yaml"], 3, 4, (["up", "nowhere.yaml"], 2)),
    "down": (["down", "team.yaml"], 3, None, (["down", "nowhere.yaml"], 2)),
    "clean": (["clean", "--yes"], 3, 4, (["clean", "--plan", "nowhere.json"], 2)),
    "exec": (["exec", "x", "--", "true"], 125, 125, None),
    "tool list": (["-c", "team.yaml", "tool", "list"], 0, 0, (["-c", "nowhere.yaml", "tool", "list"], 2)),
    "tool run": (["-c", "team.yaml", "tool", "run", "t"], 125, 125, (["-c", "team.yaml", "tool", "run", "nothing"], 125)),
    **{f"{kind} {verb}": row for kind in ("image", "volumes", "networks") for verb, row in {
        "ls": ([kind, "ls"], 3, 0, None),
        "rm": ([kind, "rm", "--yes", "x"], 3, None, ([kind, "rm", "--yes", "nobody"], 1)),
        "prune": ([kind, "prune", "--yes"], 3, 4, None)}.items()},
    "custom": (["custom", "nosuch", "x"], 2, None, (["custom", "nosuch", "x"], 2)),
    "image build": (["image", "build", "./bare"], 3, 4, (["image", "build", "./nowhere"], 1)),
    "image pull": (["image", "pull", "x"], 3, 4, None),
    "image import": (["image", "import", "image.tar", "x"], 3, 4, (["image", "import", "nowhere.tar", "x"], 1)),
    "image untag": (["image", "untag", "x"], 3, 4, None),
    "engine start": (["engine", "start"], None, 4, None),
    "engine stop": (["engine", "stop"], 0, 4, None),
    "engine status": (["engine", "status"], 1, 1, None),
    "config check": (["config", "check", "team.yaml"], 0, 0, (["config", "check", "nowhere.yaml"], 2)),
    "files read": (["files", "read", "root/file"], 0, 0, (["files", "read", "nowhere"], 1)),
    "files write": (["files", "write", "root/written"], 0, 4, (["files", "write", "nowhere/x"], 1)),
    "files scan": (["files", "scan", "root"], 0, 0, (["files", "scan", "nowhere"], 2)),
    "files search": (["files", "search", "found", "root"], 0, 0, (["files", "search", "x", "nowhere"], 2)),
    "files transform": (["files", "transform", "--apply", "text", "words", "root"], 0, 4,
                        (["files", "transform", "a", "b", "nowhere"], 2)),
    "files copy": (["files", "copy", "root/file", "root/copy"], 0, 4, (["files", "copy", "nowhere", "x"], 1)),
    "files move": (["files", "move", "root/copy", "root/moved"], 0, 4, (["files", "move", "nowhere", "x"], 1)),
    "files delete": (["files", "delete", "root/moved"], 0, 4, (["files", "delete", "nowhere"], 1)),
    "bench list": (["bench", "list"], 0, 0, None),
    "bench check": (None, None, None, (["bench", "check", "nowhere.yaml"], 2)),
    "bench run": (None, None, None, (["bench", "run", "nothing"], 2)),
    "bench compare": (None, None, None, (["bench", "compare", "v9.9.9"], 2)),
    "bench report": (None, None, None, (["bench", "report", "v9.9.9"], 2)),
    "bench trend": (None, None, None, (["bench", "trend", "nothing"], 2)),
    "bench export": (["bench", "export", "history.jsonl"], 0, None, None),
    "bench import": (["bench", "import", "history.jsonl"], 0, None, (["bench", "import", "nowhere.jsonl"], 1)),
    "pause": (["pause", "x"], 3, 4, (["pause", "nobody"], 1)),
    "unpause": (["unpause", "x"], 3, 4, (["unpause", "nobody"], 1)),
    "net list": (["net", "list", "x"], 1, 1, None),
    "net allow": (["net", "allow", "x", "a.org"], 1, 1, (["net", "allow", "x", "*"], 1)),
    "net deny": (["net", "deny", "x", "a.org"], 1, 1, None),
    "net forget": (["net", "forget", "x", "a.org"], 1, 1, None),
    "net ask": (["net", "ask", "x", "a.org", "--answer", "once"], 1, 1, (["net", "ask", "x", "a.org"], 2)),
    "net test": (["net", "test", "x", "a.org"], 1, 1, None),
    "net log": (["net", "log", "x"], 1, 1, (["net", "log", "-n", "0", "x"], 2)),
    "net usage": (["net", "usage", "x"], 1, 1, None),
    "agent list": (["agent", "list"], 3, 0, None),
    "host list": (["host", "list"], 0, 0, None),
    "host forget": (["host", "forget", "x"], 1, 1, (["host", "forget", "x"], 1)),
    "port list": (["port", "list"], 0, 0, (["port", "list", "x"], 1)),
    "port open": (["port", "open", "x", "3000"], 1, 1, (["port", "open", "x", "0"], 2)),
    "port close": (["port", "close", "x", "3000"], 1, 1, (["port", "close", "x", "3000:80"], 2)),
    "terminal start": (["terminal", "start", "x"], 1, 1, (["terminal", "start", "x", "--size", "0x0"], 2)),
    "terminal list": (["terminal", "list"], 0, 0, (["terminal", "list", "x"], 1)),
    "terminal screen": (["terminal", "screen", "x"], 1, 1, None),
    "terminal send": (["terminal", "send", "x", "text"], 1, 1, (["terminal", "send", "x", "--key", "F99"], 2)),
    "terminal attach": (["terminal", "attach", "x"], 2, 2, None),
    "terminal stop": (["terminal", "stop", "x"], 1, 1, None),
    "mcp": (None, None, None, (["-c", "nowhere.yaml", "mcp"], 2)),
    "completion": (["completion", "bash"], 0, 0, (["completion", "csh"], 2)),
    "complete": (["complete", "--", "p"], 0, 0, None),
    "names": (["names", "themes"], 0, 0, (["names", "people"], 2)),
    "help": (["help", "ps"], 0, 0, (["help", "nothing"], 2)),
}
# Of workspaces: words, read-only, and the code where there is no such one.
for verb, words, changes in (
        ("create", ["task", "one-{}"], True), ("list", [], False), ("mark", ["{}", "open"], True), ("show", ["{}"], False),
        ("debug", ["{}"], False), ("usage", [], False), ("fork", ["{}", "1"], True), ("checkpoint", ["{}"], True), ("checkpoints", ["{}"], False),
        ("diff", ["{}", "one@cp"], False), ("overlap", ["{}", "one"], False), ("apply", ["{}", "."], True), ("hand-over", ["{}", "one-1", "files"], True),
        ("archives", [], False), ("results", [], False), ("shared", [], False), ("put-result", ["{}", "name", "text"], True),
        ("drop-result", ["{}", "name"], True), ("share", ["{}", "files"], True), ("limit", ["{}"], False), ("thaw", ["{}"], True),
        ("archive", ["{}"], True), ("remove", ["{}"], True), ("unarchive", ["{}"], True), ("clean", [], True), ("keep", [], False),
        ("restore", ["{}", "cp"], True), ("drop", ["{}", "cp"], True), ("verify", ["{}"], False)):
    name = [w.format("one") for w in words]
    TABLE[f"workspace {verb}"] = (None, None, None, None) if verb in ("apply", "overlap", "hand-over", "put-result", "drop-result", "share", "limit", "thaw", "archive", "remove", "unarchive", "clean", "keep") else (
        ["workspace", verb, *name], 0, 4 if changes else 0,
        (["workspace", verb, *[w.format("nowhere") for w in words]], 1) if "{}" in words else None)

groups = {"audit", "journal", "tool", "image", "volumes", "networks", "engine", "config", "files", "workspace", "bench", "net", "port", "terminal", "host", "agent"}
lines = [line.split() for line in run("help")[1].split("Commands:")[1].split("Options:")[0].splitlines() if re.match("  [a-z]", line)]
listed = {" ".join(words[:1 + (words[0] in groups)]) for words in lines}
for name in sorted(listed - set(TABLE)):
    expect(f"{name} stands in the table", False, "add it")
for name in sorted(set(TABLE) - listed):
    expect(f"{name} is a command", False, sorted(listed))


def case(name, words, want, options=()):
    code, text = run(*words, options=options)
    sentence = code == 0 or (text.strip() and "Traceback" not in text)
    expect(name, code == want and sentence, f"exit {code} instead of {want}: berth {' '.join([*options, *words])}\n{text}")


for name, (words, none, readonly, missing) in TABLE.items():
    unknown = 3 if name == "check" else 2
    case(f"{name}: an option that nobody knows is {unknown}", [*name.split(), "--no-such-option"], unknown)
    if words and none is not None:
        case(f"{name}: without an engine", words, none)
with Fake(containers=[{"name": "x", "labels": made("x", "a")}]) as fake:
    os.environ["DOCKER_HOST"] = fake.url
    run("workspace", "checkpoint", "one", "cp")  # dropped above
    for name, (words, none, readonly, missing) in TABLE.items():
        if words and readonly is not None:
            case(f"{name}: --read-only", words, readonly, ["--read-only"])
        if missing:
            case(f"{name}: what is not there", *missing)
    acts = [r for r in fake.requests() if r.startswith(("POST", "DELETE")) and "_fake" not in r]
    expect("nothing was changed", not acts, acts)

sys.exit(failed)
