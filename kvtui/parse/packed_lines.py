"""Raw lines that wait to be parsed, in few large pieces.

A log that is opened is a hundred thousand short lines at once. As objects of their own they would lie among all that is kept,
and the memory they took could not be given back when they are gone.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Final

RawLine = tuple[int, bytes]
"""Number and text of a line."""

PIECE: Final = 1_000
"""Lines of a piece: together they are large enough that their memory is given back."""


_Piece = tuple["array[int]", "array[int]", bytes]
"""Numbers, where each line ends, and the lines one behind the other."""


class PackedLines:
    """Numbered lines in order."""

    def __init__(self) -> None:
        self._pieces: list[_Piece] = []
        self._loose: list[RawLine] = []
        self._packed = 0

    def __len__(self) -> int:
        return self._packed + len(self._loose)

    def __iter__(self) -> Iterator[RawLine]:
        for piece in self._pieces:
            yield from _unpacked(piece)
        yield from self._loose

    def extend(self, lines: list[RawLine]) -> None:
        """Add lines."""
        self._loose += lines
        # The newest stays as it is: a line may still be added to.
        while len(self._loose) > PIECE:
            self._pack(self._loose[:PIECE])
            del self._loose[:PIECE]

    @property
    def newest(self) -> RawLine | None:
        """The last line, or None where there is none."""
        return self._loose[-1] if self._loose else None

    def change_newest(self, line: RawLine) -> None:
        """Put another line in the place of the last one; there must be one."""
        self._loose[-1] = line

    def take(self, count: int) -> Iterator[list[RawLine]]:
        """The oldest lines a piece at a time, each let go of as it is given: at most ``count`` of them, whole pieces only."""
        while self._pieces and len(self._pieces[0][0]) <= count:
            piece = self._pieces.pop(0)
            self._packed -= len(piece[0])
            count -= len(piece[0])
            yield _unpacked(piece)

    def take_all(self) -> Iterator[list[RawLine]]:
        """Every line a piece at a time, each let go of as it is given."""
        yield from self.take(self._packed)
        loose, self._loose = self._loose, []
        yield loose

    def keep(self, wanted: Callable[[int], bool]) -> int:
        """Let go of the lines whose number is not wanted; gives how many these were."""
        before = len(self)
        kept = PackedLines()
        for lines in self.take_all():
            kept.extend([line for line in lines if wanted(line[0])])
        self._pieces, self._loose, self._packed = kept._pieces, kept._loose, kept._packed
        return before - len(self)

    def _pack(self, lines: list[RawLine]) -> None:
        texts = [raw for _, raw in lines]
        ends = array("Q", accumulate(map(len, texts)))
        self._pieces.append((array("Q", [number for number, _ in lines]), ends, b"".join(texts)))
        self._packed += len(lines)


def _unpacked(piece: _Piece) -> list[RawLine]:
    numbers, ends, text = piece
    return [(number, text[start:end]) for number, start, end in zip(numbers, (0, *ends), ends, strict=False)]
