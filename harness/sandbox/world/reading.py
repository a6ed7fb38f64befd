"""What can be read off a program without guessing: which names are free, what is never called."""

import ast
import builtins
import re
import symtable
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from harness.sandbox.absent.imports import paths_in
from harness.sandbox.batches.transitions import is_a_part, transition
from harness.sandbox.names.table import Table
from harness.syntax import dotted, walk

Function = ast.FunctionDef | ast.AsyncFunctionDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
BUILT_IN = frozenset(
    {*dir(builtins), "__file__", "__name__", "__doc__", "__class__", "__builtins__"}
)


@dataclass(frozen=True, slots=True)
class UncalledFunction:
    """A function or method that nothing in the program calls."""

    tree: Function
    """Its definition."""
    owner: ast.ClassDef | None = None
    """Its class."""

    @property
    def name(self) -> str:
        """``train`` or ``Trainer.train``."""
        return self.tree.name if self.owner is None else f"{self.owner.name}.{self.tree.name}"

    @property
    def is_method(self) -> bool:
        """Whether its first parameter is the instance or the class."""
        plain = {d.id for d in self.tree.decorator_list if isinstance(d, ast.Name)}
        return self.owner is not None and "staticmethod" not in plain

    def wanted(self) -> list[ast.arg]:
        """Parameters without a default, ``self`` left out."""
        return wanted(self.tree, bound=self.is_method)


def wanted(function: Function, *, bound: bool) -> list[ast.arg]:
    """Parameters without a default; ``bound``: the first one is the instance."""
    a = function.args
    places = [*a.posonlyargs, *a.args]
    needed = places[: len(places) - len(a.defaults)]
    named = [k for k, default in zip(a.kwonlyargs, a.kw_defaults, strict=True) if default is None]
    return [*needed[bound:], *named]


def optional(function: Function, default: int | None = None) -> list[ast.arg]:
    """Parameters whose default is ``None``, or the number given."""
    a = function.args
    places = [*a.posonlyargs, *a.args]
    pairs = [*zip(places[len(places) - len(a.defaults) :], a.defaults, strict=True)]
    pairs += [(k, d) for k, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d is not None]
    return [p for p, d in pairs if isinstance(d, ast.Constant) and repr(d.value) == repr(default)]


@dataclass(slots=True)
class NamedUse:
    """What is done with names of one spelling, wherever they stand."""

    fields: set[str] = field(default_factory=set)
    """Attributes and text keys that are read of it."""
    taken_apart: bool = False
    """Whether it is unpacked, or asked for an item by a number."""


