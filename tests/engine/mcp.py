#!/usr/bin/env python3
"""mcp.py - `berth mcp` with a container: commands, what runs beside, cancelling, tools, and an end that leaves nothing."""
import hashlib
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from mcp_client import BERTH, PATIENCE, Client, case, main  # noqa: E402

os.chdir(os.environ["TMPDIR"])
os.environ["DOCKER_HOST"] = os.environ["BERTH_TEST_ENGINE"]
ID = f"mcp{os.getpid()}"
WS = os.path.join(os.getcwd(), "ws")
os.mkdir(WS)
os.chmod(WS, 0o755)
os.chown(WS, 1000, 1000)
with open("team.yaml", "w", encoding="utf-8") as f:
    f.write(f"""agents:
  {ID}: {{image: 'box:1', workspace: {WS}, memory: 64m, pids: 256}}
custom_tools:
  {ID}t: {{type: docker, image: 'box:1', script: 'echo "got $1"; exit 3'}}
  {ID}s: {{type: docker, image: 'box:1', script: 'sleep 7507'}}
""")
os.chmod("team.yaml", 0o644)


def running(mark):
    """How many processes of this host have `mark` as a word."""
    n = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                n += mark.encode() in f.read().split(b"\0")
        except OSError:
            pass
    return n


def wait_until(what):
    until = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)


@case("the agent is up")
def _():
    subprocess.run([BERTH, "up", "team.yaml"], check=True, stdout=subprocess.DEVNULL)


@case("a command, and how it ends")
def _():
    with Client("team.yaml") as c:
        got = c.call("execute_command", command="echo out; echo err >&2; pwd; exit 3")
        assert got["stdout"] == f"out\n{WS}\n" and got["stderr"] == "err\n", got
        assert got["exit_code"] == 3 and got["ended"] == "exit" and not got["success"], got
        assert c.call("execute_command", command="cat", argv=None, stdin=None)["stdout"] == ""
        got = c.call("execute_command", argv=["sh", "-c", 'echo "$A$0"; cat', "x y"], env={"A": "b"}, stdin="in")
        assert got["stdout"] == "bx y\nin" and got["success"], got
        told = subprocess.run([BERTH, "audit", "list", "--json", "--act", "container.exec"], capture_output=True, text=True, check=True).stdout
        assert f"2 bytes, SHA-256 {hashlib.sha256(b'in').hexdigest()}" in told, told
        got = c.call("execute_command", command="id -u; touch made", work_dir="/tmp")
        assert got["stdout"] == "1000\n", got
        got = c.call("execute_command", command="sleep 100", timeout=1)
        assert got["ended"] == "timeout" and got["exit_code"] == 124, got
        c.fails("execute_command", command="rm -rf /")
        for arguments in ({}, {"command": "ls", "argv": ["ls"]}, {"argv": []}, {"command": 1}, {"command": "ls", "env": {"A": 1}},
                          {"command": "ls\0"}, {"command": "ls", "cwd": "/"}):
            c.fails("execute_command", **arguments)
        got = c.call("execute_command", command="ls", work_dir="/none/here")
        assert got["exit_code"] == 125 and "/none/here" in got["error"], got
        got = c.call("execute_command", argv=["/none"])
        assert got["exit_code"] == 127, got


@case("files and commands see the same, and each other's user")
def _():
    with Client("team.yaml") as c:
        c.call("write_file", path="both.txt", content="from the host\n")
        got = c.call("execute_command", command=f"cat {WS}/both.txt && echo inside >> both.txt")
        assert got["stdout"] == "from the host\n" and got["success"], got
        assert c.call("read_text_file", path="both.txt") == "from the host\ninside\n"


@case("a long output is read in parts")
def _():
    with Client("team.yaml") as c:
        got = c.call("execute_command", command="seq 1 20000", max_output=100)
        assert got["truncated"] and len(got["stdout"]) == 100, got
        text, offset = "", 0
        while offset < got["stdout_bytes"]:
            part = c.call("read_command", command_id=got["command_id"], offset=offset)
            assert part["next_offset"] > offset, part
            text, offset = text + part["data"], part["next_offset"]
        assert text == "".join(f"{i}\n" for i in range(1, 20001))


