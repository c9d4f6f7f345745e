"""Charts that a notebook shows as a picture. It is drawn on this machine, so that nothing is loaded from elsewhere.

Altair shows a chart as a page that loads its drawing code from another host. An exported notebook would be empty
without a network, and would tell that host who reads it.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Chart = TypeVar("_Chart")

NEEDED = "figures need Altair and vl-convert: pip install 'inbounds[plot]'"


def can_draw() -> bool:
    """Whether the extra ``plot`` is installed."""
    return all(find_spec(name) is not None for name in ("altair", "vl_convert"))


def as_picture(plot: Callable[_Parameters, _Chart]) -> Callable[_Parameters, _Chart]:
    """Decorate a function that plots: a notebook shows its chart, and charts made from it, as a picture in SVG.

    A renderer that a user enabled, as with ``altair.renderers.enable("png")``, is used instead. The function raises an
    ImportError if the extra ``plot`` is not installed.
    """

    @wraps(plot)
    def draw(*arguments: _Parameters.args, **keywords: _Parameters.kwargs) -> _Chart:
        if not can_draw():
            raise ImportError(NEEDED)
        chart: Any = plot(*arguments, **keywords)
        # The same chart of a class that knows one thing more. Copies, as by .properties(), are of that class too.
        kind: Any = type(chart)
        object.__setattr__(chart, "__class__", _class_of(kind))
        return chart  # type: ignore[no-any-return]

    return draw


@lru_cache
def _class_of(kind: Any) -> type:
    """A class of charts that are shown as pictures."""
    import altair

    def show(chart: Any, *arguments: Any, **keywords: Any) -> Any:
        if altair.renderers.active != "default":
            return kind._repr_mimebundle_(chart, *arguments, **keywords)
        return {"image/svg+xml": _draw(chart)}

    def reduce(chart: Any) -> tuple[Any, ...]:
        # The class has no name by which another process could find it.
        return _restore, (kind, dict(vars(chart)))

    return type(
        kind.__name__, (kind,), {"_repr_mimebundle_": show, "__reduce__": reduce, "__module__": kind.__module__}
    )


def _restore(kind: Any, state: dict[str, Any]) -> Any:
    chart = kind.__new__(kind)
    vars(chart).update(state)
    return as_picture(lambda: chart)()


def _draw(chart: Any) -> str:
    import vl_convert

    return str(vl_convert.vegalite_to_svg(chart.to_json()))
