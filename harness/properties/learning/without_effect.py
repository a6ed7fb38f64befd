"""Statements of a program that were to change its training and change nothing, by its text.

Nobody can have meant them, and they do the same in every program. What is merely idle is left out:
``loss.detach()`` behind a step, ``torch.no_grad()`` in an evaluation, ``p.grad.clone()``.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator

from harness.syntax import dotted, tree_of, walk

CHANGES = frozenset({
    "add", "addcdiv", "addcmul", "clamp", "clip", "div", "lerp", "masked_fill", "mul", "nan_to_num",
    "neg", "sub",
})  # fmt: skip
"""Methods and functions of tensors that return what they make and change nothing."""

GRADIENT = re.compile(
    r".*\.grad(\.data|\.detach\(\))?|(p|param|parameter|weight)\.data|grad|gradient"
)
GRADIENT_OF = re.compile(r".*\.grad(\.data|\.detach\(\))?")

NETWORK = r"model|net|encoder|generator|critic|discriminator|teacher|student"
UNCALLED = {
    "step": r"optim|sched|scaler|^opt",
    "zero_grad": r"",
    "backward": r"loss",
    "eval": NETWORK,
    "train": NETWORK,
}
"""What does nothing where it is only named, by whose it is."""

OVER_WEIGHTS = re.compile(r"parameters\(|params\b|state_dict\(\)\.values\(")
"""Loops whose variable is a weight, to be changed where it lies."""

CONTEXTS = {"autocast": r"", "no_sync": r".", "accumulate": r"accelerator"}
"""What does something only in a ``with``, by whose it is."""

_DEFAULTS = re.compile(r"opt\w*\.defaults$", re.IGNORECASE)
"""What an optimizer was made with, beside what its groups have."""

NAN = re.compile(r"""float\(['"]nan['"]\)|(torch|math|np|numpy)\.nan""", re.IGNORECASE)
CAUGHT = re.compile(
    r"is_?nan|is_?finite|nan_to_num|nonfinite|scaler|anomaly|\b(\w+)(\.item\(\))? != \1\b",
    re.IGNORECASE,
)
"""Whoever asks for NaN in another way as well, or has a scaler that does, misses nothing."""


def without_effect(source: str, calls: Iterable[str]) -> tuple[str, str] | None:
    """The first such statement and why, in code that runs as far as the text tells. ``calls``: what
    was called once the top level had run.
    """
    tree = tree_of(source)
    named = {dotted(n).rpartition(".")[2] for n in walk(tree)}
    named.update(re.findall(r"\w+", " ".join(calls)))
    for name, part in _parts(tree):
        if name is None or name in named:
            gradients = _bound(part, GRADIENT.fullmatch)
            if (rebound := _rebound(part)) is not None:
                return rebound, _REBOUND
            for node in walk(part):
                for reading, why in _READINGS.items():
                    if reading(node, source, gradients):
                        shown = getattr(node, "test", node)
                        return ast.unparse(shown).splitlines()[0], why
    return None


def never_the_last(source: str) -> str | None:
    """A condition of a step that asks whether the index of a batch, from 0, is the number of batches."""
    for loop in walk(tree := tree_of(source)):
        match loop:
            case ast.For(
                target=ast.Tuple(elts=[ast.Name(id=index), *_]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[rows], keywords=[]),
            ) if _stored(loop).count(index) == 1:
                inner = rows.args[:1] if isinstance(rows, ast.Call) else []
                ends = {f"len({ast.unparse(one)})" for one in (rows, *inner)}
                never = {(index, end) for end in ends | _bound(tree, ends.__contains__)}
                for test in _asked_before_a_step(loop):
                    if not never.isdisjoint(_or_equal(test)):
                        return ast.unparse(test)
    return None


def _asked_before_a_step(loop: ast.For) -> Iterator[ast.expr]:
    return (n.test for n in walk(loop) if isinstance(n, ast.If) and _calls(n.body, ".step"))


def _or_equal(test: ast.expr) -> Iterator[tuple[str, str]]:
    match test:
        case ast.BoolOp(op=ast.Or(), values=values):
            for one in values:
                yield from _equal(one)


def _equal(node: ast.AST) -> Iterator[tuple[str, str]]:
    """What is compared for equality, in both orders."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            one, other = ast.unparse(left), ast.unparse(right)
            yield from ((one, other), (other, one))


def _parts(tree: ast.Module) -> Iterator[tuple[str | None, ast.AST]]:
    """Functions, methods by the name of their class, and what stands in a block at the top level: a
    cell of a notebook may end with a value to show it.
    """
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from ((node.name, method) for method in node.body)
        elif not isinstance(node, ast.Expr):
            yield getattr(node, "name", None), node


def _stored(tree: ast.AST) -> list[str]:
    found = [n.id for n in walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return found + [n.arg for n in walk(tree) if isinstance(n, ast.arg)]


def _bound(tree: ast.AST, fits: Callable[[str], object]) -> set[str]:
    """Names that are bound to what fits and to nothing else."""
    found = [
        name
        for n in walk(tree)
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Attribute | ast.Call)
        if (name := getattr(n.targets[0], "id", None)) and fits(ast.unparse(n.value))
    ]
    stored = _stored(tree)
    return {name for name in found if found.count(name) == stored.count(name)}


def _calls(body: Iterable[ast.AST], *ends: str) -> bool:
    calls = (n for statement in body for n in walk(statement) if isinstance(n, ast.Call))
    return any(dotted(call).endswith(ends) for call in calls)


def _leaves(body: Iterable[ast.AST]) -> bool:
    kinds = ast.Continue | ast.Break | ast.Return | ast.Raise
    return any(isinstance(n, kinds) for statement in body for n in walk(statement))


def _dropped(node: ast.AST, _source: str, gradients: set[str]) -> bool:
    match node:
        case ast.Expr(value=ast.BinOp(left=left, op=ast.Div() | ast.Mult())):
            return dotted(left).lower().endswith("loss")
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=owner, attr=name), args=args, keywords=keywords)
        ) if name in CHANGES and all(k.arg != "out" for k in keywords):
            texts = map(ast.unparse, args[:1] if dotted(owner) == "torch" else [owner])
            return any(GRADIENT.fullmatch(text) or text in gradients for text in texts)
    return False


def _uncalled(node: ast.AST, source: str, _gradients: set[str]) -> bool:
    match node:
        case ast.Expr(value=ast.Attribute(value=owner, attr=name)) if name in UNCALLED:
            left = name != "train" or ".eval(" in source  # else it never left that mode
            return left and re.search(UNCALLED[name], ast.unparse(owner).lower()) is not None
    return False


def _unentered(node: ast.AST, source: str, _gradients: set[str]) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name() | ast.Attribute()) as call):
            owner, _, name = dotted(call).rpartition(".")
            known = name in CONTEXTS and re.search(CONTEXTS[name], owner.lower()) is not None
            return known and f"def {name}(" not in source
    return False


def _never_nan(node: ast.AST, source: str, _gradients: set[str]) -> bool:
    if not isinstance(node, ast.If) or CAUGHT.search(source):
        return False
    if not _leaves(node.body) and not _calls(node.body, ".step", ".backward"):
        return False
    pairs = (pair for one in walk(node.test) for pair in _equal(one))
    return any(NAN.fullmatch(nan) and re.search("loss|norm|grad", x.lower()) for x, nan in pairs)


def _of_a_weight(node: ast.AST, _source: str, _gradients: set[str]) -> bool:
    """``p = p - lr * p.grad`` or ``p.clamp(-c, c)`` in a loop over weights: something new for nobody."""
    if not isinstance(node, ast.For) or not OVER_WEIGHTS.search(ast.unparse(node.iter)):
        return False
    weights = _stored(node.target)
    for place, statement in enumerate(node.body):
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=made))):
                if name in weights and made in CHANGES:
                    return True
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp()):
                after = (n for rest in node.body[place + 1 :] for n in walk(rest))
                taken = any(isinstance(n, ast.Name) and n.id == name for n in after)
                if name in weights and not taken:
                    return True
    return False


def _of_a_later_group(node: ast.AST, source: str, _gradients: set[str]) -> bool:
    """``optimizer.defaults["lr"] = 1e-4``, where no group is added or set."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if not isinstance(node, ast.Assign | ast.AugAssign) or "_group" in source:
        return False
    held = (t.value for t in targets if isinstance(t, ast.Subscript))
    names = (ast.unparse(h) for h in held if isinstance(h, ast.Attribute) and h.attr == "defaults")
    return any(map(_DEFAULTS.search, names))


def _penalises_scaled(node: ast.AST, source: str, _gradients: set[str]) -> bool:
    """``grad(scaler.scale(loss), x, create_graph=True)``, where nothing asks for the scale."""
    match node:
        case ast.Call(func=function, args=[of, *_], keywords=keywords):
            kept = any(k.arg == "create_graph" and ast.unparse(k.value) == "True" for k in keywords)
            scaled = (n for n in walk(of) if isinstance(n, ast.Call))
            is_one = dotted(function).endswith("autograd.grad") or dotted(function) == "grad"
            return (
                is_one and kept and "_scale" not in source.replace("init_scale", "")
                and any(re.search(r"scaler\.scale$", dotted(call.func)) for call in scaled)
            )  # fmt: skip
    return False


def _rebound(part: ast.AST) -> str | None:
    """``g = p.grad`` and then ``g = g * c``, and no line takes the new one."""
    names = [n for n in walk(part) if isinstance(n, ast.Name)]
    made = [
        n for n in walk(part) if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
    ]
    for one in made:
        name = n.id if isinstance(n := one.targets[0], ast.Name) else ""
        mine = [n for n in names if n.id == name]
        bound = [
            m for m in made if m.targets[0] in mine and GRADIENT_OF.fullmatch(ast.unparse(m.value))
        ]
        taken = [n.lineno for n in mine if isinstance(n.ctx, ast.Load)]
        stored = len([n for n in mine if not isinstance(n.ctx, ast.Load)])
        if len(bound) == 1 and stored == 2 and one not in bound and _changes(one.value, name):
            first, last = bound[0].lineno, one.end_lineno or one.lineno
            if first < one.lineno and first <= min(taken) and max(taken) <= last:
                return ast.unparse(one)
    return None


def _changes(value: ast.expr, name: str) -> bool:
    """Whether this computes something new of a tensor of that name, and writes to nothing."""
    match value:
        case ast.BinOp():
            calls = (n for n in walk(value) if isinstance(n, ast.Call))
            return _names(value, name) and not any(dotted(c).endswith("_") for c in calls)
        case ast.Call(func=ast.Attribute(attr=made), keywords=keywords):
            return made in CHANGES and _names(value, name) and all(k.arg != "out" for k in keywords)
    return False


def _names(value: ast.expr, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in walk(value))


_REBOUND = "it makes something new that nobody takes, and the gradient stays; write to it in place"

_READINGS: dict[Callable[[ast.AST, str, set[str]], bool], str] = {
    _dropped: "it makes something new that nobody takes; assign it, or call what ends with _",
    _uncalled: "it is named and not called",
    _unentered: "it does something only where `with` enters it",
    _of_a_weight: "what its loop runs over stays as it was; write to it in place, under torch.no_grad()",
    _of_a_later_group: "groups that are there have a value of their own: set it in each of "
    "optimizer.param_groups",
    _penalises_scaled: "its gradients are multiplied with the loss scale, and so is the penalty; divide "
    "them by scaler.get_scale(), or take them of the loss itself",
    _never_nan: "NaN equals nothing, not even NaN; ask torch.isfinite() or math.isfinite()",
}
