"""The studio's server: what the page asks of it, and 200 requests of those who should not."""

import json
import shutil
import socket
import threading
import tomllib
import zipfile
from io import BytesIO
from urllib.parse import quote

import polars as pl
import pytest

from inbounds import ledger, service
from inbounds.plan.plan import Plan
from inbounds.studio.app import STATIC
from inbounds.studio.guard import LARGEST_BODY
from inbounds.studio.serve import make_server
from tests import health as demo
from tests.studio.harness import DOOR, HOST, Client

pytestmark = pytest.mark.xdist_group("studio-server")


@pytest.fixture(scope="module")
def survey():
    """The survey's text, made once."""
    return demo.survey().write_csv()


@pytest.fixture
def client(tmp_path, survey):
    (tmp_path / "survey.csv").write_text(survey, "utf-8")
    (tmp_path / "plan.toml").write_text(demo.PLAN, "utf-8")
    return Client(tmp_path)


def test_the_token_of_the_address_becomes_a_cookie(client):
    opened = client.get(f"/?token={DOOR.token}", cookie=None)
    assert (opened.status, opened.headers["location"]) == (303, "/")
    cookie = opened.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=Strict", "Path=/"))
    page = client.get("/", cookie=cookie.partition(";")[0])
    assert page.status == 200
    policy = page.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert page.headers["cache-control"] == "no-store"
    # Nothing in the page is inline, and nothing is from elsewhere.
    text = page.body.decode()
    assert "style=" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_from_nothing_to_a_verified_result(tmp_path, survey):
    (tmp_path / "survey.csv").write_text(survey, "utf-8")
    client = Client(tmp_path, None)
    assert client.get("/api/state").json["read"] is None
    made = client.post("start", {"name": "new.toml", "source": "survey.csv", "table": None})
    assert made.status == 200
    assert made.json["read"]["mistakes"]
    edits = [
        {"path": ["data", "rows"], "value": 20000},
        {"path": ["columns", "age", "bounds"], "toml": "[18, 100]"},
        {"path": ["columns", "age", "missing"], "value": "skip"},
        {"path": ["release", 0], "value": {"name": "age", "statistic": "mean", "columns": ["age"]}},
    ]
    read = client.post("edit", {"edits": edits, "base": client.revision()}).json
    assert read["mistakes"] == []
    assert tomllib.loads((tmp_path / "new.toml").read_text())["data"]["rows"] == 20000
    seen = client.post("preview", {"epsilon": "1", "curves": True}).json
    assert seen["now"]["items"][0]["worth"] == "reliable"
    assert client.post("aim", {"name": "age", "error": 0.5}).json["epsilon"] in seen["grid"]
    job = client.release()
    assert (job["state"], job["stage"]) == ("done", len(service.STAGES))
    proof = client.post("verify", {"id": job["result"], "ledger": True}).json
    assert "the ledger has the charge" in proof["said"]
    report = client.get(f"/results/{job['result']}/report.html?show=1")
    assert report.status == 200
    assert report.headers["content-security-policy"].startswith("sandbox")
    packed = client.get(f"/results/{job['result']}.zip")
    names = set(zipfile.ZipFile(BytesIO(packed.body)).namelist())
    assert {"release.json", "report.html", "values.csv", "new.toml"} <= names
    book = client.get("/api/ledger").json
    assert book["datasets"][0]["left"] == "0"
    # The same again is the stored result; another one is beyond the limit.
    assert client.get("/api/offer").json["kind"] == "stored"
    assert "stored result" in client.release()["said"]
    client.post("edit", {"edits": [{"path": ["budget", "epsilon"], "toml": "0.5"}], "base": client.revision()})
    offer = client.get("/api/offer").json
    assert (offer["kind"], offer["fits"]) == ("refused", False)
    refused = client.release()
    assert refused["state"] == "failed"
    assert "nothing was spent" in refused["said"]


