"""Run the studio on this machine until it is stopped."""

import secrets
import socket
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn

from inbounds import service
from inbounds.errors import PlanError
from inbounds.studio.app import Studio, make_app
from inbounds.studio.desk import Desk
from inbounds.studio.guard import Door

HOST = "127.0.0.1"


class _Server(uvicorn.Server):
    """A server that lets waiting browsers go when it is stopped."""

    studio: Studio

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.studio.close()
        super().handle_exit(sig, frame)


def find_plan(plan: Path | None) -> tuple[Path, str | None]:
    """The folder to open and the plan in it: the one that is named, or the only one there is."""
    if plan is None:
        folder = Path.cwd()
        plans = service.list_files(folder)["plans"]
        return folder, plans[0] if len(plans) == 1 else "plan.toml" if "plan.toml" in plans else None
    if plan.is_dir():
        plans = service.list_files(plan)["plans"]
        return plan, plans[0] if len(plans) == 1 else "plan.toml" if "plan.toml" in plans else None
    if not plan.is_file():
        raise PlanError(["there is no such file; without one: inbounds studio FOLDER"], str(plan))
    return plan.absolute().parent, plan.name


@dataclass(frozen=True, slots=True)
class Running:
    """A server that is ready to run, and what it listens on."""

    server: _Server
    listening: socket.socket
    door: Door
    desk: Desk

    def run(self) -> None:
        """Run until it is stopped."""
        self.server.run(sockets=[self.listening])

    def stop(self) -> None:
        """Stop it from another thread."""
        self.server.studio.close()
        self.server.should_exit = True


def make_server(folder: Path, plan: str | None, port: int = 0) -> Running:
    """A server for a folder and the plan in it, which listens on this machine alone."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        # From here on a browser is answered, if late: its address is printed before the server runs.
        listening.listen()
    except OSError as error:
        listening.close()
        raise ValueError(
            f"port {port} cannot be used: {error.strerror}; leave --port out for any that is free"
        ) from None
    door = Door(listening.getsockname()[1], secrets.token_urlsafe(32))
    desk = Desk(folder, plan)
    app, studio = make_app(desk, door)
    # Nothing but HTTP/1.1, in pure Python.
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        http="h11",
        ws="none",
        loop="asyncio",
        timeout_graceful_shutdown=3,
    )
    server = _Server(config)
    server.studio = studio
    return Running(server, listening, door, desk)


def serve(plan: Path | None, *, port: int = 0, browser: bool = True, say: Callable[[str], None] = print) -> None:
    """Serve the studio on this machine until it is stopped.

    Parameters
    ----------
    plan
        The plan, or a folder; by default the folder where one is.
    port
        The port; any that is free if 0.
    browser
        Whether to open the browser.
    say
        A function that is told the address.
    """
    running = make_server(*find_plan(plan), port)
    say(f"the studio is at {running.door.address}")
    say("only this machine can open it; stop it with Ctrl-C")
    if browser:
        webbrowser.open(running.door.address)
    running.run()
