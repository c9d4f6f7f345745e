"""The records of a ledger's datasets for the Differential Privacy Deployments Registry (registry.opendp.org).

A record has the keys of the registry's schema, and no others. Who publishes the numbers, what for, and of which region
they are, a ledger does not know: its owner fills that in before the record is handed in.
"""

import re
from fractions import Fraction
from typing import Any

from inbounds.ledger.amounts import spell_amount
from inbounds.ledger.entry import Entry
from inbounds.ledger.standing import Standing

_UNKNOWN = "not stated in the ledger"
_VARIANTS = {"pure": "Pure DP", "approximate": "Approximate DP", "zcdp": "Zero-concentrated DP", "renyi": "Renyi DP"}
_PARAMETERS = ("epsilon", "delta", "rho")
_ADJACENT = {
    "substitute": "Adjacent datasets have the same number of records, and {} has other values.",
    "add-remove": "Adjacent datasets differ in {}, which is in one of them only.",
}


def make_record(standing: Standing, entries: list[Entry]) -> dict[str, Any]:
    """Make the record of a dataset.

    Parameters
    ----------
    standing
        The state of the dataset.
    entries
        All entries of its ledger.

    Returns
    -------
    dict
        The record: a draft, whose basic facts the owner of the ledger completes.
    """
    of_dataset = [entry for entry in entries if entry.body.get("dataset") == standing.dataset]
    charges = [entry for entry in of_dataset if entry.kind == "charge"]
    dates = sorted({entry.body["when"][:10] for entry in charges or of_dataset})
    total = f"Sequential: the losses of all releases add up, to at most {spell_amount(standing.limit)}."
    what = [text for entry in charges for text in entry.body["what"]]
    return {
        "url_slug": _make_slug(f"{standing.dataset} {dates[0][:4]}"),
        "status": "Draft",
        "tier": 2,
        "deployment": {
            "basic": {
                "name": standing.dataset,
                "data_curators": [_UNKNOWN],
                "intended_use": _UNKNOWN,
                "data_product_type": "Summary statistics",
                "data_product_region": _UNKNOWN,
                "description": "; ".join(what) or "nothing was released yet",
                "publication_date": dates[0],
            },
            "dp_variant": {"variant_name": _VARIANTS.get(standing.limit.kind, "Custom")},
            "privacy_loss": _describe_loss(standing),
            "deployment_model": {
                "model_name": "Central",
                "release_type": "Many releases" if len(charges) > 1 else "One release",
                "release_type_details": f"Charged on {', '.join(dates)}." if charges else "Nothing was charged yet.",
            },
            "accounting": {"composition": total},
            "implementation": {
                "mechanisms": "inbounds: integer noise on a grid, drawn exactly from the random numbers of the system, "
                "with a certificate for each draw. No floating-point number decides a release."
            },
        },
    }


def _make_slug(text: str) -> str:
    return re.sub(r"[\W_]+", "-", text.lower()).strip("-")


def _describe_loss(standing: Standing) -> dict[str, Any]:
    person = "a person, with all records" if standing.person is not None else "one record"
    if standing.person is None and standing.contributions > 1:
        person = f"a person, with up to {standing.contributions} records"
    unit = "Record" if standing.contributions == 1 and standing.person is None else "Person"
    by = "" if standing.person is None else f" The column {standing.person} has the id of the person."
    spent = {} if standing.spent is None else standing.spent.to_dict()
    return {
        "privacy_unit": unit,
        "privacy_unit_details": _ADJACENT[standing.neighbours].format(person) + by,
        "privacy_parameters": {name: float(Fraction(spent[name])) for name in _PARAMETERS if name in spent},
    }
