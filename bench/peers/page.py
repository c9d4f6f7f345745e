"""The page of the comparison, made of its figures alone."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OURS = "inbounds"
STATISTICS = (
    "mean",
    "variance",
    "median",
    "proportion",
    "histogram",
    "means",
    "covariance",
    "correlation",
    "slope",
)
# Hardly by chance, and worth telling.
SURE, NOTABLE = 3.0, 0.97
# What a library does not have, and was built of its other releases.
BUILT = "*"

Found = dict[str, Any]


def number(value: float | None) -> str:
    """Three digits."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines) + "\n"


def present(found: Found) -> Found:
    return {name: one for name, one in found["libraries"].items() if not one.get("missing")}


def peers(found: Found) -> list[str]:
    return [name for name in present(found) if name != OURS]


def cells(found: Found, name: str, kind: str, **want: Any) -> list[Found]:
    """Rows of a library that have all these values."""
    rows = found["libraries"][name].get(kind, [])
    return [row for row in rows if all(row.get(key) == value for key, value in want.items())]


def error(found: Found, name: str, where: Found) -> Found | None:
    keys = ("table", "statistic", "epsilon", "neighbours")
    rows = cells(found, name, "errors", **{key: where[key] for key in keys})
    return rows[0] if rows and "rmse" in rows[0] else None


def pairs(found: Found, name: str, **want: Any) -> Iterator[tuple[Found, Found]]:
    """Where we and a peer both have a figure: ours and theirs."""
    for ours in cells(found, OURS, "errors", **want):
        theirs = error(found, name, ours)
        if theirs is not None:
            yield ours, theirs


def ratio(found: Found, name: str, statistic: str) -> tuple[float, float] | None:
    """Smallest and largest ratio of our mean squared error to theirs, by the laws where both state theirs."""
    ratios = []
    for ours, theirs in pairs(found, name, statistic=statistic):
        kind = "rmse_by_law" if "rmse_by_law" in ours and "rmse_by_law" in theirs else "rmse"
        ratios.append((ours[kind] / theirs[kind]) ** 2)
    return (min(ratios), max(ratios)) if ratios else None


def impossible(found: Found, name: str, **want: Any) -> float | None:
    """Most impossible values per 10,000 of one statistic of one table."""
    rows = [row for row in cells(found, name, "errors", **want) if "impossible" in row]
    return max((row["impossible"] / row["releases"] * 1e4 for row in rows), default=None)


def star(found: Found, name: str, statistic: str) -> str:
    """The mark of what was built, anywhere."""
    return BUILT if cells(found, name, "errors", statistic=statistic, built=True) else ""


def certified(found: Found, name: str, statistic: str) -> float | None:
    return max((row["certified"] for row in cells(found, name, "audits", statistic=statistic)), default=None)


def kept(found: Found) -> bool:
    return all(met for _, met in _promises(found))


def promises(found: Found) -> list[str]:
    return [f"{text}: {'met' if met else 'MISSED'}" for text, met in _promises(found)]


def _promises(found: Found) -> list[tuple[str, bool]]:
    bad = sum(row["impossible"] for row in cells(found, OURS, "errors"))
    total = sum(row["releases"] for row in cells(found, OURS, "errors"))
    most = max(row["certified"] for row in cells(found, OURS, "audits"))
    made = [
        (f"ours: {bad} impossible values in {total:,} releases", bad == 0),
        (f"ours: certified ε at most {most:.3f} of 1", most <= 1),
    ]
    variance = ratio(found, "diffprivlib", "variance") if "diffprivlib" in present(found) else None
    if variance:
        made.append((f"ours: MSE of a variance at most {variance[1]:.2f} × diffprivlib's", variance[1] <= 0.5))
    return made


