"""Each kind of result as a table that every medium shows."""
