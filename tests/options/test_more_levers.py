from dataclasses import replace

import pytest
from options.option_build import KIMI, account, boot, context, finding, identity, workload

from kvtui.domain.boot import GraphCapture, RankMemory
from kvtui.domain.deploy import deployment_of
from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.models import find_model
from kvtui.domain.rank import MAIN
from kvtui.domain.reading import Known, Missing
from kvtui.domain.release import parse_release
from kvtui.domain.sizing import size
from kvtui.domain.sizing.deployment import config_for
from kvtui.options.cache_aware_routing import cache_aware_routing
from kvtui.options.chunked_prefill import chunked_prefill
from kvtui.options.cuda_graph_max_bs import cuda_graph_max_bs
from kvtui.options.dcp import dcp
from kvtui.options.fp4_kv import fp4_kv
from kvtui.options.free_other_processes import free_other_processes
from kvtui.options.mamba_ratio import mamba_ratio
from kvtui.options.max_running_requests import max_running_requests
from kvtui.options.more_gpus import more_gpus
from kvtui.options.page_size import page_size
from kvtui.options.pp_for_tp import pp_for_tp
from kvtui.options.priors import PRIORS, speed, too_little
from kvtui.options.quantize_weights import quantize_weights
from kvtui.options.swa_ratio import swa_ratio
from kvtui.options.trim_speculation import trim_speculation
from kvtui.options.tune_allreduce import tune_allreduce

STORY_B = account(fraction=Known(0.88), tokens_reported=Known(159_277), kv_gib=Known(10.424), headroom_gib=Known(7.43))
SETTINGS = {"chunked_prefill_size": 8192, "kv_cache_dtype": "auto", "tp_size": 8}


def newer(**changes):
    return account(identity=identity(version=Known("0.5.18")), **changes)


# cells


