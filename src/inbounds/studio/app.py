"""The pages and answers of the studio."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from inbounds import __version__, service
from inbounds._check import LARGEST
from inbounds._text import visible
from inbounds.errors import InboundsError
from inbounds.studio.desk import Conflict, Desk
from inbounds.studio.guard import REPORT_POLICY, Door, Guard

STATIC = Path(__file__).parent / "static"
# How often files are checked for changes by others, and how often an idle browser gets a line, in seconds.
_LOOK, _GREET = 0.5, 20
_PAGE_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
_TYPES = {".html": "text/html; charset=utf-8", ".json": "application/json", ".csv": "text/csv; charset=utf-8"}
_SUFFIXES = {"xlsx": "xlsx", "latex": "tex"}


class Body:
    """The JSON of a request, whose keys are checked when they are asked for."""

    def __init__(self, content: Any) -> None:
        if not isinstance(content, dict):
            raise TypeError("the request must be an object of JSON")
        self._content = content

    def text(self, key: str) -> str:
        """A text that must be given."""
        value = self._content.get(key)
        if not isinstance(value, str):
            raise TypeError(f"{key} must be a text")
        return value

    def text_or_none(self, key: str) -> str | None:
        """A text, or nothing."""
        return None if self._content.get(key) in (None, "") else self.text(key)

    def number(self, key: str) -> float:
        """A number that must be given, of a size that can be computed with."""
        value = self._content.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{key} must be a number")
        if not abs(value) <= LARGEST:
            raise ValueError(f"{key} must be a number below {LARGEST:g} in size")
        return value

    def flag(self, key: str) -> bool:
        """True or false; false if it is not given."""
        value = self._content.get(key, False)
        if not isinstance(value, bool):
            raise TypeError(f"{key} must be true or false")
        return value

    def entries(self, key: str) -> list[Any]:
        """A list of objects."""
        value = self._content.get(key)
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise TypeError(f"{key} must be a list of objects")
        return value

    def table(self, key: str) -> dict[str, Any]:
        """An object; an empty one if it is not given."""
        value = self._content.get(key, {})
        if not isinstance(value, dict):
            raise TypeError(f"{key} must be an object")
        return value


class Studio:
    """The answers to requests, about one desk."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._waiting: set[asyncio.Event] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing = False
        self._number = 0
        desk.tell = self.notify

    def notify(self) -> None:
        """Tell every browser that something changed. May be called from any thread."""
        self._number += 1
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for event in self._waiting:
            event.set()

    def close(self) -> None:
        """Let every browser go."""
        self._closing = True
        self.notify()

    async def look(self) -> None:
        """Look for changes by others, as long as the server runs."""
        before = self.desk.mark()
        while True:
            await asyncio.sleep(_LOOK)
            now = await run_in_threadpool(self.desk.mark)
            if now != before:
                before = now
                self.notify()

    @contextlib.asynccontextmanager
    async def live(self, _: Starlette) -> AsyncIterator[None]:
        """What runs as long as the server does."""
        self._loop = asyncio.get_running_loop()
        looking = asyncio.create_task(self.look())
        yield
        looking.cancel()
        await run_in_threadpool(self.desk.close)

    async def events(self, _: Request) -> Response:
        """A stream with a line whenever something changed."""

        async def lines() -> AsyncIterator[str]:
            event = asyncio.Event()
            self._waiting.add(event)
            try:
                yield "retry: 1000\n\n"
                while not self._closing:
                    yield f"data: {self._number}\n\n"
                    event.clear()
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(event.wait(), _GREET)
            finally:
                self._waiting.discard(event)

        return StreamingResponse(lines(), media_type="text/event-stream")

    def state(self, _: Body) -> Any:
        """Everything that all browsers show alike."""
        return {**self.desk.state(), "forms": service.list_forms(), "version": __version__}

    def statistics(self, _: Body) -> Any:
        """All statistics, from the register."""
        return service.list_statistics()

    def keys(self, _: Body) -> Any:
        """All keys of a plan, from its schema."""
        return service.list_keys()

    def columns(self, body: Body) -> Any:
        """The columns of a table by name and declared type."""
        source, table = body.text("source"), body.text_or_none("table")
        return service.list_columns(self.desk.folder, source, table, body.table("written"))

    def open(self, body: Body) -> Any:
        """Open another plan."""
        self.desk.open(body.text("name"))
        return self.desk.state()

    def start(self, body: Body) -> Any:
        """Begin a new plan."""
        self.desk.start(body.text("name"), body.text("source"), body.text_or_none("table"))
        return self.desk.state()

    def save(self, body: Body) -> Any:
        """Write the plan's text."""
        return self.desk.save(body.text("text"), body.text("base")).to_dict()

    def edit(self, body: Body) -> Any:
        """Change keys of the plan."""
        return self.desk.edit(body.entries("edits"), body.text("base")).to_dict()

    def preview(self, body: Body) -> Any:
        """The expected errors at one ε, what the ledger would say to it, and the curves as far as they are known."""
        ahead = self.desk.ahead()
        epsilon = body.text("epsilon")
        answer = {"now": ahead.at(epsilon), "ledger": self.desk.imagine(epsilon), "grid": ahead.grid}
        answer["rule"] = service.QUALITY_RULE
        return answer | ({"curves": ahead.known()} if body.flag("curves") else {})

    def glance(self, _: Body) -> Any:
        """How good the plan's numbers would be as it is, and what would be left."""
        return self.desk.glance()

    def aim(self, body: Body) -> Any:
        """The ε that an error needs."""
        return {"epsilon": self.desk.ahead().least_epsilon(body.text("name"), body.number("error"))}

    def ledger(self, _: Body) -> Any:
        """The ledger of the plan."""
        return self.desk.show_ledger()

    def imagine(self, body: Body) -> Any:
        """What the ledger would say to an ε."""
        return self.desk.imagine(body.text("epsilon"))

    def offer(self, _: Body) -> Any:
        """What a release would cost."""
        return self.desk.offer()

    def release(self, body: Body) -> Any:
        """Begin a release."""
        self.desk.release(body.text("base"), body.text("cost"), body.flag("new"))
        return self.desk.state()

    def cancel(self, _: Body) -> Any:
        """Cancel a release before its charge."""
        self.desk.cancel()
        return self.desk.state()

    def verify(self, body: Body) -> Any:
        """Prove a result again, and that the ledger has it."""
        place = service.find_result(self.desk.folder, body.text("id"))
        name = self.desk.show_ledger()["name"] if body.flag("ledger") else None
        ledger = None if name is None else self.desk.folder / name
        releases = service.verify_record(place / "release.json", ledger)
        epsilon, count = float(releases.epsilon), len(releases)
        payment = "the ledger has the charge and the same result" if ledger else "no ledger was asked"
        text = f"{count} release{'s hold' if count != 1 else ' holds'}: every value and certificate was computed again"
        return {"said": f"{text}, epsilon {epsilon:g} in all; {payment}.", "left": releases.left}

    def summary(self, body: Body) -> Any:
        """What the report of a result says first."""
        return self.desk.summarize(body.text("id"))

    def laws(self, body: Body) -> Any:
        """The two laws compared, for learners."""
        epsilon, rows, lower, upper = (body.number(key) for key in ("epsilon", "rows", "lower", "upper"))
        if not float(rows).is_integer():
            raise ValueError("rows must be a whole number")
        where = epsilon, int(rows), lower, upper
        return service.compare_laws(*where, body.number("truth")) | {"over": service.compare_over_truths(*where)}

    def figures(self, _: Body) -> Any:
        """The figures of the paper."""
        return service.list_figures()

    def figure(self, body: Body) -> Any:
        """One figure of the paper, simulated."""
        return service.simulate_figure(body.text("name"), body.text("case"))

    def file(self, request: Request) -> Response:
        """A file of a result."""
        place = service.find_result(self.desk.folder, request.path_params["id"])
        name = request.path_params["file"]
        if name not in [path.name for path in place.iterdir() if path.is_file() and not path.name.startswith(".")]:
            raise InboundsError("the result has no such file")
        if not (place / name).resolve().is_relative_to(place.resolve()):
            raise InboundsError("the result has no such file")
        kind = _TYPES.get(Path(name).suffix, "application/octet-stream")
        inline = request.query_params.get("show") == "1" and Path(name).suffix == ".html"
        headers = {"content-security-policy": REPORT_POLICY}
        return FileResponse(
            place / name,
            media_type=kind,
            filename=name,
            content_disposition_type="inline" if inline else "attachment",
            headers=headers,
        )

    def export(self, request: Request) -> Response:
        """The numbers of a result for another program."""
        name, form = request.path_params["id"], request.path_params["form"]
        if form not in service.list_forms():
            raise InboundsError("there is no such form")
        content = service.export_record(service.find_result(self.desk.folder, name) / "release.json", form)
        return Response(content, media_type="application/octet-stream", headers=_attach(f"{name}.{_SUFFIXES[form]}"))

    def archive(self, request: Request) -> Response:
        """All files of a result."""
        name = request.path_params["id"]
        content = service.pack_result(service.find_result(self.desk.folder, name), self.desk.path)
        return Response(content, media_type="application/zip", headers=_attach(f"{name}.zip"))


