"""What is odd about a series of launch times: outliers, a drift, two modes, a clock held down."""
