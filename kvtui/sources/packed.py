"""Gzip and zstd as streams of bytes, member after member; a file that is cut or still being written gives what is there."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import BinaryIO, Final, Literal, Protocol

Kind = Literal["plain", "gzip", "zstd", "pipe"]
"""What a log is read from."""

_PIECE: Final = 1 << 18
_ZSTD_PIECE: Final = 2_048
"""Packed bytes unpacked at once: zstd cannot be told how much to give, and a hostile file makes 128 KiB of four bytes."""
_WINDOW: Final = 1 << 27
"""The window is what a hostile file makes us allocate."""


class Member(Protocol):
    """One gzip member or zstd frame that is being unpacked."""

    @property
    def eof(self) -> bool:
        """True once it is whole."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What follows it."""
        ...

    def unpack(self, packed: bytes, size: int) -> tuple[bytes, bytes]:
        """Bytes unpacked, and what of ``packed`` is to be handed in again. Raises ``Damaged``."""
        ...


class Damaged(Exception):  # noqa: N818 (a state of the file)
    """The bytes are not what the format allows."""


class GzipMember:
    """A gzip member."""

    def __init__(self) -> None:
        self._unpack = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        """True once it is whole."""
        return self._unpack.eof

    @property
    def unused_data(self) -> bytes:
        """What follows it."""
        return self._unpack.unused_data

    def unpack(self, packed: bytes, size: int) -> tuple[bytes, bytes]:
        """See ``Member``."""
        try:
            data = self._unpack.decompress(packed, size)
        except zlib.error as error:
            raise Damaged from error
        return data, self._unpack.unconsumed_tail


class ZstdFrame:
    """A zstd frame."""

    def __init__(self) -> None:
        import zstandard

        self._broken = zstandard.ZstdError
        self._unpack = zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj()
        self._later = b""

    @property
    def eof(self) -> bool:
        """True once it is whole."""
        return self._unpack.eof

    @property
    def unused_data(self) -> bytes:
        """What follows it."""
        return self._unpack.unused_data + self._later

    def unpack(self, packed: bytes, size: int) -> tuple[bytes, bytes]:  # noqa: ARG002 (zstd cannot be told)
        """See ``Member``."""
        now, later = packed[:_ZSTD_PIECE], packed[_ZSTD_PIECE:]
        try:
            data = self._unpack.decompress(now)
        except self._broken as error:
            raise Damaged from error
        if self._unpack.eof:
            self._later, later = later, b""
        return data, later


class PackedStream:
    """``opening.Stream`` over a packed file. Where the file grows, reading goes on."""

    def __init__(self, kind: Literal["gzip", "zstd"], file: BinaryIO, member: Callable[[], Member], first: bytes = b"") -> None:
        """``first``: bytes of the file that were read already."""
        self.kind: Kind = kind
        self.note, self.cut = "", False
        self._file, self._raw, self._make = file, first, member
        self._member = member()
        self._damaged = False

    def read(self, size: int, wait: float | None = None) -> bytes:  # noqa: ARG002 - a file never makes anybody wait
        """Unpacked bytes; about ``size`` at most."""
        while not self._damaged:
            if self._member.eof:
                self._raw = self._member.unused_data.lstrip(b"\0") or self._file.read(_PIECE)
                if not self._raw.strip(b"\0"):
                    return b""
                self._member = self._make()
            elif not self._raw:
                self._raw = self._file.read(_PIECE)
                if not self._raw:
                    # What is unpacked may be more than was asked for before.
                    data, _ = self._member.unpack(b"", size)
                    if data:
                        return data
                    self.cut = True
                    self.note = f"the {self.kind} file is cut before its end, or still being written: what could be unpacked is read"
                    return b""
            self.cut, self.note = False, ""
            try:
                data, self._raw = self._member.unpack(self._raw, size)
            except Damaged:
                # bytes behind a whole member are padding or rubbish; inside one they are damage
                self._damaged, self.note = True, f"the {self.kind} file is damaged: what could be unpacked is read"
                return b""
            if data:
                return data
        return b""

    def close(self) -> None:
        """Close the file."""
        self._file.close()
