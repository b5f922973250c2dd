"""person.py - a person before a console, for tests: what is on the screen, and keys."""
import os
import subprocess
import time

PATIENCE = 60


class Person:
    """A console in a terminal of its own, that says yes or no to what is asked."""

    count = 0

    def __init__(self, *argv):
        # A server each: one that was told to end is still there for a moment.
        # Of a single word it would make a line for the shell, and there may be a blank in its path.
        Person.count += 1
        self.tmux = ["tmux", "-L", f"berth-{os.getpid()}-person-{Person.count}", "-f", "/dev/null"]
        subprocess.run([*self.tmux, "new-session", "-d", "-x", "110", "-y", "30", "env", *argv], check=True)
        self.pid = subprocess.run([*self.tmux, "display", "-p", "#{pane_pid}"], check=True, capture_output=True, text=True).stdout.strip()
        self.see("1 Agents")

    def screen(self):
        return subprocess.run([*self.tmux, "capture-pane", "-p"], check=True, capture_output=True, text=True).stdout

    def see(self, text):
        until = time.monotonic() + PATIENCE
        while True:
            seen = self.screen()
            if text in seen:
                return seen
            assert time.monotonic() < until, (text, seen)
            time.sleep(0.05)

    def confirm(self, title):
        """A dialog takes no key that was typed before it could be read."""
        until = time.monotonic() + PATIENCE
        self.see(title)
        while title in self.screen():
            assert time.monotonic() < until
            self.type("y")
            time.sleep(0.2)

    def type(self, *keys):
        subprocess.run([*self.tmux, "send-keys", *keys], check=True)

    def has_left(self):
        """A zombie that nobody asks for has no words any more."""
        try:
            with open(f"/proc/{self.pid}/cmdline", "rb") as f:
                return not f.read()
        except OSError:
            return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """It writes down its state as it ends: what it has that in may be removed only then."""
        subprocess.run([*self.tmux, "kill-server"], check=False, stderr=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE
        while not self.has_left():
            assert time.monotonic() < until, "the console does not end"
            time.sleep(0.02)
