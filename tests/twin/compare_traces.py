"""The twin beside recorded runs of the real scheduler: same request list, measured step times. Prints a table.

    python tests/twin/compare_traces.py [FOLDER] [--all]

FOLDER (default: ``shared/traces`` beside the repository) holds one run a folder: requests.jsonl, input.log[.gz],
flags.txt, label.json and, for twin runs, summary.json. Without ``--all`` only runs that log every step are shown.
"""

import gzip
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from kvtui.domain.release import parse_release
from kvtui.twin import Demand, Server, StepTimes, Summary, TwinRequest, simulate, summarise

DECODE = re.compile(
    r"Decode batch.*?#running-req: (\d+).*?token usage: ([\d.]+).*?gen throughput \(token/s\): ([\d.]+).*?#queue-req: (\d+)"
)
PREFILL = re.compile(r"Prefill batch.*?#new-seq: (\d+), #new-token: (\d+).*?#queue-req: (\d+)")
RETRACT = re.compile(r"Retract requests\.?.*?#retracted_reqs: (\d+)")


@dataclass(frozen=True)
class Measured:
    """One recorded run: its step times, and what its log says it did."""

    times: StepTimes
    mean_running: float
    peak_running: int
    mean_queued: float
    mean_usage: float
    admissions_per_min: float
    retractions: int
    seconds: float


def read_log(folder):
    packed = folder / "input.log.gz"
    if packed.exists():
        with gzip.open(packed, "rt", errors="replace") as lines:
            return lines.read()
    return (folder / "input.log").read_text(errors="replace")


def measure(log, requests, interval=1, since=""):
    """Step times and totals from a log that prints every ``interval`` decode steps; lines stamped before ``since`` are warm-up."""
    by_running, prefills, pending = {}, [], []
    weight = running = queued = usage = 0.0
    peak = retractions = 0
    disturbed = False
    for line in log.splitlines():
        if line[1:20] < since and line[:1] == "[":
            continue
        if found := PREFILL.search(line):
            pending.append(int(found[2]))
        elif found := RETRACT.search(line):
            retractions += int(found[1])
            disturbed = True
        elif found := DECODE.search(line):
            count, rate = int(found[1]), float(found[3])
            peak = max(peak, count)
            seconds = count * interval / rate if rate > 0 else 9.0
            if count and seconds < max(1.0, 0.02 * interval):
                weight += seconds
                running += count * seconds
                queued += int(found[4]) * seconds
                usage += float(found[2]) * seconds
                if pending:
                    prefills.append((len(pending), sum(pending), count, seconds))
                elif not disturbed:
                    by_running.setdefault(count, []).append(seconds / interval)
            pending, disturbed = [], False
    total = max(r["end_s"] for r in requests) - min(r["send_s"] for r in requests)
    return Measured(
        step_times(by_running, prefills, interval),
        running / weight,
        peak,
        queued / weight,
        usage / weight,
        60 * sum(r["finish"] in ("stop", "length") for r in requests) / total,
        retractions,
        total,
    )


def step_times(by_running, prefills, interval=1):
    """A decode table, and a line through what the prefill passes added."""
    if sum(map(len, by_running.values())) < 5:
        raise ValueError("its log has too few decode steps without a prefill before them to read step times from")
    table = tuple((count, sum(times) / len(times)) for count, times in sorted(by_running.items()) if len(times) >= 3)
    decode = StepTimes(measured=table)
    rows = [(passes, tokens, seconds - interval * decode.decode_s(count)) for passes, tokens, count, seconds in prefills]
    pass_s, token_s = least_squares(rows) if len(rows) >= 3 else (0.0, 0.0)
    return StepTimes(measured=table, prefill_pass_s=pass_s, prefill_token_s=token_s)


def least_squares(rows):
    """a and b, neither negative, of ``a·passes + b·tokens``."""
    pp = sum(p * p for p, _, _ in rows)
    pt = sum(p * t for p, t, _ in rows)
    tt = sum(t * t for _, t, _ in rows)
    ps = sum(p * s for p, _, s in rows)
    ts = sum(t * s for _, t, s in rows)
    det = pp * tt - pt * pt
    if det > 1e-9 * pp * tt:
        a, b = (ps * tt - ts * pt) / det, (pp * ts - pt * ps) / det
        if a >= 0 and b >= 0:
            return a, b
        return (ps / pp, 0.0) if b < 0 else (0.0, ts / tt)
    return ps / pp, 0.0


def flag(flags, name, fallback):
    found = re.findall(rf"--{name} (\S+)", flags)
    return type(fallback)(found[-1]) if found else fallback


def server_of(folder, label):
    flags = (folder / "flags.txt").read_text()
    return Server(
        pool_tokens=flag(flags, "max-total-tokens", 4096),
        running_cap=flag(flags, "max-running-requests", 16),
        release=parse_release(label["release"]),
        chunk=flag(flags, "chunked-prefill-size", 512),
        conservativeness=flag(flags, "schedule-conservativeness", 1.0),
        page=flag(flags, "page-size", 1),
        radix="--disable-radix-cache" not in flags,
        context_len=flag(flags, "context-length", 4096),
    )


