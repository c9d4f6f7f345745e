"""The expressions that a plan may hold: what `where` keeps and what `[derive]` computes.

Users write SQL's spelling, as in ``origin = 'JFK' and dep_delay > 15``. The language is a small part of SQL, and it has
a tokenizer and a parser of its own. A library for SQL (sqlglot, say) would accept all of SQL: casts, subqueries, calls
of any function, dozens of dialects. Every part of that would have to be found and refused, in each of its versions, and
what is left would still mean what the engine takes it for. Here there is nothing to refuse: what the grammar does not
have cannot be written, no text of the user ever reaches an engine's parser, and each operation is defined once.

An expression is public, like the plan that it stands in. It looks at one record at a time, it raises nothing that
depends on a record, and it means the same on every engine: `inbounds.tables.expressions.compiler` says how.

- `tokens`, `parser`: from text to a tree, within public limits.
- `tree`, `spelling`: the tree, and the text that it is written as.
- `kinds`: which columns are numbers, text, conditions or times.
- `expression`: `parse` and `check_columns`, what others call.
- `dates`: years, months and hours in floor arithmetic.
- `compiler`: from the tree to an expression of Narwhals. It alone has to do with tables.
"""

from inbounds.tables.expressions.expression import Expression as Expression
from inbounds.tables.expressions.expression import check_columns as check_columns
from inbounds.tables.expressions.expression import parse as parse
from inbounds.tables.expressions.expression import write_out as write_out
from inbounds.tables.expressions.tree import Kind as Kind
