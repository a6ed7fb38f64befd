"""Training that is defined and never started: which functions to call, and with what."""

import ast
import contextlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from harness.sandbox.binding.analysis import Analysis
from harness.sandbox.binding.flow.definitions import Class, Function, Parameter
from harness.sandbox.binding.flow.effects import BACKWARD, FIT, GRADIENTS, STEP
from harness.sandbox.binding.flow.graph import Node
from harness.sandbox.binding.flow.scopes import assigned
from harness.sandbox.binding.resolver import LATE, Resolver
from harness.sandbox.binding.rewrite import DEFINITIONS
from harness.sandbox.binding.roles import whole
from harness.sandbox.binding.roles.forms import Form, Leaf
from harness.sandbox.binding.roles.roles import made_role
from harness.sandbox.binding.starting import (
    Call,
    Made,
    Own,
    Start,
    chosen,
    is_needed,
    is_one_step,
    offered,
    own_scaler,
)
from harness.sandbox.binding.turns import MOMENT, Turns, Wanted, note
from harness.sandbox.binding.unbound import Unbound
from harness.syntax import walk

HOOKS = frozenset({
    "training_step", "validation_step", "test_step", "configure_optimizers", "forward",
    "configure_gradient_clipping", "on_before_optimizer_step", "optimizer_step", "lr_scheduler_step",
})  # fmt: skip


