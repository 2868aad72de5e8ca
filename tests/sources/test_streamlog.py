"""A log that a program prints: its lines as frames."""

from kvtui.domain.health import SourceHealth
from kvtui.sources.streamlog import StreamLogSource

BOOT = [
    b"[2026-03-18 09:00:15 TP0] Load weight begin. avail mem=94.04 GB",
    b"[2026-03-18 09:04:22 TP0] Load weight end. elapsed=1 s, type=X, avail mem=21.71 GB, mem usage=72.33 GB.",
    b"[2026-03-18 09:05:04 TP0] max_total_num_tokens=159277, context_len=262144, available_gpu_mem=5.49 GB",
]


class Clock:
    def now(self):
        return 5.0


class Lines:
    dropped = 0
    health = SourceHealth("log", "docker x", "live")

    def __init__(self, lines):
        self.lines, self.stopped = lines, False

    def start(self):
        pass

    def drain(self):
        lines, self.lines = self.lines, []
        return lines

    def stop(self):
        self.stopped = True

    async def close(self):
        pass


async def test_a_record_behind_hours_of_a_progress_bar_is_read():
    bar = b"\r".join(b"Loading shards: %d%% Completed | [00:00<00:01, 2.1it/s]" % (n % 100) for n in range(9_000))
    stream = Lines([BOOT[0], bar + b"\r" + BOOT[1] + b"\r", BOOT[2]])
    source = StreamLogSource(stream, Clock())
    frame = await source.read()
    assert [memory.loads[0].end_gib.value for memory in frame.boot.ranks] == [21.71]
    assert frame.boot.final.where.line == 3
    source.stop()
    assert stream.stopped
    await source.close()
