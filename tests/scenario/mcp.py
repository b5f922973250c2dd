#!/usr/bin/env python3
"""mcp.py - `berth mcp` without an engine: the protocol in both eras, the file tools, and what is refused."""
import base64
import fcntl
import hashlib
import json
import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import mcp_messages  # noqa: E402
from mcp_client import BERTH, PATIENCE, Client, case, main  # noqa: E402
from person import Person  # noqa: E402

os.chdir(os.environ["TMPDIR"])
os.environ["XDG_STATE_HOME"] = os.path.join(os.getcwd(), "state")
WS, DOCS, FIXED, CTX = (os.path.join(os.getcwd(), d) for d in ("ws", "docs", "ws/fixed", "ctx"))
LIMIT = 16 if os.environ["VARIANT"] in ("debug", "release") else 4096  # MiB; sanitizers keep what is freed
USER = 1000 if os.getuid() == 0 else os.getuid()
os.umask(0o022)
for d in (WS, DOCS, FIXED, CTX):
    os.mkdir(d)
    if os.getuid() == 0:
        os.chown(d, 1000, 1000)
with open("team.yaml", "w", encoding="utf-8") as f:
    f.write(f"""agents:
  one:
    image: box:1
    workspace: {WS}
    read_before_delete: true
    context_paths:
      - {{path: {DOCS}}}
      - {{path: {WS}, permission: write, protected_paths: [{FIXED}]}}
      - {{path: {CTX}, permission: write}}
""")


def put(path, text):
    with open(os.path.join(WS, path), "w", encoding="utf-8") as f:
        f.write(text)
    if os.getuid() == 0:
        os.chown(f.name, 1000, 1000)
    return f.name


def get(path):
    with open(os.path.join(WS, path), encoding="utf-8") as f:
        return f.read()


put("a.txt", "hello\nworld\n")
put("fixed/kept", "kept\n")
put("../docs/guide", "a guide\n")
os.symlink("fixed", os.path.join(WS, "way"))
os.symlink("/etc", os.path.join(WS, "out"))


def error_of(c, line):
    """The error that one raw line gets."""
    before = len(c.lines)
    c.say_bytes(line if line.endswith(b"\n") else line + b"\n")
    with c.news:
        assert c.news.wait_for(lambda: len(c.lines) > before, PATIENCE)
        got = json.loads(c.lines[-1])
        c.answers.pop(got["id"], None)
    return got["id"], got["error"]["code"]


@case("what does not fit the protocol's schema is found")
def _():
    info, block = {"name": "berth", "version": "1"}, {"type": "text", "text": ""}
    task = {"taskId": "1", "status": "working", "createdAt": "2026-01-02T03:04:05Z", "lastUpdatedAt": "2026-01-02T03:04:05Z", "ttlMs": 1}
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    tool = {"name": "a", "description": "b", "inputSchema": schema, "outputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": True, "openWorldHint": False}}
    # Each with what fits, and what is put over it that does not; DROP takes a member away.
    DROP = object()
    results = (
        ("initialize", False, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info},
         ({"serverInfo": DROP}, {"capabilities": {"tool": {}}}, {"protocolVersion": "2026-07-28"}, {"instructions": 1})),
        ("ping", False, {}, ({"resultType": "complete"},)),
        ("tools/list", False, {"tools": [tool]},
         ({"tools": [tool | {"name": "a b"}]}, {"tools": [tool | {"inputschema": schema}]}, {"tools": [tool | {"outputSchema": {"type": "array"}}]},
          {"tools": [tool | {"inputSchema": schema | {"required": ["way"]}}]}, {"tools": [tool | {"annotations": {"readonlyHint": True}}]},
          {"tools": [tool | {"inputSchema": schema | {"properties": {"path": {"type": "text"}}}}]}, {"ttlMs": 1})),
        ("tools/list", True, {"tools": [tool], "resultType": "complete", "ttlMs": 1, "cacheScope": "private"},
         ({"ttlMs": DROP}, {"cacheScope": "ours"}, {"resultType": DROP})),
        ("tools/call", False, {"content": [block], "structuredContent": {}},
         ({"content": DROP}, {"content": block}, {"content": [block | {"type": "markdown"}]}, {"content": [{"type": "text"}]}, {"isError": "yes"},
          {"content": [{"type": "image", "data": "=", "mimeType": "image/png"}]}, {"structuredContent": []}, {"resultType": "complete"})),
        ("tools/call", True, {"content": [block], "resultType": "complete"}, ({"resultType": "done"}, {"resultType": DROP}, {"resultType": "task"})),
        ("tools/call", True, task | {"resultType": "task"}, ({"status": "runs"}, {"createdAt": "now"}, {"ttlMs": "1"}, {"taskId": DROP})),
        ("tasks/get", True, task | {"resultType": "complete"}, ({"status": "completed"}, {"result": {"content": [block], "resultType": "complete"}})),
        ("resources/read", False, {"contents": [{"uri": "berth://a", "text": ""}]},
         ({"contents": []}, {"contents": [{"uri": "a", "text": ""}]}, {"contents": [{"uri": "berth://a"}]}, {"contents": [{"uri": "berth://a", "blob": "-"}]})),
        ("server/discover", True, {"supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete", "ttlMs": 1, "cacheScope": "private"},
         ({"supportedVersions": []}, {"_meta": {"serverInfo": info}}, {"capabilities": {"extensions": {"tasks": {}}}})),
        ("server/discover", False, None, ({},)),
        ("tools/list", None, None, ({"tools": {}},)),
    )
    for method, new, fits, others in results:
        message = {"jsonrpc": "2.0", "id": 1, "result": fits}
        assert fits is None or mcp_messages.check(message, method, new) == [], (method, mcp_messages.check(message, method, new))
        for other in others:
            bad = {k: v for k, v in ((fits or {}) | other).items() if v is not DROP}
            assert mcp_messages.check(message | {"result": bad}, method, new), (method, bad)
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "a"}}
    note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 0.5}}
    assert mcp_messages.check(error, None, None) == mcp_messages.check(note, None, None) == []
    for bad, new in ((error | {"id": 1.5}, None), (error | {"jsonrpc": "1.0"}, None), (error | {"result": {}}, None),
                     (error | {"error": {"code": "1", "message": "a"}}, None), (error | {"error": {"code": -32601, "message": ""}}, None),
                     (error | {"error": {"code": -32002, "message": "a", "data": {"uri": "a"}}}, True), (error | {"error": {"code": 1, "message": "a"}}, None),
                     (error | {"error": {"code": -32022, "message": "a"}}, True), (error | {"error": {"code": -32021, "message": "a", "data": {}}}, True),
                     (note | {"id": 1}, None), (note | {"method": "notifications/message"}, None), (note | {"params": {"progress": 1}}, None),
                     (note | {"params": {"progressToken": 1, "progress": "1"}}, None), ([], None), ({"jsonrpc": "2.0", "id": 1}, None)):
        assert mcp_messages.check(bad, None, new), bad


@case("a session: initialize, ping, the list of tools")
def _():
    with Client("team.yaml") as c:
        assert c.ask("ping")["result"] == {}
        names = list(c.tools)
        assert names[0] == "read_text_file" and "read_file" not in names, names
        assert [t["name"] for t in c.ask("tools/list")["result"]["tools"]] == names
        for tool in c.tools.values():
            assert tool["inputSchema"]["type"] == "object" and tool["outputSchema"]["type"] == "object", tool
            assert tool["description"] and "readOnlyHint" in tool["annotations"], tool
        assert c.ask("server/discover")["error"]["code"] == -32601
        assert c.ask("prompts/list")["error"]["code"] == -32601
        assert c.ask("tools/list", cursor="x")["error"]["code"] == -32602


@case("older revisions, and one that is not known")
def _():
    for asked, answer in (("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")):
        with Client("team.yaml", begin=False) as c:
            assert c.ask("initialize", protocolVersion=asked)["result"]["protocolVersion"] == answer
    with Client("team.yaml", begin=False) as c:
        assert c.ask("initialize")["error"]["code"] == -32602
        assert c.ask("tools/list")["error"]["code"] == -32602