def test_a_plan_that_somebody_else_changed_is_not_overwritten(client):
    base = client.revision()
    other = demo.PLAN.replace("epsilon = 1.0", "epsilon = 0.5")
    (client.folder / "plan.toml").write_text(other, "utf-8")
    before = client.desk.mark()
    refused = client.post("save", {"text": "mine", "base": base})
    assert refused.status == 409
    assert (client.folder / "plan.toml").read_text("utf-8") == other
    edit = {"edits": [{"path": ["budget", "epsilon"], "value": 2}], "base": base}
    assert client.post("edit", edit).status == 409
    # The control: with the revision that is there now it is written, and every browser can see that it was.
    assert client.post("save", {"text": demo.PLAN, "base": client.revision()}).status == 200
    assert client.desk.mark() != before


def test_a_plan_that_was_released_costs_nothing_again(client):
    """Wherever the page names a price: at the plan's own ε, however it is written. Another ε has its price."""
    assert client.get("/api/glance").json["ledger"]["cost"] == "1"
    assert client.release()["state"] == "done"
    answers = [
        client.get("/api/offer").json,
        client.get("/api/glance").json["ledger"],
        client.post("preview", {"epsilon": "1"}).json["ledger"],
        client.post("imagine", {"epsilon": "1.00"}).json,
    ]
    for answer in answers:
        assert (answer["fits"], answer["cost"], answer["left"], answer["after"]) == (True, "0", "2", "2")
        assert answer["said"].endswith("The stored result is shown again, and costs nothing.")
    other = client.post("imagine", {"epsilon": "0.5"}).json
    assert (other["cost"], other["after"]) == ("0.5", "1.5")
    assert len(client.get("/api/ledger").json["entries"]) == 7


ABSURD = ["1e-400000", "1e400000", "1e-99999999999999", "-1e-400000", "0e-400000", "nan", "sNaN9", "inf", "1/3"]
ABSURD += ["9" * 200, "0." + "0" * 200 + "1"]


@pytest.mark.parametrize("text", ABSURD)
def test_a_number_of_absurd_size_is_refused_in_one_line(client, text):
    for name, body in (("preview", {"epsilon": text}), ("imagine", {"epsilon": text})):
        answer = client.post(name, body)
        assert answer.status == 400
        assert answer.json["error"] == "epsilon must be a decimal number from 0.000001 to 1000, such as 0.5"


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-1" + "0" * 400, "1e308", "NaN", "Infinity", "9" * 5000])
@pytest.mark.parametrize("field", ["epsilon", "rows", "lower", "upper", "truth", "error"])
def test_numbers_that_nobody_can_compute_with_are_refused(client, field, number):
    fields = {"epsilon": "1", "rows": "100", "lower": "0", "upper": "1", "truth": "0.5", "error": "1", field: number}
    body = ", ".join(f'"{name}": {text}' for name, text in fields.items())
    for name in ("aim",) if field == "error" else ("laws",):
        answer = client.send("POST", f"/api/{name}", raw=f'{{"name": "age", {body}}}'.encode())
        assert answer.status == 400
        assert len(answer.json["error"]) < 100


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["release", 1, "share"], "9223372036854775808"),
        (["budget", "epsilon"], "1e-59"),
        (["data", "rows"], "9" * 400),
        (["columns", "age", "bounds"], "[0, " + "9" * 400 + "]"),
        (["release", 0, "level"], '"' + "x" * 5000 + '"'),
    ],
)
def test_a_plan_with_an_absurd_value_is_kept_and_explained(client, path, value):
    """The page shows the plan with its mistakes, each in a line that can be read."""
    read = client.post("edit", {"edits": [{"path": path, "toml": value}], "base": client.revision()})
    assert read.status == 200
    assert read.json["mistakes"]
    assert all(len(mistake["text"]) <= 400 for mistake in read.json["mistakes"])
    assert client.get("/api/state").json["read"]["mistakes"] == read.json["mistakes"]


def test_a_charge_by_another_program_is_seen(client):
    """The command line charges the same ledger: every browser is told, and shows what is left then."""
    client.release()
    before, mark = client.get("/api/state").json["charged"], client.desk.mark()
    assert client.get("/api/glance").json["ledger"]["left"] == "2"
    other = client.folder / "elsewhere" / "other.toml"
    other.parent.mkdir()
    shutil.copy(client.folder / "survey.csv", other.parent)
    text = demo.PLAN.replace("epsilon = 1.0", "epsilon = 0.5").replace('"survey.ledger"', '"../survey.ledger"')
    other.write_text(text, "utf-8")
    service.release_plan(Plan.load(other), other.parent / "out")
    assert client.get("/api/state").json["charged"] != before
    assert client.desk.mark() != mark
    assert client.get("/api/glance").json["ledger"]["left"] == "1.5"


