"""Packages that need not be installed, and the command that brings each."""

from collections.abc import Iterable
from typing import Literal

Package = Literal["lightning", "accelerate", "transformers"]
"""What ``requires`` of a scenario may name."""

EXTRA_OF = {
    "lightning": "lightning",
    "pytorch_lightning": "lightning",
    "lightning_fabric": "lightning",
    "accelerate": "huggingface",
    "transformers": "huggingface",
    "inspect_ai": "inspect",
    "openai": "openai",
    "zstandard": "inspect",
    "ray": "ray",
}
"""The extra of this project that installs a package."""


def how_to_get(packages: Iterable[str]) -> str:
    """``needs the extra huggingface (pip install ...)``."""
    needed = list(packages)
    return f"needs the extra {_extras(needed)} ({how_to_install(needed)})"


def how_to_install(packages: Iterable[str]) -> str:
    """What to type, in a checkout and anywhere else. pip takes the name of what is installed
    already, and adds what the extra asks for.
    """
    extras = _extras(packages)
    return f"pip install 'gradient-skill-harness[{extras}]', or make extras in a checkout"


def _extras(packages: Iterable[str]) -> str:
    return ",".join(sorted({EXTRA_OF[package] for package in packages}))
