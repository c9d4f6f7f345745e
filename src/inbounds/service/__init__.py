"""The functions behind the command line and the page: they take paths and plain values, and return plain values.

Nothing is printed here. Long work calls a callback at each step; a callback that raises an exception cancels the work.
Nothing is spent if that happens before the ledger is charged. A charge that was made stands.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inbounds._estimates import QUALITY_RULE
    from inbounds.lab.paper_figures import list_figures, simulate_figure
    from inbounds.lab.two_laws import compare_laws, compare_over_truths
    from inbounds.service.ahead import Ahead, make_ahead
    from inbounds.service.budget import find_left, imagine_charge, offer_release, show_ledger
    from inbounds.service.editing import edit_text
    from inbounds.service.exports import FORMS, export_record, list_forms
    from inbounds.service.folder import list_columns, list_files, require_inside, start_plan
    from inbounds.service.forms import list_keys, list_statistics
    from inbounds.service.plans import (
        STAGES,
        Releases,
        Say,
        describe_values,
        rehearse_plan,
        release_plan,
        summarize,
        verify_record,
    )
    from inbounds.service.previews import Progress, check_plan, preview_plan
    from inbounds.service.reading import Reading, read_plan
    from inbounds.service.results import choose_folder, find_result, list_results, pack_result, summarize_result

__all__ = [
    "FORMS",
    "QUALITY_RULE",
    "STAGES",
    "Ahead",
    "Progress",
    "Reading",
    "Releases",
    "Say",
    "check_plan",
    "choose_folder",
    "compare_laws",
    "compare_over_truths",
    "describe_values",
    "edit_text",
    "export_record",
    "find_left",
    "find_result",
    "imagine_charge",
    "list_columns",
    "list_figures",
    "list_files",
    "list_forms",
    "list_keys",
    "list_results",
    "list_statistics",
    "make_ahead",
    "offer_release",
    "pack_result",
    "preview_plan",
    "read_plan",
    "rehearse_plan",
    "release_plan",
    "require_inside",
    "show_ledger",
    "simulate_figure",
    "start_plan",
    "summarize",
    "summarize_result",
    "verify_record",
]

# Each name is loaded on first use: a release needs no forecasts, and a page no exports.
_PLACES = {
    **dict.fromkeys(__all__, "service.plans"),
    **dict.fromkeys(("Ahead", "make_ahead"), "service.ahead"),
    **dict.fromkeys(("find_left", "imagine_charge", "offer_release", "show_ledger"), "service.budget"),
    **dict.fromkeys(("FORMS", "export_record", "list_forms"), "service.exports"),
    **dict.fromkeys(("list_columns", "list_files", "require_inside", "start_plan"), "service.folder"),
    **dict.fromkeys(("list_figures", "simulate_figure"), "lab.paper_figures"),
    **dict.fromkeys(("list_keys", "list_statistics"), "service.forms"),
    **dict.fromkeys(("compare_laws", "compare_over_truths"), "lab.two_laws"),
    **dict.fromkeys(("Progress", "check_plan", "preview_plan"), "service.previews"),
    **dict.fromkeys(("Reading", "read_plan"), "service.reading"),
    **dict.fromkeys(
        ("choose_folder", "find_result", "list_results", "pack_result", "summarize_result"), "service.results"
    ),
    "QUALITY_RULE": "_estimates",
    "edit_text": "service.editing",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'inbounds.service' has no attribute {name!r}")
    value = getattr(import_module(f"inbounds.{_PLACES[name]}"), name)
    globals()[name] = value
    return value
