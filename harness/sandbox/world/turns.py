"""The loop around code that is written for one batch. A *turn* is one iteration of it."""

import ast
import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from harness.domain.event import LENT_LOSS
from harness.sandbox.batches.transitions import PARTS as MEMORY
from harness.sandbox.world.answers import another_loss
from harness.sandbox.world.lending import MOMENT, Lender
from harness.sandbox.world.policies import MET
from harness.sandbox.world.reading import DEFINITIONS, clears
from harness.syntax import dotted, walk

APART = ("input", "loss")
"""Roles of which several names mean several things."""

OF_A_TURN = MOMENT | {"target", "mask", "count", "lengths", "step", *MET, *MEMORY}
"""Roles whose values a turn sets."""


class Turns:
    """One pass over the data; each turn yields the values for one batch."""

    def __init__(self, lender: Lender, roles: dict[str, str], tree: ast.AST) -> None:
        """``roles``: the names to set in each turn. ``tree``: the code, which says what it does."""
        self._lender = lender
        self._roles = roles
        does = lender.reading.does(tree)
        self.clears = not clears(lender.reading.tree)
        self.steps = "step" not in does
        whole = lender.reading.takes_losses and not self.clears and not self.steps
        self.goes_back = (
            "backward" not in does and not whole
        )  # who computes a loss has forgotten it
        self._window = next((n for n in lender.names if lender.role(n) == "accumulation"), None)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        lender = self._lender
        every, last = self._every(), len(lender.values.batches) - 1
        for index, batch in enumerate(lender.values.batches):
            lender.data.on_batch(0, index, "train")
            lender.data.publish(batch, index)
            if self.clears and index % every == 0:
                self._optimizer().zero_grad()
            moment = self._moment(index, lender.data.leaves(batch))
            if self.goes_back:
                self._scaled(moment["loss"]).backward()
            found = self._apart({name: moment[role] for name, role in self._roles.items()}, moment)
            vars(lender.module).update(found)
            yield found
            if self.steps and (index % every == every - 1 or index == last):
                self._optimizer().step()

    def _apart(self, found: dict[str, Any], moment: dict[str, Any]) -> dict[str, Any]:
        """Inputs of several names are not the same rows: two views, or labelled and unlabelled ones.
        Losses of several names are not the same loss.
        """
        inputs, losses = ([n for n, r in self._roles.items() if r == role] for role in APART)
        for place, name in enumerate(inputs[1:], start=1):
            found[name] = found[name].roll(place, 0)
        for place, name in enumerate(losses[1:], start=1):
            found[name] = another_loss(found[name], moment["output"], place)
        return found

    def _scaled(self, loss: torch.Tensor) -> torch.Tensor:
        """The loss as a scaler of the program's wants it, which the program has not seen."""
        scalers = [n for n in self._lender.names if self._lender.role(n) == "scaler"]
        scaler = vars(self._lender.module).get(scalers[0]) if scalers else None
        return loss if scaler is None else scaler.scale(loss)

    def _every(self) -> int:
        """Micro-batches of one update, where the loop clears and steps."""
        if self._window is None or not (self.clears and self.steps):
            return 1
        own = vars(self._lender.module).get(self._window)
        count = own if isinstance(own, int) else self._lender.values.number("accumulation")
        return max(1, int(count))

    def _moment(self, index: int, parts: dict[str, Any]) -> dict[str, Any]:
        wanted = {*self._roles.values(), *(["loss"] if self.goes_back else [])}
        moment = copy.copy(parts)  # which makes what of a memory is asked for
        moment.update(step=index, batch=self._lender.data.shape.build(parts))
        if wanted & {"output", "loss"}:
            moment["output"] = self._model()(parts["input"])
        if "loss" in wanted:
            moment["loss"] = self._lender.values.criterion(moment["output"], parts["target"])
        return moment

    def _model(self) -> nn.Module:
        """The model as the program has it by now: wrapped, if it wrapped it."""
        made = vars(self._lender.module).values()
        wrapped = [v for v in made if isinstance(v, DistributedDataParallel)]
        return wrapped[0] if wrapped else self._lender.model()

    def _optimizer(self) -> Optimizer:
        """The program's own optimizer, where it has made one."""
        made = [v for v in vars(self._lender.module).values() if isinstance(v, Optimizer)]
        return made[0] if made else self._lender.values.the_optimizer()

    def said(self) -> str:
        """What the loop supplies, in words."""
        supplied = (
            ("zero_grad before", self.clears),
            ("backward before", self.goes_back),
            ("step after", self.steps),
        )
        found = [what for what, is_wanted in supplied if is_wanted]
        extra = f", with {' and '.join(found)} each batch" if found else ""
        above = f" {LENT_LOSS}" if "loss" in self._roles.values() else ""
        return f"written for one batch{above}: run for every batch of the loader{extra}"


class Windows:
    """Code that draws its batches itself and makes one update: repeated for the whole of the data."""

    def __init__(self, lender: Lender) -> None:
        """``lender`` counts the batches."""
        self._lender = lender

    def __iter__(self) -> Iterator[None]:
        before = -1
        while before < self._lender.data.handed < len(self._lender.values.batches):
            before = self._lender.data.handed
            yield

    @staticmethod
    def said() -> str:
        """In words."""
        return "written for one update: repeated for the whole of the data"


def first_use(tree: ast.Module, names: set[str]) -> int:
    """Index of the first module-level statement, definitions left out, that mentions one of them."""
    for index, statement in enumerate(tree.body):
        if not isinstance(statement, DEFINITIONS) and any(
            isinstance(n, ast.Name) and n.id in names for n in walk(statement)
        ):
            return index
    return len(tree.body)


def is_around_a_step(statement: ast.stmt, names: set[str | None]) -> bool:
    """Whether a statement uses an optimizer or a scaler of these names now, or clips."""
    nodes = walk(statement)
    used = any(isinstance(n, ast.Name) and n.id in names for n in nodes)
    clips = any(isinstance(n, ast.Call) and "clip" in dotted(n) for n in nodes)
    return (used or clips) and not any(isinstance(n, ast.Lambda) for n in nodes)


def makes_updates(statement: ast.stmt) -> bool:
    """Whether each turn of a loop goes backward and steps, whatever else it does."""
    if not isinstance(statement, ast.For | ast.While):
        return False
    kinds = ast.Expr | ast.Assign | ast.AugAssign | ast.FunctionDef  # a closure for its step
    plain = [s for s in statement.body if isinstance(s, kinds)]
    called = {
        node.func.attr
        for part in plain
        for node in walk(part)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    return {"backward", "step"} <= called


def with_clearing(tree: ast.Module, start: int) -> int:
    """One earlier, if a clearing of the gradients stands right before it and there is no other.

    ``optimizer.zero_grad()`` does not mention the batch. Left outside the loop, it would make a
    right answer one that never clears.
    """
    if any(clears(statement) for statement in tree.body[start:]):
        return start
    while start > 0 and clears(tree.body[start - 1]):
        start -= 1
    return start
