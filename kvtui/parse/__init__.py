"""Text to domain data. Pure."""