class ProgramReading:
    """One program, read once."""

    def __init__(self, tree: ast.Module, source: str, table: Table) -> None:
        """``source``: the text that ``tree`` was parsed from, as it will be run."""
        self.tree = tree
        self.table = table
        self.nodes = walk(tree)
        self.source = source
        """Its text."""
        self._symbols = symtable.symtable(source, "program", "exec")

    @cached_property
    def free(self) -> dict[str, int]:
        """Names that are read and bound nowhere, with the line of their first use."""
        bound = {s.get_name() for s in self._symbols.get_symbols() if _is_bound(s)}
        found: set[str] = set()
        tables = [self._symbols]
        for scope in tables:
            tables += scope.get_children()
            for symbol in scope.get_symbols():
                top = scope is self._symbols
                if symbol.is_declared_global() and symbol.is_assigned():
                    bound.add(symbol.get_name())
                if symbol.is_referenced() and (top or symbol.is_global()):
                    found.add(symbol.get_name())
        lines = self._first_lines()
        names = found - bound - BUILT_IN
        if "input" in found - bound - self.called_plainly:
            names.add("input")  # of a model: nobody hands on the builtin
        return {n: lines.get(n, 1) for n in sorted(names, key=lambda n: (lines.get(n, 1), n))}

    def _first_lines(self) -> dict[str, int]:
        lines: dict[str, int] = {}
        for node in self.nodes:
            if isinstance(node, ast.Name):
                lines[node.id] = min(node.lineno, lines.get(node.id, node.lineno))
        return lines

    @cached_property
    def _said(self) -> frozenset[str]:
        """Names that are read, and texts, where something is looked up by its name; no attributes."""
        names = {
            n.id for n in self.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        }
        if not names & BY_NAME:
            return frozenset(names)
        texts = (n.value for n in self.nodes if isinstance(n, ast.Constant))
        return frozenset(names | {t for t in texts if isinstance(t, str)})

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """These and every attribute."""
        return self._said | {n.attr for n in self.nodes if isinstance(n, ast.Attribute)}

    @cached_property
    def _asked(self) -> frozenset[str]:
        """The same without attributes that are asked of an optimizer, a model or the like, and without
        ``loss.backward()``, which is handed nothing.
        """
        others = ("optimizer", "scheduler", "scaler", "model", "logger", "criterion")
        asked = (n for n in self.nodes if isinstance(n, ast.Attribute))
        handed = {id(c.func) for c in self.nodes if isinstance(c, ast.Call) and c.args}
        own = {
            n.attr for n in asked
            if self.table.role(last_name(n.value) or "", "objects") not in others
            and (n.attr != "backward" or id(n) in handed)
        }  # fmt: skip
        return self._said | own

    @cached_property
    def fitted(self) -> frozenset[str]:
        """Names that are handed to a ``fit`` first."""
        calls = (n for n in self.nodes if isinstance(n, ast.Call) and last_name(n.func) == "fit")
        first = (c.args[0] if c.args else next((k.value for k in c.keywords), None) for c in calls)
        return frozenset(f.id for f in first if isinstance(f, ast.Name))

    @cached_property
    def called(self) -> frozenset[str]:
        """Last components of everything that is called."""
        functions = (n.func for n in self.nodes if isinstance(n, ast.Call))
        return frozenset(last for f in functions if (last := last_name(f)) is not None)

    @cached_property
    def called_plainly(self) -> frozenset[str]:
        """Names that are called."""
        functions = (n.func for n in self.nodes if isinstance(n, ast.Call))
        return frozenset(f.id for f in functions if isinstance(f, ast.Name))

    def is_given_something(self, name: str) -> bool:
        """Whether a function is called with arguments: ``estimate_loss()`` is no loss of a batch."""
        calls = (n for n in self.nodes if isinstance(n, ast.Call))
        return any(last_name(c.func) == name and (c.args or c.keywords) for c in calls)

    @cached_property
    def moments(self) -> frozenset[str]:
        """Names that are subtracted from the time: ``time.time() - t0``."""
        told = (n for n in self.nodes if isinstance(n, ast.Assign) and _tells_the_time(n.value))
        times = {t.id for n in told for t in n.targets if isinstance(t, ast.Name)}
        less = (n for n in self.nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub))
        return frozenset(
            n.right.id
            for n in less
            if isinstance(n.right, ast.Name)
            and (_tells_the_time(n.left) or last_name(n.left) in times)
        )

    @cached_property
    def counted_to(self) -> frozenset[str]:
        """Names up to which ``range`` counts."""
        calls = (n for n in self.nodes if isinstance(n, ast.Call) and last_name(n.func) == "range")
        return frozenset(a.id for c in calls for a in c.args[:2] if isinstance(a, ast.Name))

    @cached_property
    def summed_up(self) -> frozenset[str]:
        """Attributes in which it counts or sums up: ``self.step += 1``."""
        sums = (n.target for n in self.nodes if isinstance(n, ast.AugAssign))
        return frozenset(t.attr for t in sums if isinstance(t, ast.Attribute))

    @cached_property
    def operands(self) -> frozenset[str]:
        """Last components of what it computes with."""
        sums = (n for n in self.nodes if isinstance(n, ast.BinOp))
        sides = (side for n in sums for side in (n.left, n.right))
        found = (s for s in sides if isinstance(s, ast.Name | ast.Attribute))
        return frozenset(last for s in found if (last := last_name(s)) is not None)

    @cached_property
    def passed_over(self) -> frozenset[str]:
        """Names of which a loop goes through the items, also behind a progress bar."""
        loops = [n.iter for n in self.nodes if isinstance(n, ast.For | ast.comprehension)]
        calls = [n for n in self.nodes if isinstance(n, ast.Call)]
        loops += [c for c in calls if last_name(c.func) == "tqdm"]
        return frozenset(last for i in loops if (last := last_name(gone_through(i))) is not None)

    @cached_property
    def only_passed_over(self) -> frozenset[str]:
        """Names that loops go through as they are, and nothing else reads: ``for epoch in epochs``."""
        loops = [n.iter for n in self.nodes if isinstance(n, ast.For)]
        over = Counter(i.id for i in loops if isinstance(i, ast.Name))
        names = (n for n in self.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
        read = Counter(n.id for n in names)
        return frozenset(name for name, count in over.items() if read[name] == count)

    @cached_property
    def trained_over(self) -> frozenset[str]:
        """Names of whose items a loop trains: ``for x, y in pbar`` goes over batches."""
        loops = [n for n in self.nodes if isinstance(n, ast.For)]
        batches = (n for n in loops if not self._counts(n.target) and "backward" in self.does(n))
        over = (last_name(gone_through(n.iter)) for n in batches)
        return frozenset(name for name in over if name is not None)

    def _counts(self, target: ast.expr) -> bool:
        return isinstance(target, ast.Name) and self.table.part(target.id) in ("step", "epoch")

    @cached_property
    def takes_losses(self) -> bool:
        """Whether it calls a loss."""
        return any(
            n.endswith("Loss") or n in LOSSES or self.table.role(n, "objects") == "criterion"
            for n in self.called
        ) or any(self.table.part(n) == "loss" for n in self.called_plainly)

    def asked_of(self, name: str) -> frozenset[str]:
        """Attributes that are read of a plain name."""
        asked = (n for n in self.nodes if isinstance(n, ast.Attribute))
        return frozenset(
            a.attr for a in asked if isinstance(a.value, ast.Name) and a.value.id == name
        )

    def asked_of_kept(self, name: str) -> frozenset[str]:
        """Attributes that are read of what an object keeps of it: ``self.net = net.to(device)``."""
        if any(s.get_name() == name and s.is_imported() for s in self._symbols.get_symbols()):
            return frozenset()
        given = (pair for n in self.nodes if isinstance(n, ast.Assign) for pair in assigned(n))
        kept = {
            t.attr
            for t, value in given
            if isinstance(t, ast.Attribute)
            and is_named(t.value, "self")
            and any(is_named(v, name) for v in walk(value))
        }
        asked = (n for n in self.nodes if isinstance(n, ast.Attribute))
        return frozenset(
            a.attr
            for a in asked
            if isinstance(a.value, ast.Attribute)
            and a.value.attr in kept
            and is_named(a.value.value, "self")
        )

    def steps_all(self, names: list[str]) -> bool:
        """Whether it steps each of these, itself or by a scaler."""
        calls = [n for n in self.nodes if isinstance(n, ast.Call) and last_name(n.func) == "step"]
        given = {a.id for c in calls for a in c.args if isinstance(a, ast.Name)}
        own = {last_name(c.func.value) for c in calls if isinstance(c.func, ast.Attribute)}
        return {*names} <= given | own

    @cached_property
    def steps_several(self) -> bool:
        """Whether it steps more than one optimizer."""
        calls = [n.func for n in self.nodes if isinstance(n, ast.Call)]
        steps = [f for f in calls if isinstance(f, ast.Attribute) and f.attr == "step"]
        own = (f.value for f in steps if not _is_a_schedule(f, self.table))
        return len({last_name(one) for one in own}) > 1

    def is_unshown_training(self, name: str) -> bool:
        """Whether a free function trains for a program that neither goes backward nor steps."""
        by_name = self.table.role(name) in ("training", "step", "epoch")
        return by_name and name in self.called_plainly and not self._trains_itself

    @cached_property
    def _trains_itself(self) -> bool:
        calls = [n.func for n in self.nodes if isinstance(n, ast.Call)]
        steps = [f for f in calls if last_name(f) == "step" and isinstance(f, ast.Attribute)]
        own = any(not _is_a_schedule(f, self.table) for f in steps)
        return own or bool({"backward", "grad", "fit"} & self.called)

    @cached_property
    def classes(self) -> list[ast.ClassDef]:
        """Classes at module level."""
        return [s for s in self.tree.body if isinstance(s, ast.ClassDef)]

    @cached_property
    def imported(self) -> frozenset[str]:
        """Top-level packages that are imported anywhere."""
        return frozenset(path.partition(".")[0] for path in paths_in(self.nodes))

    @cached_property
    def derived_from(self) -> frozenset[str]:
        """Names that classes are built on, and that nothing else reads."""
        bases = Counter(b.id for c in self.classes for b in c.bases if isinstance(b, ast.Name))
        names = (n for n in self.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
        read = Counter(n.id for n in names)
        return frozenset(name for name, count in bases.items() if read[name] == count)

    @cached_property
    def loads_a_model(self) -> bool:
        """Whether it has a model of a library: ``AutoModelForCausalLM.from_pretrained``,
        ``BertForMaskedLM(config)``, ``timm.create_model``, ``models.resnet18``.
        """
        paths = [*paths_in(self.nodes), *map(dotted, self.nodes)]
        of_transformers = {
            p.rpartition(".")[2]
            for p in paths
            if p.startswith("transformers.") and _MODEL.search(p)
        } | {name for name in self.free if name.startswith("AutoModel")}
        return (
            ("from_pretrained" in self.called and bool(of_transformers))
            or bool(of_transformers & self.called)
            or ("create_model" in self.called and "timm" in self.imported)
            or any(p.startswith("torchvision.models") for p in paths)
        )

    @cached_property
    def builds_models(self) -> bool:
        """Whether it makes modules: of classes of its own, or of torch's layers."""
        own = {c.name for c in self.classes if self.is_a(c, "Module")}
        return bool((own | LAYERS) & self.called)

    @cached_property
    def models_never_made(self) -> list[ast.ClassDef]:
        """Classes of models that nothing makes or derives from, and that take one input."""
        bases = {last_name(base) for c in self.classes for base in c.bases}
        models = [
            c for c in self.classes
            if self.is_a(c, "Module") and not self.is_a(c, "LightningModule")
        ]  # fmt: skip
        open_ = [c for c in models if c.name not in self.called | bases | self._said]
        return [c for c in open_ if _takes_one_input(c)]

    # ---------------------------------------------------------------------------------- functions

    @cached_property
    def functions(self) -> list[UncalledFunction]:
        """Functions at module level and methods of classes there."""
        found = [UncalledFunction(s) for s in self.tree.body if isinstance(s, Function)]
        for owner in self.classes:
            found += [UncalledFunction(s, owner) for s in owner.body if isinstance(s, Function)]
        return found

    def roots(self) -> list[UncalledFunction]:
        """Functions that train and that nothing calls: those that step, else those that go backward."""
        open_ = [f for f in self.functions if self._is_open(f)]
        for marks in ({"step"}, {"backward"}, {"grad"}):
            found = [f for f in open_ if marks <= self._does(f.tree)]
            if found:
                return [f for f in found if not _is_shown_as_wrong(f.tree.name)] or found
        return []

    @cached_property
    def open_parameters(self) -> tuple[str, ...]:
        """What functions that nothing calls ask for, in order."""
        return tuple(dict.fromkeys(a.arg for root in self.roots() for a in root.wanted()))

    @cached_property
    def remembered(self) -> dict[str, str]:
        """What of a replay memory they mean, where they are a batch of one: ``update(s, a, r, s2)``, or
        free names that mean one together.
        """
        asked = [[a.arg for a in root.wanted()] for root in self.roots()]
        asked.append([name for name in self.free if is_a_part(name)])
        pairs = (
            pair for names in asked for pair in zip(names, transition(names) or (), strict=False)
        )
        return {name: part for name, part in pairs if part != "nothing"}

    def _is_open(self, function: UncalledFunction) -> bool:
        name, owner = function.tree.name, function.owner
        hidden = name.startswith("__") and (owner is not None or name.endswith("__"))
        if hidden and name != "__call__":
            return False
        if owner is not None and (self.is_a(owner, "Module") or self.is_a(owner, "Optimizer")):
            return False
        said = self._asked if owner is not None else self._said
        return name not in said or name == "__call__"

    def does(self, *trees: ast.AST) -> set[str]:
        """``backward``, ``step``, ``grad``: what code does, also through functions that it calls."""
        return set().union(*(self._does(tree) for tree in trees))

    def _does(self, tree: ast.AST, seen: frozenset[str] = frozenset()) -> set[str]:
        found: set[str] = set()
        for node in walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == "grad":
                found.add("grad")
            if not isinstance(node, ast.Call):
                continue
            last = last_name(node.func) or ""
            found |= self._scales(node)
            if last in ("backward", "manual_backward") or (last == "grad" and node.args):
                found.add("backward")
            if last in ("step", "fit", "train_epoch") and not _is_a_schedule(node.func, self.table):
                found.add("step")
            if last not in seen:
                for other in self.bodies.get(last, ()):
                    found |= self._does(other, seen | {last})
        return found

    def _scales(self, call: ast.Call) -> set[str]:
        """What ``loss_scaler(loss, optimizer, ...)`` does; ``GradScaler("cuda")`` makes a scaler."""
        named = call.func.id if isinstance(call.func, ast.Name) and len(call.args) > 1 else ""
        scales = named[:1].islower() and self.table.role(named) == "scaler"
        return {"backward", "step"} if scales else set()

    @cached_property
    def bodies(self) -> dict[str, list[Function]]:
        """Functions and methods by their names."""
        found: dict[str, list[Function]] = {}
        for node in self.nodes:
            if isinstance(node, Function):
                found.setdefault(node.name, []).append(node)
        return found

    def is_a(self, cls: ast.ClassDef, base: str) -> bool:
        """Whether a class is built on one whose name ends so, also through others of the program."""
        names = [last_name(b) or "" for b in cls.bases]
        own = {c.name: c for c in self.classes}
        return any(
            n.endswith(base) or (n in own and n != cls.name and self.is_a(own[n], base))
            for n in names
        )

    def unset(self, cls: ast.ClassDef) -> dict[str, int]:
        """Attributes that methods read of ``self`` and nothing sets, with the line of the first use."""
        if any(n in ("Protocol", "TypedDict", "NamedTuple") for n in map(last_name, cls.bases)):
            return {}
        there = self._set_somewhere(cls)
        found: dict[str, int] = {}
        for node in walk(cls):
            match node:
                case (
                    ast.Attribute(value=ast.Name(id="self"), attr=attr, ctx=ast.Load())
                    | ast.AugAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=attr))
                ) if attr not in there and not attr.startswith("__"):
                    found.setdefault(attr, node.lineno)
        return found

    def _set_somewhere(self, cls: ast.ClassDef) -> set[str]:
        own = {c.name: c for c in self.classes}
        family = [cls, *(own[n] for b in cls.bases if (n := last_name(b)) in own)]
        family += [c for c in self.classes if any(last_name(b) == cls.name for b in c.bases)]
        counted = {id(n.target) for n in self.nodes if isinstance(n, ast.AugAssign)}
        there = {
            n.attr
            for n in self.nodes
            if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load)
            if id(n) not in counted  # what is counted up has begun somewhere
        }
        for member in (s for c in family for s in c.body):
            if isinstance(member, Function | ast.ClassDef):
                there.add(member.name)
            elif isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
                there.add(member.target.id)
            elif isinstance(member, ast.Assign):
                there |= {t.id for t in member.targets if isinstance(t, ast.Name)}
        calls = (n for n in self.nodes if isinstance(n, ast.Call))
        named = (
            c for c in calls if last_name(c.func) in ("setattr", "register_buffer", "add_module")
        )
        texts = (a.value for c in named for a in c.args if isinstance(a, ast.Constant))
        return there | {t for t in texts if isinstance(t, str)}

    @cached_property
    def named(self) -> dict[str, NamedUse]:
        """What is done with the names of each spelling."""
        found: dict[str, NamedUse] = {}
        for node in self.nodes:
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr=attr):
                    found.setdefault(name, NamedUse()).fields.add(attr)
                case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
                    found.setdefault(name, NamedUse()).fields.add(key)
                    found[name].taken_apart = True
                case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int())):
                    found.setdefault(name, NamedUse()).taken_apart = True
                case ast.Assign(targets=[ast.Tuple()], value=ast.Name(id=name)):
                    found.setdefault(name, NamedUse()).taken_apart = True
                case (
                    ast.Starred(value=ast.Name(id=name))
                    | ast.keyword(arg=None, value=ast.Name(id=name))
                ):
                    found.setdefault(name, NamedUse()).taken_apart = True
        return found

    @cached_property
    def calls_models_plainly(self) -> bool:
        """Whether models are called with one tensor each, and their results are tensors."""
        if any(seen.fields & {"loss", "logits"} for seen in self.named.values()):
            return False
        calls = [n for n in self.nodes if isinstance(n, ast.Call)]
        models = [c for c in calls if self.table.role(last_name(c.func) or "") == "model"]
        models += [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "self"]
        plain = all(
            len(c.args) == 1 and not c.keywords and not isinstance(c.args[0], ast.Starred)
            for c in models
        ) and not any(id(c) in self.taken_apart for c in models)
        return plain and self.takes_losses

    @cached_property
    def feeds_models(self) -> frozenset[str]:
        """Names that are only called, and whose result a model is called with: ``net(mel(x))``."""
        calls = [n for n in self.nodes if isinstance(n, ast.Call)]
        models = (c for c in calls if self._means_a_model(last_name(c.func) or ""))
        inner = (a.func for c in models for a in c.args if isinstance(a, ast.Call))
        names = {f.id for f in inner if isinstance(f, ast.Name)}
        return frozenset(names - self.named.keys())

    @cached_property
    def states(self) -> dict[str, str]:
        """The role of what is restored from, be it by an entry: ``load_state_dict(ckpt["model"])``."""
        calls = (n for n in self.nodes if isinstance(n, ast.Call) and n.args)
        given = (c.args[0] for c in calls if last_name(c.func) == "load_state_dict")
        wholes = (g.value if isinstance(g, ast.Subscript) else g for g in given)
        return {w.id: "state" for w in wholes if isinstance(w, ast.Name)}

    def _means_a_model(self, name: str) -> bool:
        """By what it is called, or by what is asked of it."""
        role = self.table.role(name)
        return role == "model" or (role is None and bool(self.asked_of(name) & {"eval", "train"}))

    @cached_property
    def frozen(self) -> frozenset[str]:
        """Names that are frozen as a whole for good: ``vgg.eval().requires_grad_(False)``."""
        calls = [n for n in self.nodes if isinstance(n, ast.Call) and n.args]
        switched = [c for c in calls if last_name(c.func) == "requires_grad_"]
        by_name = {False: set[str](), True: set[str]()}
        for call in switched:
            stays = isinstance(call.args[0], ast.Constant) and call.args[0].value is False
            whole = dotted(call.func).split(".")
            if {*whole[1:]} <= {"eval", "requires_grad_"}:
                by_name[stays].add(whole[0])
        return frozenset(by_name[True] - by_name[False])

    @cached_property
    def taken_apart(self) -> frozenset[int]:
        """Identities of the expressions that are unpacked into several names."""
        assigned = (n for n in self.nodes if isinstance(n, ast.Assign))
        return frozenset(id(n.value) for n in assigned if isinstance(n.targets[0], ast.Tuple))


