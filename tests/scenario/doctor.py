#!/usr/bin/python3
"""doctor.py - `berth doctor` says what works here, and what to do about what does not."""
import os

from scenario import Fake, berth, case, main, neutral


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


@case
def doctor_tells_whether_clients_can_start_the_server():
    here = os.path.dirname(os.environ["BERTH"])
    for path, state, found in ((f"{here}:{os.environ['PATH']}", "ok", f"{here}/berth"), ("/nonexistent", "note", "not in PATH")):
        result = berth("-H", "unix:///nonexistent/e.sock", "doctor", "--json", env={"PATH": path})
        mcp = next(c for c in result.json()["checks"] if c["name"] == "mcp")
        assert mcp["state"] == state and found in mcp["found"], (path, mcp)
        assert bool(mcp["remedy"]) == (state == "note"), mcp


main()
