"""What the product said it kept, held against what its store holds."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.history.store import Query, Store
from tests.chaos.world import World

ROWS = """
select r.id, r.seq, r.samples, r.running, r.deleted, r.starred, r.group_id,
       (select config_key from gpuexplorer_documents d where d.run = r.seq) as key
from gpuexplorer_runs r order by r.seq
"""
SWEPT_TWICE = """
select count(*) from gpuexplorer_runs r
join gpuexplorer_documents d on d.run = r.seq
join gpuexplorer_groups g on g.id = r.group_id
where g.kind = 'sweep' group by r.group_id, d.config_key having count(*) > 1
"""
FREE_S = 2.0
"""How long a store may stay locked once everybody who wrote is gone."""


@dataclass
class Kept:
    """A run that was said to be kept, and what a user has said of it."""

    samples: int
    starred: bool = False
    deleted: bool = False


@dataclass
class Ledger:
    """Every run that a program said it kept, in the order they came."""

    runs: dict[str, Kept] = field(default_factory=dict)

    def keep(self, run_id: str, samples: int) -> None:
        """Note that a run was said to be kept."""
        known = self.runs.get(run_id)
        if known is None:
            self.runs[run_id] = Kept(samples)
        else:
            known.samples = samples

    def listed(self) -> list[str]:
        """Return the runs that are in the list."""
        return [run_id for run_id, kept in self.runs.items() if not kept.deleted]

    def check(
        self, world: World, *, may_add: int, torn: bool = False, marks: bool = True
    ) -> list[str]:
        """Return what is wrong with the store; take it as it is from here on.

        ``may_add`` is how many runs may be there that nobody spoke of, because the program was
        ended first. After a power cut (``torn``) the latest may be missing, and none but those.
        ``marks`` says whether stars and deletions are as the ledger has them.
        """
        if not world.store.exists():
            return ["the store is gone"] if self.runs else []
        try:
            with Store.open(world.store) as store:
                store.count(Query())
        except ExplorerError as error:
            return [f"the store cannot be opened: {error}"]
        with closing(sqlite3.connect(world.store, timeout=FREE_S, isolation_level=None)) as raw:
            try:
                raw.execute("BEGIN IMMEDIATE")
                raw.execute("ROLLBACK")
            except sqlite3.OperationalError as error:
                return [f"the store stays locked: {error}"]
            whole = raw.execute("PRAGMA integrity_check").fetchall()
            raw.row_factory = sqlite3.Row
            rows = {row["id"]: row for row in raw.execute(ROWS)}
            twice = raw.execute(SWEPT_TWICE).fetchall()
        wrong = [] if whole == [("ok",)] else [f"the store is damaged: {whole[:3]}"]
        if world.store.with_name(f"{world.store.name}-journal").exists():
            wrong.append("a journal is left although the store was opened since")
        if twice:
            wrong.append(f"{len(twice)} configurations of a sweep were measured twice")
        wrong += self._missing(rows, torn=torn)
        wrong += self._different(rows, marks=marks and not torn)
        fresh = [run_id for run_id in rows if run_id not in self.runs]
        if len(fresh) > may_add:
            wrong.append(f"{len(fresh)} runs are stored that nobody spoke of")
        wrong += self._unreadable(world, fresh)
        self.runs = {
            row["id"]: Kept(row["samples"], bool(row["starred"]), bool(row["deleted"]))
            for row in rows.values()
        }
        return wrong

    def _missing(self, rows: dict[str, sqlite3.Row], *, torn: bool) -> list[str]:
        known = list(self.runs)
        missing = [run_id for run_id in known if run_id not in rows]
        if torn and missing:
            first = known.index(missing[0])
            later = [run_id for run_id in known[first:] if run_id in rows]
            return [f"{missing[0]} is missing and {later[0]}, kept later, is not"] if later else []
        return [f"{len(missing)} runs that were said to be kept are missing"] if missing else []

    def _different(self, rows: dict[str, sqlite3.Row], *, marks: bool) -> list[str]:
        wrong = []
        for run_id, kept in self.runs.items():
            row = rows.get(run_id)
            if row is None:
                continue
            if row["samples"] != kept.samples:
                wrong.append(f"{run_id} has {row['samples']} samples of {kept.samples}")
            if marks and bool(row["starred"]) != kept.starred:
                wrong.append(f"{run_id} has lost a star, or has one that nobody gave")
            if marks and bool(row["deleted"]) != kept.deleted:
                wrong.append(f"{run_id} is deleted or back without a word")
        for row in rows.values():
            if row["running"]:
                wrong.append(f"{row['id']} still goes on, and its program is gone")
        return wrong

    @staticmethod
    def _unreadable(world: World, ids: list[str]) -> list[str]:
        wrong = []
        with Store.open(world.store) as store:
            for run_id in ids:
                try:
                    result = store.get(run_id)
                except ExplorerError as error:
                    wrong.append(f"{run_id} cannot be read: {error}")
                    continue
                if len(result.samples_s) != store.row(run_id).samples:
                    wrong.append(f"{run_id} came back with other samples")
        return wrong
