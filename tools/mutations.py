"""The mutants of a module: its source with one small change each, by the operators of mutmut and a few of our own.

mutmut itself leaves every decorated function alone, and with them what is cached, what is a property and what opens the
ledger; so its operators are used here, and `mutants.py` runs them.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider
from mutmut.mutation.mutators import mutation_operators

# Arguments and values that become None are found by the first line that uses them: thousands that show nothing.
LEFT_OUT = {"operator_arg_removal", "operator_assignment", "operator_dict_arguments"}
OPERATORS = [(kind, operator) for kind, operator in mutation_operators if operator.__name__ not in LEFT_OUT]
# Types, and the wording of errors; what is imported, and decorators, which say how a thing is kept and not what it is.
UNTOUCHED = (
    cst.Annotation,
    cst.Assert,
    cst.ConcatenatedString,
    cst.Decorator,
    cst.FormattedString,
    cst.Import,
    cst.ImportFrom,
    cst.Raise,
)
SMALL = (cst.BaseNumber, cst.BaseString, cst.Name)


@dataclass(frozen=True)
class Mutant:
    """One change. ``line`` and ``change`` name it wherever its line has gone; ``span`` is where its statement is.

    ``on_import`` says that it runs when the module is imported: then what it does shows anywhere.
    """

    module: str
    number: int
    line: str
    change: str
    span: range
    on_import: bool
    tree: cst.Module = field(repr=False)
    old: cst.CSTNode = field(repr=False)
    new: cst.CSTNode = field(repr=False)

    @property
    def key(self) -> tuple[str, str, str]:
        return self.module, self.line, self.change

    @property
    def source(self) -> str:
        """The mutated text; `SyntaxError` where it is no program."""
        source = self.tree.deep_replace(self.old, self.new).code
        compile(source, self.module, "exec")
        return source


class _Finder(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider, ParentNodeProvider)

    def __init__(self, name: str, module: cst.Module, lines: list[str]) -> None:
        super().__init__()
        self.name, self.module, self.lines = name, module, lines
        self.found: list[Mutant] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, UNTOUCHED) or self._is_wording(node):
            return False
        for old, new in _changes(node):
            self._add(node, old, new)
        return True

    def _is_wording(self, node: cst.CSTNode) -> bool:
        """Docstrings, slots, and the names of arguments that validators put into their errors."""
        if isinstance(node, cst.Expr):
            return isinstance(node.value, cst.SimpleString | cst.ConcatenatedString)
        if isinstance(node, cst.Assign):
            return self.module.code_for_node(node.targets[0].target) == "__slots__"
        if isinstance(node, cst.Arg) and isinstance(node.value, cst.SimpleString):
            call = self.get_metadata(ParentNodeProvider, node)
            return isinstance(call, cst.Call) and self.module.code_for_node(call.func).startswith("_check.")
        return False

    def _add(self, node: cst.CSTNode, old: cst.CSTNode, new: cst.CSTNode) -> None:
        # Operators have no place of their own in every case: that of what they stand in.
        placed = node
        while (where := self.get_metadata(PositionProvider, placed, None)) is None:
            placed = self.get_metadata(ParentNodeProvider, placed)
        number = where.start.line
        change = self._described(node, old, new)
        line, span = self.lines[number - 1].strip(), self._statement(placed)
        self.found.append(Mutant(self.name, number, line, change, span, self._on_import(node), self.module, old, new))

    def _on_import(self, node: cst.CSTNode) -> bool:
        """Outside of functions, or what an argument is if none is given."""
        default = False
        while (above := self.get_metadata(ParentNodeProvider, node, None)) is not None:
            default = default or isinstance(node, cst.Parameters)
            if isinstance(above, cst.FunctionDef | cst.Lambda):
                if not default:
                    return False
                default = False
            node = above
        return True

    def _described(self, node: cst.CSTNode, old: cst.CSTNode, new: cst.CSTNode) -> str:
        shown = node
        while not isinstance(
            shown, cst.BaseExpression | cst.BaseSmallStatement | cst.BaseCompoundStatement | cst.CompIf
        ):
            shown = self.get_metadata(ParentNodeProvider, shown)
        if isinstance(shown, cst.If | cst.While | cst.CompIf):
            return f"{self._text(shown.test)} → {self._text(new)}"
        above = self.get_metadata(ParentNodeProvider, shown)
        if isinstance(shown, SMALL) and isinstance(above, cst.BaseExpression) and len(self._text(above)) <= 60:
            shown = above
        after = new if shown is old else shown.deep_replace(old, new)
        if isinstance(node, cst.Call) and isinstance(new, cst.Call) and len(new.args) < len(node.args):
            gone = next(arg for arg in node.args if arg not in new.args)
            return f"{self._text(node.func)}: without {self._text(gone).rstrip(', ')}"
        return f"{self._text(shown)} → {self._text(after)}"

    def _text(self, node: cst.CSTNode) -> str:
        return " ".join(self.module.code_for_node(node).split())

    def _statement(self, node: cst.CSTNode) -> range:
        """Lines of the statement, or of the head of a compound one."""
        while not isinstance(node, cst.SimpleStatementLine | cst.BaseCompoundStatement):
            node = self.get_metadata(ParentNodeProvider, node)
        where = self.get_metadata(PositionProvider, node)
        last = where.end.line
        if isinstance(node, cst.BaseCompoundStatement):
            last = max(where.start.line, self.get_metadata(PositionProvider, node.body).start.line - 1)
        return range(where.start.line, last + 1)


def _changes(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, Any]]:
    for kind, operator in OPERATORS:
        if isinstance(node, kind):
            made = list(operator(node))
            # A string in other letters tells no more than one with other letters around it.
            yield from ((node, new) for new in (made[:1] if operator.__name__ == "operator_string" else made))
    if isinstance(node, cst.Call):
        for i, arg in enumerate(node.args):
            if arg.keyword is not None and len(node.args) > 1:
                yield node, node.with_changes(args=[*node.args[:i], *node.args[i + 1 :]])
    if isinstance(node, cst.If | cst.While | cst.CompIf):
        for forced in ["False"] if isinstance(node, cst.While) else ["False", "True"]:
            yield node.test, cst.Name(forced)


def mutants(name: str, source: str) -> list[Mutant]:
    """All mutants of a module, in the order of its text; the same change on the same line is numbered."""
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    finder = _Finder(name, wrapper.module, source.splitlines())
    wrapper.visit(finder)
    seen: Counter[tuple[str, str, str]] = Counter()
    numbered = []
    for mutant in finder.found:
        seen[mutant.key] += 1
        times = seen[mutant.key]
        numbered.append(mutant if times == 1 else replace(mutant, change=f"{mutant.change} (no. {times})"))
    return numbered
