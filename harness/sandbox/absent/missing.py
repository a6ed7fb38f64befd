"""Something of a package that is not here: it may be named; who uses it needs the package."""

from typing import Any, NoReturn, Self

from harness.sandbox.unbound import Unbound


class Missing:
    """Stands for ``package.part``. To call it or to build a class on it ends the program."""

    def __init__(self, path: str, needs: str) -> None:
        """``needs``: completes the sentence that the path begins: "needs torchaudio"."""
        self._path = path
        self._needs = needs

    def __getattr__(self, name: str) -> "Missing":
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Missing(f"{self._path}.{name}", self._needs)

    def _use(self, *_: Any, **__: Any) -> NoReturn:
        raise Unbound(self._path, self._needs)

    __call__ = __mro_entries__ = __iter__ = __enter__ = _use

    def __exit__(self, *_: object) -> None: ...

    def __getitem__(self, key: Any) -> Self:
        return self

    def __or__(self, other: Any) -> Any:  # in annotations: ``package.Thing | None``
        return object

    __ror__ = __or__

    def __instancecheck__(self, thing: Any) -> bool:
        return False

    def __subclasscheck__(self, cls: Any) -> bool:
        return False
