"""What a block is run with beside what its page shows: a loss, a turn of a loop, a fit; and how
long. Pure.
"""

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from harness.checking.errors import is_closed
from harness.checking.session import BlockInContext, last_of
from harness.extraction.names import free_names, statements
from harness.extraction.own_world import is_a_step_of_lightning
from harness.sandbox.names.table import table
from harness.skills.kinds import uses
from harness.syntax import dotted, walk


def in_a_turn(program: BlockInContext) -> BlockInContext:
    """Lines that clip, with the backward before them and the step after them; others as they are."""
    used = uses(program.tree)
    if not used.clips or used.goes_back or used.steps:
        return program
    found = re.search(r"(\w+)\.(?:named_)?parameters\(", program.text)
    model = found[1] if found else "model"
    before = f"loss = criterion({model}(inputs), targets)\nloss.backward()"
    after = "optimizer.step()\noptimizer.zero_grad()"
    text = f"{before}\n{program.text}\n{after}"
    return replace(program, text=text, lines=(0, 0, *program.lines, 0, 0), own=program.own + 2)


def trained(program: BlockInContext) -> BlockInContext:
    """An optimizer that its block makes and nobody steps, with a loop around it; others as they are."""
    used = uses(program.tree)
    made = [
        target.id
        for node in program.tree.body
        if program.is_own(node.lineno) and isinstance(node, ast.Assign)
        if isinstance(node.value, ast.Call) and dotted(node.value.func).startswith("torch.optim.")
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    if not made or used.goes_back or used.steps:
        return program
    turn = (
        "for inputs, targets in train_loader:",
        f"    {made[-1]}.zero_grad()",
        f"    criterion({_model_of(program.tree)}(inputs), targets).backward()",
        f"    {made[-1]}.step()",
    )
    text = "\n".join((program.text, *turn))
    return replace(program, text=text, lines=(*program.lines, *(0 for _ in turn)))


def with_losses(program: BlockInContext) -> BlockInContext:
    """Loops that go back from a loss which nobody computes, and loops and functions in which it is left
    out (``loss = ...``), with that loss.
    """
    tree = program.tree
    names = {*free_names(statements(tree)), *(_left_out(node) for node in walk(tree))}
    free = sorted(n for n in names if table().role(n) == "loss")
    lines, numbers = program.text.split("\n"), list(program.lines)
    loops = [n for n in walk(tree) if isinstance(n, _TURNS) and program.is_own(n.lineno)]
    for loop in sorted(loops, key=lambda n: -n.lineno):
        name = next((n for n in free if _goes_back_from(loop, n)), None)
        inner = (n for s in loop.body for n in walk(s) if isinstance(n, _TURNS))
        if name is None or any(_goes_back_from(n, name) for n in inner):
            continue
        alone = [s for s in walk(loop) if isinstance(s, ast.stmt) and _is_alone(s, lines)]
        gap = next((s for s in alone if _left_out(s) == name), None)
        back = (s for s in alone if isinstance(s, ast.Expr) and _goes_back_from(s, name))
        before = gap or (next(back, None) if isinstance(loop, ast.For) else None)
        if before is None:
            continue
        batch = (isinstance(loop, ast.For) and _batch_of(loop)) or ("inputs", "targets")
        at = before.lineno - 1
        indent = lines[at][: before.col_offset]
        made = f"{indent}{name} = criterion({_model_of(tree)}({batch[0]}), {batch[1]})"
        replaced = slice(at, at + 1 if gap else at)
        lines[replaced], numbers[replaced] = [made], [0]
    return replace(program, text="\n".join(lines), lines=tuple(numbers))


_TURNS = (ast.For, ast.FunctionDef)


def prepared(program: BlockInContext) -> BlockInContext:
    """A block that makes an Accelerator, goes back by it and prepares nothing, with what it trains
    prepared, as the page that it is taken from has done; others as they are.
    """
    tree = program.tree
    calls = (s for s in tree.body if isinstance(s, ast.Assign) and isinstance(s.value, ast.Call))
    made = next((s for s in calls if dotted(s.value).endswith("Accelerator")), None)
    used = uses(tree).calls
    if made is None or "prepare" in used or not {"accumulate", "step"} <= used:
        return program
    own = [n for s in tree.body if program.is_own(s.lineno) for n in walk(s)]
    bound = {n.id for n in own if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    read = {n.id for n in own if isinstance(n, ast.Name)} - bound
    roles = ("model", "optimizer", "loader", "scheduler")
    names = sorted(n for n in read if table().role(n, "objects") in roles)
    if not names or not program.is_own(made.lineno):
        return program
    given, lines = ", ".join(names), program.text.split("\n")
    at = made.end_lineno or made.lineno
    lines.insert(at, f"{given} = {dotted(made.targets[0])}.prepare({given})")
    numbers = (*program.lines[:at], *program.lines[at - 1 :])
    return replace(program, text="\n".join(lines), lines=numbers)


def leaves_clearing_out(program: BlockInContext) -> bool:
    """Whether it is a sketch, to which something is lent, and nothing in it clears gradients. To a loop
    in a function its reader can add nothing, nor to a step that Lightning calls.
    """
    nodes = walk(program.tree)
    if any(map(is_a_step_of_lightning, nodes)):
        return False
    within = (n for f in nodes if isinstance(f, ast.FunctionDef) for n in walk(f))
    if any(isinstance(n, ast.For | ast.While) and "step" in uses(n).calls for n in within):
        return False
    asked = (n for n in nodes if isinstance(n, ast.Attribute))
    clears = any(n.attr == "zero_grad" or _is_cleared(n) for n in asked)
    return not (clears or is_closed(program))


def _is_cleared(node: ast.Attribute) -> bool:
    """``p.grad = None`` and ``p.grad.zero_()``."""
    return node.attr == "zero_" or (node.attr == "grad" and isinstance(node.ctx, ast.Store))


def forgets_backward(tree: ast.Module) -> bool:
    """Whether a loop clears, computes a loss and steps, and hands that loss to nobody: what it leaves
    out is no part of a sketch.
    """
    for loop in (n for n in walk(tree) if isinstance(n, ast.For)):
        calls = [n for s in loop.body for n in walk(s) if isinstance(n, ast.Call)]
        done = {last_of(call.func) for call in calls}
        losses = {
            target.id
            for n in walk(loop)
            if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call) and len(n.value.args) > 1
            for target in n.targets
            if isinstance(target, ast.Name) and _has_a_call(n.value)
        }
        handed = {
            n.id for call in calls for a in call.args for n in walk(a) if isinstance(n, ast.Name)
        }
        if {"zero_grad", "step"} <= done and losses - handed and not losses & handed:
            return not any("backward" in name or name == "grad" for name in done)
    return False


def _has_a_call(call: ast.Call) -> bool:
    """``criterion(model(x), y)``."""
    return any(isinstance(argument, ast.Call) for argument in call.args)


def _left_out(node: ast.AST) -> str:
    """The name that a statement leaves to its reader: ``loss`` of ``loss = ...``."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
        return ""
    return dotted(node.targets[0]) if node.value.value is ... else ""


def _is_alone(node: ast.stmt, lines: Sequence[str]) -> bool:
    """Whether nothing stands before it on its line."""
    return not lines[node.lineno - 1][: node.col_offset].strip()


def _goes_back_from(tree: ast.AST, name: str) -> bool:
    """Whether ``loss.backward()``, ``(loss / n).backward()`` or ``scaler.scale(loss)`` is in it."""
    return any(
        isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr in ("backward", "scale")
        and any(isinstance(m, ast.Name) and m.id == name for m in walk(n))
        for n in walk(tree)
    )


def _batch_of(loop: ast.For) -> tuple[str, str] | None:
    """Input and target of its turns: ``data, target`` of ``for i, (data, target) in ...``."""
    target, iterated = loop.target, dotted(loop.iter)
    if isinstance(loop.iter, ast.Call) and loop.iter.args:
        iterated = dotted(loop.iter.args[0])
        if dotted(loop.iter.func) == "enumerate" and isinstance(target, ast.Tuple):
            target = target.elts[-1]
    if table().role(iterated.rpartition(".")[2], "objects") != "loader":
        return None
    if isinstance(target, ast.Name):
        return f"{target.id}[0]", f"{target.id}[1]"
    names = [e.id for e in getattr(target, "elts", ()) if isinstance(e, ast.Name)]
    return (names[0], names[1]) if len(names) > 1 else None


def _model_of(tree: ast.Module) -> str:
    """The name of the model whose parameters its optimizer or its clip takes."""
    taken = (n for n in walk(tree) if isinstance(n, ast.Attribute) and n.attr == "parameters")
    return next((n.value.id for n in taken if isinstance(n.value, ast.Name)), "model")


def fitted(program: BlockInContext) -> BlockInContext:
    """A trainer of Lightning that nobody lets train, and a module that nobody trains, with what is
    missing of model and data lent.
    """
    if "lightning" not in program.text or uses(program.tree).calls & {"fit", "train"}:
        return program
    own = [node for node in program.tree.body if program.is_own(node.lineno)]
    bases = {"LightningModule"}
    for node in program.tree.body:
        if isinstance(node, ast.ClassDef) and bases & {last_of(base) for base in node.bases}:
            bases.add(node.name)
    trainers = [
        target.id
        for node in own
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name) and last_of(node.value.func) == "Trainer"
    ]
    modules = [node.name for node in own if isinstance(node, ast.ClassDef) and node.name in bases]
    if trainers:
        fit = f"{trainers[-1]}.fit({_FITTED})"
    elif modules:
        text = "\n".join(program.text.split("\n")[program.own :])
        gathers = "accumulate_grad_batches=2" if "accumulate_grad_batches" in text else ""
        made = f"lightning.Trainer({gathers})"  # a step that reads how many is meant for several
        fit = f"import lightning; {made}.fit({modules[-1]}(), train_loader)"
    else:
        return program
    return replace(program, text=f"{program.text}\n{fit}", lines=(*program.lines, 0))


_FITTED = "model, train_loader"


def without_gaps(program: BlockInContext) -> str:
    """Its text, with classes made of what is shown (``Adam(self.parameters(), ...)``), a trainer that
    fits what is lent, and names that are left to the reader (``model = ...``) to be lent. What could
    be lent whole (``optimizer = Adam(...)``) stays: it is.
    """
    tree, lines = program.tree, program.text.split("\n")
    lent = {
        id(n)
        for s in tree.body
        if isinstance(s, ast.Assign) and table().find(dotted(s.targets[0])) is not None
        for n in walk(s)
    }
    gaps = [
        (argument.lineno, argument.col_offset, _FITTED if last_of(node.func) == "fit" else "")
        for node in walk(tree)
        if isinstance(node, ast.Call) and id(node) not in lent
        if last_of(node.func)[:1].isupper() or last_of(node.func) == "fit"
        for argument in node.args
        if isinstance(argument, ast.Constant) and argument.value is ...
    ]
    gaps += [
        (node.lineno, node.value.col_offset, f"{name}_")  # of the same words, and bound nowhere
        for node in walk(tree)
        if isinstance(node, ast.Assign) and (name := _left_out(node)) and table().find(name)
    ]
    for line, column, shown in sorted(gaps, reverse=True):
        text = lines[line - 1].encode()
        before, after = text[:column].decode(), text[column + 3 :].decode()
        lines[line - 1] = before + shown + re.sub(r"^\s*,", "", after)
    return "\n".join(lines)


_RANGE = re.compile(r"(\brange\()(\d+)(\):)")
PASSES, TURNS = 3, 36
"""Passes over data, and updates without any, that show what a loop does."""


def shortened(program: BlockInContext) -> BlockInContext:
    """The same with literal counts of passes and updates that show all that more of them would, unless
    it asserts what comes of so many.
    """
    tree = program.tree
    lines = program.text.split("\n")
    if any(isinstance(node, ast.Assert) for node in walk(tree)):
        return program
    for node in walk(tree):
        if not isinstance(node, ast.For) or not {"backward", "step"} & uses(node).calls:
            continue
        nested = any(isinstance(n, ast.For) for s in node.body for n in walk(s))
        line = node.iter.lineno - 1
        if found := _RANGE.search(lines[line]):
            count = max(1, min(int(found[2]), PASSES if nested else TURNS))  # 0 only illustrates
            lines[line] = _RANGE.sub(rf"\g<1>{count}\g<3>", lines[line])
    return replace(program, text="\n".join(lines))
