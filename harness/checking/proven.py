"""Faults that need no run: what a block writes is read by nobody, or comes from nothing. Pure."""

import ast
import re
from collections.abc import Iterator, Sequence

from harness.checking.errors import imported, lent_names, names_in
from harness.checking.evidence import Finding
from harness.checking.session import BlockInContext, last_of, release
from harness.domain.own import TORCHS
from harness.domain.trace import Program as Ended
from harness.sandbox.names.table import table
from harness.syntax import dotted, walk

_IN_GROUPS = frozenset({"lr", "weight_decay", "momentum", "betas", "eps"})
"""Settings that an optimizer of torch reads from its groups, and from nowhere else."""
_IN_PLACE = frozenset({
    "torch.distributed.all_reduce", "torch.distributed.reduce", "torch.distributed.broadcast",
    "torch.distributed.all_gather", "torch.distributed.checkpoint.load",
})  # fmt: skip
"""What changes its argument and returns nothing."""
_Above = tuple[ast.AST, ...]
"""What a part of a program stands in, the outermost first."""
_SHARDS = re.compile(r"FullyShardedDataParallel|FSDP|fully_shard|get_model_state_dict")
_BROADCAST = re.compile(
    r"Using a target size \([^\n]*?\) that is different to the input size \([^)]*\)+"
)


def proven(program: BlockInContext, ended: Ended) -> Iterator[Finding]:
    """Faults of a block's own lines, and what libraries warned of in its run."""
    yield from _unread(program)
    yield from _no_copy(program)
    yield from _no_parameter(program)
    yield from _of_nothing(program)
    yield from _dropped(program, ended)
    yield from _bound_anew(program)
    yield from _same_as_before(program)
    yield from _flagged(program, ended)
    warned = next((found for text in ended.texts if (found := _BROADCAST.search(text))), None)
    # what we call is handed ours
    lent = ended.calls or lent_names(program) & names_in(program.tree)
    if warned is not None and not lent:
        yield Finding(
            f"torch warns of a loss over all pairs: {' '.join(warned[0].split())}. Give both the "
            "same shape."
        )


def _flagged(program: BlockInContext, ended: Ended) -> Iterator[Finding]:
    """``model.backbone.requires_grad = False``, where that turned out to be a module."""
    told = {flag.rpartition(".")[2].partition(" ")[0] for flag in ended.flagged_modules}
    for node in (n for n in walk(program.tree) if isinstance(n, ast.Assign)):
        for target in node.targets:
            set_here = isinstance(target, ast.Attribute) and target.attr in told
            if set_here and program.is_own(node.lineno):
                yield Finding(
                    f"Line {program.place(node.lineno)} sets `{dotted(target)}`: that is an attribute "
                    "of its own, and freezes or thaws no parameter. Call requires_grad_() on the "
                    "module, or set requires_grad of each of its parameters."
                )


def _dropped(program: BlockInContext, ended: Ended) -> Iterator[Finding]:
    """``from transformers import AdamW``: torch's own stood in for it, so the rest could be run."""
    lent = {note.removesuffix(f": {TORCHS}") for note in ended.bound if note.endswith(TORCHS)}
    for node in (n for n in walk(program.tree) if isinstance(n, ast.ImportFrom)):
        for alias in node.names:
            if alias.name in lent and program.is_own(node.lineno):
                yield Finding(
                    f"Line {program.place(node.lineno)} imports `{alias.name}` from `{node.module}`, "
                    f"which has none ({release(str(node.module).partition('.')[0])}): take torch's."
                )


def _unread(program: BlockInContext) -> Iterator[Finding]:
    """``optimizer.lr = 1e-4``: an attribute that torch's optimizers do not have."""
    attributes = (n for n in walk(program.tree) if isinstance(n, ast.Attribute))
    read = {n.attr for n in attributes if isinstance(n.ctx, ast.Load)}
    for node in (n for n in walk(program.tree) if isinstance(n, ast.Assign)):
        for target in node.targets:
            path = dotted(target)
            name, _, setting = path.partition(".")
            optimizer = setting in _IN_GROUPS and table().role(name, "objects") == "optimizer"
            if optimizer and setting not in read and program.is_own(node.lineno):
                yield Finding(
                    f"Line {program.place(node.lineno)} sets `{path}`, which nothing reads: the "
                    f'optimizer takes it from `param_groups`: `group["{setting}"]`.'
                )


