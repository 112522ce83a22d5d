"""Measuring on many devices at a time, each with a worker of a Dask cluster beside it."""
