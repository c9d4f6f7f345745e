"""Write claims.md: the paper's findings with computed verdicts, from a run of its studies with a fixed seed.

    python docs/make_claims.py --folder build/paper

Tables that are in the folder already are used as they are; otherwise both studies are run, about half a minute.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from inbounds.lab.studies import claims, keep
from inbounds.lab.studies.laboratory import STUDIES, Order, conduct

PAGE = Path(__file__).with_name("claims.md")
COMMAND = "python docs/make_claims.py --folder build/paper"
# Where findings stand in the paper, in words for headings.
PARTS = {"S1": "Study 1: a covariance matrix", "S2": "Study 2: four shares", "T": "Statements about the laws"}


def main(arguments: Sequence[str] | None = None) -> None:
    """The page, from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("build/paper"), help="where the studies are kept")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page to write")
    options = parser.parse_args(arguments)
    conduct("paper", Order(options.folder, figures=False), say=print)
    tables = {name: keep.read(options.folder, name) for name in STUDIES}
    how = {name: json.loads((options.folder / f"{name}.json").read_text("utf-8")) for name in STUDIES}
    options.out.write_text(page(claims.rows(claims.judge_all(tables)), made(how)), "utf-8")


def made(how: Mapping[str, Mapping[str, Any]]) -> str:
    """How the tables were made, in a paragraph."""
    first = next(iter(how.values()))
    runs = [f"{name} {one['repetitions']:,} (settings `{one['digest']}`)" for name, one in how.items()]
    today = datetime.now(UTC).date().isoformat()
    return (
        f"Computed {today} with inbounds {first['inbounds']}, seed {first['seed']}, revision {first['revision']};\n"
        f"repetitions of every setting: {', '.join(runs)}."
    )


def page(rows: Sequence[Mapping[str, Any]], how: str) -> str:
    """The whole page."""
    counts = Counter(row["verdict"] for row in rows)
    summary = ", ".join(f"{count} {_word(word, sure=True)}" for word, count in counts.items())
    parts = "\n".join(
        _part(part, list(group)) for part, group in groupby(rows, key=lambda row: row["id"].split(".")[0])
    )
    return f"""\
<!-- Made by docs/make_claims.py; do not edit. -->

# The paper's findings, judged

F. Liu, *Statistical properties of sanitized results from differentially private Laplace mechanism with univariate
bounding constraints*, has {len(rows)} findings that can be computed: {summary}.

{how}
To make this page again:

```
{COMMAND}
```

Each finding is a list of conditions on simulated figures, or on exact formulas where its id begins with T. A condition
is decided when its figure lies more than three standard errors (s.e.) from its limit; what is too close to tell counts
as it leans, and a verdict that depends on it is marked. *Reproduced*: all conditions hold. *Not reproduced*: none does.
*Partly*: some do. The first verdict is at the paper's scale λ = δ/ε, at which truncation spends up to twice the ε it
claims ([why](laws.md#laws-loss-truncated)); the second at the honest scale, the least one that keeps the promise.
[Studies](studies.md) says what is simulated. Formulas that err are on the page of [errata](errata.md).

| | finding | verdict | at the honest scale |
|---|---|---|---|
{"".join(map(_line, rows))}
{parts}"""


def _line(row: Mapping[str, Any]) -> str:
    honest = _word(row["verdict_honest"], sure=row["sure_honest"]) if row["verdict_honest"] else "(exact)"
    cells = [f"[{row['id']}](#{_anchor(row)})", _plain(row["finding"]), _word(row["verdict"], sure=row["sure"]), honest]
    return f"| {' | '.join(cells)} |\n"


def _part(part: str, rows: Sequence[Mapping[str, Any]]) -> str:
    return f"## {PARTS[part]}\n\n" + "\n".join(map(section, rows))


def section(row: Mapping[str, Any]) -> str:
    """What the paper says, the verdict and its figures."""
    text = f'<a id="{_anchor(row)}"></a>\n'
    text += f"### {row['id']}: {_word(row['verdict'], sure=row['sure'])}\n\n"
    text += f"*The paper* ({_plain(row['where'])}): {_plain(row['finding'])}.\n\n{_conditions(row['why'])}"
    if row["remark"]:
        text += f"\n{_plain(row['remark'])}\n"
    if row["verdict_honest"]:
        text += f"\nAt the honest scale: **{_word(row['verdict_honest'], sure=row['sure_honest'])}**.\n"
        if row["why_honest"] != row["why"]:
            text += f"\n{_conditions(row['why_honest'])}"
    return text


def _conditions(why: str) -> str:
    return "".join(f"- {_plain(line)}\n" for line in why.split("\n") if line)


def _word(verdict: str, *, sure: bool) -> str:
    word = "not reproduced" if verdict == "not" else verdict
    return word if sure else f"{word} (too close to be sure)"


def _anchor(row: Mapping[str, Any]) -> str:
    return "claim-" + str(row["id"]).lower().replace(".", "-")


def _plain(text: str) -> str:
    """Text that Markdown leaves as it is."""
    return re.sub(r"([\\`*_$<>\[\]{}|])", r"\\\1", text)


if __name__ == "__main__":
    main()
