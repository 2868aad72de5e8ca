"""Data-parallel ranks as a few groups of alike ones: each is a scheduler of its own, and what a server does is their sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kvtui.options.context import OptionContext, finite

ALIKE: Final = 0.1
"""Difference of the requests in flight up to which two ranks are played as one."""
MOST: Final = 3
"""Groups that are played; more would take longer than a person waits."""


@dataclass(frozen=True, slots=True)
class Group:
    """Ranks with about as many requests each."""

    clients: int
    """In flight at one of them."""
    ranks: float
    """How many; a fraction where ranks that no line tells of are taken alike."""


@dataclass(frozen=True, slots=True)
class Groups:
    """All ranks that hold requests, the fullest first, and how that is known."""

    groups: tuple[Group, ...]
    note: str = ""

    @property
    def clients(self) -> int:
        """In flight at the whole server."""
        return round(sum(group.clients * group.ranks for group in self.groups))


def groups_of(load: OptionContext, busiest: int) -> Groups:
    """The ranks of a server by what each was seen to hold; ``busiest``: requests in flight at the rank that admission is judged by."""
    replicas = load.replicas
    if replicas == 1:
        return Groups((Group(busiest, 1.0),))
    held = []
    for rank in load.workload.ranks:
        running, queued = finite(rank.running), finite(rank.queued)
        if running is not None:
            held.append(max(0, round(running + (queued or 0.0))))
    if len(held) < 2:
        note = f"{replicas} data-parallel ranks, all taken to be as full as the one that was seen"
        return Groups((Group(busiest, float(replicas)),), note)
    share = replicas / len(held) if replicas > len(held) else 1.0
    groups = _merged(sorted((clients for clients in held if clients), reverse=True))
    told = ", ".join(f"{count} with {clients:,}" for clients, count in groups)
    idle = sum(not clients for clients in held)
    note = f"{replicas} data-parallel ranks, each played with its own requests in flight: {told}{f', {idle} idle' if idle else ''}"
    note += f"; {replicas - len(held)} were not seen and are taken alike" if share > 1 else ""
    return Groups(tuple(Group(clients, count * share) for clients, count in groups) or (Group(busiest, 1.0),), note)


def _merged(held: list[int]) -> list[tuple[int, int]]:
    """Requests of a rank and how many hold about so many, the fullest first; ``held``: one figure a rank, falling."""
    parts: list[list[int]] = []
    for clients in held:
        if parts and clients >= parts[-1][0] * (1 - ALIKE):
            parts[-1].append(clients)
        else:
            parts.append([clients])
    while len(parts) > MOST:
        # The two neighbours that lie nearest to one another.
        near = min(range(len(parts) - 1), key=lambda i: parts[i][-1] - parts[i + 1][0])
        parts[near : near + 2] = [parts[near] + parts[near + 1]]
    return [(max(1, round(sum(part) / len(part))), len(part)) for part in parts]
