"""Why the predicted and the reported pool differ, most likely first; nothing where rounding explains it."""

from __future__ import annotations

from kvtui.domain.account import Account
from kvtui.domain.boot import Boot
from kvtui.domain.geometry import Attention
from kvtui.domain.memory_facts import draft_counts_before_sizing, has_draft
from kvtui.domain.reading import Known
from kvtui.domain.release import Release
from kvtui.domain.units import GIB


def within_rounding(account: Account) -> bool:
    """True where both numbers are known and differ by no more than the rounding of the logged inputs allows."""
    predicted, reported = account.tokens_predicted, account.tokens_reported
    if not isinstance(predicted, Known) or not isinstance(reported, Known):
        return False
    return abs(predicted.value - reported.value) <= account.tolerance_tokens


def explain(boot: Boot, account: Account, release: Release | None) -> tuple[str, ...]:
    """Likely causes of a difference, as sentences; empty where there is none to explain."""
    predicted, reported = account.tokens_predicted, account.tokens_reported
    if not isinstance(predicted, Known) or not isinstance(reported, Known) or within_rounding(account):
        return ()
    gap = predicted.value - reported.value
    size = ""
    if isinstance(account.divisor_bytes, Known):
        size = f" ({abs(gap) * account.divisor_bytes.value / GIB:,.2f} GiB)"
    causes = [f"The pool is {abs(gap):,} tokens{size} {'smaller' if gap > 0 else 'larger'} than the formula gives."]
    causes += _smaller(boot, account, release) if gap > 0 else _larger(boot, account, release)
    if account.cell_basis == "pool size":
        causes.append("The cell is measured from the pool's own size, so it explains nothing here.")
    return tuple(causes)


def _smaller(boot: Boot, account: Account, release: Release | None) -> list[str]:
    causes = []
    if isinstance(account.cap_tokens, Known):
        causes.append(f"--max-total-tokens {account.cap_tokens.value:,} caps the pool.")
    attention = account.identity.attention
    kind = attention.value if isinstance(attention, Known) else None
    if kind is Attention.MAMBA_HYBRID and not isinstance(account.state_gib, Known):
        causes.append("The state pool of the linear-attention layers is taken off first, and its line is not in the log.")
    if kind is Attention.SWA:
        causes.append("Sliding-window layers have a pool of their own, paid from the same rest.")
    if has_draft(boot) and draft_counts_before_sizing(boot):
        causes.append("A draft model's KV shares the budget in this release.")
    if release is not None and release.base >= (0, 5, 18):
        causes.append("Multimodal models lose 100 MiB or more to buffers before sizing.")
    pre = account.pre_gib
    if isinstance(pre, Known) and len(boot.ranks) <= 1 and isinstance(account.identity.tp, Known) and account.identity.tp.value > 1:
        causes.append("The log shows one rank only; the server takes the lowest of all ranks.")
    causes.append(
        "Something took GPU memory between the weights line and sizing: another process, buffers, or a build that reserves a workspace."
    )
    return causes


def _larger(boot: Boot, account: Account, release: Release | None) -> list[str]:
    causes = []
    if has_draft(boot) and release is not None and release.base <= (0, 5, 6):
        causes.append("Releases up to 0.5.6 add tokens for speculative decoding on top of the budget.")
    if has_draft(boot):
        causes.append(
            "Draft weights were measured before they were shared with the target, so more was free at sizing than the weights line says."
        )
    if account.identity.geometry is not None:
        causes.append("The KV dtype or the number of layers that keep KV may differ from the geometry taken.")
    causes.append("Memory was given back between the weights line and sizing.")
    return causes