def _no_copy(program: BlockInContext) -> Iterator[Finding]:
    """``if better: best = model.state_dict()`` in a loop that goes on, and used after it."""
    if _SHARDS.search(program.text):
        return  # gathered weights are copies
    nodes = list(_with_parents(program.tree))
    for node, above in nodes:
        if not isinstance(node, ast.Assign) or not program.is_own(node.lineno):
            continue
        model, name = _state_of(node.value), dotted(node.targets[0])
        if model and _goes_on(name, model, above, nodes):
            yield Finding(
                f"Line {program.place(node.lineno)} keeps references to the weights in `{name}`, no "
                "copy: training changes them, so it holds the last weights in the end, and not the "
                f"best. Take `copy.deepcopy({model}.state_dict())`."
            )


def _with_parents(node: ast.AST, above: _Above = ()) -> Iterator[tuple[ast.AST, _Above]]:
    for child in ast.iter_child_nodes(node):
        yield child, above
        yield from _with_parents(child, (*above, child))


def _state_of(node: ast.expr) -> str:
    """``model`` of ``model.state_dict()``, ``dict(...)`` of it, or a shallow copy; else nothing."""
    if isinstance(node, ast.Call) and dotted(node.func) == "dict" and len(node.args) == 1:
        node = node.args[0]
    if (copied := _asked(node, "copy")) is not None:
        node = copied
    owner = _asked(node, "state_dict")
    return dotted(owner) if owner is not None else ""


def _goes_on(name: str, model: str, above: _Above, nodes: Sequence[tuple[ast.AST, _Above]]) -> bool:
    """Whether it is taken where something was better, training goes on with the same model, and it is
    handed to something afterwards.
    """
    choice = next((n for n in reversed(above) if isinstance(n, ast.If)), None)
    if choice is None or any(isinstance(n, ast.Break | ast.Return) for n in walk(choice)):
        return False
    if name.startswith("self."):  # it is called again and again
        loads = (n for n, _ in nodes if isinstance(n, ast.Call) and n.args)
        return any(
            (dotted(n.func), dotted(n.args[0])) == (f"{model}.load_state_dict", name) for n in loads
        )
    loop = next((n for n in reversed(above) if isinstance(n, ast.For | ast.While)), None)
    if loop is None or any(_is_stored(n, model) for n in walk(loop)):
        return False
    return any(
        isinstance(n, ast.Name)
        and n.id == name
        and n.lineno > (loop.end_lineno or 0)
        and any(isinstance(m, ast.Call | ast.Return) for m in around)
        for n, around in nodes
    )


def _is_stored(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def _bound_anew(program: BlockInContext) -> Iterator[Finding]:
    """``for tp, p in zip(target.parameters(), net.parameters()): tp = tau * p + (1 - tau) * tp``."""
    for loop in (n for n in walk(program.tree) if isinstance(n, ast.For)):
        if not _of_parameters(loop.iter) or not isinstance(loop.body[-1], ast.Assign):
            continue
        last = loop.body[-1]
        name, own = (
            dotted(last.targets[0]),
            {n.id for n in walk(loop.target) if isinstance(n, ast.Name)},
        )
        if name in own and isinstance(last.value, ast.BinOp) and program.is_own(last.lineno):
            yield Finding(
                f"Line {program.place(last.lineno)} binds the loop's name `{name}` to another tensor, "
                f"which nothing reads: the parameter stays as it is. Change it in place: "
                f"`{name}.copy_(...)`."
            )


def _of_parameters(iterated: ast.expr) -> bool:
    asked = {n.attr for n in walk(iterated) if isinstance(n, ast.Attribute)}
    return bool(asked & {"parameters", "named_parameters", "buffers"})


def _same_as_before(program: BlockInContext) -> Iterator[Finding]:
    """``before = [p.data for p in model.parameters()]``, a step, and ``p - before[n]``."""
    nodes = walk(program.tree)
    steps = [n.lineno for n in nodes if isinstance(n, ast.Call) and last_of(n.func) == "step"]
    apart = [n for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub)]
    made = [dotted(t) for n in nodes if isinstance(n, ast.Assign) for t in n.targets]
    for node in (n for n in nodes if isinstance(n, ast.Assign) and program.is_own(n.lineno)):
        name, step = dotted(node.targets[0]), min((n for n in steps if n > node.lineno), default=0)
        if not step or made.count(name) > 1 or not _holds_parameters(node.value):
            continue
        if any(one.lineno > step and _is_from(one, name) for one in apart):
            yield Finding(
                f"Line {program.place(node.lineno)} keeps the parameters themselves in `{name}`, no "
                "copies: they change with the step, and their difference from it is 0. Take "
                "`p.detach().clone()`."
            )


