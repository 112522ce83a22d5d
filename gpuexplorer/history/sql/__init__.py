"""The store in SQL: the only place that imports SQLAlchemy, and never before a store is opened."""
