from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.domain.samples import COLUMNS, DECODE, PREFILL
from kvtui.parse.batch_lines import COLUMN_OF, parse_batch


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (
            "Decode batch. #running-req: 32, #token: 7352, token usage: 0.01, accept len: 2.54, gen throughput (token/s): 39.33, largest-len: 0, #queue-req: 68, ",
            {"kind": DECODE, "running": 32, "tokens": 7352, "usage": 0.01, "accept_len": 2.54, "gen_tput": 39.33, "queued": 68},
        ),
        (
            "Decode batch [120], #running-req: 4, #full token: 26, full token usage: 1.00, #swa token: 14, swa token usage: 0.06, mamba num: 5, mamba usage: 0.5, npu graph: True, gen throughput (token/s): 4.5, #queue-req: 3, fwd occupancy: 91.2%",
            {
                "kind": DECODE,
                "running": 4,
                "tokens": 26,
                "usage": 1.0,
                "swa_tokens": 14,
                "swa_usage": 0.06,
                "mamba_slots": 5,
                "mamba_usage": 0.5,
                "graph": 1,
                "gen_tput": 4.5,
                "queued": 3,
                "occupancy": 91.2,
            },
        ),
        (
            "Prefill batch, #new-seq: 10, #new-token: 1024, #cached-token: 256, cache hit rate: 3.00%, token usage: 0.50, #running-req: 5, #queue-req: 2, #prealloc-req: 1, #inflight-req: 3, #pending-token: 9, cuda graph: False, input throughput (token/s): 5000.00,",
            {
                "kind": PREFILL,
                "new_seq": 10,
                "new_token": 1024,
                "cached_token": 256,
                "usage": 0.5,
                "running": 5,
                "queued": 2,
                "prealloc": 1,
                "inflight": 3,
                "pending_token": 9,
                "graph": 0,
                "input_tput": 5000.0,
            },
        ),
        ("Prefill batch. #new-seq: 1, #queue-req: 0", {"kind": PREFILL, "new_seq": 1, "queued": 0}),
        ("Decode batch, #running-req: nan, #token: 1e999, #queue-req: 0[2026", {"kind": DECODE, "queued": 0}),
    ],
)
def test_shapes(line, values):
    assert parse_batch(line) == values


@pytest.mark.parametrize("line", ["Decode batch", "Capturing batches (bs=1)", "Decode batch, hello", "x Decode batch, #token: 1", ""])
def test_what_is_no_batch_line(line):
    assert parse_batch(line) is None


@pytest.mark.parametrize(
    ("told", "column", "most", "beyond"),
    [
        ("token usage", "usage", "1.05", "1.80"),
        ("swa token usage", "swa_usage", "1.00", "9.01"),
        ("mamba usage", "mamba_usage", "0.00", "-0.20"),
        ("#running-req", "running", "1000000", "99999999999999999999999"),
        ("#queue-req", "queued", "0", "-1"),
        ("#token", "tokens", "1000000000000", "1000000000001"),
        ("gen throughput (token/s)", "gen_tput", "1000000000.0", "1e10"),
    ],
)
def test_values_that_cannot_be_true_are_left_out_and_counted(told, column, most, beyond):
    refused = Counter()
    line = f"Decode batch, {told}: {{}}, accept len: 2.5"
    assert parse_batch(line.format(most), refused) == {"kind": DECODE, column: float(most), "accept_len": 2.5}
    assert not refused
    assert parse_batch(line.format(beyond), refused) == {"kind": DECODE, "accept_len": 2.5}
    assert refused == {column: 1}


def test_every_key_has_a_column():
    assert set(COLUMN_OF.values()) <= set(COLUMNS)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["Prefill batch, ", "Decode batch. "]),
    st.lists(st.tuples(st.sampled_from([*COLUMN_OF, "x", "#"]), st.text(alphabet="0123456789.-eTFruealsn%, :", max_size=12)), max_size=8),
)
def test_never_raises_and_never_gives_an_infinite_value(head, pairs):
    values = parse_batch(head + ", ".join(f"{key}: {value}" for key, value in pairs))
    assert values is None or all(math.isfinite(value) for value in values.values())
