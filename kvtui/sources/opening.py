"""Opens what a person names as a log: plain, gzip or zstd files by their content, and pipes."""

from __future__ import annotations

import os
import select
import stat
import sys
import zlib
from pathlib import Path
from typing import BinaryIO, Final, Literal, Protocol, cast

import zstandard

from kvtui.parse.redact import safe
from kvtui.sources.errors import Unreadable

Kind = Literal["plain", "gzip", "zstd", "pipe"]

_MAGIC_SIZE: Final = 8
_LOOK: Final = 65_536
_PIECE: Final = 1 << 18
_BINARY_SHARE: Final = 0.05
_SIZE_UNKNOWN: Final = (1 << 64) - 2
_FOREIGN: Final = (
    (b"\xfd7zXZ\x00", "xz", "xzcat"),
    (b"BZh", "bzip2", "bzcat"),
    (b"PK\x03\x04", "zip", "unzip -p"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4cat"),
)
_TEXT_CONTROLS: Final = bytes((0, 7, 8, 9, 10, 11, 12, 13, 27))
_CONTROLS: Final = bytes(code for code in range(32) if code not in _TEXT_CONTROLS)


class Stream(Protocol):
    """Bytes of a log, decompressed, in order."""

    kind: Kind
    note: str
    """What was wrong with the container, as far as reading came; empty where nothing was."""

    def read(self, size: int, wait: float | None = None) -> bytes | None:
        """Up to ``size`` bytes; empty at the end, None where nothing came within ``wait`` seconds (None: as long as it takes)."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


class PlainStream:
    """An ordinary file; more may come after its end."""

    kind: Kind = "plain"
    note = ""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int, wait: float | None = None) -> bytes | None:  # noqa: ARG002 - a file never makes anybody wait
        """Up to ``size`` bytes from where the last read stopped."""
        return self._file.read(size)

    def identity(self) -> tuple[int, int, int]:
        """Device, inode and size of the open file."""
        state = os.fstat(self._file.fileno())
        return state.st_dev, state.st_ino, state.st_size

    def tell(self) -> int:
        """Bytes read so far."""
        return self._file.tell()

    def rewind(self) -> None:
        """Start again, for a file that was cut to nothing."""
        self._file.seek(0)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class PipeStream:
    """Standard input or a named pipe: may be silent for long, ends when its writer ends."""

    kind: Kind = "pipe"
    note = ""

    def __init__(self, file: BinaryIO, first: bytes) -> None:
        self._file, self._first = file, first

    def read(self, size: int, wait: float | None = None) -> bytes | None:
        """What is there, without waiting for ``size`` bytes."""
        if self._first:
            first, self._first = self._first, b""
            return first
        try:
            descriptor = self._file.fileno()
        except OSError:
            # not a real pipe: bytes that are all there
            return self._file.read(size)
        if wait is not None and not select.select([descriptor], [], [], wait)[0]:
            return None
        return os.read(descriptor, min(size, _PIECE * 16))

    def close(self) -> None:
        """Close the pipe."""
        self._file.close()


class GzipStream:
    """Gzip, member after member; a torn file gives what can be unpacked."""

    kind: Kind = "gzip"

    def __init__(self, file: BinaryIO, first: bytes = b"") -> None:
        self._file, self._raw = file, first
        self._unpack = zlib.decompressobj(wbits=31)
        self._members = 0
        self.note = ""

    def read(self, size: int, wait: float | None = None) -> bytes | None:  # noqa: ARG002 - a file never makes anybody wait
        """Up to ``size`` unpacked bytes."""
        while not self.note:
            if self._unpack.eof:
                self._raw, self._unpack = self._unpack.unused_data.lstrip(b"\0") or self._file.read(_PIECE), zlib.decompressobj(wbits=31)
                self._members += 1
                if not self._raw.strip(b"\0"):
                    return b""
            elif not self._raw:
                self._raw = self._file.read(_PIECE)
                if not self._raw:
                    self.note = "the gzip file is cut before its end: what could be unpacked is shown"
                    return self._unpack.flush()[:size]
            try:
                data = self._unpack.decompress(self._raw, size)
            except zlib.error:
                # bytes behind a whole member are padding or rubbish; inside one they are damage
                self.note = "the gzip file is damaged: what could be unpacked is shown"
                return b""
            self._raw = self._unpack.unconsumed_tail
            if data:
                return data
        return b""

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class ZstdStream:
    """Zstandard, frame after frame; a torn file gives what can be unpacked."""

    kind: Kind = "zstd"

    def __init__(self, file: BinaryIO | _Chained, first: bytes) -> None:
        self._file = file
        self._left = _content_size(first)
        # the window is what a hostile file makes us allocate
        self._reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(
            cast("BinaryIO", file), read_size=_PIECE, read_across_frames=True
        )
        self.note = ""

    def read(self, size: int, wait: float | None = None) -> bytes | None:  # noqa: ARG002 - a file never makes anybody wait
        """Up to ``size`` unpacked bytes."""
        if self.note:
            return b""
        try:
            data = self._reader.read(size)
        except zstandard.ZstdError:
            self.note = "the zstd file is damaged or cut: what could be unpacked is shown"
            return b""
        self._left -= len(data)
        if not data and self._left > 0:
            self.note = "the zstd file is cut before its end: what could be unpacked is shown"
        return data

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _content_size(first: bytes) -> int:
    """Bytes that the first frame says it holds; 0 where it does not say."""
    try:
        size = zstandard.get_frame_parameters(first).content_size
    except zstandard.ZstdError:
        return 0
    return size if size < _SIZE_UNKNOWN else 0


class _Chained:
    """A pipe whose first bytes were looked at already."""

    def __init__(self, first: bytes, file: BinaryIO) -> None:
        self._first, self._file = first, file

    def read(self, size: int = -1) -> bytes:
        """The bytes looked at, then the pipe's."""
        if not self._first:
            return self._file.read(size)
        part = self._first if size < 0 else self._first[:size]
        self._first = self._first[len(part) :]
        return part

    def close(self) -> None:
        """Close the pipe."""
        self._file.close()


def open_log(target: str, stdin: BinaryIO | None = None) -> Stream:
    """The bytes of the log at ``target``; ``-`` is standard input.

    Raises Unreadable with one sentence for a directory, a missing or empty file, one without
    permission, or one that holds no text.
    """
    name = "standard input" if target == "-" else safe(target, 200)
    if target == "-":
        return _pipe(stdin if stdin is not None else sys.stdin.buffer, name)
    path = Path(target)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise Unreadable(f"{name} is a directory, not a log: name the file in it.")
        file = path.open("rb")
    except FileNotFoundError:
        raise Unreadable(f"There is no file {name}.") from None
    except PermissionError:
        raise Unreadable(f"{name} may not be read by this user: permission denied.") from None
    except (OSError, ValueError) as error:
        raise Unreadable(f"{name} cannot be opened: {safe(str(getattr(error, 'strerror', None) or error), 120)}.") from None
    if not stat.S_ISREG(mode):
        return _pipe(file, name)
    try:
        return _file(file, name)
    except BaseException:
        file.close()
        raise


def _file(file: BinaryIO, name: str) -> Stream:
    try:
        first = file.read(_LOOK)
        file.seek(0)
    except OSError as error:
        raise Unreadable(f"{name} cannot be read: {error.strerror}.") from None
    if not first:
        raise Unreadable(f"{name} is empty.")
    kind = _kind(first, name)
    if kind == "gzip":
        return GzipStream(file)
    if kind == "zstd":
        return ZstdStream(file, first)
    refuse_binary(first, name)
    return PlainStream(file)


def _pipe(file: BinaryIO, name: str) -> Stream:
    raw = getattr(file, "raw", file)
    first = b""
    while len(first) < _MAGIC_SIZE:
        part = raw.read(_MAGIC_SIZE - len(first)) if not first else raw.read(1)
        if not part:
            break
        first += part
        if b"\n" in first:
            break
    if not first:
        raise Unreadable(f"Nothing came from {name}.")
    kind = _kind(first, name)
    if kind == "gzip":
        return GzipStream(raw, first)
    if kind == "zstd":
        return ZstdStream(_Chained(first, raw), first)
    return PipeStream(raw, first)


def _kind(first: bytes, name: str) -> Kind:
    if first.startswith(b"\x1f\x8b"):
        return "gzip"
    if first.startswith(b"\x28\xb5\x2f\xfd"):
        return "zstd"
    for magic, what, tool in _FOREIGN:
        if first.startswith(magic):
            raise Unreadable(f"{name} is {what}-compressed, which kvtui does not unpack: {tool} FILE | kvtui -")
    return "plain"


def refuse_binary(first: bytes, name: str) -> None:
    """Raise Unreadable where the bytes are no text.

    Zero bytes alone do not count: a log that was cut while its writer held it open begins with them.
    """
    text = first.strip(b"\0")
    if not text:
        raise Unreadable(f"{name} holds only zero bytes.")
    controls = len(text) - len(text.translate(None, _CONTROLS)) + max(0, text.count(b"\0") - 1)
    if controls > _BINARY_SHARE * len(text) or text.startswith((b"\x7fELF", b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable(f"{name} is not a text file.")
