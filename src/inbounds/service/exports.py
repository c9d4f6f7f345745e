"""The numbers of a record in the formats of other programs."""

from importlib.util import find_spec
from pathlib import Path

from inbounds.report.exports import FORMS as FORMS
from inbounds.report.exports import export
from inbounds.service.plans import verify_record


def export_record(path: Path, form: str) -> bytes:
    """Read a record, verify it, and write its numbers in one of `FORMS`, as the bytes of a file."""
    return export(verify_record(path), form)


def list_forms() -> list[str]:
    """Those of `FORMS` that are not among the files of a result, and whose library is installed."""
    return [form for form in ("xlsx", "latex") if form != "xlsx" or find_spec("xlsxwriter") is not None]