def short(found: Found) -> str:
    """The table on top: one line for each library."""
    head = ["", "impossible, per 10,000", "certified ε at a claimed 1", "our MSE / theirs: mean", "variance"]
    head += ["covariance", "intervals", f"mean of {found['rows']:,} rows"]
    rows = []
    for name, one in found["libraries"].items():
        if one.get("missing"):
            rows.append([name, one["missing"], *[""] * (len(head) - 2)])
            continue
        audits = [certified(found, name, statistic) for statistic in ("mean", "variance")]
        strongest = max((one for one in audits if one is not None), default=None)
        row = [f"{name} {one['versions'][one['package']]}", number(impossible(found, name, built=False))]
        row.append("–" if strongest is None else f"≥ {strongest:.2f}" + (" **above**" if strongest > 1 else ""))
        shown = ("mean", "variance", "covariance")
        row += [
            "1" if name == OURS else span(ratio(found, name, statistic)) + star(found, name, statistic)
            for statistic in shown
        ]
        kinds = {row["purpose"] for row in one["intervals"]}
        row.append("population" if "population" in kinds else "noise" if kinds else "none")
        row.append(duration(one["times"]["seconds"]["whole"]) if "seconds" in one["times"] else "–")
        rows.append(row)
    return table(head, rows) + _NOTE


_NOTE = (
    "\n\\* Built of noisy variances, since the library has none of its own or a worse one: a number by itself, beside "
    "which ours is part of a matrix.\n"
)


def span(ends: tuple[float, float] | None) -> str:
    if ends is None:
        return "–"
    low, high = (f"{end:.2g}" for end in ends)
    return low if low == high else f"{low}–{high}"


def _sure(ours: Found, theirs: Found, what: str) -> bool:
    """Whether theirs is nearer to zero, beyond chance."""
    chance = (ours[f"{what}_se"] ** 2 + theirs[f"{what}_se"] ** 2) ** 0.5
    return bool(abs(ours[what]) - abs(theirs[what]) > SURE * chance)


def _of_both_signs(row: Found) -> Found:
    """A correlation with its mirror: the root mean square of both errors, and of both biases."""
    if "bias_mirrored" not in row:
        return row
    both = {what: ((row[what] ** 2 + row[f"{what}_mirrored"] ** 2) / 2) ** 0.5 for what in ("rmse", "bias")}
    return row | both


def _mended(ours: Found, theirs: Found) -> bool:
    """Whether our estimate without bias has no more bias than theirs beyond chance, and no more error."""
    estimate = ours.get("unbiased")
    if not estimate or _sure(estimate, theirs, "bias"):
        return False
    return not (theirs["rmse"] < NOTABLE * estimate["rmse"] and _sure(estimate, theirs, "rmse"))


def wins(found: Found) -> list[list[str]]:
    """Every place where a peer is better: what, who, ours, theirs."""
    made = []
    for name in peers(found):
        for own, their in pairs(found, name):
            ours, theirs = _of_both_signs(own), _of_both_signs(their)
            place = f"{ours['statistic']} of {ours['table']}, ε = {ours['epsilon']:g}, {ours['neighbours']}"
            if theirs["rmse"] < NOTABLE * ours["rmse"] and _sure(ours, theirs, "rmse"):
                made.append(["RMSE", place, name, number(ours["rmse"]), number(theirs["rmse"])])
            # A bias far below the error is nobody's concern.
            if abs(ours["bias"]) > 0.1 * ours["rmse"] and _sure(ours, theirs, "bias") and not _mended(ours, theirs):
                made.append(["bias", place, name, number(ours["bias"]), number(theirs["bias"])])
        for theirs in found["libraries"][name]["intervals"]:
            keys = ("statistic", "neighbours", "purpose")
            for ours in cells(found, OURS, "intervals", **{key: theirs[key] for key in keys}):
                if theirs["table"] >= 0.94 and theirs["width"] < NOTABLE * ours["width"]:
                    place = f"{theirs['purpose']} interval of a {theirs['statistic']}, {theirs['neighbours']}"
                    made.append(["width", place, name, number(ours["width"]), number(theirs["width"])])
        us, them = found["libraries"][OURS], found["libraries"][name]
        for key, what in TIMES.items():
            if "seconds" in them["times"] and them["times"]["seconds"][key] < NOTABLE * us["times"]["seconds"][key]:
                times = (one["times"]["seconds"][key] for one in (us, them))
                made.append(["time", what, name, *map(duration, times)])
        if them["import"] < NOTABLE * us["import"]:
            made.append(["time", "import", name, duration(us["import"]), duration(them["import"])])
        if them["megabytes"] < NOTABLE * us["megabytes"]:
            made.append(["size", "environment, MB", name, number(us["megabytes"]), number(them["megabytes"])])
    return sorted(made, key=lambda row: ORDER.index(row[0]))


