"""Who may talk to the studio: whoever was given its address on this machine, from its own page, and nobody else.

- The server listens on the loopback address. A request must name it as its host, so that no other name leads here.
- The address that is printed has a token. It becomes a cookie that scripts cannot read and other sites cannot send.
- A request that changes something must come from the page itself: its origin is checked, and its body is JSON.
- Answers forbid the browser to load, frame or run anything that is not ours.
"""

import hmac
import json
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 1_200_000
_SAFE = ("GET", "HEAD")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# A report is a page of its own, with its style in it. It runs nothing and is shown in our page alone.
REPORT_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Door:
    """What opens the studio: the port that it listens on, and the token of its address."""

    port: int
    token: str

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names of this server."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    @property
    def cookie(self) -> str:
        """The name of the cookie. Cookies do not depend on ports, so two studios need two names."""
        return f"inbounds-{self.port}"

    @property
    def address(self) -> str:
        """The address to open."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"


class Guard:
    """The checks before every request, and the headers of every answer."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it in one line."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if refusal := self._refuse(scope, headers):
            await _answer(send, *refusal)
            return
        tokens = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
        if scope["path"] == "/" and tokens and _same(tokens[0], self._door.token):
            cookie = f"{self._door.cookie}={self._door.token}; Path=/; HttpOnly; SameSite=Strict"
            await _answer(send, 303, "", [("location", "/"), ("set-cookie", cookie)])
            return
        if not self._knows(headers.get("cookie", "")):
            words = "open the address that inbounds studio printed: it has the token that this page needs"
            await _answer(send, 401, words)
            return
        await self._pass(scope, receive, send)

    def _refuse(self, scope: Scope, headers: MutableMapping[str, str]) -> tuple[int, str] | None:
        if headers.get("host") not in self._door.hosts:
            return 421, "this is not the host of the studio"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "the request comes from another site"
        origins = [f"http://{host}" for host in self._door.hosts]
        origin = headers.get("origin")
        if origin is not None and origin not in origins:
            return 403, "the request comes from another origin"
        if scope["method"] in _SAFE:
            return None
        if scope["method"] not in ("POST", "PUT"):
            return 405, "there is no such method"
        if origin is None:
            return 403, "a change must come from the page"
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return 415, "a change must be JSON; files are not taken: put them into the folder"
        length = headers.get("content-length", "")
        if not length.isdecimal():
            return 411, "a change must say how long it is"
        return (413, "the change is too long") if len(length) > 9 or int(length) > LARGEST_BODY else None

    def _knows(self, cookies: str) -> bool:
        pairs = [cookie.strip().partition("=") for cookie in cookies.split(";")]
        return any(name == self._door.cookie and _same(value, self._door.token) for name, _, value in pairs)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        size = 0
        is_answered = False

        async def count() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            # The header may say less than what is sent; no more than this is read.
            return {"type": "http.disconnect"} if size > LARGEST_BODY else message

        async def protect(message: Message) -> None:
            nonlocal is_answered
            if message["type"] == "http.response.start":
                is_answered = True
                names = {name.decode("latin-1").lower() for name, _ in message["headers"]}
                more = [(k.encode(), v.encode()) for k, v in _HEADERS.items() if k not in names]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        try:
            await self._app(scope, count, protect)
        except Exception as error:
            # Whatever it was: no trace of it leaves this process.
            print(f"inbounds studio: {type(error).__name__} at {scope['method']} {scope['path'][:80]!r}", flush=True)
            if not is_answered:
                await _answer(send, 500, "something went wrong; nothing was changed by this request")


def _same(text: str, token: str) -> bool:
    return hmac.compare_digest(text.encode("utf-8", "replace"), token.encode())


async def _answer(send: Send, status: int, words: str, more: Iterable[tuple[str, str]] = ()) -> None:
    body = json.dumps({"error": words}).encode() if words else b""
    headers: dict[str, Any] = {**_HEADERS, "content-type": "application/json", "content-length": str(len(body))}
    pairs = [*headers.items(), *more]
    start = {"type": "http.response.start", "status": status, "headers": [(k.encode(), v.encode()) for k, v in pairs]}
    await send(start)
    await send({"type": "http.response.body", "body": body})
