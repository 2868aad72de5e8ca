"""Opens what a person names as a log: files and pipes, plain or packed, told apart by their content."""

from __future__ import annotations

import os
import select
import stat
import sys
from pathlib import Path
from typing import BinaryIO, Final, Protocol, cast

from kvtui.parse.redact import safe
from kvtui.sources.errors import NeverALog, NothingYet, Unreadable
from kvtui.sources.packed import GzipMember, Kind, PackedStream, ZstdFrame

ELSEWHERE: Final = "Give the file that holds SGLang's output, or the server's address, such as http://127.0.0.1:30000."
_MAGIC_SIZE: Final = 8
_LOOK: Final = 65_536
_PIECE: Final = 1 << 18
_LEAST: Final = 4_096
_BINARY_SHARE: Final = 0.05
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
    cut: bool
    """True: it ends where something must follow, so that it is still being written, or was cut by copying."""

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
    cut = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int, wait: float | None = None) -> bytes | None:  # noqa: ARG002 - a file never makes anybody wait
        """Up to ``size`` bytes from where the last read stopped."""
        # As much as is there: room for a whole piece costs more than the lines of a second.
        return self._file.read(min(size, max(_LEAST, os.fstat(self._file.fileno()).st_size - self._file.tell())))

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
    cut = False

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


def open_log(target: str, stdin: BinaryIO | None = None) -> Stream:
    """The bytes of the log at ``target``; ``-`` is standard input.

    Raises with one sentence: NeverALog for a directory, a file without permission, or one that holds no text;
    NothingYet for an empty one; Unreadable for one that is missing or cannot be read.
    """
    name = "standard input" if target == "-" else safe(target, 200)
    if target == "-":
        return _pipe(stdin if stdin is not None else sys.stdin.buffer, name)
    path = Path(target)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise NeverALog(f"{name} is a directory, not a log: name the file in it that holds SGLang's output.")
        file = path.open("rb")
    except FileNotFoundError:
        raise Unreadable(f"There is no file {name}.") from None
    except PermissionError:
        raise NeverALog(f"{name} may not be read by this user: permission denied. Run kvtui as its owner or as root.") from None
    except (OSError, ValueError) as error:
        raise Unreadable(f"{name} cannot be opened: {safe(str(getattr(error, 'strerror', None) or error), 120)}.") from None
    if not stat.S_ISREG(mode):
        # Its buffer would close the pipe once nobody holds it any more.
        return _pipe(cast("BinaryIO", file.detach()), name)
    try:
        return _file(file, name)
    except BaseException:
        file.close()
        raise


def comes_to_an_end(target: str) -> bool:
    """True for a pipe and for a packed file: after its end nothing is added, as it is to an ordinary log."""
    path = Path(target)
    if target == "-" or path.is_fifo():
        return True
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return _kind(file.read(_MAGIC_SIZE), target) != "plain"
    except (OSError, ValueError, NeverALog):
        return False


def refuse_what_is_no_log(target: str) -> None:
    """Raise NeverALog for a directory, bytes that are no text, or a file that may not be read; a pipe is left untouched."""
    if target == "-" or not (Path(target).is_file() or Path(target).is_dir()):
        return
    try:
        open_log(target).close()
    except NeverALog:
        raise
    except Unreadable:
        # It may still become one.
        return


def _file(file: BinaryIO, name: str) -> Stream:
    try:
        first = file.read(_LOOK)
        file.seek(0)
    except OSError as error:
        raise Unreadable(f"{name} cannot be read: {error.strerror}.") from None
    if not first:
        raise NothingYet(f"{name} is empty: no line of a server has been written to it yet. {ELSEWHERE}")
    kind = _kind(first, name)
    if kind == "gzip":
        return PackedStream("gzip", file, GzipMember)
    if kind == "zstd":
        return PackedStream("zstd", file, ZstdFrame)
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
        return PackedStream("gzip", raw, GzipMember, first)
    if kind == "zstd":
        return PackedStream("zstd", raw, ZstdFrame, first)
    return PipeStream(raw, first)


def _kind(first: bytes, name: str) -> Kind:
    if first.startswith(b"\x1f\x8b"):
        return "gzip"
    if first.startswith(b"\x28\xb5\x2f\xfd"):
        return "zstd"
    for magic, what, tool in _FOREIGN:
        if first.startswith(magic):
            raise NeverALog(f"{name} is {what}-compressed, which kvtui does not unpack: {tool} FILE | kvtui -")
    return "plain"


def refuse_binary(first: bytes, name: str) -> None:
    """Raise where the bytes are no text: NeverALog, or NothingYet for zero bytes alone.

    Zero bytes alone do not count: a log that was cut while its writer held it open begins with them.
    """
    text = first.strip(b"\0")
    if not text:
        raise NothingYet(f"{name} holds only zero bytes: it was cut while its writer held it open, or its disk was full. {ELSEWHERE}")
    controls = len(text) - len(text.translate(None, _CONTROLS)) + max(0, text.count(b"\0") - 1)
    if controls > _BINARY_SHARE * len(text) or text.startswith((b"\x7fELF", b"\xff\xfe", b"\xfe\xff")):
        raise NeverALog(f"{name} is not a text file, so it is no log. {ELSEWHERE}")