ORDER = ("RMSE", "bias", "width", "time", "size")
TIMES = {"draw": "one draw of noise", "vector": "10,000 draws of noise", "whole": "mean of a long column"}


def _again(found: Found) -> str:
    """Which errors were measured after the rest, and of which versions; which libraries were measured before."""
    lines = [
        f"The figures of {name} are of {one['date']}, when medians, several means and slopes were not asked for."
        for name, one in present(found).items()
        if one["date"] < found["date"]
    ]
    runs: dict[tuple[str, str], list[str]] = {}
    for name, one in found["libraries"].items():
        for statistic, run in one.get("again", {}).items():
            runs.setdefault((run["date"], statistic), []).append(f"{name} {run['version']}")
    lines += [
        f"The errors of a {statistic} were measured again, in more releases, on {day}, with {', '.join(versions)}."
        for (day, statistic), versions in runs.items()
    ]
    return "\n".join(lines)


def _errors(found: Found, neighbours: str) -> str:
    names = [
        name
        for name in present(found)
        if any(row["neighbours"] == neighbours for row in found["libraries"][name]["errors"])
    ]
    rows = []
    for ours in cells(found, OURS, "errors", neighbours=neighbours):
        figures = {name: error(found, name, ours) for name in names}
        least = min((figure for figure in figures.values() if figure), key=lambda figure: figure["rmse"])
        row = [f"{ours['table']}: {ours['statistic']}", f"{ours['epsilon']:g}"]
        for figure in figures.values():
            if figure is None:
                row.append("–")
                continue
            text = number(figure["rmse"]) + (BUILT if figure["built"] else "")
            best = figure is least or not (_sure(figure, least, "rmse") and least["rmse"] < NOTABLE * figure["rmse"])
            # So few releases, or so heavy tails, that they tell nothing.
            best = best and figure["rmse"] <= 1.5 * least["rmse"]
            biased = abs(figure["bias"]) > max(SURE * figure["bias_se"], 0.1 * figure["rmse"])
            row.append((f"**{text}**" if best else text) + (f" ({figure['bias']:+.2g})" if biased else ""))
        rows.append(row)
    return table(["table: statistic", "ε", *names], rows)


MIRRORED = """Correlations again, with the last column turned around within its bounds, so that the true correlation
has the other sign. A way that leans to one sign whatever the data are looks good in one of the two tables alone.

"""


def _mirrored(found: Found) -> str:
    """Errors of correlations of tables whose last column was turned around, where that was measured."""
    names = [name for name in present(found) if any("rmse_mirrored" in row for row in cells(found, name, "errors"))]
    rows = []
    for ours in cells(found, OURS, "errors", statistic="correlation"):
        figures = [error(found, name, ours) or {} for name in names]
        place = [f"{ours['table']}, {ours['neighbours']}", f"{ours['epsilon']:g}"]
        rows.append([*place, *(number(one.get("rmse_mirrored")) for one in figures)])
    return MIRRORED + table(["correlation of", "ε", *names], rows) if names else ""


def _gaps(found: Found) -> str:
    """What was asked for and is not there, with the reason."""
    lines = []
    for name, one in present(found).items():
        reasons: dict[str, list[str]] = {}
        for row in one["errors"]:
            if "missing" in row:
                reasons.setdefault(row["missing"], []).append(row["table"])
        lines += [f"- {name}, {', '.join(dict.fromkeys(where))}: {reason}." for reason, where in reasons.items()]
        lines += [] if one["audits"] else [f"- {name}: not audited in this run."]
    return "Not measured:\n\n" + "\n".join(lines) if lines else "Nothing that was asked for is missing."


