"""Everything that can be known about a program before it runs."""

import ast
from collections.abc import Callable
from typing import Any

from harness.sandbox.binding import rewrite
from harness.sandbox.binding.flow import hints, library
from harness.sandbox.binding.flow.callgraph import CallGraph
from harness.sandbox.binding.flow.choices import Choices
from harness.sandbox.binding.flow.definitions import Class
from harness.sandbox.binding.flow.effects import (
    BACKWARD,
    FIT,
    GRADIENTS,
    STEP,
    called,
    touches_gradients,
)
from harness.sandbox.binding.flow.graph import Call, Node
from harness.sandbox.binding.flow.reader import Reader
from harness.sandbox.binding.flow.scopes import assigned
from harness.sandbox.binding.frameworks import huggingface, packages, wrapping
from harness.sandbox.binding.machine.amp import posted_autocast
from harness.sandbox.binding.machine.inert import Inert, install_progress
from harness.sandbox.binding.resolver import Told
from harness.sandbox.binding.roles import whole
from harness.sandbox.binding.roles.inference import Inference
from harness.sandbox.binding.roles.roles import Judge, attributes
from harness.sandbox.binding.roles.signs import is_model, is_root
from harness.sandbox.binding.roles.teams import Teams
from harness.sandbox.binding.turns import MOMENT
from harness.sandbox.binding.unbound import Unbound
from harness.syntax import walk

GROWS = frozenset({"add_module", "append", "extend", "insert", "register_module"})
"""Methods that add a layer to a container."""
QUESTIONS = frozenset({
    "is_available", "is_initialized", "init_process_group", "destroy_process_group",
    "is_nccl_available",
})  # fmt: skip


