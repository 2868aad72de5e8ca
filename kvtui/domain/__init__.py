"""The arithmetic and the data it works on. Pure: no IO, no clock, no third party."""
