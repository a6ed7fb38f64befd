"""Something of a package that is not here: it may be named; who uses it needs the package."""

import sys
from typing import Any, NoReturn, Self

from harness.sandbox.batches.callers import ResultUse
from harness.sandbox.unbound import Unbound

PLAIN = (str, bytes, int, float, bool, type(None))
"""What something may be made of that is only needed later."""


_standing: list[tuple[str, str]] = []
"""What was made and may never be used: its path, and what it needs."""


def needed_by(error: BaseException) -> Unbound | None:
    """What of it a model without any parameters would have been made of; ``None``: no such failure."""
    empty = isinstance(error, ValueError) and "empty parameter list" in str(error)
    return Unbound(*_standing[0]) if empty and _standing else None


class Missing:
    """Stands for ``package.part``. To call it or to build a class on it ends the program; what is made
    of words and numbers alone may stand around until it is used.
    """

    def __init__(self, path: str, needs: str, *, made: bool = False) -> None:
        """``needs``: completes the sentence that the path begins: "needs torchaudio". ``made``: whether
        it is something that was made, or a part of that.
        """
        self._path = path
        self._needs = needs
        self._made = made

    def __getattr__(self, name: str) -> "Missing":
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Missing(f"{self._path}.{name}", self._needs, made=self._made)

    def __call__(self, *args: Any, **kwargs: Any) -> "Missing":
        """Make something. With a tensor, a model or a function it is used, and where nobody takes
        what it makes.
        """
        made = all(map(_is_plain, (*args, *kwargs.values())))
        if self._made or not made or ResultUse(sys._getframe(1)).dropped:
            self._use()
        _standing.append((self._path, self._needs))
        return Missing(self._path, self._needs, made=True)

    @classmethod
    def __torch_function__(cls, _: Any, __: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [*args, *(kwargs or {}).values()]
        next(one for one in given if isinstance(one, cls))._use()

    def _use(self, *_: Any, **__: Any) -> NoReturn:
        raise Unbound(self._path, self._needs)

    __mro_entries__ = __iter__ = __enter__ = __len__ = __int__ = __float__ = __index__ = _use
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __lt__ = __gt__ = (
        _use
    )
    __rtruediv__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __neg__ = __le__ = __ge__ = _use
    __fspath__ = __contains__ = __next__ = _use

    def __bool__(self) -> bool:
        return True if not self._made else self._use()

    def __eq__(self, other: object) -> bool:
        return self is other if not self._made else self._use()

    __hash__ = object.__hash__

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


def _is_plain(thing: Any) -> bool:
    if isinstance(thing, list | tuple):
        return all(map(_is_plain, thing))
    return isinstance(thing, (*PLAIN, Missing))
