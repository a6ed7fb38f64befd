"""Objects that do nothing: loggers, progress bars, packages that only watch."""

import sys
from collections.abc import Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any, Self

from torch.utils.data import DataLoader

from harness.sandbox.batches.callers import unpacked_into


class Inert:
    """Accepts every call and attribute access, and does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _subplots if name == "subplots" else Inert()

    def __call__(self, *args: Any, **_: Any) -> Any:
        """Nothing; but a function that is decorated with it stays what it is, and what shows the
        progress of batches yields them.
        """
        if len(args) == 1 and isinstance(args[0], FunctionType):
            return args[0]
        batches = next((a for a in args if isinstance(a, DataLoader | Iterator)), None)
        return Inert() if batches is None else SilentProgress(batches)

    def __mro_entries__(self, _bases: tuple[Any, ...]) -> tuple[type, ...]:
        """What a class of the program's own extends, whose methods ask those above them."""
        return (InertBase,)

    def __setitem__(self, key: Any, value: Any) -> None: ...

    def __getitem__(self, key: Any) -> "Inert":
        return Inert()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def __iter__(self) -> Iterator[Any]:
        """Nothing; but as many as wanted where it is taken apart: ``a, b = axes``."""
        return iter([Inert() for _ in range(unpacked_into(1) or 0)])

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True

    def __float__(self) -> float:
        return 0.0

    def __index__(self) -> int:
        return 0

    def __format__(self, spec: str) -> str:
        return "0"

    def __round__(self, _digits: int | None = None) -> "Inert":
        return Inert()

    def __fspath__(self) -> str:
        return "nowhere"

    def _compared(self, other: Any) -> bool:
        """A figure that nobody knows is no better than another, and no reason for anything."""
        return False if isinstance(other, int | float | Inert) else NotImplemented

    __lt__ = __le__ = __gt__ = __ge__ = _compared

    def _among_numbers(self, other: Any) -> Any:
        """Arithmetic of a report; with a tensor there is none, or it would leave the loss."""
        return Inert() if isinstance(other, int | float | Inert) else NotImplemented

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _among_numbers
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _among_numbers


class InertBase(Inert):
    """A tracker of scalars, to be extended."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    add_scalar = add_scalars = add_image = add_images = add_histogram = add_text = Inert()
    add_graph = add_hparams = add_figure = flush = close = log = Inert()


class SilentProfile(Inert):
    """A profiler that measures nothing: a trace of every call costs more than the program."""

    def __init__(self, *_: Any, **__: Any) -> None: ...


def _subplots(*_: Any, **__: Any) -> tuple[Inert, Inert]:
    return Inert(), Inert()


class _Bars(type):
    """What the class of progress bars is asked for: ``tqdm.set_lock``, of a library that has its own."""

    def __getattr__(cls, name: str) -> Inert:
        if name.startswith("__"):
            raise AttributeError(name)
        return Inert()


class SilentProgress(metaclass=_Bars):
    """A progress bar without bar, output or thread."""

    def __init__(self, iterable: Iterable[Any] | None = None, *_: Any, **__: Any) -> None:
        self.iterable = iterable
        self.n = 0

    def __iter__(self) -> Iterator[Any]:
        return iter(self.iterable if self.iterable is not None else ())

    def __len__(self) -> int:
        return len(self.iterable) if hasattr(self.iterable, "__len__") else 0  # type: ignore[arg-type]  # just asked

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    @staticmethod
    def write(*texts: Any, **_: Any) -> None:
        """Print, as the real one does."""
        sys.stdout.write(" ".join(map(str, texts)) + "\n")

    def __getattr__(self, name: str) -> Inert:
        if name.startswith("__"):
            raise AttributeError(name)
        return Inert()


def _its_own_module() -> None:
    """``tqdm.tqdm(...)`` where nobody said whether ``tqdm`` is the module or the class."""
    setattr(SilentProgress, "tqdm", SilentProgress)  # noqa: B010 - mypy knows no such attribute
    setattr(SilentProgress, "trange", staticmethod(progress_range))  # noqa: B010 - as above


def progress_range(*args: int, **_: Any) -> SilentProgress:
    """Stands for ``trange``."""
    return SilentProgress(range(*args))


def install_progress() -> None:
    """Replace tqdm, however a program imports it."""
    _its_own_module()
    for name in ("tqdm", "tqdm.auto", "tqdm.notebook", "tqdm.std", "tqdm.rich"):
        module = ModuleType(name)
        module.__path__ = []
        vars(module).update(tqdm=SilentProgress, trange=progress_range)
        sys.modules[name] = module
