"""Attempts to catch us, or anybody else: they need nothing but a function that can be called again and again."""

from inbounds.audit.events import Finding, audit
from inbounds.audit.replay import Trace, replay

__all__ = ["Finding", "Trace", "audit", "replay"]
