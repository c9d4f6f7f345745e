"""The studio: a page to work with, on this machine only. It calls `inbounds.service` and nothing deeper."""
