"""Which files a candidate may read: worked out once, before any fork.

The interpreter's library, the own folders of each installed distribution but the harness's, a few
device and proc files. Never ``site-packages`` as a whole: the bank of scenarios may be installed
there.
"""

import importlib.metadata
import os
import re
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

OURS = "gradient-skill-harness"
"""The one distribution that no candidate may read: the bank of scenarios is part of it."""

_SITE_FOLDERS = {"site-packages", "dist-packages"}
_SYSTEM = (
    "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero", "/etc/ld.so.cache", "/etc/localtime",
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu", "/sys/devices/system/node", "/usr/lib/locale",
    "/usr/share/zoneinfo",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Readable:
    """Paths that a candidate may read."""

    folders: tuple[str, ...]
    """With everything below."""
    files: tuple[str, ...]
    """Single files."""

    def with_more(self, paths: Iterable[str]) -> "Readable":
        """These, and what lies behind other paths, where there is something."""
        more = [path for path in map(os.path.realpath, paths) if os.path.exists(path)]
        folders = tuple(path for path in more if os.path.isdir(path))
        files = tuple(path for path in more if os.path.isfile(path))
        return Readable(self.folders + folders, self.files + files) if more else self


def find_readable() -> Readable:
    """Collect the paths, as the interpreter that runs this sees them."""
    found = {*_standard_library(), *_system_libraries(), *_SYSTEM}
    for distribution in _distributions():
        found.update(_own_paths(distribution))
    tops = _without_nested({os.path.realpath(path) for path in found if os.path.exists(path)})
    folders = tuple(path for path in tops if os.path.isdir(path))
    return Readable(folders, tuple(path for path in tops if path not in folders))


def _without_nested(paths: set[str]) -> list[str]:
    tops: list[str] = []
    for path in sorted(paths, key=lambda path: path + "/"):
        if not tops or not path.startswith(tops[-1] + "/"):
            tops.append(path)
    return tops


def _standard_library() -> Iterator[str]:
    """As one folder in a virtual environment; piece by piece where packages live inside it."""
    packages = {os.path.realpath(entry) for entry in (*sys.path, *site.getsitepackages())}
    packages.add(os.path.realpath(__file__))
    for root in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}:
        inside = os.path.realpath(root) + "/"
        if any(entry.startswith(inside) and "-packages" in entry for entry in packages):
            yield from (inside + name for name in os.listdir(root) if name not in _SITE_FOLDERS)
        else:
            yield inside


def _system_libraries() -> Iterator[str]:
    """Folders that shared objects came from so far, unless Python packages live below them."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        paths = {line.split(maxsplit=5)[5].rstrip() for line in file if ".so" in line}
    packages = [os.path.realpath(entry) + "/" for entry in sys.path]
    for folder in {os.path.dirname(os.path.realpath(path)) + "/" for path in paths}:
        if not any(entry.startswith(folder) or folder.startswith(entry) for entry in packages):
            yield folder


def _distributions() -> Iterator[importlib.metadata.Distribution]:
    """All that is installed: a program may import what its reader could."""
    for distribution in importlib.metadata.distributions():
        name = str(distribution.metadata["Name"] or "")
        if re.sub(r"[-_.]+", "-", name).lower() != OURS:
            yield distribution


def _own_paths(distribution: importlib.metadata.Distribution) -> set[str]:
    """Top folders and files of one distribution; one level deeper in a namespace package."""
    site = str(distribution.locate_file(""))
    record = distribution.read_text("RECORD") or ""
    # A record of torch has 14,000 lines, and few folders at its top.
    tops = {tuple(line.rsplit(",", 2)[0].split("/", 2)[:2]) for line in record.splitlines()}
    tops = {top for top in tops if top[0] not in ("..", "__pycache__", "")}
    packages = {top[0] for top in tops if top[1:] == ("__init__.py",)}
    return {os.path.join(site, *top[: 1 if _is_whole(top[0], packages) else 2]) for top in tops}


def _is_whole(name: str, packages: set[str]) -> bool:
    return name in packages or name.endswith((".dist-info", ".libs"))
