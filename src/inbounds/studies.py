"""The old address of ``inbounds.lab.studies``. It works in this version, and not in the next."""

import sys
import warnings
from importlib import import_module
from typing import Any

warnings.warn("inbounds.studies is now inbounds.lab.studies", DeprecationWarning, stacklevel=2)

# Python looks here before it looks for a file: `from inbounds.studies.engine import run` still works.
for _name in ("engine", "keep", "proportions"):
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = import_module(f"inbounds.lab.studies.{_name}")


def __getattr__(name: str) -> Any:
    # Figures need an extra, which the others do not.
    if name == "figures":
        return import_module("inbounds.lab.studies.figures")
    raise AttributeError(f"module 'inbounds.studies' has no attribute {name!r}")
