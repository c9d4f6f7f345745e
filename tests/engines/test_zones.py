"""Times by the clock of a zone: the same on every engine, whatever the clock of its session, against `zoneinfo`."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
import polars as pl
import pytest

import inbounds as ib
from inbounds.errors import DataError
from inbounds.plan.plan import Plan, PlanError
from inbounds.privacy.terms import Terms
from inbounds.record.selection import draft_statistic, select
from inbounds.tables.engine import tally
from inbounds.tables.sources import check_types, read
from inbounds.tables.zones import find_offsets
from tests.engines import places
from tests.engines.test_same_integers import made

BERLIN = ZoneInfo("Europe/Berlin")
START = datetime(1970, 1, 1)
BOUNDS = ("2013-01-01 00:00:00", "2013-12-31 00:00:00")


def instants():
    """Instants of 2013, some around the hour that the clocks skip and the one that they repeat; and missing ones."""
    rng = np.random.default_rng(4)
    spring, autumn = datetime(2013, 3, 31, 1, tzinfo=UTC), datetime(2013, 10, 27, 1, tzinfo=UTC)
    near = [change + timedelta(seconds=s) for change in (spring, autumn) for s in (-3600, -1, 0, 1, 1799, 3600)]
    far = [datetime(2012, 12, 30, tzinfo=UTC) + timedelta(seconds=int(s)) for s in rng.integers(0, 370 * 86400, 60)]
    return [*near, *far, None, None]


def clocks():
    """What a clock in Berlin shows at each of them."""
    return [None if one is None else one.astimezone(BERLIN).replace(tzinfo=None) for one in instants()]


def table():
    columns = {"at": pl.Series(instants(), dtype=pl.Datetime("us", "UTC")), "clock": clocks()}
    return pl.DataFrame(columns).with_columns(pl.col("clock").cast(pl.Datetime("us")))


# A mean of times, and counts by an expression, by a level made of one, and by edges.
MEAN = ib.Mean("at", BOUNDS, missing="skip")
COUNT = ib.Histogram("h", levels=list(range(24)), missing="skip", other="skip")
HALVES = ib.Histogram("at", edges=["2013-01-01", "2013-07-01", "2013-12-31"], missing="level")
STATISTICS = [
    select(MEAN, None, None, "Europe/Berlin"),
    select(COUNT, "weekday(at) <= 5 and at >= timestamp '2013-01-01 00:30:00'", {"h": "hour(at)"}, "Europe/Berlin"),
    select(HALVES, None, None, "Europe/Berlin"),
]


def count(frame, statistics=STATISTICS):
    size = len(instants())
    drafts = [draft_statistic(one, Terms.of(1, rows=size)) for one in statistics]
    columns = list(dict.fromkeys(column for draft in drafts for column in draft.columns))
    ready = read(frame, columns)
    check_types(ready, columns)
    return tally(ready, [request for draft in drafts for request in draft.requests])


def expected():
    """The same by a loop over what the clocks show."""
    known = [one for one in clocks() if one is not None]
    low, high = (datetime.fromisoformat(bound) for bound in BOUNDS)
    days = [one for one in known if one.isoweekday() <= 5 and one >= datetime(2013, 1, 1, 0, 30)]
    hours = {(0, hour): sum(one.hour == hour for one in days) for hour in range(24)}
    # Edges of dates count in days.
    late = sum(one >= datetime(2013, 7, 1) for one in known)
    return [
        sum(round((min(max(one, low), high) - low).total_seconds()) for one in known),
        {place: count for place, count in hours.items() if count},
        {(0,): len(known) - late, (1,): late, (2,): 2},
    ]


def figures(found):
    mean, hours, halves = found
    draft = draft_statistic(STATISTICS[0], Terms.of(1, rows=len(instants())))
    step = draft.requests[0].sums[0].step
    return [
        float(step * mean[(0,)][1][0]),
        {place: cell[0] for place, cell in hours.items() if place[0] == 0 and place[1] < 24},
        {place: cell[0] for place, cell in halves.items()},
    ]


@pytest.fixture
def odd_session():
    """Sessions whose own clock is far away."""

    def start(engine):
        if engine == "DuckDB":
            places.duck().execute("SET TimeZone = 'Asia/Tokyo'")
        if engine == "Spark":
            places.spark().conf.set("spark.sql.session.timeZone", "Asia/Tokyo")

    yield start
    if places.duck.cache_info().currsize:
        places.duck().execute("RESET TimeZone")
    if places.spark.cache_info().currsize:
        places.spark().conf.unset("spark.sql.session.timeZone")


@pytest.mark.claim("zones")
@pytest.mark.parametrize("engine", [name for name in places.ENGINES if name != "Dask, two workers"])
def test_a_clock_shows_the_same_on_every_engine(engine, odd_session):
    odd_session(engine)
    handed = made(engine, table(), 3)
    if engine.startswith("SQLFrame"):
        with pytest.raises(DataError, match="convert it to UTC first"):
            count(handed)
    else:
        found = count(handed)
        assert figures(found) == expected()
        assert found == count(table())
        if engine not in ("pandas",):
            with pytest.raises(DataError, match="declare whose clock counts, as in time_zone='Europe/Berlin'"):
                count(handed, [MEAN])
    # Times without a zone show the clock already.
    assert figures(count(made(engine, table().select(at="clock"), 3))) == expected()


def texts():
    return [None if one is None else one.isoformat() for one in instants()]


UNTYPED = {
    "objects": instants,
    "objects of another zone": lambda: [one and one.astimezone(ZoneInfo("America/New_York")) for one in instants()],
    "text": texts,
    "text with Z": lambda: [one and one.replace("+00:00", "Z") for one in texts()],
    "text of PostgreSQL": lambda: [one and one.replace("T", " ").replace("+00:00", "+00") for one in texts()],
    "text of India": lambda: [
        one and one.astimezone(ZoneInfo("Asia/Kolkata")).isoformat().replace("+05:30", "+0530") for one in instants()
    ],
    "without a zone": clocks,
    "text without a zone": lambda: [one and str(one) for one in clocks()],
}


@pytest.mark.claim("zones")
@pytest.mark.parametrize("kind", UNTYPED)
@pytest.mark.parametrize("read_as", ["list", "pandas", "csv"])
def test_a_clock_of_columns_without_types(kind, read_as, tmp_path):
    import pandas as pd

    values = UNTYPED[kind]()
    if read_as == "csv":
        if "objects" in kind or kind == "without a zone":
            values = [None if one is None else str(one) for one in values]
        pl.DataFrame({"at": pl.Series(values, dtype=pl.String)}).write_csv(tmp_path / "t.csv")
        from inbounds.tables.places import open_place

        columns = list(dict.fromkeys(column for one in STATISTICS for column in one.inputs))
        handed = open_place(tmp_path / "t.csv", columns)
    else:
        handed = {"at": values} if read_as == "list" else pd.DataFrame({"at": values})
    assert figures(count(handed)) == expected()
    if "without" not in kind and read_as != "csv":
        with pytest.raises(DataError, match=r"those with a zone need time_zone="):
            count(handed, [ib.Mean("at", BOUNDS)])


@pytest.mark.claim("zones")
def test_offsets_are_those_of_zoneinfo():
    rng = np.random.default_rng(1)
    for name in sorted(available_timezones())[::7]:
        zone, offsets = ZoneInfo(name), find_offsets(name)
        near = [change + s for change in offsets.changes for s in (-1, 0)]
        for seconds in [*rng.integers(0, 2_145_916_800, 30).tolist(), *near]:
            assert datetime.fromtimestamp(seconds, zone).utcoffset().total_seconds() == offsets.at(seconds), name
        # The nested choices are the same as the search.
        found = offsets.choose(
            lambda value: lambda _: value, lambda change, a, b: lambda t: a(t) if t < change else b(t)
        )
        assert [found(s) for s in near] == [offsets.at(s) for s in near]


def test_hostile_texts_of_times_mean_the_same_in_a_list_and_in_a_column():
    rng = np.random.default_rng(3)
    pieces = [
        "2013-10-27",
        "T",
        " ",
        "02:30",
        ":15",
        ".5",
        "+02",
        ":00",
        "-0130",
        "Z",
        "+24:00",
        "0001-01-01",
        "z",
        "٣",
    ]
    texts = ["".join(rng.choice(pieces, rng.integers(1, 6))) for _ in range(3000)] + [
        "0001-01-01T00:00:00+02:00", "9999-12-31T23:59:59-02:00", "2013-01-01T24:00Z", "2013-02-29 00:00:00Z"
    ]  # fmt: skip
    from inbounds.tables.schema import Operand
    from inbounds.tables.untyped import fit, from_objects

    for zone in (None, "Europe/Berlin"):
        column = Operand("at", "time", zone)
        one_by_one = from_objects(texts, column).to_list()
        assert fit(pl.Series("at", texts), column).to_list() == one_by_one
        assert sum(one is not None for one in one_by_one) > 100


def test_the_record_says_whose_clock_it_is():
    release = ib.mean({"at": instants()}, "at", bounds=BOUNDS, missing="skip", time_zone="Europe/Berlin", epsilon=10**6)
    again = ib.Release.from_json(release.to_json())
    assert again == release
    assert again.statistic.time_zone == "Europe/Berlin"
    assert "times are by the clock of Europe/Berlin" in again.notes
    # The record of another clock is another request, and one without times needs none.
    forged = release.to_json().replace("Europe/Berlin", "Europe/Paris")
    with pytest.raises(ib.errors.RecordError):
        ib.Release.from_json(forged)
    assert ib.mean([1, 2], bounds=(0, 5), time_zone="UTC", epsilon=1).notes == ()


@pytest.mark.parametrize("zone", ["Europe/Berln", "localtime", "CEST", "../etc/passwd", ""])
def test_zones_that_are_none(zone):
    with pytest.raises(ValueError, match="time_zone must be the name of a time zone"):
        ib.mean({"at": clocks()}, "at", bounds=BOUNDS, missing="skip", time_zone=zone, epsilon=1)
    body = {
        "data": {"rows": 5, "time_zone": zone},
        "budget": {"epsilon": 1},
        "columns": {"at": {"bounds": [datetime(2013, 1, 1), datetime(2013, 12, 31)]}},
        "release": [{"name": "at", "statistic": "mean", "columns": ["at"]}],
    }
    with pytest.raises(PlanError, match=r"data\.time_zone: must be the name of a time zone"):
        Plan.of(body)
    body["data"]["time_zone"] = "Europe/Berlin"
    assert Plan.of(body).drafts()["at"].record.statistic.time_zone == "Europe/Berlin"
