"""Pages that are read from the library itself: keys of a plan, commands, public names. Run it when one of them changes.

python docs/generate.py
python docs/generate.py --check    # write nothing, and fail where a page is not what this would write
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import inbounds
from inbounds._keywords import _MEANINGS
from inbounds.cli import commands as cli
from inbounds.plan.items import NOT_KEYS
from inbounds.plan.plan import Plan
from inbounds.statistics import registered

HERE = Path(__file__).parent


# The keys of a plan, from their JSON schema


def plan_reference() -> str:
    schema = Plan.model_json_schema()
    parts = {
        "`[data]`": "Data",
        "`[budget]`": "Budget",
        "`[columns]`, a line for each column": "Column",
        "`[[release]]`, once for each release": "Item",
    }
    lines = [
        "# Every key of a plan",
        "",
        "Made from the schema that checks plans (`inbounds plan schema` prints it). A key that is not here is refused. "
        "[Plans](plans.md) says how they work together.",
    ]
    for title, name in parts.items():
        part = schema["$defs"][name]
        needed = part.get("required", ())
        lines += ["", f"## {title}", "", part["description"], ""]
        lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
        for key, rule in part["properties"].items():
            default = "must be given" if key in needed else _default(rule)
            meaning = _plain(rule.get("description", ""))
            meaning += _goes_with(key, meaning) if name == "Item" else ""
            lines.append(f"| `{key}` | {_type(rule)} | {default} | {meaning} |")
    lines += ["", "Keys of single statistics:", "", "| key | meaning |", "|---|---|"]
    own = dict.fromkeys(key for one in registered().values() for key in inspect.signature(one).parameters)
    own = [key for key in own if key not in (*NOT_KEYS, "columns", *schema["$defs"]["Item"]["properties"])]
    lines += [f"| `{key}` | {_MEANINGS[key]}{_goes_with(key, '')} |" for key in own]
    return "\n".join([*lines, ""])


def _type(rule: dict[str, Any]) -> str:
    if "enum" in rule:
        return ", ".join(f'`"{value}"`' for value in rule["enum"])
    if "anyOf" in rule:
        kinds = list(dict.fromkeys(_type(one) for one in rule["anyOf"] if one.get("type") != "null"))
        # A number may be written as text, so that no digit is lost; a number holds whole ones.
        if "number" in kinds and (len(kinds) == 2 or "true/false" in kinds):
            kinds = [kind for kind in kinds if kind not in ("whole number", *(["text"] * (len(kinds) == 2)))]
        return " or ".join(kinds)
    if rule.get("type") == "array":
        if "prefixItems" in rule:
            return f"two {_type(rule['prefixItems'][0])}s"
        return f"list of {_type(rule['items'])}".replace("of number", "of numbers") if rule.get("items") else "list"
    if rule.get("type") == "object":
        values = rule.get("additionalProperties", {})
        return f"table of {' or '.join(values['enum'])}" if "enum" in values else "table of whole numbers"
    names = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true/false"}
    return names.get(rule.get("type", ""), "any") + _limits(rule)


def _limits(rule: dict[str, Any]) -> str:
    most = rule.get("maximum")
    return f", {rule['minimum']} to {most:,}" if most is not None else ""


def _default(rule: dict[str, Any]) -> str:
    value = rule.get("default")
    if value is None or value == "":
        return ""
    if value == '"':
        return "`'\"'`"
    if isinstance(value, bool | int) or str(value).replace(".", "", 1).isdigit():
        return f"`{str(value).lower()}`"
    return f'`"{value}"`'


def _goes_with(key: str, meaning: str) -> str:
    """The statistics that take a key, where not all of them do and the meaning does not name them."""
    takes = [name for name, one in registered().items() if key in inspect.signature(one).parameters]
    if not 0 < len(takes) < len(registered()) or all(name in meaning for name in takes):
        return ""
    return f" ({', '.join(takes)})"


# The commands, from the command line itself


def commands() -> str:
    from typer.main import get_command

    lines = ["# Commands", "", "Made from the command line itself; `inbounds COMMAND --help` says the same.", ""]
    lines += [_plain(one.replace("\n", " ")) for one in (inspect.getdoc(cli) or "").split("\n\n")[1:]]
    for words, command in _walk(get_command(cli.app), ("inbounds",)):
        lines += ["", f"## {' '.join(words)}", "", *_command(words, command)]
    return "\n".join([*lines, ""])


def _walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words, command
        return
    for name, one in inner.items():
        yield from _walk(one, (*words, name))


def _command(words: tuple[str, ...], command: Any) -> Iterator[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and one.name != "help"]
    usage = [*words, *("[OPTIONS]" * bool(options)).split(), *(one.metavar or one.name.upper() for one in arguments)]
    yield from ("```text", " ".join(usage), "```", "")
    for paragraph in (inspect.cleandoc(command.help or "")).split("\n\n"):
        head, _, rest = paragraph.partition(":")
        if head in ("Example", "Examples"):
            yield from ("```text", *(one.strip() for one in rest.replace("\n", " ").split("; inbounds")[:1]))
            yield from (f"inbounds{one}" for one in rest.replace("\n", " ").split("; inbounds")[1:])
            yield from ("```", "")
        else:
            yield from (_plain(paragraph.replace("\n", " ")), "")
    if arguments or options:
        yield from ("| argument or option | meaning | default |", "|---|---|---|")
    for one in arguments:
        yield f"| `{one.metavar or one.name.upper()}` | {_plain(one.help or '')} | must be given |"
    for one in options:
        flags = [*one.opts, *one.secondary_opts]
        value = "" if one.is_flag else f" {one.metavar or one.name.upper()}"
        default = "must be given" if one.required else _shown(one)
        # A bar would end the cell, also within a literal.
        shown = f"{', '.join(flags)}{value}".replace("|", "\\|")
        yield f"| `{shown}` | {_plain(one.help or '')} | {default} |"


def _shown(option: Any) -> str:
    value = option.default
    if option.is_flag and value and option.secondary_opts:
        return f"`{option.opts[0]}`"
    return "" if option.is_flag or value is None or callable(value) or not str(value) else f"`{value}`"


# The public names


GROUPS = {
    "A table, declared once": "Table number category Person",
    "Releases": (
        "mean sum count proportion quantile median bounds variance standard_deviation histogram proportions crosstab "
        "covariance correlation moments regression kendall pooled_variance pooled_covariance Release Releases"
    ),
    "Plans": "Plan release check preview Pure ZCDP",
    "Laws": "Laplace Gaussian GeneralizedGaussian Mechanism privacy_loss calibrate sensitivity __version__",
}


# Modules with names of their own.
MODULES = ("errors", "inference", "ledger", "statistics", "targets")


def api() -> str:
    """The public names in groups; Sphinx puts in their docstrings."""
    named = [name for names in GROUPS.values() for name in names.split()]
    assert sorted(named) == sorted(inbounds.__all__), "every public name has its group in docs/generate.py"
    lines = [
        "# Public names",
        "",
        f"What `import inbounds as ib` offers, {len(named)} names. What is behind them may change without notice "
        "([What you can rely on](policy.md)). The site shows each with its signature and docstring, which `help` shows "
        "as well; examples run in the tests of the module that they are from.",
    ]
    for group, names in GROUPS.items():
        lines += ["", f"## {group}"]
        for name in names.split():
            lines += ["", f"### {name.strip('_')}", "", *_described(name, getattr(inbounds, name))]
    lines += ["", "## Modules", "", "Nothing public lives deeper than these."]
    for name in MODULES:
        lines += ["", f"### ib.{name}", "", *_described(name, getattr(inbounds, name))]
    return "\n".join([*lines, ""])


def _described(name: str, thing: Any) -> list[str]:
    if isinstance(thing, str):
        return [f"`ib.{name}`: the version, as text."]
    members = ["   :members:"] if not inspect.isfunction(thing) else []
    inherited = inspect.isclass(thing) and thing.__base__.__module__.startswith("inbounds.")
    # What pydantic adds to models is explained there.
    members += ["   :inherited-members: BaseModel"] if inherited else []
    # A name that is explained above is not explained again with its module.
    twice = [public for public in getattr(thing, "__all__", ()) if public in inbounds.__all__]
    members += [f"   :exclude-members: {', '.join(twice)}"] if inspect.ismodule(thing) and twice else []
    kind = "module" if inspect.ismodule(thing) else "class" if inspect.isclass(thing) else "function"
    full = thing.__name__ if kind == "module" else f"inbounds.{name}"
    return ["```{eval-rst}", f".. auto{kind}:: {full}", *members, "```"]


# From docstrings to Markdown


def _plain(text: str) -> str:
    """Prose: literals in single quotes as Markdown has them, stars and bars as they are."""
    pieces = re.split(r"(``.+?``|`[^`]+`)", text.strip())
    return "".join(f"`{one.strip('`')}`" if one.startswith("`") else SIGNS.sub(r"\\\1", one) for one in pieces)


# Signs that Markdown would take for its own; a word between stars is meant to stand out.
SIGNS = re.compile(r"([|<]|\*(?![a-z]+\*)(?<![a-z]\*))")


def architecture() -> str:
    from rooms import drawn

    return drawn()


PAGES: dict[str, Callable[[], str]] = {
    "plan-reference.md": plan_reference,
    "commands.md": commands,
    "api.md": api,
    "architecture.svg": architecture,
}


def main(check: bool) -> int:
    texts = {HERE / name: made() for name, made in PAGES.items()}
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text("utf-8") != text]
    for path in stale:
        if check:
            print(f"docs/{path.name} is not what the library says now; run: make pages")
        else:
            path.write_text(texts[path], "utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
