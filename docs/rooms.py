"""The architecture in one picture: rooms, the wall and the path of the data, with the imports that the wall allows."""

import tomllib
from dataclasses import dataclass
from html import escape
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
WIDTH, HEIGHT = 1000, 680
BOX = 150
TITLE = "The rooms of inbounds, the wall between data and public, and who may import whom"


@dataclass(frozen=True)
class Room:
    """A box: where, how high, what is in it, and what it is."""

    x: int
    y: int
    role: tuple[str, ...]
    fill: str = "#ffffff"
    height: int = 118
    width: int = BOX


DATA, WALL, PUBLIC, LAWS, TESTS = "#fde7e0", "#f6c9ba", "#e2f0e6", "#e3eaf7", "#f1eef6"
ROOMS = {
    "tables": Room(40, 120, ("any frame, any engine:", "exact sums of integers"), DATA),
    "releases": Room(230, 96, ("a function for a statistic:", "read once, draw, write", "the record"), WALL, 166, 170),
    "record": Room(450, 100, ("what passes the wall;", "checks itself"), PUBLIC, 148),
    "ledger": Room(465, 264, ("what has been spent,", "entry by entry"), PUBLIC, 100),
    "inference": Room(640, 56, ("intervals, tests, posteriors", "from records alone"), PUBLIC, 122, 165),
    "after": Room(640, 200, ("repairs: simplex, trees,", "matrices, constraints"), PUBLIC, 108, 165),
    "app": Room(830, 96, ("plans, previews, reports,", "the command line"), PUBLIC, 166),
    "laws": Room(40, 400, ("noise × bounding", "on the real line"), LAWS, 104),
    "grid": Room(230, 400, ("the same laws in integers,", "and how to draw from them"), LAWS, 104, 170),
    "privacy": Room(450, 400, ("sensitivity, loss, calibration,", "certificates, guarantees"), LAWS, 104, 165),
    "studies": Room(655, 400, ("simulations with", "known truth"), TESTS, 104),
    "audit": Room(830, 400, ("attempts to catch us",), TESTS, 104),
}
# Files beside the rooms, and the surface.
FILES = {
    "record_text": "how a record is written",
    "derive": "from noise to values",
    "expected": "how far off",
    "soundness": "certified for that?",
    "_check": "validators",
    "_text": "names, shown safely",
    "__init__": "the public names",
}
PATH = [
    ("tables", "releases"),
    ("releases", "record"),
    ("record", "inference"),
    ("record", "after"),
    ("inference", "app"),
    ("after", "app"),
]


def _read_rule() -> dict[str, set[str]]:
    """Each room with what it may import, from the contracts of the import rule."""
    contracts = tomllib.loads(PROJECT.read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    allowed: dict[str, set[str]] = {room: set() for layer in layers for room in layer.split(" | ")} | {
        "__init__": set()
    }
    for contract in contracts:
        if contract["type"] == "protected":
            (room,) = map(_shorten, contract["protected_modules"])
            for importer in map(_shorten, contract["allowed_importers"]):
                allowed[importer].add(room)
            for importer, imported in (pair.split(" -> ") for pair in contract.get("ignore_imports", ())):
                whole = importer == "inbounds"
                allowed[_shorten(importer).split(".")[0]].add(room if whole else _shorten(imported))
    return allowed


def _shorten(module: str) -> str:
    return "__init__" if module == "inbounds" else module.removeprefix("inbounds.")


ALLOWED = _read_rule()


def drawn() -> str:
    """The picture as SVG. A room or file that the import rule has and the picture has not is an error."""
    assert set(ALLOWED) == set(ROOMS) | set(FILES), "docs/rooms.py draws the rooms of the contract `layers`"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222222" role="img">',
        f"<title>{TITLE}</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 8,4 0,8z" fill="#222222"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        *_grounds(),
    ]
    for name, room in ROOMS.items():
        parts += _box(name, room)
    parts += [_arrow(ROOMS[one], ROOMS[other]) for one, other in PATH]
    for start, end in (("laws", "grid"), ("grid", "privacy")):
        parts.append(_arrow(ROOMS[start], ROOMS[end]))
    grid, privacy, wall = ROOMS["grid"], ROOMS["privacy"], ROOMS["releases"]
    foot = wall.y + wall.height
    parts += [_line(grid.x + 40, grid.y, grid.x + 40, foot), _line(privacy.x + 20, privacy.y, wall.x + 158, foot)]
    for place, (name, role) in enumerate(FILES.items()):
        x = 40 + 137 * place
        parts += [_text(x, 576, f"{name}.py", bold=True), _text(x, 592, role)]
        parts += [_text(x, 608 + 13 * line, words, small=True) for line, words in enumerate(_imports(name, 21))]
    said = "Arrows: the path of data and laws. Small print: what of ours a room may import (pyproject.toml)."
    parts.append(_text(40, 664, said))
    return "\n".join([*parts, "</svg>", ""])


def _grounds() -> list[str]:
    x = ROOMS["releases"].x + 85
    return [
        _text(40, 40, "confidential side", bold=True, size=15),
        _text(450, 40, "public side: sees records and laws, never the table", bold=True, size=15),
        f'<line x1="{x}" y1="52" x2="{x}" y2="350" stroke="#b0452a" stroke-width="5" stroke-dasharray="2 5"/>',
        _text(x, 40, "the wall", bold=True, size=15, anchor="middle", colour="#b0452a"),
        _text(40, 384, "laws and promises: no data", bold=True, size=15),
        _text(655, 384, "trying it", bold=True, size=15),
        _text(40, 554, "files beside the rooms", bold=True, size=15),
    ]


def _box(name: str, room: Room) -> list[str]:
    made = [
        f'<rect x="{room.x}" y="{room.y}" width="{room.width}" height="{room.height}" rx="8" fill="{room.fill}" '
        'stroke="#555555"/>',
        _text(
            room.x + 10,
            room.y + 22,
            f"{name}/" if name not in FILES and name != "record" else f"{name}.py",
            bold=True,
            size=15,
        ),
    ]
    y = room.y + 40
    for line in room.role:
        made.append(_text(room.x + 10, y, line))
        y += 15
    for line in _imports(name, room.width // 6 - 1):
        made.append(_text(room.x + 10, y + 3, line, small=True))
        y += 13
    return made


def _imports(name: str, width: int) -> list[str]:
    """What may be imported, in lines; validators, safe text and the room itself go without saying."""
    names = sorted(ALLOWED[name] - {"_check", "_text", name})
    lines = ["may import: "] if names else ["imports nothing of ours"]
    for number, one in enumerate(names):
        word = one + ("," if number < len(names) - 1 else "")
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] += f"{word} "
    return [line.strip() for line in lines]


def _arrow(one: Room, other: Room) -> str:
    middle, end = one.y + one.height / 2, other.y + other.height / 2
    return _line(one.x + one.width, middle, other.x - 2, end)


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    ends = f'x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}"'
    return f'<line {ends} stroke="#222222" stroke-width="2.5" marker-end="url(#tip)"/>'


def _text(
    x: float,
    y: float,
    words: str,
    *,
    bold: bool = False,
    small: bool = False,
    size: int = 12,
    anchor: str = "start",
    colour: str = "",
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    size = 11 if small else size
    fill = f' fill="{colour or "#555555"}"' if small or colour else ""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"{weight}{fill}>{escape(words)}</text>'