def _impossible(found: Found) -> str:
    rows = []
    for name in present(found):
        most = [(impossible(found, name, statistic=one), star(found, name, one)) for one in STATISTICS]
        rows.append([name, *(number(one) + mark for one, mark in most)])
    return table(["", *STATISTICS], rows)


def _releases(found: Found) -> str:
    """How many releases each figure is made of."""
    rows = []
    for one in found["tables"]:
        for epsilon in sorted({row["epsilon"] for row in found["libraries"][OURS]["errors"]}):
            counts = []
            for name in present(found):
                asked = cells(found, name, "errors", table=one["name"], epsilon=epsilon)
                # Medians, of which there are more, have their own rows of errors.
                usual = (row["releases"] for row in asked if "releases" in row and row["statistic"] != "median")
                counts.append(max(usual, default=None))
            rows.append([one["name"], f"{epsilon:g}", *map(number, counts)])
    return table(["releases of each statistic", "ε", *present(found)], rows)


def _intervals(found: Found) -> str:
    rows = []
    for name in present(found):
        for row in found["libraries"][name]["intervals"]:
            held = "–" if row["population"] is None else f"{row['population']:.1%}"
            place = [row["statistic"], row["neighbours"], row["purpose"]]
            rows.append([name, *place, f"{row['table']:.1%}", held, number(row["width"])])
    rows.sort(key=lambda row: (STATISTICS.index(row[1]), row[2], row[3]))
    without = [name for name in peers(found) if not found["libraries"][name]["intervals"]]
    text = table(["", "of a", "neighbours", "made for", "holds the table's", "holds the population's", "width"], rows)
    return text + (f"\n{' and '.join(without)} have no intervals of their results.\n" if without else "")


def _audits(found: Found) -> str:
    rows = []
    for name in present(found):
        for row in found["libraries"][name]["audits"]:
            figure = f"**{row['certified']:.2f}**" if row["certified"] > 1 else f"{row['certified']:.2f}"
            rows.append([name, row["statistic"], row["neighbours"], figure, row["event"]])
    return table(["", "release", "neighbours", "certified ε ≥", "told apart by"], rows)


def _times(found: Found) -> str:
    rows = []
    for name, one in present(found).items():
        seconds = one["times"].get("seconds")
        times = [duration(seconds[key]) if seconds else "–" for key in TIMES]
        rows.append([name, *times, duration(max(one["import"], 1e-3)), number(one["megabytes"])])
    return table(["", *TIMES.values(), "import", "environment, MB"], rows)


def page(found: Found) -> str:
    """`page.md` with its tables filled in."""
    libraries = found["libraries"].items()
    versions = [
        [name, one.get("missing") or ", ".join(" ".join(pair) for pair in one["versions"].items())]
        for name, one in libraries
    ]
    sources = [[f"{fact:,}" if isinstance(fact, int) else fact for fact in one.values()] for one in found["tables"]]
    better = wins(found)
    parts = {
        "versions": table(["library", "versions"], versions),
        "tables": table(["table", *list(found["tables"][0])[1:]], sources),
        "again": _again(found),
        "releases": _releases(found),
        "draws": f"{found['libraries'][OURS]['audits'][0]['draws']:,}",
        "short": short(found),
        "promises": "\n".join(f"- {line}" for line in promises(found)),
        "wins": table(["", "where", "who", "inbounds", "peer"], better) if better else "Nowhere, in these figures.",
        "mirrored": _mirrored(found),
        "substitute": _errors(found, "substitute"),
        "add-remove": _errors(found, "add-remove"),
        "gaps": _gaps(found),
        "impossible": _impossible(found),
        "intervals": _intervals(found),
        "audits": _audits(found),
        "times": _times(found),
        "rows": f"{found['rows']:,}",
    }
    parts |= {name: str(found[name]) for name in ("date", "python", "cores")}
    template = Path(__file__).with_suffix(".md").read_text("utf-8")
    return re.sub(r"\{([a-z-]+)\}", lambda match: parts[match[1]].rstrip("\n"), template)
