"""What the program says, for those who translate it: see ``__main__``."""
