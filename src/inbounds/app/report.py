"""The report of a release: one page that needs nothing else, and the same in Markdown.

It is made of the public record alone. Words say whatever colours and pictures say; tables carry every figure.
"""

from fractions import Fraction
from html import escape
from importlib.metadata import version
from typing import Any

import numpy as np

from inbounds import derive
from inbounds._text import markdown, visible
from inbounds.app.job import Releases
from inbounds.app.tidy import LEVEL, Shown
from inbounds.ledger import spell_amount
from inbounds.privacy.certificate import Certificate

# Cells that a page shows of one release; the others are in values.csv.
MOST_ROWS, _MOST_DRAWN = 200, 40

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1b1b1b; background: #fff; max-width: 60rem; margin: 0 auto;
  padding: 1rem; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.25rem; margin: 2.2rem 0 .4rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .6rem; padding: 0; }
.facts div { background: #f2f5f7; border-left: 4px solid #0b5a78; padding: .5rem .7rem; }
.facts dt { font-size: .85rem; color: #37474f; } .facts dd { margin: 0; font-size: 1.15rem; font-weight: 600; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-size: .9rem; color: #37474f; padding-bottom: .3rem; }
th, td { border-bottom: 1px solid #cfd8dc; padding: .35rem .5rem; text-align: right; vertical-align: top; }
th[scope=row], th:first-child { text-align: left; } thead th { border-bottom: 2px solid #607d8b; }
svg { width: 100%; height: auto; max-width: 46rem; } svg text { font: 13px system-ui, sans-serif; fill: #1b1b1b; }
code { font-size: .92em; background: #f2f5f7; padding: .1em .25em; overflow-wrap: anywhere; }
p { overflow-wrap: anywhere; } .note { color: #37474f; font-size: .93rem; }
@media (max-width: 40rem) { svg text { font-size: 18px; } th, td { padding: .3rem .25rem; font-size: .9rem; } }
@media print { body { max-width: none; font-size: 11pt; } h2 { break-after: avoid; } tr, svg { break-inside: avoid; } }
"""


def to_html(made: Releases, rows: list[Shown]) -> str:
    """The page."""
    facts = "".join(f"<div><dt>{_html(name)}</dt><dd>{_html(text)}</dd></div>" for name, text in _facts(made))
    body = "".join(_section(one) for one in rows)
    privacy = "".join(f"<p>{_html(text)}</p>" for text in _privacy(made))
    dataset = _html(made.plan.budget.dataset)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Released statistics of {dataset}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body><main>
<h1>Released statistics of {dataset}</h1>
<dl class="facts">{facts}</dl>
<p>{_html(_HOW_TO_READ)}</p>
{body}
<h2>What is promised to everybody in the data</h2>
{privacy}
<p class="note">In symbols: {_html(_symbols(made))}</p>
<h2>Certificates, and how to check them</h2>
{_certificates(rows)}
<p>Every certificate and value on this page follows from <code>release.json</code>; nothing else is needed to check it:
<code>inbounds verify release.json</code>.</p>
<h2>The ledger</h2>
<p>{_html(_ledger(made))}</p>
<p class="note">Made by inbounds {_html(version("inbounds"))}. The page loads nothing from anywhere.</p>
</main></body></html>
"""


_HOW_TO_READ = (
    "Noise was added to every number, so that what it tells about any one person is limited. The interval beside it "
    "says where the truth lies, noise included, for records as they were counted (the notes say what was clipped or "
    f"filled in): intervals made this way hold it {LEVEL:.0%} of the time, each on its own. The expected error is that "
    "of the noise alone."
)


def _facts(made: Releases) -> list[tuple[str, str]]:
    data = made.plan.data
    unit = "one record" if data.contributions == 1 else f"a person, up to {data.contributions} records"
    found = [("privacy loss, ε", _figure(float(made.epsilon))), ("protects", unit), ("neighbours", data.neighbours)]
    found.append(("rows", f"{data.rows:,}" if data.rows is not None else "protected"))
    if made.left is not None:
        found.append(("ε left after this release", made.left))
    if made.entry is not None:
        found.append(("charged", str(made.entry.body["when"])[:10]))
    return found


def _section(one: Shown) -> str:
    release = one.release
    heads = [_axis_name(one), "value", *(["from", "to"] if one.interval is not None else []), "expected error"]
    lines = []
    for cell, value, lower, upper, rmse, _ in _told(one)[:MOST_ROWS]:
        ends = [_figure(lower), _figure(upper)] if one.interval is not None else []
        figures = "".join(f"<td>{text}</td>" for text in [_figure(value), *ends, _figure(rmse)])
        lines.append(f'<tr><th scope="row">{_html(cell or release.title)}</th>{figures}</tr>')
    caption = f"{release.title}; ε = {_figure(release.epsilon)}"
    head = "".join(f'<th scope="col">{_html(text)}</th>' for text in heads)
    more = len(one.cells) - MOST_ROWS
    rest = f"<p>{more:,} more cells are in values.csv.</p>" if more > 0 else ""
    notes = "".join(f'<p class="note">{_html(text)}</p>' for text in _notes(one))
    return f"""<section><h2>{_html(one.name)}</h2>
{_picture(one)}
<div class="wide" tabindex="0" role="region" aria-label="{_html(one.name)}: figures"><table>
<caption>{_html(caption)}</caption><thead><tr>{head}</tr></thead><tbody>
{"".join(lines)}</tbody></table></div>{rest}
{notes}</section>
"""


def _told(one: Shown) -> list[Any]:
    """Its rows; of a symmetric matrix each pair once, and no correlation of a column with itself."""
    rows, axes = list(one.rows()), one.release.axes
    if one.release.statistic not in ("covariance", "correlation", "pooled_covariance") or len(axes) != 2:
        return rows
    size, least = len(axes[0]), 1 if one.release.statistic == "correlation" else 0
    return [rows[i * size + j] for i in range(size) for j in range(i + least, size)]


def _axis_name(one: Shown) -> str:
    keys = [rule.name for rule in one.release.columns if rule.cells]
    return ", ".join(keys) if one.release.axes and keys else "statistic"


def _notes(one: Shown) -> list[str]:
    """The interval's assumption, the price of bounding, repairs, and what was done to the records."""
    release, found = one.release, []
    if one.interval is not None:
        place = "the population" if one.interval.kind == "population" else "this table"
        found.append(f"Interval for {place}: {one.interval.method}; assumes {one.interval.assumption}.")
    idle = _idle(one)
    if idle:
        found.append(f"{idle} of {len(_told(one))} intervals cover all that is possible: these numbers tell nothing.")
    bias, worst = float(np.max(np.abs(one.error.bias))), float(np.max(np.abs(one.error.worst_bias)))
    size = "no more than rounding" if bias < 1e-3 * float(np.max(one.error.rmse) or 1) else f"about {_figure(bias)}"
    how = "clamped to" if release.bounding == "bit" else "drawn within"
    least = " (the width of the bounds: a group may be empty)" if release.method in derive.OF_SUMS else ""
    found.append(f"Price of staying in bounds ({how} them): bias {size} here, {_figure(worst)} at worst{least}.")
    if release.method not in (derive.DIRECT, derive.MATRIX):
        found.append(f"Made from the noisy numbers by: {release.method}.")
    if release.repair is not None:
        found.append(f"Repaired to a possible matrix: {release.repair}.")
    rules = [
        f"{rule.name} clipped to {_figure(float(rule.lower or 0))} to {_figure(float(rule.upper or 0))}"
        for rule in release.columns
        if rule.step is not None
    ]
    rules += [f"missing {rule.name} counted as {rule.missing}" for rule in release.columns if rule.missing is not None]
    rules += [
        f"other values of {rule.name} counted as {rule.other}" for rule in release.columns if rule.other is not None
    ]
    if rules:
        found.append(f"Records: {'; '.join(rules)}.")
    found += [f"{note[:1].upper()}{note[1:]}." for note in release.notes]
    return found


def _idle(one: Shown) -> int:
    """How many intervals are as wide as the bounds."""
    release = one.release
    if one.interval is None:
        return 0
    if release.statistic == "correlation":
        low, high = -1.0, 1.0
    else:
        limits = release.limits_of_coordinates()
        if len(set(limits)) != 1:
            return 0
        ((low, high),) = set(limits)
        if release.method == derive.ROOT:
            # Bounds are those of the variance that was drawn.
            low, high = low**0.5, high**0.5
    ends = [(row[2], row[3]) for row in _told(one)]
    return sum(lower <= low and upper >= high for lower, upper in ends)


def _picture(one: Shown) -> str:
    """Values and intervals, drawn; the table beside it has the same figures."""
    rows = _told(one)
    if one.interval is None or len(rows) > _MOST_DRAWN:
        return ""
    low, high = min(row[2] for row in rows), max(row[3] for row in rows)
    low, high = min(low, *(row[1] for row in rows)), max(high, *(row[1] for row in rows))
    span = high - low or 1.0
    left, width, step = 230, 400, 26

    def x(value: Any) -> str:
        return str(round(left + (value - low) / span * width, 1))

    marks = []
    for i, (cell, value, lower, upper, *_) in enumerate(rows):
        y = 18 + i * step
        label = visible(cell or one.name)
        label = label if len(label) <= 22 else label[:21] + "…"
        marks.append(
            f'<text x="{left - 12}" y="{y + 4}" text-anchor="end">{_html(label)}</text>'
            f'<line x1="{x(lower)}" y1="{y}" x2="{x(upper)}" y2="{y}" stroke="#0b5a78" stroke-width="3"/>'
            f'<circle cx="{x(value)}" cy="{y}" r="5" fill="#fff" stroke="#0b5a78" stroke-width="2.5"/>'
        )
    bottom = 18 + len(rows) * step
    axis = "".join(
        f'<text x="{x(at)}" y="{bottom + 14}" text-anchor="{anchor}">{_figure(at)}</text>'
        for at, anchor in ((low, "start"), (high, "end"))
    )
    words = f"{one.name}: released values as circles, {LEVEL:.0%} intervals as lines; all figures are in the table"
    line = f'<line x1="{left}" y1="{bottom}" x2="{left + width}" y2="{bottom}" stroke="#607d8b"/>'
    box = f'viewBox="0 0 {left + width + 20} {bottom + 24}" role="img" aria-label="{_html(words)}"'
    return f"<svg {box}>{''.join(marks)}{line}{axis}</svg>"


def _privacy(made: Releases) -> list[str]:
    data, epsilon = made.plan.data, float(made.epsilon)
    who = "one record" if data.contributions == 1 else f"a person, up to {data.contributions} records,"
    change = "held anything else" if data.neighbours == "substitute" else "were taken out or put in"
    factor = float(np.exp(epsilon))
    odds = f"{factor:.3g}" if factor < 1e6 else f"e^{epsilon:g}"
    sentences = [
        f"If {who} {change}, the probability of everything on this page would change by a factor of at most {odds} "
        f"(e to the {_figure(epsilon)}). {_meaning(epsilon)}",
        f"The releases share the {_figure(epsilon)}: losses add up, and each has its own part. Other releases of the "
        "same data add to it" + ("." if made.entry is None else "; the ledger has those that were charged to it."),
    ]
    if data.neighbours == "substitute":
        sentences.append("The number of rows is public and is not protected.")
    kept = [name for name, release in made.items() if release.keeps_groups]
    if kept:
        sentences.append(
            f"The sizes of groups were declared public for {', '.join(kept)}. All of this then holds for a change of "
            "what a record says within its group; which group it is in is not protected."
        )
    return sentences


def _meaning(epsilon: float) -> str:
    if epsilon <= 1:
        return (
            "Whatever somebody concludes about a person, they could have concluded nearly as well without their data."
        )
    if epsilon <= _WEAK:
        return "The nearer this factor is to one, the less anybody learns about a person from their data being here."
    return "That is a weak promise: somebody may learn a good deal about a person from their data being here."


# ε above which a report calls the promise weak.
_WEAK = 5


def _symbols(made: Releases) -> str:
    data = made.plan.data
    change = "d(x, x') ≤ {} substituted" if data.neighbours == "substitute" else "d(x, x') ≤ {} added or removed"
    rows = "row" if data.contributions == 1 else "rows"
    rows += ", each in its group" if any(release.keeps_groups for release in made.values()) else ""
    parts = " + ".join(_exact(one.certificate.epsilon) for one in list(made.values())[:12])
    more = " + …" if len(made) > 12 else ""
    return (
        f"P(R(x) ∈ Q) ≤ e^ε P(R(x') ∈ Q) for all Q and all x, x' with {change.format(data.contributions)} {rows}; "
        f"ε = {parts}{more} = {_exact(made.epsilon)}."
    )


def _certificates(rows: list[Shown]) -> str:
    lines = []
    for one in rows:
        whole = one.release.certificate
        part = whole if isinstance(whole, Certificate) else whole.parts[0]
        loss = whole.loss if isinstance(whole, Certificate) else sum((one.loss for one in whole.parts), Fraction(0))
        noise = {"unbounded": "discrete Laplace"}.get(part.bounding, f"discrete Laplace, {part.bounding}")
        cells = [noise, _figure(float(part.spread)), _figure(float(part.sensitivity))]
        cells += [f"{float(loss):.9g}", _exact(whole.epsilon)]
        lines.append(
            f'<tr><th scope="row">{_html(one.name)}</th>'
            + "".join(f"<td>{_html(text)}</td>" for text in cells)
            + "</tr>"
        )
    heads = "".join(
        f'<th scope="col">{text}</th>' for text in ("release", "noise", "scale", "sensitivity", "loss, exact", "ε")
    )
    return (
        '<div class="wide" tabindex="0" role="region" aria-label="certificates"><table>'
        "<caption>The worst privacy loss of each law, computed exactly, is not above its ε. Scale and sensitivity are "
        "in the units of what was drawn.</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _ledger(made: Releases) -> str:
    if made.entry is None:
        return "No ledger was kept: nothing here says what else was released of these data."
    cost = spell_amount(made.entry.guarantee.round_up())
    left = "" if made.left is None else f" {made.left} was left after it."
    return (
        f"Paid for by entry {made.entry.sequence} of the ledger, on the account {made.plan.budget.dataset}: {cost}."
        f"{left} Its hash is {made.entry.hash}; inbounds ledger verify finds a ledger that was changed or put back "
        "since."
    )


def _html(text: str) -> str:
    """Text for a page, also within an attribute."""
    return escape(visible(text))


def _figure(x: float) -> str:
    """Whole numbers as they are, others with five digits or more; no exponents where people do not write them."""
    if isinstance(x, int):
        return f"{x:,}"
    if 1000 <= abs(x) < 1e15:
        return f"{x:,.0f}" if abs(x) >= 1e5 else f"{x:,.1f}"
    return f"{x:.5g}"


def _exact(x: Fraction) -> str:
    return str(x) if len(str(x)) <= 12 else f"{float(x):.6g}"


def to_markdown(made: Releases, rows: list[Shown]) -> str:
    """The same, for a repository or an e-mail."""
    lines = [f"# Released statistics of {markdown(made.plan.budget.dataset)}", ""]
    lines += [f"- {name}: {markdown(text)}" for name, text in _facts(made)]
    lines += ["", _HOW_TO_READ, ""]
    for one in rows:
        ends = ["from", "to"] if one.interval is not None else []
        heads = [markdown(_axis_name(one)), "value", *ends, "expected error"]
        lines += [
            f"## {markdown(one.name)}",
            "",
            f"{markdown(one.release.title)}; ε = {_figure(one.release.epsilon)}",
            "",
        ]
        lines += ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
        for cell, value, lower, upper, rmse, _ in _told(one)[:MOST_ROWS]:
            figures = [_figure(value), *([_figure(lower), _figure(upper)] if ends else []), _figure(rmse)]
            name = markdown(cell or one.release.title)
            lines.append("| " + " | ".join([name, *figures]) + " |")
        if len(one.cells) > MOST_ROWS:
            lines += ["", f"{len(one.cells) - MOST_ROWS:,} more cells are in values.csv."]
        lines += ["", *map(markdown, _notes(one)), ""]
    lines += [
        "## What is promised to everybody in the data",
        "",
        *map(markdown, _privacy(made)),
        "",
        f"In symbols: {_symbols(made)}",
        "",
    ]
    lines += [
        "## The ledger",
        "",
        markdown(_ledger(made)),
        "",
        "Check everything with `inbounds verify release.json`.",
        "",
    ]
    return "\n".join(lines)
