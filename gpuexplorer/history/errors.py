"""What can be wrong with a store of runs, each a sentence with a remedy.

None of these loses a run that is stored: a store that cannot be used is left as it is.
"""

from __future__ import annotations

from gpuexplorer.core.errors import InputError, WorkFailed


class StoreFailed(WorkFailed):
    """The store could not be read or written."""

    kind = "history"


class StoreLocked(StoreFailed):
    """Another program holds the store for longer than one waits."""


class StoreReadOnly(StoreFailed):
    """The store can be read and not written."""


class StoreFull(StoreFailed):
    """There is no room for what was to be written."""


class StoreDamaged(StoreFailed):
    """The file is not a store any more, or part of it cannot be read."""


class StoreTooNew(InputError):
    """A newer program made the store."""


class StoreForeign(InputError):
    """The file is something else's."""
