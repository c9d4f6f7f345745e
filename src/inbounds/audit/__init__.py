"""Attempts to catch us, or anybody else: they need nothing but a function that can be called again and again."""
