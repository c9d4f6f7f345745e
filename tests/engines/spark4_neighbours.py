"""Run by Spark 4's own environment: neighbours on a session of it, with collations.

python tests/engines/spark4_neighbours.py BASES VARIANTS
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.engines import neighbours
from tests.engines.spark4 import session, with_java


def main():
    bases, variants = map(int, sys.argv[1:3])
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        with_java(Path(folder))
        spark = session("classic")
        failed = False
        for source in ("Spark", "Spark, Parquet of other types"):
            pairs, faults = neighbours.attack(source, bases=bases, variants=variants, seed=4)
            print(f"Spark 4: {source}: {pairs:,} pairs, {len(faults)} faults", flush=True)
            for _, base, record, why in faults[:3]:
                print(f"  base {base}: {why}: { {n: repr(v)[:40] for n, v in record.items()} }")
            failed = failed or bool(faults)
        spark.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
