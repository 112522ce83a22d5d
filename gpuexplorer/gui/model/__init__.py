"""What the window shows and remembers, without Qt."""
