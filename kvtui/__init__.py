"""The console that says what limits an SGLang server, where its GPU memory went, and what can be changed."""

__version__ = "0.1.0"
