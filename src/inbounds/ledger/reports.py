"""Show and export a ledger: for a terminal, as plain values, as CSV, for a registry. It is verified first."""

import csv
import io
from pathlib import Path
from typing import Any, Literal

from inbounds._text import csv_cell, to_json, visible
from inbounds.ledger.amounts import read_amount, spell_amount
from inbounds.ledger.entry import Entry
from inbounds.ledger.history import standings, verify
from inbounds.ledger.registry import make_record

CSV_HEADS = ("sequence", "when", "who", "kind", "dataset", "epsilon", "limit", "what", "hash")


def show(ledger: str | Path) -> list[str]:
    """List the state of every dataset, then every entry, for a terminal.

    Parameters
    ----------
    ledger
        The file of the ledger.

    Returns
    -------
    list of str
        The lines.

    Raises
    ------
    LedgerError
        If there is no ledger, or it was changed.
    """
    entries = verify(ledger)
    lines = [str(standing) for standing in standings(entries)] or ["no dataset yet"]
    for entry in entries:
        line = f"{entry.sequence:>4d}  {entry.body['when']}  {entry.kind:8s} {_describe(entry)}  ({entry.body['who']})"
        lines.append(visible(line))
    return lines


def _describe(entry: Entry) -> str:
    body = entry.body
    match entry.kind:
        case "ledger":
            return f"made, {body['format']}"
        case "dataset":
            return f"{body['dataset']}: limit {_spell(body['limit'])}, {body['neighbours']}"
        case "limit":
            return f"{body['dataset']}: {_spell(body['before'])} to {_spell(body['limit'])}; {body['why']}"
        case "charge":
            return f"{body['dataset']}: {_spell(body['cost'])} for {'; '.join(body['what']) or 'a release'}"
        case "attempt":
            return f"of entry {body['charge']}: the table is counted"
        case "drawing":
            return f"of entry {body['charge']}: the draw begins"
        case "drawn":
            return f"of entry {body['charge']}: the draw is stored"
        case "result":
            return f"of entry {body['charge']}, kept"
        case "checkpoint":
            datasets = len(body["datasets"])
            return f"the state of {datasets} dataset{'s' * (datasets != 1)}"
        case "accept":
            return f"without its .head file; {body['why']}"
        case _:
            return f"of entry {body['charge']} ({body['why']}); the charge stands"


def _spell(plain: object) -> str:
    return spell_amount(read_amount(plain))


def summarize(ledger: str | Path) -> dict[str, Any]:
    """The state of every dataset, and every entry, as plain values. Whole numbers are billionths of pure ε.

    Parameters
    ----------
    ledger
        The file of the ledger.

    Returns
    -------
    dict
        With the keys ``unit``, ``datasets`` and ``entries``.

    Raises
    ------
    LedgerError
        If there is no ledger, or it was changed.
    """
    entries = verify(ledger)
    return {
        "unit": "billionths of epsilon",
        "datasets": [standing.to_dict() for standing in standings(entries)],
        "entries": [entry.to_dict() for entry in entries],
    }


def export(ledger: str | Path, kind: Literal["csv", "registry"] | str = "csv") -> str:
    """Export a ledger as text.

    Parameters
    ----------
    ledger
        The file of the ledger.
    kind
        ``"csv"`` for every entry, or ``"registry"`` for records of the Differential Privacy Deployments Registry: a
        list in JSON, with a draft for each dataset.

    Returns
    -------
    str
        The CSV or JSON.

    Raises
    ------
    ValueError
        If ``kind`` is neither.
    LedgerError
        If there is no ledger, or it was changed.
    """
    entries = verify(ledger)
    if kind == "registry":
        return to_json(
            [make_record(standing, entries) for standing in standings(entries)], indent=1, ensure_ascii=False
        )
    if kind != "csv":
        raise ValueError(f"kind must be 'csv' or 'registry', got {kind!r}")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEADS)
    writer.writerows(map(to_cells, entries))
    return text.getvalue()


def to_cells(entry: Entry) -> list[Any]:
    """The cells of an entry under `CSV_HEADS`."""
    body = entry.body
    cost, limit = (_spell(body[name]) if name in body else "" for name in ("cost", "limit"))
    what = "; ".join(body["what"]) if "what" in body else body.get("why", "")
    texts = [csv_cell(text) for text in (body["when"], body["who"], entry.kind, body.get("dataset", ""))]
    return [entry.sequence, *texts, cost, limit, csv_cell(what), entry.hash]
