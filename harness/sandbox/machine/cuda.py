"""``torch.cuda`` on a machine without one: streams do nothing, events read the CPU's clock."""

import collections
import contextlib
import time
from collections.abc import Callable
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import torch

from harness.sandbox.absent.inert import Inert
from harness.sandbox.machine.devices import for_candidates, nothing

MEMORY = 80 * 2**30

_ranks = {"local": 0, "count": 1}


def told(*, local_rank: int, count: int) -> None:
    """Set what ``current_device`` and ``device_count`` return to the program."""
    _ranks.update(local=local_rank, count=count)


class IdleStream(Inert):
    """A stream on which all work is done already."""

    def __init__(self, *_: Any, **__: Any) -> None: ...


class CpuEvent:
    """A point in time on the CPU's clock."""

    clock: Callable[[], float] = staticmethod(time.perf_counter)

    def __init__(self, *_: Any, **__: Any) -> None:
        self._at: float | None = None

    def record(self, *_: Any) -> None:
        """Remember the present time."""
        self._at = CpuEvent.clock()

    def elapsed_time(self, end: "CpuEvent") -> float:
        """Milliseconds from here to ``end``."""
        if self._at is None or end._at is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end._at - self._at) * 1000.0

    def synchronize(self) -> None:
        """Nothing to wait for."""

    wait = synchronize

    def query(self) -> bool:
        """Always done."""
        return True


def clock_of(module: ModuleType) -> None:
    """Read the clock through the program's module, so that a probe takes the read for the program's
    own.
    """

    def read(clock: ModuleType = time) -> float:
        return float(clock.perf_counter())

    # `FunctionType` with the program's globals: whoever asks "who called" finds the program.
    builtins = vars(module).setdefault("__builtins__", __builtins__)
    assert builtins is not None
    CpuEvent.clock = staticmethod(FunctionType(read.__code__, vars(module), "read", (time,)))


def install() -> None:
    """Patch ``torch.cuda``."""
    cuda = torch.cuda
    for name, answer in _answers().items():
        real = getattr(cuda, name, None)
        setattr(cuda, name, for_candidates(answer, real) if name in GUARDED and real else answer)
    for name in NOTHING:
        setattr(cuda, name, nothing)
    types = {"Stream": IdleStream, "ExternalStream": IdleStream, "Event": CpuEvent}
    for name, thing in types.items():
        setattr(cuda, name, thing)
    for name in ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Bool", "Byte"):
        setattr(cuda, f"{name}Tensor", getattr(torch, f"{name}Tensor"))
    for name in ("range_push", "range_pop", "mark", "range"):
        setattr(cuda.nvtx, name, _context)


GUARDED = frozenset(
    {"is_available", "device_count", "current_device", "is_initialized", "is_bf16_supported"}
)
"""Functions that answer torch itself truthfully, and the program as if there were a GPU."""

NOTHING = (
    "set_device", "synchronize", "empty_cache", "ipc_collect", "init", "reset_peak_memory_stats",
    "reset_max_memory_allocated", "reset_max_memory_cached", "reset_accumulated_memory_stats",
    "set_per_process_memory_fraction", "set_rng_state", "set_rng_state_all",
    "set_sync_debug_mode", "manual_seed", "manual_seed_all", "set_stream",
)  # fmt: skip


def _answers() -> dict[str, Callable[..., Any]]:
    zero = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
            "memory_cached", "max_memory_cached", "utilization", "get_sync_debug_mode")  # fmt: skip
    properties = SimpleNamespace(
        name="cpu stand-in", total_memory=MEMORY, major=8, minor=0, multi_processor_count=108
    )
    return {
        **dict.fromkeys(zero, lambda *_, **__: 0),
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "is_bf16_supported": lambda *_, **__: False,  # half precision shows what a scaler is for
        "is_current_stream_capturing": lambda: False,
        "device_count": lambda: _ranks["count"],
        "current_device": lambda: _ranks["local"],
        "get_device_name": lambda *_: properties.name,
        "get_device_properties": lambda *_: properties,
        "get_device_capability": lambda *_: (8, 0),
        "mem_get_info": lambda *_: (MEMORY, MEMORY),
        "memory_summary": lambda *_, **__: "",
        "memory_stats": lambda *_, **__: collections.Counter(),
        "get_rng_state": lambda *_: torch.get_rng_state(),
        "get_rng_state_all": lambda: [torch.get_rng_state()],
        **dict.fromkeys(("current_stream", "default_stream"), IdleStream),
        **dict.fromkeys(("stream", "device", "device_of"), _context),
    }


def _context(*_: Any, **__: Any) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()
