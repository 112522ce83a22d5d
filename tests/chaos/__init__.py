"""Faults between any two steps of a user: the product lives on and loses nothing it had kept.

``python -m tests.chaos --help`` runs many; ``test_chaos`` runs some of each kind.
"""
