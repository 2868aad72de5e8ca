"""Screens: what is composed of widgets, and the keys that work there."""
