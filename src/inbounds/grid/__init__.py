"""The laws in exact integers, and how to draw from them."""
