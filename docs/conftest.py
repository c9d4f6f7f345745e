"""Tests read the pages here. Scripts need the tools of the site; examples of api.md run where they are written."""

collect_ignore_glob = ["*.py", "_ext/*.py", "api.md"]
