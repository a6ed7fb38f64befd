"""What others add: properties and workloads of installed packages, and of a bank that is trusted.

Packages name theirs by entry points (``harness.properties``, ``harness.workloads``). A bank keeps its
own beside its scenarios (``properties/*.py``, ``workloads/*.py``); that is code which runs outside the
jail, so it is loaded only where somebody said that the bank is trusted. Files whose name begins with
an underscore are for the others to import.
"""

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from harness.domain.errors import UserError
from harness.domain.workload import DECLARED, DeclaredWorkload, WorkloadSpec, declare

PROPERTIES = "properties"
"""Folder of a bank's own properties; each file binds ``PROPERTY``, or ``PROPERTIES`` to several."""

WORKLOADS = "workloads"
"""Folder of a bank's own workloads; each file binds ``WORKLOAD``, or ``WORKLOADS`` to several."""

VARIABLE = "HARNESS_TRUSTED_BANKS"
"""Variable that tells the processes which run and measure programs what may be loaded."""

_PACKAGE = "harness_bank"

_trusted: dict[Path, None] = {}


def trust(bank: Path) -> None:
    """Let the code of a bank be loaded, by this process and those that it starts."""
    _trusted[bank.resolve()] = None


def is_trusted(bank: Path) -> bool:
    """Whether somebody said so; the harness's own always is."""
    return bank.resolve() in {*_trusted, default_bank().resolve()}


def banks() -> tuple[Path, ...]:
    """Those whose code may be loaded."""
    home = default_bank()
    return (home, *(bank for bank in _trusted if bank != home.resolve()))


def default_bank() -> Path:
    """The bank that was installed with the package, or that of this checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "bank" / "scenarios"
    return installed if installed.is_dir() else package.parent / "scenarios"


def variables() -> dict[str, str]:
    """What a process that runs or measures programs has to be told."""
    return {VARIABLE: os.pathsep.join(map(str, _trusted))}


def load_where_told() -> None:
    """Add the workloads of all banks that this process was told of, and build each once: in the jail
    nothing can be imported any more. What fails is told by whoever reads the bank.
    """
    told = os.environ.pop(VARIABLE, "").split(os.pathsep)
    with suppress(UserError):
        load_installed_workloads()
    for bank in (default_bank(), *map(Path, filter(None, told))):
        with suppress(UserError):
            load_workloads(bank)
    for one in DECLARED.values():
        with suppress(Exception):
            one.builder(WorkloadSpec(name=one.name, parameters=one.parameters()))


def code_of(bank: Path) -> tuple[Path, ...]:
    """The files of its own that a bank brings, in the order in which they are loaded."""
    return tuple(file for part in (WORKLOADS, PROPERTIES) for file in _files(bank / part))


def load_installed() -> None:
    """Add what installed packages bring. Once in a process.

    Raises:
        UserError: one of them cannot be imported, or adds what is there.
    """
    load_installed_workloads()
    _load_installed_properties()


@cache
def load_installed_workloads() -> None:
    """The same for workloads alone, where nothing is judged."""
    for name, found in _installed("harness.workloads"):
        add_workloads(_as_several(found), name)


@cache
def _load_installed_properties() -> None:
    for name, found in _installed("harness.properties"):
        _add_properties(_as_several(found), name)


@cache
def load_code(bank: Path) -> None:
    """Add what a trusted bank brings. Once in a process.

    Raises:
        UserError: a file cannot be imported, binds nothing, or adds what is there.
    """
    load_workloads(bank)
    for file in _files(bank / PROPERTIES):
        _add_properties(_bound(file, "PROPERTY", "PROPERTIES"), str(file))


@cache
def load_workloads(bank: Path) -> None:
    """The same for workloads alone."""
    for file in _files(bank / WORKLOADS):
        add_workloads(_bound(file, "WORKLOAD", "WORKLOADS"), str(file))


def add_workloads(found: Iterable[object], origin: str) -> None:
    """Declare workloads. ``origin``: who brings them, for complaints."""
    for one in found:
        if not isinstance(one, DeclaredWorkload):
            raise UserError(
                f"{origin}: type {type(one).__name__} is no DeclaredWorkload of harness.domain.workload"
            )
        try:
            declare(one)
        except ValueError as error:
            raise UserError(f"{origin}: {error}") from error


def _add_properties(found: Iterable[object], origin: str) -> None:
    from harness.properties import PROPERTIES, Property

    for one in found:
        if not isinstance(one, Property):
            raise UserError(
                f"{origin}: type {type(one).__name__} is no Property of harness.properties"
            )
        if PROPERTIES.setdefault(one.id, one) != one:
            raise UserError(f"{origin}: there is a property {one.id} already")


def _installed(group: str) -> Iterator[tuple[str, object]]:
    for entry in entry_points(group=group):
        try:
            yield f"entry point {entry.name} of {group}", entry.load()
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            raise UserError(f"entry point {entry.name} of {group}: {said}") from error


def _files(folder: Path) -> Sequence[Path]:
    found = folder.glob("*.py") if folder.is_dir() else ()
    return sorted(file for file in found if not file.name.startswith("_"))


def _bound(file: Path, one: str, several: str) -> tuple[object, ...]:
    module = _imported(file)
    found = _as_several(getattr(module, one, getattr(module, several, ())))
    if not found:
        raise UserError(f"{file}: binds no name {one}, nor {several} to several")
    return found


def _as_several(found: object) -> tuple[object, ...]:
    return tuple(found) if isinstance(found, list | tuple) else (found,)


def _imported(file: Path) -> ModuleType:
    """The module in a file. Its folder is its package, so that ``from . import _rows`` works."""
    folder = _package(file.parent)
    name = f"{folder}.{file.stem}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise UserError(f"{file}: {type(error).__name__}: {error}") from error
    return module


@cache
def _package(folder: Path) -> str:
    """The name of a package that stands for a folder, the same in every process: parameters of a
    workload travel by the name of their class.
    """
    digest = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]
    name = f"{_PACKAGE}_{folder.name}_{digest}"
    package = sys.modules[name] = ModuleType(name)
    package.__path__ = [str(folder)]
    return name
