"""A store in memory, which is all that a ledger asks of a place."""

import threading
from contextlib import contextmanager

from inbounds.ledger import LedgerError


class DictStore:
    """Rows in a list, results in a dictionary: copied for whoever reads or writes, put back whole at the end."""

    def __init__(self):
        self.rows, self.results, self.files, self.draws, self.lock = [], {}, [], {}, threading.Lock()

    def is_begun(self):
        return bool(self.rows)

    @contextmanager
    def read(self):
        if not self.rows:
            raise LedgerError("there is no ledger")
        yield DictRows(list(self.rows), dict(self.results), list(self.files), dict(self.draws))

    @contextmanager
    def write(self, _):
        with self.lock:
            rows = DictRows(list(self.rows), dict(self.results), list(self.files), dict(self.draws))
            rows.settle = lambda: self.commit(rows)
            yield rows
            self.commit(rows)

    def commit(self, rows):
        self.rows, self.results, self.files, self.draws = (
            list(rows.rows),
            dict(rows.results),
            list(rows.files),
            dict(rows.draws),
        )


class DictRows:
    is_filed = is_noted = True

    def __init__(self, rows, results, files=(), draws=()):
        self.rows, self.results, self.files, self.is_new = rows, results, list(files), not rows
        self.draws = dict(draws)

    def entries(self, start=0):
        return iter(self.rows[start:])

    def find(self, key):
        found = [(number, note) for other, number, note in self.files if other == key]
        return [(self.rows[number], note) for number, note in sorted(found, reverse=True)]

    def filed(self):
        return sorted(self.files)

    def file_entry(self, key, number, note):
        self.files.append((key, number, note))

    def renew_note(self):
        raise AssertionError("there is no note")

    def sizes(self):
        return [(charge, len(content)) for charge, content in sorted(self.results.items())]

    def result(self, charge):
        return self.results.get(charge)

    def add_entry(self, entry):
        self.rows.append(entry.row)

    def add_result(self, charge, content):
        self.results[charge] = content
        self.draws.pop(charge, None)

    def draw(self, charge):
        return self.draws.get(charge)

    def reserve(self, charge, size):
        assert charge not in self.draws
        self.draws[charge] = bytes(size)

    def write_draw(self, charge, content):
        assert charge in self.draws
        self.draws[charge] = content
