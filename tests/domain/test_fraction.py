"""The automatic fraction against SGLang's own code (vectors/fractions.jsonl)."""

import json
from pathlib import Path

import pytest

from kvtui.domain.fraction import FractionInputs, auto_fraction
from kvtui.domain.release import parse_release

VECTORS = [json.loads(line) for line in (Path(__file__).parent / "vectors" / "fractions.jsonl").read_text().splitlines()]


def inputs(version, server):
    return FractionInputs(
        release=parse_release(version),
        gpu_mib=server["gpu_mem"],
        tp=server["tp"],
        pp=server["pp"],
        dp=server["dp"],
        dp_attention=server.get("dp_attention", False),
        spec=server.get("spec"),
        draft_tokens=server.get("draft_tokens"),
        chunk=server.get("chunk"),
        graph_bs=server.get("max_bs"),
        mla=server["mla"],
        prefill_graph=server.get("prefill_graph", False),
        decode_graph=server.get("decode_graph", True),
        multimodal=server.get("mm", False),
        vit_layers=server.get("vit_layers", 24),
        vit_hidden=server.get("vit_hidden", 1024),
        max_running_requests=server.get("max_running"),
        role=server.get("disagg", "null"),
        deepep=server.get("a2a") == "deepep",
    )


@pytest.mark.parametrize("number", range(len(VECTORS)))
def test_agrees_with_sglangs_own_code(number):
    vector = VECTORS[number]
    found = auto_fraction(inputs(vector["version"], vector["server"]))
    assert {name: getattr(found, name) for name in vector["expected"]} == vector["expected"]
    assert found.proven


@pytest.mark.parametrize(
    ("version", "changes", "expected"),
    [
        ("0.5.3", {}, 0.848),
        ("0.5.23", {}, 0.848),
        ("0.5.9", {"prefill_graph": True}, 0.845),
        ("0.5.10", {"prefill_graph": True}, 0.833),
    ],
)
def test_a_96_gb_card_with_tp8(version, changes, expected):
    server = {"gpu_mem": 97887, "tp": 8, "pp": 1, "dp": 1, "mla": True}
    assert auto_fraction(inputs(version, server | changes)).fraction == expected


def test_a_24_gb_card_gets_less_from_0_5_21_on():
    server = {"gpu_mem": 24564, "tp": 1, "pp": 1, "dp": 1, "mla": False, "prefill_graph": True}
    assert [auto_fraction(inputs(version, server)).fraction for version in ("0.5.18", "0.5.21")] == [0.833, 0.704]


@pytest.mark.parametrize(
    ("gpu", "tp", "version", "expected"),
    [(81559, 8, "0.4.6", 0.81), (97887, 1, "0.4.6", 0.88), (81559, 8, "0.4.10.post2", 0.831), (24564, 2, "0.4.10", 0.875)],
)
def test_0_4_is_marked_unproven(gpu, tp, version, expected):
    found = auto_fraction(FractionInputs(release=parse_release(version), gpu_mib=gpu, tp=tp))
    assert found.fraction == expected
    assert not found.proven
    assert "not run" in found.note


def test_without_a_gpu_size_there_is_a_flat_fraction():
    assert [auto_fraction(FractionInputs(parse_release(v), None)).fraction for v in ("0.4.6", "0.5.18", "0.5.21")] == [0.88, 0.88, 0.95]
