"""What every part speaks of: units, devices, configurations, samples, results, statistics."""
