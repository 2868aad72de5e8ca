"""A start of SGLang 0.5.9 with two ranks and a draft, and ways to wrap it like its carriers do."""

from __future__ import annotations

import json

from kvtui.parse.logreader import LogReader, LogReading

ARGS = (
    "server_args=ServerArgs(model_path='/models/Kimi-K2.5', tp_size=2, dp_size=1, mem_fraction_static=0.88, max_running_requests=48, "
    "kv_cache_dtype='auto', api_key='sk-canary-0123456789', speculative_algorithm='EAGLE3', context_length=None, cuda_graph_bs=[1, 2, 4])"
)
BOOT = [
    "[2026-03-18 09:00:00] Max running requests is reset to 48 for speculative decoding. You can override this.",
    f"[2026-03-18 09:00:01] {ARGS}",
    "[2026-03-18 09:00:09 TP0] Init torch distributed begin.",
    "[2026-03-18 09:00:14 TP0] Init torch distributed ends. elapsed=4.61 s, mem usage=0.93 GB",
    "[2026-03-18 09:00:15 TP0] Load weight begin. avail mem=94.04 GB",
    "[2026-03-18 09:00:15 TP1] Load weight begin. avail mem=94.05 GB",
    "[2026-03-18 09:04:22 TP0] Load weight end. elapsed=245.30 s, type=KimiK25ForConditionalGeneration, dtype=torch.bfloat16, avail mem=21.71 GB, mem usage=72.33 GB.",
    "[2026-03-18 09:04:22 TP1] Load weight end. elapsed=245.70 s, type=KimiK25ForConditionalGeneration, dtype=torch.bfloat16, avail mem=21.72 GB, mem usage=72.33 GB.",
    "[2026-03-18 09:04:23 TP0] Using KV cache dtype: torch.bfloat16",
    "[2026-03-18 09:04:23 TP0] KV Cache is allocated. #tokens: 159277, KV size: 10.42 GB",
    "[2026-03-18 09:04:23 TP1] KV Cache is allocated. #tokens: 159277, KV size: 10.42 GB",
    "[2026-03-18 09:04:23 TP0] Memory pool end. avail mem=7.90 GB",
    "[2026-03-18 09:04:24 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=7.80 GB",
    "[2026-03-18 09:04:24 TP0] Capture cuda graph bs [1, 2, 4, 8]",
    "[2026-03-18 09:04:49 TP0] Capture cuda graph end. Time elapsed: 24.10 s. mem usage=0.37 GB. avail mem=7.43 GB.",
    "[2026-03-18 09:04:49 TP0] Load weight begin. avail mem=7.43 GB",
    "[2026-03-18 09:04:53 TP0] Load weight end. elapsed=3.40 s, type=LlamaForCausalLMEagle3, dtype=torch.bfloat16, avail mem=6.48 GB, mem usage=0.95 GB.",
    "[2026-03-18 09:04:53 TP0] KV Cache is allocated. #tokens: 159277, K size: 0.30 GB, V size: 0.30 GB",
    "[2026-03-18 09:04:53 TP0] Memory pool end. avail mem=5.86 GB",
    "[2026-03-18 09:05:04 TP0] max_total_num_tokens=159277, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=48, context_len=262144, available_gpu_mem=5.49 GB",
    '[2026-03-18 09:05:06] INFO:     127.0.0.1:40112 - "GET /model_info HTTP/1.1" 200 OK',
    "[2026-03-18 09:05:07] The server is fired up and ready to roll!",
    "[2026-03-18 09:05:08 TP0] Prefill batch, #new-seq: 1, #new-token: 7, #cached-token: 3, token usage: 0.00, #running-req: 0, #queue-req: 0, input throughput (token/s): 12.50, cuda graph: False",
    "[2026-03-18 09:05:09 TP0] Decode batch, #running-req: 4, #token: 3999, token usage: 0.98, accept len: 2.54, accept rate: 0.71, cuda graph: True, gen throughput (token/s): 301.86, #queue-req: 8",
]


def read(lines: list[str], **options: int) -> LogReading:
    reader = LogReader(**options)
    reader.feed([line.encode("utf-8", "surrogateescape") for line in lines])
    return reader.reading()


def docker_json(lines: list[str]) -> list[str]:
    """json-file driver: lines over 16 KiB come in pieces without a line end."""
    found = []
    for number, line in enumerate(lines):
        text = line + "\n"
        for start in range(0, len(text), 16_384):
            piece = {"log": text[start : start + 16_384], "stream": "stderr", "time": f"2026-03-18T09:30:{number % 60:02d}.5Z"}
            found.append(json.dumps(piece, separators=(",", ":")))
    return found


def cri(lines: list[str]) -> list[str]:
    found = []
    for line in lines:
        pieces = [line[start : start + 16_384] for start in range(0, len(line), 16_384)] or [""]
        found += [f"2026-03-18T09:30:00.5Z stderr {'P' if piece is not pieces[-1] else 'F'} {piece}" for piece in pieces]
    return found


def journal_json(lines: list[str]) -> list[str]:
    return [
        json.dumps({"__REALTIME_TIMESTAMP": "1773826200500000", "_PID": "7", "MESSAGE": list(line.encode()) if number % 2 else line})
        for number, line in enumerate(lines)
    ]


WRAPS = {
    "none": lambda lines: lines,
    "docker json": docker_json,
    "docker -t": lambda lines: [f"2026-03-18T09:30:00.000410551Z {line}" for line in lines],
    "cri": cri,
    "compose": lambda lines: [f"sglang-1  | {line}" for line in lines],
    "journald": lambda lines: [f"Mar 18 09:30:00 gpu-box sglang[4121]: {line}" for line in lines],
    "journald iso": lambda lines: [f"2026-03-18T17:30:00+0800 gpu-box sglang[4121]: {line}" for line in lines],
    "journald json": journal_json,
    "double stamp": lambda lines: [f"2026-03-18 17:30:00 {line}" for line in lines],
    "crlf": lambda lines: [line + "\r" for line in lines],
    "colour": lambda lines: [f"\x1b[2m{line[:4]}\x1b[0m{line[4:]}" for line in lines],
    "cat -n": lambda lines: [f"{number}\t{line}" for number, line in enumerate(lines, 1)],
    "grep -n": lambda lines: [f"{number}:{line}" for number, line in enumerate(lines, 1)],
    "lost bracket": lambda lines: [line[1:] for line in lines],
    "quoted": lambda lines: [f"> {line}" for line in lines],
    "kubectl": lambda lines: [f"[pod/llm-0/sglang] {line}" for line in lines],
    "ray": lambda lines: [f"(Engine pid=41, ip=10.0.0.2) {line}" for line in lines],
    "progress": lambda lines: [f"Loading shards:  50% 1/2\rLoading shards: 100% 2/2\r{line}" for line in lines],
    "glued": lambda lines: [f"Capturing batches (bs=8):  10%|#  | 1/9{line}" for line in lines],
}
