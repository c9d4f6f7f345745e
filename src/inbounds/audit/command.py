"""The command ``inbounds audit``."""

from typing import Annotated

import typer

_DRAWS, _QUICK_DRAWS = 40_000, 4_000


def audit(
    quick: Annotated[
        bool,
        typer.Option("--quick", help=f"{_QUICK_DRAWS:,} draws a side in place of {_DRAWS:,}: seconds, not a minute"),
    ] = False,
    n: Annotated[int, typer.Option("--n", metavar="N", min=1, help="records behind the proportion")] = 100,
    epsilon: Annotated[str, typer.Option(metavar="EPSILON", help="the claim, as a decimal or a fraction")] = "1",
) -> None:
    """Test the library's own mechanisms: a certified lower bound on ε for each, from draws alone.

    Two mechanisms that are known to leak are audited beside those that we ship. Exit status 1: one of ours was caught.

    Example: inbounds audit --quick
    """
    # SciPy is loaded for an audit, not for every command.
    from inbounds import _check
    from inbounds.audit.events import audit as find_event
    from inbounds.audit.sources import build_leaking, build_shipped

    try:
        claim = _check.fraction(epsilon, "--epsilon")
        shipped = build_shipped(n, claim)
    except (ValueError, ArithmeticError) as error:
        raise typer.BadParameter(str(error)) from None
    print(f"{'mechanism':26s} {'claimed ε':>9s} {'certified ε ≥':>13s}  event")
    caught = []
    for name, pair in (shipped | build_leaking(n, float(claim))).items():
        finding = find_event(*pair, draws=_QUICK_DRAWS if quick else _DRAWS)
        print(f"{name:26s} {float(claim):9.3f} {finding.epsilon:13.3f}  {finding.event}")
        if name in shipped and finding.epsilon > claim:
            caught.append(name)
    if caught:
        typer.echo(f"caught: {', '.join(caught)}", err=True)
        raise typer.Exit(1)
