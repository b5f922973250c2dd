#!/usr/bin/env python3
"""refuse.py - a workspace over its limit whose breach is to refuse: what runs goes on, new commands and writes do not begin."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from mcp_client import BERTH, PATIENCE, Client, case, main  # noqa: E402

os.chdir(os.environ["TMPDIR"])
os.chmod(".", 0o755)
os.environ["DOCKER_HOST"] = os.environ["BERTH_TEST_ENGINE"]
for name in ("data", "state"):
    os.mkdir(name, 0o700)
    os.environ[f"XDG_{name.upper()}_HOME"] = os.path.join(os.getcwd(), name)
ID = f"refuse{os.getpid()}"
WS = os.path.join(os.getcwd(), "data/berth/workspaces/tasks/ref")
with open("team.yaml", "w", encoding="utf-8") as f:
    f.write(f"agents: {{{ID}: {{image: 'box:1', workspace: 'task:ref', memory: 256m, pids: 64}}}}\n")
os.chmod("team.yaml", 0o644)
SENTENCE = "the task ref holds"


def berth(*words, code=0):
    """What it says, both outputs together."""
    got = subprocess.run([BERTH, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert got.returncode == code, (words, got.returncode, got.stdout)
    return got.stdout


def run(script, code=0):
    return berth("exec", ID, "--", "sh", "-c", f"cd {WS}/files; {script}", code=code)


def shown():
    got = subprocess.run([BERTH, "workspace", "show", "ref", "--json"], stdout=subprocess.PIPE, check=True)
    schema = os.path.join(os.environ["SRC"], "tests/data/schema/workspace.json")
    subprocess.run([sys.executable, os.path.join(os.environ["SRC"], "tests/lib/schema.py"), schema], input=got.stdout, check=True)
    return json.loads(got.stdout)["limits"]


def refuses():
    return shown()["refused"] is not None


def wait_until(what):
    until = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)


@case("a limit whose breach is refused")
def _():
    berth("up", "--create", "team.yaml")
    said = berth("workspace", "limit", "ref", "--bytes", "20m", "--on-breach", "refuse")
    assert "a breach is refused" in said, said
    assert run("echo fine") == "fine\n" and shown()["refused"] is None


@case("what runs goes on, and nothing new begins")
def _():
    with subprocess.Popen([BERTH, "exec", ID, "--", "sh", "-c",
                           f"cd {WS}/files; head -c 30000000 /dev/zero >big; until [ -e go ]; do sleep 0.1; done; echo went on"],
                          stdout=subprocess.PIPE, text=True) as p:
        wait_until(refuses)
        said = run("touch new", code=125)
        assert SENTENCE in said and "its limit is 20M" in said and "berth workspace limit" in said and "berth workspace thaw" in said, said
        assert shown()["frozen"] is None
        assert "starts nothing new" in berth("workspace", "show", "ref")
        assert SENTENCE in berth("--host", os.environ["DOCKER_HOST"], "exec", ID, "--", "true", code=125)
        assert not os.path.exists(f"{WS}/files/new")
        with open(f"{WS}/files/go", "w", encoding="utf-8"):
            pass
        assert p.communicate(timeout=PATIENCE)[0] == "went on\n" and p.returncode == 0


@case("a checkpoint of it is made, and it still refuses")
def _():
    berth("workspace", "checkpoint", "ref", "over")
    assert refuses()


@case("files are not written for the agent; it may read, move and delete")
def _():
    with Client("team.yaml") as c:
        for tool, words in (("write_file", {"path": "files/x", "content": "x"}),
                            ("write_multiple_files", {"files": [{"path": "files/x", "content": "x"}]}),
                            ("create_directory", {"path": "files/x"}),
                            ("copy_files", {"source": "files/big", "destination": "files/x"}),
                            ("edit_file", {"path": "prompt.md", "edits": [{"oldText": "a", "newText": "b"}]}),
                            ("transform_files", {"path": "files", "pattern": "a", "replacement": "b", "dry_run": False}),
                            ("execute_command", {"command": "true"})):
            assert SENTENCE in c.fails(tool, **words), tool
        assert not os.path.exists(f"{WS}/files/x")
        c.call("move_file", source="files/big", destination="files/big.2")
        assert c.call("list_directory", path="files")
        c.call("delete_files", paths=["files/big.2"])
        wait_until(lambda: not refuses())
        c.call("write_file", path="files/x", content="x")
        assert run("cat x") == "x"


@case("let go on by a person, and refused again where it grows")
def _():
    run("head -c 30000000 /dev/zero >big")
    wait_until(refuses)
    said = berth("workspace", "thaw", "ref")
    assert "holds more than its limit" in said and "1 container runs again" in said, said
    assert run("rm x; echo again") == "again\n"
    run("head -c 1000000 /dev/zero >more")
    wait_until(refuses)
    berth("workspace", "limit", "ref", "--bytes", "1g")
    wait_until(lambda: not refuses())
    assert run("echo raised") == "raised\n"


@case("from refused to frozen, and back")
def _():
    berth("workspace", "limit", "ref", "--bytes", "20m", "--on-breach", "freeze")
    wait_until(lambda: shown()["frozen"] is not None)
    berth("workspace", "limit", "ref", "--on-breach", "refuse")
    wait_until(lambda: shown()["frozen"] is None and refuses())
    assert SENTENCE in run("true", code=125)


@case("it ends with who keeps the limits, and the next one says it again")
def _():
    with open(os.path.join(os.environ["XDG_RUNTIME_DIR"], "berth/keeper"), encoding="utf-8") as f:
        keeper = int(f.read())
    os.kill(keeper, 9)
    wait_until(lambda: not refuses())
    assert run("echo nobody counts") == "nobody counts\n"
    berth("up", "team.yaml")
    wait_until(refuses)
    berth("down", "team.yaml")
    assert not os.listdir(os.path.join(os.environ["XDG_RUNTIME_DIR"], "berth/refused"))
    assert "action=refuse" in berth("audit", "list")
    berth("audit", "verify")


try:
    main()
finally:
    subprocess.run([BERTH, "down", "--all", "--yes"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    subprocess.run(["docker", "rm", "-f", f"berth-{ID}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    subprocess.run(["docker", "volume", "rm", "-f", f"berth-home-berth-{ID}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
