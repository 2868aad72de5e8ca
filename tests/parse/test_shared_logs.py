"""Logs of real servers beside the repository: nothing of theirs is passed over. Skipped where they are absent."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from parse.logs import WRAPS

from kvtui.domain.reading import Known
from kvtui.parse.logreader import LogReader

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
LOGS = sorted([*SHARED.glob("samples/real/*/server.log"), *SHARED.glob("traces/*/input.log*"), *SHARED.glob("samples/log_*.txt")])
CASES = sorted(SHARED.glob("cases/*/input.log"))
MEMORY = re.compile(
    r"Load weight (?:begin|end)|KV Cache is allocated|Memory pool end|max_total_num_tokens=\d|Capture [a-z ]*(?:cuda|CUDA) graph (?:begin|end|bs)|"
    r"host memory\.|Init torch distributed|Init parallel begin|Memory baseline|Using KV cache dtype|Cache is allocated"
)

needs_logs = pytest.mark.skipif(not LOGS, reason="no shared logs beside the repository")
needs_cases = pytest.mark.skipif(not CASES, reason="no cases beside the repository")


def content(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def read(data: bytes):
    reader = LogReader()
    reader.feed(data.split(b"\n"))
    return reader.reading()


@needs_logs
@pytest.mark.parametrize("path", LOGS, ids=lambda p: p.parent.name if p.parent.name != "samples" else p.stem)
def test_no_line_is_passed_over(path):
    data = content(path)
    text = data.decode()
    reading = read(data)
    assert reading.counts.prefill_lines == text.count("Prefill batch")
    assert reading.counts.decode_lines == text.count("Decode batch")
    assert reading.counts.unreadable_lines == 0
    assert reading.counts.memory_lines == sum(MEMORY.search(line) is not None for line in text.split("\n"))
    assert sum(len(t) for t in reading.timelines) == reading.counts.prefill_lines + reading.counts.decode_lines
    assert len(reading.boots) == text.count("server_args=")


@needs_logs
@pytest.mark.parametrize("wrap", ["docker json", "cri", "journald json", "compose"])
def test_a_real_log_in_another_wrapping_is_the_same(wrap):
    path = next(p for p in LOGS if p.parent.name == "0.5.23-tp2")
    data = content(path)
    plain, wrapped = read(data), read("\n".join(WRAPS[wrap](data.decode().split("\n"))).encode())
    assert wrapped.counts.memory_lines == plain.counts.memory_lines
    assert [len(t) for t in wrapped.timelines] == [len(t) for t in plain.timelines]
    assert [[r.final and r.final.max_total_num_tokens for r in b.ranks] for b in wrapped.boots] == [
        [r.final and r.final.max_total_num_tokens for r in b.ranks] for b in plain.boots
    ]
    assert {n: s.value for n, s in wrapped.boots[0].settings.items()} == {n: s.value for n, s in plain.boots[0].settings.items()}


@needs_cases
@pytest.mark.parametrize("path", CASES, ids=lambda p: p.parent.name)
def test_cases_give_their_figures(path):
    expect = json.loads((path.parent / "expect.json").read_text())
    reading = read(path.read_bytes())
    assert len(reading.boots) == 1
    (boot,) = reading.boots
    assert not [s for s in expect.get("secrets") or [] if s in repr(reading)]
    if expect.get("fraction_source") in ("explicit", "auto"):
        assert boot.number("mem_fraction_static") == pytest.approx(expect["fraction"])
    pools = [p for rank in boot.ranks for p in rank.pools if not p.draft and p.kind != "swa"]
    tokens = (
        [boot.final.max_total_num_tokens] if boot.final else [*(p.tokens for p in pools), *(r.swa.full_tokens for r in boot.ranks if r.swa)]
    )
    if expect.get("tokens_reported") is not None:
        assert tokens[0] == expect["tokens_reported"]
    if expect.get("kv_gib") is not None:
        assert next(p.size_gib for p in pools if p.size_gib is not None) == pytest.approx(expect["kv_gib"], abs=0.006)
    if expect.get("mamba_gib") is not None:
        assert next(r.state.size_gib for r in boot.ranks if r.state) == pytest.approx(expect["mamba_gib"])
    if expect.get("rest_gib_logged") is not None:
        assert isinstance(boot.sizing.rest_gib, Known)
        assert boot.sizing.rest_gib.value == pytest.approx(expect["rest_gib_logged"])
    if expect.get("tp") is not None and boot.number("tp_size") is not None:
        assert boot.number("tp_size") == expect["tp"]
