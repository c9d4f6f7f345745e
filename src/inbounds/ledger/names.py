"""Names of datasets: how they are normalised, and how look-alikes are found.

Each dataset has its own limit, so a name that only looks like another one would open a new budget.
"""

import unicodedata
from collections.abc import Iterable

from inbounds import _check
from inbounds._text import is_unseen

# Cyrillic and Greek letters, and the letters that they look like. i, l and 1 count as one letter, and so do o and 0.
_SMALL = {
    **dict(zip("абвгезкмнорстухѕјԁԛԝһѵ", "a6bre3kmhopctyxsjdqwhv", strict=True)),
    **dict(zip("αβγεζηκμνορτυχωϲϳ", "abyeznkmvoptuxwcj", strict=True)),
    **dict.fromkeys("i1|ıіӏι", "l"),
    "0": "o",
}
# Capitals that look like other letters than their lower-case forms do.
_CAPITAL = dict(zip("ВНТΗΝΥΡΜ", "BHTHNYPM", strict=True))
_LETTERS, _CAPITALS, _JOINERS = str.maketrans(_SMALL), str.maketrans(_CAPITAL), str.maketrans("", "", " -_‐‑‒–—")
# The most names in a sentence.
_FEW = 5


def clean_name(name: object) -> str:
    r"""Normalise the name of a dataset: composed (NFC), without spaces around it.

    Raises a `ValueError` if the name is empty or has invisible characters.

    >>> clean_name(" survey "), clean_name("gro\u0308ße")
    ('survey', 'größe')
    """
    if not isinstance(name, str) or not name.strip():
        raise ValueError("dataset must be a name that is not empty")
    unseen = sorted({character for character in name.strip() if is_unseen(character)})
    if unseen:
        codes = ", ".join(f"U+{ord(character):04X}" for character in unseen[:5])
        raise ValueError(
            f"dataset must be in one line without invisible characters; {_check.shown(name)} has {codes}. Leave them "
            "out"
        )
    return unicodedata.normalize("NFC", name.strip())


def skeletons(name: str) -> frozenset[str]:
    r"""Reduce a name so that names which look alike are equal: case, spaces and similar letters are ignored.

    There may be two results, since some letters look like others only in one case. Names that share one look alike.

    >>> skeletons("Survey-2026") == skeletons("surv\u0435y 2O26"), skeletons("survey-2026") == skeletons("survey-2027")
    (True, False)
    """
    visible = "".join(letter for letter in unicodedata.normalize("NFKC", name) if not is_unseen(letter))
    forms = (unicodedata.normalize("NFKC", text.casefold()) for text in (visible, visible.translate(_CAPITALS)))
    return frozenset(form.translate(_LETTERS).translate(_JOINERS) for form in forms)


def look_alikes(name: str, others: Iterable[str]) -> list[str]:
    """The other names that look like this one."""
    forms = skeletons(name)
    return [other for other in others if other != name and skeletons(other) & forms]


def describe_look_alikes(name: str, others: Iterable[str]) -> str | None:
    """A sentence about the datasets whose names look like this one; None if there are none."""
    alike = look_alikes(name, others)
    return _describe(name, alike) if alike else None


def describe_all(names: Iterable[str]) -> list[str]:
    """A sentence for each name that looks like an earlier one. One pass is enough, as there may be thousands."""
    by_form: dict[str, str] = {}
    sentences = []
    for name in names:
        forms = skeletons(name)
        before = next((by_form[form] for form in sorted(forms) if form in by_form), None)
        if before is not None:
            sentences.append(_describe(name, [before]))
        for form in forms:
            by_form.setdefault(form, name)
    return sentences


def _describe(name: str, alike: list[str]) -> str:
    few = ", ".join(map(_spell, alike[:_FEW])) + (" and others" if len(alike) > _FEW else "")
    return (
        f"the dataset {_spell(name)} has its own limit, and its name looks like {few}, which is also in the ledger. If "
        "the data are the same, charge them to one dataset, because the losses add up"
    )


def _spell(name: str) -> str:
    """A name in quotes, also with the codes of its letters if they are not ASCII."""
    return repr(name) if name.isascii() else f"{name!r} ({name!a})"
