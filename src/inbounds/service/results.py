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
# A record that is longer than this is not looked into for a list.
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
        places = [one for one in (folder / RESULTS).iterdir() if (one / "release.json").is_file()]
    except OSError:
        return []
    inside = [one for one in places if one.resolve().is_relative_to(folder.resolve())]
    inside.sort(key=lambda one: ((one / "release.json").stat().st_mtime_ns, one.name), reverse=True)
    return [_describe(one) for one in inside]


def _describe(place: Path) -> dict[str, Any]:
    said: dict[str, Any] = {}
    record = place / "release.json"
    if record.stat().st_size <= _LONGEST:
        try:
            read = json.loads(record.read_text("utf-8"))
            body = (read.get("entry") or {}).get("body") or {}
            said = {"dataset": read.get("dataset"), "when": body.get("when")}
        except (ValueError, OSError, AttributeError, RecursionError):
            said = {}
    files = sorted(one.name for one in place.iterdir() if one.is_file() and not one.name.startswith("."))
    return {"id": place.name, "files": files, "dataset": said.get("dataset"), "when": said.get("when")}


def find_result(folder: Path, name: str) -> Path:
    """The folder of a result by the name that `list_results` gives.

    Raises
    ------
    RecordError
        If there is none.
    """
    if name not in [one["id"] for one in list_results(folder)]:
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
    made = verify_record(place / "release.json")
    sections = collect_sections(made)
    named = [
        {"name": name, "cells": [*cells, *([f"{more} more"] if more > 0 else [])], "quality": quality}
        for _, name, cells, more, quality in list_doubtful(sections)
    ]
    spent, where = describe_left(made)
    if (
        plan is not None
        and plan.account is not None
        and plan.account.dataset == made.dataset
        and made.entry is not None
    ):
        spent, where = f"{spent}, {find_left(plan.account)} left now", f"By the ledger, on the account {made.dataset}."
    promise = state_promise(made.terms.unit, float(made.epsilon), "everything in the report")
    return {"count": count_qualities(sections), "doubtful": named, "promise": promise, "left": [spent, where]}


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
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in sorted(place.iterdir()):
            if one.is_file() and not one.name.startswith("."):
                archive.write(one, one.name)
        if plan is not None and plan.is_file():
            archive.write(plan, plan.name)
    return made.getvalue()