def test_fp4_is_not_four_times():
    told = fp4_kv(context(boot=boot(**SETTINGS)))
    # facts/memory.md 2.3: cell // 2 of one byte an element, and a sixteenth of scales
    assert told.tokens == pytest.approx(116_171 * 70_272 / (576 * 61 // 2 + 36 * 61), abs=2)
    assert told.flags == ("--kv-cache-dtype fp4_e2m1",)
    assert told.risk == "high"
    assert told.tok_s is None
    assert "no public throughput" in told.tok_s_why
    assert fp4_kv(context(account=newer(), boot=boot("0.5.18", **SETTINGS))).flags == ("--kv-cache-dtype nvfp4",)


def test_fp4_where_it_is_not():
    old = account(identity=identity(version=Known("0.4.10")))
    assert "no 4-bit" in fp4_kv(context(account=old, boot=boot("0.4.10", **SETTINGS))).why_not
    sparse = account(identity=identity(attention=Known(Attention.DSA)))
    assert "not modelled" in fp4_kv(context(account=sparse)).why_not


def test_dcp_doubles_mla_tokens_and_costs_steps_at_short_context():
    made = context("client", account=newer(), boot=boot("0.5.18", **SETTINGS), workload=workload(running=10.0, queued=0.0))
    told = dcp(made)
    assert told.tokens == 2 * 116_171
    assert told.flags == ("--dcp-size 2",)
    assert told.tok_s.high < 835
    assert "7 public pairs" in told.tok_s.basis
    assert told.rank < 0
    bound = dcp(context(account=newer(), boot=boot("0.5.18", **SETTINGS)))
    assert bound.tok_s is None
    assert "too little evidence (2 public pairs" in bound.tok_s_why
    assert "0.5.15" in dcp(context()).why_not
    assert "speculation" in dcp(context(account=newer(), boot=boot("0.5.18", speculative_algorithm="EAGLE"))).why_not


def test_pipeline_halves_the_latent_cell_only():
    told = pp_for_tp(context(boot=boot(**SETTINGS)))
    # 31 of 61 layers on the larger stage
    assert told.tokens == pytest.approx(116_171 * 61 / 31, abs=2)
    assert told.flags == ("--tp-size 4", "--pp-size 2")
    assert told.tok_s is None
    heads = Geometry("g", "LlamaForCausalLM", Attention.GQA, layers=32, kv_heads=8, head_dim=128, v_head_dim=128)
    plain = account(identity=identity(attention=Known(Attention.GQA), geometry=heads))
    assert "as many bytes" in pp_for_tp(context(account=plain, boot=boot(**SETTINGS))).why_not


def test_more_gpus_by_the_cells():
    told = more_gpus(context(boot=boot(**SETTINGS), interconnect="pcie"))
    assert told.flags == ("--tp-size 16",)
    assert told.tokens == pytest.approx(116_171 + 72.33 / 2 * (1 << 30) / 70_272, abs=2)
    assert "3 public pairs" in told.tok_s.basis
    assert more_gpus(context(boot=boot(**SETTINGS), interconnect="nvlink")).tok_s is None
    assert "decides the sign" in more_gpus(context(boot=boot(**SETTINGS))).tok_s_why


def test_quantised_weights_become_pool():
    sized = replace(KIMI, parameters=280e9, experts=None)
    dense = account(identity=identity(geometry=sized, attention=Known(Attention.MLA)))
    told = quantize_weights(context(account=dense, boot=boot(**SETTINGS)))
    assert told.tokens == pytest.approx(116_171 + 72.33 * 0.46 * (1 << 30) / 70_272, abs=2)
    assert told.tok_s.mid > 835 * 1.25
    assert "8-bit weights" in told.tok_s.basis
    assert told.risk == "high"
    small = replace(sized, parameters=1_000e9)
    assert "quantised already" in quantize_weights(context(account=account(identity=identity(geometry=small)))).why_not
    assert "awq" in quantize_weights(context(account=dense, boot=boot(quantization="awq"))).why_not


# graphs, chunks, pages


def captured(largest, **settings):
    begun = boot(**settings)
    capture = GraphCapture("decode", Missing(""), Missing(""), Known(1.6), batch_sizes=tuple(range(8, largest + 1, 8)))
    return replace(begun, ranks=(RankMemory(MAIN, Missing(""), captures=(capture,)),))


def test_graphs_cover_what_runs():
    load = workload(running=24.0, queued=0.0)
    told = cuda_graph_max_bs(context("client", boot=captured(16), workload=load))
    assert told.flags == ("--cuda-graph-max-bs 32",)
    assert told.tok_s.low > 835 * 1.5
    assert "4 public pairs" in told.tok_s.basis
    large = cuda_graph_max_bs(context(boot=captured(16)))
    assert large.flags == ("--cuda-graph-max-bs 56",)
    assert large.tok_s is None
    assert cuda_graph_max_bs(context(account=newer(), boot=replace(captured(16), version=Known("0.5.18")))).flags[0].startswith(
        "--cuda-graph-max-bs-decode "
    )  # fmt: skip


def test_graphs_beyond_the_demand_only_take_memory():
    told = cuda_graph_max_bs(context(account=account(graphs_gib=Known(4.0)), boot=captured(512)))
    assert told.flags == ("--cuda-graph-max-bs 152",)
    assert told.headroom_gib == pytest.approx(8.4 + 360 / 512 * 4.0)
    assert told.rank < 0
    assert "only frees memory" in told.why_not
    assert not cuda_graph_max_bs(context(boot=captured(152))).applies
    assert "leftover" in cuda_graph_max_bs(context(boot=boot(disable_cuda_graph=True))).why_not


def test_graphs_after_a_failed_capture():
    failure = finding("startup-failure", fixes=("lower-fraction", "cuda-graph-max-bs"))
    told = cuda_graph_max_bs(context(findings=(failure,), boot=boot(cuda_graph_max_bs=512)))
    assert told.flags == ("--cuda-graph-max-bs 16",)
    assert told.rank > 1


def test_chunk_grows_where_prefill_starves():
    split = account(identity=identity(dp=Known(8), dp_attention=True))
    load = workload(prompt=8_192.0)
    told = chunked_prefill(context("prefill", account=split, boot=boot(chunked_prefill_size=16_384), workload=load))
    assert told.flags == ("--chunked-prefill-size 65536",)
    assert "4 public pairs" in told.tok_s.basis
    assert told.tok_s.mid == pytest.approx(835 * 1.44)
    plain = chunked_prefill(context("prefill"))
    assert plain.tok_s.high == pytest.approx(835 * 1.1)
    assert plain.tokens == 116_171


def test_chunk_is_halved_for_headroom_and_says_it_frees_no_tokens():
    told = chunked_prefill(context(findings=(finding("kv-capacity"), finding("headroom", "banner"))))
    assert told.flags == ("--chunked-prefill-size 4096",)
    assert told.tokens == 116_171
    assert told.rank > 0
    idle = chunked_prefill(context())
    assert idle.rank < 0
    assert "neither the pool" in idle.why_not
    assert not chunked_prefill(context(boot=boot(chunked_prefill_size=2_048))).applies


def test_pages():
    told = page_size(context())
    assert told.tokens == 116_171 // 64 * 64
    assert told.rank < 0
    assert "too little evidence" in told.tok_s_why
    wasteful = account(identity=identity(page_size=Known(128)), tokens_reported=Known(116_096))
    assert page_size(context(account=wasteful)).flags == ("--page-size 1",)
    assert "waste about" in page_size(context(account=account(identity=identity(page_size=Known(64))))).why_not


# pools of two parts


def hybrid(name, release, **settings):
    geometry = find_model(name, None).geometry
    made = boot(release, tp_size=2, **settings)
    deployment = replace(deployment_of(made, parse_release(release)), pre=76.0, post=50.0, fraction=0.85, kv_dtype="bf16")
    sized = size(config_for(geometry, deployment))
    parts = {
        "identity": identity(geometry=geometry, attention=Known(geometry.attention), tp=Known(2), version=Known(release)),
        "pre_gib": Known(76.0), "post_gib": Known(50.0), "fraction": Known(0.85), "tokens_reported": Known(sized.tokens), "divisor_bytes": Known(sized.cell.bytes),
        "swa_tokens": Known(sized.swa) if sized.swa else Missing(""), "state_slots": Known(sized.mamba) if sized.mamba else Missing(""),
        "context_len": Known(32_768), "weights_gib": Known(26.0), "headroom_gib": Known(7.0),
    }  # fmt: skip
    return account(**parts), made, geometry, deployment


def loaded(pool, **usages):
    load = workload(running=20.0, queued=30.0, resident=1_000.0, pool=pool)
    rank = replace(load.ranks[0], **{name: Known(value) for name, value in usages.items()})
    return replace(load, ranks=(rank,))


@pytest.mark.parametrize("release", ["0.5.9", "0.5.18"])
def test_swa_ratio_moves_memory_to_the_pool_that_is_full(release):
    sums, made, geometry, deployment = hybrid("gpt-oss-20b", release)
    full = swa_ratio(
        context("kv-capacity", account=sums, boot=made, workload=loaded(sums.tokens_reported.value, usage=0.96, swa_usage=0.3))
    )
    assert full.flags == ("--swa-full-tokens-ratio 0.3",)
    exact = size(config_for(geometry, replace(deployment, swa_ratio=0.3)))
    assert full.tokens == pytest.approx(exact.tokens, abs=2)
    assert full.tokens > sums.tokens_reported.value
    assert full.tok_s.mid > 835
    window = swa_ratio(context("sub-pool", account=sums, boot=made, workload=loaded(sums.tokens_reported.value, usage=0.5, swa_usage=0.99)))
    assert window.flags == ("--swa-full-tokens-ratio 1",)
    assert window.tokens < sums.tokens_reported.value
    assert window.tok_s.mid > 835
    assert not swa_ratio(context(account=sums, boot=made)).applies
    assert "no sliding-window" in swa_ratio(context()).why_not


def test_mamba_ratio_frees_slots_where_states_cap_what_runs():
    sums, made, geometry, deployment = hybrid("Qwen3-Next-80B-A3B", "0.5.18")
    capped = replace(sums, running_cap=Known(50), running_cap_why=f"limited by the {sums.state_slots.value} mamba state slots")
    load = loaded(sums.tokens_reported.value, usage=0.2, mamba_usage=0.99)
    told = mamba_ratio(context("running-cap", account=capped, boot=made, workload=load))
    assert told.flags == ("--mamba-full-memory-ratio 1.35",)
    exact = size(config_for(geometry, replace(deployment, mamba_ratio=1.35)))
    assert told.tokens == pytest.approx(exact.tokens, abs=2)
    assert told.change.running_cap > 50
    roomy = mamba_ratio(context(account=sums, boot=made, workload=loaded(sums.tokens_reported.value, usage=0.97, mamba_usage=0.2)))
    assert roomy.flags == ("--mamba-full-memory-ratio 0.6",)
    assert roomy.tokens > sums.tokens_reported.value
    assert "no states" in mamba_ratio(context()).why_not


# the machine around it


def test_what_others_hold_comes_back_times_the_fraction():
    told = free_other_processes(context(account=STORY_B, foreign_gib=Known(1.0)))
    # facts/diagnoses.md V17: 1 GiB → 0.88 GiB → +13.4k MLA tokens
    assert told.tokens - 159_277 == pytest.approx(13_400, abs=60)
    assert told.headroom_gib == pytest.approx(7.43 + 0.12)
    assert not free_other_processes(context()).applies
    assert not free_other_processes(context(foreign_gib=Known(0.1))).applies
    seen = free_other_processes(context(findings=(finding("kv-capacity"), finding("foreign-memory", "banner"))))
    assert seen.applies
    assert seen.tokens is None


def test_allreduce():
    told = tune_allreduce(context(interconnect="pcie"))
    assert told.tok_s.mid == pytest.approx(835 * 1.11)
    assert "10 public pairs" in told.tok_s.basis
    assert told.flags == ("NCCL_P2P_LEVEL=SYS", "NCCL_MIN_NCHANNELS=8")
    latest = account(identity=identity(version=Known("0.5.23")))
    assert "SGLANG_ENABLE_PCIE_IPC_ALLREDUCE=1" in tune_allreduce(context(account=latest, boot=boot("0.5.23"), interconnect="pcie")).flags
    pair = tune_allreduce(context(account=account(identity=identity(tp=Known(2))), interconnect="pcie"))
    assert "brings nothing" in pair.why_not
    assert "NVLink" in tune_allreduce(context(interconnect="nvlink")).why_not
    assert "nvidia-smi topo" in tune_allreduce(context()).why_not


def test_draft_length():
    drafted = boot(speculative_algorithm="EAGLE", speculative_num_steps=3, speculative_eagle_topk=1, speculative_num_draft_tokens=4)
    told = trim_speculation(context(boot=drafted))
    assert told.flags == ("--speculative-num-steps 2", "--speculative-num-draft-tokens 3")
    assert told.rank < 0
    assert "8 public pairs" in told.tok_s.basis
    pressed = trim_speculation(context(boot=drafted, findings=(finding("kv-capacity"), finding("speculation", "step"))))
    assert pressed.rank > 0
    assert not trim_speculation(context()).applies


def test_routing_needs_replicas_and_misses():
    two = account(identity=identity(dp=Known(2)))
    assert not cache_aware_routing(context()).applies
    assert cache_aware_routing(context(account=two)).rank < 0
    missed = cache_aware_routing(context(account=two, findings=(finding("kv-capacity"), finding("prefix-miss", "banner"))))
    assert missed.tok_s is None
    assert "1 public pair" in missed.tok_s_why


def test_a_lower_cap_frees_the_request_table():
    told = max_running_requests(context())
    assert told.flags == ("--max-running-requests 192",)
    # facts/diagnoses.md 0.2: each row of a 262,144 context is 1 MiB
    assert told.headroom_gib == pytest.approx(8.4 + (2_048 - 192) * 262_148 * 4 / (1 << 30))
    assert "worth tokens only with a higher fraction" in told.why_not


def test_priors_follow_the_rule():
    for name, prior in PRIORS.items():
        assert prior.low <= prior.mid <= prior.high, name
        told = speed(name)
        if prior.pairs < 3:
            assert "too little evidence" in told.reason
        else:
            assert told.low == pytest.approx(prior.low / 1.1)
            assert told.high == pytest.approx(prior.high * 1.1)
            assert str(prior.pairs) in told.basis
    assert "−63%" in too_little("pipeline")
