"""Whether a process still runs."""

from pathlib import Path


def alive(pid: int) -> bool:
    """False for a zombie too: it is dead, only nobody has collected it yet."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
