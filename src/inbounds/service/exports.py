"""The numbers of a record in the formats of other programs."""

from importlib.util import find_spec
from pathlib import Path

from inbounds.report.exports import FORMS as FORMS
from inbounds.report.exports import export
from inbounds.service.plans import verify_record


def export_record(path: Path, form: str) -> bytes:
    """Read a record, prove it again, and write its numbers in one of `FORMS`: the bytes of a file."""
    return export(verify_record(path), form)


def list_forms() -> list[str]:
    """Those of `FORMS` that a result is not written in anyway, and that can be made with what is installed."""
    return [form for form in ("xlsx", "latex") if form != "xlsx" or find_spec("xlsxwriter") is not None]
