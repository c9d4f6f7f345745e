"""The old address of ``inbounds.lab.theory.sensitivity``. It works in this version, and not in the next."""

import warnings
from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    value = getattr(import_module("inbounds.lab.theory.sensitivity"), name)
    warnings.warn(
        "inbounds.privacy.sensitivity is now inbounds.lab.theory.sensitivity", DeprecationWarning, stacklevel=2
    )
    return value
