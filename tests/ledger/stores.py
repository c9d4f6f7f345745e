"""A store in memory, which is all that a ledger asks of a place."""

import threading
from contextlib import contextmanager

from inbounds.ledger import LedgerError


class DictStore:
    """Rows in a list, results in a dictionary: copied for whoever reads or writes, put back whole at the end."""

    def __init__(self):
        self.rows, self.results, self.lock = [], {}, threading.Lock()

    def is_begun(self):
        return bool(self.rows)

    @contextmanager
    def read(self):
        if not self.rows:
            raise LedgerError("there is no ledger")
        yield DictRows(list(self.rows), dict(self.results))

    @contextmanager
    def write(self, _):
        with self.lock:
            rows = DictRows(list(self.rows), dict(self.results))
            yield rows
            self.rows, self.results = rows.rows, rows.results


class DictRows:
    def __init__(self, rows, results):
        self.rows, self.results, self.is_new = rows, results, not rows

    def entries(self):
        return iter(self.rows)

    def sizes(self):
        return [(charge, len(content)) for charge, content in sorted(self.results.items())]

    def result(self, charge):
        return self.results.get(charge)

    def add_entry(self, entry):
        self.rows.append(entry.row)

    def add_result(self, charge, content):
        self.results[charge] = content
