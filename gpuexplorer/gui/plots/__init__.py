"""The live plots."""