@case("of a very long output the beginning and the end are kept")
def _():
    with Client("team.yaml") as c:
        got = c.call("execute_command", command="seq 1 400000; echo the end >&2; exit 3")
        whole = "".join(f"{i}\n" for i in range(1, 400001))
        assert got["truncated"] and got["stdout_bytes"] == len(whole) and got["stderr"] == "the end\n", got
        assert whole.startswith(got["stdout"]) and got["stdout"], got["stdout"][-100:]
        kept, offset, skipped = 0, 0, 0
        while offset < got["stdout_bytes"]:
            part = c.call("read_command", command_id=got["command_id"], offset=offset)
            at = part["next_offset"] - len(part["data"])
            assert part["data"] and at == offset + part["skipped_bytes"] and whole[at:part["next_offset"]] == part["data"], part
            kept, offset, skipped = kept + len(part["data"]), part["next_offset"], skipped + part["skipped_bytes"]
        assert skipped == got["dropped_bytes"] == len(whole) - kept and kept <= 1 << 20, (skipped, kept, got["dropped_bytes"])
        part = c.call("read_command", command_id=got["command_id"], offset=len(whole) - 7)
        assert part["data"] == "400000\n" and not part["skipped_bytes"], part


@case("a character stays whole, wherever an answer ends and however slowly it comes")
def _():
    text = "a\u00e4\u20ac\U0001f389" * 5
    escaped = "".join(f"\\{byte:03o}" for byte in text.encode())
    with Client("team.yaml") as c:
        for limit in range(1, 12):
            got = c.call("execute_command", command=f"printf '{escaped}'", max_output=limit)
            assert text.startswith(got["stdout"]), got
            seen, offset = "", 0
            while offset < got["stdout_bytes"]:
                part = c.call("read_command", command_id=got["command_id"], offset=offset, limit=limit)
                seen, offset = seen + part["data"], part["next_offset"]
            assert seen == text, (limit, seen)
            part = c.call("read_command", command_id=got["command_id"], offset=limit, limit=100)
            assert text.endswith(part["data"]) and "\ufffd" not in part["data"], part
        slow = "; sleep 0.2; ".join(f"printf '\\{byte:03o}'" for byte in "\u20ac".encode())
        number = c.call("start_command", command=slow + "; printf '\\342'")["command_id"]
        seen, offset, state = "", 0, "running"
        while state == "running":
            part = c.call("read_command", command_id=number, offset=offset, wait=PATIENCE)
            seen, offset, state = seen + part["data"], part["next_offset"], part["state"]
        assert seen == "\u20ac\ufffd", seen


@case("commands beside: started, read, written to, ended")
def _():
    with Client("team.yaml") as c:
        a = c.call("start_command", command="echo begun; while read x; do echo got $x; done; echo over")["command_id"]
        b = c.call("start_command", command="sleep 7107")["command_id"]
        assert c.call("read_command", command_id=a, wait=PATIENCE)["data"] == "begun\n"
        c.call("write_command", command_id=a, input="one\n")
        told = subprocess.run([BERTH, "audit", "list", "--json", "--act", "container.exec"], capture_output=True, text=True, check=True).stdout
        assert f"4 bytes, SHA-256 {hashlib.sha256(b'one' + bytes([10])).hexdigest()}" in told, told
        assert c.call("read_command", command_id=a, offset=6, wait=PATIENCE)["data"] == "got one\n"
        c.call("write_command", command_id=a, input="two\n", close=True)
        wait_until(lambda: c.call("read_command", command_id=a)["state"] == "ended")
        assert c.call("read_command", command_id=a)["data"] == "begun\ngot one\ngot two\nover\n"
        assert "no input" in c.fails("write_command", command_id=a, input="x")
        assert [x["state"] for x in c.call("list_commands")["commands"]] == ["ended", "running"]
        assert c.call("kill_command", command_id=b)["state"] == "ended"
        assert not running("7107")
        assert "no command" in c.fails("read_command", command_id=99)


@case("a command that others read, wait for and end while it ends")
def _():
    with Client("team.yaml") as c:
        for _ in range(20):
            n = c.begin("tools/call", name="execute_command", arguments={"command": "echo a; sleep 0.3; echo b"})
            running_now = []
            wait_until(lambda: running_now.extend(x for x in c.call("list_commands")["commands"] if x["state"] == "running") or running_now)
            number = running_now[-1]["command_id"]
            others = [c.begin("tools/call", name="read_command", arguments={"command_id": number, "offset": 1000, "wait": PATIENCE}) for _ in range(4)]
            others += [c.begin("tools/call", name="kill_command", arguments={"command_id": number}) for _ in range(2)]
            assert c.wait(n)["result"]
            for other in others:
                got = c.wait(other)["result"]
                assert got.get("isError") or got["structuredContent"]["command_id"] == number, got