class Entries:
    """Finds the functions to call in a program whose module-level code does not train."""

    def __init__(self, analysis: Analysis, resolver: Resolver, module: ModuleType) -> None:
        """Nothing is resolved yet."""
        self._tree = analysis.tree
        self._reader = analysis.reader
        self._resolver = resolver
        self._module = module
        self._graph = analysis.graph
        self._live = frozenset(self._graph.marks[None])
        own = (s for s in self._tree.body if not isinstance(s, DEFINITIONS))
        self._assigned = assigned(own)

    def needed(self) -> bool:
        """Whether something has to be called before anything trains."""
        return not self._live & {STEP, FIT} and bool(self._roots())

    def unfitted(self) -> bool:
        """Whether no ``fit`` happens, neither at module level nor in what is called."""
        return FIT not in self._graph.everything

    def starts(self) -> list[Start]:
        """The calls to make: one for each function that no other one calls, in the order of
        definition.
        """
        return [self._start(function) for function in self._roots()]

    @property
    def _observes(self) -> bool:
        """Whether nothing trains: what is called looks at gradients that somebody else computes."""
        return not self._graph.everything & {STEP, BACKWARD, FIT}

    def _roots(self) -> list[Function]:
        own = [f for f in self._reader.functions if not f.nested and self._may_start(f)]
        own = offered(own, self._tree, self._graph)
        called = self._graph.called()
        for wanted in ({STEP, FIT}, {BACKWARD}, {GRADIENTS}):
            if wanted <= self._live:
                return []
            roots = [f for f in own if f not in called and self._marks(f) & wanted]
            if roots:
                return chosen(roots)
        return []

    def _may_start(self, function: Function) -> bool:
        name, owner = function.name, function.owner
        if name in HOOKS or (name.startswith("__") and name != "__call__"):
            return False  # these are called by a trainer, or by the language
        return owner is None or not (owner.module or owner.nested or self._steps(owner))

    def _steps(self, owner: Class) -> bool:
        """Whether it is an optimizer, or what one is mixed from: a loop calls its ``step``."""
        return any(c.optimizer for c in self._reader.classes if owner in (c, *c.parents))

    def _marks(self, function: Function) -> set[str]:
        """Effects of a function, and of those that it defines and may return."""
        inside = {id(tree) for tree in walk(function.tree)}
        nested = [f for f in self._reader.functions if f.nested and id(f.tree) in inside]
        return set().union(*(self._graph.marks[f] for f in (function, *nested)))

    # ------------------------------------------------------------------------------------ calling

    def _start(self, function: Function) -> Start:
        name = function.name if function.owner is None else f"{function.owner.name}.{function.name}"
        roles = self._roles(function)
        of_a_batch = MOMENT - whole.PARTS if self._resolver.whole else MOMENT
        fixed = {
            n: (p, self._given(n, p, role))
            for n, (p, role) in roles.items()
            if role not in of_a_batch | {"epoch"}
        }
        epoch = [n for n, (_, role) in roles.items() if role == "epoch"]
        moment = {n: role for n, (_, role) in roles.items() if role in of_a_batch}
        make = self._maker(function)

        def run() -> None:
            target = make()
            values = {n: self._now(n, p.node, roles[n][1], v) for n, (p, v) in fixed.items()}
            if moment or self._observes:
                self._each_batch(function, target, values, roles, moment)
                return
            if not epoch and is_one_step(function, self._reader.effects):
                self._each_step(function, target, values)
                return
            for turn in range(self._resolver.values.number("epochs") if epoch else 1):
                returned = _call(function, target, {**values, **dict.fromkeys(epoch, turn)})
                self._returned(function, returned)

        self._resolver.notes.append(f"{name} is called with {', '.join(roles) or 'nothing'}")
        return Start(Call(name, tuple(roles)), run, guessed=True)

    def _roles(self, function: Function) -> dict[str, tuple[Parameter, str]]:
        found: dict[str, tuple[Parameter, str]] = {}
        for parameter in function.parameters:
            if parameter.kind in ("star", "double-star"):
                continue
            role = "scaler" if own_scaler(parameter) else self._resolver.judge.role(parameter.node)
            wanted = is_needed(function, parameter, role)
            if parameter.default and not wanted:
                continue
            if role is None:
                raise Unbound(
                    f"{function.name}({parameter.name})", "is used in no way that tells what it is"
                )
            found[parameter.name] = (parameter, role)
        return found

    def _given(self, name: str, parameter: Parameter, role: str) -> Any:
        own = own_scaler(parameter)
        if own is not None:
            return Own(own.name)
        made = self._made(name, role)
        if made is not None:
            self._resolver.notes.append(f"{name}: the program's own {made}")
            return Made(made)
        if role == "model":
            self._resolver.prepare_model([parameter.node])
        names = [name, *parameter.node.all_names()]
        self._resolver.note(name, self._resolver.values.parts.said(role, names))
        return self._resolver.of(role, name, parameter.node)

    def _made(self, name: str, role: str) -> str | None:
        """The module-level name under which the program itself made what a parameter wants."""
        names = self._reader.scope.module.names
        own = {
            n: node
            for n, node in names.items()
            if n in self._assigned and (node.before or node.library)
        }
        if name in own and role not in MOMENT and (made_role(own[name]) or role) == role:
            return name
        found = [n for n, node in own.items() if made_role(node) == role]
        found = self._resolver.values.parts.alike(name, found)
        return found[-1] if len(set(found)) == 1 else None

    def _now(self, name: str, node: Node, role: str, value: Any) -> Any:
        if isinstance(value, Made):
            return self._global(value.name)
        if isinstance(value, Own):
            return self._global(value.name)()
        return self._resolver.made(role, name, node) if value is LATE else value

    def _maker(self, function: Function) -> Callable[[], Callable[..., Any]]:
        if function.owner is None:
            return lambda: self._global(function.name)
        owner = self._narrowest(function.owner)
        constructor = self._constructor(owner) if not function.static else {}
        nodes = {parameter.name: parameter.node for parameter in owner.constructor()}

        def make() -> Callable[..., Any]:
            cls = self._global(owner.name)
            existing = [v for v in vars(self._module).values() if isinstance(v, cls)]
            given = {n: self._now(n, nodes[n], role, v) for n, (role, v) in constructor.items()}
            instance = existing[0] if existing else cls(**given)
            found: Callable[..., Any] = getattr(instance, function.name)
            return found

        return make

    def _narrowest(self, owner: Class) -> Class:
        """What builds on a class, if the program has one such class only; else the class itself."""
        leaves = [c for c in self._reader.classes if owner in c.parents and not self._built_on(c)]
        return leaves[0] if len(leaves) == 1 else owner

    def _built_on(self, cls: Class) -> bool:
        return any(cls in other.parents for other in self._reader.classes)

    def _constructor(self, owner: Class) -> dict[str, tuple[str, Any]]:
        given: dict[str, tuple[str, Any]] = {}
        for parameter in owner.constructor():
            role = self._resolver.judge.role(parameter.node)
            if parameter.default or parameter.kind in ("star", "double-star"):
                continue
            if role is None:
                raise Unbound(
                    f"{owner.name}({parameter.name})", "is used in no way that tells what it is"
                )
            given[parameter.name] = (role, self._given(parameter.name, parameter, role))
        return given

    def _global(self, name: str) -> Any:
        try:
            return vars(self._module)[name]
        except KeyError:
            raise Unbound(name, "was not defined when the program had run") from None

    # ---------------------------------------------------------------------------- batch by batch

    def _each_batch(
        self, function: Function, target: Callable[..., Any], values: dict[str, Any],
        roles: dict[str, tuple[Parameter, str]], moment: dict[str, str],
    ) -> None:  # fmt: skip
        wanted = self.wanted(moment, {n: roles[n][0] for n in moment})
        self._resolver.notes.append(note(wanted))
        for turn in Turns(self._resolver, wanted):
            _call(function, target, {**values, **turn})

    def _each_step(
        self, function: Function, target: Callable[..., Any], values: dict[str, Any]
    ) -> None:
        """One pass over the data, an update a call."""
        resolver = self._resolver
        resolver.notes.append("makes one update: called for the whole of a pass")
        before = -1
        while before < resolver.handed < len(resolver.values.batches):
            before = resolver.handed
            with contextlib.suppress(StopIteration):
                _call(function, target, values)

    def _returned(self, function: Function, returned: Any) -> None:
        """A function that makes the training step: what it returns is called with every batch."""
        inner = [
            f for f in self._reader.functions
            if callable(returned) and f.nested and f.name == getattr(returned, "__name__", "")
        ]  # fmt: skip
        if not inner:
            return
        roles = self._roles(inner[0])
        moment = {n: role for n, (_, role) in roles.items() if role in MOMENT}
        fixed = {n: self._given(n, p, role) for n, (p, role) in roles.items() if role not in MOMENT}
        self._each_batch(inner[0], returned, fixed, roles, moment)

    def wanted(self, moment: dict[str, str], parameters: dict[str, Parameter]) -> Wanted:
        """What has to be supplied around code that is written for one batch."""
        source = ast.dump(self._tree)
        forms: dict[str, Form] = {
            name: self._resolver.form(parameters[name].node) if role == "batch" else Leaf("input")
            for name, role in moment.items()
        }
        everything = self._graph.everything
        clears = "'zero_grad'" not in source and not _clears(source)
        steps = STEP not in everything
        return Wanted(
            moment,
            forms,
            clears=clears,
            goes_back=BACKWARD not in everything,
            steps=steps,
            window=self._micro_batches() if clears and steps else None,
        )

    def _micro_batches(self) -> str | None:
        """The name that says how many micro-batches make an update: the code is for one of several."""
        names = {**self._reader.scope.module.names, **self._reader.free}
        judge = self._resolver.judge
        return next((n for n, node in names.items() if judge.role(node) == "accumulation"), None)


def _clears(dumped: str) -> bool:
    return "attr='grad', ctx=Store()" in dumped


def _call(function: Function, target: Callable[..., Any], values: dict[str, Any]) -> Any:
    places = [p.name for p in function.parameters if p.kind == "positional" and p.name in values]
    args = [values[name] for name in places]
    return target(*args, **{n: v for n, v in values.items() if n not in places})