BY_NAME = frozenset({"getattr", "globals", "locals", "vars", "methodcaller", "attrgetter"})
"""Functions that look things up by name."""

CLOCKS = frozenset({"time", "perf_counter", "monotonic"})
"""Functions that tell the time."""

LOSSES = frozenset({
    "cross_entropy", "mse_loss", "nll_loss", "binary_cross_entropy", "l1_loss", "smooth_l1_loss",
    "binary_cross_entropy_with_logits", "huber_loss", "kl_div",
})  # fmt: skip
"""Functions of torch that compute losses."""

LAYERS = frozenset({
    "Sequential", "Linear", "Conv1d", "Conv2d", "LSTM", "GRU", "RNN", "Embedding", "LSTMCell",
    "GRUCell", "RNNCell", "TransformerEncoder", "TransformerEncoderLayer", "MultiheadAttention",
    "ModuleDict", "ModuleList",
})  # fmt: skip
"""Layers of torch that a program may build a model of."""


def _takes_one_input(cls: ast.ClassDef) -> bool:
    """Whether its ``forward`` takes nothing else, but for what has a default."""
    forward = [s for s in cls.body if isinstance(s, ast.FunctionDef) and s.name == "forward"]
    return bool(forward) and len(wanted(forward[0], bound=True)) == 1


