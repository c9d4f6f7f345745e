"""The numbers of a record in the formats of other programs."""

from pathlib import Path

from inbounds.report.exports import FORMS as FORMS
from inbounds.report.exports import export
from inbounds.service.plans import verify_record


def export_record(path: Path, form: str) -> bytes:
    """Read a record, prove it again, and write its numbers in one of `FORMS`: the bytes of a file."""
    return export(verify_record(path), form)
