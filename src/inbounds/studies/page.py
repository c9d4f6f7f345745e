"""The claims page: every finding with its verdict and figures; nothing is fetched but the figures next to it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from inbounds._files import write_atomically
from inbounds.studies.evidence import CLEAR

# Words say what colours say; contrast is 7 : 1 or more.
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 78rem; padding: 0 1rem; color: #1a1a1a; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { border-bottom: 1px solid #ccc; padding: .45rem .5rem; text-align: left; vertical-align: top; }
th { position: sticky; top: 0; background: #fff; }
.verdict { font-weight: 600; white-space: nowrap; }
.reproduced { color: #00513a; } .partly { color: #6b4a00; } .not { color: #8a1c00; } .undecided { color: #444; }
.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
details { max-width: 34rem; } summary { cursor: pointer; }
figure { margin: 1.5rem 0; } figure img { max-width: 100%; height: auto; }
"""


def write(rows: Sequence[Mapping[str, Any]], figures: Sequence[tuple[str, str]], made: str, path: Path) -> None:
    """The page at ``path``: the rows of the claims, then figures (title, relative path); ``made`` says how."""
    counts = Counter(row["verdict"] for row in rows)
    summary = ", ".join(f"{count} {word}" for word, count in counts.items())
    body = "".join(map(_row, rows))
    heads = "".join(f"<th>{head}</th>" for head in _HEADS)
    shown = "".join(_figure(title, file) for title, file in figures)
    text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>The paper's findings, judged</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>
<h1>The paper's findings, judged</h1>
<p>F. Liu, <em>Statistical Properties of Sanitized Results from Differentially Private Laplace Mechanism with Univariate
Bounding Constraints</em>. {len(rows)} findings: {escape(summary)}. {escape(made)}</p>
<p>Each finding is a list of conditions on simulated figures (or on exact formulas, for those marked T). A condition
counts as decided when its figure is more than {CLEAR:g} standard errors away from its limit. <em>Reproduced</em>: all
conditions hold; <em>not</em>: none does; <em>partly</em>: some do; <em>undecided</em>: the repetitions cannot tell;
<em>not run</em>: the study is not in this folder.
What is too close to tell counts as it leans, and a verdict that depends on it is marked. At the scale of the paper
truncation spends up to twice the ε it claims;
the honest scale is the least one that keeps the promise. The reference is a separate computation at the paper's
scale.</p>
<table><thead><tr>{heads}</tr></thead><tbody>
{body}</tbody></table>
{"<h2>Figures</h2>" if shown else ""}{shown}
</body></html>
"""
    write_atomically(path, text)


_HEADS = ("id", "finding", "verdict", "deciding figure (s.e.)", "conditions", "honest scale", "reference")


def _row(row: Mapping[str, Any]) -> str:
    figure = "" if row["figure"] is None else _number(row["figure"], row["standard_error"])
    honest = row["verdict_honest"]
    cells = [
        f"<strong>{row['id']}</strong><br>{escape(row['where'])}",
        escape(row["finding"]),
        _verdict(row["verdict"], sure=row["sure"]),
        f'<span class="number">{figure}</span><br>{escape(row["of"] or "")}',
        _details(row["why"]) + (f"<p>{escape(row['remark'])}</p>" if row["remark"] else ""),
        "" if not honest else _verdict(honest, sure=row["sure_honest"]) + _details(row["why_honest"]),
        _verdict(row["reference"]),
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"


def _number(value: float, error: float) -> str:
    return f"{value:.3g}" + (f" ({error:.1g})" if error else " (exact)")


def _verdict(word: str, *, sure: bool = True) -> str:
    doubt = "" if sure else "<br>(too close to be sure)"
    return f'<span class="verdict {escape(word)}">{escape(word)}</span>{doubt}'


def _details(why: str) -> str:
    if not why:
        return ""
    items = "".join(f"<li>{escape(part)}</li>" for part in why.split("\n") if part)
    return f"<details><summary>why</summary><ul>{items}</ul></details>"


def _figure(title: str, file: str) -> str:
    address = escape(file)
    return f'<figure><a href="{address}"><img alt="{escape(title)}" src="{address}" loading="lazy"></a></figure>\n'
