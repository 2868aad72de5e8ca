"""The rules, one a file, each registered by itself."""
