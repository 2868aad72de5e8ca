from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.parse import memory_facts as f
from kvtui.parse.memory_lines import parse_memory


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("Load weight begin. avail mem=94.04 GB", f.WeightBegin(94.04)),
        ("Load weight end. type=X, dtype=torch.bfloat16, avail mem=36.48 GB", f.WeightEnd(36.48, None, "X", "bfloat16", None)),
        (
            "Load weight end. elapsed=3.86 s, type=XNextN, quant=fp8, fmt=e4m3, avail mem=16.18 GB, mem usage=2.39 GB.",
            f.WeightEnd(16.18, 2.39, "XNextN", None, "quant=fp8, fmt=e4m3"),
        ),
        (
            "Load weight end. elapsed=111.60 s, quant=fp8, avail mem=36.80 GB, mem usage=71.55 GB",
            f.WeightEnd(36.8, 71.55, None, None, "quant=fp8"),
        ),
        ("Load weight end. elapsed=0.01 s, type=L, avail mem=21.28 GB, mem usage=-0.00 GB.", f.WeightEnd(21.28, 0.0, "L", None, None)),
        (
            "KV Cache is allocated. #tokens: 159277, KV size: 10.42 GB",
            f.Pool("kv", 159277, (10.42,), 0.005, latent=True, dtype=None, bound=False),
        ),
        (
            "KV Cache is allocated. K size: 2.82 GB, V size: 2.82 GB.",
            f.Pool("kv", None, (2.82, 2.82), 0.01, latent=False, dtype=None, bound=False),
        ),
        (
            "KV Cache allocated: #tokens 561024, K 3.21GB, V 3.21GB",
            f.Pool("kv", 561024, (3.21, 3.21), 0.01, latent=False, dtype=None, bound=False),
        ),
        (
            "SWA KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 7, K size: 1.0 GB, V size: 0.5 GB",
            f.Pool("swa", 7, (1.0, 0.5), 0.1, latent=False, dtype="float8_e4m3fn", bound=False),
        ),
        (
            "Mamba Cache is allocated. max_mamba_cache_size: 124, conv_state size: 0.34GB, ssm_state size: 17.58GB ",
            f.States(124, 0.34, 17.58, 0.0),
        ),
        ("Mamba Cache allocated: ssm_state 5.17GB", f.States(None, None, 5.17, 0.0)),
        ("Use sliding window memory pool. full_layer_tokens=1710, swa_layer_tokens=1368", f.Split(1710, 1368)),
        ("SWAKVPool mem usage: 1.20 GB, swa size: 5, full size: 9", f.Split(9, 5)),
        ("Memory pool end. avail mem=7.90 GB", f.PoolEnd(7.9)),
        ("Capture cuda graph begin. This can take up to several minutes.", f.CaptureBegin("decode", None, ())),
        ("Capture cuda graph bs [1, 2, 4]", f.CaptureSizes((1, 2, 4))),
        ("Capture cuda graph end. Time elapsed: 18.28 s. avail mem=1.70 GB. mem usage=0.11 GB.", f.CaptureEnd("decode", 1.7, 0.11, ())),
        (
            "Capture draft extend cuda graph end. Time elapsed: 3.80 s. mem usage=0.12 GB. avail mem=5.53 GB.",
            f.CaptureEnd("draft extend", 5.53, 0.12, ()),
        ),
        (
            "Capture target verify CUDA graph end. bs=[1, 2], elapsed=14.21 s, mem usage=1.44 GB, avail mem=15.15 GB.",
            f.CaptureEnd("target verify", 15.15, 1.44, (1, 2)),
        ),
        ("max_total_num_tokens=457784", f.Sized(457784, None, None, None, None, None)),
        (
            "max_total_num_tokens=9, chunked_prefill_size=-1, max_prefill_tokens=16384, max_running_requests=62, context_len=4, available_cpu_mem=3.79 GB",
            f.Sized(9, -1, 16384, 62, 4, 3.79),
        ),
        ("Allocating 354.94 GB host memory for hierarchical KV cache.", f.HostAllocation(354.94, None)),
        ("Allocating kv hierarchical KV host pool: 5249024 tokens, 215.00 GB host memory.", f.HostAllocation(215.0, 5249024)),
        (
            "Memory profiling: available_gpu_memory=57.01 GB, total_gpu_memory=93.58 GB, mem_fraction_static=0.60, rest_memory=19.58 GB",
            f.Sizing(rest_gib=19.58, pre_gib=93.58, post_gib=57.01, fraction=0.6),
        ),
        (
            "DSv4 memory calculation: bytes_per_full_token=15955.85, available_bytes=19.58 GB, full_token=1317632",
            f.Sizing(rest_gib=19.58, cell_bytes=15955.85),
        ),
        ("initial available_bytes 219721119039 / 204.63 GB", f.Sizing(rest_gib=204.63)),
        ("Reserving 0.10 GB of the KV budget for post-sizing multimodal allocations (x)", f.Sizing(multimodal_reserve_gib=0.1)),
        ("Using KV cache dtype: torch.float8_e4m3fn", f.KvDtype("float8_e4m3fn")),
    ],
)
def test_lines(line, fact):
    assert parse_memory(line) == fact


@pytest.mark.parametrize(
    "line",
    [
        "Mamba Cache is allocated. max_mamba_cache_size",
        "KV Cache is allocated.",
        "hello",
        "Loading weights",
        "the --mem-fraction-static=0.8 flag",
    ],
)
def test_lines_without_a_figure(line):
    assert parse_memory(line) is None


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("max_total_num_tokens=999999999999999, context_len=4096", None),
        ("max_total_num_tokens=9, max_running_requests=9999999, context_len=-4", f.Sized(9, None, None, None, None, None)),
        ("KV Cache is allocated. #tokens: 999999999999999", None),
        ("Use sliding window memory pool. full_layer_tokens=999999999999999, swa_layer_tokens=4", None),
    ],
)
def test_numbers_that_cannot_be_true_are_left_out(line, fact):
    assert parse_memory(line) == fact


def test_the_upper_bound_is_marked():
    fact = parse_memory("Full KV Cache is allocated. dtype: torch.bfloat16, #tokens: 9, K size: 1.00 GB, V size: 1.00 GB (VA upper bound)")
    assert isinstance(fact, f.Pool)
    assert (fact.kind, fact.bound) == ("full", True)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["Load weight end. ", "KV Cache is allocated. ", "Capture cuda graph end. ", "max_total_num_tokens=", "Allocating "]),
    st.text(alphabet="avilmeKVsz#tokn:=.,0123456789 GB[]-", max_size=60),
)
def test_never_raises(head, text):
    parse_memory(head + text)
