"""SGLang's own wording of log lines, by release (facts/observability.md 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from functools import lru_cache

from kvtui.domain.boot import Scalar
from kvtui.domain.release import Release


@lru_cache(maxsize=64)
def _clock(second: int) -> str:
    return datetime.fromtimestamp(second, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def stamped(at: float, prefix: str, text: str) -> str:
    """A line as Python's logging prints it. ``prefix``: ranks with their leading blank, or empty."""
    return f"[{_clock(int(at))}{prefix}] {text}"


class Wording:
    """The lines of one release."""

    def __init__(self, release: Release) -> None:
        base = release.base
        self._resolved = base >= (0, 5, 21)
        self._init_lines = base < (0, 5, 21)
        self._elapsed = base >= (0, 5, 9)
        self._dtype_in_load = base < (0, 5, 10)
        self._dtype_in_pool = base >= (0, 5, 15)
        self._phases = base >= (0, 5, 15)
        self._comma = base >= (0, 5, 6)
        self._pending = base >= (0, 5, 12)
        self._input_tput = base >= (0, 5, 6)
        self._graph_first = base >= (0, 5, 10)
        self._accept_rate = base >= (0, 5, 3)
        self._gained = base >= (0, 5, 9)
        self._host_tokens = base >= (0, 5, 18)
        self.draft_early = base >= (0, 5, 15)

    def server_args(self, settings: Mapping[str, Scalar]) -> str:
        """The line of arguments: a call's text up to 0.5.18, a dictionary from 0.5.21 on."""
        if self._resolved:
            return "server_args={" + ", ".join(f"{name!r}: {value!r}" for name, value in settings.items()) + "}"
        return "server_args=ServerArgs(" + ", ".join(f"{name}={value!r}" for name, value in settings.items()) + ")"

    def init(self, usage: float) -> tuple[str, ...]:
        """Begin and end of the distributed set-up; newer releases print neither."""
        if not self._init_lines:
            return ()
        took = "elapsed=4.28 s, " if self._elapsed else ""
        return ("Init torch distributed begin.", f"Init torch distributed ends. {took}mem usage={usage:.2f} GB")

    def weights(self, before: float, after: float, architecture: str, seconds: float) -> tuple[str, str]:
        """Begin and end of a load."""
        took = f"elapsed={seconds:.2f} s, " if self._elapsed else ""
        dtype = "dtype=torch.bfloat16, " if self._dtype_in_load else ""
        return (
            f"Load weight begin. avail mem={before:.2f} GB",
            f"Load weight end. {took}type={architecture}, {dtype}avail mem={after:.2f} GB, mem usage={before - after:.2f} GB.",
        )

    def pool(self, tokens: int, gib: float, *, latent: bool, dtype: str) -> str:
        """The allocation of a KV pool."""
        kind = f"dtype: torch.{dtype}, " if self._dtype_in_pool else ""
        size = f"KV size: {gib:.2f} GB" if latent else f"K size: {gib / 2:.2f} GB, V size: {gib / 2:.2f} GB"
        return f"KV Cache is allocated. {kind}#tokens: {tokens}, {size}"

    def capture(self, before: float, after: float, sizes: str, *, verify: bool) -> tuple[str, str, str]:
        """Begin, sizes (empty where the end names them) and end of the target's capture."""
        if not self._phases:
            return (
                f"Capture cuda graph begin. This can take up to several minutes. avail mem={before:.2f} GB",
                f"Capture cuda graph bs [{sizes}]",
                f"Capture cuda graph end. Time elapsed: 14.20 s. mem usage={before - after:.2f} GB. avail mem={after:.2f} GB.",
            )
        phase = "verify" if verify else "decode"
        begin = f"backend=full, num_tokens_per_req={4 if verify else 1}, avail mem={before:.2f} GB"
        end = f"bs=[{sizes}], elapsed=14.20 s, mem usage={before - after:.2f} GB, avail mem={after:.2f} GB."
        return f"Capture target {phase} CUDA graph begin. {begin}", "", f"Capture target {phase} CUDA graph end. {end}"

    def host_pool(self, gb: float, tokens: int) -> str:
        """HiCache's allocation of one rank; decimal GB."""
        if self._host_tokens:
            return f"Allocating kv hierarchical KV host pool: {tokens} tokens, {gb:.2f} GB host memory."
        return f"Allocating {gb:.2f} GB host memory for hierarchical KV cache."

    def retract(self, count: int, gained: int, before: float, after: float) -> str:
        """Requests were put back."""
        more = f"#new_tokens_gained: {gained}, " if self._gained else ""
        return f"KV cache pool is full. Retract requests. #retracted_reqs: {count}, {more}#new_token_ratio: {before:.4f} -> {after:.4f}"

    def prefill(self, values: Mapping[str, str], *, graph: bool, input_tput: float, pending: int) -> str:
        """A Prefill line; ``values``: its keys and figures in order, up to the queue."""
        parts = [f"{key}: {value}" for key, value in values.items()]
        if self._pending:
            parts.append(f"#pending-token: {pending}")
        tail = [f"cuda graph: {graph}", f"input throughput (token/s): {input_tput:.2f}"] if self._input_tput else []
        if not self._graph_first:
            tail.reverse()
        return self._batch("Prefill", [*parts, *tail])

    def decode(
        self, values: Mapping[str, str], *, graph: bool, tput: float, queued: int, accept: float | None, drafts: int, more: str
    ) -> str:
        """A Decode line; ``values``: its keys and figures in order, up to the usage; ``more``: what some set-ups append."""
        parts = [f"{key}: {value}" for key, value in values.items()]
        if accept is not None:
            parts.append(f"accept len: {accept:.2f}")
            if self._accept_rate:
                parts.append(f"accept rate: {min(1.0, accept / max(1, drafts)):.2f}")
        parts += [f"cuda graph: {graph}", f"gen throughput (token/s): {tput:.2f}", f"#queue-req: {queued}"]
        return self._batch("Decode", [*parts, *([more] if more else [])])

    def _batch(self, kind: str, parts: list[str]) -> str:
        return f"{kind} batch{',' if self._comma else '.'} {', '.join(parts)}"
