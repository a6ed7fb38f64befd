"""Frameworks that an extra brings: which of them are here, and what a program lacks without."""

from importlib.machinery import PathFinder

from harness.domain.packages import EXTRA_OF, how_to_install


def is_here(package: str) -> bool:
    """Whether a package is installed: not whether something can be imported under its name."""
    return PathFinder.find_spec(package) is not None


def absent(package: str) -> str | None:
    """What a program lacks that imports this package, if an extra has it and it is not installed
    here; else ``None``.
    """
    if package not in EXTRA_OF or is_here(package):
        return None
    return f"needs {package}, which is not installed here ({how_to_install([package])})"
