"""Packages beyond torch that scenarios train with, and what brings those that need not be here."""

from collections.abc import Iterable
from typing import Literal

Package = Literal["lightning", "accelerate", "transformers"]
"""What ``requires`` of a scenario may name."""

EXTRA_OF: dict[Package, str] = {"accelerate": "huggingface", "transformers": "huggingface"}
"""The extra of this project that installs a package; the others are always installed."""


def how_to_get(packages: Iterable[Package]) -> str:
    """``needs the extra huggingface (make extras, or pip install '.[huggingface]')``."""
    needed = list(packages)
    extras = _extras(needed)
    return f"needs the extra {extras} ({how_to_install(needed)})" if extras else _plainly(needed)


def how_to_install(packages: Iterable[Package]) -> str:
    """``make extras, or pip install '.[huggingface]'``."""
    return f"make extras, or pip install '.[{_extras(packages)}]'"


def _extras(packages: Iterable[Package]) -> str:
    return ",".join(sorted({EXTRA_OF[p] for p in packages if p in EXTRA_OF}))


def _plainly(packages: Iterable[Package]) -> str:
    return f"needs {', '.join(packages)}"
