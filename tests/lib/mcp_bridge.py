"""mcp_bridge.py - Streamable HTTP in front of a server that speaks on its standard input and output, for clients that know only HTTP.

    with Bridge(["berth", "-c", "team.yaml", "mcp"]) as b: ... b.url

Each session (`initialize`) is a process of its own, as it is for a client that starts one; requests without a session
share one.  Answers are plain JSON, but for what a request listens to, which is a stream of events; what else the server
says unasked is dropped.
"""
import http.server
import json
import queue
import subprocess
import threading
import uuid

PATIENCE = 60
LISTEN = "io.modelcontextprotocol/subscriptionId"


class Served:
    """One process; ids of requests are ours, for several clients may use the same."""

    def __init__(self, argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lock, self.last, self.waiting, self.streams = threading.Lock(), 0, {}, {}
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            stream = message.get("params", {}).get("_meta", {}).get(LISTEN)
            if "method" in message and stream in self.streams:
                self.streams[stream].put(message)
            elif "method" not in message and message["id"] in self.streams:
                self.streams[message["id"]].put(message)
            elif "method" not in message and message["id"] in self.waiting:
                self.waiting.pop(message["id"]).put(message)

    def tell(self, message):
        with self.lock:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def ask(self, message):
        answer = Answer()
        with self.lock:
            self.last += 1
            number = self.last
            self.waiting[number] = answer
        self.tell(message | {"id": number})
        return answer.get() | {"id": message["id"]}

    def listen(self, message):
        """What is told, one by one, with the id that the client chose."""
        told = queue.Queue()
        with self.lock:
            self.last += 1
            number = self.last
            self.streams[number] = told
        self.tell(message | {"id": number})
        while True:
            got = told.get()
            if "method" not in got:
                yield got | {"id": message["id"]}
                return
            got["params"]["_meta"][LISTEN] = message["id"]
            yield got

    def end(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)


class Answer:
    def __init__(self):
        self.there, self.message = threading.Event(), None

    def put(self, message):
        self.message = message
        self.there.set()

    def get(self):
        assert self.there.wait(PATIENCE), "no answer"
        return self.message


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, code, message=None, session=None):
        body = json.dumps(message).encode() if message is not None else b""
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if session:
            self.send_header("Mcp-Session-Id", session)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(405)

    def do_DELETE(self):
        self.answer(200)

    def do_POST(self):
        bridge = self.server.bridge
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        session = self.headers.get("Mcp-Session-Id")
        if isinstance(message, dict) and message.get("method") == "initialize":
            session = str(uuid.uuid4())
        served = bridge.served(session)
        if not isinstance(message, dict) or "id" not in message or "method" not in message:
            served.tell(message)
            return self.answer(202)
        if message["method"] == "subscriptions/listen":
            return self.stream(served.listen(message))
        return self.answer(200, served.ask(message), session)

    def stream(self, told):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for message in told:
                self.wfile.write(b"data: " + json.dumps(message).encode() + b"\n\n")
                self.wfile.flush()
        except OSError:
            pass  # the client has gone

    def log_message(self, format, *args):
        pass


class Bridge:
    def __init__(self, argv):
        self.argv, self.sessions, self.lock = argv, {}, threading.Lock()

    def served(self, session):
        with self.lock:
            if session not in self.sessions:
                self.sessions[session] = Served(self.argv)
            return self.sessions[session]

    def __enter__(self):
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.bridge = self
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/mcp"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()
        for served in self.sessions.values():
            served.end()
