"""The screen. Textual only."""
