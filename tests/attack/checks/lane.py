"""lane.py - attacks on the lane from other containers: nobody but the host's own berth has a voice on it."""
import os
import shutil
import subprocess
import tempfile

from room import BERTH, attack, processes, wait_for

TEAM = """
agents:
  {alice}: {{image: 'attack:1', workspace: {top}/alice, memory: 64m, pids: 64, {more} context_paths: [{{path: {top}/both, permission: write}}], secrets: [key]}}
  {bob}: {{image: 'attack:1', workspace: {top}/bob, memory: 64m, pids: 64, {more} context_paths: [{{path: {top}/both, permission: write}}]}}
secrets: {{key: {{env: ATTACK_KEY}}}}
"""


class Two:
    """Alice and Bob, who write to one directory.  Their operator is root, or an ordinary user of their uid."""

    def __init__(self, room, name, sudo=False, operator=0):
        self.room, self.program_of_host = room, BERTH
        self.env, self.prefix = {"ATTACK_KEY": room.key}, []
        if operator:
            name = os.path.join(self.as_user(operator), name)
        self.top = room.workspace(name)
        self.alice, self.bob = (f"{room.tag}{os.path.basename(name)}{n}" for n in "ab")
        for who in ("alice", "bob", "both"):
            room.workspace(os.path.join(name, who))
        # root in there is the setuid copy of the program
        self.program = "/attack/suid" if sudo else "/attack/inside"
        self.file = room.write(name + "/team.yaml", TEAM.format(
            alice=self.alice, bob=self.bob, top=self.top, more="sudo: true," if sudo else ""))
        room.cleanups.append(lambda: self.berth("down", self.file))
        done = self.berth("up", self.file)
        assert done.code == 0, done

    def as_user(self, uid):
        """What this user needs lies in a folder that is his: the tests' own are closed to others."""
        run = tempfile.mkdtemp(prefix="r", dir="/tmp")
        self.room.cleanups.append(lambda: shutil.rmtree(run, True))
        door = run + "/engine.sock"
        os.link(self.room.engine.path, door)  # the engine's own directory is closed to others
        mode = os.stat(door).st_mode & 0o777
        os.chmod(door, 0o666)
        self.room.cleanups.append(lambda: os.chmod(self.room.engine.path, mode))
        os.chown(run, uid, uid)
        os.mkdir(run + "/bin")
        for program in ("berth", "berth-core", "berth-guest"):
            shutil.copy(os.path.join(os.path.dirname(BERTH), program), run + "/bin")
        self.program_of_host = run + "/bin/berth"
        self.prefix = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        self.env |= {"DOCKER_HOST": "unix://" + door, "HOME": run, "XDG_STATE_HOME": run + "/state",
                     "XDG_RUNTIME_DIR": run}
        return run

    def command(self, *args):
        return (*self.prefix[1:], self.program_of_host, *args) if self.prefix else args

    def berth(self, *args, **more):
        return self.room.berth(*self.command(*args), program=self.prefix[0] if self.prefix else None, env=self.env, **more)

    def popen(self, *args):
        return self.room.popen(*self.command(*args), program=self.prefix[0] if self.prefix else None, env=self.env)

    def inside(self, who, *words, **more):
        return self.berth("exec", who, "--", self.program, *words, **more)

    def judge(self, name, done):
        lines = done.out.decode().splitlines()
        self.room.finding(name, done.code == 0 and lines, f"{done!r}")
        for line in lines:
            _, verdict, text = line.split(" ", 2)
            self.room.findings.append((name, verdict, text))

    def steal(self, name):
        """Alice gives Bob all she has; Bob speaks as the host would."""
        mark = self.top + "/both/mark"
        bob = self.popen("exec", self.bob, "--", self.program, "lane", "take", self.top + "/both/s", mark)
        assert bob.stdout.readline() == b"ready\n", bob.communicate()
        given = self.inside(self.alice, "lane", "give", self.top + "/both/s")
        self.judge(name, given)
        out, err = bob.communicate(timeout=120)
        done = type(given)(bob.returncode, out, err, 0)
        self.judge(name, done)
        self.room.finding(name, not os.path.exists(mark), "no command of Bob's ran in Alice's container")


@attack("lane-by-a-sibling")
def by_a_sibling(room):
    Two(room, "u", operator=1000).steal("lane-by-a-sibling")


@attack("lane-by-a-sibling-of-root", "lane-root-inside")
def by_a_sibling_of_root(room):
    """Root's own lane, and root inside, where sudo is allowed."""
    two = Two(room, "r", sudo=True)
    two.steal("lane-by-a-sibling-of-root")
    # Root in there cannot get the init's own out of the way, so nobody is led elsewhere when it starts again.
    name = "lane-root-inside"
    two.judge(name, two.inside(two.alice, "guest", "own"))
    status, _ = room.engine.ask("POST", f"/containers/berth-{two.alice}/restart?t=5")
    done = two.berth("up", "--json", two.file)
    again = {a["agent"]: a.get("offered_again") for a in done.json["agents"]} if done.code == 0 else {}
    room.finding(name, status == 204 and again.get(two.alice), f"and is offered its lane again: {done!r}")


@attack("lane-boot-race")
def boot_race(room):
    """Commands of the operator's own `docker exec` are there before a restarted container gets its lane: they want it."""
    name = "lane-boot-race"
    two = Two(room, "k")
    container = "berth-" + two.alice
    status, _ = room.engine.ask("POST", f"/containers/{container}/restart?t=5")
    room.finding(name, status == 204, "it was started again")
    knockers = [subprocess.Popen(["docker", "-H", room.engine.url, "exec", "-u", "1000:1000", container, "/attack/inside", "lane",
                                  "knock", "1000", "/.berth"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    wait_for(lambda: len(processes(room.id_of(two.alice))) == 5)
    done = two.berth("up", "--json", two.file)
    again = [a for a in done.json["agents"] if a["agent"] == two.alice] if done.code == 0 else []
    room.finding(name, again and again[0]["offered_again"], f"its init got its lane: {done!r}")
    done = two.inside(two.alice, "lane", "stop")
    two.judge(name, done)
    for knocker in knockers:
        out, err = knocker.communicate(timeout=120)
        room.finding(name, out.startswith(b"0 held") and b" 0 knocks" not in out, f"{out!r} {err!r}")
    done = two.berth("exec", two.alice, "--", "cat", "/run/secrets/key")
    room.finding(name, done.out == room.key.encode(), f"and its secrets: {done!r}")
