#!/usr/bin/python3
"""state_folder.py - a state directory that `chmod -R` or a backup opened: every verb names it, its mode and the command that puts it right."""
import os
import re
import subprocess

from scenario import Fake, berth, case, main

HOME = os.environ["TMPDIR"]
STATE = os.path.join(HOME, "state", "berth")
ENV = {"XDG_STATE_HOME": os.path.dirname(STATE), "XDG_DATA_HOME": os.path.join(HOME, "data")}
VERBS = (["ps"], ["logs", "x"], ["up", "team.yaml"], ["down", "team.yaml"], ["clean", "--yes"], ["audit", "list"], ["audit", "verify"], ["undo"],
         ["engine", "status"], ["net", "list", "a"], ["journal", "a"], ["tool", "list"], ["files", "write", "x"], ["image", "list"],
         ["workspace", "list"], ["report"], ["config", "check", "team.yaml"], ["doctor"], ["help"], ["names", "containers"])
FREE = ("config", "doctor", "help", "names")  # no use for it, or they report it as one of many things


def open_state(path, mode):
    berth("files", "write", "x", env=ENV, cwd=HOME)  # makes it
    os.makedirs(os.path.join(STATE, "sessions"), mode=0o700, exist_ok=True)
    os.chmod(os.path.join(STATE, path), mode)


@case
def every_verb_says_it():
    with open("team.yaml", "w", encoding="utf-8") as f:
        f.write("agents:\n  a: {image: 'box:1', workspace: ./ws}\n")
    os.makedirs("ws", exist_ok=True)
    os.chmod("team.yaml", 0o600)
    with Fake() as fake:
        for path, mode, shown in (("sessions", 0o755, "0755"), ("", 0o777, "0777"), ("changes", 0o750, "0750"), ("audit/key", 0o644, "0644")):
            open_state(path, mode)
            name = os.path.join(STATE, path).rstrip("/")
            for words in VERBS:
                result = berth(*words, fake=fake, env=ENV)
                if words[0] in FREE:
                    assert words[0] == "doctor" or result.code == 0, (words, result.err)
                    assert (f"{name} is accessible to other users (mode {shown})" in result.out.decode()) == (words[0] == "doctor"), (words, result.out)
                else:
                    result.fails_with(4, f"{name} is accessible to other users (mode {shown}): run find {STATE} ")
            result = berth("check", fake=fake, env=ENV)
            assert result.code == 3 and b"is accessible to other users" in result.out, result.out
            line = berth("ps", fake=fake, env=ENV).err.decode()
            subprocess.run(re.search(r": run (find .*)\n", line)[1].rstrip("."), shell=True, check=True)
            assert berth("ps", fake=fake, env=ENV).code == 0
            assert berth("audit", "verify", env=ENV).code == 0


@case
def the_folder_of_workspaces_too():
    assert berth("workspace", "create", "task", "one", env=ENV).code == 0
    folder = os.path.join(ENV["XDG_DATA_HOME"], "berth", "workspaces")
    os.chmod(folder, 0o755)
    result = berth("workspace", "list", env=ENV)
    result.fails_with(4, f"{folder} is accessible to other users (mode 0755): run chmod 700 {folder}")


main()
