"""The names that a palette gives a colour to, and what each colours."""

from __future__ import annotations

from typing import Final

BASE: Final[dict[str, str]] = {
    "foreground": "text",
    "background": "the ground of the screen",
    "surface": "the ground of boxes over the screen, and of the strip with the focus",
    "panel": "the ground of header and footer",
    "primary": "the accent of Textual's own widgets: input, command palette",
    "secondary": "a second accent of those widgets",
    "accent": "a third accent of those widgets",
    "success": "messages of success",
    "warning": "messages that warn",
    "error": "messages of failure",
    "boost": "laid over a ground to lift it; seldom worth setting",
}
"""Names of the table [base]."""

MEANING: Final[dict[str, str]] = {
    "tone-dim": "units, origins, ages: what is read last",
    "tone-label": "titles of panes",
    "tone-key": "keys, and the sign of the selected row",
    "tone-changed": "what a plan or a what-if would change",
    "severity-good": "all is well: ✓",
    "severity-note": "worth knowing: ◌ and ?",
    "severity-warning": "a limit or a risk: ▲",
    "severity-critical": "a limit that is certain, a fault: ✖",
    "kv-weights": "GPU bar: weights",
    "kv-pool-used": "GPU bar: KV pool, the used part",
    "kv-pool": "GPU bar: KV pool, the free part",
    "kv-draft": "GPU bar: draft model",
    "kv-state": "GPU bar: recurrent state",
    "kv-graphs": "GPU bar: CUDA graphs",
    "kv-context": "GPU bar: CUDA context",
    "kv-other": "GPU bar: other memory of the server",
    "kv-processes": "GPU bar: other processes",
    "kv-free": "GPU bar: free memory",
    "kv-unknown": "GPU bar: what is not known",
    "frame": "borders of panes",
    "frame-focus": "the border and the title of the pane with the focus",
}
"""Names of the table [meaning]."""

WIDGETS: Final = frozenset(
    {
        "ansi-background",
        "ansi-foreground",
        "block-cursor-background",
        "block-cursor-foreground",
        "border-blurred",
        "input-cursor-background",
        "input-cursor-foreground",
        "input-cursor-text-style",
        "input-selection-background",
        "input-selection-foreground",
        "screen-selection-background",
        "screen-selection-foreground",
    }
)
"""Names of Textual's own widgets that [meaning] may set too; a palette of the terminal's own colours needs them."""
