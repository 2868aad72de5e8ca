"""How the stated ranges fare against public before/after measurements: run by a person, not by pytest.

    python tests/options/score_gains.py [gains.jsonl] [--all]

Reads ``../shared/gains/dev.jsonl`` beside the repository (its README says what a record holds). Every pair and sweep that carries
enough numbers goes through the levers and the step-time curve as a server of that load would; what a lever refuses is counted apart.
``--all`` prints every record with its range.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from dataclasses import replace
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from options.option_build import account, boot, context, finding, identity, workload  # noqa: E402

from kvtui.domain.estimate import Estimate  # noqa: E402
from kvtui.domain.geometry import Attention  # noqa: E402
from kvtui.domain.reading import Known, Missing  # noqa: E402
from kvtui.domain.throughput import MIN_RUNNING, predict, prior  # noqa: E402
from kvtui.domain.what_if import tokens_at  # noqa: E402
from kvtui.options.registry import estimates  # noqa: E402

BASE = 1_000.0
"""Throughput before, in every scene: only ratios are compared."""
KINDS = {"MLA": Attention.MLA, "DSA": Attention.DSA, "GQA": Attention.GQA, "MHA": Attention.MHA}
LIMITS = {
    "KV-bound": "kv-capacity", "cap-bound": "running-cap", "client-bound": "client", "prefill-bound": "prefill", "saturated": "kv-capacity",
    "launch-bound": "client", "not KV-bound": "prefill", "prefix working set > KV": "kv-capacity", "near KV limit": "client",
}  # fmt: skip
ARITHMETIC = "tokens only"


def scene(row, **settings):
    """A server under the load of the arm before."""
    load = row["workload"]
    length = (load.get("input") or 1_000) + (load.get("output") or 200) / 2
    running = float((row["before"] or {}).get("running") or load.get("concurrency") or 8) / (row.get("dp") or 1)
    kind = KINDS.get(row["attention"] or "", Attention.GQA)
    tp = row.get("tp") or row.get("n_gpu") or (2 if "2 GPUs" in row["cell"] else 4 if row["lever"] == "pcie_allreduce" else 1)
    named = identity(attention=Known(kind), tp=Known(tp), geometry=None, version=Known(settings.pop("version", "0.5.18")))
    limit = LIMITS.get(row["bound"] or "", "client")
    pcie = {"PCIe": "pcie", "NVLink": "nvlink", "xGMI": "nvlink"}.get(row["interconnect"] or "")
    pool = int(running * length * 1.3)
    return context(
        limit, account=account(identity=named, tokens_reported=Known(pool), tokens_predicted=Known(pool)), interconnect=pcie,
        workload=workload(running=running, queued=0.0 if limit == "client" else running, tok_s=BASE, resident=length, pool=pool,
                          prompt=float(load.get("input") or 1_000), output=float(load["output"]) if load.get("output") else None),
        boot=boot("0.5.18", **settings),
    )  # fmt: skip


def lever(name, made):
    return next(e for e in estimates(made) if e.id == name)


def _fraction(row):
    if row["cell"].endswith("; KV-bound"):
        return Missing("no pool size in the record")
    return lever("raise-fraction", replace(scene(row), findings=(finding("prefill"),)))


def _cap(row):
    if row["bound"] == "cap-bound":
        return Missing("no pool size in the record: what holds next is unknown")
    return lever("max-running-requests", scene(row))


def _kv_dtype(row):
    if "same running" not in row["cell"]:
        return Missing("running requests or pool are not in the record" if "tokens" not in row["cell"] else ARITHMETIC)
    return lever("fp8-kv", scene(row))


def _dcp(row):
    made = scene(row)
    if "short context" in row["cell"]:
        made = replace(made, findings=(finding("client"),))
    named = replace(made.account.identity, attention=Known(Attention.MLA))
    return lever("dcp", replace(made, account=replace(made.account, identity=named)))


def _hicache(row):
    if "no reuse" not in row["cell"] and "fits" not in row["cell"]:
        return Missing("the share of prefill and of cached tokens is not in the record")
    return lever("hicache", scene(row))


def _graph(row):
    if "raising or lowering" in row["cell"]:
        return lever("cuda-graph-max-bs", scene(row, cuda_graph_max_bs=2_048))
    if "100k" in row["cell"]:
        made = scene(row, disable_cuda_graph=True)
        return lever("remove-leftover-flags", replace(made, workload=replace(made.workload, resident=Known(120_000.0))))
    return lever("remove-leftover-flags", scene(row, disable_cuda_graph=True))


def _chunk(row):
    if row["bound"] != "prefill-bound":
        return Missing("what limited the run is not stated")
    made = scene(row, chunked_prefill_size=2_048)
    return lever("chunked-prefill", made)


def _allreduce(row):
    if "untuned" in row["cell"]:
        return Missing("the lever proposes tuned settings only")
    return lever("tune-allreduce", scene(row))


def _clients(row):
    """From the batch before to the one after, both of one data-parallel rank."""
    before, after = float(row["before"]["value"]), float(row["after"]["value"])
    if row["bound"] == "saturated":
        told = lever("client-concurrency", scene(row))
        return Missing(told.why_not)
    if row.get("dp") is None and row.get("tp") is None:
        return Missing("data-parallel ranks are not in the record, and the curve counts requests of one rank")
    ranks, load = row.get("dp") or 1, row["workload"]
    curve = prior(resident=(load.get("input") or 0) + (load.get("output") or 0) / 2 or None, speculation=bool(row["spec"] == "on"))
    return predict(running=before / ranks, tok_s=BASE, to=after / ranks, curve=curve, graphs_cover=True)


PARAMETERS = {
    "GLM-4.5-Air": 106e9, "GLM-4.6": 355e9, "Qwen3-14B": 14.8e9, "Qwen3-8B": 8.2e9, "Nemotron-3-Nano-30B-A3B": 31.6e9, "Llama-3.1-8B": 8.03e9,
}  # fmt: skip
MEMORY = {"H100": 80e9, "H200": 141e9, "B200": 180e9, "A100-40GB": 40e9}


def _weights(row):
    if row["cell"].endswith(("4-bit", "KV-starved")):
        return Missing("too little evidence" if row["cell"].endswith("4-bit") else "no pool size in the record")
    made = scene(row)
    geometry = made.account.identity.geometry
    from options.option_build import KIMI  # noqa: PLC0415

    count, memory = PARAMETERS.get(row["model"]), MEMORY.get(row["gpu"])
    sized = replace(geometry or KIMI, parameters=count or 70e9, experts=None, attention=Attention.GQA)
    each = 2 * (count or 70e9) / made.account.identity.tp.value
    held = made.workload.busiest.running.value * made.workload.resident.value
    full = replace(
        made.account,
        identity=replace(made.account.identity, geometry=sized),
        weights_gib=Known(each / (1 << 30)),
        # No record tells the KV of a step; more than what the weights leave of the card it cannot be.
        cell_bytes=Known(min(made.account.cell_bytes.value, (0.9 * memory - each) / held))
        if count and memory
        else Missing("not in the record"),
        cap_tokens=Missing(""),
    )
    return lever("quantize-weights", replace(made, account=full, findings=(finding("client"),)))


def _gpus(row):
    made = scene(row)
    return lever("more-gpus", replace(made, findings=(finding("client"),), interconnect="pcie" if "PCIe" in row["cell"] else "nvlink"))


def _speculation(row):
    return lever("trim-speculation", scene(row, speculative_algorithm="EAGLE", speculative_num_steps=4, speculative_num_draft_tokens=5))


def _draft(row):
    """The record switches speculation on; the lever switches it off, so the ratio is turned round by ``INVERSE``."""
    if "saturation" in row["cell"]:
        return Missing("the cap that speculation sets was the limit after the change")
    settings = {"speculative_algorithm": "EAGLE", "speculative_num_steps": 3, "speculative_num_draft_tokens": 4}
    made = scene(row, **settings)
    if "context > 16k" in row["cell"]:
        made = replace(made, workload=replace(made.workload, resident=Known(max(20_000.0, row["workload"].get("input") or 0.0))))
    return lever("drop-draft", replace(made, findings=(finding("client"),)))


INVERSE = frozenset({"speculative"})


def _plain(name, **settings):
    return lambda row: lever(name, scene(row, **settings))


LEVERS = {
    "mem_fraction_static": _fraction, "max_running_requests": _cap, "kv_cache_dtype": _kv_dtype, "decode_context_parallel": _dcp,
    "hierarchical_cache": _hicache, "cuda_graph": _graph, "chunked_prefill_size": _chunk, "pcie_allreduce": _allreduce,
    "client_concurrency": _clients, "weight_quantisation": _weights, "num_gpus": _gpus, "speculative_length": _speculation, "speculative": _draft,
    "page_size": _plain("page-size"), "dp_attention": _plain("dp-attention"), "cache_aware_routing": _plain("cache-aware-routing"),
    "context_length": _plain("context-length"),
}  # fmt: skip


def pair(row):
    """(low, mid, high) as ratios, or why there is none."""
    if row["lever"] not in LEVERS:
        return f"no lever of kvtui ({row['lever']})"
    if row["speed_ratio"] is None:
        return "the record has no throughput or latency ratio"
    told = LEVERS[row["lever"]](row)
    span = told.tok_s if isinstance(told, Estimate) else told
    if span is None or isinstance(span, Missing):
        return told.tok_s_why if isinstance(told, Estimate) else told.reason
    return span.low / BASE, span.mid / BASE, span.high / BASE


def _observed(row):
    ratio = row["speed_ratio"]
    return 1 / ratio if ratio and row["lever"] in INVERSE else ratio


def sweep(row):
    """Every pair of points with 8 running or more: (name, span or reason, observed)."""
    load, ranks, on = row["workload"], row.get("dp") or 1, row["spec"] == "on"
    curve = prior(
        resident=(load.get("input") or 0) + (load.get("output") or 0) / 2 or None, speculation=on,
        interconnect="pcie" if row["interconnect"] == "PCIe" else None,
    )  # fmt: skip
    points = row["sweep"] if isinstance(row["sweep"], list) else row["sweep"]["points"]
    usable = [((p.get("running") or p["concurrency"]) / ranks, p["tok_s"]) for p in points if p.get("tok_s")]
    for (running, before), (to, after) in combinations(usable, 2):
        if running < MIN_RUNNING:
            continue
        if row["regime"] != "decode":
            yield f"a {row['regime']} sweep: no smooth estimate", after / before
            continue
        told = predict(running=running, tok_s=1.0, to=to, curve=curve, graphs_cover=not on, speculation=on)
        yield (told.reason.split(":")[0] if isinstance(told, Missing) else (told.low, told.mid, told.high)), after / before


def table(rows, *, every):
    told, refused = defaultdict(list), defaultdict(int)
    for row in rows:
        results = sweep(row) if row["type"] == "sweep" else [(pair(row), _observed(row))]
        for span, observed in results:
            name = "step-time curve (sweeps)" if row["type"] == "sweep" else row["cell"]
            if isinstance(span, str):
                why = "more than 4 times the batch observed" if "times what was" in span else span
                refused[name.split(";")[0] + ": " + (why if len(why) < 90 else why[:87] + "...")] += 1
                continue
            told[name].append((span, observed, row["id"]))
            if every:
                low, mid, high = span
                print(
                    f"{row['id']:>4} {name[:58]:<58} {observed:5.2f}  {low:.2f} {mid:.2f} {high:.2f}  {'' if low <= observed <= high else 'X'}"
                )
    print(f"\n{'lever and condition':<62} n  inside  median error  median width")
    for name, entries in sorted(told.items()):
        line(name, entries)
    line("all", [entry for entries in told.values() for entry in entries])
    print("\nno figure:")
    for reason, count in sorted(refused.items()):
        print(f"{count:>4}  {reason}")


def line(name, entries):
    inside = sum(low <= observed <= high for (low, _, high), observed, _ in entries)
    error = statistics.median(mid / observed - 1 for (_, mid, _), observed, _ in entries)
    width = statistics.median((high - low) / mid for (low, mid, high), _, _ in entries)
    missed = " ".join(sorted({number for (low, _, high), observed, number in entries if not low <= observed <= high}))
    print(f"{name[:60]:<60} {len(entries):>3}  {inside / len(entries):5.0%}  {error:+12.0%}  {width:11.0%}  {missed}")


def cases(folder):
    """Tokens at other fractions from the first row's memory and cell, for every case of kind "sweep" that gives them."""
    for place in sorted(folder.glob("*/expect.json")):
        case = json.loads(place.read_text())
        if case.get("kind") != "sweep":
            continue
        rows = [row for row in case.get("sweep") or () if row.get("tokens") and row.get("fraction")]
        first = rows[0] if rows else {}
        pre, cell = first.get("pre_gib") or case.get("pre_gib"), first.get("cell_bytes") or case.get("cell_bytes")
        others = [row for row in rows[1:] if row["fraction"] != first["fraction"]]
        if not (pre and cell and others):
            print(f"case {place.parent.name}: no memory, no cell or one fraction only")
            continue
        base = account(
            pre_gib=Known(pre),
            fraction=Known(first["fraction"]),
            tokens_reported=Known(first["tokens"]),
            divisor_bytes=Known(cell),
            rest_gib=Missing(""),
        )
        errors = [tokens_at(base, row["fraction"]).value / row["tokens"] - 1 for row in others]
        print(f"case {place.parent.name}: {len(errors)} fractions, largest error {max(map(abs, errors)):.3%}")


def main():
    places = [Path(arg) for arg in sys.argv[1:] if not arg.startswith("-")]
    place = places[0] if places else ROOT.parent / "shared" / "gains" / "dev.jsonl"
    if not place.exists():
        sys.exit(f"{place} is not there")
    cases(ROOT.parent / "shared" / "cases")
    table([json.loads(text) for text in place.read_text().splitlines() if text.strip()], every="--all" in sys.argv)


if __name__ == "__main__":
    main()
