from __future__ import annotations

import gzip
import io
import os

import pytest
import zstandard

from kvtui.sources.errors import NeverALog, Unreadable
from kvtui.sources.opening import open_log, refuse_what_is_no_log

TEXT = b"[2026-03-18 09:00:15 TP0] Load weight begin. avail mem=94.04 GB\n" * 500


def drain(stream) -> bytes:
    parts = []
    while part := stream.read(1_000):
        parts.append(part)
    stream.close()
    return b"".join(parts)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("plain", TEXT),
        ("gzip", gzip.compress(TEXT)),
        ("gzip", gzip.compress(TEXT[:640]) + gzip.compress(TEXT[640:]) + b"\0" * 512),
        ("zstd", zstandard.compress(TEXT)),
        ("zstd", zstandard.compress(TEXT[:640]) + zstandard.compress(TEXT[640:])),
    ],
)
def test_content_not_name_tells_the_compression(tmp_path, kind, data):
    path = tmp_path / "server.txt"
    path.write_bytes(data)
    stream = open_log(str(path))
    assert stream.kind == kind
    assert drain(stream) == TEXT
    assert stream.note == ""


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_torn_archive_gives_its_start_and_a_note(tmp_path, pack):
    data = pack(os.urandom(400_000).hex().encode())
    path = tmp_path / "x"
    path.write_bytes(data[: len(data) // 2])
    stream = open_log(str(path))
    assert len(drain(stream)) > 100_000
    assert "cut" in stream.note


@pytest.mark.parametrize("data", [TEXT, gzip.compress(TEXT), zstandard.compress(TEXT)])
def test_standard_input(data):
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as sink:
        sink.write(data)
    with os.fdopen(reading, "rb") as stdin:
        assert drain(open_log("-", stdin)) == TEXT


def test_a_silent_pipe_does_not_block():
    reading, writing = os.pipe()
    os.write(writing, b"0123456789\n")
    with os.fdopen(reading, "rb") as stdin:
        stream = open_log("-", stdin)
        assert stream.read(100, 0.0)
        while stream.read(100, 0.0):
            pass
        assert stream.read(100, 0.0) is None
        os.close(writing)
        assert stream.read(100, 0.0) == b""


def test_standard_input_without_a_descriptor():
    assert drain(open_log("-", io.BytesIO(TEXT))) == TEXT


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.mkdir(), "is a directory"),
        (lambda path: None, "There is no file"),
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.write_bytes(os.urandom(9_000)), "not a text file"),
        (lambda path: path.write_bytes(b"\0" * 9_000), "only zero bytes"),
        (lambda path: path.write_bytes(b"\x7fELF" + b"x" * 100), "not a text file"),
        (lambda path: path.write_bytes(b"\xfd7zXZ\x00" + b"x" * 100), "xzcat FILE | kvtui -"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path, make, words):
    path = tmp_path / "in\x1bput"
    make(path)
    with pytest.raises(Unreadable, match=words.replace("|", r"\|")) as caught:
        open_log(str(path))
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(TEXT)
    path.chmod(0)
    with pytest.raises(Unreadable, match="permission denied"):
        open_log(str(path))


@pytest.mark.parametrize(
    ("make", "never"),
    [
        (lambda path: path.mkdir(), True),
        (lambda path: path.write_bytes(os.urandom(9_000)), True),
        (lambda path: path.write_bytes(b"BZh" + b"x" * 100), True),
        (lambda path: path.write_bytes(b""), False),
        (lambda path: path.write_bytes(b"hello\n"), False),
        (os.mkfifo, False),
    ],
)
def test_what_can_never_become_a_log_is_refused_and_nothing_else(tmp_path, make, never):
    path = tmp_path / "x"
    make(path)
    if never:
        with pytest.raises(NeverALog):
            refuse_what_is_no_log(str(path))
    else:
        refuse_what_is_no_log(str(path))


def test_a_name_that_is_no_name():
    with pytest.raises(Unreadable):
        open_log("a\0b")


def test_a_log_that_was_cut_under_its_writer_begins_with_zero_bytes(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"\0" * 5_000 + TEXT)
    stream = open_log(str(path))
    assert stream.kind == "plain"
    stream.close()
