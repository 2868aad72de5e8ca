"""Reading again and again, and making an analysis of what was read."""
