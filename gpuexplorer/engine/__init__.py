"""The engine: a child process that measures, the messages it speaks, and the client that owns it."""
