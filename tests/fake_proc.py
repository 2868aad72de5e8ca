"""A /proc made by hand."""

from pathlib import Path


class FakeProc:
    def __init__(self, root: Path):
        self.root = root / "proc"
        self.root.mkdir()
        self.link("self", "ns/net", "net:[1]")
        self.link("self", "ns/mnt", "mnt:[1]")

    def add(self, pid, words, parent=1, *, env=None, cgroup="0::/user.slice/session-1.scope\n", out=None, err=None, inner=None, group=None):
        """A process; ``None`` for env or cgroup means that the file may not be read."""
        folder = self.root / str(pid)
        folder.mkdir(exist_ok=True)
        raw = words if isinstance(words, bytes) else b"".join(word.encode("utf-8", "surrogateescape") + b"\0" for word in words)
        (folder / "cmdline").write_bytes(raw)
        nspid = f"{pid}\t{inner}" if inner else str(pid)
        (folder / "status").write_text(f"Name:\tx\nState:\tS (sleeping)\nPPid:\t{parent}\nNSpid:\t{nspid}\n")
        self.times(pid, 0, group=group)
        if env is not None:
            (folder / "environ").write_bytes(b"".join(f"{name}={value}".encode() + b"\0" for name, value in env.items()))
        if cgroup is not None:
            (folder / "cgroup").write_text(cgroup)
        self.link(pid, "ns/net", "net:[1]")
        self.link(pid, "ns/mnt", "mnt:[1]")
        for number, target in ((1, out), (2, err)):
            if target is not None:
                self.link(pid, f"fd/{number}", target)
        return pid

    def times(self, pid, ticks, *, group=None, main=None):
        text = "{} (a (b) c) S 1 {} 1 0 -1 0 0 0 0 0 {} 0 0 0 20 0 1 0\n"
        (self.root / str(pid) / "stat").write_text(text.format(pid, group or pid, ticks))
        task = self.root / str(pid) / "task" / str(pid)
        task.mkdir(parents=True, exist_ok=True)
        (task / "stat").write_text(text.format(pid, group or pid, ticks if main is None else main))

    def link(self, pid, name, target):
        path = self.root / str(pid) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(target)