def test_a_charge_without_a_result_can_be_charged_again(client, monkeypatch):
    real = service.release_plan

    def fail(plan, place, *, new=False, say=None):
        def told(step):
            say(step)
            if step == service.STAGES[2]:
                raise OSError("the disk is gone")

        return real(plan, place, new=new, say=told)

    with monkeypatch.context() as patch:
        patch.setattr(service, "release_plan", fail)
        assert client.release()["state"] == "failed"
    offer = client.get("/api/offer").json
    assert (offer["kind"], offer["fits"], offer["cost"], offer["left"]) == ("paid", True, "0", "2")
    assert client.release()["state"] == "done"
    (standing,) = ledger.standings(ledger.read(client.folder / "survey.ledger"))
    assert standing.charges == 1


def test_nobody_looks_ahead_after_the_end(client):
    """A thread that is ended with the interpreter, in the middle of its work, would break the process off."""
    before = threading.enumerate()
    client.post("preview", {"epsilon": "1", "curves": True})
    (ahead,) = [one for one in threading.enumerate() if one.name == "looking ahead" and one not in before]
    assert not ahead.daemon
    client.desk.close()
    ahead.join()


def test_a_result_says_first_what_its_report_says_first(client):
    place = client.folder / "results" / client.release()["result"]
    said = client.post("summary", {"id": place.name}).json
    page = (place / "report.html").read_text("utf-8")
    assert said["count"] in page
    assert [f">{one['name']}</a>" in page for one in said["doubtful"]] == [True] * len(said["doubtful"])
    assert "would change by a factor of at most 2.72 (ε = 1)." in said["promise"]
    assert said["left"][0] == "ε 1 spent, 2 left now"
    ahead = client.get("/api/glance").json["items"]
    assert {one["name"] for one in ahead if one["worth"] != "reliable"} >= {"correlations"}


def test_a_result_can_be_kept_for_other_programs(tmp_path, survey):
    """Also where the plan's name is of another script."""
    (tmp_path / "survey.csv").write_text(survey, "utf-8")
    (tmp_path / "план.toml").write_text(demo.PLAN, "utf-8")
    client = Client(tmp_path, "план.toml")
    name = client.release()["result"]
    for path, start in (("as/xlsx", b"PK"), ("as/latex", b"% Released statistics of survey-2026")):
        got = client.get(f"/results/{name}/{path}")
        assert (got.status, got.body[: len(start)]) == (200, start)
        assert f"filename*=utf-8''{quote(name)}." in got.headers["content-disposition"]
    assert client.get(f"/results/{name}.zip").status == 200
    assert client.get(f"/results/{name}/as/html").status == 400


def test_text_with_mistakes_is_kept_and_said(client):
    text = demo.PLAN.replace('level = "yes"', 'level = "perhaps"')
    saved = client.post("save", {"text": text, "base": client.revision()}).json
    assert [one["line"] for one in saved["mistakes"]] == [text.splitlines().index('level = "perhaps"') + 1]
    assert (client.folder / "plan.toml").read_text("utf-8") == text
    for name, body in (("preview", {"epsilon": "1"}), ("imagine", {"epsilon": "1"})):
        assert client.post(name, body).status == 400
    assert client.get("/api/offer").status == 400


def _hold(step):
    """Let a release wait at a step; what is set to let it go on, and what is set when it is there."""
    there, go = threading.Event(), threading.Event()
    real = service.release_plan

    def slow(plan, folder, *, new=False, say=None):
        def told(word):
            if word == step:
                there.set()
                go.wait()
            say(word)

        return real(plan, folder, new=new, say=told)

    return slow, there, go


