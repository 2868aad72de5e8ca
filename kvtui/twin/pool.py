"""The token pool: what running requests hold, and the shared prefixes the radix cache keeps."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

PrefixKey = tuple[str, int]
"""Group and length in tokens of a shared prefix."""


@dataclass(slots=True)
class _Prefix:
    tokens: int
    holders: int = 0


class Pool:
    """Tokens of one rank's KV pool.

    ``used`` is what cannot be evicted: tokens of running requests, and shared prefixes that one of them reads,
    each counted once. What finished requests leave in the radix cache is evictable and counts as free, as in
    SGLang's own admission; it matters only for how long an unread prefix stays.
    """

    def __init__(self, size: int, page: int, *, radix: bool) -> None:
        self.size = size
        self.page = page
        self.used = 0
        self._radix = radix
        self._prefixes: dict[PrefixKey, _Prefix] = {}
        # Evictable tokens in order of their last use: unread prefixes, and what finished requests left behind.
        self._evictable: OrderedDict[PrefixKey | int, int] = OrderedDict()
        self._evictable_tokens = 0
        self._leftovers = 0

    @property
    def free(self) -> int:
        """Tokens free or evictable."""
        return self.size - self.used

    def paged(self, tokens: int) -> int:
        """Tokens rounded up to whole pages."""
        return -(-tokens // self.page) * self.page

    def whole(self, tokens: int) -> int:
        """Tokens rounded down to whole pages: what the cache can hold of them."""
        return tokens // self.page * self.page

    def holds(self, key: PrefixKey) -> bool:
        """True where the prefix can be read."""
        if not self._radix:
            return False
        self._evict()
        return key in self._prefixes

    def read(self, key: PrefixKey) -> None:
        """One more request reads a prefix that the cache holds."""
        prefix = self._prefixes[key]
        if prefix.holders == 0:
            self._evictable_tokens -= self._evictable.pop(key)
            self.used += prefix.tokens
        prefix.holders += 1

    def publish(self, key: PrefixKey) -> bool:
        """A request has computed the prefix itself. False where the radix cache is off.

        Two that computed it in one pass keep one copy: the second frees its own.
        """
        if not self._radix or key[1] < self.page:
            return False
        self._evict()
        prefix = self._prefixes.get(key)
        if prefix is None:
            self._prefixes[key] = _Prefix(key[1], 1)
        else:
            self.read(key)
            self.used -= prefix.tokens
        return True

    def release(self, key: PrefixKey) -> None:
        """One request fewer reads a prefix; with the last it becomes evictable."""
        prefix = self._prefixes[key]
        prefix.holders -= 1
        if prefix.holders == 0:
            self.used -= prefix.tokens
            self._evictable[key] = prefix.tokens
            self._evictable_tokens += prefix.tokens

    def leave(self, tokens: int) -> None:
        """A finished request's tokens stay behind, evictable."""
        if self._radix and tokens > 0:
            self._leftovers += 1
            self._evictable[self._leftovers] = tokens
            self._evictable_tokens += tokens
            self._evict()

    def _evict(self) -> None:
        """Drop the least recently used until what is kept fits beside what is used."""
        while self._evictable and self.used + self._evictable_tokens > self.size:
            key, tokens = self._evictable.popitem(last=False)
            self._evictable_tokens -= tokens
            if isinstance(key, tuple):
                del self._prefixes[key]
