"""The errors a builder may raise: one sentence each."""

from __future__ import annotations


class BuildError(Exception):
    """A build cannot go on; the message is one sentence: what, where, what to do."""

    exit_code = 1


class CannotBuildHere(BuildError):
    """This system lacks what a target needs."""

    exit_code = 3
