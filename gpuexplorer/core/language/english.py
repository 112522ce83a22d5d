"""The language that the program speaks inside, by its name; it has no catalogue."""

ENGLISH = "en"