def _is_from(difference: ast.BinOp, name: str) -> bool:
    """Whether one side is an entry of that name."""
    sides = (difference.left, difference.right)
    return any(isinstance(s, ast.Subscript) and dotted(s.value) == name for s in sides)


def _holds_parameters(value: ast.expr) -> bool:
    """A list or dict of ``p``, ``p.data`` or ``p.detach()`` for all parameters."""
    match value:
        case ast.ListComp(elt=held, generators=[one]) | ast.DictComp(value=held, generators=[one]):
            names = {n.id for n in walk(one.target) if isinstance(n, ast.Name)}
            plain = ast.unparse(held).removesuffix(".data").removesuffix(".detach()")
            return plain in names and _of_parameters(one.iter)
    return False


def _no_parameter(program: BlockInContext) -> Iterator[Finding]:
    """``self.prompt = torch.randn(4, requires_grad=True)`` of a module, used in its forward only."""
    tree = program.tree
    for kind in (n for n in tree.body if isinstance(n, ast.ClassDef)):
        if not {"Module", "LightningModule"} & {last_of(base) for base in kind.bases}:
            continue
        forward = {id(n) for f in kind.body if getattr(f, "name", "") == "forward" for n in walk(f)}
        for node in (n for n in walk(kind) if isinstance(n, ast.Assign)):
            name = dotted(node.targets[0]).removeprefix("self.")
            uses = [n for n in walk(tree) if isinstance(n, ast.Attribute) and n.attr == name]
            read = [n for n in uses if isinstance(n.ctx, ast.Load)]
            own = program.is_own(node.lineno) and dotted(node.targets[0]) == f"self.{name}"
            if own and _requires_grad(node.value) and read and all(id(n) in forward for n in read):
                yield Finding(
                    f"Line {program.place(node.lineno)} makes `{name}` a plain tensor: "
                    "`parameters()` does not hold it, and no optimizer trains it. Wrap it in "
                    "`nn.Parameter`."
                )


def _requires_grad(node: ast.expr) -> bool:
    """``torch.randn(4, requires_grad=True)``; one number alone may only keep a graph alive."""
    return (
        isinstance(node, ast.Call)
        and dotted(node.func).startswith("torch.")
        and [getattr(a, "value", None) for a in node.args] != [1]
        and any(
            k.arg == "requires_grad" and getattr(k.value, "value", None) is True
            for k in node.keywords
        )
    )


def _of_nothing(program: BlockInContext) -> Iterator[Finding]:
    """``mean = dist.all_reduce(loss) / 2``: a function that works in place and returns nothing."""
    tree, paths = program.tree, imported(program.tree)
    read = {n.id for n in walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    dropped = {
        id(n.value)
        for n in walk(tree)
        if isinstance(n, ast.Expr | ast.Return)
        or (isinstance(n, ast.Assign) and not read & names_in(n.targets[0]))
    }
    for node in (n for n in walk(tree) if isinstance(n, ast.Call) and id(n) not in dropped):
        first, _, rest = dotted(node.func).partition(".")
        waits = not any(k.arg == "async_op" for k in node.keywords) and len(node.args) < 4
        if waits and program.is_own(node.lineno) and f"{paths.get(first)}.{rest}" in _IN_PLACE:
            yield Finding(
                f"Line {program.place(node.lineno)} takes what `{dotted(node.func)}` returns, which is "
                "None: it changes what it is given."
            )


def _asked(node: ast.AST, method: str) -> ast.expr | None:
    """What a method of that name is called of."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr == method else None
    return None
