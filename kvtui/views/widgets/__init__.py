"""Widgets: each shows one model and knows nothing else."""
