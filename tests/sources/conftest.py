"""What the tests of sources share: a clock moved by hand, and the NVML library without a driver."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

FAKES = Path(__file__).resolve().parents[1] / "fakes"


class HandClock:
    def __init__(self, at=1_000_000.0):
        self.at = at

    def now(self):
        return self.at

    async def sleep(self, seconds):
        self.at += seconds


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory):
    """The fake libnvidia-ml.so.1, compiled once; skips where there is no compiler."""
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        pytest.skip("no C compiler")
    path = tmp_path_factory.mktemp("nvml") / "libnvidia-ml.so.1"
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1"]
    subprocess.run([compiler, *flags, "-o", str(path), str(FAKES / "fake_nvml.c")], check=True)
    return path


class FakeDriver:
    """The state that the library reads at each call."""

    def __init__(self, path):
        self.path = path
        self.values = {}

    def put(self, values):
        self.values.update(values)
        self.values = {name: value for name, value in self.values.items() if value is not None}
        new = self.path.with_suffix(".new")
        new.write_text("".join(f"{name} {value}\n" for name, value in self.values.items()))
        # The library may read while a test writes.
        new.replace(self.path)


@pytest.fixture
def driver(nvml_library, tmp_path, monkeypatch):
    ctypes.CDLL(str(nvml_library), mode=ctypes.RTLD_GLOBAL)
    fake = FakeDriver(tmp_path / "nvml.state")
    fake.put({"count": 1})
    monkeypatch.setenv("FAKE_NVML_STATE", str(fake.path))
    monkeypatch.setenv("PATH", str(tmp_path))
    return fake
