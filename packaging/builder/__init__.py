"""Build what is given to users: the frozen program, the packages made of it, and their papers.

``python -m builder`` with ``packaging`` on PYTHONPATH, as ``make package`` runs it. Standard
library alone; what a target needs besides is named by the target.
"""
