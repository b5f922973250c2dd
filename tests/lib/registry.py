#!/usr/bin/python3
"""registry.py - a registry with one small image, for tests of pulling.

    registry.py PORT-FILE       listens on 127.0.0.1, writes its port to PORT-FILE

    tiny:1    three layers of 512 KiB to 2 MiB
    stall:1   its last layer stops in the middle until the client goes away
    short:1   its last layer ends early, each time
    lie:1     its last layer is not what its digest says

It wants the user "agent" with the password "s3cret".

What it speaks is the pull half of the distribution API, version 2, with schema 2 manifests.
"""
import base64
import gzip
import hashlib
import http.server
import io
import json
import random
import re
import sys
import tarfile


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def layer(n, size):
    """A tar with one file of noise, so that it does not shrink."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        info = tarfile.TarInfo(f"noise{n}")
        info.size = size
        tar.addfile(info, io.BytesIO(random.Random(n).randbytes(size)))
    return plain.getvalue()


LAYERS = [layer(n, size) for n, size in enumerate((512 << 10, 1 << 20, 2 << 20))]
BLOBS = [gzip.compress(data, 1, mtime=0) for data in LAYERS]


def image(name):
    """Its own configuration, and with it its own id; and its own last layer, so that no engine has it already."""
    layers, blobs = list(LAYERS), list(BLOBS)
    if name != "tiny":
        layers[-1] = layer(name, 2 << 20)
        blobs[-1] = gzip.compress(layers[-1], 1, mtime=0)
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Labels": {"test": name}, "Cmd": ["/bin/sh"]},
                         "rootfs": {"type": "layers", "diff_ids": [digest(data) for data in layers]}}).encode()
    kind = "application/vnd.docker."
    manifest = json.dumps({"schemaVersion": 2, "mediaType": kind + "distribution.manifest.v2+json",
                           "config": {"mediaType": kind + "container.image.v1+json", "size": len(config), "digest": digest(config)},
                           "layers": [{"mediaType": kind + "image.rootfs.diff.tar.gzip", "size": len(b), "digest": digest(b)}
                                      for b in blobs]}).encode()
    return {"manifest": manifest, "blobs": {digest(b): b for b in [config, *blobs]}, "last": digest(blobs[-1])}


IMAGES = {name: image(name) for name in ("tiny", "stall", "short", "lie")}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, code, **headers):
        self.answer(status, json.dumps({"errors": [{"code": code, "message": code.lower().replace("_", " ")}]}).encode(), **headers)

    def do_GET(self):  # pylint: disable=invalid-name
        login = base64.b64encode(b"agent:s3cret").decode()
        found = re.fullmatch(r"/v2/(\w+)/(manifests|blobs)/([\w:.-]+)", self.path)
        if self.headers.get("Authorization") != f"Basic {login}":
            return self.refuse(401, "UNAUTHORIZED", WWW_Authenticate='Basic realm="test"')
        if self.path == "/v2/":
            return self.answer(200, b"{}")
        if not found or found[1] not in IMAGES:
            return self.refuse(404, "MANIFEST_UNKNOWN")
        return self.serve(found[1], found[2], found[3])

    do_HEAD = do_GET

    def serve(self, name, what, ref):
        this = IMAGES[name]
        if what == "manifests":
            if ref not in ("1", digest(this["manifest"])):
                return self.refuse(404, "MANIFEST_UNKNOWN")
            return self.answer(200, this["manifest"], "application/vnd.docker.distribution.manifest.v2+json",
                               Docker_Content_Digest=digest(this["manifest"]))
        blob = this["blobs"].get(ref)
        if blob is None:
            return self.refuse(404, "BLOB_UNKNOWN")
        if ref == this["last"] and name in ("stall", "short", "lie"):
            return self.spoil(name, blob)
        return self.answer(200, blob, "application/octet-stream")

    def spoil(self, name, blob):
        if name == "lie":
            return self.answer(200, blob[:-9] + b"not so..." , "application/octet-stream")
        self.send_response(200)
        self.send_header("Content-Length", str(len(blob)))
        self.end_headers()
        self.wfile.write(blob[:len(blob) // 2])
        self.wfile.flush()
        self.close_connection = True
        if name == "stall":
            self.rfile.read(1)  # until the client goes away
        return None


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(sys.argv[1], "w", encoding="utf-8") as f:
    f.write(str(server.server_port))
server.serve_forever()
