"""Lessons: folders that ask a question, have it measured here, and check what they claim."""