class Analysis:
    """One program, read; answers the questions that binding asks about it."""

    def __init__(
        self,
        tree: ast.Module,
        world_size: int,
        is_network: Callable[[str], bool] | None = None,
    ) -> None:
        """``is_network``: where several networks are trained, whether a name means one of them."""
        self.tree = tree
        self.library_names = _library_names(tree, is_network)
        self.reader = Reader(tree, self.library_names)
        self.inference = Inference(self.reader, is_network)
        self._refuse()
        makes_one = any(
            path.startswith("torch.optim.") and "lr_sched" not in path
            for path, _ in self.reader.library_calls
        )
        plain = Judge(has_optimizer=makes_one, training_loader=False)
        roles = {name: plain.role(node) for name, node in self.nodes().items()}
        self.judge = Judge(
            has_optimizer=makes_one
            or not {"optimizer", "optimizers"}.isdisjoint(
                r
                for n, r in roles.items()
                if attributes(self.nodes()[n]) != {"step"} or hints.suggests(n, "optimizer")
            ),
            training_loader=any("iter_backward" in n.uses for n in self.nodes().values()),
        )
        self.lightning = [c for c in self.reader.classes if c.lightning]
        self.constructors = self._constructors()
        self.own_model = bool(self.constructors) and not any(
            self.judge.role(n) == "model" for n in self.nodes().values()
        )
        self.wrap = wrapping.is_expected(
            self.reader, self.nodes().values(), self.judge.role, world_size
        )
        self.needs_group = self._needs_group() or (self.wrap and world_size == 1)
        self.graph = CallGraph(self.reader, tree)
        made = [call.result for call, _ in self.inference.trainers.made()]
        self.trainers = bool(made)
        self.trainers_train = any("train()" in trainer.uses for trainer in made)
        self.trainer_arguments = not self.graph.everything & {STEP, BACKWARD, FIT} and any(
            p == "transformers.TrainingArguments" for p, _ in self.reader.library_calls
        )
        if self.trainers or self.trainer_arguments:
            self.graph.marks[None].add(FIT)
        self.observes = self._observes()
        self.whole, self.fragment = self._extent()
        self.uses_workload_data = any(
            self.judge.role(n) in ("loader", "dataset", "input", "batch", "factory")
            for n in self.nodes().values()
        )

    def told(self) -> Told:
        """What binding goes by."""
        choices = Choices(self.tree, self.reader.asked, self.reader.picks, self.reader.effects)
        teams = Teams(self.reader, self.tree, self.graph.goes_back, self._is_optimizer())
        return Told(
            self.judge, self.inference.paths, choices, teams, self.wrap, self.own_model, self.whole
        )

    def _is_optimizer(self) -> Callable[[Node], bool]:
        several = [n for n in self.nodes().values() if self.judge.role(n) == "optimizers"]
        held = {id(part) for whole in several for part in whole.parts.values()}
        return lambda node: id(node) in held or self.judge.role(node) == "optimizer"

    def nodes(self) -> dict[str, Node]:
        """All values to bind: free names, parameters of functions that nobody calls, and attributes
        that classes read and never set.
        """
        found = dict(self.reader.free)
        for cls in self.reader.classes:
            found |= {f"{cls.name}.{name}": node for name, node in cls.unset().items()}
        for function in self.reader.functions:
            for parameter in function.parameters:
                if is_root(parameter.node):
                    found[f"{id(function)}.{parameter.name}"] = parameter.node
        return found

    def library_object(self, name: str) -> Any:
        """The library object that a free name stands for."""
        top = self.library_names[name].partition(".")[0]
        if top in library.INERT or "tensorboard" in self.library_names[name]:
            return Inert()
        if top == "tqdm":
            install_progress()
        if name == "autocast":
            return posted_autocast
        try:
            return library.lookup(self.library_names[name])
        except (ImportError, AttributeError) as error:
            raise Unbound(name, f"is not here: {error}") from error

    def late_index(self, name: str) -> int:
        """Where to bind a name that depends on what the program builds: after the model, before its
        first use.
        """
        places = [rewrite.index_of(self.tree, where) for where, _ in self.constructors]
        if self.constructors and not any(p is not None for p in places):
            raise Unbound(name, "belongs to a model that the program builds inside a function")
        after = max((p + 1 for p in places if p is not None), default=0)
        return after or rewrite.first_use(self.tree, name)

    def model_fields(self, constructor: str) -> list[str]:
        """Attributes of the program's model that hold parts of it and are read by code outside."""
        found = {
            name
            for node in self._instances_of(constructor)
            for name, part in node.attributes().items()
            if part.uses & {".parameters", ".named_parameters", "parameters"}
        }
        cls = self._class(constructor)
        return sorted(found - set(cls.methods if cls else ()))

    def fields_used(self, constructor: str) -> set[str]:
        """Attributes of a model of the program's own that are read by code outside."""
        nodes = self._instances_of(constructor)
        written = {use[1:] for node in nodes for use in node.uses if use.startswith("=")}
        return {name for node in nodes for name in node.attributes()} - written

    def is_handed_more(self, constructor: str) -> bool:
        """Whether a model of the program's own is called with more than a batch."""
        called = (call for node in self._instances_of(constructor) for call in node.calls)
        return any(len([*call.arguments()]) > 1 for call in called)

    def _instances_of(self, constructor: str) -> list[Node]:
        return [
            node for call in self.reader.graph.calls
            if call.where is not None and _name_of(call.where) == constructor and not call.inner
            for node in call.result.downstream()
        ]  # fmt: skip

    def grows(self, constructor: str) -> bool:
        """Whether a model of the program's own gets more layers after its construction."""
        return bool(GROWS & self.fields_used(constructor))

    def class_of(self, constructor: str) -> ast.ClassDef | None:
        """The class of a model, if the program itself defines it."""
        found = self._class(constructor)
        return found.tree if found is not None else None

    def _class(self, name: str) -> Class | None:
        return next((c for c in self.reader.classes if c.name == name), None)

    def takes_more_than_inputs(self, constructor: str) -> bool:
        """Whether the forward of a model of the program's own requires a second argument."""
        found = self._class(constructor)
        forward = found.method("forward") if found is not None else None
        plain = ("positional", "either")
        given = [p for p in (forward.parameters if forward else ()) if p.kind in plain]
        return sum(not parameter.default for parameter in given) > 1

    # ---------------------------------------------------------------------------------- privately

    def _refuse(self) -> None:
        for path, _ in self.reader.library_calls:
            top, last = path.partition(".")[0], path.removesuffix("()").rpartition(".")[2]
            if last in library.SHARDED:
                raise Unbound(
                    last, "shards the model over devices, which one machine without any cannot"
                )
            if (needs := library.REFUSED.get(top) or huggingface.absent(top)) is not None:
                raise Unbound(last, needs)

    def _constructors(self) -> list[tuple[ast.Call, str]]:
        calls: dict[int, Call] = {
            id(c.where): c for c in self.reader.graph.calls if c.where is not None
        }
        found: list[tuple[ast.Call, str]] = []
        for where, result in self.reader.built:
            call = calls.get(id(where))
            if call is None or not (is_model(result) or result.uses & {"model_call", "fit_model"}):
                continue
            own = any(isinstance(t, Class) and t.module for t in call.callee.targets)
            path = call.callee.library
            if own or (
                path.startswith("torch.nn.")
                and "parallel" not in path
                and not path.endswith("DataParallel")
            ):
                found.append((where, _name_of(where)))
        return found

    def _needs_group(self) -> bool:
        """Whether it talks to other ranks, or asks who they are, and leaves the group to its reader."""
        paths = [p for p, _ in self.reader.library_calls]
        lasts = {p.rpartition(".")[2] for p in paths if p.startswith("torch.distributed.")}
        shares = any(p.endswith("DistributedSampler") for p in paths)
        return (shares or bool(lasts - QUESTIONS)) and not lasts & QUESTIONS

    def _observes(self) -> bool:
        """Whether module-level code looks at gradients that nothing in the program computes."""
        trains = self.graph.everything & {STEP, BACKWARD, FIT} or self.lightning
        return not trains and GRADIENTS in self.graph.marks[None]

    def first_look(self) -> int:
        """Index of the first module-level statement that looks at gradients."""
        looking = {
            f.name for f, marks in self.graph.marks.items() if f is not None and GRADIENTS in marks
        }
        for index, statement in enumerate(self.tree.body):
            if isinstance(statement, rewrite.DEFINITIONS):
                continue
            if touches_gradients([statement]) or called([statement]) & looking:
                return index
        return len(self.tree.body)

    def _extent(self) -> tuple[bool, bool]:
        """Whether free inputs are those of all data; whether the code is written for one batch."""
        everything = whole.holds_everything(
            self.tree, self.reader, self.nodes().values(), self.judge.role
        )
        return everything, self.observes or (not everything and self._fragment())

    def _fragment(self) -> bool:
        """Whether module-level code is written for one batch: it reads a batch that no loop yields."""
        free = self.reader.free
        if any("iter_backward" in n.uses for n in free.values()):
            return False
        return any(
            self.judge.role(n) in MOMENT - {"step", "mask", "target", "count"}
            for n in free.values()
        )


def _name_of(call: ast.Call) -> str:
    named = call.func
    return named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "model")


def _library_names(tree: ast.Module, is_network: Callable[[str], bool] | None) -> dict[str, str]:
    """Free names that are used as the library objects of these names would be."""
    imported = packages.imported(tree)
    bound = assigned(s for s in tree.body if not isinstance(s, ast.Import | ast.ImportFrom))
    bound |= assigned(tree.body) - imported.keys()
    read: dict[str, set[str]] = {}
    called: set[str] = set()
    meanings = library.NAMES | huggingface.trainer_names(tree) | imported
    for node in walk(tree):
        if isinstance(node, ast.Name) and node.id in meanings and node.id not in bound:
            read.setdefault(node.id, set())
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            read.setdefault(node.value.id, set()).add(node.attr)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func.id)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            read.setdefault(node.value.id, set()).add("[]")
    return {
        name: meanings[name] for name, used in read.items()
        if name in meanings and name not in bound and packages.fits(meanings[name], used)
        and not (name == "Dataset" and name in called and name not in imported)
        and not (is_network and name in called and is_network(name.lower()))
    }  # fmt: skip
