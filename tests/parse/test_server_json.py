"""/server_info, /model_info and /v1/loads of several releases, and hostile ones."""

import json

import pytest

from kvtui.domain.reading import Known, Missing
from kvtui.parse.json_body import decode
from kvtui.parse.loads import read_loads
from kvtui.parse.server_info import read_model_info, read_server_info

INFO = {
    "model_path": "/m",
    "tp_size": 8,
    "mem_fraction_static": 0.87,
    "api_key": "sk-verysecret1",
    "admin_api_key": "adminsecret",
    "ssl_keyfile_password": "pw",
    "cuda_graph_bs": [1, 2, 4],
    "cuda_graph_config": {"decode": {"max_bs": 64}},
    "status": "ready",
    "version": "0.5.23",
    "max_total_num_tokens": 159_277,
    "max_req_input_len": 4090,
    "launch_command": "--model-path /m --api-key sk-verysecret1",
    "internal_states": [
        {
            "effective_max_running_requests_per_dp": 48,
            "last_gen_throughput": 800.5,
            "memory_usage": {
                "weight": 71.8,
                "kvcache": 10.4,
                "token_capacity": 159_277,
                "token_capacity_swa": None,
                "startup_available": 5.5,
                "graph": {"decode": 1.5, "draft_decode": 0.4},
            },
        }
    ],
}


def test_settings_keep_their_names_and_lose_their_secrets():
    info = read_server_info(INFO, 5.0)
    assert info.settings["tp_size"].value == 8
    assert info.settings["cuda_graph_bs"].value == (1, 2, 4)
    assert json.loads(info.settings["cuda_graph_config"].value) == {"decode": {"max_bs": 64}}
    assert info.settings["tp_size"].origin == "server_info"
    assert "verysecret" not in repr(info)
    assert "adminsecret" not in repr(info)
    assert info.settings["ssl_keyfile_password"].value == "***"
    assert "status" not in info.settings
    assert str(info.release) == "0.5.23"
    assert (info.pool_tokens.value, info.max_request_tokens.value) == (159_277, 4090)


@pytest.mark.parametrize(
    ("memory", "gib", "phases"),
    [
        ({"cuda_graph": 1.25}, 1.25, {}),
        ({"graph": 1.9}, 1.9, {}),
        ({"graph": 0}, 0.0, {}),
        ({"graph": {"decode": 1.5, "draft_decode": 0.5, "prefill": None, "x": "1"}}, 2.0, {"decode": 1.5, "draft_decode": 0.5}),
    ],
)
def test_graph_memory_of_each_shape(memory, gib, phases):
    state = read_server_info({"model_path": "/m", "internal_states": [{"memory_usage": memory}]}, 1.0).states[0]
    assert state.graph_gib.value == gib
    assert state.graph_phases_gib == phases


def test_what_a_state_does_not_tell_is_missing_with_a_reason():
    info = read_server_info({"model_path": "/m", "internal_states": [{}, 3, None]}, 1.0)
    assert len(info.states) == 1
    assert info.notes == ("2 internal states cannot be read.",)
    assert "effective_max_running_requests_per_dp" in info.states[0].running_cap.reason
    assert isinstance(info.version, Missing)
    assert info.release is None


@pytest.mark.parametrize("odd", [-1, 1e300, float("inf"), True, "12", [1], {"a": 1}, 1.5])
def test_impossible_counts_are_missing(odd):
    info = read_server_info({**INFO, "max_total_num_tokens": odd}, 1.0)
    assert isinstance(info.pool_tokens, Missing)


def test_other_programs_are_told_apart():
    assert isinstance(read_server_info({"version": "0.1"}, 1.0), Missing)
    balancer = read_server_info({"internal_states": [], "prefill": [], "decode": []}, 1.0)
    assert "load balancer" in balancer.reason
    assert isinstance(read_model_info({}, 1.0), Missing)
    assert isinstance(read_loads({"loads": 3}, 1.0), Missing)


def test_a_model_is_named_safely():
    model = read_model_info(
        {"model_path": "/m\x1b[2J", "architectures": ["A", 3], "is_generation": False, "disaggregation_mode": "null"}, 1.0
    )
    assert model.model == "/m\\x1b[2J"
    assert model.architectures == ("A",)
    assert model.generates is False
    assert model.mode == ""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "empty"),
        (b"<html>", "web page"),
        (b"{", "not valid JSON"),
        (b"[1]", "a JSON list"),
        (b"null", "a JSON null"),
        (b"[" * 100_000, "not valid JSON"),
        (b"\xff\xfe\x00", "not valid JSON"),
    ],
)
def test_bodies_that_are_no_object(body, words):
    assert words in decode(body).reason


def test_numbers_of_any_length_and_constants_are_harmless():
    got = decode(b'{"a": ' + b"9" * 100_000 + b', "b": NaN, "c": 1e999, "d": -Infinity}')
    assert got["a"] is None
    assert got["b"] is None
    assert isinstance(read_server_info({**got, "model_path": "x", "max_total_num_tokens": got["c"]}, 1.0).pool_tokens, Missing)


NEW_LOAD = {
    "timestamp": 1795959411.9,
    "dp_rank": 1,
    "num_running_reqs": 8,
    "num_waiting_reqs": 14,
    "num_used_tokens": 3238,
    "num_total_tokens": 7311,
    "max_total_num_tokens": 4096,
    "max_running_requests": 16,
    "token_usage": 0.7905,
    "gen_throughput": 898.22,
    "total_prefill_uncached_tokens": 2727,
    "total_prefill_busy_us": 186_116,
    "memory": {"weight_gb": 1.5, "kv_cache_gb": 2.5, "graph_gb": 0.5, "token_capacity": 4096},
    "disaggregation": {"mode": "decode", "decode_prealloc_queue_reqs": 3},
    "queues": {"waiting": 14, "grammar": 0, "paused": 0, "retracted": 2},
}


def test_loads_of_new_releases():
    got = read_loads({"version": "0.5.23", "accelerator": "H200", "loads": [NEW_LOAD, {**NEW_LOAD, "dp_rank": 0, "timestamp": 0.0}]}, 7.0)
    zero, one = got.rows
    assert (zero.dp, one.dp) == (0, 1)
    assert zero.running == Missing("this rank has not written its first snapshot")
    assert (one.running.value, one.running_cap.value, one.stamp) == (8, 16, 1795959411.9)
    assert one.prefill_busy_s_total.value == pytest.approx(0.186116)
    assert one.queues == {"waiting": 14, "grammar": 0, "paused": 0, "retracted": 2, "decode_prealloc": 3}
    assert one.mode == "decode"
    assert one.graph_gib.value == 0.5
    assert got.newest_stamp == 1795959411.9


def test_loads_of_old_releases_have_neither_stamp_nor_rank():
    old = {"num_running_reqs": 6, "num_waiting_reqs": 43, "token_usage": 0.96, "speculative": {"accept_length": 2.9}}
    got = read_loads({"version": "0.5.9", "loads": [old, "x"], "aggregate": {"avg_throughput": 1}}, 7.0)
    assert len(got.rows) == 1
    assert got.rows[0].stamp is None
    assert got.newest_stamp is None
    assert got.rows[0].accept_len == Known(2.9, 7.0, got.rows[0].accept_len.where)
    assert isinstance(got.rows[0].prefill_tokens_total, Missing)
    assert got.notes == ("1 rows of /v1/loads cannot be read.",)