def opening(log, clients, times, chunk, since="", page=1):
    """Seconds at which the first request of each client reached the scheduler, in order.

    All clients begin at once, but the HTTP server hands their requests over one after the other, over some passes,
    and that order of events decides who shares a pass. A pass shows it: those it admits and those it leaves waiting
    are all that had come when it began; a decode step shows how many wait.
    """
    at, fresh, cut, arrivals = 0.0, 0, False, []
    for line in log.splitlines():
        if line[1:20] < since and line[:1] == "[":
            continue
        if found := PREFILL.search(line):
            fresh += int(found[1]) - cut
            waiting = int(found[3])
            cut = chunk - page < int(found[2]) <= chunk
            seconds = times.prefill_s(int(found[2]))
        elif fresh and (found := DECODE.search(line)) and int(found[1]):
            waiting = int(found[4])
            seconds = times.decode_s(int(found[1]))
        else:
            continue
        arrivals += [at] * (min(clients, fresh + waiting) - len(arrivals))
        at += seconds
        if len(arrivals) >= clients:
            break
    return arrivals + [at] * (clients - len(arrivals))


def demand_of(requests, clients, arrivals=()):
    """The list as it was sent; the clients' first requests in the order of their first tokens.

    Requests of one pass have their first tokens together, so that their order in the queue stays unknown: where two
    of them are unlike and the second just does not fit, the twin and the recorded run part company.
    """
    ordered = sorted(requests, key=lambda r: r["id"])
    first = sorted(ordered[: len(arrivals)], key=lambda r: (r["first_s"] is None, r["first_s"]))
    listed = tuple(
        TwinRequest(
            arrivals[index] if index < len(arrivals) else r["arrival_s"],
            r["prompt_tokens"],
            r["min_new_tokens"],
            r["max_new_tokens"],
            shared_prefix=r.get("shared_prefix_tokens") or 0,
            forced_length=True,
        )
        for index, r in enumerate([*first, *ordered[len(arrivals) :]])
    )
    return Demand(requests=listed, clients=clients)


def play(folder):
    """(measured, simulated, label) of one recorded run."""
    label = json.loads((folder / "label.json").read_text())
    requests = [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]
    if any(r.get("dp_rank") is not None for r in requests):
        raise ValueError("more than one scheduler: the twin is one data-parallel rank")
    if "restart" in str(label.get("notes", "")) or not label.get("closed"):
        raise ValueError("no single closed loop: idle gaps and restarts hide the step times in its log")
    interval = flag((folder / "flags.txt").read_text(), "decode-log-interval", 40)
    log, since, clients = read_log(folder), str(label.get("t0_log") or ""), int(label["closed"])
    measured = measure(log, requests, interval, since)
    # A run that the driver cut short is compared up to the cut.
    cut = any(r["finish"] == "cut by the driver" for r in requests)
    server = server_of(folder, label)
    demand = demand_of(requests, clients, opening(log, clients, measured.times, server.chunk, since, server.page) if interval == 1 else ())
    states = simulate(server, demand, measured.times, until=measured.seconds if cut else None)
    return measured, summarise(states), label


def row(name, measured, twin: Summary):
    def share(ours, theirs):
        return f"{100 * (ours / theirs - 1):+6.1f}%" if theirs else "      -"

    return (
        f"{name:28} running {measured.mean_running:6.2f} {twin.mean_running:6.2f} {share(twin.mean_running, measured.mean_running)}"
        f"  peak {measured.peak_running:3d} {twin.peak_running:3d}"
        f"  queue {measured.mean_queued:6.2f} {twin.mean_queued:6.2f}"
        f"  usage {measured.mean_usage:5.3f} {twin.mean_usage:5.3f}"
        f"  adm/min {measured.admissions_per_min:7.1f} {twin.finished_per_min:7.1f} {share(twin.finished_per_min, measured.admissions_per_min)}"
        f"  retractions {measured.retractions:3d} {twin.retractions:3d}"
        f"  total {measured.seconds:6.2f} {twin.seconds:6.2f} s {share(twin.seconds, measured.seconds)}"
    )


def main(argv):
    every = "--all" in argv
    rest = [arg for arg in argv if not arg.startswith("--")]
    folder = Path(rest[0]) if rest else Path(__file__).resolve().parents[2].parent / "shared" / "traces"
    for run in sorted(path.parent for path in folder.glob("*/requests.jsonl")):
        label = json.loads((run / "label.json").read_text()) if (run / "label.json").exists() else {}
        if label.get("kind") == "twin" or (every and (label.get("numbers") or {}).get("run")):
            try:
                measured, twin, _ = play(run)
                sys.stdout.write(row(run.name, measured, twin) + "\n")
            except (KeyError, ValueError, ZeroDivisionError, TypeError) as error:
                sys.stdout.write(f"{run.name:28} not comparable: {error}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
