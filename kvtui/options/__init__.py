"""The levers, one a file, each registered by itself."""
