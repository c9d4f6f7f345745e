"""HTML pages, and the HTML that notebooks show, made from the templates in ``report/templates``.

Every text is first made visible (`inbounds._text.visible`) and then escaped, also within attributes. The only values
that are taken as markup are charts, which `draw` labels; they are made of elements that only draw. Jinja2 is loaded
when the first page is made.
"""

import sys
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inbounds._text import visible

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment
    from markupsafe import Markup

_TEMPLATES = Path(__file__).parent / "report" / "templates"


def render(template: str, /, **values: Any) -> str:
    """Fill in a template.

    Parameters
    ----------
    template
        The name of a file in ``report/templates``, without ``.html.jinja``.
    **values
        What the template shows, by the names that it uses.

    Returns
    -------
    str
        The page, or the part of one.

    Raises
    ------
    jinja2.UndefinedError
        If the template uses a name that was not given.

    Examples
    --------
    >>> render("list", caption="a < b", heads=[], rows=[("x", ["1"])], rest="")
    '<table><caption>a &lt; b</caption><tbody><tr><th scope="row">x</th><td>1</td></tr></tbody></table>'
    """
    return _environment().get_template(f"{template}.html.jinja").render(values)


def draw(svg: str, place: str, title: str, description: str) -> "Markup":
    """A chart for a page, with a name and a description for those who do not see it.

    Parameters
    ----------
    svg
        The chart, an ``svg`` element that only draws (`inbounds.report.charts`).
    place
        A name that nothing else on the page has.
    title, description
        What the chart shows. They are escaped.

    Returns
    -------
    Markup
        The element, which a template shows as it is.
    """
    from markupsafe import Markup, escape

    names = f"{place}-title {place}-description"
    label = f'<title id="{place}-title">{escape(visible(title))}</title>'
    label += f'<desc id="{place}-description">{escape(visible(description))}</desc>'
    opened, _, rest = svg.partition(">")
    return Markup(f'{opened} role="img" aria-labelledby="{names}">{label}{rest}')


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    def show(value: Any) -> Any:
        # The result of a macro is already escaped.
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        bytecode_cache=_keep_compiled(),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=show,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _keep_compiled() -> "BytecodeCache | None":
    """Keep compiled templates where Python keeps compiled modules, if it keeps any: they take long to compile."""
    from jinja2 import FileSystemBytecodeCache
    from jinja2.bccache import Bucket

    class Compiled(FileSystemBytecodeCache):
        def dump_bytecode(self, bucket: Bucket) -> None:
            # They may not be kept, for example because the disk is full.
            with suppress(OSError):
                super().dump_bytecode(bucket)

    folder = Path(cache_from_source(str(_TEMPLATES / "template.py"))).parent
    if sys.dont_write_bytecode:
        return None
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return Compiled(str(folder))
