"""Pages of /metrics for tests, one series at a time."""

from kvtui.domain.release import parse_release
from kvtui.parse.exposition import wanted_lines
from kvtui.sources.exposition_reader import PageReader


def series(name, value, **labels):
    inside = ",".join(f'{key}="{text}"' for key, text in sorted(labels.items()))
    return f"sglang:{name}{{{inside}}} {value}" if inside else f"sglang:{name} {value}"


def rank_labels(dp=None, tp=0, pp=0, engine="unified", **more):
    labels = {"engine_type": engine, "model_name": "m", "tp_rank": tp, "pp_rank": pp, **more}
    return labels if dp is None else {**labels, "dp_rank": dp}


def load(running=4, queued=0, usage=0.5, used=500, tput=100.0, **labels):
    """The gauges that every release has, for one rank."""
    where = rank_labels(**labels)
    values = {"num_running_reqs": running, "num_queue_reqs": queued, "token_usage": usage, "num_used_tokens": used, "gen_throughput": tput}
    return [series(name, value, **where) for name, value in values.items()]


def buckets(name, counts, total=1.0, **labels):
    """``counts``: limit -> cumulative count."""
    lines = [series(f"{name}_bucket", count, le=limit, **labels) for limit, count in counts.items()]
    return [*lines, series(f"{name}_sum", total, **labels), series(f"{name}_count", max(counts.values()), **labels)]


def body(lines):
    return ("\n".join(lines) + "\n").encode()


def scrape(lines, at=1.0, version="0.5.23", reader=None, cut=False):
    page = wanted_lines(lines if isinstance(lines, bytes) else body(lines), cut=cut)
    assert page.kind == "sglang", page
    return (reader or PageReader()).scrape(page, at, parse_release(version) if version else None)
