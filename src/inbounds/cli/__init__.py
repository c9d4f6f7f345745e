"""The command line: arguments in, text out. What it does is in `inbounds.service`."""
