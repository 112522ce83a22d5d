"""The self-test: what has to hold on a device before its figures deserve belief.

One file a section; ``run.run_selftest`` goes through them and returns a ``report.Report``.
"""