@pytest.mark.parametrize(("step", "charged"), [(service.STAGES[1], False), (service.STAGES[3], True)])
def test_a_release_is_cancelled_before_the_charge_alone(client, monkeypatch, step, charged):
    slow, there, go = _hold(step)
    monkeypatch.setattr(service, "release_plan", slow)
    base = client.revision()
    assert client.post("release", {"base": base, "cost": "1", "new": False}).status == 200
    there.wait()
    # One at a time, and a second browser sees the same.
    assert client.post("release", {"base": base, "cost": "1"}).status == 409
    assert client.get("/api/state").json["job"]["state"] == "running"
    cancelled = client.post("cancel")
    assert cancelled.status == (409 if charged else 200)
    go.set()
    client.desk.wait()
    job = client.get("/api/state").json["job"]
    assert job["state"] == ("done" if charged else "cancelled")
    spent = ledger.standings(ledger.read(client.folder / "survey.ledger")) if charged else []
    assert [one.charges for one in spent] == [1] * charged
    assert (client.folder / "survey.ledger").exists() == charged


def test_another_cost_than_the_one_confirmed_is_not_charged(client):
    assert client.post("release", {"base": client.revision(), "cost": "0.5", "new": False}).status == 409
    assert client.desk.job is None


# 200 requests of those who should not