@case("requests that stand for themselves")
def _():
    with Client("team.yaml", era="new") as c:
        got = c.ask("server/discover")["result"]
        assert "2026-07-28" in got["supportedVersions"] and got["resultType"] == "complete", got
        assert got["cacheScope"] == "private" and got["ttlMs"] > 0, got
        assert got["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "berth", got
        assert c.ask("ping")["error"]["code"] == -32601
        assert c.call("read_text_file", path="a.txt") == "hello\nworld\n"
        bad = c.ask("tools/list", {"io.modelcontextprotocol/protocolVersion": "2030-01-01"})["error"]
        assert bad["code"] == -32022 and bad["data"]["requested"] == "2030-01-01", bad
        assert "2026-07-28" in bad["data"]["supported"], bad
        bad = c.ask("tools/list", {"io.modelcontextprotocol/clientCapabilities": 7})["error"]
        assert bad["code"] == -32602, bad


@case("what is no message gets an error, and the server goes on")
def _():
    with Client("team.yaml") as c:
        assert error_of(c, b"{") == (None, -32700)
        assert error_of(c, b"[]") == (None, -32600)
        assert error_of(c, b'{"jsonrpc":"2.0","id":true,"method":"ping"}') == (None, -32600)
        assert error_of(c, b'{"jsonrpc":"1.0","id":90,"method":"ping"}') == (90, -32600)
        assert error_of(c, b'{"jsonrpc":"2.0","id":91,"method":"ping","params":[]}') == (91, -32602)
        assert error_of(c, b'{"jsonrpc":"2.0","id":92,"id":93,"method":"ping"}') == (92, -32600)
        assert error_of(c, b'{"jsonrpc":"2.0","id":94,"method":"ping","params":{"x":"\\ud800"}}') == (94, -32600)
        assert error_of(c, b'{"jsonrpc":"2.0","id":95,"method":"ping","params":{"x":"\xff"}}') == (95, -32600)
        assert error_of(c, b"[" * 100000) == (None, -32700)
        assert error_of(c, b'{"jsonrpc":"2.0","id":"text","method":"none"}') == ("text", -32601)
        c.say_bytes(b"\n  \r\n")
        c.say({"jsonrpc": "2.0", "method": "notifications/none"})
        c.say({"jsonrpc": "2.0", "id": 5, "result": {}})
        big = 2 ** 62
        c.say({"jsonrpc": "2.0", "id": big, "method": "ping"})
        assert c.wait(big)["result"] == {}
        assert c.ask("tools/call", name="none")["error"]["code"] == -32602
        assert c.ask("tools/call")["error"]["code"] == -32602


@case("what has no id is answered with id null if it is no request, and never if it is a notification")
def _():
    meta = b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
    for era, more in (("old", b""), ("new", meta)):
        with Client("team.yaml", era=era) as c:
            before = len(c.lines)
            for text in (b'"method":"notifications/none"', b'"method":"notifications/cancelled","params":{%s}' % more,
                         b'"method":"tools/list","params":{%s}' % more, b'"method":"none","params":{%s}' % more,
                         b'"method":"tools/call","params":{"name":"write_file","arguments":{"path":"silent","content":""}%s}' % (b"," + more if more else b""),
                         b'"method":"initialize","params":{}', b'"method":"notifications/x","params":[1]', b'"method":"notifications/x","params":7',
                         b'"method":"notifications/x","params":{"x":"\\ud800"}', b'"method":"notifications/x","params":{"x":"\xff"}',
                         b'"method":"notifications/x","method":"notifications/x"', b'"method":"notifications/x","params":{"x":' + b"[" * 500 + b"]" * 500 + b"}"):
                c.say_bytes(b'{"jsonrpc":"2.0",' + text + b"}\n")
            assert c.ask("tools/list")["result"]["tools"]
            assert len(c.lines) == before + 1, c.lines[before:]
            assert not os.path.exists(f"{WS}/silent")
            for text, code in ((b"{", -32700), (b'{"jsonrpc":"2.0","method":', -32700), (b"\xff", -32700), (b"nul", -32700), (b"null", -32600), (b"7", -32600),
                               (b'"a"', -32600), (b"[]", -32600), (b"[{}]", -32600), (b"{}", -32600), (b'{"jsonrpc":"2.0"}', -32600),
                               (b'{"jsonrpc":"2.0","method":7}', -32600), (b'{"jsonrpc":"2.0","method":null}', -32600),
                               (b'{"method":"notifications/x"}', -32600), (b'{"jsonrpc":"1.0","method":"notifications/x"}', -32600),
                               (b'{"jsonrpc":"2.0","id":null,"method":"tools/list","params":{%s}}' % more, -32600),
                               (b'{"jsonrpc":"2.0","id":{},"method":"tools/list","params":{%s}}' % more, -32600)):
                assert error_of(c, text) == (None, code), (era, text)
            for text, code in ((b'{"jsonrpc":"2.0","id":96}', -32600), (b'{"id":97,"method":"x"}', -32600), (b'{"jsonrpc":"2.0","id":"98","method":7}', -32600)):
                assert error_of(c, text)[1] == code, (era, text)
                assert json.loads(c.lines[-1])["id"] in (96, 97, "98"), c.lines[-1]


@case("reading")
def _():
    with Client("team.yaml") as c:
        assert c.call("read_text_file", path="a.txt") == "hello\nworld\n"
        assert c.call("read_file", path=f"{WS}/./x/../a.txt") == "hello\nworld\n"
        assert c.call("read_text_file", path="a.txt", head=1) == "hello\n"
        assert c.call("read_text_file", path="a.txt", tail=1) == "world\n"
        assert c.call("read_text_file", path="a.txt", first_line=2, last_line=2) == "world\n"
        assert "Only one" in c.fails("read_text_file", path="a.txt", head=1, tail=1)
        assert "tail" in c.fails("read_text_file", path="a.txt", tail=1, first_line=2)
        put("b.bin", "\0\1")
        assert "not a text file" in c.fails("read_text_file", path="b.bin")
        block = c.call("read_media_file", path="b.bin")
        assert block["resource"]["blob"] == "AAE=" and block["resource"]["uri"] == f"file://{WS}/b.bin", block
        with open(put("latin", ""), "wb") as f:
            f.write(b"caf\xe9\n")
        got = c.ask("tools/call", name="read_text_file", arguments={"path": "latin"})["result"]["content"]
        assert got[0]["text"] == "caf\ufffd\n" and "not UTF-8" in got[1]["text"], got
        assert len(c.ask("tools/call", name="read_text_file", arguments={"path": "a.txt"})["result"]["content"]) == 1
        got = c.call("read_multiple_files", paths=["latin", "a.txt"])
        assert got.count("not UTF-8") == 1 and got.index("not UTF-8") < got.index("a.txt:"), got
        nothing = (("read_text_file", {"first_line": 3}, "line 3"), ("read_text_file", {"offset": 13}, "byte 13"))
        for tool, where, what in nothing:
            got = c.ask("tools/call", name=tool, arguments={"path": "a.txt", **where})["result"]["content"]
            assert [block["text"] for block in got] == ["", f"The file ends before {what}."], got
        assert "greater" in c.fails("read_text_file", path="a.txt", first_line=2, last_line=1)
        assert "head" in c.fails("read_text_file", path="a.txt", first_line=2, head=1)
        got = c.call("read_multiple_files", paths=["a.txt", "none", f"{DOCS}/guide", "/etc/passwd"])
        assert got.startswith("a.txt:\nhello\nworld\n\n\n---\nnone: Error - "), got
        assert f"{DOCS}/guide:\na guide\n" in got and "/etc/passwd: Error - " in got and "root:" not in got, got


@case("media by what they are, not by their names")
def _():
    kinds = [("a.png", b"\x89PNG\r\n\x1a\n\0", "image", "image/png"), ("really.jpg", b"\x89PNG\r\n\x1a\n\0", "image", "image/png"), ("really.png", b"\xff\xd8\xff\xe0", "image", "image/jpeg"),
             ("plain", b"GIF89a\1", "image", "image/gif"), ("x.webp", b"RIFF\0\0\0\0WEBP", "image", "image/webp"), ("x.wav", b"RIFF\0\0\0\0WAVE", "audio", "audio/wav"),
             ("x.mp3", b"ID3\4", "audio", "audio/mpeg"), ("y.mp3", b"\xff\xfb\x90", "audio", "audio/mpeg"), ("x.flac", b"fLaC", "audio", "audio/flac"), ("x.ogg", b"OggS", "audio", "audio/ogg"),
             # What models do not take as images, and what is none: an error page, a download that failed, a text.
             ("x.bmp", b"BM\0", "resource", "image/bmp"), ("x.svg", b"<svg/>", "resource", "image/svg+xml"), ("page.png", b"<!DOCTYPE html>", "resource", "application/octet-stream"),
             ("none.png", b"", "resource", "application/octet-stream"), ("cut.png", b"\x89PNG", "resource", "application/octet-stream"), ("b.mp3", b"text", "resource", "application/octet-stream")]
    with Client("team.yaml") as c:
        for name, data, kind, mime in kinds:
            put(name, "")
            with open(os.path.join(WS, name), "wb") as file:
                file.write(data)
            got = c.call("read_media_file", path=name)
            block = got.get("resource", got)
            assert (got["type"], block["mimeType"]) == (kind, mime), (name, got)
            assert base64.b64decode(block["blob" if kind == "resource" else "data"]) == data, (name, got)
            os.unlink(os.path.join(WS, name))


@case("reading what is large")
def _():
    with open(put("large.txt", ""), "w", encoding="utf-8") as f:
        f.writelines(f"{i:07}\n" for i in range(2_000_000))
    with Client("team.yaml") as c:
        assert c.call("read_text_file", path="large.txt", first_line=1999999, last_line=1999999) == "1999998\n"
        assert c.call("read_text_file", path="large.txt", first_line=2000000) == "1999999\n"
        assert c.call("read_text_file", path="large.txt", tail=2) == "1999998\n1999999\n"
        assert c.call("read_text_file", path="large.txt", head=1) == "0000000\n"
        assert c.call("read_text_file", path="large.txt", offset=15999992) == "1999999\n"
        assert c.call("read_text_file", path="large.txt", offset=8, length=9) == "0000001\n0"
        for args in ({}, {"first_line": 2}, {"tail": 1900000}, {"offset": 1}, {"length": 9 << 20}):
            told = c.fails("read_text_file", path="large.txt", **args)
            assert "8 MiB" in told and "16000000 bytes" in told and "offset" in told, told
        assert "not both" in c.fails("read_text_file", path="large.txt", tail=1, offset=1)
        assert "offset" in c.fails("read_media_file", path="large.txt")
        part = c.call("read_media_file", path="large.txt", offset=15999997, length=2)
        assert part["resource"]["blob"] == "OTk=", part
        assert "continue with read_text_file" in c.call("read_multiple_files", paths=["large.txt"])[-100:]
    os.unlink(f"{WS}/large.txt")


@case("what is text, and what is not")
def _():
    wide = "\ufeffkey\nkey\n".encode("utf-16-le")
    with Client("team.yaml") as c:
        c.call("create_directory", path="kinds")
        for name, data in (("installer", b"key\n" * 3000 + b"\0key\n"), ("wide", wide), ("bin", b"\0key")):
            put(f"kinds/{name}", "")
            with open(f"{WS}/kinds/{name}", "wb") as f:
                f.write(data)
        got = c.call("search_text", path="kinds", pattern="key")
        assert got["matches"][0] == {"path": f"{WS}/kinds/installer", "text": "(binary file matches)"}, got
        assert got["hits"] == 3 and got["not_text"] == 1, got
        got = c.call("transform_files", path="kinds", pattern="key", replacement="door", dry_run=False)
        assert got["changed"] == 1 and got["replacements"] == 2 and got["not_text"] == 2, got
        with open(f"{WS}/kinds/wide", "rb") as f:
            assert f.read() == "\ufeffdoor\ndoor\n".encode("utf-16-le")
        assert "UTF-16" in c.fails("read_text_file", path="kinds/wide")
        edits = [{"oldText": "key\nkey\nkey\nkey", "newText": "x"}]
        assert "not a text file" in c.fails("edit_file", path="kinds/installer", edits=edits)
        assert "not a text file" in c.call("read_multiple_files", paths=["kinds/installer"])
        for name in ("kinds/.gitignore", "kinds/seen.py"):
            put(name, "*.py\n")
        got = c.call("search_text", path="kinds", pattern="*.py")
        assert got["hits"] == 0 and got["ignored"] == 2, got
        assert c.call("search_text", path="kinds", pattern="*.py", all=True)["ignored"] == 0
        assert c.call("transform_files", path="kinds", pattern="*.py", replacement="")["ignored"] == 2
        os.unlink(f"{WS}/kinds/.gitignore")
        put("kinds/hard", "x" * 3000 + "\nxxy\n")
        got = c.call("search_text", path="kinds", pattern="(?#)(x+x+)+[yz]", regex=True)
        assert got["gave_up_lines"] == 1 and got["hits"] == 1, got
        got = c.call("transform_files", path="kinds/hard", pattern="xxy", replacement="z", dry_run=False)
        assert got["replacements"] == 1 and got["files"] == 1, got
        put("kinds/long", "a" * 3000 + "needle" + "b" * 3000 + "\n")
        text = c.call("search_text", path="kinds", pattern="needle")["matches"][0]["text"]
        assert text.startswith("[...] a") and "needle" in text and text.endswith("b [...]"), text


@case("moves between directories of an agent")
def _():
    with Client("team.yaml") as c:
        c.call("write_file", path="far/d/f", content="f")
        s = socket.socket(socket.AF_UNIX)
        here = os.getcwd()
        os.chdir(f"{WS}/far")
        s.bind("socket")
        os.chdir(here)
        told = c.fails("move_file", source="far", destination=f"{CTX}/far")
        assert "sockets" in told, told
        assert os.listdir(f"{WS}/far") == ["socket"] and get("../ctx/far/d/f") == "f"
        s.close()
        os.unlink(f"{WS}/far/socket")
        c.call("move_file", source=f"{CTX}/far/d", destination="far/d")
        assert get("far/d/f") == "f" and not os.listdir(f"{CTX}/far")
    os.rmdir(f"{CTX}/far")


@case("writing and editing")
def _():
    with Client("team.yaml") as c:
        c.call("write_file", path="new/deep/b.txt", content="one\n\ttwo\nthree\n")
        assert get("new/deep/b.txt") == "one\n\ttwo\nthree\n"
        assert os.stat(f"{WS}/new/deep/b.txt").st_uid == USER
        diff = c.call("edit_file", path="new/deep/b.txt", edits=[{"oldText": "three", "newText": "3"}], dryRun=True)
        assert "-three\n+3\n" in diff and get("new/deep/b.txt") == "one\n\ttwo\nthree\n", diff
        c.call("edit_file", path="new/deep/b.txt",
               edits=[{"oldText": "three", "newText": "3"}, {"oldText": "two\n3", "newText": "2\n4"}])
        assert get("new/deep/b.txt") == "one\n\t2\n4\n"
        c.call("write_file", path="e.c", content="int f(void)\n{\n\tif (x)\n\t\ty();\n}\n")
        c.call("edit_file", path="e.c", edits=[{"oldText": "if (x)\n    y();", "newText": "z();"}])
        assert get("e.c") == "int f(void)\n{\n\tz();\n}\n", get("e.c")
        assert "exact match" in c.fails("edit_file", path="e.c",
                                        edits=[{"oldText": "z();", "newText": "Z"}, {"oldText": "none", "newText": ""}])
        assert get("e.c") == "int f(void)\n{\n\tz();\n}\n"
        got = c.call("write_multiple_files", files=[{"path": f"many/{i}", "content": f"{i}\n"} for i in range(50)])
        assert got == {"written": 50, "bytes": 140} and get("many/49") == "49\n", got
        c.fails("write_multiple_files", files=[{"path": "many/50", "content": ""},
                                               {"path": "many/1", "content": "x", "create_only": True}])
        assert get("many/1") == "1\n" and not os.path.exists(f"{WS}/many/50")


@case("what clients send for nothing, and paths of shells and other systems")
def _():
    with Client("team.yaml") as c:
        assert c.call("read_text_file", path="a.txt", head=None, tail=None, first_line=None) == "hello\nworld\n"
        assert c.call("search_files", path=".", pattern="a.txt", excludePatterns=None) == f"{WS}/a.txt"
        assert not c.call("transform_files", path="a.txt", pattern="hello", replacement="x", regex=None, glob=None, dry_run=None)["applied"]
        # It gets as far as the container, of which there is none.
        assert "`berth up`" in c.fails("execute_command", command="ls", argv=None, env=None, stdin=None, timeout=None, work_dir=None)
        assert "`berth up`" in c.fails("execute_command", command=None, argv=["ls"])
        got = c.ask("tools/call", name="list_allowed_directories", arguments=None)
        assert "isError" not in got["result"], got
        assert "must be a string" in c.fails("read_text_file", path=None)
        assert 'needs "path"' in c.fails("read_text_file", head=None)
        for path, why in (("~/x", "~ is not expanded"), ("~", "~ is not expanded"), ("C:\\Users\\x", "Windows"), ("c:/x", "Windows")):
            for tool, more in (("write_file", {"content": ""}), ("create_directory", {}), ("read_text_file", {}), ("list_directory", {})):
                assert why in c.fails(tool, path=path, **more), (tool, path)
        c.call("write_file", path="./~", content="meant")
        c.call("delete_files", paths=["./~"])
        assert not {"~", "C:", "c:", "C:\\Users\\x"} & set(os.listdir(WS)), os.listdir(WS)


@case("edits of one file at once are all made")
def _():
    with Client("team.yaml") as c, Client("team.yaml") as other:
        put("both", "".join(f"line {i} -\n" for i in range(60)))
        begun = [(client, client.begin("tools/call", name="edit_file", arguments={"path": "both", "edits": [{"oldText": f"line {i} -", "newText": f"line {i} +"}]}))
                 for i in range(60) for client in ((c, other)[i % 2],)]
        for client, number in begun:
            got = client.wait(number)["result"]
            text = got["content"][0]["text"]
            assert not got.get("isError") and text.count("\n+line ") == text.count("\n-line ") == text.count("```diff") == 1, text
        assert get("both") == "".join(f"line {i} +\n" for i in range(60)), get("both")
        # What is there twice is still refused.
        put("both", "a\na\n")
        assert "occurs 2 times" in c.fails("edit_file", path="both", edits=[{"oldText": "a", "newText": "b"}])


@case("directories, copies, moves")
def _():
    with Client("team.yaml") as c:
        c.call("create_directory", path="t/u/v")
        c.call("create_directory", path="t/u/v")
        assert "not a directory" in c.fails("create_directory", path="a.txt")
        for tool, arguments in (("write_file", {"path": "t/s/", "content": ""}), ("write_multiple_files", {"files": [{"path": "t/s/", "content": ""}]}),
                                ("copy_files", {"source": "a.txt", "destination": "t/s/"}), ("move_file", {"source": "a.txt", "destination": "t/s/"})):
            assert "ends with a slash" in c.fails(tool, **arguments), tool
        c.call("copy_files", source="t/u/", destination="t/s/")
        c.call("move_file", source="t/s/", destination="t/w/")
        c.call("delete_files", paths=["t/w/"], recursive=True)
        c.call("write_multiple_files", files=[{"path": "t/x.txt", "content": "1"}, {"path": "t/u/y.md", "content": "22"}])
        assert c.call("list_directory", path="t") == "[DIR] u\n[FILE] x.txt"
        c.call("write_multiple_files", files=[{"path": "odd/a\n[DIR] b", "content": "1\n"}, {"path": 'odd/"x', "content": ""}])
        assert c.call("list_directory", path="odd") == '[FILE] "\\"x"\n[FILE] "a\\n[DIR] b"'
        assert '\n[FILE] "a\\n[DIR] b" ' in c.call("list_directory_with_sizes", path="odd")
        assert c.call("search_files", path="odd", pattern="a*") == f'"{WS}/odd/a\\n[DIR] b"'
        assert c.call("read_multiple_files", paths=["odd/a\n[DIR] b"]) == '"odd/a\\n[DIR] b":\n1\n\n'
        diff = c.call("edit_file", path="odd/a\n[DIR] b", edits=[{"oldText": "1", "newText": "2"}])
        assert diff.startswith('```diff\n--- "a/odd/a\\n[DIR] b"\t\n+++ "b/odd/a\\n[DIR] b"\t\n@@ '), diff
        assert "Total: 1 files, 1 directories" in c.call("list_directory_with_sizes", path="t", sortBy="size")
        assert json.loads(c.call("directory_tree", path="t")) == [
            {"name": "u", "type": "directory", "children": [
                {"name": "v", "type": "directory", "children": []}, {"name": "y.md", "type": "file"}]},
            {"name": "x.txt", "type": "file"}]
        assert c.call("search_files", path="t", pattern="*.md") == f"{WS}/t/u/y.md"
        assert c.call("search_files", path="t", pattern="*.none") == "No matches found"
        assert "size: 2\n" in c.call("get_file_info", path="t/u/y.md")
        c.call("create_directory", path="none")
        empty = c.call("compare_directories", dir1="none", dir2="t/u/v")
        assert empty["equal"] and not empty["equal_files"], empty
        c.call("copy_files", source="t", destination="t2")
        same = c.call("compare_directories", dir1="t", dir2="t2")
        assert same["equal"] and same["equal_files"] == 2, same
        c.call("write_file", path="t2/u/y.md", content="33")
        c.call("write_file", path="t2/more", content="")
        differ = c.call("compare_directories", dir1="t", dir2="t2")
        assert not differ["equal"] and differ["different"] == ["u/y.md"] and differ["only_in_dir2"] == ["more"], differ
        assert "-22" in c.call("compare_files", file1="t/u/y.md", file2="t2/u/y.md")["diff"]
        c.call("move_file", source="t2", destination="t3")
        assert get("t3/u/y.md") == "33" and not os.path.exists(f"{WS}/t2")
        assert "exists" in c.fails("move_file", source="t/x.txt", destination="t/u/y.md")
        assert "itself" in c.fails("copy_files", source="t", destination="t/u/w")
        assert "itself" in c.fails("move_file", source="t", destination="t")


@case("scanning, searching, transforming")
def _():
    with Client("team.yaml") as c:
        c.call("write_multiple_files", files=[{"path": f"s/{i}.txt", "content": f"line\nfoo {i}\n"} for i in range(20)])
        got = c.call("scan_directory", path="s", limit=5)
        assert got["files"] == 20 and len(got["entries"]) == 5 and got["truncated"], got
        got = c.call("search_text", path="s", pattern=r"foo 1\d", regex=True)
        assert got["hits"] == 10 and got["matches"][0] == {
            "path": f"{WS}/s/10.txt", "line": 2, "column": 1, "text": "foo 10"}, got
        got = c.call("search_text", path="s", pattern="foo", limit=3)
        assert len(got["matches"]) == 3 and got["truncated"], got
        c.fails("search_text", path="s", pattern="(", regex=True)
        got = c.call("transform_files", path="s", pattern="foo", replacement="bar")
        assert not got["applied"] and got["changed"] == 20 and get("s/3.txt") == "line\nfoo 3\n", got
        got = c.call("transform_files", path="s", pattern="foo", replacement="bar", dry_run=False)
        assert got["applied"] and get("s/3.txt") == "line\nbar 3\n", got


@case("what was not read is not deleted")
def _():
    put("unread", "x")
    with Client("team.yaml") as c:
        assert "read it first" in c.fails("delete_files", paths=["unread"])
        c.call("read_text_file", path="unread")
        c.call("write_file", path="d/own", content="")
        assert "recursive" in c.fails("delete_files", paths=["unread", "d"])
        assert os.path.exists(f"{WS}/unread")
        assert c.call("delete_files", paths=["unread", "d"], recursive=True) == {"files": 2, "directories": 1}
        put("unread", "x")
        os.mkdir(f"{WS}/e")
        put("e/unread", "x")
        assert "1 files" in c.fails("delete_files", paths=["e"], recursive=True)


@case("only what the agent was given, and of that nothing that is protected")
def _():
    with Client("team.yaml") as c:
        assert c.call("list_allowed_directories").split("\n")[1:] == sorted([WS, CTX, f"{DOCS} (read-only)", f"{FIXED} (read-only)"], key=lambda d: len(d.split()[0]))
        outside = ("/etc/passwd", "../x", "/", f"{WS}/../x", f"{WS}x", "out/passwd", "/proc/self/environ", f"{DOCS}/../ws2",
                   os.environ["XDG_STATE_HOME"])
        for path in outside:
            c.fails("read_text_file", path=path)
            for name, arguments in (("write_file", {"content": "x"}), ("create_directory", {}), ("list_directory", {}),
                                    ("edit_file", {"edits": [{"oldText": "a", "newText": "b"}]}), ("get_file_info", {}),
                                    ("directory_tree", {}), ("search_files", {"pattern": "*"}), ("scan_directory", {}),
                                    ("search_text", {"pattern": "root"}), ("read_media_file", {}),
                                    ("transform_files", {"pattern": "a", "replacement": "b"})):
                if path != "out/passwd" or name != "get_file_info":
                    c.fails(name, path=path, **arguments)
            c.fails("move_file", source=path, destination="y")
            c.fails("move_file", source="a.txt", destination=path)
            c.fails("copy_files", source=path, destination="y")
            c.fails("copy_files", source="a.txt", destination=path)
            c.fails("delete_files", paths=[path], recursive=True)
            c.fails("compare_files", file1="a.txt", file2=path)
            c.fails("compare_directories", dir1=path, dir2=WS)
            c.fails("write_multiple_files", files=[{"path": "fine", "content": ""}, {"path": path, "content": ""}])
        assert not os.path.exists(f"{WS}/fine")
        fixed = (f"{FIXED}/kept", "fixed/kept", "way/kept", "./way/../fixed/kept", f"{DOCS}/guide")
        for path in fixed:
            c.call("read_text_file", path=path)
            c.fails("write_file", path=path, content="x")
            c.fails("edit_file", path=path, edits=[{"oldText": "k", "newText": "b"}])
            c.fails("delete_files", paths=[path])
            c.fails("move_file", source=path, destination="y")
            c.fails("copy_files", source="a.txt", destination=path, overwrite=True)
            c.fails("transform_files", path=path, pattern="e", replacement="b", dry_run=False)
        for path in ("fixed", ".", WS):
            c.fails("delete_files", paths=[path], recursive=True)
            c.fails("move_file", source=path, destination="y")
        c.call("transform_files", path=".", pattern="kept", replacement="lost", dry_run=False)
        assert get("fixed/kept") == "kept\n"


@case("outside of the workspace .git and its like stay as they are, each item of a batch by itself")
def _():
    for d in ("src/.git/hooks", "node_modules/x"):
        os.makedirs(f"{CTX}/{d}")
    for f in ("src/.git/hooks/pre-commit", "src/a.py", "node_modules/x/index.js", ".env", "b"):
        put(f"../ctx/{f}", "kept\n")
    os.symlink("src/.git", f"{CTX}/way")
    os.link(f"{CTX}/.env", f"{CTX}/second")
    if os.getuid() == 0:
        subprocess.run(["chown", "-hR", "1000:1000", CTX], check=True)
    with Client("team.yaml") as c:
        kept = [f"{CTX}/{p}" for p in ("src/.git/hooks/pre-commit", "src/./.git/hooks/../hooks/pre-commit", ".env", "node_modules/x/index.js",
                                       "way/hooks/pre-commit", "src/.git/new", "node_modules/new/deep", ".venv/bin/python")]
        for path in kept:
            c.fails("write_file", path=path, content="x")
            c.fails("copy_files", source="a.txt", destination=path, overwrite=True)
            c.fails("write_multiple_files", files=[{"path": f"{CTX}/fine", "content": "x"}, {"path": path, "content": "x"}])
            c.fails("move_file", source=path, destination=f"{CTX}/gone")
            c.fails("delete_files", paths=[f"{CTX}/b", path], recursive=True)
        for path in ("src", "src/.git", "node_modules"):
            c.call("read_text_file", path=f"{CTX}/src/.git/hooks/pre-commit")
            c.fails("delete_files", paths=[f"{CTX}/{path}"], recursive=True)
            c.fails("move_file", source=f"{CTX}/{path}", destination=f"{CTX}/other")
        assert sorted(set(os.listdir(CTX)) - {".berth"}) == [".env", "b", "node_modules", "second", "src", "way"], os.listdir(CTX)
        c.call("transform_files", path=CTX, pattern="kept", replacement="lost", dry_run=False)
        for path in ("src/.git/hooks/pre-commit", "node_modules/x/index.js"):
            assert get(f"../ctx/{path}") == "kept\n", path
        assert get("../ctx/src/a.py") == "lost\n"
        c.call("write_file", path=f"{CTX}/second", content="mine")
        assert get("../ctx/second") == "mine" and get("../ctx/.env") == "kept\n", "a second name leads to another file"
        os.makedirs(f"{WS}/repo/.git")
        put("repo/.git/config", "mine\n")
        subprocess.run(["chown", "-hR", f"{USER}", f"{WS}/repo"], check=True)
        c.fails("copy_files", source="repo", destination=f"{CTX}/repo")
        c.fails("move_file", source="repo", destination=f"{CTX}/repo")
        c.call("write_file", path="repo/.git/config", content="changed")
        c.call("read_text_file", path="repo/.git/config")
        c.call("delete_files", paths=["repo"], recursive=True)


@case("a protected directory that was replaced by a link is not served")
def _():
    os.rename(FIXED, f"{FIXED}.real")
    os.symlink(DOCS, FIXED)
    done = subprocess.run([BERTH, "-c", "team.yaml", "mcp"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    os.unlink(FIXED)
    os.rename(f"{FIXED}.real", FIXED)
    assert done.returncode == 1 and FIXED in done.stderr, done


@case("a client that reads nothing does not keep it from ending")
def _():
    with subprocess.Popen([BERTH, "-c", "team.yaml", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        flood = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 1000
        os.set_blocking(server.stdin.fileno(), False)
        try:
            while os.write(server.stdin.fileno(), flood):
                pass
        except BlockingIOError:
            pass
        server.terminate()
        server.wait(PATIENCE)


@case("arguments of the wrong kind")
def _():
    with Client("team.yaml") as c:
        for arguments in ({}, {"path": 7}, {"path": ["a.txt"]}, {"path": None}, {"path": ""}, {"path": "a\0b"},
                          {"path": "a.txt", "head": -1}, {"path": "a.txt", "head": 1.5}, {"path": "a.txt", "head": "1"},
                          {"path": "a.txt", "tail": 2 ** 70}, {"path": "a.txt", "tail": 2 ** 31}, {"path": "a.txt", "output": "/etc/passwd"},
                          {"path": "x" * 300}, {"path": "x/" * 5000}, {"path": {"path": "a.txt"}}):
            c.fails("read_text_file", **arguments)
        for arguments in ({"paths": []}, {"paths": "a.txt"}, {"paths": [1]}, {"paths": [["a.txt"]]}):
            c.fails("read_multiple_files", **arguments)
        c.fails("write_multiple_files", files=[{"path": "a.txt"}])
        c.fails("write_multiple_files", files=[{"path": "a.txt", "content": "", "mode": 511}])
        c.fails("list_directory_with_sizes", path=".", sortBy="age")
        got = c.ask("tools/call", name="read_text_file", arguments=[])
        assert got["result"]["isError"], got


@case("a thousand at once, none lost")
def _():
    with Client("team.yaml") as c:
        numbers = [c.begin("tools/call", name="read_text_file", arguments={"path": "a.txt"}) for _ in range(1000)]
        for n in numbers:
            assert c.wait(n)["result"]["content"][0]["text"] == "hello\nworld\n"


@case("what a burst took is given back, and calls after it are answered")
def _():
    def memory():
        with open(f"/proc/{c.server.pid}/status", encoding="ascii") as status:
            return int(status.read().split("VmRSS:")[1].split()[0]) >> 10

    put("large", "line\n" * 200000)
    with Client("team.yaml") as c:
        for _ in range(2):
            numbers = [c.begin("tools/call", name=name, arguments=arguments) for _ in range(40) for name, arguments in (
                ("read_multiple_files", {"paths": ["large", "a.txt"]}), ("read_text_file", {"path": "large"}))]
            for n in numbers:
                c.wait(n)
            until = time.monotonic() + PATIENCE
            while memory() > LIMIT:
                assert time.monotonic() < until, memory()
                time.sleep(0.1)
            assert c.call("read_text_file", path="a.txt") == "hello\nworld\n"


@case("a read that comes alone is answered by the thread that read the request")
def _():
    put("small", "text\n")
    seen = set()
    # Those that read, the one of the log, and the one that waits for them: none for calls.  As soon as the second reader is there;
    # where the machine is busy a read takes so long that others are let past it.  ThreadSanitizer has one of its own.
    until, few = time.monotonic() + PATIENCE, 5 if os.environ["VARIANT"] == "tsan" else 4
    while few not in seen:
        assert time.monotonic() < until, seen
        with Client("team.yaml") as c:
            for _ in range(20):
                assert c.call("read_text_file", path="small") == "text\n"
            seen.add(len(os.listdir(f"/proc/{c.server.pid}/task")))


@case("what keeps a read waiting keeps no other message waiting")
def _():
    with Client("team.yaml") as c:
        c.call("read_text_file", path="a.txt")
        with open("state/berth/audit/head", "r+b") as head:
            # Nothing can be recorded until this is given back, so nothing is read.
            fcntl.lockf(head, fcntl.LOCK_EX)
            numbers = []
            for _ in range(4):
                numbers.append(c.begin("tools/call", name="read_text_file", arguments={"path": "a.txt"}))
                assert c.ask("ping")["result"] == {}
            assert not set(numbers) & set(c.answers)
        for n in numbers:
            assert c.wait(n)["result"]["content"][0]["text"] == "hello\nworld\n"
        assert c.call("read_text_file", path="a.txt") == "hello\nworld\n"


@case("what was asked before the end is answered")
def _():
    c = Client("team.yaml")
    numbers = [c.begin("tools/call", name="read_text_file", arguments={"path": "a.txt"}) for _ in range(200)]
    c.server.stdin.close()
    assert c.server.wait(PATIENCE) == 0
    c.reader.join(PATIENCE)
    assert all("result" in c.answers[n] for n in numbers)


@case("a client that is gone ends it")
def _():
    with subprocess.Popen([BERTH, "-c", "team.yaml", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        server.stdout.close()
        assert server.wait(PATIENCE) == 0
    with Client("team.yaml") as c:
        c.server.terminate()
        assert c.server.wait(PATIENCE) == 0


@case("a workspace of berth's: kept, compared, restored")
def _():
    os.environ["XDG_DATA_HOME"] = os.path.join(os.getcwd(), "data")
    os.mkdir("data")
    place = subprocess.run([BERTH, "workspace", "create", "task", "t"], capture_output=True, text=True, check=True).stdout.strip()
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", "1000:1000", place], check=True)
    with open("task.yaml", "w", encoding="utf-8") as out:
        out.write(f"agents:\n  one: {{image: 'box:1', workspace: {place}}}\n")
    with Client("task.yaml") as c:
        c.call("write_file", path="files/a", content="one\n")
        assert c.call("checkpoint", checkpoint="first")["name"] == "first"
        c.call("write_file", path="files/a", content="two\n")
        got = c.call("diff", **{"from": "first"})
        assert [x["path"] for x in got["changes"]] == ["files/a"] and got["changed"] == 1, got
        undo = c.call("restore", checkpoint="first")["undo"]
        assert c.call("read_text_file", path="files/a") == "one\n"
        got = c.call("workspace_info")
        assert {x["name"] for x in got["checkpoints"]} == {"first", undo} and got["path"] == place and got["limits"]["used_files"] > 0, got
        shown = json.loads(subprocess.run([BERTH, "workspace", "show", "--json", "t"], capture_output=True, text=True, check=True).stdout)
        assert shown | {"counted_ms": 0} == got | {"counted_ms": 0}, (shown, got)
        for name in ("none", "-x", "../first", "", "a\0"):
            c.fails("restore", checkpoint=name)
    with Client("team.yaml") as c:
        assert "not a berth workspace" in c.fails("checkpoint")


@case("what berth calls of itself has its global options, and is the agent's in the log")
def _():
    with open("mine.yaml", "w", encoding="utf-8") as out:
        out.write("journal: {commands: 1}\n")
    with open("tool.yaml", "w", encoding="utf-8") as out:
        out.write(f"agents:\n  one: {{image: 'box:1', workspace: {os.environ['XDG_DATA_HOME']}/berth/workspaces/tasks/t}}\n"
                  "custom_tools:\n  t: {image: 'box:1', command: [x]}\n")
    os.chmod("tool.yaml", 0o644)
    with Client("tool.yaml", "-H", f"unix://{os.getcwd()}/other.sock", "--settings", "mine.yaml") as c:
        assert "other.sock" in c.call("run_tool", tool="t")["error"]
        assert "other.sock" in c.call("limits")["note"]
        c.call("checkpoint", checkpoint="second")
        with open("mine.yaml", "w", encoding="utf-8") as out:
            out.write("jurnal: {}\n")
        for name, arguments in (("checkpoint", {}), ("restore", {"checkpoint": "second"}), ("workspace_info", {}), ("limits", {})):
            got = c.ask("tools/call", name=name, arguments=arguments)["result"]
            assert "mine.yaml" in json.dumps(got), (name, got)
    with Client("tool.yaml", "--read-only") as c:
        assert "read-only" in c.fails("checkpoint") and "read-only" in c.fails("restore", checkpoint="second")
    done = subprocess.run([BERTH, "audit", "list", "--json", "--agent", "one"], capture_output=True, text=True, check=True)
    seen = {a.get("act") for a in map(json.loads, done.stdout.splitlines())}
    assert {"workspace.snapshot", "workspace.restore"} <= seen, seen


@case("an agent's checkpoints have a bound: the oldest automatic ones go, then it is refused")
def _():
    def points():
        done = subprocess.run([BERTH, "workspace", "checkpoints", "--json", "bound"], capture_output=True, text=True, check=True)
        return [x["name"] for x in json.loads(done.stdout)["checkpoints"]]

    def disk():
        store = os.path.join(os.environ["XDG_DATA_HOME"], "berth/checkpoints/tasks/bound")
        return sum(os.stat(os.path.join(at, f)).st_blocks * 512 for at, _, files in os.walk(store) for f in files)

    def person(*words):
        return subprocess.run([BERTH, "--settings", "bound.set", "workspace", *words], capture_output=True, text=True, check=False)

    def limit(text):
        with open("bound.set", "w", encoding="utf-8") as out:
            out.write(f"workspaces: {{{text}}}\n")

    place = subprocess.run([BERTH, "workspace", "create", "task", "bound"], capture_output=True, text=True, check=True).stdout.strip()
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", "1000:1000", place], check=True)
    with open("bound.yaml", "w", encoding="utf-8") as out:
        out.write(f"agents:\n  one: {{image: 'box:1', workspace: {place}}}\n")

    def write(n, size=1 << 20):
        with open(os.path.join(place, "files/a"), "wb") as out:
            out.write(os.urandom(size) + bytes([n]))

    def save(**arguments):
        """In a server of its own, for the settings count from its start on."""
        with Client("bound.yaml", "--settings", "bound.set") as c:
            return c.ask("tools/call", name="checkpoint", arguments=arguments)["result"]

    limit("checkpoint_bytes: 4m, checkpoint_count: 1000")
    for n in range(2):
        write(n)
        assert person("checkpoint", "bound", "--auto", "9").returncode == 0
    automatic = points()
    for n in range(8):
        write(n)
        got = save(checkpoint=f"own{n}")
        assert disk() <= 4 << 20, (n, disk())
        if got.get("isError"):
            break
    assert "workspaces.checkpoint_bytes" in json.dumps(got) and "berth workspace drop" in json.dumps(got), got
    assert points() == ["own0", "own1", "own2"], points()
    assert not set(automatic) & set(points())
    # What an automatic one stored, and one of the agent's needs, counts still.
    write(100)
    refused = person("checkpoint", "bound", "--auto", "9")
    assert refused.returncode == 4 and "checkpoint_bytes" in refused.stderr, refused
    write(101, 100)
    assert save(checkpoint="small").get("isError") is not True
    limit("checkpoint_count: 4")
    with Client("bound.yaml", "--settings", "bound.set") as c:
        assert "checkpoint_count" in c.fails("checkpoint", checkpoint="more")
        assert "checkpoint_count" in c.fails("restore", checkpoint="own0")
    # What a restore would save of the present counts, before it changes anything.
    limit("checkpoint_bytes: 4m")
    write(102, 4 << 20)
    held = points()
    with Client("bound.yaml", "--settings", "bound.set") as c:
        assert "checkpoint_bytes" in c.fails("restore", checkpoint="own0")
    assert points() == held and disk() <= 4 << 20, (points(), disk())
    assert os.stat(os.path.join(place, "files/a")).st_size == (4 << 20) + 1
    # The one that is asked for is not what makes room.
    limit("checkpoint_count: 6")
    for n in range(2):
        write(n, 100)
        assert person("checkpoint", "bound", "--auto", "9").returncode == 0
    first, second = sorted(set(points()) - set(held))
    with Client("bound.yaml", "--settings", "bound.set") as c:
        assert not c.ask("tools/call", name="restore", arguments={"checkpoint": first})["result"].get("isError")
    assert first in points() and second not in points(), points()
    subprocess.run([BERTH, "workspace", "drop", "bound", first], capture_output=True, check=True)
    subprocess.run([BERTH, "workspace", "drop", "bound", next(p for p in points() if p.startswith("before-"))], capture_output=True, check=True)
    assert person("checkpoint", "bound", "mine").returncode == 0
    limit("checkpoint_count: 0, checkpoint_bytes: 0")
    assert save(checkpoint="last").get("isError") is not True
    assert points() == ["own0", "own1", "own2", "small", "mine", "last"], points()


@case("each agent has its own custom tools, and no more time than the tool")
def _():
    with open("tools.yaml", "w", encoding="utf-8") as out:
        out.write(f"""agents:
  one: {{image: 'box:1', workspace: {WS}}}
  two: {{image: 'box:1', workspace: {DOCS}}}
custom_tools:
  all: {{image: 'box:1', command: [x], timeout: 5}}
  ones: {{image: 'box:1', command: [x], isolation: {{filesystem: workspace, workspace: {WS}}}}}
  twos: {{image: 'box:1', command: [x], agents: [two]}}
""")
    os.chmod("tools.yaml", 0o644)
    for agent, own, other in (("one", ["all", "ones"], "twos"), ("two", ["all", "twos"], "ones")):
        with Client("tools.yaml", agent=agent) as c:
            assert [t["name"] for t in c.call("list_tools")["tools"]] == own
            assert "Unknown tool" in c.fails("run_tool", tool=other)
            assert "at most 5 s" in c.fails("run_tool", tool="all", timeout=6)


@case("a server of root's works as the agent's user, with no group of root's or of its own")
def _():
    if os.getuid():
        print("# not root: the server has one identity")
        return
    for name, gid, mode in (("roots", 0, 0o640), ("others", 4242, 0o640), ("agents", 1000, 0o640)):
        put(f"group_{name}", "text\n")
        os.chown(f"{WS}/group_{name}", 0, gid)
        os.chmod(f"{WS}/group_{name}", mode)
        os.makedirs(f"{WS}/dir_{name}")
        os.chown(f"{WS}/dir_{name}", 0, gid)
        os.chmod(f"{WS}/dir_{name}", 0o2770)
    groups = os.getgroups()
    os.setgroups([0, 4242])
    try:
        with Client("team.yaml") as c:
            assert c.call("read_text_file", path="group_agents") == "text\n"
            c.call("write_file", path="dir_agents/new", content="x")
            for name in ("roots", "others"):
                c.fails("read_text_file", path=f"group_{name}")
                c.fails("write_file", path=f"dir_{name}/new", content="x")
                c.fails("list_directory", path=f"dir_{name}")
            got = c.call("read_multiple_files", paths=["group_agents", "group_roots", "group_others"])
            assert got.count("text") == 1 and got.count("Error - ") == 2, got
    finally:
        os.setgroups(groups)
    made = os.stat(f"{WS}/dir_agents/new")
    assert (made.st_uid, made.st_gid) == (1000, 1000), made
    subprocess.run(["rm", "-rf", *(f"{WS}/{kind}_{name}" for kind in ("group", "dir") for name in ("roots", "others", "agents"))], check=True)


@case("groups of tools")
def _():
    with Client("team.yaml", "--tools", "files") as c:
        assert "execute_command" not in c.tools and "read_text_file" in c.tools
        rest = c.call("discover")["left_out"]
        assert {"name": "execute_command", "group": "commands", "title": "Run a command"} in rest, rest
        # What could not work for this agent is not among them either: it has no custom tool and no workspace of berth's.
        assert {t["group"] for t in rest} == {"commands", "workspace"} and "fork" not in [t["name"] for t in rest] and not {t["name"] for t in rest} & set(c.tools), rest
        assert c.ask("tools/call", name="execute_command", arguments={"command": "ls"})["error"]["code"] == -32602
    with Client("team.yaml", "--tools", "commands,tools") as c:
        assert "read_text_file" not in c.tools and "execute_command" in c.tools
        assert "`berth up`" in c.fails("execute_command", command="ls")
    with Client("team.yaml") as c:
        assert "discover" not in c.tools and c.ask("tools/call", name="discover")["error"]["code"] == -32602


@case("a tool that could only refuse is not offered, and says why where it is called")
def _():
    tree = os.path.join(os.environ["XDG_DATA_HOME"], "berth/workspaces")
    subprocess.run([BERTH, "workspace", "create", "project", "offered"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([BERTH, "workspace", "create", "task", "offered"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["chown", "-R", f"{USER}", f"{tree}/tasks/offered", f"{tree}/projects/offered"], check=True)
    with open("offered.yaml", "w", encoding="utf-8") as out:
        out.write(f"""agents:
  plain: {{image: 'box:1', workspace: {WS}}}
  project: {{image: 'box:1', workspace: {tree}/projects/offered}}
  task: {{image: 'box:1', workspace: {tree}/tasks/offered, network: {{allow: [a.test]}}}}
custom_tools:
  t: {{image: 'box:1', command: [x], agents: [project]}}
""")
    os.chmod("offered.yaml", 0o644)
    workspace = {"workspace_info", "checkpoint", "diff", "restore", "fork"}
    between = {"hand_over", "put_result", "get_results", "list_shared"}
    network, tools = {"network_log", "request_egress"}, {"list_tools", "run_tool"}
    every = workspace | between | network | tools
    for agent, has in (("plain", set()), ("project", workspace | tools), ("task", workspace | between | network)):
        with Client("offered.yaml", agent=agent) as c:
            assert every & set(c.tools) == has, (agent, every & set(c.tools))
            assert {"read_text_file", "write_file", "execute_command", "limits", "expose_port"} <= set(c.tools), agent
    with Client("offered.yaml", agent="plain") as c:
        assert "not a berth workspace" in c.fails("checkpoint") and "network is none" in c.fails("network_log")
        assert "Unknown tool" in c.fails("run_tool", tool="t")
    with open("fixed.set", "w", encoding="utf-8") as out:
        out.write("read_only: true\n")
    with Client("offered.yaml", "--settings", "fixed.set", agent="task") as c:
        reads = [t["name"] for t in c.tools.values() if not t["annotations"]["readOnlyHint"]]
        assert not reads and "read_text_file" in c.tools and "limits" in c.tools, c.tools.keys()
        assert "read-only" in c.fails("write_file", path="x", content="")


@case("what a model reads of a tool is whole sentences")
def _():
    with Client("team.yaml") as c, Client(None, "--operator", "--allow-changes") as o:
        for tool in [*c.tools.values(), *o.tools.values()]:
            text = tool["description"]
            assert text[0].isupper() and text[-1] == "." and len(text.split()) > 4 and "  " not in text, text


def recorded(act):
    done = subprocess.run([BERTH, "audit", "list", "--json", "--act", act, "--agent", "one"], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()[:-1]]


@case("it is all in the log")
def _():
    done = subprocess.run([BERTH, "audit", "list", "--json", "--agent", "one"], capture_output=True, text=True, check=True)
    acts = [json.loads(line) for line in done.stdout.splitlines()]
    seen = {a["act"] for a in acts if "act" in a}
    assert {"file.read", "file.write", "file.delete", "file.move", "file.copy", "file.search", "file.scan",
            "file.transform"} <= seen, seen
    # Whatever the names leave of the text: how many, and a hash of them all.
    names = ["n" * 200 + f"/{'m' * 200}/{i}" for i in range(20)] + ["target"]
    with Client("team.yaml") as c:
        for name in names:
            c.call("write_file", path=name, content="")
        c.call("delete_files", paths=names)
    acts = recorded("file.delete")
    digest = hashlib.sha256("".join(f"{n}\0" for n in names).encode()).hexdigest()
    assert [(a["items"], a["manifest"]) for a in acts[-2:]] == [(21, digest)] * 2, acts[-2:]
    assert "target" not in acts[-1]["params"]["paths"]
    with Client("team.yaml") as c:
        assert "does not list 1" in c.fails("expose_port", port=1)
    refused = recorded("port.open")
    assert [(a["outcome"], a["phase"], a["params"]["tool"]) for a in refused] == [("refused", "event", "expose_port")], refused
    assert subprocess.run([BERTH, "audit", "verify"], capture_output=True, check=False).returncode == 0


@case("wrong words")
def _():
    for words, text in ((["mcp"], "team file"), (["-c", "team.yaml", "mcp", "--agent", "x"], "no agent"),
                        (["-c", "team.yaml", "mcp", "--tools", "x"], "--tools"), (["-c", "none.yaml", "mcp"], "none.yaml")):
        done = subprocess.run([BERTH, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        assert done.returncode == 2 and text in done.stderr and not done.stdout, (words, done)


@case("between tasks: handing over takes a rule, results are one's own or shared")
def _():
    os.environ["XDG_DATA_HOME"] = os.path.join(os.getcwd(), "shared-data")
    tree = os.path.join(os.environ["XDG_DATA_HOME"], "berth/workspaces")
    for task in ("maker", "reader", "third"):
        subprocess.run([BERTH, "workspace", "create", "task", task], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["chown", "-R", f"{USER}:{USER}", f"{tree}/tasks/{task}"], check=True)
    with open("tasks.yaml", "w", encoding="utf-8") as out:
        out.write("""agents:
  maker: {image: 'box:1', workspace: 'task:maker', hand_over: [reader]}
  reader: {image: 'box:1', workspace: 'task:reader'}
  third: {image: 'box:1', workspace: 'task:third', hand_over: ["*"]}
""")
    os.chmod("tasks.yaml", 0o644)
    with open(f"{tree}/tasks/maker/files/a", "w", encoding="utf-8") as out:
        out.write("work\n")
    subprocess.run([BERTH, "workspace", "create", "project", "site"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([BERTH, "workspace", "share", "--as", "v1", "site", "README.md", "--into", "templates"], check=True,
                   stdout=subprocess.DEVNULL)
    for task in ("maker", "reader", "third"):
        os.makedirs(f"{tree}/.kept", exist_ok=True)
        os.symlink("../.versions/v1", f"{tree}/.kept/{task}")
    os.makedirs(f"{tree}/shared/inter_task/reader", exist_ok=True)
    os.makedirs(f"{tree}/shared/inter_task/maker", exist_ok=True)
    os.makedirs(f"{tree}/shared/inter_task/third", exist_ok=True)
    with Client("tasks.yaml", agent="maker") as c, Client("tasks.yaml", agent="reader") as d, Client("tasks.yaml", agent="third") as t:
        got = c.call("hand_over", task="reader", paths=["files"])
        assert got["handed_over"] and got["path"] == f"{tree}/shared/inter_task/reader/maker", got
        assert d.call("read_text_file", path=f"{got['path']}/files/a") == "work\n"
        assert "read-only" in d.fails("write_file", path=f"{got['path']}/files/a", content="x")
        assert "does not name it" in c.fails("hand_over", task="third", paths=["files"])
        assert "does not name it" in d.fails("hand_over", task="maker", paths=["files"])
        with Person(BERTH) as p:
            p.type("4")
            for keys, title, word in ((("C",), "Stop the job", "does not name it"), (("Home", "Y"), "Allow: hand files over to the task third", "inter_task/third/maker")):
                n = c.begin("tools/call", name="hand_over", arguments={"task": "third", "paths": ["files/a"]})
                p.see("asks you")
                p.type(*keys)
                p.confirm(title)
                got = c.wait(n)["result"]
                assert word in got["content"][0]["text"], got
            # The same from the queue of all that waits, counted in the header; the row that was decided stays until the cursor moves.
            p.type("@")
            for keys, title, word in ((("C",), "Stop the job", "does not name it"), (("Down", "Y"), "Allow: hand files over to the task third", "inter_task/third/maker")):
                p.see("0 wait ")
                n = c.begin("tools/call", name="hand_over", arguments={"task": "third", "paths": ["files/a"]})
                seen = p.see("1 waits")
                assert "1 waiting" in seen.splitlines()[0] and "maker" in seen and "hand files over to the task third" in seen, seen
                p.type(*keys)
                p.confirm(title)
                got = c.wait(n)["result"]
                assert word in got["content"][0]["text"], got
        c.fails("hand_over", task="reader", paths=["../reader"])
        c.fails("hand_over", task="reader", paths=["--secrets", ".env"])
        with open(f"{tree}/tasks/maker/files/key", "w", encoding="utf-8") as out:
            out.write('password = "abcDEF123456ghi"\n')
        got = c.call("hand_over", task="reader", paths=["files"])
        assert not got["handed_over"] and got["secrets"][0]["path"] == "files/key", got
        got = c.call("list_shared")
        assert got["version"] == "v1" and [x["path"] for x in got["files"]] == ["templates/README.md"], got
        assert c.call("read_text_file", path=f"{tree}/shared/templates/README.md") == "# site\n"
        c.fails("write_file", path=f"{tree}/shared/templates/README.md", content="x")
        assert c.call("put_result", result="n", text="--shareable")["name"] == "n"
        assert "no \"*\"" in c.fails("put_result", result="m", text="x", shareable=True)
        c.fails("put_result", result="m")
        c.fails("put_result", result="../m", text="x")
        t.call("put_result", result="s", text="for all", shareable=True)
        t.call("put_result", result="where", path="files")
        assert [x["name"] for x in c.call("get_results")["results"]] == ["n", "s"]
        assert [x["text"] for x in c.call("get_results", result="n")["results"]] == ["--shareable"]
        assert [x["text"] for x in d.call("get_results", task="third")["results"]] == ["for all"]
        d.fails("get_results", task="third", result="where")
        d.fails("get_results", task="maker", result="n")
    # Other names each time do not fill the disk.
    os.remove(f"{tree}/tasks/maker/files/key")
    with open("small.set", "w", encoding="utf-8") as out:
        out.write("workspaces: {limit_bytes: 1m}\n")
    with Client("tasks.yaml", "--settings", "small.set", agent="maker") as c:
        for n in range(4):
            with open(f"{tree}/tasks/maker/files/big{n}", "wb") as out:
                out.write(bytes(400000))
            got = c.ask("tools/call", name="hand_over", arguments={"task": "reader", "paths": [f"files/big{n}"]})["result"]
            os.remove(f"{tree}/tasks/maker/files/big{n}")
            assert ("more than the limit of its workspace" in json.dumps(got)) == (n > 1), (n, got)
        held = sorted(os.listdir(f"{tree}/shared/inter_task/reader/maker/files"))
        assert held == ["a", "big0", "big1"], held

main()
