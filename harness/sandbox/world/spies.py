"""Scouts: an unknown name stands for a spy, whose first use tells what it is.

The run ends there, and the job begins anew with the real object under that name.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn, Self

import torch
from torch import Tensor, nn

from harness.sandbox.batches.callers import ResultUse, frame_of_the_program
from harness.sandbox.names.table import table
from harness.sandbox.unbound import NameScouted

ASKED: dict[str, str] = {
    "param_groups": "optimizer", "add_param_group": "optimizer",
    "get_last_lr": "scheduler", "last_epoch": "scheduler",
    "scale": "scaler", "unscale_": "scaler", "get_scale": "scaler",
    "parameters": "model", "named_parameters": "model", "train": "model", "eval": "model",
    "no_sync": "model", "state_dict": "model", "modules": "model", "require_backward_grad_sync": "model",
    "dataset": "loader", "batch_size": "loader", "sampler": "loader",
    "set_epoch": "sampler",
    "prepare": "accelerator", "accumulate": "accelerator", "sync_gradients": "accelerator",
    "no_backward_sync": "fabric", "setup": "fabric", "setup_module": "fabric",
    "clip_gradients": "fabric",
    "update": "logger", "log": "logger", "info": "logger", "add_scalar": "logger", "write": "logger",
    "set_postfix": "logger", "set_description": "logger",
    "unsqueeze": "input", "squeeze": "input", "permute": "input", "unbind": "input", "chunk": "input",
    "reshape": "input", "view": "input", "flatten": "input",
    "detach": "", "backward": "", "requires_grad_": "",
}  # fmt: skip
"""Attributes, and what the object is that is asked for one of them. Which tensor it is, no use tells."""


SIZES = {
    "B": "batch size", "N": "batch size", "V": "outputs", "C": "outputs", "K": "outputs",
    "T": "length", "L": "length", "S": "length", "D": "features",
}  # fmt: skip
"""What one capital letter means as a size; any other name is the width of a hidden layer."""


TAKES_INPUTS = frozenset(
    {"linear", "conv1d", "conv2d", "conv3d", "embedding", "cat", "concat", "flatten"}
)
"""Functions of torch whose first argument is what a model is given."""

OPERATORS = frozenset({
    f"{before}{name}" for before in ("", "r", "i")
    for name in ("add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow")
} | {"lt", "le", "gt", "ge", "eq", "ne"})  # fmt: skip
"""Methods of tensors that leave to the spy what it is, by its own operators."""


Result = Callable[[str, str], Any]
"""What a function returns that is not shown, by its name and the one that the result is given to;
``None`` where these do not tell.
"""


Several = Callable[[str, tuple[str, ...], list[Any]], Any]
"""The same of a result that is taken apart, by the names of its parts, and what it was called with."""


class Spy:
    """Stands for one unknown name."""

    def __init__(
        self,
        name: str,
        result: Result,
        *,
        steps: str = "optimizer",
        several: Several = lambda *_: None,
    ) -> None:
        """``result``: what it returns when called. ``steps``: what it is if it is asked for ``step``
        first. ``several``: what it returns that is taken apart.
        """
        self.__dict__.update(_name=name, _result=result, _steps=steps, _several=several)

    def _is(self, role: str) -> NoReturn:
        raise NameScouted(self._name, role)

    def __getattr__(self, attribute: str) -> Any:
        """What is asked of it says what it is; settings answer anything."""
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        if hasattr(Tensor, attribute) and _asks_in_a_layer(sys._getframe(1)):
            self._is("input")
        self._is(self._steps if attribute == "step" else ASKED.get(attribute, "settings"))

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """A model is called with a batch, a loss with outputs and targets. What changes training and is
        not shown cannot be known.
        """
        everything = [*args, *keywords.values()]
        given = [a for a in everything if isinstance(a, Tensor | tuple | dict)]
        computed = [a for a in given if isinstance(a, Tensor) and a.grad_fn is not None]
        use = ResultUse(frame_of_the_program())
        given_to = use.names[0] if len(use.names) == 1 else ""
        parts = self._several(self._name, use.names, everything) if use.apart else None
        if parts is not None:
            return parts
        part = table().part(given_to)
        if computed and not use.apart:
            behind = len(everything) == 1 and not use.dropped and part != "loss"
            self._is("criterion" if len(given) >= 2 else "transform" if behind else "")
        if given and len(given) == len(everything) and not computed:
            self._is("transform" if part == "input" else "model")
        found = self._result(self._name, given_to)
        if found is not None:
            return found
        trained = (nn.Module, torch.optim.Optimizer, list, Tensor)
        if any(isinstance(a, trained) for a in everything):
            of_a_model = isinstance(everything[0], nn.Module) and not use.dropped
            steps = any(isinstance(a, torch.optim.Optimizer | list) for a in everything)
            self._is("criterion" if of_a_model and not steps else "")
        if use.dropped:
            self._is("effectless")
        return Spy(f"{self._name}()", self._result, steps=self._steps, several=self._several)

    @classmethod
    def __torch_function__(
        cls, function: Any, _: object, args: Any = (), keywords: Any = None
    ) -> Any:
        """A layer or a joining function takes inputs, a loss takes targets behind outputs."""
        name = getattr(function, "__name__", "").strip("_")
        flat = [
            a for given in args for a in (given if isinstance(given, list | tuple) else [given])
        ]
        spy: Spy = next((a for a in flat if isinstance(a, cls)), Spy("", lambda *_: None))
        if name in OPERATORS:
            return NotImplemented
        if name in TAKES_INPUTS:
            spy._is("input")
        if name.endswith("_loss") or "cross_entropy" in name:
            spy._is("target" if args[0] is not spy else "")
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **(keywords or {}))  # which asks for its size, or refuses it

    def __iter__(self) -> Any:
        self._is("loader")

    __next__ = __iter__

    def __len__(self) -> int:  # noqa: PLE0303 - it never returns
        self._is("loader")

    def __getitem__(self, key: Any) -> Any:
        self._is("settings" if isinstance(key, str) else "loader")

    def __contains__(self, key: object) -> bool:
        self._is("path" if isinstance(key, str) else "loader")

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        self._is("model")  # a target, a teacher or an average begins so

    def __enter__(self) -> Self:
        self._is("context")

    def __exit__(self, *_: object) -> None: ...

    def __bool__(self) -> bool:  # noqa: PLE0304 - as above
        self._is("flag off" if self._name.endswith("()") else "flag on")

    def __index__(self) -> int:  # noqa: PLE0305 - as above
        asked_for_its_size.append(self._name)
        self._is("epochs")

    def __format__(self, spec: str) -> str:
        self._is("shown")

    def __float__(self) -> float:
        self._is("max norm")

    def _counts(self, *_: Any) -> Any:
        self._is("accumulation")

    def _bounds(self, *_: Any) -> Any:
        self._is("max norm")

    def __neg__(self) -> float:
        self._is("max norm")

    __rmod__ = __rfloordiv__ = __rtruediv__ = __mod__ = __floordiv__ = __truediv__ = _counts
    __sub__ = __rsub__ = __add__ = __radd__ = __eq__ = _counts
    __lt__ = __le__ = __gt__ = __ge__ = __mul__ = __rmul__ = _bounds
    __hash__ = object.__hash__


def _asks_in_a_layer(frame: FrameType) -> bool:
    """Whether a layer's own code asks, of torch or of a model that is lent."""
    return str(frame.f_globals.get("__name__")).startswith(
        ("torch.nn.modules", "harness.workloads")
    )


asked_for_its_size: list[str] = []
"""Names of spies that had to be whole numbers. Torch swallows what a spy raises then, and says that it
is given no number.
"""


def refused_as_a_size() -> NameScouted | None:
    """What a spy is that torch refused as a size."""
    name = asked_for_its_size[-1] if asked_for_its_size else None
    return None if name is None else NameScouted(name, SIZES.get(name, "hidden"))