@case("a command that a call waits for is ended by another, at once, and that call is answered")
def _():
    with Client("team.yaml") as c:
        n = c.begin("tools/call", name="execute_command", arguments={"command": "echo begun; sleep 7157", "timeout": 600})
        wait_until(lambda: running("7157"))
        [row] = [x for x in c.call("list_commands")["commands"] if x["state"] == "running"]
        assert "success" not in row and "exit_code" not in row, row
        ended = c.call("kill_command", command_id=row["command_id"])
        assert ended["state"] == "ended" and ended["ended"] == "cancelled" and ended["success"] is False, ended
        got = c.wait(n)["result"]
        assert not got.get("isError") and got["structuredContent"]["stdout"] == "begun\n" and got["structuredContent"]["ended"] == "cancelled", got
        assert not running("7157")


@case("calls that wait keep no others waiting, are bounded, and all are answered")
def _():
    with Client("team.yaml") as c:
        a = c.call("start_command", command="sleep 7167")["command_id"]
        wait = {"command_id": a, "wait": 600}
        reads = [c.begin("tools/call", name="read_command", arguments=wait) for _ in range(40)]
        c.call("write_file", path="short", content="x")
        assert c.call("read_command", command_id=a)["state"] == "running"
        assert c.call("execute_command", command="echo out")["stdout"] == "out\n"
        assert not set(reads) & set(c.answers)
        reads += [c.begin("tools/call", name="read_command", arguments=wait) for _ in range(56)]
        assert "96 calls are already waiting" in c.fails("read_command", **wait)
        assert not set(reads) & set(c.answers)
        runs = [c.begin("tools/call", name="execute_command", arguments={"command": "sleep 7177", "timeout": 600}) for _ in range(40)]
        wait_until(lambda: running("7177") >= 32)
        c.call("write_file", path="short", content="y")
        assert c.call("write_command", command_id=a, input="x\n")["written"] == 2
        assert c.call("kill_command", command_id=a)["state"] == "ended"
        for n in reads:
            assert c.wait(n)["result"]["structuredContent"]["state"] == "ended"
        while set(runs) - set(c.answers):
            for x in c.call("list_commands")["commands"]:
                if x["state"] == "running":
                    c.call("kill_command", command_id=x["command_id"])
        assert all(c.wait(n)["result"]["structuredContent"]["ended"] == "cancelled" for n in runs)
        assert not running("7177")


@case("what is cancelled ends, and is not answered; progress meanwhile")
def _():
    with Client("team.yaml") as c:
        n = c.begin("tools/call", {"progressToken": "p"}, name="execute_command", arguments={"command": "sleep 7207", "timeout": 0})
        with c.news:
            assert c.news.wait_for(lambda: len(c.notes) > 1, PATIENCE)
        told = [x["params"] for x in c.notes]
        assert all(x["progressToken"] == "p" for x in told), told
        assert all(a["progress"] < b["progress"] for a, b in zip(told, told[1:])), told
        wait_until(lambda: running("7207"))
        assert c.ask("tools/call", name="list_commands")["result"]
        c.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": n, "reason": "test"}})
        wait_until(lambda: not running("7207"))
        assert c.ask("ping")["result"] == {}
        assert n not in c.answers


