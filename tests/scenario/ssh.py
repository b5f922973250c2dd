#!/usr/bin/python3
"""ssh.py - engines behind ssh, with a fake ssh in its place: what reaches it, what it leaves behind, whom it delays."""
import contextlib
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time

from scenario import BERTH, HERE, SANITIZER, Fake, berth, case, case_of_patience, main, script, wait_for

sys.path.insert(0, os.path.join(HERE, "../lib"))
from person import Person  # noqa: E402

SECRET = "hush-5f2c"


class Ssh:
    """A fake ssh in PATH, and berth.yaml with hosts by name; a socket there is the fake engine's."""

    def __init__(self, place):
        self.place = place
        self.log = os.path.join(place, "log")
        self.settings = os.path.join(place, "berth.yaml")
        for name in ("bin", "r", "state"):
            os.mkdir(os.path.join(place, name), 0o700)
        shutil.copy(os.path.join(HERE, "../lib/fake_ssh.py"), os.path.join(place, "bin/ssh"))
        os.chmod(os.path.join(place, "bin/ssh"), 0o755)
        self.env = {"PATH": os.path.join(place, "bin") + ":" + os.environ["PATH"], "FAKE_SSH": self.log, "SECRET": SECRET,
                    "XDG_RUNTIME_DIR": os.path.join(place, "r"), "XDG_STATE_HOME": os.path.join(place, "state")}
        self.knows()

    def knows(self, **hosts):
        with open(self.settings, "w", encoding="utf-8") as f:
            f.write("hosts:\n" + "".join(f"  - {{name: {name}, endpoint: \"{url}\"}}\n" for name, url in hosts.items()))

    def lines(self, what=""):
        """[pid, what, arguments, time] of all that ssh did."""
        with contextlib.suppress(FileNotFoundError), open(self.log, encoding="utf-8") as f:
            return [entry for entry in map(json.loads, f.read().splitlines()) if what in ("", entry[1])]
        return []

    def alive(self):
        return [entry for entry in self.lines() if os.path.exists(f"/proc/{entry[0]}/cmdline") and self.log_of(entry[0])]

    def log_of(self, pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as f:
            return self.log.encode() in f.read()
        return False

    def connecting(self):
        return len(self.lines("child")) >= 2

    def start(self, *args, **more):
        return subprocess.Popen([BERTH, "--settings", self.settings, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env={**os.environ, **self.env}, start_new_session=True, **more)

    def person(self, fake):
        """At a console whose engine here is this one."""
        env = {**self.env, "DOCKER_HOST": fake.url}
        return Person(*(f"{name}={value}" for name, value in env.items()), BERTH, "--settings", self.settings)

    def berth(self, *args, env=None):
        return berth("--settings", self.settings, *args, env={**self.env, **(env or {})})


def state_of(pid):
    """The state and the parent of a process."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return f.read().rpartition(")")[2].split()[:2]


@contextlib.contextmanager
def ssh():
    with tempfile.TemporaryDirectory(prefix="s") as place:
        it = Ssh(place)
        try:
            yield it
        finally:
            for pid, *_ in it.alive():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@case
def addresses_with_a_meaning_never_reach_ssh():
    """A variable of this environment must not be sent to the host that an address names."""
    with ssh() as it:
        for bad in ("ssh://h/run/${SECRET}", "ssh://${SECRET}", "ssh://${SECRET}@h", "ssh://h/%u", "ssh://h/`id`", "ssh://-oLocalCommand=x"):
            words = ("ssh://[USER@]HOST[:PORT][/SOCKET] is expected",)
            it.berth("-H", bad, "ps").fails_with(2, "--host", *words)
            it.berth("ps", env={"DOCKER_HOST": bad}).fails_with(2, "DOCKER_HOST", *words)
            os.makedirs(os.path.join(it.place, "docker/contexts/meta/1"), exist_ok=True)
            with open(os.path.join(it.place, "docker/contexts/meta/1/meta.json"), "w", encoding="utf-8") as f:
                json.dump({"Name": "far", "Endpoints": {"docker": {"Host": bad}}}, f)
            context = {"DOCKER_CONFIG": os.path.join(it.place, "docker"), "DOCKER_HOST": "unix:///nowhere"}
            it.berth("--context", "far", "ps", env={**context, "DOCKER_HOST": ""}).fails_with(2, "context far", *words)
            by = {h["name"]: h for h in it.berth("--all-contexts", "host", "list", "--json", env=context).json()["hosts"]}
            assert "is expected" in by["far"]["problem"] and SECRET not in json.dumps(by), by
            it.knows(far=bad)
            it.berth("ps").fails_with(2, "berth.yaml")
            it.knows()
        os.mkdir(it.place + "/${SECRET}", 0o700)
        it.berth("-H", "ssh://h", "ps", env={"XDG_RUNTIME_DIR": it.place + "/${SECRET}"}).fails_with(2, "XDG_RUNTIME_DIR")
        assert not it.lines(), it.lines()


@case_of_patience
def interrupts_end_what_waits_for_ssh():
    for words in ("ps", "stats", "logs -f a", "events", "inspect a", "top a", "exec a -- true", "stop a", "clean --yes",
                  "clean --all-hosts --yes", "image untag a", "ps --all-hosts", "host list"):
        with ssh() as it:
            p = it.start("-H", "ssh://hang", *words.split())
            try:
                wait_for(it.connecting, f"{words}: ssh was not started: {p.poll()}")
                p.send_signal(signal.SIGINT)
                _, err = p.communicate(timeout=60)
            finally:
                p.kill()
            assert p.returncode in (130, -signal.SIGINT), (words, p.returncode, err)
            assert not SANITIZER.search(err), err.decode()
            wait_for(lambda: not it.alive(), f"{words}: ssh or what it started is still there")


@case_of_patience
def hosts_that_hang_are_given_up_in_time():
    for words, code in (("ps", 3), ("exec a -- true", 125)):
        with ssh() as it:
            began = time.monotonic()
            it.berth("-H", "ssh://hang", *words.split(), env={"BERTH_SSH_TIMEOUT": "2"}).fails_with(code, "ssh://hang", "no answer in time")
            assert 2 <= time.monotonic() - began < 40, words  # by itself it is 45
            assert all("ConnectTimeout=2" in entry[2] for entry in it.lines("connecting")), it.lines()
            wait_for(lambda: not it.alive(), f"{words}: ssh or what it started is still there")
            assert not [name for name in os.listdir(os.path.join(it.place, "r/berth/ssh")) if not name.endswith(".lock")]
    with ssh() as it:
        for bad in ("0", "301", "2s", "-1", " 2"):
            it.berth("-H", "ssh://hang", "ps", env={"BERTH_SSH_TIMEOUT": bad}).fails_with(2, "BERTH_SSH_TIMEOUT", "from 1 to 300")
        assert not it.lines(), it.lines()


@case_of_patience
def nothing_is_left_of_a_killed_berth():
    with ssh() as it:
        p = it.start("-H", "ssh://hang", "ps")
        wait_for(it.connecting, "ssh was not started")
        p.kill()
        p.communicate()
        wait_for(lambda: not it.alive(), "ssh or what it started is still there")


@case_of_patience
def nothing_is_left_where_berth_goes_as_ssh_connects():
    with ssh() as it:
        p = it.start("-H", "ssh://held", "ps")
        wait_for(it.connecting, "ssh was not started")
        first = it.lines("connecting")[0][0]
        keeper = int(state_of(first)[1])
        os.kill(keeper, signal.SIGSTOP)  # it learns of both at once
        p.kill()
        p.communicate()
        with open(it.log + ".go", "w", encoding="utf-8"):
            pass
        wait_for(lambda: it.lines("master") and state_of(first)[0] == "Z", "it does not connect")
        os.kill(keeper, signal.SIGCONT)
        wait_for(lambda: not it.alive(), "ssh or what it started is still there")


@case_of_patience
def terminals_get_their_echo_back():
    def has_echo():
        return bool(termios.tcgetattr(fd)[3] & termios.ECHO)

    with ssh() as it:
        pid, fd = pty.fork()
        if not pid:  # a shell, which outlives berth
            os.execve("/bin/sh", ["sh", "-c", 'exec 3<&0; "$@" <&3 3<&- & echo $! >"$0.berth"; exec sleep 600', it.log, BERTH, "--settings",
                                  it.settings, "-H", "ssh://ask", "clean", "--dry-run"], {**os.environ, **it.env})
        try:
            wait_for(lambda: it.lines("asking"), "ssh does not ask")
            assert not has_echo()
            with open(it.log + ".berth", encoding="utf-8") as f:
                os.kill(int(f.read()), signal.SIGKILL)
            wait_for(has_echo, "there is no echo")
            wait_for(lambda: not it.alive(), "ssh is still there")
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(fd)


@case_of_patience
def what_became_of_ssh_is_said():
    with ssh() as it:
        p = it.start("-H", "ssh://hang", "ps")
        wait_for(it.connecting, "ssh was not started")
        os.kill(int(state_of(it.lines("connecting")[0][0])[1]), signal.SIGKILL)
        _, err = p.communicate()
        assert p.returncode == 3 and b"berth-ssh was killed" in err, (p.returncode, err)


@case
def nothing_is_left_of_an_ended_connection():
    with ssh() as it, Fake(containers=1) as fake:
        it.knows(far="ssh://far" + fake.path)
        for end in ("forget", "lost"):
            assert it.berth("-H", "far", "ps", "-q").code == 0
            assert {entry[1] for entry in it.alive()} == {"child", "master"}, it.alive()
            if end == "forget":
                assert it.berth("host", "forget", "far").code == 0
            else:
                os.kill(it.lines("master")[-1][0], signal.SIGKILL)
            wait_for(lambda: not it.alive(), f"{end}: something is still there")


@case
def refusals_leave_nothing():
    with ssh() as it:
        it.berth("-H", "ssh://refuse", "ps").fails_with(3, "Connection refused", "ssh://refuse")
        wait_for(lambda: not it.alive(), "something is still there")


@case_of_patience
def hosts_that_hang_delay_nobody():
    """More of them than there are threads for work; what is done on the one that answers needs such a thread."""
    with ssh() as it, Fake(containers=[{"name": "alpha", "state": "exited"}]) as fake:
        it.knows(**{f"h{n}": f"ssh://hang{n}" for n in range(6)})
        with it.person(fake) as person:  # who leaves only when all of them are tried
            person.see("alpha")
            person.see("1 of 7 hosts")
            wait_for(lambda: len({entry[2][-1] for entry in it.lines("connecting")}) == 6, "not all of them are tried")
            person.type("5")
            person.see("othing of berth's to clean")
            person.type("Q")
            wait_for(lambda: not it.alive(), "ssh or what it started is still there")


@case
def sockets_of_one_host_share_an_ssh():
    with ssh() as it, Fake(containers=12) as one, Fake(containers=[{"name": "beta"}]) as two:
        it.knows(one="ssh://far" + one.path, two="ssh://far" + two.path)
        env = {"DOCKER_HOST": "ssh://far" + one.path}
        rows = it.berth("ps", "--all-hosts", "--format", "{{.Name}} {{.Host}}", env=env)
        assert rows.code == 0 and b"beta two" in rows.out and b"box-1 one" in rows.out, (rows.out, rows.err)
        assert len(it.lines("connecting")) == 1 and len(it.lines("forward")) == 2, it.lines()
        assert it.berth("-H", "two", "ps", "-q").code == 0 and it.berth("-H", "one", "stop", "--foreign", "box-1", "box-2", "box-3", "box-4", "box-5", "box-6", "box-7").code == 0
        script("size 120 30\nwait box-9\nwait beta\nwait 2 hosts\nadvance 3000\nkey q\n", ("--settings", it.settings), {**it.env, **env})
        assert len(it.lines("connecting")) == 1, it.lines()
        assert one.door("most") <= 6, one.door("most")


@case
def plans_of_hosts_have_names_of_their_own():
    """The engine that is meant has the name of its machine, and there is another one of that name."""
    with ssh() as it, Fake(containers=[{"name": "a", "state": "exited"}], id="one") as one, \
            Fake(containers=[{"name": "b", "state": "exited"}], id="two") as two:
        it.knows(far=two.url)
        home, path = {"DOCKER_HOST": "ssh://far" + one.path}, os.path.join(it.place, "plan")
        plan = it.berth("clean", "--all-hosts", "--foreign", "--dry-run", "--json", env=home)
        assert [h["host"] for h in plan.json()["hosts"]] == [home["DOCKER_HOST"], "far"], (plan.out, plan.err)
        with open(path, "wb") as f:
            f.write(plan.out)
        done = it.berth("clean", "--all-hosts", "--plan", path, "--json", env=home)
        assert [[i["name"] for i in h["items"]] for h in done.json()["hosts"]] == [["a"], ["b"]], (done.out, done.err)


@case_of_patience
def hosts_that_refuse_are_tried_again_soon_or_at_a_key():
    """By itself less and less often, two seconds apart after a few times; at the key at once."""
    with ssh() as it, Fake(containers=[{"name": "alpha"}]) as fake:
        def refused():
            return [entry[3] for entry in it.lines("refused")]

        def is_tried_at_the_key():
            """Not so where this machine is so busy that one try takes as long: then once more."""
            wait_for(lambda: len(refused()) >= 2 and refused()[-1] - refused()[-2] >= 2, "it is not tried again, or too often")
            before = len(refused())
            person.see("retry in")
            person.type("r")
            wait_for(lambda: len(refused()) > before, "it is not tried again")
            return refused()[before] - refused()[before - 1] < 1.5

        it.knows(far="ssh://refuse")
        with it.person(fake) as person:
            wait_for(is_tried_at_the_key, "the key does not try it")


if __name__ == "__main__":
    main()
