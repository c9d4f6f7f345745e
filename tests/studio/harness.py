"""A studio without a server, spoken to request by request; and a real one with a real browser."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from inbounds.studio.app import make_app
from inbounds.studio.desk import Desk
from inbounds.studio.guard import Door
from inbounds.studio.serve import make_server

DOOR = Door(4711, "the-token-of-the-tests")
HOST = "127.0.0.1:4711"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WITHOUT = "NOT TESTED: the studio in a browser. It needs Chromium: apt-get install chromium"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


@dataclass
class Client:
    """Requests to the application, with the headers that a page would send unless others are given."""

    folder: Path
    plan: str | None = "plan.toml"
    traffic: list[bytes] = field(default_factory=list)

    def __post_init__(self):
        self.desk = Desk(self.folder, self.plan)
        self.app, self.studio = make_app(self.desk, DOOR)

    def send(self, method, path, body=None, raw=None, **headers):
        sent = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        given = {"host": HOST, "cookie": f"{DOOR.cookie}={DOOR.token}"}
        if method != "GET":
            given |= {"origin": f"http://{HOST}", "content-type": "application/json", "content-length": str(len(sent))}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        given = {name: value for name, value in given.items() if value is not None}
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode("utf-8", "replace"),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(k.encode("latin-1"), v.encode("latin-1", "replace")) for k, v in given.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", DOOR.port),
        }
        messages = [{"type": "http.request", "body": sent, "more_body": False}]
        got = []

        async def receive():
            return messages.pop(0) if messages else {"type": "http.disconnect"}

        async def answer(message):
            got.append(message)

        asyncio.run(self.app(scope, receive, answer))
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in got[0]["headers"]} if got else {}
        made = Answer(got[0]["status"] if got else 0, headers, b"".join(one.get("body", b"") for one in got[1:]))
        self.traffic += [made.body, repr(headers).encode()]
        return made

    def get(self, path, **headers):
        return self.send("GET", path, **headers)

    def post(self, name, body=None, **headers):
        return self.send("POST", f"/api/{name}", {} if body is None else body, **headers)

    def revision(self):
        return self.get("/api/state").json["read"]["revision"]

    def release(self, **more):
        """Release and wait until it has ended; the state of the job."""
        cost = self.get("/api/offer").json["cost"]
        begun = self.post("release", {"base": self.revision(), "cost": cost, **more})
        assert begun.status == 200, begun.body
        self.desk.wait()
        return self.get("/api/state").json["job"]


class Server:
    """The command in a process of its own, and the address that it prints."""

    def __init__(self, plan, *options):
        words = [sys.executable, "-m", "inbounds.cli.commands", "studio", str(plan), "--no-browser", *options]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(words, env=os.environ | {"PYTHONUNBUFFERED": "1"}, **pipes)
        said = self.process.stderr.readline()
        found = re.search(r"http://\S+", said)
        assert found, said
        self.address = found[0]
        self.origin = self.address.partition("/?")[0]

    def stop(self, kill=False):
        self.process.kill() if kill else self.process.terminate()
        self.process.wait()
        self.process.stderr.close()


class Local:
    """A real server in a thread of this process, so that a test can hold a release where it wants."""

    def __init__(self, folder, plan="plan.toml"):
        self.running = make_server(folder, plan)
        self.thread = threading.Thread(target=self.running.run)
        self.thread.start()
        while not self.running.server.started:
            self.thread.join(0.01)
            assert self.thread.is_alive()
        self.address = self.running.door.address
        self.origin = self.address.partition("/?")[0]

    def stop(self):
        self.running.stop()
        self.thread.join()
