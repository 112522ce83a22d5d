"""The tables, as a new store gets them; older ones are brought here by ``migrations``.

``runs`` is what is listed, searched and sorted, and what a user says of a run. The run itself is
its document and its samples, in tables of their own that nothing changes.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

metadata = MetaData()

# SQLite numbers rows by the type INTEGER alone.
_Number = BigInteger().with_variant(Integer(), "sqlite")
# Sorted by code point everywhere, as SQLite does, whatever the server's language is.
_Words = Text().with_variant(String(collation="C"), "postgresql")

store = Table(
    "gpuexplorer_store",
    metadata,
    Column("one", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    Column("generation", BigInteger, nullable=False),
)
"""One row: the version of the tables, and a number that grows with every change of the store."""

runs = Table(
    "gpuexplorer_runs",
    metadata,
    Column("seq", _Number, primary_key=True, autoincrement=True),
    Column("id", _Words, nullable=False, unique=True),
    Column("time_utc", _Words, nullable=False),
    Column("time_s", Double, nullable=False),
    Column("workload", _Words, nullable=False),
    Column("variant", _Words, nullable=False),
    Column("size_words", _Words, nullable=False),
    Column("size_order", Double, nullable=False),
    Column("block_words", _Words, nullable=False),
    Column("block_order", Double),
    Column("precision", _Words, nullable=False),
    Column("device", _Words, nullable=False),
    Column("device_name", _Words, nullable=False),
    Column("hardware_id", _Words, nullable=False),
    Column("fingerprint", _Words, nullable=False),
    Column("median_s", Double),
    Column("relative_error", Double),
    Column("flop_per_s", Double),
    Column("bandwidth_B_per_s", Double),
    Column("samples", BigInteger, nullable=False),
    Column("verified", Boolean),
    Column("suspect", _Words),
    Column("running", Boolean, nullable=False),
    Column("stopped_by", _Words, nullable=False),
    Column("group_id", _Words),
    Column("deleted", BigInteger, nullable=False),
    Column("starred", Boolean, nullable=False),
    Column("note", _Words, nullable=False),
    Column("words", _Words, nullable=False),
    Column("switch_words", _Words, nullable=False, server_default=""),
    sqlite_autoincrement=True,
)
"""``deleted`` is 0, or the deletion that took the run away; ``words`` is what is searched: the
run's own on the first line, those of its tags and note on the second."""

for _name in (
    "size_order", "block_order", "device_name", "median_s", "relative_error", "flop_per_s",
    "bandwidth_B_per_s",
):  # fmt: skip
    Index(f"gpuexplorer_runs_by_{_name}", runs.c.deleted, runs.c[_name])
# With the group, so that a list in which groups are folded is paged and counted in here alone.
for _name in ("time_s", "workload", "variant", "precision"):
    Index(
        f"gpuexplorer_runs_by_{_name}", runs.c.deleted, runs.c[_name], runs.c.seq, runs.c.group_id
    )
Index("gpuexplorer_runs_by_group", runs.c.group_id, runs.c.deleted, runs.c.seq)
Index("gpuexplorer_runs_by_star", runs.c.deleted, runs.c.starred, runs.c.time_s)
# Text is searched in here, from the latest on, without a look at the rows themselves. Servers limit
# what an index holds of a row to less than a note may have, and read whole tables faster.
Index("gpuexplorer_runs_by_words", runs.c.deleted, runs.c.time_s, runs.c.words).ddl_if(
    dialect="sqlite"
)

documents = Table(
    "gpuexplorer_documents",
    metadata,
    Column("run", _Number, primary_key=True, autoincrement=False),
    Column("config_key", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
)
"""A run's JSON, compressed, without its samples."""

samples = Table(
    "gpuexplorer_samples",
    metadata,
    Column("run", _Number, nullable=False),
    Column("chunk", Integer, nullable=False),
    Column("count", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("batch", LargeBinary),
    PrimaryKeyConstraint("run", "chunk"),
)
"""Samples in order, compressed little-endian float64; ``batch`` is there while a run is going."""

live = Table(
    "gpuexplorer_live",
    metadata,
    Column("run", _Number, primary_key=True, autoincrement=False),
    Column("prepared", LargeBinary, nullable=False),
    Column("host", Text, nullable=False),
    Column("process", Text, nullable=False),
)
"""Runs that are going: what their document is made from, and the process that writes them."""

tags = Table(
    "gpuexplorer_tags",
    metadata,
    Column("tag", _Words, nullable=False),
    Column("run", _Number, nullable=False),
    PrimaryKeyConstraint("tag", "run"),
    Index("gpuexplorer_tags_by_run", "run"),
)

deletions = Table(
    "gpuexplorer_deletions",
    metadata,
    Column("token", _Number, primary_key=True, autoincrement=True),
    Column("time_s", Double, nullable=False),
    sqlite_autoincrement=True,
)

groups = Table(
    "gpuexplorer_groups",
    metadata,
    Column("id", _Words, primary_key=True),
    Column("kind", _Words, nullable=False),
    Column("time_utc", _Words, nullable=False),
    Column("finished", Boolean, nullable=False),
    Column("document", LargeBinary, nullable=False),
    Index("gpuexplorer_groups_by_kind", "kind", "time_utc"),
)

tuned = Table(
    "gpuexplorer_tuned",
    metadata,
    Column("key", _Words, primary_key=True),
    Column("time_utc", _Words, nullable=False),
    Column("entry", LargeBinary, nullable=False),
)
"""Tuned entries by a digest of what they are found by."""
