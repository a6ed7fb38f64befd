"""Fills in what an example leaves out because every reader knows it: the loop, the loss, the step.

An example that shows four lines of a turn is executed as these four lines in a loop over a loader.
What was filled in is named; nothing that stands there is changed.
"""

import ast
from dataclasses import dataclass, field

from harness.checking.shape import (
    Loop,
    apart,
    assigned,
    called,
    calls_of,
    missing_loss,
    model_name,
    optimizer_name,
    over_batches,
    read,
    steps_optimizer,
    subscripts,
    training_loop,
    works_on_gradients,
)
from harness.checking.standins import define_helpers, define_rest, define_trainer, fill_ellipses
from harness.skills.kinds import uses

_INPUTS = ("inputs", "input", "x", "data", "batch", "images", "features", "xb", "tokens")
_TARGETS = ("targets", "target", "y", "labels", "label", "yb")
_ITS_INPUTS, _ITS_TARGETS = "_inputs", "_targets"


@dataclass(frozen=True, slots=True)
class Completed:
    """A program that can be run by itself, up to names that the workload supplies."""

    program: str
    """Module-level Python."""
    added: tuple[str, ...] = ()
    """What was filled in, in words."""


def complete(code: str, *, accumulates: bool) -> Completed:
    """``accumulates``: whether the text around it speaks of windows of several micro-batches."""
    tree = ast.parse(code)
    added = [*fill_ellipses(tree), *define_helpers(tree), *define_trainer(tree)]
    if not uses(tree).calls & {"Trainer"} and "LightningModule" not in code:
        loop = training_loop(tree)
        added += _fill(tree, loop) if loop else _wrap(tree, accumulates=accumulates)
        added += define_rest(tree)
    return Completed(ast.unparse(ast.fix_missing_locations(tree)), tuple(added))


def _wrap(tree: ast.Module, *, accumulates: bool) -> list[str]:
    """A turn gets its loop, and what is missing in it. Returns what was filled in."""
    setup, turn = apart(tree.body)
    body = ast.Module(body=turn, type_ignores=[])
    if not works_on_gradients(body):
        return []
    work = _Turn(body, model_name(tree), accumulates=accumulates)
    tree.body = [*setup, *work.in_a_loop()]
    return work.added


@dataclass(slots=True)
class _Turn:
    """The statements of one turn, without a loop around them."""

    body: ast.Module
    model: str
    accumulates: bool
    added: list[str] = field(default_factory=list)

    @property
    def windowed(self) -> bool:
        """Whether several turns make one update."""
        return self.accumulates and not steps_optimizer(self.body)

    def in_a_loop(self) -> list[ast.stmt]:
        before, after = self._before(), self._after()
        whole = ast.Module(body=[*before, *self.body.body, *after], type_ignores=[])
        head = "optimizer.zero_grad()\n" if self.windowed else ""
        opening = ast.parse(f"{head}for _i, {_loop_target(whole)} in enumerate(train_loader): pass")
        loop = opening.body[-1]
        assert isinstance(loop, ast.For)
        loop.body = whole.body
        self.added.append("the loop around it")
        return opening.body

    def _before(self) -> list[ast.stmt]:
        used, loss = uses(self.body).calls, missing_loss(self.body, assigned(self.body))
        lines: list[ast.stmt] = []
        if "zero_grad" not in used and not self.windowed:
            lines += ast.parse(f"{optimizer_name(self.body)}.zero_grad()").body
            self.added.append("zero_grad")
        if loss is not None:
            text = f"criterion({self.model}({_ITS_INPUTS}), {_ITS_TARGETS})"
            lines.append(_forward(loss, text, scaled="scale" in used))
            self.added.append("the forward pass")
        if "backward" not in used:
            lines += ast.parse(f"{loss or 'loss'}.backward()").body
            self.added.append("backward")
        return lines

    def _after(self) -> list[ast.stmt]:
        used = uses(self.body).calls
        if steps_optimizer(self.body):
            return self._update_of_the_scale(used)
        self.added.append("the update")
        step = "scaler.step(optimizer)\nscaler.update()" if "scale" in used else "optimizer.step()"
        if self.windowed:
            return _under("(_i + 1) % accumulation_steps == 0", f"{step}\noptimizer.zero_grad()")
        if used & {"isnan", "isfinite"} and "loss" in assigned(self.body):
            return _under("torch.isfinite(loss)", step)  # it stops before a bad loss is used
        return ast.parse(step).body

    def _update_of_the_scale(self, used: frozenset[str]) -> list[ast.stmt]:
        """``scaler.step`` where the line after it goes without saying."""
        through_scaler = any("scaler" in ast.unparse(c.func) for c in calls_of(self.body, "step"))
        if not through_scaler or "update" in used:
            return []
        self.added.append("the scaler's update")
        return ast.parse("scaler.update()").body


