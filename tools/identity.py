"""Whether ids stay apart and meet as they should, and how many rows a person moves, for every source and engine.

    PYTHONPATH=. python tools/identity.py [--tables N] [--variants N] [SOURCE ...]

At least 100,000 pairs of ids and 20,000 pairs of neighbours as it stands; `tests/engines/identities.py` makes them. A
share of them is in `make test`.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.engines.identities import main

if __name__ == "__main__":
    sys.exit(main())
