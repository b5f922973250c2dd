#!/usr/bin/env python3
"""drip.py - an engine that gives its lists one byte a second: a plan of clean-up is given up as a whole, in time.

Each list alone would be there within its own limit of 30 s; all of them together would take a minute, and are never all given.
"""
import http.server
import os
import socketserver
import subprocess
import sys
import threading
import time

os.chdir(os.environ["TMPDIR"])
SECONDS = 13
LISTS = ("containers/json", "networks", "volumes", "images/json")
given = []


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, body, drip=False):
        self.send_response(200)
        self.send_header("Api-Version", "1.41")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for byte in body if drip else []:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(1)
        if not drip and self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.reply(b"")

    def do_GET(self):
        lists = [name for name in LISTS if name in self.path]
        body = b'{"Volumes": []}' if lists == ["volumes"] else b"[]" if lists else b'{"ID": "E", "ApiVersion": "1.41"}'
        try:
            self.reply(body.rjust(SECONDS) if lists else body, bool(lists))
            given.extend(lists)
        except OSError:
            pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


server = Server("e", Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
done = subprocess.run([os.environ["BERTH"], "--host", f"unix://{os.getcwd()}/e", "clean", "--dry-run"], capture_output=True,
                      text=True, timeout=300, check=False)
good = done.returncode in (1, 3) and len(set(given)) < len(LISTS) and done.stderr.strip()
if not good:
    print(f"# exit {done.returncode} after {given}: {done.stdout[:300]!r} {done.stderr[:300]!r}")
print("ok" if good else "not ok", "a dripping engine is given up in time")
sys.exit(not good)
