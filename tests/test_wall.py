"""The import rule: who may import whom. It is what makes post-processing post-processing."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "inbounds"

# Room or module -> what of ours it may import. "laws" allows everything below inbounds.laws.
ALLOWED = {
    "_check": set(),
    "_files": set(),
    "_html": {"_text"},
    "_mistakes": {"_text"},
    "_text": set(),
    "laws": {"_check", "_html", "laws"},
    "grid": {"_check", "laws", "grid"},
    "privacy": {"_check", "laws", "grid", "privacy"},
    # Where spending is written down: it sees guarantees, and neither data nor noise.
    "ledger": {"_check", "_text", "ledger", "privacy.guarantee"},
    "tables": {"_check", "privacy.sensitivity", "privacy.guarantee", "tables"},
    # The wall: the only room that may see both the table and the noise, and what passes it.
    "releases": {"_check", "derive", "expected", "grid", "ledger", "privacy", "record", "releases", "tables", "after"},
    "record": {
        "_check",
        "_text",
        "after",
        "derive",
        "expected",
        "grid",
        "inference",
        "privacy",
        "record_text",
        # A record is proved by the draft of its own statistic, which is made without data.
        "releases.proof",
        "soundness",
    },
    "record_text": {"_check", "after.tree", "privacy.certificate"},
    # What is concluded from records: it sees them and the laws, and no table.
    "inference": {
        "_check",
        "_html",
        "_text",
        "derive",
        "expected",
        "grid",
        "inference",
        "laws",
        "privacy.certificate",
        "record",
    },
    "soundness": {"derive", "privacy.certificate"},
    "expected": {"_check", "derive", "grid", "laws", "privacy.certificate"},
    "derive": {"_check", "after"},
    # Repairs are used by `derive`, so that they may not see the record themselves.
    "after": {"_check", "after", "grid", "laws"},
    # What a steward touches: previews run the release functions, without data; plans hand them the data unseen.
    "app": {
        "_check",
        "_files",
        "_html",
        "_mistakes",
        "_text",
        "app",
        "audit",
        "derive",
        "expected",
        "grid",
        "inference",
        "laws",
        "ledger",
        "privacy",
        "record",
        "releases",
        "report",
        "studies",
    },
    # What is shown of a release: its record, what was asked for and who paid, and no table.
    "report": {"_html", "_text", "app.job", "derive", "expected", "inference", "privacy", "record", "report"},
    # Simulations with known truth: no table, no record, no release.
    "studies": {"_check", "_files", "_html", "_mistakes", "after", "grid", "inference", "laws", "privacy", "studies"},
    "audit": {"_check", "laws", "grid", "privacy", "audit"},
    "__init__": {"app", "laws", "ledger", "privacy", "record", "releases"},
}


def imported(tree: ast.AST, package: str) -> set[str]:
    """Dotted names below ``inbounds`` that a module imports, relative imports resolved."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base]).rstrip(".")
            names |= {f"{base}.{alias.name}" for alias in node.names}
    return {name.removeprefix("inbounds.") for name in names if name.startswith("inbounds.")}


def breaches(source: Path) -> list[str]:
    found = []
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        room = parts[0]
        if room not in ALLOWED:
            found.append(f"{room}: no rule for it; decide who may import it and whom it may import")
            continue
        package = ".".join(["inbounds", *parts[:-1]])
        found += [
            f"{'/'.join(parts)} imports inbounds.{name}"
            for name in imported(ast.parse(path.read_text("utf-8")), package)
            if not any(name == allowed or name.startswith(allowed + ".") for allowed in ALLOWED[room])
        ]
    return found


def test_nobody_reaches_over_the_wall():
    assert breaches(SOURCE) == []


@pytest.mark.parametrize(
    "planted",
    [
        "from inbounds.privacy.loss import privacy_loss",
        "import inbounds.privacy.sensitivity",
        "from ..privacy import guarantee",
        "from inbounds import privacy",
        "def late():\n    from inbounds.privacy import calibrate\n    return calibrate",
    ],
)
def test_the_rule_sees_a_planted_breach(tmp_path, planted):
    room = tmp_path / "laws"
    room.mkdir()
    (room / "innocent.py").write_text("from inbounds import _check\nfrom inbounds.laws.noise import Noise\n")
    assert breaches(tmp_path) == []
    (room / "planted.py").write_text(planted)
    assert len(breaches(tmp_path)) == 1
    assert breaches(tmp_path)[0].startswith("laws/planted imports inbounds.privacy")


def test_a_new_room_needs_a_rule(tmp_path):
    (tmp_path / "annexe").mkdir()
    (tmp_path / "annexe" / "door.py").write_text("x = 1")
    assert "no rule" in breaches(tmp_path)[0]
