"""The guided walkthrough: lessons as data, what their numbers are, and the machine that walks through their steps. Pure.

A lesson is a folder of ``lessons/`` with a ``lesson.toml``; whoever reads files hands its content to ``schema``.
"""
