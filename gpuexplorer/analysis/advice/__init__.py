"""Advice: pure rules over one run's configuration, device, resources, timing and ceilings.

A rule is a function from a ``Situation`` to an ``Advice`` or None, in a small file of its own;
``rules.py`` lists them and ``choose.py`` picks what is said. Nothing here reads or writes anything.
"""
