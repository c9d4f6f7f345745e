"""The texts and figures of a report, for HTML and Markdown alike. They are plain text; the caller escapes them."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from inbounds._check import percent
from inbounds.inference.result import NORMAL, Interval, describe_ends, describe_missing
from inbounds.ledger import spell_amount
from inbounds.privacy.certificate import Certificate
from inbounds.record import Release, Releases
from inbounds.record.notes import describe_kept, explain_kept, keeps_rows
from inbounds.record.selection import is_selection, plain_statistic
from inbounds.record.show import describe_draw, key_names, title_of
from inbounds.report.figures import format_bound, format_exact, format_figure, write_error
from inbounds.report.promise import name_protected, name_releases
from inbounds.report.rows import NOT_JUDGED, Section

# The most cells of one release that a report shows. The others are in values.csv.
MOST_ROWS = 200
# The most cells that a note names.
_MOST_NAMED = 10

HOW_TO_READ = (
    "Noise was added to every number, so that what it tells about any one person is limited. The interval beside it "
    "takes this noise into account: of all intervals made this way, the percentage that is named above the numbers "
    "contains the true value, each alone where nothing else is said, and if what the notes assume holds. It is for "
    "records as they were counted (the notes say what was clipped or filled in). The expected error is that of the "
    "noise alone."
)


ROUNDING = (
    "Numbers are rounded to their error: ± has one digit, or two if the first is 1 or 2, and the number has no more "
    "decimals than that, so that sums of rounded numbers may be a little off. Where an interval reaches further on one "
    "side, both of its ends are given, rounded outwards."
)


def list_facts(releases: Releases) -> list[tuple[str, str]]:
    """The facts at the top of the report, each with its name."""
    data = releases.terms
    persons, whole = data.unit.persons, releases.guarantee.calibrated
    facts = [
        (f"privacy loss, {whole.symbol}", format_figure(float(whole.amount))),
        ("protects", name_protected(data.unit)),
        ("neighbours", data.neighbours),
    ]
    if rules := _list_kept(releases):
        facts.append(("counted", " or ".join(rules)))
    unit = "rows" if persons is None else "persons"
    facts.append((unit, f"{data.rows:,}" if data.rows is not None else "protected"))
    if releases.left is not None:
        facts.append((f"{whole.symbol} left after this release", releases.left))
    if releases.entry is not None:
        facts.append(("charged", str(releases.entry.body["when"])[:10]))
    return facts


def describe_data(releases: Releases) -> str:
    """What was released, of how many records or persons, and when."""
    count, data = len(releases), releases.terms
    what = "records" if data.unit.persons is None else "persons"
    sentence = f"{count} statistic{'s' * (count != 1)} of "
    sentence += f"a table whose number of {what} is protected" if data.rows is None else f"{data.rows:,} {what}"
    rules = _list_kept(releases)
    sentence += f", {rules[0]}" if len(rules) == 1 else ""
    return sentence if releases.entry is None else f"{sentence}, released on {str(releases.entry.body['when'])[:10]}"


def _list_kept(releases: Releases) -> list[str]:
    """Of which records of persons the releases are, each once."""
    return list(dict.fromkeys(filter(None, (describe_kept(release.terms.unit) for release in releases.values()))))


def explain_rows(releases: Mapping[str, Release]) -> list[str]:
    """What became of the rows of persons, and what the numbers are of. Empty where rows are not those of persons.

    It follows from public rules alone. If releases have different rules, each is said with the names of its releases.
    """
    names_by_text: dict[str, list[str]] = {}
    for name, release in releases.items():
        names_by_text.setdefault(explain_kept(release.terms.unit), []).append(name)
    several = len(names_by_text) > 1
    return [
        (f"Of {', '.join(names)}: " if several else "") + f"{text[:1].upper()}{text[1:]}."
        for text, names in names_by_text.items()
        if text
    ]


def describe_left(releases: Releases) -> tuple[str, str]:
    """What this release cost and what was left after it, and how that is known."""
    whole = releases.guarantee.calibrated
    cost = f"{whole.symbol} {format_figure(float(whole.amount))} spent"
    if releases.entry is None:
        return cost, "No ledger was kept, so nothing says what else was released from these data."
    if releases.left is None:
        return cost, "What is left is in the ledger: inbounds ledger show."
    return f"{cost}, {releases.left} left", f"By the ledger, on the account {releases.dataset_name}."


def name_cells(section: Section) -> str:
    """The head of the column that names the numbers of a release."""
    own = plain_statistic(section.release.statistic).axis_names
    if own is not None:
        return ", ".join(own) or "statistic"
    # A level that is counted has a column as well, after those of the groups.
    keys = key_names(section.release)[: len(section.release.axes)]
    return ", ".join(keys) or "statistic"


def describe_rest(section: Section) -> str:
    """Say how many cells are not shown. Empty if all of them are."""
    more = len(section.distinct_rows()) - MOST_ROWS
    return f"{more:,} more cells are in values.csv." if more > 0 else ""


def describe_release(section: Section) -> str:
    """The title of a release, its ε, and what its intervals are for."""
    paid = section.release.certificate.guarantee
    cost = ", ".join(filter(None, (paid.describe(f"{float(paid.amount):.3g}"), describe_draw(section.release))))
    return "; ".join(filter(None, (title_of(section.release), cost, describe_interval(section))))


def describe_interval(section: Section) -> str:
    """What the intervals of a release are for, at which level, or why there are none. Empty if none was computed."""
    interval = section.shown_interval
    if interval is None:
        return f"no interval: {section.no_interval}" if section.no_interval else ""
    noise = ", of the noise alone" if interval.kind == "noise" else ""
    together = ", of all numbers together" if interval.simultaneous else ""
    condition = f", if {NORMAL}" if interval.if_normal else ""
    return f"{percent(interval.level)} interval for {_name_place(section, interval)}{noise}{together}{condition}"


def _name_place(section: Section, interval: Interval) -> str:
    """What an interval is for: a population or a table, or the rows of each person that were kept."""
    if keeps_rows(section.release):
        return "the population of such rows" if interval.kind == "population" else "the rows that were kept"
    return "the population" if interval.kind == "population" else "this table"


def list_notes(section: Section) -> list[str]:
    """Notes on the assumption of the interval, the price of bounding, repairs, and how records were counted."""
    release, notes = section.release, []
    interval = section.shown_interval
    if interval is not None:
        place = _name_place(section, interval)
        notes.append(f"Interval for {place}: {interval.method}; assumes {interval.assumption}.")
        if advice := advise_cover(section):
            cells = [row.cell for row in section.distinct_rows() if row.verdict == NOT_JUDGED]
            some = "; ".join(cells[:_MOST_NAMED]) + ("; ..." if len(cells) > _MOST_NAMED else "")
            notes.append(f"Not judged: {some}: {advice}.")
    elif section.no_interval:
        notes.append(f"No interval: {section.no_interval}.")
    elif section.interval is not None:
        advice = advise_cover(section)
        notes.append(f"Not judged, without an interval: it would be {section.interval.method}.")
        notes += [f"{advice[:1].upper()}{advice[1:]}."] if advice else []
    if idle := _list_idle(section):
        some = "; ".join(idle[:_MOST_NAMED]) + ("; ..." if len(idle) > _MOST_NAMED else "")
        names = f" ({some})" if section.release.axes else ""
        count = sum(row.estimate.has_interval for row in section.distinct_rows())
        notes.append(f"{len(idle)} of {count} intervals cover all possible values, so they say nothing{names}.")
    notes += filter(None, [plain_statistic(release.statistic).describe_fit(release)])
    bounded = bool(np.isfinite(section.error.worst_bias).all())
    notes += [_describe_price(section)] if bounded and release.derivation.as_points is None else []
    if not release.derivation.plain:
        notes.append(f"How it was made from the noisy numbers: {release.method}.")
    if release.statistic.traits.matrix:
        notes.append(f"Repaired to a possible matrix: {release.repair}.")
    # A level that is counted is 1 and all others are 0, which clips nothing.
    told = {rule.name for rule in release.columns if rule.other is not None}
    rules = [
        f"{rule.name} clipped to {describe_ends(release, rule, format_bound)}"
        for rule in release.columns
        if rule.step is not None and rule.name not in told
    ]
    if release.statistic.traits.matrix:
        rules += [
            f"{rule.name} in {len(rule.cells)} intervals, {describe_ends(release, rule, format_bound)}"
            for rule in release.columns
            if rule.cells and rule.lower is not None
        ]
    rules += [describe_missing(rule) for rule in release.columns if rule.missing is not None]
    rules += [
        f"other values of {rule.name} {'left out' if rule.other == 'skip' else f'counted as {rule.other}'}"
        for rule in release.columns
        if rule.other is not None
    ]
    if rules:
        notes.append(f"Records: {'; '.join(rules)}.")
    if section.released:
        notes.append(_describe_released(section))
    notes += filter(None, [plain_statistic(release.statistic).describe_cost(release)])
    if len(section.together) > 1:
        rest = [name for name in section.together if name != section.name]
        notes.append(f"Drawn together with {name_releases(rest)}: the ε of that draw is paid once for all of them.")
    # What was kept of persons is said once for all releases.
    others = [note for note in release.notes if note != explain_kept(release.terms.unit)]
    return notes + [f"{note[:1].upper()}{note[1:]}." for note in others]


def advise_cover(section: Section) -> str:
    """How numbers that are not judged could have an interval. Empty if there are none, or if they could not."""
    numbers = [row for row in section.distinct_rows() if row.verdict == NOT_JUDGED]
    return plain_statistic(section.release.statistic).advise_cover() if numbers else ""


def _describe_released(section: Section) -> str:
    """That bounds were released before, and what clipping at them costs."""
    ends = {
        rule.name: (float(rule.lower or 0), float(rule.upper or 0))
        for rule in section.release.columns
        if rule.step is not None
    }
    names = ", ".join(section.released)
    sentence = (
        f"Bounds of {names} were released before and paid for. Records beyond them are clipped, a bias that no "
        "interval here contains"
    )
    widest = max(ends[name][1] - ends[name][0] for name in section.released)
    moved = plain_statistic(section.release.statistic).find_clipping(widest)
    if moved is None:
        return f"{sentence}."
    price = f"one in a hundred that lie a tenth of the width beyond would move a mean by {format_figure(moved)}"
    return f"{sentence}: {price}."


def _describe_price(section: Section) -> str:
    """What clamping or truncation adds in bias."""
    release = section.release
    bias, worst = float(np.max(np.abs(section.error.bias))), float(np.max(np.abs(section.error.worst_bias)))
    rmse = float(np.max(section.error.rmse) or 1)
    size = "no more than rounding" if bias < 1e-3 * rmse else f"about {write_error(release, bias)}"
    how = "clamped to" if release.bounding == "bit" else "drawn within"
    why = f" ({_explain_worst(release)})" if release.derivation.of_sums else ""
    return f"Price of staying in bounds ({how} them): bias {size} here, {write_error(release, worst)} at worst{why}."


def _explain_worst(release: Release) -> str:
    """When the bias of a number that is made of noisy sums is worst."""
    if release.derivation.tail != "bounds":
        return "where all records lie at one end of the bounds"
    if release.derivation.unit:
        return "all that is possible: a variance may be almost 0"
    if plain_statistic(release.statistic).by is not None:
        return "all that is possible: a group may be empty"
    what = "no record may be selected" if is_selection(release.statistic) else "there may be hardly any records"
    return f"all that is possible: {what}"


def _list_idle(section: Section) -> list[str]:
    """The cells whose intervals are as wide as the bounds."""
    release = section.release
    if section.shown_interval is None:
        return []
    if release.derivation.unit:
        low, high = -1.0, 1.0
    else:
        limits = release.limits_of_coordinates()
        if len(set(limits)) != 1:
            return []
        ((low, high),) = set(limits)
        # The limits may be those of a variance of which the root was taken.
        low, high = release.derivation.span(low, high)
    return [
        row.cell
        for row in section.distinct_rows()
        if row.estimate.has_interval and row.lower is not None and row.upper is not None
        if row.lower <= low and row.upper >= high
    ]


_FAMILIES = {"staircase": "staircase", "exponential": "exponential mechanism", "gaussian": "discrete Gaussian"}
CERTIFICATE_HEADS = ("draw for", "noise", "scale", "sensitivity", "loss, exact", "ε")


def list_certificate_heads(releases: Releases) -> tuple[str, ...]:
    """`CERTIFICATE_HEADS` with the symbol of the guarantee."""
    return (*CERTIFICATE_HEADS[:-1], releases.guarantee.calibrated.symbol)


def list_certificates(sections: list[Section]) -> list[tuple[str, list[str]]]:
    """The certificate of every draw: the names of its releases, and the figures under `CERTIFICATE_HEADS`."""
    lines, listed = [], set()
    for section in sections:
        if section.draw in listed:
            continue
        listed.add(section.draw)
        whole = section.release.certificate
        part = whole if isinstance(whole, Certificate) else whole.parts[0]
        loss = whole.loss if isinstance(whole, Certificate) else sum((each.loss for each in whole.parts), Fraction(0))
        family = _FAMILIES.get(part.noise, "discrete Laplace")
        bare = part.bounding == "unbounded" or part.noise == "exponential"
        noise = family if bare else f"{family}, {part.bounding}"
        figures = [noise, format_figure(float(part.spread)), format_figure(float(part.sensitivity))]
        names = ", ".join(section.together) or section.name
        lines.append((names, [*figures, f"{float(loss):.9g}", format_exact(whole.guarantee.amount)]))
    return lines


def describe_payment(releases: Releases) -> str:
    """Say which entry of the ledger paid for the releases."""
    if releases.entry is None:
        return "No ledger was kept, so nothing here says what else was released from these data."
    left = "" if releases.left is None else f", after which {releases.left} was left"
    cost = spell_amount(releases.entry.guarantee.round_up())
    return (
        f"Paid for by entry {releases.entry.sequence} of the ledger, on the account {releases.dataset_name}: {cost}"
        f"{left}. Its hash is {releases.entry.hash}. inbounds ledger verify detects a ledger that was changed or set "
        "back since."
    )
