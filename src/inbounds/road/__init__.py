"""The only room in which noise is added to the exact numbers of a table. Only records leave it."""
