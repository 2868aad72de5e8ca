"""A lesson of four steps, one of each kind that needs no demo."""

from kvtui.guide.schema import read_lesson

LESSON = read_lesson(
    {
        "schema": 1, "id": "small", "number": 1, "title": "Small", "summary": "s", "minutes": 5, "scenario": "any", "hide": ["verdict"],
        "step": [
            {"id": "one", "title": "One", "text": "Read."},
            {
                "id": "two", "title": "Two", "text": "{pool} wait.", "reveal": ["verdict"],
                "ask": {
                    "kind": "choose", "question": "Why?", "after": "So.",
                    "choice": [{"text": "cap", "why": "The cap is {cap}."}, {"text": "pool", "why": "The pool is full.", "right": True}],
                },
            },
            {
                "id": "three", "title": "Three", "text": "More.",
                "ask": {
                    "kind": "number", "question": "How many?", "after": "So.", "answer": "pool@0.95", "within": 0.01, "unit": "tokens",
                    "otherwise": "Use the formula.", "hints": ["First {rest} GiB."],
                    "mistake": [{"value": "scaled@0.95", "why": "That scales the tokens."}],
                },
            },
            {
                "id": "four", "title": "Four", "text": "Move.",
                "ask": {
                    "kind": "move", "question": "Go", "after": "So.",
                    "until": [
                        {"fact": "wanted_pool", "at_least": 200000, "why": "{wanted_pool} are too few."},
                        {"fact": "wanted_headroom", "at_least": 2.5, "why": "Only {wanted_headroom} GiB stay free."},
                    ],
                },
            },
        ],
    },
    "small",
)  # fmt: skip
