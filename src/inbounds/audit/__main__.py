"""``python -m inbounds.audit``: the same as the command ``inbounds audit``."""

import typer

from inbounds.audit.command import audit

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
app.command()(audit)

if __name__ == "__main__":
    app(prog_name="python -m inbounds.audit")
