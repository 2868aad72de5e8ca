"""What limits tokens per step: graphs, speculation, all-reduce, clocks, the CPU, bandwidth, arithmetic."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.scenarios.box import Draft
from kvtui.scenarios.catalogue.parts import KIMI_TIMES, LLAMA_TIMES, QWEN8_TIMES, closed, kimi, llama, pick, qwen8
from kvtui.scenarios.situation import Decor, GpuQuirk, Line, Machine, Scenario, Situation, Strength


def _graph(strength: Strength) -> Situation:
    largest, clients = pick(strength, (32, 44), (16, 48), (8, 64))
    return Situation(qwen8(cuda_graph_max_bs=largest), (closed(clients, 600, 900, max_new=1_024),), QWEN8_TIMES)


def _speculation(strength: Strength) -> Situation:
    draft = Draft(accept_len=pick(strength, 1.5, 1.35, 1.15))
    slower = replace(KIMI_TIMES, base_s=0.045)
    return Situation(kimi(0.88, draft=draft), (closed(pick(strength, 40, 42, 44), 900, 900, max_new=2_048),), slower)


def _allreduce(strength: Strength) -> Situation:
    slower = replace(KIMI_TIMES, base_s=pick(strength, 0.05, 0.065, 0.09))
    told = Line(-55.0, "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs. ", every_rank=True)
    machine = Machine(told=True, power_share=pick(strength, 0.5, 0.45, 0.4))
    return Situation(kimi(0.88), (closed(40, 700, 1_500, max_new=2_048),), slower, Decor(lines=(told,)), machine)


def _clocks(strength: Strength) -> Situation:
    quirk = pick(
        strength,
        GpuQuirk(2, sm_share=0.8),
        GpuQuirk(2, reasons=("software thermal slowdown",), sm_share=0.7),
        GpuQuirk(2, reasons=("hardware slowdown", "hardware thermal slowdown"), sm_share=0.45),
    )
    slower = replace(LLAMA_TIMES, base_s=0.022)
    return Situation(llama(), (closed(70, 1_500, 900, max_new=1_024),), slower, machine=Machine(told=True, quirks=(quirk,)))


def _power_cap(strength: Strength) -> Situation:
    quirks = tuple(GpuQuirk(i, reasons=("software power cap",), sm_share=0.92) for i in range(4))
    machine = Machine(told=True, quirks=quirks, power_share=1.0)
    return Situation(llama(), (closed(pick(strength, 130, 145, 160), 1_200, 1_800, max_new=2_048),), LLAMA_TIMES, machine=machine)


def _cpu(strength: Strength) -> Situation:
    decor = Decor(occupancy_pct=pick(strength, 76.0, 64.0, 45.0))
    machine = Machine(told=True, helper_pct=99.0)
    return Situation(llama(), (closed(60, 700, 500, max_new=1_024),), replace(LLAMA_TIMES, base_s=0.026), decor, machine)


def _bandwidth(strength: Strength) -> Situation:
    base = pick(strength, 0.0155, 0.0135, 0.012)
    return Situation(llama(), (closed(64, 400, 1_600, max_new=2_048),), replace(LLAMA_TIMES, base_s=base), machine=Machine(told=True))


def _arithmetic(strength: Strength) -> Situation:
    draft = Draft(algorithm="EAGLE", tokens=pick(strength, 8, 12, 16), steps=5, topk=4, accept_len=3.4, weights_gib=0.9, cell_bytes=4_096)
    box = qwen8(draft=draft, max_running_requests=96)
    return Situation(box, (closed(80, 500, 900, max_new=1_024),), replace(QWEN8_TIMES, base_s=0.02))


STEPS: Final = (
    Scenario(
        "graph-exceeded", "More run than the largest captured batch", "Throughput fell when the load grew past a number.",
        "step", ("cuda-graph",), _graph, demo=True,
    ),
    Scenario(
        "draft-wasted", "A draft that is rarely right", "Speculation is on, many run, and each step yields little more than one token.",
        "step", ("speculation",), _speculation, demo=True,
    ),
    Scenario(
        "pcie-allreduce", "Eight cards without NVLink", "The same batch takes twice as long as elsewhere, and PCIe looks idle.",
        "step", ("allreduce",), _allreduce, views=("log",), demo=True,
    ),
    Scenario(
        "hot-gpu", "One card is slow", "One of four GPUs is held down, and all wait for it.",
        "step", ("clocks",), _clocks, demo=True,
    ),
    Scenario(
        "power-cap", "All cards at their power cap", "A software power cap under load: that is ordinary.",
        "concurrency", ("healthy",), _power_cap, never=("clocks", "kv-capacity", "running-cap", "reservation", "prefill"),
    ),
    Scenario(
        "cpu-bound", "The GPU waits for the host", "Steps leave gaps, and the detokenizer uses a whole core.",
        "step", ("cpu",), _cpu,
    ),
    Scenario(
        "bandwidth-bound", "Memory bandwidth is used up", "Nothing is wrong: a step reads as fast as memory can be read.",
        "step", ("decode-bandwidth",), _bandwidth, views=("log",),
    ),
    Scenario(
        "arithmetic-bound", "Verify steps limited by arithmetic", "Long drafts at a large batch: a thousand tokens a step are computed.",
        "step", ("decode-compute",), _arithmetic, views=("log",),
    ),
)  # fmt: skip
