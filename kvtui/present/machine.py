"""The machine: GPUs with their clocks and links, who holds their memory, host memory, processes, sources; each with its age."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from kvtui.domain.frame import Frame, SourceHealth
from kvtui.domain.gpu import Gpu, GpuProcess, GpuReading
from kvtui.domain.host import HostReading, ProcessUse
from kvtui.domain.process import FoundServer
from kvtui.domain.reading import Known, Reading
from kvtui.domain.units import duration, gib
from kvtui.present import glyphs
from kvtui.present.figures import NONE
from kvtui.present.line import BLANK, Line, Span, Tone, cells, clean, clip, clip_line, line_cells, pad, pad_left, wrap
from kvtui.present.state import ViewState

_ORDINARY: Final = frozenset(("software power cap", "idle"))
"""Clock reasons that a loaded or an idle GPU shows all day."""
_OLD_S: Final = 10.0
MOST: Final = 64
"""Processes of one list that are shown."""


def machine_lines(state: ViewState, width: int) -> tuple[Line, ...]:
    """All that is known of the machine in lines of at most ``width`` columns."""
    frame = state.analysis.frame
    lines: list[Line] = [*_gpus(frame, width), BLANK, *_host(frame, width), BLANK, *_sources(frame, width)]
    return tuple(clip_line(line, width) for line in lines)


def gpu_hint(frame: Frame) -> tuple[str, Tone]:
    """What of the GPUs a person should know at once, in one line; empty where there is nothing to say."""
    if frame.gpus is None:
        return "", "dim"
    reading = frame.gpus
    if not reading.gpus or reading.stale:
        return (reading.health.reason or "no GPU was seen", "warn") if reading.health.state != "live" else ("", "dim")
    bad = [f"{gpu.label} {text}" for gpu in reading.gpus for text in gpu_faults(gpu)]
    if bad:
        return f"{glyphs.WARN} " + "; ".join(bad[:4]) + (f"; {len(bad) - 4} more" if len(bad) > 4 else ""), "warn"
    watts = [gpu.power.value for gpu in reading.gpus if isinstance(gpu.power, Known)]
    degrees = [gpu.temperature.value for gpu in reading.gpus if isinstance(gpu.temperature, Known)]
    clocks = [gpu.clocks.sm.value for gpu in reading.gpus if isinstance(gpu.clocks.sm, Known)]
    parts = [f"{_span(watts)} W" if watts else "", f"{_span(clocks)} MHz" if clocks else "", f"{_span(degrees)} °C" if degrees else ""]
    said = " · ".join(part for part in parts if part)
    return (f"{said} · m machine" if said else ""), "dim"


def gpu_faults(gpu: Gpu) -> tuple[str, ...]:
    """What is amiss with one GPU, in a few words each."""
    if gpu.lost:
        return ("is lost: the driver no longer reaches it",)
    found = []
    if isinstance(gpu.clocks.reasons, Known):
        found += [f"clocks held by {reason}" for reason in gpu.clocks.reasons.value if reason not in _ORDINARY and "idle" not in reason]
    if _is(gpu.errors.remap_failed):
        found.append("row remap failed: exchange the card")
    elif _is(gpu.errors.remap_pending):
        found.append("row remap pending: reset the GPU")
    if isinstance(gpu.errors.uncorrected, Known) and gpu.errors.uncorrected.value > 0:
        found.append(f"{gpu.errors.uncorrected.value:,} uncorrected ECC errors")
    return tuple(found)


def _is(reading: Reading[bool]) -> bool:
    return isinstance(reading, Known) and reading.value


def _span(values: list[float] | list[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,.0f}" if round(low) == round(high) else f"{low:,.0f}–{high:,.0f}"


def _number(reading: Reading[float] | Reading[int], unit: str = "", of: Reading[float] | Reading[int] | None = None) -> str:
    if not isinstance(reading, Known) or not math.isfinite(reading.value):
        return NONE
    top = f"/{of.value:,.0f}" if isinstance(of, Known) and math.isfinite(of.value) else ""
    return f"{reading.value:,.0f}{top}{unit}"


def _size(reading: Reading[int] | Reading[float]) -> str:
    return f"{gib(reading.value):,.2f} GiB" if isinstance(reading, Known) and math.isfinite(reading.value) else NONE


def _heading(name: str, said: str, at: float | None, frame: Frame) -> Line:
    spans = [Span(name, "strong"), Span(f"  {said}" if said else "", "dim")]
    if at is not None and frame.now is not None:
        old = max(0.0, frame.now - at)
        spans.append(Span(f"  read {duration(old)} ago", "warn" if old > _OLD_S else "dim"))
    return tuple(spans)


def _told(text: str, width: int, tone: Tone = "note") -> list[Line]:
    return [(Span("  "), Span(part, tone)) for part in wrap(clean(text), max(10, width - 2))]


# -- GPUs -----------------------------------------------------------------------------------------


def _gpus(frame: Frame, width: int) -> list[Line]:
    reading = frame.gpus
    if reading is None:
        return [
            _heading("GPUs", "", None, frame),
            *_told("The server was not found among this machine's processes: no GPU is read.", width),
        ]
    driver = f"driver {clean(reading.driver.value, 40)}" if isinstance(reading.driver, Known) else ""
    lines = [_heading("GPUs", driver, reading.at, frame)]
    if reading.health.reason:
        lines += _told(reading.health.reason, width, "note" if reading.health.state == "live" else "warn")
    for note in reading.notes:
        lines += _told(note, width, "warn")
    for gpu in reading.gpus:
        lines += _gpu(gpu, width)
    return [*lines, *_holders(reading, frame.found)]


def _gpu(gpu: Gpu, width: int) -> list[Line]:
    name = clean(gpu.name.value, 44) if isinstance(gpu.name, Known) else ""
    if isinstance(gpu.memory, Known):
        memory = gpu.memory.value
        used = f"{gib(memory.total - memory.free):,.2f} of {gib(memory.total):,.2f} GiB used"
    else:
        used = f"memory unknown: {clean(gpu.memory.reason, 120)}"
    busy = f"{_number(gpu.utilisation, '%')} busy"
    power, clocks = _number(gpu.power, " W", gpu.power_limit), _number(gpu.clocks.sm, " MHz", gpu.clocks.sm_max)
    figures = " · ".join((busy, power, _number(gpu.temperature, " °C"), clocks))
    # Of a name its end is told best without; of a figure nothing is.
    name = clip(name, max(8, width - 10 - cells(used)))
    head: Line = (Span(pad(gpu.label, 8), "label"), Span(f"{name}  ", "text"), Span(used, "strong"))
    whole: Line = (*head, Span(f" · {figures}", "text"))
    # Figures that have no room beside the name go on below it: half of one says nothing.
    heads = [whole] if line_cells(whole) <= width else [head, (Span(" " * 8), Span(figures, "text"))]
    told = wrap(" · ".join(part.replace(" ", "\u00a0") for part in _details(gpu)), max(10, width - 8))
    lines: list[Line] = [*heads, *((Span(" " * 8), Span(part.replace("\u00a0", " "), "dim")) for part in told)]
    lines += [(Span(" " * 8), Span(f"{glyphs.WARN} {clean(fault)}", "warn")) for fault in gpu_faults(gpu)]
    for part in gpu.instances[:16]:
        size = _size(Known(part.memory.value.total)) if isinstance(part.memory, Known) else NONE
        named = clean(part.name.value, 40) if isinstance(part.name, Known) else "unnamed"
        lines.append((Span(" " * 8), Span(f"MIG {part.index}: {named}, {size}", "text")))
    return [clip_line(line, width) for line in lines]


def _details(gpu: Gpu) -> list[str]:
    link, errors = gpu.pcie, gpu.errors
    parts = []
    if isinstance(link.generation, Known) and isinstance(link.width, Known):
        best = (link.max_generation, link.max_width)
        top = f" of gen {best[0].value} ×{best[1].value}" if isinstance(best[0], Known) and isinstance(best[1], Known) else ""
        parts.append(f"PCIe gen {link.generation.value} ×{link.width.value}{top}")
    if isinstance(link.received, Known) and isinstance(link.sent, Known):
        parts.append(f"in {link.received.value / 1e9:.2f} out {link.sent.value / 1e9:.2f} GB/s")
    if isinstance(gpu.nvlinks, Known):
        parts.append(f"{gpu.nvlinks.value} NVLinks" if gpu.nvlinks.value else "no NVLink")
    if isinstance(gpu.numa_node, Known):
        parts.append(f"NUMA {gpu.numa_node.value}")
    if isinstance(gpu.clocks.reasons, Known) and gpu.clocks.reasons.value:
        parts.append("clocks: " + ", ".join(gpu.clocks.reasons.value))
    if isinstance(errors.ecc, Known):
        pairs = ((errors.corrected, "corrected"), (errors.remapped_corrected, "rows remapped"))
        counts = [f"{_number(reading)} {word}" for reading, word in pairs if isinstance(reading, Known)]
        parts.append(f"ECC {', '.join(counts) or 'on'}" if errors.ecc.value else "ECC off")
    if _is(gpu.mig):
        parts.append("MIG on")
    if gpu.unified:
        parts.append("shares the host's memory")
    return parts or ["nothing more is told"]


def _holders(reading: GpuReading, found: FoundServer | None) -> list[Line]:
    """Who holds GPU memory: the server's processes, and apart from them others'."""
    ours = found.pids if found is not None else frozenset()
    titles = {process.pid: process.title for process in found.processes} if found is not None else {}
    held: dict[int, list[tuple[Gpu, GpuProcess]]] = {}
    for gpu in reading.gpus:
        for process in gpu.processes.value if isinstance(gpu.processes, Known) else ():
            held.setdefault(process.pid, []).append((gpu, process))
    lines: list[Line] = []
    for own in (True, False):
        pids = [pid for pid in held if (pid in ours) is own]
        if not pids:
            continue
        name = "this server's processes on the GPUs" if own else "other processes on the GPUs, not this server's"
        lines.append((Span(f"  {name}", "label" if own else "warn"),))
        for pid in pids[:MOST]:
            places = ", ".join(f"{gpu.label} {_size(process.memory)}" for gpu, process in held[pid][:16])
            lines.append((Span(f"  {pad_left(str(pid), 9)}  "), Span(places, "strong"), Span(f"  {clean(titles.get(pid, ''), 80)}", "dim")))
    return lines


# -- host -----------------------------------------------------------------------------------------


def _host(frame: Frame, width: int) -> list[Line]:
    host = frame.host
    if host is None:
        return [_heading("Host", "", None, frame), *_told("The server was not found on this machine: its host is not read.", width)]
    lines = [_heading("Host", "", host.at, frame)]
    if host.health.reason:
        lines += _told(host.health.reason, width, "warn")
    lines += [(Span(f"  {pad(name, 12)}", "label"), Span(text)) for name, text in _facts(host)]
    if host.processes:
        lines.append(
            (
                Span(
                    f"  {pad_left('pid', 9)}  {pad_left('resident', 11)} {pad_left('CPU', 7)} {pad_left('1st thread', 11)}  process",
                    "label",
                ),
            )
        )
        lines += [_process(use) for use in host.processes[:MOST]]
    return lines


def _facts(host: HostReading) -> Iterable[tuple[str, str]]:
    yield "memory", f"{_size(host.memory_available)} available of {_size(host.memory_total)}"
    if isinstance(host.swap_total, Known) and host.swap_total.value == 0:
        yield "swap", "none"
    else:
        flow = f", in {_rate(host.swap_in)}, out {_rate(host.swap_out)}"
        yield "swap", f"{_size(host.swap_used)} used of {_size(host.swap_total)}{flow}"
    if isinstance(host.pressure, Known):
        yield "pressure", f"some {host.pressure.value.some:.1f}%, full {host.pressure.value.full:.1f}% of the last 10 s waited for memory"
    else:
        yield "pressure", f"unknown: {clean(host.pressure.reason, 120)}"
    if isinstance(host.cgroup, Known):
        group = host.cgroup.value
        kills = f", {group.out_of_memory_kills.value} killed for it" if isinstance(group.out_of_memory_kills, Known) else ""
        limit = _size(group.limit) if isinstance(group.limit, Known) else "no limit"
        yield "limit", f"{limit}, {_size(group.current)} in use, {_size(group.cache)} of it cache{kills}"
    else:
        yield "limit", f"unknown: {clean(host.cgroup.reason, 120)}"
    if isinstance(host.nodes, Known) and len(host.nodes.value) > 1:
        yield "NUMA", ", ".join(f"{node.index}: {gib(node.free):,.1f} of {gib(node.total):,.1f} GiB free" for node in host.nodes.value[:16])
    if isinstance(host.load, Known):
        yield "load", f"{host.load.value[0]:.2f} over 1 min, {host.load.value[1]:.2f} over 5, {_number(host.cpus)} CPUs"


def _rate(reading: Reading[float]) -> str:
    return f"{reading.value / 1e6:,.1f} MB/s" if isinstance(reading, Known) else NONE


def _process(use: ProcessUse) -> Line:
    main = use.main_thread_cpu
    hot = isinstance(main, Known) and main.value >= 95
    return (
        Span(f"  {pad_left(str(use.pid), 9)}  {pad_left(_size(use.rss), 11)} {pad_left(_number(use.cpu, '%'), 7)} "),
        Span(pad_left(_number(main, "%"), 11), "warn" if hot else "text"),
        Span(f"  {clean(use.title, 120)}", "dim"),
    )


# -- sources --------------------------------------------------------------------------------------


def _sources(frame: Frame, width: int) -> list[Line]:
    lines: list[Line] = [(Span("Sources", "strong"),)]
    for source in frame.sources:
        lines += _source(source, frame, width)
    return lines


def _source(source: SourceHealth, frame: Frame, width: int) -> list[Line]:
    sign, tone = glyphs.SOURCES[source.state]
    age = ""
    if source.last_at is not None and frame.now is not None:
        age = f"  newest value {duration(max(0.0, frame.now - source.last_at))} ago"
    head: Line = (Span(f"  {sign} ", tone), Span(pad(clean(source.name, 12), 13), "label"), Span(pad(source.state, 8)), Span(age, "dim"))
    return [head, *([(Span("    "), *line[1:]) for line in _told(source.reason, width - 2)] if source.reason else [])]
