"""A page on runs that needs nothing but a browser: charts, figures, and the runs themselves."""
