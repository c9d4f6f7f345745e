"""Results in the folder that was opened: where a release goes, and what was released before."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

from inbounds.errors import RecordError
from inbounds.plan.plan import Plan
from inbounds.report.lines import count_qualities
from inbounds.report.promise import state_promise
from inbounds.report.rows import collect_sections
from inbounds.report.view import list_doubtful
from inbounds.report.words import describe_left
from inbounds.service.budget import find_left
from inbounds.service.plans import verify_record

RESULTS = "results"
# A longer record is not read for a list.
_LONGEST = 50_000_000


def choose_folder(plan: Plan, path: Path, *, new: bool = False) -> Path:
    """The folder for the files of a release: ``results/PLAN-DIGEST`` beside the plan, the same for the same plan.

    Parameters
    ----------
    plan, path
        The plan and its file.
    new
        Whether it is drawn again: then the folder is one that does not exist yet.

    Returns
    -------
    Path
        The folder, which may not exist yet.
    """
    name = f"{path.stem}-{plan.digest[:8]}"
    folder = path.parent / RESULTS / name
    number = 2
    while new and folder.exists():
        folder, number = path.parent / RESULTS / f"{name}-{number}", number + 1
    return folder


def list_results(folder: Path) -> list[dict[str, Any]]:
    """The results in ``results`` of a folder, the newest first. Records are not verified here.

    Parameters
    ----------
    folder
        The folder that was opened.

    Returns
    -------
    list of dict
        Each with ``id``, the name of its folder, ``files``, and the ``dataset`` and ``when`` that its record says.
    """
    try:
        places = [place for place in (folder / RESULTS).iterdir() if (place / "release.json").is_file()]
    except OSError:
        return []
    inside = [place for place in places if place.resolve().is_relative_to(folder.resolve())]
    inside.sort(key=lambda place: ((place / "release.json").stat().st_mtime_ns, place.name), reverse=True)
    return [_describe(place) for place in inside]


def _describe(place: Path) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    record = place / "release.json"
    if record.stat().st_size <= _LONGEST:
        try:
            content = json.loads(record.read_text("utf-8"))
            body = (content.get("entry") or {}).get("body") or {}
            facts = {"dataset": content.get("dataset"), "when": body.get("when")}
        except (ValueError, OSError, AttributeError, RecursionError):
            facts = {}
    files = sorted(file.name for file in place.iterdir() if file.is_file() and not file.name.startswith("."))
    return {"id": place.name, "files": files, "dataset": facts.get("dataset"), "when": facts.get("when")}


def find_result(folder: Path, name: str) -> Path:
    """The folder of a result by the name that `list_results` gives.

    Raises
    ------
    RecordError
        If there is none.
    """
    if name not in [result["id"] for result in list_results(folder)]:
        raise RecordError("there is no such result in the folder that was opened")
    return folder / RESULTS / name


def summarize_result(place: Path, plan: Plan | None = None) -> dict[str, Any]:
    """What a report says first: how good the numbers are, what is promised, and what was left. The record is verified.

    Parameters
    ----------
    place
        The folder of the result.
    plan
        A plan whose ledger is asked what is left now, if it is that of the same dataset.

    Returns
    -------
    dict
        With ``count``, ``doubtful`` (releases whose numbers are not reliable, the worst first, with their ``name``,
        ``cells`` and ``quality``), ``promise`` and ``left``.
    """
    releases = verify_record(place / "release.json")
    sections = collect_sections(releases)
    doubtful = [
        {"name": name, "cells": [*cells, *([f"{more} more"] if more > 0 else [])], "quality": quality}
        for _, name, cells, more, quality in list_doubtful(sections)
    ]
    amounts, where = describe_left(releases)
    if (
        plan is not None
        and plan.account is not None
        and plan.account.dataset == releases.dataset
        and releases.entry is not None
    ):
        amounts = f"{amounts}, {find_left(plan.account)} left now"
        where = f"By the ledger, on the account {releases.dataset}."
    promise = state_promise(releases.terms.unit, releases.guarantee, "everything in the report")
    return {"count": count_qualities(sections), "doubtful": doubtful, "promise": promise, "left": [amounts, where]}


def pack_result(place: Path, plan: Path | None = None) -> bytes:
    """All files of a result in one ZIP archive, with the plan if it is given.

    Parameters
    ----------
    place
        The folder of the result.
    plan
        The plan's file.

    Returns
    -------
    bytes
        The archive.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(place.iterdir()):
            if file.is_file() and not file.name.startswith("."):
                archive.write(file, file.name)
        if plan is not None and plan.is_file():
            archive.write(plan, plan.name)
    return buffer.getvalue()
