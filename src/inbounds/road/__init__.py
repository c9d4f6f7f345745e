"""The wall: the one place where exact numbers of a table meet noise, and from which only records come out."""
