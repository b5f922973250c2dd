#!/usr/bin/env python3
# config.py - `berth config check`: every error of a file with its place, what definitions become, the examples.
import glob
import json
import os
import subprocess
import sys

berth, source = os.environ["BERTH"], os.environ["SRC"]
os.chdir(os.environ["TMPDIR"])
failed = 0


def check(file, *options):
    done = subprocess.run([berth, "config", "check", *options, file], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def document(file):
    status, out, _ = check(file, "--json")
    fits = subprocess.run([sys.executable, f"{source}/tests/lib/schema.py",
                           f"{source}/tests/data/schema/config_check.json"], input=out, capture_output=True, text=True)
    expect(f"{os.path.basename(file)} fits its schema", fits.returncode == 0, fits.stdout + fits.stderr + out)
    return status, json.loads(out)


def expect(name, good, why=""):
    global failed
    print("ok" if good else "not ok", name)
    if not good:
        failed = 1
        print("# " + str(why).replace("\n", "\n# "))


def write(name, text):
    with open(name, "w") as f:
        f.write(text)
    os.chmod(name, 0o644)
    return name


os.makedirs("work", exist_ok=True)
os.chmod("work", 0o777)
# Modes are no part of a source archive's promise: unpacked by root it is writable by the group.
subprocess.run(["sh", "-c", 'cp -r "$SRC/configs" . && chmod -R go-w configs'], check=True)

# All errors at once, each at its own place.
status, out, err = check(write("wrong.yaml", """agents:
  one:
    workspace: ./work
    memroy: 2g
    cpus: many
    network: bridg
    context_paths:
      - path: ./docs
        permision: write
  two words:
    workspace: ./work
  three: {imag: x}
custom_tools:
  t: {image: x, script: y, isolation: {netwrok: none}}
polcy: {}
"""))
places = ["wrong.yaml:4:5: unknown key \"memroy\"; did you mean \"memory\"?", "wrong.yaml:5:11:",
          "wrong.yaml:6:14:", "wrong.yaml:9:9: unknown key \"permision\"; did you mean \"permission\"?",
          "wrong.yaml:10:3:", "wrong.yaml:12:11: unknown key \"imag\"; did you mean \"image\"?",
          "wrong.yaml:14:40: unknown key \"netwrok\"; did you mean \"network\"?",
          "wrong.yaml:15:1: unknown key \"polcy\"; did you mean \"policy\"?"]
expect("wrong files end with 2", status == 2 and not out, out)
for place in places:
    expect(place[:40], f"berth: {place}" in err, err)

status, doc = document("wrong.yaml")
expect("the JSON has the same", status == 2 and not doc["ok"] and len(doc["problems"]) == len(err.splitlines()) and
       {"line": 4, "column": 5, "problem": 'unknown key "memroy"; did you mean "memory"?'} in doc["problems"], doc)

# References that lead nowhere are all said.
status, _, err = check(write("refs.yaml", """agents:
  a: {workspace: ./work, network: {internal: nowhere}, secrets: [x, y]}
networks:
  n: {members: [a, b]}
"""))
expect("references", status == 2 and all(w in err for w in ("network nowhere", "secret x", "secret y", "member b")), err)

# Settings: each error of berth.yaml, at every level.
status, _, err = check(write("settings.yaml", """hz: 99
colour: x
logs: {tail: x, bufer: 1m}
columns: [name, [], cpu]
alerts:
  - {when: "nothing > 1"}
  - {bell: 1, again: 2}
commands: [{name: a b, run: x}, x]
hosts: [{secrets: maybe}]
keys: {nothing: Q}
theme: nowhere
sort: nothing
"""))
for place in ("1:5:", "2:1:", "3:14:", "3:17:", "4:17:", "6:", "7:12:", "7:15:", "8:12:", "8:33:", "9:19:", "10:", "11:8:", "12:7:"):
    expect(f"settings.yaml:{place}", f"berth: settings.yaml:{place}" in err, err)
expect("and no other", status == 2 and len(err.splitlines()) == 14, err)

# A benchmark suite is checked as one, by either command.
suite = write("suite.yaml", "benchmarks:\n  file_operations:\n    - test: read_files_parallel\n")
status, out, err = check(suite)
expect("a suite file", status == 0 and "a benchmark suite, nothing wrong" in out and not err, out + err)
status, doc = document(suite)
expect("and as JSON", status == 0 and doc["kind"] == "a benchmark suite" and doc["ok"], doc)
broken = write("broken.yaml", """benchmarks:
  file_operations:
    - test: read_filez_parallel
    - test: read_files_parallel
      repetitions: 0
  mine: {}
""")
status, _, err = check(broken)
expect("a broken suite", status == 2 and all(f"berth: broken.yaml:{at}:" in err for at in ("3:13", "5:20", "6:9")), err)
done = subprocess.run([berth, "bench", "check", broken], capture_output=True, text=True, timeout=60)
expect("`bench check` says the same", (done.returncode, done.stderr) == (2, err), done)

# A part of a MassGen file is not judged as berth's settings, nor what is no file of berth's at all.
status, _, err = check(write("part.yaml", "command_line_docker_image: box:1\n"))
expect("a part of a MassGen file", status == 2 and "MassGen" in err and "theme" not in err, err)
status, _, err = check(write("limits.yaml", "gemini-2.5: {rpm: 7}\n"))
expect("a file of something else", status == 2 and "gemini-2.5" in err and "unknown" in err and len(err.splitlines()) == 1, err)
status, _, err = check(write("misspelt.yaml", "them: dark\n"))
expect("misspelt settings are settings", status == 2 and 'did you mean "theme"?' in err, err)

# MassGen: misspelt keys are errors, all of them; others are listed with their lines.
status, _, err = check(write("massgen.yaml", """agents:
  - id: a
    backend:
      cwd: work
      enable_mcp_comand_line: true
      command_line_docker_memroy_limit: 2g
  - id: b
    backend: {cwd: work, command_line_exec_mode: docker}
"""))
expect("MassGen's errors", status == 2 and "massgen.yaml:5:7:" in err and "massgen.yaml:6:7:" in err and
       "did you mean command_line_execution_mode?" in err, err)
status, out, _ = check("configs/massgen.yaml", "--verbose")
expect("ignored keys have their lines", status == 0 and ":7:7: ignored: agents[0].backend.type" in out, out)
status, out, _ = check("configs/massgen.yaml")
expect("or are one line", status == 0 and "keys of MassGen's are ignored" in out and
       out.count("--verbose lists them") == 1 and "ignored: " not in out, out)

# MassGen's smallest files: no id, no mode, an agent without files.
status, doc = document(write("smallest.yaml", """agents:
  - backend: {type: gemini, cwd: work, enable_mcp_command_line: true}
  - backend: {type: openai}
  - backend: {type: openai, cwd: work}
"""))
said = {i["key"]: i["why"] for i in doc["ignored"]}
expect("what is tighter than in MassGen is listed", any(t.startswith("memory 2.0G without") for t in doc["tighter"]) and
       "read-only root" in doc["tighter"] and "no capabilities" in doc["tighter"], doc["tighter"])
status, out, _ = check("smallest.yaml")
expect("once", out.count("tighter than MassGen: memory 2.0G without command_line_docker_memory_limit, ") == 1, out)
LIMITS = "command_line_docker_memory_limit: 2g, command_line_docker_cpu_limit: 2, command_line_docker_enable_sudo: true"
status, limited = document(write("limited.yaml", f"agents: [{{id: a, backend: {{cwd: work, {LIMITS}}}}}]\n"))
expect("without what the file sets", status == 0 and not any(w in t for t in limited["tighter"] for w in
       ("memory", "CPUs", "root", "privileges")) and "256 processes" in limited["tighter"], limited["tighter"])
expect("nothing is in a file of berth's", not document("configs/team.yaml")[1]["tighter"])
expect("agents without id are numbered, those without cwd left out", status == 0 and
       [d["container"] for d in doc["definitions"]] == ["massgen-agent1", "massgen-agent3"] and
       "no backend.cwd" in said["agents[1]"], doc)
expect("what is done in another way than MassGen's is said",
       "on the host" in said["agents[0].backend.command_line_execution_mode"] and
       "runs no commands" in said["agents[2].backend.enable_mcp_command_line"] and
       said["agents[0].backend.type"] is None, doc)
IDLE = "agents: [{id: a, backend: {type: openai, mcp_servers: [{name: x, command: npx}], custom_tools: [{name: [f]}]}}]\n"
status, out, err = check(write("idle.yaml", IDLE))
expect("a file without any workspace is valid", status == 0 and out.endswith("nothing wrong; no containers needed\n"), (out, err))
expect("what it has is said to be used or not", "mcp_servers: MassGen starts these" in out and "custom_tools: MassGen calls these" in out, out)
status, doc = document("idle.yaml")
expect("and as JSON", status == 0 and doc["ok"] and not doc["definitions"], doc)
for command, want, words in ((["up", "idle.yaml"], 0, "no agent needs a container"), (["down", "idle.yaml"], 0, ""),
                             (["-c", "idle.yaml", "mcp"], 2, "no agent with backend.cwd"),
                             (["-c", "idle.yaml", "mcp", "--agent", "a"], 2, "no agent a with backend.cwd")):
    done = subprocess.run([berth, *command], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    expect(" ".join(command), done.returncode == want and words in done.stdout + done.stderr, done)

# A project that its only agent may write, with the file in it: that, and what leads to it, stays where it is.
os.makedirs("project/configs/deep", exist_ok=True)
os.makedirs("project/ws", exist_ok=True)
os.chmod("project/ws", 0o777)
for d in ("project", "project/configs", "project/configs/deep"):
    os.chmod(d, 0o755)
write("project/configs/deep/team.yaml", """agent: {id: a, backend: {cwd: project/ws}}
orchestrator: {context_paths: [{path: project, permission: write}]}
""")
status, doc = document("project/configs/deep/team.yaml")
here = os.path.realpath("project")
mounts = {m["source"]: (m["read_only"], m["what"]) for m in doc["definitions"][0]["mounts"]} if doc["definitions"] else {}
expect("the file is protected in place", status == 0 and mounts.get(f"{here}/configs/deep/team.yaml") == (True, "protected"), doc)
expect("and what leads to it cannot be moved", mounts.get(f"{here}/configs") == mounts.get(f"{here}/configs/deep") ==
       (False, "leads to a protected path"), mounts)

status, doc = document(write("limits.yaml", "gemini:\n  gemini-2.5-pro: {rpm: 2, tpm: 120000}\n  default: {rpd: 100}\n"))
expect("rate limits are called that", status == 2 and doc["kind"] == "rate limits" and
       "it is not a team file" in doc["problems"][0]["problem"], doc)

# Who can write what another one sees has the other's egress, too.
for d in ("shared", "apart", "own"):
    os.makedirs(d, exist_ok=True)
    os.chmod(d, 0o755)
SHARED = """agents:
  out: {workspace: ./shared, network: {allow: [pypi.org]}}
  below: {workspace: ./shared}
  reads: {workspace: ./own, context_paths: [{path: ./shared, permission: read}]}
  apart: {workspace: ./apart, network: {allow: [pypi.org]}, context_paths: [{path: ./docs, permission: read}]}
  both: {workspace: ./own, context_paths: [{path: ./docs, permission: read}]}
"""
os.makedirs("docs", exist_ok=True)
status, doc = document(write("shared.yaml", SHARED))
said = [i for i in doc["ignored"]]
expect("agents that share a writable path", status == 0 and [i["key"] for i in said] == ["agents.out.network"] and
       said[0]["line"] == 2 and "out shares /" in said[0]["why"] and "with below, reads: " in said[0]["why"] and
       said[0]["why"].endswith("agents that share a writable path share their egress"), doc["ignored"])
status, out, _ = check("shared.yaml")
expect("and as text", status == 0 and "shared.yaml:2:3: agents.out.network: out shares /" in out, out)
NETS = {"host": "{host: true, allow: [pypi.org]}", "bridge": "{allow: [pypi.org], bridge: x}", "internal": "{internal: team, allow: [pypi.org]}",
        "macvlan": "{macvlan: eth0, routes: {}}", "ipvlan": "{deny: [x.org], ipvlan: eth0}", "driver": "{driver: macvlan, allow: [pypi.org]}",
        "mode": "{mode: host, allow: [pypi.org]}"}
for word, network in NETS.items():
    status, out, err = check(write("ways.yaml", f"agents:\n  a: {{workspace: ./work, network: {network}}}\nnetworks:\n  team: {{members: [a]}}\n"))
    expect(f"no {word} beside egress rules", status == 2 and f"{word}: with allow:, deny: or routes: would be a way past these rules" in err, err)
for word in ("macvlan", "ipvlan"):
    status, out, err = check(write("ways.yaml", f"agents:\n  a: {{workspace: ./work, network: {word}}}\n"))
    expect(f"no {word}", status == 2 and f"berth makes no {word} networks" in err, err)
status, doc = document(write("unshared.yaml", SHARED.replace(", network: {allow: [pypi.org]}", "")))
expect("without egress nothing is said", status == 0 and not doc["ignored"], (status, doc))
done = subprocess.run([berth, "-H", f"unix://{os.getcwd()}/none.sock", "up", "shared.yaml"], capture_output=True, text=True, timeout=60)
expect("up says so, too", done.returncode == 3 and "agents.out.network: out shares /" in done.stderr, done)

# What a definition becomes.
status, doc = document(write("good.yaml", """agents:
  plain: {workspace: ./work, image: "box:1", memory: 128m, pids: 99}
  loose: {workspace: ./work, sudo: true, network: bridge}
custom_tools:
  t: {image: "box:1", script: "true"}
"""))
plain, loose, tool = doc["definitions"]
uid = os.stat("work").st_uid or 1000
expect("a plain agent", status == 0 and doc["ok"] and plain["image"] == "box:1" and plain["uid"] == uid and
       plain["limits"]["memory_bytes"] == 128 << 20 and plain["limits"]["pids"] == 99 and
       plain["network"] == "none" and plain["capabilities"] == [] and not plain["new_privileges"] and
       plain["read_only_root"] and plain["loosened"] == [] and plain["container"] == "berth-plain", plain)
expect("its mounts", {"source": os.path.realpath("work"), "target": os.path.realpath("work"), "read_only": False,
                      "what": "workspace"} in plain["mounts"], plain["mounts"])
expect("a loosened one says why", "CHOWN" in loose["capabilities"] and loose["new_privileges"] and
       loose["uid"] == uid and {"sudo is requested", "network: bridge"} == {i["because"] for i in loose["loosened"]}, loose)
status, doc = document(write("own.yaml", """agents:
  own: {workspace: ./work, network: {allow: [pypi.org, {host: "host.docker.internal:8443", tls: true}, "127.0.0.1:80"]}}
  wide: {workspace: ./work, network: {allow: ["*.docker.internal:80"], deny: ["host.docker.internal:22"]}}
  not: {workspace: ./work, network: {allow: [pypi.org], deny: ["host.docker.internal:22"]}}
"""))
because = [[i["because"] for i in d["loosened"]] for d in doc["definitions"]]
expect("the host's own loopback is loosened", status == 0 and because ==
       [["network: allow: tls://host.docker.internal:8443"], ["network: allow: *.docker.internal:80"], []] and
       "the host's loopback" in doc["definitions"][0]["loosened"][0]["what"], doc)
expect("a tool", tool["kind"] == "tool" and tool["uid"] == 1000 and tool["container"] is None, tool)

# What no machine will ever do is wrong; what is not there yet is a note.
status, out, err = check(write("never.yaml", """agents:
  a:
    workspace: ./work
    context_paths: [{path: /etc}, {path: ./later}]
  b:
    workspace: ./work
    context_paths: [{path: /etc/not-there-yet}]
"""))
expect("a path that is never mounted", status == 2 and "never.yaml:2:3:" in err and "/etc " in err, err)
expect("nor when it is not there yet", "never.yaml:5:3:" in err and "/etc/not-there-yet belongs to the system" in err, err)
expect("one that is not there yet", "later" in out and "does not exist yet" in out and "later" not in err, out)

# Check and up have one judge: no advice to give away what is never mounted, and what up takes check takes.
os.makedirs("grant/deep", exist_ok=True)
os.symlink("loop", "loop")
write("plain-file", "x")
status, out, err = check(write("judge.yaml", """agents:
  etc: {workspace: /etc}
  root: {workspace: /}
  file: {workspace: ./plain-file}
  loop: {workspace: ./loop}
"""))
expect("the system is not to be given away", status == 2 and "chown" not in out + err and "/etc belongs to the system" in err and
       "/ is not mounted" in err, out + err)
expect("a file is not a workspace", "plain-file of file is not a directory; name one" in err, err)
expect("nor is a loop", "symbolic links" in err and "mkdir" not in out + err, out + err)
status, out, err = check(write("fits.yaml", """agents:
  a:
    workspace: ./work
    cpus: 1000
    memory: 100m
    tmp: 80m
    context_paths: [{path: ./grant, permission: write, protected_paths: [deep]}]
"""))
expect("what is protected inside of a grant passes", "could be swapped" not in out + err, out + err)
expect("more cores than there are", "1000 CPUs are more than" in out and "80M was requested, it gets 50M" in out, out + err)

# The file of a tool, and lines that set nothing.
write("there.sh", "echo\n")
os.chmod(write("secret.sh", "echo\n"), 0o600)
status, doc = document(write("scripts.yaml", """agents:
  a: {workspace: ./work, credentials: {env_file: ./env}, context_paths: [{path: ./grant, permission: write}]}
custom_tools:
  there: {image: x, script: ./there.sh}
  missing: {image: x, script: ./missing.sh}
  secret: {image: x, script: ./secret.sh}
  folder: {image: x, script: ./grant/deep.sh}
  inside: {image: x, script: ./grant/own.sh}
"""))
os.makedirs("grant/deep.sh", exist_ok=True)
write("grant/own.sh", "echo\n")
write("env", "A=1\n# B\n\nhunter2\n")
status, doc = document("scripts.yaml")
problems = {p["line"]: p["problem"] for p in doc["problems"]}
expect("scripts that cannot be", status == 2 and sorted(problems) == [5, 6, 7, 8] and "missing.sh" in problems[5] and
       ("chmod o+r" in problems[6] or os.geteuid() == 1000) and "is writable from inside" in problems[8], doc["problems"])
expect("one that can", any(m["target"] == "/tool/there.sh" and m["read_only"] and m["source"] == os.path.realpath("there.sh")
                           for m in doc["definitions"][1]["mounts"]), doc)
expect("a line without =, by its number", any("env:4: this line is not NAME=value" in n for n in doc["definitions"][0]["notes"]) and
       "hunter2" not in str(doc), doc["definitions"][0]["notes"])

# Hostile text stays text.
status, _, err = check(write("evil.yaml", "agents:\n  \"\\e[31m\\a\": {workspace: ./work}\n"))
expect("escapes are shown, not obeyed", status == 2 and "\x1b" not in err and "\a" not in err, repr(err))

# Also of what is no YAML there is a document.
status, doc = document(write("broken.yaml", "agents: [a\n"))
expect("broken YAML as JSON", status == 2 and doc["kind"] == "unknown" and not doc["ok"] and
       "not valid YAML" in doc["problems"][0]["problem"], doc)

examples = sorted(glob.glob("configs/examples/*.yaml")) + ["configs/team.yaml", "configs/demo.yaml"]
expect("there are examples", len(examples) > 10, examples)
for example in examples:
    status, doc = document(example)
    expect(os.path.basename(example), status == 0 and doc["ok"] and doc["definitions"], doc["problems"])

sys.exit(failed)
