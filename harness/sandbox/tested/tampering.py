"""What tests judge with, before a program is imported and after: it must be the same objects."""

import sys
import types
from collections.abc import Iterator, Mapping

TOPS = (
    "_pytest", "pytest", "pluggy", "builtins", "math", "cmath", "operator", "statistics", "unittest",
    "random", "re", "json", "itertools", "functools", "collections", "copy", "inspect", "numpy.testing",
    "torch.testing",
)  # fmt: skip
"""Packages of which everything counts that is loaded."""

ALONE = (
    "sys", "numpy", "numpy._core.numeric", "torch", "torch._tensor", "torch.functional",
    "torch.nn.functional", "torch.utils.data", "torch.utils.data.dataloader",
)  # fmt: skip
"""Modules of which only they themselves count."""

CHANGING = frozenset({
    "modules", "path_importer_cache", "stdout", "stderr", "last_exc", "last_type", "last_value",
    "last_traceback", "argv", "_", "path", "meta_path", "__warningregistry__", "dont_write_bytecode",
})  # fmt: skip
"""Names that are bound anew without anybody's doing."""

OURS = ("harness.sandbox.tested", "harness.sandbox.channel", "harness.sandbox.recorder.tape")

Fingerprint = Mapping[str, object]
"""What stands under each dotted name."""


def fingerprint() -> Fingerprint:
    """Functions and classes that tests use, with the methods of classes and the code of functions."""
    found: dict[str, object] = {}
    for name, module in list(sys.modules.items()):
        if hasattr(module, "__dict__") and _counts(name):
            for key, value in list(vars(module).items()):
                if key not in CHANGING and _is_tool(value):
                    found[f"{name}.{key}"] = value
                    found.update(_inside(f"{name}.{key}", value))
    return found


def changed(before: Fingerprint, now: Fingerprint) -> str | None:
    """The first name under which something else stands; ``None`` where there is none."""
    nothing = object()
    for name, value in before.items():
        if now.get(name, nothing) is not value:
            return name
    return None


def _counts(name: str) -> bool:
    return name in ALONE or name.startswith((*(f"{top}." for top in TOPS), *OURS)) or name in TOPS


def _is_tool(value: object) -> bool:
    return callable(value) or isinstance(value, type)


def _inside(name: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, types.FunctionType):
        yield f"{name}.__code__", value.__code__
        yield f"{name}.__defaults__", value.__defaults__
    elif isinstance(value, type):
        for key, member in list(vars(value).items()):
            plain = member.__func__ if isinstance(member, staticmethod | classmethod) else member
            if _is_tool(plain):
                yield f"{name}.{key}", plain
                if isinstance(plain, types.FunctionType):
                    yield f"{name}.{key}.__code__", plain.__code__
