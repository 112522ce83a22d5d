"""Five tasks of a user, done in the real window from outside by mouse and keyboard.

``python -m tests.tasks --out FOLDER`` needs Xvfb, xdotool and ImageMagick.
"""
