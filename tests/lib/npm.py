"""npm.py - programs from npm that tests compare with or are driven by, kept in BERTH_TEST_CACHE for later runs.

Where npm is missing or does not answer soon, a test of them is skipped with that reason.
"""
import os
import shutil
import subprocess

NODE = "22.23.3"  # what the clients and the suites need is newer than Debian's
PROBE, INSTALL = 20, 120  # seconds
REGISTRY = ["--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts", "--fetch-retries=0", f"--fetch-timeout={PROBE * 1000}"]


def run(words, place, seconds):
    """(its output, None) or (None, why not)."""
    env = dict(os.environ)
    if env.get("BERTH_TEST_PROXY"):
        env["http_proxy"] = env["https_proxy"] = env["BERTH_TEST_PROXY"]
    try:
        done = subprocess.run(["npm", *words, *REGISTRY], cwd=place, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=seconds, check=False)
    except FileNotFoundError:
        return None, "npm is not installed here"
    except subprocess.TimeoutExpired:
        return None, f"npm {words[0]} took more than {seconds} s"
    return (done.stdout, None) if done.returncode == 0 else (None, f"npm {words[0]}: {(done.stderr.strip().splitlines() or ['?'])[0]}")


def install(name, *packages, probe=PROBE):
    """(a folder with node_modules, None) or (None, why not); each of `packages` as NAME@VERSION."""
    kept = os.path.join(os.environ["BERTH_TEST_CACHE"], name)
    if os.path.isdir(kept):
        return kept, None
    made = os.path.join(os.environ["TMPDIR"], f"npm-{name}")
    os.mkdir(made)
    _, why = run(["view", packages[0], "version"], made, probe)
    if not why:
        _, why = run(["install", *packages], made, INSTALL)
    if why:
        return None, why
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    new = f"{kept}.new-{os.getpid()}"
    shutil.move(made, new)
    try:
        os.rename(new, kept)
    except OSError:  # another run was faster
        shutil.rmtree(new)
    return kept, None


def node():
    """(the program, None) or (None, why not)."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine)
    if not machine:
        return None, f"npm has no node for {os.uname().machine}"
    package = f"node-linux-{machine}"
    place, why = install(f"node-{NODE}", f"{package}@{NODE}")
    return (f"{place}/node_modules/{package}/bin/node", None) if place else (None, why)
