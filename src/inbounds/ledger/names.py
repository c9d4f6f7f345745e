"""Names of datasets: written in one way, and compared with those that look alike.

A dataset has a limit of its own, so that a name which merely looks like another one would open a fresh budget.
"""

import unicodedata
from collections.abc import Iterable

from inbounds import _check
from inbounds._text import is_unseen

# Letters of Cyrillic and Greek beside those that they look like; i, l and 1 are one, and so are o and 0.
_SMALL = {
    **dict(zip("абвгезкмнорстухѕјԁԛԝһѵ", "a6bre3kmhopctyxsjdqwhv", strict=True)),
    **dict(zip("αβγεζηκμνορτυχωϲϳ", "abyeznkmvoptuxwcj", strict=True)),
    **dict.fromkeys("i1|ıіӏι", "l"),
    "0": "o",
}
# Capitals that look like other letters than their small ones do.
_CAPITAL = dict(zip("ВНТΗΝΥΡΜ", "BHTHNYPM", strict=True))
_LETTERS, _CAPITALS, _JOINERS = str.maketrans(_SMALL), str.maketrans(_CAPITAL), str.maketrans("", "", " -_‐‑‒–—")
# Names that a sentence has.
_FEW = 5


def clean_name(name: object) -> str:
    r"""A dataset's name in the one form in which it is written: composed (NFC), without spaces around it.

    Raises `ValueError` for a name that is empty or has characters that are not seen.

    >>> clean_name(" survey "), clean_name("gro\u0308ße")
    ('survey', 'größe')
    """
    if not isinstance(name, str) or not name.strip():
        raise ValueError("dataset must be a name: the ledger keeps one account for each")
    unseen = sorted({one for one in name.strip() if is_unseen(one)})
    if unseen:
        codes = ", ".join(f"U+{ord(one):04X}" for one in unseen[:5])
        raise ValueError(
            f"dataset must be a name of characters that can be seen, in one line; {_check.shown(name)} has {codes}. "
            "Leave them out"
        )
    return unicodedata.normalize("NFC", name.strip())


def skeletons(name: str) -> frozenset[str]:
    r"""What is left of a name without the differences that a reader may miss: case, spaces, letters that look alike.

    There may be two, as some letters look like others in one case alone. Names that share one look alike.

    >>> skeletons("Survey-2026") == skeletons("surv\u0435y 2O26"), skeletons("survey-2026") == skeletons("survey-2027")
    (True, False)
    """
    seen = "".join(one for one in unicodedata.normalize("NFKC", name) if not is_unseen(one))
    forms = (unicodedata.normalize("NFKC", one.casefold()) for one in (seen, seen.translate(_CAPITALS)))
    return frozenset(one.translate(_LETTERS).translate(_JOINERS) for one in forms)


def look_alikes(name: str, others: Iterable[str]) -> list[str]:
    """Those of other names that look like this one."""
    own = skeletons(name)
    return [other for other in others if other != name and skeletons(other) & own]


def describe_look_alikes(name: str, others: Iterable[str]) -> str | None:
    """A sentence about a dataset that looks like others; None where there is none."""
    alike = look_alikes(name, others)
    return _describe(name, alike) if alike else None


def describe_all(names: Iterable[str]) -> list[str]:
    """The sentence for each name that looks like one before it; in one pass, as there may be thousands."""
    known: dict[str, str] = {}
    told = []
    for name in names:
        own = skeletons(name)
        before = next((known[one] for one in sorted(own) if one in known), None)
        if before is not None:
            told.append(_describe(name, [before]))
        for one in own:
            known.setdefault(one, name)
    return told


def _describe(name: str, alike: list[str]) -> str:
    few = ", ".join(map(_spell, alike[:_FEW])) + (" and others" if len(alike) > _FEW else "")
    return (
        f"the dataset {_spell(name)} has a limit of its own; it looks like {few}, which the ledger has, too. If the "
        "data are the same, charge them to one dataset: their losses add up"
    )


def _spell(name: str) -> str:
    """A name in quotes; where it has other letters than those of ASCII, also with their codes."""
    return repr(name) if name.isascii() else f"{name!r} ({name!a})"
