#!/usr/bin/python3
"""doctor.py - `berth doctor` says what works here, and what to do about what does not."""
import json
import os
import tempfile

from scenario import Fake, berth, case, case_of_patience, main, neutral


@case
def doctor_with_engine():
    with Fake(version="20.10.24") as fake:
        result = berth("doctor", "--json", fake=fake)
        document = result.json()
        assert document["schema"] == "berth.doctor/1", document
        engine = next(c for c in document["checks"] if c["name"] == "engine")
        assert "20.10.24" in str(engine) and fake.url in str(engine), engine
        text = berth("doctor", fake=fake)
        assert text.code == result.code
        neutral(text.out)
        assert b"20.10.24" in text.out


@case
def doctor_without_engine():
    result = berth("-H", "unix:///nonexistent/e.sock", "doctor", "--json")
    assert result.code == 1, result.code
    engine = next(c for c in result.json()["checks"] if c["name"] == "engine")
    assert "/nonexistent/e.sock" in str(engine), engine
    assert any("remedy" in key and engine[key] for key in engine), engine


@case
def doctor_broken_engine():
    for fault in ({"do": "reset"}, {"do": "body", "body": "{"}, {"do": "status", "status": 500}):
        with Fake(faults=[{"match": "info|version|json", **fault}]) as fake:
            result = berth("doctor", fake=fake)
            assert result.code in (0, 1), result.code
            neutral(result.out)


@case_of_patience
def doctor_of_an_engine_that_does_not_say_what_it_is():
    """It lists its containers, and that is not enough to call it well."""
    with Fake(faults=[{"match": "/info", "do": "hang"}]) as fake:
        result = berth("doctor", "--json", fake=fake)
        engine = next(c for c in result.json()["checks"] if c["name"] == "engine")
        assert result.code == 1 and engine["state"] == "missing" and "answer" in engine["found"], engine
        berth("ps", fake=fake).fails_with(3, "answer")


@case
def doctor_tells_whether_clients_can_start_the_server():
    here = os.path.dirname(os.environ["BERTH"])
    for path, state, found in ((f"{here}:{os.environ['PATH']}", "ok", f"{here}/berth"), ("/nonexistent", "note", "not in PATH")):
        result = berth("-H", "unix:///nonexistent/e.sock", "doctor", "--json", env={"PATH": path})
        mcp = next(c for c in result.json()["checks"] if c["name"] == "mcp")
        assert mcp["state"] == state and found in mcp["found"], (path, mcp)
        assert bool(mcp["remedy"]) == (state == "note"), mcp


def asked(where, *words, path=None):
    """What doctor finds of the server, asked in that directory."""
    here = os.path.dirname(os.environ["BERTH"])
    result = berth("-H", "unix:///nonexistent/e.sock", *words, "doctor", "--json", cwd=where, env={"PATH": path or f"{here}:{os.environ['PATH']}"})
    return next(c for c in result.json()["checks"] if c["name"] == "mcp")


@case
def doctor_starts_the_server_as_clients_are_configured_to():
    with tempfile.TemporaryDirectory(dir=os.environ["TMPDIR"]) as top:
        os.mkdir(f"{top}/ws")
        with open(f"{top}/team.yaml", "w", encoding="utf-8") as f:
            f.write("agents:\n  one: {image: 'box:1', workspace: ./ws}\n  two: {image: 'box:1', workspace: ./none}\n")
        spy = f"{top}/berth"
        with open(spy, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\necho ran >>{top}/ran\n")
        os.chmod(spy, 0o755)
        good = ["-c", "team.yaml", "mcp", "--agent", "one"]
        for file, document in ((".mcp.json", {"mcpServers": {"b": {"command": "berth", "args": good}}}),
                               (".cursor/mcp.json", {"mcpServers": {"b": {"command": os.environ["BERTH"], "args": good}}}),
                               (".gemini/settings.json", {"theme": 1, "mcpServers": {"b": {"command": "berth", "args": ["mcp", "--operator"]}}}),
                               (".vscode/mcp.json", {"servers": {"b": {"type": "stdio", "command": "berth", "args": good}}}),
                               ("opencode.json", {"mcp": {"b": {"type": "local", "command": ["berth", *good]}}})):
            os.makedirs(os.path.dirname(f"{top}/{file}"), exist_ok=True)
            with open(f"{top}/{file}", "w", encoding="utf-8") as f:
                json.dump(document, f)
            mcp = asked(top)
            assert mcp["state"] == "ok" and mcp["remedy"] is None, mcp
            assert file in mcp["found"] and "the server answers" in mcp["found"], mcp
            os.unlink(f"{top}/{file}")
        assert "the server answers" in asked(top, "-c", "team.yaml")["found"]
        # Entries after which the client has no server, with the word that says why.
        for command, args, why in (("berth", ["-c", "none.yaml", *good[2:]], "none.yaml"), ("berth", good[:-1] + ["three"], "three"),
                                   ("berth", good[:-1] + ["two"], "none"), ("berth", good + ["--tools", "x"], "--tools"),
                                   (f"{top}/no/berth", good, "is not this berth"), (spy, good, "is not this berth")):
            with open(f"{top}/.mcp.json", "w", encoding="utf-8") as f:
                json.dump({"mcpServers": {"b": {"command": command, "args": args}}}, f)
            mcp = asked(top)
            assert mcp["state"] == "note" and mcp["remedy"] and ".mcp.json" in mcp["found"] and why in mcp["found"], (command, args, mcp)
        with open(f"{top}/.mcp.json", "w", encoding="utf-8") as f:
            json.dump({"mcpServers": {"b": {"command": "berth", "args": good}}}, f)
        assert "not in PATH" in asked(top, path="/nonexistent")["found"]
        # What comes with a repository starts nothing else: neither another program nor another command.
        for command, args in (("sh", ["-c", f"touch {top}/ran"]), (spy, ["x"]), ("berth", ["-c", "team.yaml", "down"]), ("berth", good + ["mcp"]),
                              ("berth", ["files", "write", f"{top}/ran", "--agent", "mcp"]), ("berth", ["mcp", "--agent"]), (["berth"], good)):
            with open(f"{top}/.mcp.json", "w", encoding="utf-8") as f:
                json.dump({"mcpServers": {"b": {"command": command, "args": args}, "c": 1}}, f)
            mcp = asked(top)
            assert (command == ["berth"]) == ("the server answers" in mcp["found"]), (command, args, mcp)
            assert ("clients can start" in mcp["found"]) == (command != ["berth"]), (command, args, mcp)
        with open(f"{top}/.mcp.json", "w", encoding="utf-8") as f:
            f.write("{")
        assert "clients can start" in asked(top)["found"]
        assert not os.path.exists(f"{top}/ran")


main()
