"""Answer the tasks of `bench/compare.py` with one library: a line of JSON for each line of JSON.

    python bench/peers/run.py opendp < tasks > answers

An answer has ``values``, ``intervals`` or ``seconds``, or ``missing`` with the reason.
"""

import sys
from pathlib import Path

# This folder's names would hide nothing, but the repository must be found without being installed.
sys.path[0] = str(Path(__file__).parents[2])

import contextlib
import importlib
import importlib.metadata
import json
import time
from typing import Any

from bench.peers import Task
from bench.timing import median_time, per_call


def answer(library: Any, task: dict[str, Any]) -> dict[str, Any]:
    kind, tables, purpose = task.pop("kind"), task.pop("tables", None), task.pop("purpose", "noise")
    if kind == "versions":
        names = {library.PACKAGE, *task["packages"]}
        found = {}
        for name in sorted(names):
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                found[name] = importlib.metadata.version(name)
        return {"versions": found, "package": library.PACKAGE, "module": library.MODULE}
    if kind == "times":
        whole = library.whole(task["column"])
        return {
            "seconds": {
                "draw": per_call(library.draw(), 100),
                "vector": median_time(library.many(task["count"]), 3),
                "whole": median_time(whole, 3),
            }
        }
    asked = Task(**task)
    names = {
        "values": "STATISTICS",
        "built": "BUILT",
        "intervals": "INTERVALS",
        "exact": "EXACT",
        "unbiased": "UNBIASED",
    }
    offered = getattr(library, names[kind], {}).get((asked.statistic, asked.neighbours))
    if offered is None:
        return {"missing": "not offered"}
    start = time.perf_counter()
    found = offered(asked, tables, purpose) if kind == "intervals" else offered(asked)
    if found is None:
        return {"missing": "not offered"}
    return {"values" if kind in ("built", "unbiased") else kind: found, "seconds": time.perf_counter() - start}


def main() -> None:
    # What libraries print is not an answer.
    out, sys.stdout = sys.stdout, sys.stderr
    library = importlib.import_module(f"bench.peers.with_{sys.argv[1]}")
    for line in sys.stdin:
        try:
            said = answer(library, json.loads(line))
        except Exception as error:
            lines = str(error).strip().splitlines() or [""]
            said = {"missing": f"{type(error).__name__}: {lines[0][:200]}"}
        print(json.dumps(said), file=out, flush=True)


if __name__ == "__main__":
    main()
