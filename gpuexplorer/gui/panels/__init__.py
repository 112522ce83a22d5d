"""The panels around the plots."""
