"""The claims page: every finding with its verdict and figures; nothing is fetched but the figures next to it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inbounds._files import write_atomically
from inbounds._html import render
from inbounds.lab.studies.evidence import CLEAR

_HEADS = ("id", "finding", "verdict", "deciding figure (s.e.)", "conditions", "honest scale", "reference")


def write(rows: Sequence[Mapping[str, Any]], figures: Sequence[tuple[str, str]], method: str, path: Path) -> None:
    """Write the page of the claims.

    Parameters
    ----------
    rows
        The claims with their verdicts, as `inbounds.lab.studies.claims.rows` makes them.
    figures
        Title and path of each figure, seen from the page.
    method
        How the tables were made, in words.
    path
        The file to write.
    """
    counts = Counter(row["verdict"] for row in rows)
    page = render(
        "claims",
        findings=[_describe(row) for row in rows],
        summary=", ".join(f"{count} {word}" for word, count in counts.items()),
        figures=figures,
        made=method,
        heads=_HEADS,
        clear=f"{CLEAR:g}",
    )
    write_atomically(path, page + "\n")


def _describe(row: Mapping[str, Any]) -> dict[str, Any]:
    """A claim with its deciding figure as text and its reasons as lines."""
    number = "" if row["figure"] is None else _format_number(row["figure"], row["standard_error"])
    reasons = {f"reasons{end}": _split(row[f"why{end}"]) for end in ("", "_honest")}
    return {**row, "number": number, **reasons}


def _split(text: str | None) -> list[str]:
    return [line for line in (text or "").split("\n") if line]


def _format_number(value: float, error: float) -> str:
    return f"{value:.3g}" + (f" ({error:.1g})" if error else " (exact)")
