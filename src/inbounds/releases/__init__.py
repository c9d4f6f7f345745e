"""The wall: the only room that sees both the table and the noise. What leaves it is a `Release`."""
