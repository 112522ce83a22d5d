"""What memory a launch takes, by formula, and whether it fits."""
