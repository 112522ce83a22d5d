"""Workloads: what is computed, how it may be computed, and how a result is checked."""