def clears(tree: ast.AST) -> bool:
    """Whether code, and no definition, clears gradients."""
    return not isinstance(tree, DEFINITIONS) and any(
        isinstance(node, ast.Attribute)
        and (node.attr == "zero_grad" or (node.attr == "grad" and isinstance(node.ctx, ast.Store)))
        for node in walk(tree)
    )


def last_name(tree: ast.AST) -> str | None:
    """The last component of a name, an attribute or what is called."""
    match tree:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return last_name(inner)
    return None


def _is_a_schedule(called: ast.expr, table: Table) -> bool:
    receiver = called.value if isinstance(called, ast.Attribute) else called
    name = last_name(receiver) or ""
    return table.role(name, "objects") in ("scheduler", "logger")


def _is_bound(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


WRONG = ("wrong", "bad", "bug", "broken", "naive", "incorrect", "before", "old", "dont", "unsafe")


def _is_shown_as_wrong(name: str) -> bool:
    return any(word in name.lower() for word in WRONG)


_MODEL = re.compile(r"\.\w*(?:Model|For[A-Z])\w*$")


def gone_through(iterated: ast.expr) -> ast.expr:
    """What is gone through: of ``enumerate(loader)`` the loader."""
    return iterated.args[0] if isinstance(iterated, ast.Call) and iterated.args else iterated


def _tells_the_time(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in CLOCKS


def assigned(assigned: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each target with its value; of ``a, b = x, y`` each of the two."""
    for target in assigned.targets:
        if isinstance(target, ast.Tuple) and isinstance(assigned.value, ast.Tuple):
            yield from zip(target.elts, assigned.value.elts, strict=False)
        else:
            yield target, assigned.value


def is_named(node: ast.AST, name: str) -> bool:
    """Whether it is this name, plainly."""
    return isinstance(node, ast.Name) and node.id == name
