"""Managed environments: Pythons with a GPU's libraries or a framework, made for engines.

``kinds`` says what there is to choose, ``pythons`` what one can be made with, ``plan`` what would
be fetched and how large it is, ``create`` makes it, ``managed`` lists and removes. Everything here
may take seconds or minutes and belongs into a thread; a ``threading.Event`` ends it early.
"""