def _attach(name: str) -> dict[str, str]:
    """The header of a file to save, whose name may be in any script."""
    return {"content-disposition": f"attachment; filename*=utf-8''{quote(name)}"}


def _parse(raw: bytes) -> Body:
    try:
        return Body(json.loads(raw) if raw else {})
    except (ValueError, RecursionError):
        # Among them are whole numbers of more digits than Python reads.
        raise ValueError("the request is not JSON") from None


def _answer(action: Callable[[Body], Any]) -> Callable[[Request], Any]:
    """An endpoint: its body is JSON, its work runs beside the server's loop, and its errors are one line."""

    async def endpoint(request: Request) -> Response:
        try:
            body = _parse(await request.body())
            return JSONResponse(await run_in_threadpool(action, body))
        except Exception as error:
            return _explain(error)

    return endpoint


def _give(action: Callable[[Request], Response]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        try:
            return await run_in_threadpool(action, request)
        except Exception as error:
            return _explain(error)

    return endpoint


def _explain(error: Exception) -> Response:
    """An error in one line. Those that are not ours are named by their class alone."""
    if isinstance(error, Conflict):
        return JSONResponse({"error": visible(str(error))}, 409)
    if isinstance(error, ClientDisconnect):
        return JSONResponse({"error": "the request was too long, or was broken off"}, 413)
    if isinstance(error, OSError):
        return JSONResponse({"error": visible(f"a file cannot be used: {error.strerror or 'it failed'}")}, 400)
    if isinstance(error, ValueError | TypeError | ImportError):
        return JSONResponse({"error": visible(str(error))[:2000]}, 400)
    print(f"inbounds studio: {type(error).__name__}", flush=True)
    return JSONResponse({"error": "something went wrong; nothing was changed by this request"}, 500)


def _serve_static() -> Callable[[Request], Any]:
    """Serve the files of the page, which are few and small, from memory: no path in a request is ever opened."""
    files = {str(path.relative_to(STATIC)): path for path in STATIC.rglob("*") if path.suffix in _PAGE_TYPES}
    pages = {name.replace("\\", "/"): (path.read_bytes(), _PAGE_TYPES[path.suffix]) for name, path in files.items()}

    async def endpoint(request: Request) -> Response:
        content, kind = pages.get(request.path_params.get("name", "index.html"), (None, ""))
        if content is None:
            return JSONResponse({"error": "there is no such file"}, 404)
        return Response(content, media_type=kind)

    return endpoint


def make_app(desk: Desk, door: Door) -> tuple[ASGIApp, Studio]:
    """The application for a desk, behind its door."""
    studio, static = Studio(desk), _serve_static()
    reads = ("state", "statistics", "keys", "ledger", "offer", "glance", "figures")
    changes = ("columns", "open", "start", "save", "edit", "preview", "aim", "imagine", "release", "cancel")
    routes = [
        Route("/", static, methods=["GET"]),
        Route("/api/events", studio.events, methods=["GET"]),
        *(Route(f"/api/{name}", _answer(getattr(studio, name)), methods=["GET"]) for name in reads),
        *(
            Route(f"/api/{name}", _answer(getattr(studio, name)), methods=["POST"])
            for name in (*changes, "verify", "summary", "laws", "figure")
        ),
        Route("/results/{id}/{file}", _give(studio.file), methods=["GET"]),
        Route("/results/{id}/as/{form}", _give(studio.export), methods=["GET"]),
        Route("/results/{id}.zip", _give(studio.archive), methods=["GET"]),
        Route("/static/{name:path}", static, methods=["GET"]),
    ]
    app = Starlette(routes=routes, lifespan=studio.live)
    app.router.redirect_slashes = False
    return Guard(app, door), studio
