"""The paper's 32 findings, each judged from the tables of the two studies or by formulas."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from inbounds.lab.studies.claims import laws, matrix, repairs, rescaling, shares
from inbounds.lab.studies.claims.judge import Claim, Judged

if TYPE_CHECKING:
    import polars

__all__ = ["ALL", "Claim", "Judged", "judged", "rows"]

_OF_STUDY = {"covariance": matrix.CLAIMS, "proportions": (*rescaling.CLAIMS, *repairs.CLAIMS)}
_EVIDENCE = {"covariance": matrix.evidence, "proportions": shares.evidence}
ALL = (*_OF_STUDY["covariance"], *_OF_STUDY["proportions"], *laws.CLAIMS)


# claim:study-claims
def judge_all(tables: Mapping[str, "polars.DataFrame | None"]) -> list[Judged]:
    """All findings from the tables of the studies, at the paper's scale and at the honest one.

    A study whose table is missing leaves its findings "not run". Statements about the laws need no table.
    """
    results = []
    for name, claims in _OF_STUDY.items():
        table = tables.get(name)
        for calibration in ("paper", "honest"):
            evidence = () if table is None else (_EVIDENCE[name](table, calibration),)
            results += [
                Judged(claim, calibration, tuple(claim.judge(*evidence)) if evidence else ()) for claim in claims
            ]
    return results + [Judged(claim, "exact", tuple(claim.judge())) for claim in laws.CLAIMS]


def rows(results: Sequence[Judged]) -> list[dict[str, Any]]:
    """The findings as a table: one row for each, with the verdicts at both scales."""
    table = []
    for claim in ALL:
        mine = {item.calibration: item for item in results if item.claim is claim}
        first, honest = mine.get("paper") or mine["exact"], mine.get("honest")
        part = first.decisive
        row: dict[str, Any] = {"id": claim.id, "where": claim.where, "finding": claim.words, "verdict": first.verdict}
        row["sure"] = first.sure
        row |= {"figure": part and part.figure.value, "standard_error": part and part.figure.error}
        row |= {"of": part and part.text, "why": first.why, "reference": claim.reference, "remark": claim.remark}
        table.append(
            row
            | {
                "verdict_honest": honest and honest.verdict,
                "sure_honest": honest and honest.sure,
                "why_honest": honest and honest.why,
            }
        )
    return table
