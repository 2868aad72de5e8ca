"""What a server answers over HTTP: ``/metrics``, ``/v1/loads``, ``/server_info`` (facts/observability.md 1 and 2)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

from kvtui.domain.boot import Scalar
from kvtui.scenarios.box import Box
from kvtui.scenarios.gauges import Gauges, Histogram, Totals
from kvtui.scenarios.situation import Decor
from kvtui.scenarios.start import Start


class Pages:
    """Renders one server's answers from its gauges; ``at``: seconds since the epoch."""

    def __init__(self, box: Box, start: Start, decor: Decor) -> None:
        self._box, self._start, self._decor = box, start, decor
        self._base = box.version.base
        ranks = box.tp if self._base >= (0, 5, 12) else 1
        self._unchanging = [[line for tp in range(ranks) for line in self._constants(self._labels(dp, tp))] for dp in range(box.dp)]

    def metrics(self, ranks: Sequence[Gauges], totals: Totals) -> str:
        """One page of text exposition."""
        lines = list(self._server(totals, sum(rank.running + rank.queued for rank in ranks)))
        for dp, rank in enumerate(ranks):
            lines += self._rank(rank, dp)
        return "\n".join(lines) + "\n"

    def _labels(self, dp: int, tp: int = 0, **more: str) -> str:
        named = {"engine_type": "unified", "model_name": self._box.model, "moe_ep_rank": "0", "pp_rank": "0", "tp_rank": str(tp), **more}
        if self._decor.preallocated_usage is not None:
            named["engine_type"] = "decode"
        if self._box.dp > 1:
            named["dp_rank"] = str(dp)
        return "{" + ",".join(f'{key}="{value}"' for key, value in sorted(named.items())) + "}"

    def _rank(self, rank: Gauges, dp: int) -> Iterator[str]:
        labels = self._labels(dp)
        values = [
            ("num_running_reqs", rank.running), ("num_queue_reqs", rank.queued), ("num_grammar_queue_reqs", round(self._decor.grammar)),
            ("num_used_tokens", rank.used), ("token_usage", round(rank.usage, 2)), ("gen_throughput", round(rank.tput, 3)),
            ("cache_hit_rate", 0.0), ("new_token_ratio", round(rank.ratio, 4)), ("spec_accept_length", round(rank.accept_len, 3)),
            ("is_cuda_graph", int(rank.graph)), ("decode_sum_seq_lens", rank.used if rank.decode_ticked else 0),
            ("num_retracted_requests_total", rank.retracted), ("num_decode_prealloc_queue_reqs", round(self._decor.prealloc)),
            ("num_decode_transfer_queue_reqs", round(self._decor.transfer)),
        ]  # fmt: skip
        if rank.retracted == 0:
            values = [entry for entry in values if entry[0] != "num_retracted_requests_total"]
        for name, value in (*values, *self._pools(rank)):
            yield f"sglang:{name}{labels} {float(value)!r}"
        for mode, amount in (
            ("prefill_compute", rank.prefill_tokens),
            ("prefill_cache", rank.cached_tokens),
            ("decode", rank.decode_tokens),
        ):
            yield f"sglang:realtime_tokens_total{self._labels(dp, mode=mode)} {float(amount)!r}"
        for mode, passes in (("decode_cuda_graph", rank.graph_passes), ("decode_none", rank.eager_passes)):
            if passes:
                yield f"sglang:cuda_graph_passes_total{self._labels(dp, mode=mode)} {float(passes)!r}"
        yield from _histogram("queue_time_seconds", labels, rank.queue_time)
        yield from self._unchanging[dp]

    def _pools(self, rank: Gauges) -> Iterator[tuple[str, float]]:
        pool, share = self._start.tokens, self._decor.full_share
        if share is not None:
            yield "swa_token_usage", round(min(1.0, rank.usage), 2)
            yield "full_token_usage", round(rank.usage * share, 2)
        if self._base >= (0, 5, 12):
            used = rank.used if share is None else int(rank.used * share)
            cached = int((pool - used) * self._decor.cached_pool)
            yield from (("kv_used_tokens", used), ("kv_evictable_tokens", cached), ("kv_available_tokens", pool - used - cached))
            if rank.occupancy is not None:
                yield "fwd_occupancy", round(rank.occupancy, 2)

    def _constants(self, labels: str) -> Iterator[str]:
        start = self._start
        yield f"sglang:max_total_num_tokens{labels} {float(start.tokens)!r}"
        if self._base >= (0, 5, 12):
            context = self._box.value("context_length") or self._box.geometry.context_len or 0
            yield f"sglang:context_len{labels} {float(str(context))!r}"
            yield f"sglang:page_size{labels} {self._box.number('page_size', 1)!r}"
            yield f"sglang:startup_available_gpu_memory_gb{labels} {round(start.available_gib, 2)!r}"
        if self._base >= (0, 5, 18):
            yield f"sglang:weight_memory_usage_gb{labels} {round(self._box.resident_gib, 2)!r}"
            yield f"sglang:kv_cache_memory_usage_gb{labels} {round(start.kv_gib, 2)!r}"
            yield f"sglang:graph_memory_usage_gb{labels} {round(start.graphs_gib, 2)!r}"

    def _server(self, totals: Totals, inside: int) -> Iterator[str]:
        label = f'{{model_name="{self._box.model}"}}'
        counts = (
            ("prompt_tokens_total", totals.prompt_tokens), ("generation_tokens_total", totals.generation_tokens),
            ("cached_tokens_total", totals.cached_tokens), ("num_requests_total", totals.requests),
            ("num_aborted_requests_total", totals.aborted),
        )  # fmt: skip
        for name, value in counts:
            yield f"sglang:{name}{label} {float(value)!r}"
        for name, histogram in (
            ("time_to_first_token_seconds", totals.ttft), ("inter_token_latency_seconds", totals.itl),
            ("e2e_request_latency_seconds", totals.e2e),
        ):  # fmt: skip
            yield from _histogram(name, label, histogram)
        held = inside + round(self._decor.grammar)
        yield f'sglang:http_requests_active{{endpoint="/v1/chat/completions",method="POST"}} {float(held)!r}'

    def loads(self, ranks: Sequence[Gauges], at: float) -> str:
        """One answer of ``/v1/loads``."""
        stamp = datetime.fromtimestamp(at, timezone.utc).isoformat()
        head: dict[str, object] = {"timestamp": stamp, "version": self._box.release}
        if self._base < (0, 5, 15):
            head["dp_rank_count"] = len(ranks)
        return json.dumps({**head, "loads": [self._load(rank, dp) for dp, rank in enumerate(ranks)]})

    def _load(self, rank: Gauges, dp: int) -> dict[str, object]:
        start, grammar = self._start, round(self._decor.grammar)
        row: dict[str, object] = {
            "dp_rank": dp, "num_running_reqs": rank.running, "num_waiting_reqs": rank.queued, "num_used_tokens": rank.used,
            "max_total_num_tokens": start.tokens, "max_running_requests": start.cap, "token_usage": round(rank.usage, 4),
            "gen_throughput": round(rank.tput, 2),
            "memory": {
                "weight_gb": round(self._box.resident_gib, 3), "kv_cache_gb": round(start.kv_gib, 3),
                "graph_gb": round(start.graphs_gib, 2),
            },
            "queues": {"waiting": rank.queued, "grammar": grammar, "paused": 0, "retracted": 0},
        }  # fmt: skip
        if rank.accept_len:
            row["speculative"] = {"accept_length": round(rank.accept_len, 3)}
        if self._base >= (0, 5, 15):
            row.update(
                timestamp=rank.stamp, total_prefill_uncached_tokens=int(rank.prefill_tokens),
                total_prefill_busy_us=int(rank.prefill_busy_s * 1e6), num_total_tokens=rank.used,
            )  # fmt: skip
        return row

    def server_info(self, command: str) -> str:
        """The answer of ``/server_info``."""
        start = self._start
        state = {
            "effective_max_running_requests_per_dp": start.cap,
            "memory_usage": {
                "weight": round(self._box.resident_gib, 2), "kvcache": round(start.kv_gib, 2), "token_capacity": start.tokens,
                "graph": {"decode": round(start.graphs_gib, 2)} if self._base >= (0, 5, 18) else round(start.graphs_gib, 2),
            },
        }  # fmt: skip
        settings: dict[str, Scalar | object] = {**self._box.settings()}
        settings.update(
            status="ready", version=self._box.release, max_total_num_tokens=start.tokens, internal_states=[state] * self._box.dp
        )
        if self._base >= (0, 5, 23):
            settings["launch_command"] = command
        return json.dumps(settings)


def _histogram(name: str, labels: str, histogram: Histogram) -> Iterator[str]:
    if not histogram.count or not math.isfinite(histogram.total):
        return
    inside = labels[1:-1]
    for edge, count in histogram.cumulative():
        yield f'sglang:{name}_bucket{{{inside},le="{edge}"}} {float(count)!r}'
    yield f"sglang:{name}_sum{labels} {histogram.total!r}"
    yield f"sglang:{name}_count{labels} {float(histogram.count)!r}"
