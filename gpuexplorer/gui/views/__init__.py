"""Views of jobs: choices at the left, and what is measured in a chart and a table."""
