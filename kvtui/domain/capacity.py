"""What a boot may run at once: caps, context length, request table, and who set them."""

from __future__ import annotations

from kvtui.domain.boot import Boot
from kvtui.domain.memory_facts import target_pools, world
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.domain.units import GIB

SPECULATIVE_DEFAULT = 48
"""``max_running_requests`` that speculative decoding sets when it is unset, in every release (facts/memory.md 4)."""


def tokens_reported(boot: Boot) -> Reading[int]:
    """The pool the server reports: the final line first, else the target's pool line."""
    if boot.final is not None:
        return Known(boot.final.max_total_num_tokens, boot.final.at, boot.final.where)
    split = next((m.swa for m in world(boot) if m.swa is not None), None)
    for kind in ("kv", "full"):
        for pool in target_pools(boot, kind):
            if pool.tokens:
                return Known(pool.tokens, None, pool.where)
    if split is not None:
        return Known(split.full_tokens, None, split.where)
    return Missing("no max_total_num_tokens and no pool with its tokens was read")


def swa_tokens(boot: Boot) -> Reading[int]:
    """Tokens of the sliding-window pool."""
    split = next((m.swa for m in world(boot) if m.swa is not None), None)
    if split is not None:
        return Known(split.swa_tokens, None, split.where)
    found = next((p for p in target_pools(boot, "swa") if p.tokens), None)
    return Known(found.tokens, None, found.where) if found is not None and found.tokens else Missing("no sliding-window pool in the log")


def cap_tokens(boot: Boot) -> Reading[int]:
    """``max_total_tokens`` where it is set."""
    value = boot.number("max_total_tokens")
    if value is None or value <= 0:
        return Missing("no max_total_tokens is set")
    return Known(int(value), None, boot.settings["max_total_tokens"].where)


def running_cap(boot: Boot) -> tuple[Reading[int], str]:
    """Effective ``max_running_requests`` of one data-parallel rank, and who decided it."""
    asked = boot.setting("max_running_requests")
    number = boot.number("max_running_requests")
    if boot.final is not None and boot.final.max_running_requests is not None:
        cap = boot.final.max_running_requests
        return Known(cap, boot.final.at, boot.final.where), _why(boot, cap, number)
    if asked is not None and number is not None and number > 0:
        return Known(int(number), None, asked.where), _why(boot, int(number), number)
    return Missing("the log has no max_running_requests"), ""


def _why(boot: Boot, cap: int, asked: float | None) -> str:
    found = boot.setting("max_running_requests")
    if found is not None and found.origin == "forced":
        return f"{cap} set by speculative decoding, because --max-running-requests was not given"
    if asked is not None and asked == cap:
        return "set by --max-running-requests"
    if asked is not None and cap < asked:
        state = next((m.state for m in world(boot) if m.state is not None), None)
        limit = "the state slots" if state is not None else "the size of the pool or the data-parallel split"
        return f"reduced from the requested {asked:,.0f} by {limit}"
    if boot.text("speculative_algorithm") and cap == SPECULATIVE_DEFAULT:
        return f"{cap} set by speculative decoding, because --max-running-requests was not given"
    state = next((m.state for m in world(boot) if m.state is not None and m.state.slots), None)
    if state is not None and state.slots:
        return f"limited by the {state.slots} mamba state slots" if cap <= state.slots else "the server's default"
    return "the server's default"


def context_len(boot: Boot) -> Reading[int]:
    """Longest context the server takes, in tokens."""
    if boot.final is not None and boot.final.context_len:
        return Known(boot.final.context_len, boot.final.at, boot.final.where)
    value = boot.number("context_length")
    if value is not None and value > 0:
        return Known(int(value), None, boot.settings["context_length"].where)
    return Missing("nothing that was read says the context length")


def request_table(cap: Reading[int], context: Reading[int], draft_tokens: float | None) -> Reading[float]:
    """GiB of ``req_to_token`` on one GPU, taken from the slack after sizing (facts/memory.md 4).

    Rows are taken as the effective running cap; older releases may keep more.
    """
    if not isinstance(cap, Known) or not isinstance(context, Known):
        return Missing("the running cap or the context length is unknown")
    size = cap.value * (context.value + 4 + (draft_tokens or 0)) * 4 / GIB
    return Known(round(size, 4), None, Where("formula", "running cap x (context + 4 + draft tokens) x 4 B"))


def host_memory(boot: Boot) -> Reading[float]:
    """HiCache host memory over all ranks that printed an allocation, decimal GB."""
    pools = [pool for memory in boot.ranks for pool in memory.host_pools]
    if not pools:
        return Missing("no HiCache host pool in the log")
    ranks = max(1, sum(1 for memory in boot.ranks if memory.host_pools))
    told = f"sum over {_counted(len(pools), 'allocation')} of {_counted(ranks, 'rank')}"
    return Known(sum(p.size_gb for p in pools), None, Where("log", told, pools[0].where.line))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
