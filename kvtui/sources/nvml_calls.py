"""One NVML call at a time: a value, or the reason why not in words that say what to do."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final, TypeVar

import pynvml

from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.parse.redact import safe

T = TypeVar("T")

NOT_SUPPORTED: Final = pynvml.NVML_ERROR_NOT_SUPPORTED
FUNCTION_NOT_FOUND: Final = pynvml.NVML_ERROR_FUNCTION_NOT_FOUND
LOST: Final = frozenset({pynvml.NVML_ERROR_GPU_IS_LOST, pynvml.NVML_ERROR_RESET_REQUIRED})
"""Codes of a GPU that the driver can no longer reach."""
DOWN: Final = frozenset(
    {
        pynvml.NVML_ERROR_UNINITIALIZED,
        pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
        pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
        pynvml.NVML_ERROR_LIBRARY_NOT_FOUND,
    }
)
"""Codes after which no handle is good any more."""

_WORDS: Final = {
    pynvml.NVML_ERROR_UNINITIALIZED: "the driver was unloaded; asked again by itself",
    pynvml.NVML_ERROR_NOT_SUPPORTED: "this GPU does not report it",
    pynvml.NVML_ERROR_NO_PERMISSION: "no permission: run as root, or ask for NVML access",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "the NVIDIA kernel driver is not loaded: see nvidia-smi and dmesg",
    pynvml.NVML_ERROR_TIMEOUT: "the driver timed out",
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: (
        "the NVIDIA driver's library libnvidia-ml.so.1 is not here (no driver, or a container without the NVIDIA runtime)"
    ),
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "this driver is too old to report it",
    pynvml.NVML_ERROR_GPU_IS_LOST: "the GPU is lost: it fell off the bus; see dmesg for Xid 79, then reboot",
    pynvml.NVML_ERROR_RESET_REQUIRED: "the GPU needs a reset: drain it, then nvidia-smi --gpu-reset",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: (
        "the driver was updated but not reloaded (library and kernel module differ): reboot, or reload the module"
    ),
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH: "this driver does not know the call in this form",
    pynvml.NVML_ERROR_INSUFFICIENT_SIZE: "the list grew while it was read",
}

FAILURES: Final = (pynvml.NVMLError, ValueError, TypeError, AttributeError, OSError, ctypes.ArgumentError)
"""What a call of nvidia-ml-py may raise: its own errors, and those of a library that differs from what it expects."""


def code_of(error: Exception) -> int | None:
    """The NVML code of an error, or None where it is none of NVML's."""
    code = getattr(error, "value", None)
    return code if isinstance(error, pynvml.NVMLError) and isinstance(code, int) else None


def words(error: Exception) -> str:
    """One clause for a failed call."""
    code = code_of(error)
    if code is None:
        return f"NVML answered in a form that is not known ({type(error).__name__})"
    return _WORDS.get(code) or f"NVML: {safe(str(error), 80)} (code {code})"


class Asker:
    """Calls on one device in one pass; notes the codes of those that failed."""

    __slots__ = ("at", "codes")

    def __init__(self, at: float) -> None:
        self.at = at
        self.codes: set[int] = set()

    def ask(self, convert: Callable[[Any], T], name: str, *arguments: object, **named: object) -> Known[T] | Missing:
        """``convert`` of what the NVML function answers, or the reason why there is none."""
        return self.first(convert, (name, arguments), **named)

    def first(self, convert: Callable[[Any], T], *calls: tuple[str, tuple[object, ...]], **named: object) -> Known[T] | Missing:
        """The same of the first of several calls that this driver knows."""
        reason = "NVML was not asked"
        for name, arguments in calls:
            try:
                value = convert(getattr(pynvml, name)(*arguments, **named))
            except FAILURES as error:  # noqa: PERF203 (each of the two may fail alone)
                reason = words(error)
                code = code_of(error)
                if code is not None:
                    self.codes.add(code)
                if code != FUNCTION_NOT_FOUND and not isinstance(error, AttributeError):
                    break
            else:
                return Known(value, self.at, Where("nvml", name))
        return Missing(reason)


def count(value: object) -> int:
    """A count, a size or a clock. Raises ValueError for what NVML marks as not available."""
    number = int(value)  # type: ignore[call-overload]
    if not 0 <= number < (1 << 63):
        raise ValueError("not available")
    return int(number)


def label(value: object) -> str:
    """A name, fit for the screen."""
    return safe(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value), 80)


def mapped(reading: Reading[T], part: Callable[[T], object]) -> Reading[Any]:
    """One part of what a call answered."""
    return reading if isinstance(reading, Missing) else Known(part(reading.value), reading.at, reading.where)
