"""What a chart says, with units, and its rendering to files. Importing this imports no plotter."""
