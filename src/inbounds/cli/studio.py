"""The command ``inbounds studio``."""

from pathlib import Path
from typing import Annotated

import typer

from inbounds.cli.terminal import say


def studio(
    plan: Annotated[
        Path | None, typer.Argument(metavar="[PLAN]", help="a plan, or a folder; by default the current folder")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="the port; any that is free by default")] = 0,
    browser: Annotated[bool, typer.Option(help="open the browser; the address is printed in any case")] = True,
) -> None:
    """Open a page to work with: choose a table, write a plan, look ahead, release, verify. On this machine only.

    The page changes the plan's file, which is the same as that of the other commands. No value of the table is sent to
    it. Results are written to results/ beside the plan.

    Example: inbounds studio plan.toml
    """
    try:
        from inbounds.studio import serve
    except ImportError:
        raise ImportError("the studio needs starlette, uvicorn and tomlkit: pip install 'inbounds[studio]'") from None
    serve.serve(plan, port=port, browser=browser, say=say)
