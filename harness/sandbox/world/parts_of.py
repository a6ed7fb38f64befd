"""Names that a program has for parts of the model that it is lent: ``model.encoder.blocks[-1]``."""

import ast
import functools
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torch import nn
from torch.optim import Optimizer

from harness.sandbox.batches.callers import FILENAME
from harness.sandbox.names.table import words
from harness.sandbox.world.reading import ProgramReading, last_name

FRONT = re.compile(
    r"enc|back|body|base|trunk|embed|emb|feat|bottom|first|front|pre|stem|(layer|block|stage|conv)\d"
    r"|lora_?[Aa]"
)
BACK = re.compile(r"dec|head|class|cls|clf|dom(ain)?$|top|fc|out|last|final|proj|lora(?!_?[Aa])")
"""Words of what lies in front in a model, and of what lies behind."""

NAMED = "_named_by_the_program"
"""Where a model keeps the names that the program has for its parameters."""

SWITCHING = frozenset(
    {"enable", "enabled", "disable", "disabled", "print", "compile", "save", "push"}
)
"""Words in names of methods whose effect on a lent model is left out: it computes the same without."""

MEASURING = frozenset({"mfu", "flops", "num", "count", "n"})
"""Words in names of methods that say a number of a model: ``model.get_num_params()``."""

LOSSES = frozenset({"loss", "losses"})
"""Words in names of methods that compute one."""

TRAINING = frozenset({"backward", "step", "sync", "fit", "update", "learn", "optimize"})
"""Words in names of methods that train, or that wrappers of models have: what such a one does is not
known.
"""

ONLY_MODULES = frozenset({
    "parameters", "named_parameters", "modules", "named_modules", "children", "eval", "train",
})  # fmt: skip
"""Attributes that modules have and tensors have not."""

LISTS = frozenset({"blocks", "layers", "layer", "stages", "convs", "resblocks"})
"""What the list of a part's own parts is called."""


def name_parts(model: nn.Module, reading: ProgramReading) -> None:
    """Give the model's first part and the rest of it the names under which the program reads them.

    They stay what they are: only the program is told its own names for parameters.
    """
    children = trainable(model)
    if len(children) < 2:
        return
    front, back = front_of(model, children), children[-1]
    told = _told_by_name(reading)
    of_modules = _asked_as_modules(reading) | {name for name, begins in told.items() if begins}
    asked = _asked(reading) | {*told}
    behind = any(BACK.match(name) for name in asked - LISTS)
    named: dict[str, str] = {}
    for name in sorted(asked, key=lambda one: (one in told, one)):
        part = (
            children[: -1 if behind else None]
            if name in LISTS
            else back
            if BACK.match(name)
            else front
        )
        if name in LISTS or BACK.match(name) or FRONT.match(name) or name in of_modules:
            _call(model, name, part)
            parts = part if isinstance(part, list) else [part]
            own = {id(p): n for n, p in model.named_parameters()}
            named |= {own[id(p)]: f"{name}.{own[id(p)]}" for one in parts for p in one.parameters()}
    for part in (front, *children):
        inner = trainable(part)
        for name in LISTS if inner else ():
            _call(part, name, inner)
    if told:
        _call_parameters(model, named)
        refuse_nothing()


def _call_parameters(model: nn.Module, named: dict[str, str]) -> None:
    """Have ``model.named_parameters()`` say these names, by the model's own, where the program asks; a
    copy of the model says them too.
    """
    vars(model)[NAMED] = named
    original = nn.Module.named_parameters

    @functools.wraps(original)
    def shown(self: nn.Module, *args: Any, **kwargs: Any) -> Iterator[tuple[str, nn.Parameter]]:
        asks = sys._getframe(1).f_code.co_filename.startswith(FILENAME)
        names = vars(self).get(NAMED, {}) if asks else {}
        return ((names.get(n, n), p) for n, p in original(self, *args, **kwargs))

    setattr(nn.Module, "named_parameters", shown)  # noqa: B010 - mypy refuses otherwise


def refuse_nothing() -> None:
    """Groups that are chosen by names which nothing lent has are all empty: torch refuses one empty
    list, and takes several.
    """
    original = Optimizer.__init__

    @functools.wraps(original)
    def made(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if not any(group["params"] for group in self.param_groups):
            raise ValueError("optimizer got an empty parameter list")

    setattr(Optimizer, "__init__", made)  # noqa: B010 - mypy refuses otherwise


def _told_by_name(reading: ProgramReading) -> dict[str, bool]:
    """Parts that a program tells by the names of parameters, and whether names have to begin so:
    ``name.startswith("encoder.")``, ``"head" in name``.
    """
    if "named_parameters" not in reading.called:
        return {}
    found: dict[str, bool] = {}
    for node in reading.nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr="startswith"), args=[start]):
                texts = start.elts if isinstance(start, ast.Tuple) else [start]
                found |= dict.fromkeys(_part_in(texts), True)
            case ast.Compare(left=ast.Constant() as text, ops=[ast.In() | ast.NotIn()]):
                found |= {name: found.get(name, False) for name in _part_in([text])}
    return found


def _part_in(texts: Iterable[ast.expr]) -> Iterator[str]:
    for text in texts:
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            first = text.value.removeprefix("module.").partition(".")[0]
            if first.isidentifier() and first != "module":
                yield first


def name_methods(
    model: nn.Module, name: str, reading: ProgramReading, loss: Callable[..., Any]
) -> None:
    """Give the model methods that only the reader's own has: ``model.loss(x, y)``; one that no word
    tells does what the model does, as ``model.encode(x)``. ``name``: of the model in the program.
    """
    asked = _asked(reading) | reading.asked_of(name) | reading.asked_of_kept(name)
    for method in asked & reading.called:
        said = {*words(method)}
        if said & LOSSES:
            _call(model, method, functools.partial(loss, model))
        elif said & SWITCHING:
            _call(model, method, lambda *_, **__: None)
        elif said & MEASURING:
            _call(model, method, lambda *_, **__: 1)
        elif method == "get_input_embeddings":
            for embedding in (m for m in model.modules() if isinstance(m, nn.Embedding)):
                _call(model, method, functools.partial(_itself, embedding))
        elif not said & TRAINING:
            _call(model, method, functools.partial(_called, model))


def _called(model: nn.Module, *args: Any, **keywords: Any) -> Any:
    return model(*args, **keywords)


def _itself(module: nn.Module) -> nn.Module:
    return module


def trainable(module: nn.Module) -> list[nn.Module]:
    """Its parts that have parameters."""
    return [c for c in module.children() if any(True for _ in c.parameters())]


def _call(module: nn.Module, name: str, part: object) -> None:
    if not hasattr(module, name):
        vars(module)[name] = part


def front_of(model: nn.Module, children: list[nn.Module]) -> nn.Module:
    """All but the last part with parameters, as one."""
    if len(children) == 2:
        return children[0]
    every = list(model.children())
    return nn.Sequential(*every[: every.index(children[-1])])


def _asked_as_modules(reading: ProgramReading) -> set[str]:
    """Attributes of which something is read that only modules have: ``model.bert.parameters()``."""
    return {
        node.value.attr
        for node in reading.nodes
        if isinstance(node, ast.Attribute)
        and node.attr in ONLY_MODULES
        and isinstance(node.value, ast.Attribute)
    }


def _asked(reading: ProgramReading) -> set[str]:
    """Attributes that are read of what is called like a model."""
    return {
        node.attr
        for node in reading.nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and reading.table.role(last_name(node.value) or "", "objects") == "model"
    }
