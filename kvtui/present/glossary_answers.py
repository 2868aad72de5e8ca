"""Verdicts and levers in two sentences each: the glossary's larger half."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

OPTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "raise-fraction": (
        "raise the fraction",
        ("More of the free memory becomes pool: free-before ÷ 100 for each hundredth. The headroom loses what the pool gains."),
    ),
    "lower-fraction": (
        "lower the fraction",
        (
            "Less pool and more headroom, for servers that run out of memory while capturing graphs or serving. The wrong way"
            " when a start fails because no pool is left."
        ),
    ),
    "fp8-kv": (
        "FP8 KV cache",
        (
            "Half the bytes a token, so about twice the tokens. It pays only where the attention kernel fuses it, and quality"
            " must be tested."
        ),
    ),
    "fp4-kv": (
        "FP4 KV cache",
        "About a quarter of the bytes a token. Few kernels support it and little is known of its quality: an experiment.",
    ),
    "hicache": (
        "HiCache",
        (
            "Keeps prefixes in host memory, so that returning prompts need not be computed. It raises neither the pool nor "
            "running requests, and each rank takes its own copy."
        ),
    ),
    "cap-max-new-tokens": (
        "clients send max_tokens",
        "Admission promises less to each request. Only values below 4,096 change the charge.",
    ),
    "conservativeness": (
        "schedule conservativeness",
        "Admission keeps less room for answers under way. The price is a retraction now and then.",
    ),
    "max-running-requests": (
        "max running requests",
        "The most requests that may run at once. Worth something only where running is pinned at it.",
    ),
    "chunked-prefill": (
        "chunk size of prefill",
        (
            "Larger chunks finish long prompts in fewer passes, smaller ones smooth the gaps between tokens. With a given "
            "fraction it moves no token of the pool."
        ),
    ),
    "cuda-graph-max-bs": (
        "largest captured batch",
        ("Batches above it run without a CUDA graph, more slowly. Each size that is captured takes memory out of the headroom."),
    ),
    "context-length": (
        "context length",
        ("The longest request that is taken, and the width of the request table. A shorter one frees headroom and keeps giants out."),
    ),
    "drop-draft": (
        "drop the draft",
        ("Ends speculation, and with it the cap of 48 that it sets. Up to 0.5.12 what it frees is headroom, from 0.5.15 on pool."),
    ),
    "dp-attention": (
        "data-parallel attention",
        (
            "Each rank group keeps requests of its own, so MLA's latent is not copied to all. Attention weights are copied "
            "instead, and ranks may be uneven."
        ),
    ),
    "dcp": (
        "decode context parallel",
        "Ranks share one request's tokens: several times the pool. Each step costs more, so it pays at long contexts.",
    ),
    "pp-for-tp": (
        "pipeline for tensor parallelism",
        "Fewer layers on each GPU, so a token takes less of it. Bubbles and re-read weights cost throughput.",
    ),
    "page-size": (
        "page size",
        "Tokens are handed out in pages. Large ones waste a half page a request, and some kernels and HiCache want them.",
    ),
    "swa-ratio": ("sliding-window ratio", "How large the window pool is beside the full one. Right is where both fill together."),
    "mamba-ratio": (
        "state ratio",
        "How much of the budget the states of linear attention take from KV. Right is where both fill together.",
    ),
    "free-other-processes": (
        "free other processes",
        "What another process holds on one card is taken from the pool of all. The gain comes with the next start.",
    ),
    "tune-allreduce": (
        "tune the all-reduce",
        ("Over PCIe each reduce waits for latency, many times a step. NCCL settings and other kernels shorten it; measure first."),
    ),
    "trim-speculation": (
        "shorter drafts",
        "Fewer drafted tokens a step: cheaper checks, fewer wins. Measure tokens a second, not the accept rate.",
    ),
    "quantize-weights": (
        "quantise the weights",
        "Smaller weights leave more for the pool and are read faster. Quality must be tested, and kernels differ.",
    ),
    "more-gpus": (
        "more GPUs",
        "Weights are spread further, so each card has more left for KV. Communication grows; over PCIe it often loses.",
    ),
    "cache-aware-routing": (
        "cache-aware routing",
        ("Requests with the same prefix go to the same replica. It pays where the prefixes are more than one replica's pool."),
    ),
    "remove-leftover-flags": (
        "remove leftover flags",
        "Flags from a test or an older problem still cost throughput or pool. Each is named with its price.",
    ),
    "client-concurrency": (
        "more clients at once",
        "The server waits for requests: more in flight mean more tokens a second. Little's law says how many are needed.",
    ),
}

VERDICTS: Final[Mapping[str, tuple[str, str]]] = {
    "kv-capacity": (
        "KV capacity",
        ("The pool is as full as admission lets it be, and requests wait for room. More pool, or smaller requests, let more run."),
    ),
    "running-cap": (
        "running cap",
        "Running is pinned at its cap while the pool has room. More pool changes nothing before the cap is raised.",
    ),
    "reservation": (
        "reservation",
        (
            "Room is promised to answers that may never come, and requests wait beside a half empty pool. Clients that send "
            "max_tokens need less of it."
        ),
    ),
    "prefill": (
        "prefill",
        (
            "Prompts take most of the time and decode waits for them. Fewer prompt tokens help: cache hits, shorter prompts, "
            "servers of their own."
        ),
    ),
    "decode-bandwidth": (
        "memory bandwidth",
        (
            "A step reads weights and KV about as fast as memory can be read: the healthy end. Larger batches share the same "
            "reads of weights."
        ),
    ),
    "decode-compute": (
        "arithmetic",
        "A step computes so many tokens that arithmetic is the limit. Shorter drafts or lower precision help.",
    ),
    "client": ("clients", "Nothing waits and much more would fit. The limit lies with who sends the requests."),
    "retraction": (
        "retraction",
        (
            "The pool runs full in the middle of decode, and requests are put back and computed again. Fewer running requests"
            " mean more tokens."
        ),
    ),
    "prefix-miss": (
        "prefix misses",
        ("Prompts that begin alike are computed again and again. Either the cache is too small, or the prompts only look alike."),
    ),
    "hicache": ("HiCache", "The host tier waits or costs more than it gives. PCIe, NUMA or a full host tier are the usual causes."),
    "cuda-graph": (
        "CUDA graphs",
        (
            "Decode steps run without a captured graph, so each kernel is launched by hand. The largest captured batch is "
            "smaller than what runs."
        ),
    ),
    "speculation": ("speculation", "The draft costs more than its accepted tokens save. At large batches it rarely pays."),
    "allreduce": (
        "all-reduce",
        "Ranks wait for each other's sums, many times a step. Without NVLink this is latency: the link looks idle.",
    ),
    "dp-imbalance": ("uneven ranks", "One data-parallel rank queues while another idles. With DP attention all wait for the slowest."),
    "pd-queue": (
        "prefill-decode queue",
        "Requests stand between the prefill and the decode servers. Either decode has no room, or the transfer is slow.",
    ),
    "clocks": ("clocks", "A GPU runs below its clock, and all ranks wait for it. Heat, power and brakes are named by the driver."),
    "foreign-memory": ("foreign memory", "A process that is not the server's holds GPU memory. On one card it costs the pool of all."),
    "cpu": ("CPU", "The GPU waits for the host between steps. A busy scheduler thread alone is no sign: it polls."),
    "grammar": ("grammar", "Requests wait until their schema is compiled; they are in no other queue. Reused schemas are cached."),
    "head-of-line": (
        "head of line",
        ("One long request at the head needs more than is free, and all wait behind it. A larger pool makes it rarer, not impossible."),
    ),
    "sub-pool": ("second pool", "The window or state pool is full while the other has room. Their ratio is what must change."),
    "host-pressure": (
        "host memory",
        "The host swaps or is nearly out of memory, and everything stalls. HiCache and leaks are the usual causes.",
    ),
    "hardware-fault": ("hardware fault", "A GPU reports errors or a degraded link. No flag mends it: drain and reset."),
    "headroom": ("headroom", "Little GPU memory is left once the server is up. The first long prompt may end it."),
    "measurement": ("measurement", "Two counts of the same thing differ. Settle that before anything is tuned."),
    "leftover-flags": ("leftover flags", "Flags that cost throughput or pool are set, perhaps from a test. Each is named with its price."),
    "server-stuck": (
        "stuck",
        "The scheduler does not move although requests are there. Its log and stacks say why; a restart is usually due.",
    ),
    "startup-failure": ("failed start", "The server did not come up. Whether the fraction must go up or down depends on where it failed."),
    "healthy": ("healthy", "What arrives is served, and nothing known limits it. That is a verdict, too."),
    "not-enough-data": (
        "not enough data",
        "What was read does not allow a judgement yet. It says which signal is missing and how to get it.",
    ),
}
