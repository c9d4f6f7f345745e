"""The architecture in one picture: the layers of the import rule, from the laws at the foot to the faces on top."""

import tomllib
from html import escape
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
WIDTH, LEFT, HEIGHT_OF_LAYER, GAP = 1000, 20, 44, 8
TITLE = "The rooms of inbounds in layers: each imports only those below it"
CONFIDENTIAL, WALL, PUBLIC, LAWS, FACES, FILES = "#fde7e0", "#f6c9ba", "#e2f0e6", "#e3eaf7", "#f1eef6", "#f5f5f5"
# What each room is for, and on which side of the wall it is.
ROOMS = {
    "cli": ("the command line", FACES),
    "studio": ("the page, on this machine only", FACES),
    "service": ("what command line and page call", FACES),
    "audit": ("attempts to catch us", FACES),
    "demo": ("a generated survey", FACES),
    "report": ("pages of a record", PUBLIC),
    "lab": ("the paper: theory, simulations", FACES),
    "plan": ("files that say what to release", PUBLIC),
    "targets": ("budgets for an error", PUBLIC),
    "forecasts": ("how far off it will be: previews", PUBLIC),
    "functions": ("mean(...), histogram(...) and the others", WALL),
    "_keywords": ("help of the functions", FILES),
    "road": ("the wall: charge, count, draw, keep", WALL),
    "statistics": ("what can be released, each as a value that drafts itself", PUBLIC),
    "inference": ("intervals, tests, posteriors, from records alone", PUBLIC),
    "record": ("what passes the wall; proves itself when it is read", PUBLIC),
    "derivations": ("from noisy numbers to values", PUBLIC),
    "ledger": ("what has been spent, entry by entry", PUBLIC),
    "expected": ("errors of certified laws, in doubles", PUBLIC),
    "_types": ("types of public arguments", FILES),
    "repairs": ("simplex, trees, matrices", PUBLIC),
    "tables": ("any frame, any engine: exact sums of integers", CONFIDENTIAL),
    "privacy": ("guarantees, and certificates that prove them", LAWS),
    "grid": ("laws in integers, and how to draw from them", LAWS),
    "laws": ("noise × bounding on the real line", LAWS),
    "_frames": ("frames of errors", FILES),
    "_html": ("templates", FILES),
    "_mistakes": ("mistakes in files", FILES),
    "errors": ("every exception, in one tree", FILES),
    "_charts": ("pictures in notebooks", FILES),
    "_check": ("validators", FILES),
    "_files": ("one atomic writer", FILES),
    "_frozen": ("a mapping to hash", FILES),
    "_estimates": ("± and marks", FILES),
    "_text": ("text, shown safely", FILES),
}


def _read_layers() -> list[list[str]]:
    contracts = tomllib.loads(PROJECT.read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    return [layer.split(" | ") for layer in layers]


def drawn() -> str:
    """The picture as SVG. A room that the import rule has and the picture has not is an error."""
    layers = _read_layers()
    assert {room for layer in layers for room in layer} == set(ROOMS), "docs/rooms.py draws the rooms of the contract"
    height = 70 + len(layers) * (HEIGHT_OF_LAYER + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222222" role="img">',
        f"<title>{TITLE}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for number, layer in enumerate(layers):
        wide = (WIDTH - 2 * LEFT - GAP * (len(layer) - 1)) / len(layer)
        for place, room in enumerate(layer):
            parts += _box(room, LEFT + place * (wide + GAP), 16 + number * (HEIGHT_OF_LAYER + GAP), wide)
    legend = (("sees the table", CONFIDENTIAL), ("the wall", WALL), ("public", PUBLIC), ("laws: no data", LAWS))
    for place, (words, fill) in enumerate(legend):
        x = LEFT + place * 150
        parts.append(f'<rect x="{x}" y="{height - 34}" width="18" height="18" fill="{fill}" stroke="#555555"/>')
        parts.append(_text(x + 26, height - 20, words))
    parts.append(_text(LEFT + 620, height - 20, "each layer imports only those below it (pyproject.toml)"))
    return "\n".join([*parts, "</svg>", ""])


def _box(room: str, x: float, y: float, wide: float) -> list[str]:
    role, fill = ROOMS[room]
    return [
        f'<rect x="{x:g}" y="{y}" width="{wide:g}" height="{HEIGHT_OF_LAYER}" rx="6" fill="{fill}" stroke="#555555"/>',
        _text(x + 10, y + 18, room, bold=True),
        _text(x + 10, y + 35, role),
    ]


def _text(x: float, y: float, words: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}"{weight}>{escape(words)}</text>'