@case("the console's table of agents says which call an agent waits for, and what it asked so far")
def _():
    with open("agents.script", "w", encoding="utf-8") as f:
        f.write("size 220 30\nkey 1\nwait execute_command  \ndump\n")
    with Client("team.yaml") as c:
        c.fails("read_text_file", path="/etc/passwd")
        n = c.begin("tools/call", name="execute_command", arguments={"command": "sleep 7257", "timeout": 600})
        wait_until(lambda: running("7257"))
        got = subprocess.run([BERTH, "-c", "team.yaml", "--script", "agents.script"], capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert got.returncode == 0, (got.stdout, got.stderr)
        head = [line for line in got.stdout.splitlines() if "CALLS/MIN" in line][0]
        row = [line for line in got.stdout.splitlines() if "execute_command" in line][0]
        assert "sleep 7257" in row and row[head.index("ERRORS"):][:6].strip() == "1", (head, row)
        c.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": n}})
        wait_until(lambda: not running("7257"))


@case("a client that is killed leaves nothing behind")
def _():
    c = Client("team.yaml")
    c.call("start_command", command="sleep 7307")
    c.begin("tools/call", name="execute_command", arguments={"command": "sleep 7307", "timeout": 600})
    wait_until(lambda: running("7307") >= 2)
    c.server.terminate()
    assert c.server.wait(PATIENCE) == 0
    wait_until(lambda: not running("7307"))
    c = Client("team.yaml")
    c.call("start_command", command="sleep 7407")
    wait_until(lambda: running("7407"))
    c.server.kill()
    c.server.wait(PATIENCE)
    wait_until(lambda: not running("7407"))


@case("many commands at once")
def _():
    with Client("team.yaml") as c:
        numbers = [c.begin("tools/call", name="execute_command", arguments={"command": f"echo {i}"}) for i in range(100)]
        for i, n in enumerate(numbers):
            got = c.wait(n)["result"]
            assert got["structuredContent"]["stdout"] == f"{i}\n", (i, got)


@case("a tool of the team file")
def _():
    with Client("team.yaml", era="new") as c:
        assert [t["name"] for t in c.call("list_tools")["tools"]] == [f"{ID}t", f"{ID}s"]
        got = c.call("run_tool", tool=f"{ID}t", args=["word"])
        assert got["stdout"] == "got word\n" and got["exit_code"] == 3, got
        assert "Unknown tool" in c.fails("run_tool", tool="none")


@case("a tool ends with the server that was killed, and that is recorded")
def _():
    c = Client("team.yaml")
    c.begin("tools/call", name="run_tool", arguments={"tool": f"{ID}s"})
    wait_until(lambda: running("7507"))
    c.server.kill()
    c.server.wait(PATIENCE)
    wait_until(lambda: not running("7507"))

    def told():
        out = subprocess.run([BERTH, "audit", "list", "--json", "--act", "tool.run", "--agent", ID], capture_output=True, text=True, check=True).stdout
        records = [json.loads(line) for line in out.splitlines() if f"{ID}s" in line]
        return [r for r in records if r.get("phase") == "outcome"]
    wait_until(told)


@case("limits: asked, enforced, used; resources of an agent that is up; a long call becomes a task")
def _():
    with Client("team.yaml", era="new") as c:
        got = c.call("limits")
        limits = {x["what"]: x for x in got["limits"]}
        assert got["up"] and limits["memory_bytes"]["asked"] == limits["memory_bytes"]["enforced"] == 64 << 20, got
        assert 0 < limits["memory_bytes"]["used"] < 64 << 20 and limits["pids"]["enforced"] == 256, got
        assert 0 < limits["cpus"]["enforced"] <= limits["cpus"]["asked"] and limits["cpus"]["used"] is not None, got
        assert all(limits[x]["enforced"] == limits[x]["asked"] > 0 for x in ("file_bytes", "open_files")), got
        assert 0 < limits["tmp_bytes"]["enforced"] <= 64 << 20 and limits["command_timeout_s"]["enforced"] > 0, got
        assert "network is none" in c.fails("network_log")
        knows = {"io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}}
        task = c.ask("tools/call", knows, name="execute_command", arguments={"command": "sleep 7607", "timeout": 600})["result"]
        assert task["resultType"] == "task", task
        assert c.ask("tasks/get", knows, taskId=task["taskId"])["result"]["status"] == "working"
        assert c.ask("tasks/cancel", knows, taskId=task["taskId"])["result"]["resultType"] == "complete"
        wait_until(lambda: c.ask("tasks/get", knows, taskId=task["taskId"])["result"]["status"] == "cancelled")
        assert not running("7607")
        journal = c.ask("resources/read", uri=f"berth://agent/{ID}/journal")["result"]["contents"][0]["text"]
        assert "7607" in json.loads(journal)["commands"][0]["command"], journal
        n = c.begin("subscriptions/listen", notifications={"resourceSubscriptions": [f"berth://agent/{ID}/journal"]})
        wait_until(lambda: c.call("execute_command", command="true") and
                   [x for x in c.notes if x["method"] == "notifications/resources/updated" and
                    x["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == n])


@case("the commands are in the log and in the journal's words")
def _():
    out = subprocess.run([BERTH, "audit", "list", "--json", "--act", "container.exec", "--agent", ID], capture_output=True,
                         text=True, check=True).stdout
    assert "seq 1 20000" in out and "7207" in out, out[-500:]


@case("it goes down")
def _():
    subprocess.run([BERTH, "down", "team.yaml"], check=True, stdout=subprocess.DEVNULL)
    with Client("team.yaml") as c:
        assert "`berth up`" in c.fails("execute_command", command="ls")


main()
