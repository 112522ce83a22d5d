"""The engine: a child process that measures, its messages, and the client that owns it."""
