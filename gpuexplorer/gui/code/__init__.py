"""Source code in the window: shown in colour, edited, and marked with what compilers say."""
