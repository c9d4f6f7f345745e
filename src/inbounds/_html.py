"""HTML, made from the templates in ``report/templates``: pages and what notebooks show.

Every text that a template shows is made visible (`inbounds._text.visible`) and then escaped, also within attributes. A
template can do nothing but show what it is given, and nothing that it is given is markup: there is no text that goes
unescaped. Jinja2 is loaded when the first page is made.
"""

from functools import cache
from typing import TYPE_CHECKING, Any

from inbounds._text import visible

if TYPE_CHECKING:
    from jinja2 import Environment


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


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def show(value: Any) -> Any:
        # What a macro has made is escaped already.
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    return Environment(
        loader=PackageLoader("inbounds", "report/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=show,
        trim_blocks=True,
        lstrip_blocks=True,
    )
