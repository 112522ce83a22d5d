"""Every run that was made: the store, what is said of its runs, and what may make two differ."""
