"""The store of runs: every run that was made, found again, and what a user says of it.

A store is SQLite's file in the user's data folder, another file, or a team's PostgreSQL. Each call
is one transaction: whatever ends the program, a run is in the store whole or not at all, and of a
run that was going the samples are there up to the last ``append``. Several programs and threads may
use one store. SQLAlchemy is imported when a store is opened, not before.

Every failure is an ExplorerError that says what is wrong and what to do (``history.errors``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from gpuexplorer.core.closing import Closing
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.hardware_id import without_machine
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.history import sql
from gpuexplorer.history.errors import StoreDamaged, StoreLocked, StoreReadOnly
from gpuexplorer.history.holder import Holder
from gpuexplorer.history.model import (
    Choice,
    Deletion,
    Group,
    Query,
    Row,
    Sort,
    Timeline,
    TunedEntry,
)
from gpuexplorer.history.place import find_place

if TYPE_CHECKING:
    from gpuexplorer.engine.record import RunRecord
    from gpuexplorer.history.documents import Floats

__all__ = ["Deletion", "Group", "Query", "Row", "Store", "TunedEntry"]

BUSY_S = 5.0
"""How long one waits for another program that is writing."""


class Store(Closing):
    """One store, opened with ``Store.open``; use it in a ``with`` statement or close it."""

    def __init__(self, database: sql.database.Database) -> None:
        self._database = database

    @classmethod
    def open(
        cls, url: str | Path | None = None, *, read_only: bool = False, busy_s: float = BUSY_S
    ) -> Self:
        """Open a store, and make it when it is not there.

        ``url`` is a file's path, a URL (``sqlite:///PATH``, ``postgresql://USER@HOST/DATABASE``,
        ``sqlite://`` for one in memory) or None for what GPUEXPLORER_HISTORY_URL names, else the
        user's own. ``busy_s`` is how long to wait for another program that is writing.

        Runs that a program left unfinished when it was ended are finished here, with what they
        had sampled.
        """
        store = cls(sql.database.Database(find_place(url), can_write=not read_only, busy_s=busy_s))
        if not read_only:
            store._close_interrupted()
        return store

    @classmethod
    def open_to_read(cls, url: str | Path | None = None, *, busy_s: float = BUSY_S) -> Self:
        """Open a store for writing where that is allowed, else to read only."""
        try:
            return cls.open(url, busy_s=busy_s)
        except StoreReadOnly:
            return cls.open(url, read_only=True, busy_s=busy_s)

    def close(self) -> None:
        """Close the store; nothing is lost without it."""
        self._database.close()

    @property
    def words(self) -> str:
        """Where the store is, as it may be shown: without a password."""
        return self._database.place.words

    @property
    def path(self) -> Path | None:
        """The store's file; None for a server and in memory."""
        return self._database.place.path

    @property
    def can_write(self) -> bool:
        """Whether it was opened for writing."""
        return self._database.can_write

    def generation(self) -> int:
        """Return a number that grows with every change of the store, by whichever program.

        What this one adds to the samples of a run changes no list here, and not the number.
        """
        with self._database.read() as connection:
            return self._database.state(connection)

    def do(
        self,
        work: Callable[[Store], object],
        then: Callable[[object], None] | None = None,
    ) -> None:
        """Do something with the store, then call ``then`` with what came of it, or its error.

        The thread that owns the window's store has the same, so ``history.keeping`` takes either.
        """
        try:
            outcome = work(self)
        except ExplorerError as error:
            outcome = error
        if then is not None:
            then(outcome)

    # ---- runs in

    def add(self, result: RunRecord | RunResult, *, group: str | None = None) -> None:
        """Store a finished run; one that is there already stays as it is."""
        self.add_all([result], group=group)

    def add_all(
        self, results: Iterable[RunRecord | RunResult | bytes], *, group: str | None = None
    ) -> int:
        """Store runs, as documents or as their JSON, in one transaction; return how many came.

        Of JSON every field is kept, those of a newer program included. A run that is there already
        stays as it is, and one that was deleted comes back; one that comes again with the ``group``
        it is in has gone on, and what it sampled takes the place of what was there. Raises
        InputError when one is not a run's document; then none is stored.
        """
        with self._database.write() as connection:
            return sql.runs.add_all(connection, results, group)

    def add_group(
        self,
        kind: str,
        document: Any,
        results: Iterable[RunRecord | RunResult | bytes],
        *,
        group: str | None = None,
        finished: bool = True,
    ) -> str:
        """Store a group with its runs in one transaction; return its id.

        ``group`` is the id of one that may be there already: its document is replaced unless None,
        it is finished when it was, and its runs come as to ``add_all``. Raises as that does; then
        nothing is stored.
        """
        with self._database.write() as connection:
            made = sql.groups.put(connection, group, kind, document, finished=finished)
            sql.runs.add_all(connection, results, made)
        return made

    def add_file(
        self,
        kind: str,
        document: Mapping[str, Any] | None,
        results: Mapping[str, RunResult | bytes],
        *,
        whole: bool,
    ) -> tuple[list[str], str | None]:
        """Store those runs of a file, by id, that are not in the list, in one transaction.

        Return which came, and the id of the group that has all of them, those from before as well;
        None without a ``document`` for one, and where none is due: nothing came, and the file is no
        ``whole``, such as a comparison, or is in the history already. Raises as ``add_all`` does.
        """
        with self._database.write() as connection:
            return sql.imports.add(connection, kind, document, results, whole=whole)

    def rows(self, ids: Iterable[str]) -> list[Row]:
        """Return the rows of some runs by their whole ids; those that are not in the list miss."""
        with self._database.read() as connection:
            return [
                row for part in sql.runs.batched(ids) for row in sql.search.rows(connection, part)
            ]

    def known(self, ids: Iterable[str]) -> set[str]:
        """Return those of some ids that are in the list; deleted runs are not."""
        with self._database.read() as connection:
            return {i for part in sql.runs.batched(ids) for i in sql.runs.listed(connection, part)}

    def begin(self, record: RunRecord, *, group: str | None = None) -> None:
        """Enter a run that is about to be sampled, so that what it samples outlives the program."""
        with self._database.write() as connection:
            sql.live.begin(connection, record, group)

    def append(self, run_id: str, samples: SampleBatch | Floats) -> None:
        """Add samples (seconds) to a run that was begun."""
        with self._database.write(seen=False) as connection:
            sql.live.append(connection, run_id, samples)

    def finish(self, result: RunResult) -> None:
        """Make a run that was begun a finished one; its samples are those of the document."""
        self.add(result)

    # ---- runs out

    def get(self, run_id: str, *, samples: bool = True, listed: bool = True) -> RunResult:
        """Return a run by its id, or by the beginning of one; its samples are bit for bit.

        Without ``samples`` a finished run comes faster, and its list of them is empty; unless they
        shall be ``listed``, they are an array. Of a run that is still going it is what it has so
        far. Raises InputError for an id that no
        run or more than one begins with, and for a run that has no sample yet; StoreDamaged for one
        that cannot be read, which names it.
        """
        from msgspec.structs import replace

        from gpuexplorer.core.chunked import as_array, as_list
        from gpuexplorer.history import documents

        with self._database.read() as connection:
            number, found, running = sql.runs.resolve(connection, run_id)
            if running:
                going = sql.live.result_of(connection, number, found)
                if going is None:
                    raise InputError(f"the run '{found}' has no samples yet")
                samples_s = as_array(going.samples_s)
                return replace(going, samples_s=as_list(samples_s) if listed else samples_s)
            result = documents.decode_stored(found, sql.runs.json_of(connection, found, number))
            if not samples:
                return result
            samples_s = sql.runs.samples_of(connection, found, number)
        return replace(result, samples_s=as_list(samples_s) if listed else samples_s)

    def get_all(
        self, ids: Iterable[str], *, samples: bool = True, listed: bool = True
    ) -> list[RunResult | StoreDamaged]:
        """Return runs by their whole ids, in that order; in place of one that cannot be read, why.

        Many are read much faster than one by one with ``get``, which says what else is raised.
        """
        found: list[RunResult | StoreDamaged] = []
        for part in sql.runs.batched(ids):
            known: dict[str, RunResult] = {}
            with suppress(StoreDamaged), self._database.read() as connection:
                known = sql.runs.readable(connection, part, samples, listed)
            found += [
                known.get(run_id) or self._get_or_why(run_id, samples, listed) for run_id in part
            ]
        return found

    def _get_or_why(self, run_id: str, samples: bool, listed: bool) -> RunResult | StoreDamaged:
        try:
            return self.get(run_id, samples=samples, listed=listed)
        except StoreDamaged as error:
            return error

    def json(self, run_id: str) -> bytes:
        """Return a finished run's document as it came, a newer program's fields included."""
        from gpuexplorer.history.documents import decode_stored, put_together

        with self._database.read() as connection:
            number, found, running = sql.runs.resolve(connection, run_id)
            if running:
                raise InputError(f"the run '{found}' is not finished")
            json = sql.runs.json_of(connection, found, number)
            decode_stored(found, json)
            return put_together(json, sql.runs.samples_of(connection, found, number))

    def resolve(self, beginning: str) -> str:
        """Return the id of the one run whose id begins so; InputError for none and for several."""
        with self._database.read() as connection:
            return sql.runs.resolve(connection, beginning)[1]

    def row(self, run_id: str) -> Row:
        """Return what a list shows of one run, by its id; InputError when it is not there."""
        with self._database.read() as connection:
            return sql.search.one(connection, sql.runs.resolve(connection, run_id)[0])

    def find(
        self,
        query: Query | None = None,
        *,
        sort: Sort = "time",
        descending: bool = True,
        offset: int = 0,
        limit: int = 100,
    ) -> list[Row]:
        """Return one page of the runs a query is for; runs without a value come last."""
        with self._database.read() as connection:
            return sql.search.find(
                connection,
                query or Query(),
                sort=sort,
                descending=descending,
                offset=offset,
                limit=limit,
            )

    def timeline(
        self,
        query: Query,
        wanted: Iterable[int],
        size: int,
        *,
        sort: Sort = "time",
        descending: bool = True,
        known: int | None = None,
        missing: Iterable[int] = (),
        unfolded: Iterable[str] = (),
    ) -> Timeline:
        """Return pages of ``size`` rows by their number from 0, and how many rows there are.

        In the order of time a sweep is one row, and so is a block map, a tuning, a comparison and a
        study; a group stands where its latest run would. Of the groups ``unfolded`` it has the runs
        as well. All is as of one moment; if the store is in the state ``known`` then, as
        ``Timeline.state`` told it, only the pages that are ``missing`` come.
        """
        with self._database.read() as connection:
            return self._lists.timeline(
                connection, self._database.state(connection), query, wanted, size,
                sort=sort, descending=descending, known=known, missing=missing, unfolded=unfolded,
            )  # fmt: skip

    @cached_property
    def _lists(self) -> sql.lists.Lists:
        return sql.lists.Lists()

    def damaged(self) -> list[str]:
        """Return the ids of the runs in the list of which something cannot be read.

        It looks at all rows and documents; samples are looked at when a run is read.
        """
        with self._database.read() as connection:
            return sql.damage.find(connection)

    def count(self, query: Query | None = None) -> int:
        """Return how many runs a query is for."""
        with self._database.read() as connection:
            return sql.search.count(connection, query or Query())

    def choices(self, field: Choice) -> list[str]:
        """Return the values that the runs have of a field, for a filter to offer."""
        with self._database.read() as connection:
            return sql.search.choices(connection, field)

    # ---- what is said of runs

    def star(self, ids: str | Iterable[str], on: bool = True) -> None:
        """Star runs, or take their stars away; InputError for an id that is not there."""
        with self._database.write() as connection:
            sql.marks.star(connection, _ids(ids), on)

    def tag(self, ids: str | Iterable[str], tag: str, on: bool = True) -> None:
        """Give runs a tag, or take it away."""
        with self._database.write() as connection:
            sql.marks.tag(connection, _ids(ids), tag, on)

    def note(self, run_id: str, text: str) -> None:
        """Set a run's note; an empty one takes it away."""
        with self._database.write() as connection:
            sql.marks.note(connection, run_id, text)

    def delete(self, ids: str | Iterable[str], *, unmarked: bool = False) -> Deletion:
        """Take runs out of the list; ``undelete`` brings them back until they are purged.

        A run that is going stays; with ``unmarked`` also one with a star, a tag or a note.
        """
        with self._database.write() as connection:
            return sql.marks.remove(connection, _ids(ids), unmarked=unmarked)

    def undelete(self, deletion: Deletion | int | None = None) -> int:
        """Bring back what a deletion took away, None for the latest; return how many runs."""
        with self._database.write() as connection:
            token = deletion.token if isinstance(deletion, Deletion) else deletion
            if token is None:
                token = sql.marks.latest(connection)
            return sql.marks.bring_back(connection, token) if token else 0

    def rest(self) -> None:
        """Free the memory that answered questions left in use; whoever waits a while calls it."""
        self._lists.clear()
        self._database.rest()

    def purge(self) -> int:
        """Remove the deleted runs for good and give their room back; return how many."""
        with self._database.write() as connection:
            removed = sql.marks.purge(connection)
        self._database.give_back()
        return removed

    # ---- groups

    def begin_group(self, kind: str, document: Any) -> str:
        """Enter a sweep or a tuning with what it was asked for; return its id."""
        with self._database.write() as connection:
            return sql.groups.put(connection, None, kind, document, finished=False)

    def change_group(
        self, group_id: str, *, document: Any = None, finished: bool | None = None
    ) -> None:
        """Change a group's document, or say that it is finished; None leaves it as it is."""
        with self._database.write() as connection:
            sql.groups.change(connection, group_id, document, finished)

    def hold_group(self, group_id: str, holder: Holder) -> Holder | None:
        """Have a program work on a group; return who does already, None once it is its own.

        Asked again it is a sign of life. A program that is gone, or on another machine and silent
        for long, is taken over from. ``change_group`` with a document without it lets go.
        """
        with self._database.write() as connection:
            return sql.groups.hold(connection, group_id, holder)

    def group(self, group_id: str) -> Group:
        """Return a group; InputError when there is none."""
        with self._database.read() as connection:
            return sql.groups.one(connection, group_id)

    def resolve_group(self, beginning: str) -> str:
        """Return the id of the one group whose id begins so; InputError for none and several."""
        with self._database.read() as connection:
            return sql.groups.resolve(connection, beginning)

    def find_group(self, beginning: str) -> Group | None:
        """Return the group whose id begins so; None for none.

        InputError where more than one entry of the history, groups and runs together, does.
        """
        with self._database.read() as connection:
            found = sql.folding.group_called(connection, beginning)
            return sql.groups.one(connection, found.id) if found is not None else None

    def best_run(self, beginning: str) -> str | None:
        """Return the id of the best run of a map, a tuning or a sweep, by the beginning of its id.

        That is the one it names, or else the one with the shortest median. None where no group
        begins so; InputError where more than one entry of the history does, or it has no best.
        """
        with self._database.read() as connection:
            return sql.folding.best_run(connection, beginning)

    def groups(self, kind: str | None = None) -> list[Group]:
        """Return the groups of a kind, or all, the latest first."""
        with self._database.read() as connection:
            return sql.groups.of_kind(connection, kind)

    def finished_keys(self, group_id: str) -> set[str]:
        """Return ``RunConfig.key`` of each configuration that a group has a finished run of."""
        with self._database.read() as connection:
            return sql.runs.keys_of(connection, group_id)

    # ---- what tunings found

    def save_tuned(self, entry: TunedEntry) -> None:
        """Keep what a tuning found, in place of the last for the same problem and hardware."""
        with self._database.write() as connection:
            sql.groups.save_tuned(connection, entry)

    def find_tuned(
        self,
        workload_sha256: str,
        variant: str,
        size: Mapping[str, int],
        precision: str,
        hardware_id: str,
    ) -> TunedEntry | None:
        """Return what the last tuning of a problem on some hardware found; None for none."""
        known = dict.fromkeys((hardware_id, without_machine(hardware_id)))
        with self._database.read() as connection:
            for one in known:
                key = sql.groups.tuned_key(workload_sha256, variant, size, precision, one)
                if (found := sql.groups.find_tuned(connection, key)) is not None:
                    return found
        return None

    # ---- after a program ended without a word

    def _close_interrupted(self) -> None:
        with self._database.read() as connection:
            if not sql.runs.any_going(connection):
                return
        # Where another program is writing for long, there will be another time.
        with suppress(StoreLocked), self._database.write() as connection:
            sql.live.close_interrupted(connection)


def _ids(ids: str | Iterable[str]) -> list[str]:
    return [ids] if isinstance(ids, str) else list(ids)