def _loop_target(turn: ast.Module) -> str:
    """What the loop binds: the turn's own names of inputs and targets, or a whole batch."""
    free = read(turn) - assigned(turn)
    inputs = next((n for n in _INPUTS if n in free), _ITS_INPUTS)
    targets = next((n for n in _TARGETS if n in free), _ITS_TARGETS)
    for node in ast.walk(turn):
        if isinstance(node, ast.Name) and node.id in (_ITS_INPUTS, _ITS_TARGETS):
            node.id = inputs if node.id == _ITS_INPUTS else targets
    return "batch" if subscripts(turn, "batch") else f"({inputs}, {targets})"


def _fill(tree: ast.Module, loop: Loop) -> list[str]:
    """A loop that leaves out its forward pass gets one. Returns what was filled in."""
    added = _take_loss_of_output(loop)
    name = missing_loss(loop, assigned(tree))
    if name is None or not isinstance(loop, ast.For) or not over_batches(loop):
        return added
    inputs, targets = _unpacked(loop)
    text = f"criterion({model_name(tree)}({inputs}), {targets})"
    loop.body.insert(0, _forward(name, text, scaled="scale" in uses(loop).calls))
    added.append("the forward pass")
    windowed = any(isinstance(n, ast.Mod) for n in ast.walk(loop))
    if "zero_grad" not in uses(tree).calls and not windowed:
        loop.body = [*ast.parse(f"{optimizer_name(tree)}.zero_grad()").body, *loop.body]
        added.append("zero_grad")
    return added


def _take_loss_of_output(loop: Loop) -> list[str]:
    """``loss = model(batch)``: the model of a workload returns its output, not its loss."""
    for statement in loop.body if isinstance(loop, ast.For) else ():
        if (
            isinstance(statement, ast.Assign)
            and isinstance(statement.targets[0], ast.Name)
            and statement.targets[0].id == "loss"
            and isinstance(statement.value, ast.Call)
            and called(statement.value) in ("model", "net")
        ):
            assert isinstance(loop, ast.For)
            inputs, targets = _unpacked(loop)
            text = f"criterion({called(statement.value)}({inputs}), {targets})"
            statement.value = ast.parse(text, mode="eval").body
            return ["the loss that the model returns"]
    return []


def _unpacked(loop: ast.For) -> tuple[str, str]:
    """Names of inputs and targets in a loop over batches; a batch that is one name is unpacked."""
    enumerated = isinstance(loop.iter, ast.Call) and called(loop.iter) == "enumerate"
    outer = loop.target
    inner = outer.elts[-1] if enumerated and isinstance(outer, ast.Tuple) else outer
    if isinstance(inner, ast.Tuple):
        names = [e.id for e in inner.elts if isinstance(e, ast.Name)]
        if len(names) == 2:
            return names[0], names[1]
    pair = ast.Tuple(
        elts=[ast.Name(n, ast.Store()) for n in (_ITS_INPUTS, _ITS_TARGETS)], ctx=ast.Store()
    )
    if inner is outer:
        loop.target = pair
    elif isinstance(outer, ast.Tuple):
        outer.elts[-1] = pair
    return _ITS_INPUTS, _ITS_TARGETS


def _forward(loss: str, text: str, *, scaled: bool) -> ast.stmt:
    line = f"{loss} = {text}"
    if scaled:
        line = f'with torch.amp.autocast("cuda", dtype=torch.float16):\n    {line}'
    return ast.parse(line).body[0]


def _under(condition: str, lines: str) -> list[ast.stmt]:
    found = ast.parse(f"if {condition}: pass").body
    assert isinstance(found[0], ast.If)
    found[0].body = ast.parse(lines).body
    return found