def _hostile():
    """Method, path, keywords, and the statuses that are an answer to it."""
    good = {"text": demo.PLAN, "base": "0"}
    for host in (
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:80",
        "localhost",
        "[::1]:4711",
        f"{HOST}.evil.example",
        "",
        None,
    ):
        yield "GET", "/api/state", {"host": host}, {421}
        yield "POST", "/api/save", {"body": good, "host": host}, {421}
    for origin in (
        "http://evil.example",
        "null",
        f"https://{HOST}",
        "http://127.0.0.1:4712",
        "file://",
        "",
        "http://localhost",
    ):
        for name in ("save", "release", "edit", "cancel", "preview"):
            yield "POST", f"/api/{name}", {"body": good, "origin": origin}, {403}
        yield "GET", "/api/state", {"origin": origin}, {403}
    yield "POST", "/api/save", {"body": good, "origin": None}, {403}
    for site in ("cross-site", "same-site", "anything"):
        yield "GET", "/api/state", {"sec_fetch_site": site}, {403}
    for cookie in (
        None,
        "",
        f"{DOOR.cookie}=",
        f"{DOOR.cookie}={DOOR.token}x",
        f"other={DOOR.token}",
        "x" * 5000,
        "é=ü",
    ):
        for path in ("/", "/api/state", "/static/app.js", "/results/x/report.html", "/api/events"):
            yield "GET", path, {"cookie": cookie}, {401}
        yield "POST", "/api/release", {"body": {}, "cookie": cookie}, {401}
    for token in ("", "x", DOOR.token[:-1], DOOR.token.upper(), "%00", "é"):
        yield "GET", f"/?token={token}", {"cookie": None}, {401}
    paths = """/static/../guard.py /static/../../../../etc/passwd /static/%2e%2e/guard.py /static//etc/passwd /static/
    /results/../plan.toml /results/..%2f..%2fetc/passwd /results/x/.. /results/../../etc.zip /results/.zip /results//
    /results/a/b/c /results/x/as/../../plan.toml /results/x/as/ /api/../plan.toml /api/nothing /plan.toml /survey.csv"""
    for path in (*paths.split(), "/\x00", "/results/\x00/report.html", "/results/x/report.html\x00", "/" + "a" * 5000):
        yield "GET", path, {}, {400, 404}
    for method in ("DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "HEAD"):
        yield method, "/api/save", {"body": {}}, {405}
    for kind in ("text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "", None):
        yield "POST", "/api/save", {"body": good, "content_type": kind}, {415}
    for length in ("-1", "1e9", "99999999999999999999", str(LARGEST_BODY + 1), "", None):
        yield "POST", "/api/save", {"body": good, "content_length": length}, {411, 413}
    yield "POST", "/api/save", {"raw": b"x" * (LARGEST_BODY + 1), "content_length": "5"}, {413}
    for raw in (b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b"[" * 50_000, b'{"base": 1e999}', b"NaN"):
        for name in ("save", "edit", "start", "release"):
            yield "POST", f"/api/{name}", {"raw": raw}, {400}
    wrong = [None, 1, True, [], {}, "../x", "\x00", "<script>alert(1)</script>", "a" * 10_000]
    for value in wrong:
        yield "POST", "/api/open", {"body": {"name": value}}, {400}
        yield "POST", "/api/columns", {"body": {"source": value}}, {400}
        yield "POST", "/api/start", {"body": {"name": value, "source": "survey.csv"}}, {400}
        yield "POST", "/api/preview", {"body": {"epsilon": value}}, {400}
        yield "POST", "/api/verify", {"body": {"id": value}}, {400}
        yield "POST", "/api/summary", {"body": {"id": value}}, {400}
        yield "POST", "/api/figure", {"body": {"name": value, "case": "r = 0"}}, {400}
        yield (
            "POST",
            "/api/laws",
            {"body": {"epsilon": value, "rows": 5, "lower": 0, "upper": 1, "truth": 0}},
            {200, 400},
        )
        yield "POST", "/api/release", {"body": {"base": value, "cost": "1"}}, {400, 409}
    for source in (
        "/etc/passwd",
        "../../etc/passwd",
        "env:PATH",
        "file:///etc/passwd",
        "postgresql://u:p@127.0.0.1:1/x",
        "http://x/y.csv",
    ):
        yield "POST", "/api/columns", {"body": {"source": source, "table": "t"}}, {400}
        yield "POST", "/api/start", {"body": {"name": "x.toml", "source": source, "table": "t"}}, {400}
    for name in ("../x.toml", "a/b.toml", ".x.toml", "x.txt", "plan.toml", "\u202ex.toml", "a\\b.toml"):
        yield "POST", "/api/start", {"body": {"name": name, "source": "survey.csv"}}, {400}


def test_hostile_requests_are_refused_and_change_nothing(client):
    def everything():
        return {path.name: path.read_bytes() for path in client.folder.rglob("*") if path.is_file()}

    before, asked = everything(), 0
    for method, path, keywords, statuses in _hostile():
        got = client.send(method, path, **keywords)
        asked += 1
        said = (method, path[:60], str(keywords)[:100], got.status, got.body[:200])
        assert got.status in statuses, said
        assert b"Traceback" not in got.body, said
        assert b"root:" not in got.body, said
        if got.body and got.status >= 400 and got.headers["content-type"] == "application/json":
            assert "\n" not in got.json["error"], said
    assert asked >= 200
    assert everything() == before
    assert client.desk.job is None


def test_a_plan_that_leads_out_of_the_folder_is_not_followed(client):
    for old, new in (("survey.csv", "/etc/passwd"), ("survey.csv", "../x.csv"), ("survey.ledger", "../own.ledger")):
        text = demo.PLAN.replace(f'"{old}"', json.dumps(new))
        client.post("save", {"text": text, "base": client.revision()})
        for name in ("offer", "ledger"):
            got = client.get(f"/api/{name}")
            assert (got.status, "is not in the folder" in got.json["error"]) == (400, True)
        begun = client.post("release", {"base": client.revision(), "cost": "1", "new": False})
        assert begun.status == 400
    assert not (client.folder.parent / "own.ledger").exists()


NAMES = ["<img src=x onerror=alert(1)>", "a\x1b[2J\u202eb", "'; drop table --", 'quote"d', "</script>", "ünï.cödé", " "]


@pytest.mark.parametrize("name", NAMES)
def test_names_with_markup_and_control_characters_are_text(tmp_path, name):
    pl.DataFrame({name: [1, 2, 3], "other": [1, 2, 3]}).write_parquet(tmp_path / "t.parquet")
    client = Client(tmp_path, None)
    assert client.post("start", {"name": "p.toml", "source": "t.parquet"}).status == 200
    columns = client.post("columns", {"source": "t.parquet"})
    assert columns.json == [{"name": name, "type": "integer"}, {"name": "other", "type": "integer"}]
    assert columns.headers["content-type"] == "application/json"
    edits = [{"path": ["data", "rows"], "value": 3}, {"path": ["columns", name, "bounds"], "toml": "[0, 9]"}]
    edits += [{"path": ["release", 0], "value": {"name": name, "statistic": "mean", "columns": [name]}}]
    got = client.post("edit", {"edits": edits, "base": client.revision()})
    assert got.status in (200, 400)
    if got.status == 200 and not got.json["mistakes"]:
        assert client.release()["state"] in ("done", "failed")
        for one in client.get("/api/state").json["results"]:
            report = client.get(f"/results/{one['id']}/report.html?show=1")
            assert b"<img src=x" not in report.body
            assert report.headers["content-security-policy"].startswith("sandbox")


CANARIES = ("canary-7391", 739113.25, 81818181)


def test_no_value_of_the_table_is_in_any_answer(tmp_path, capsys):
    """Values that nobody could guess are searched for in everything that was ever answered, also in errors."""
    text, number, whole = CANARIES
    rows = 400
    pl.DataFrame({
        "name": [text] * rows, "wage": [number] * rows, "key": [whole] * rows, "gap": [number] * (rows - 1) + [None],
        "age": [30 + i % 40 for i in range(rows)],
    }).write_parquet(tmp_path / "t.parquet")  # fmt: skip
    pl.read_parquet(tmp_path / "t.parquet").write_csv(tmp_path / "t.csv")
    client = Client(tmp_path, None)
    for number_, source in enumerate(("t.parquet", "t.csv")):
        client.post("start", {"name": f"p{number_}.toml", "source": source})
        client.post("columns", {"source": source})
        for statistic, column, rule in (
            ("mean", "age", {"bounds": [0, 100], "missing": "skip"}),
            ("mean", "gap", {"bounds": [0, 1e9]}),  # a missing value, found after the charge
            ("mean", "name", {"bounds": [0, 1]}),  # another type
            ("proportions", "name", {"levels": ["a", "b"]}),  # no level
            ("proportions", "key", {"levels": [1, 2]}),
        ):
            edits = [
                {"path": ["data", "rows"], "value": rows},
                {"path": ["budget", "limit"], "value": 100},
                {"path": ["budget", "ledger"], "value": f"{number_}.ledger"},
                {"path": ["columns", column], "value": rule},
                {
                    "path": ["release", 0],
                    "value": {"name": f"{statistic} {column}", "statistic": statistic, "columns": [column]},
                },
            ]
            client.post("edit", {"edits": edits, "base": client.revision()})
            client.post("preview", {"epsilon": "1", "curves": True})
            client.release()
            for path in ("/api/ledger", "/api/offer", "/api/state", "/api/glance"):
                client.get(path)
        for one in client.get("/api/state").json["results"]:
            client.post("verify", {"id": one["id"], "ledger": True})
            client.post("summary", {"id": one["id"]})
            for file in (*one["files"], "as/xlsx", "as/latex"):
                client.get(f"/results/{one['id']}/{file}")
    printed = capsys.readouterr()
    said = b"\n".join([*client.traffic, printed.out.encode(), printed.err.encode()])
    assert len(client.traffic) > 100
    for canary in ("canary", "739113", "81818181"):
        assert canary.encode() not in said
    # The control: it would have been found.
    assert b"canary" in said + (tmp_path / "t.csv").read_bytes()
    states = {client.get("/api/state").json["job"]["state"]}
    assert states


def test_what_goes_wrong_inside_says_nothing(client, monkeypatch, capsys):
    def fail(*_):
        raise RuntimeError("canary-7391")

    monkeypatch.setattr(service, "list_statistics", fail)
    got = client.get("/api/statistics")
    assert got.status == 500
    assert "canary" not in got.body.decode() + "".join(capsys.readouterr())


def test_two_threads_see_one_plan(client):
    """A revision is written once: of two changes to the same text one is refused."""
    base, statuses = client.revision(), []
    start = threading.Barrier(2)

    def change(epsilon):
        start.wait()
        edits = [{"path": ["budget", "epsilon"], "value": epsilon}]
        statuses.append(client.post("edit", {"edits": edits, "base": base}).status)

    threads = [threading.Thread(target=change, args=(epsilon,)) for epsilon in (2, 3)]
    [one.start() for one in threads]
    [one.join() for one in threads]
    assert sorted(statuses) == [200, 409]


def test_files_of_the_page_name_no_other_host():
    for path in (one for one in STATIC.rglob("*") if one.is_file()):
        text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text
        assert "https:" not in text
        assert "innerHTML" not in text


def test_a_browser_that_comes_before_the_server_runs_is_not_turned_away(tmp_path):
    running = make_server(tmp_path, None)
    with running.listening, socket.create_connection(("127.0.0.1", running.door.port)):
        pass
