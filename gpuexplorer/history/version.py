"""The version of a store's tables, apart from what SQLAlchemy is needed for."""

from __future__ import annotations

VERSION = 2
"""Grows by one whenever the tables change; ``sql.migrations`` says how each comes of the last."""
