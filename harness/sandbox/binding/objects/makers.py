"""Functions and classes that nobody defines: what they return is inferred from its use."""

import contextlib
import sys
from collections.abc import Callable
from typing import Any

from torch import nn

from harness.sandbox.binding.flow import hints
from harness.sandbox.binding.flow.graph import Call, Node
from harness.sandbox.binding.machine.inert import Inert
from harness.sandbox.binding.objects.loaders import Loader, Source
from harness.sandbox.binding.objects.values import Values
from harness.sandbox.binding.roles.forms import Form
from harness.sandbox.binding.roles.known import HELPERS
from harness.sandbox.binding.roles.reporting import Reporter
from harness.sandbox.binding.roles.roles import Judge, is_unpacked
from harness.sandbox.binding.roles.teams import Teams
from harness.sandbox.binding.unbound import Unbound

LATE = object()
"""Stands for a value that exists only once the program has built something."""


TRAINED = frozenset({"optimizer", "scaler", "loss", "model"})
"""Roles through which a helper could change training."""


class Makers:
    """The part of ``Resolver`` that deals with free functions and classes."""

    judge: Judge
    values: Values
    teams: Teams
    wrap: bool
    lightning_module: Callable[[], nn.Module]
    """Makes the module that a Trainer fits where the program shows none; set once Lightning is
    imported.
    """

    def free(self, name: str, node: Node) -> Any:
        """The object for a free name. Written in ``Resolver``."""
        raise NotImplementedError

    def of(self, role: str, name: str, node: Node) -> Any:
        """The object for a role. Written in ``Resolver``."""
        raise NotImplementedError

    def made(self, role: str, name: str, node: Node) -> Any:
        """The object for a role once there is a model. Written in ``Resolver``."""
        raise NotImplementedError

    def fit_model(self, name: str, node: Node) -> None:
        """Let the workload's model have what the program uses of it. Written in ``Resolver``."""
        raise NotImplementedError

    def loader(self, form: Form, name: str = "train") -> Loader:
        """The loader that yields batches of this form. Written in ``Resolver``."""
        raise NotImplementedError

    def form(self, element: Node | None) -> Form:
        """Form of a batch that is used like ``element``. Written in ``Resolver``."""
        raise NotImplementedError

    def maker(self, name: str, node: Node) -> Any:
        """A callable whose results are what they are used as."""
        if (helper := HELPERS.get(name.rpartition(".")[2])) is not None:
            return helper
        calls = list(node.calls)
        results = [call.result for call in calls]
        roles = {self.judge.role(result) for result in results}
        roles &= {*TRAINED, "loader", "scheduler"}
        several = len(roles) > 1 or len({*map(self.teams.member, results)}) > 1
        if several and all(call.where is not None for call in calls):
            return self._by_line(name, calls)
        return self._made_by(name, calls)

    def _by_line(self, name: str, calls: list[Call]) -> Any:
        """One function makes different things: ``instantiate(cfg.model)``; which, the line tells."""
        lines = {
            line: self._made_by(name, [call])
            for call in calls
            if call.where is not None
            for line in range(call.where.lineno, (call.where.end_lineno or call.where.lineno) + 1)
        }

        def made(*args: Any, **kwargs: Any) -> Any:
            maker = lines.get(sys._getframe(1).f_lineno)
            if maker is None:
                raise Unbound(name, "makes different things, and is called where nobody sees it")
            return maker(*args, **kwargs)

        return made

    def _made_by(self, name: str, calls: list[Call]) -> Any:
        for call in calls:
            role = self.judge.role(call.result)
            if role in ("logger", "namespace") and self._reports(name, calls):
                return lambda *_, **__: self.reporter(name, call.result)
            if role is not None and role not in ("factory", "logger"):
                return self._single(name, role, call)
            if is_unpacked(call.result):
                return self._several(name, call)
            if _makes_contexts(call.result):
                return lambda *_, **__: contextlib.nullcontext
        reports = hints.suggests(name, "effectless")
        if all(_unused(call.result) or (reports and _a_figure(call.result)) for call in calls):
            return self._effectless(name, calls)
        raise Unbound(
            name, "is called, and what it returns is used in no way that tells what it is"
        )

    def _single(self, name: str, role: str, call: Call) -> Any:
        result = call.result
        if role in ("model", "criterion") and call.inner and _is_part(result):
            backbone = self._backbone()
            if backbone is not None:
                return backbone
            raise Unbound(name, "makes a part of a model that the workload does not have")
        if role == "model":
            return self._model_maker(name, result)
        if role in ("batch", "input") or (is_unpacked(result) and role == "loader"):
            return Source(self.loader(self.form(result)))
        if role == "loss":
            return _unknown(name, "computes the loss in a way that is not shown")
        if role == "lightning_model":
            return lambda *_, **__: self.lightning_module()
        found = self.of(role, name, result)
        return lambda *_, **__: self.made(role, name, result) if found is LATE else found

    def _model_maker(self, name: str, result: Node) -> Callable[..., Any]:
        if self.values.parts:
            part = self.values.parts.of("model", [name, *result.all_names()])
            return lambda *_, **__: part
        self.fit_model(name, result)
        return lambda *_, **__: self._another()

    def _backbone(self) -> Any:
        """What the workload's own message calls to make a part of the model."""
        extra = self.values.workload.extra_names()
        return next((v for k, v in extra.items() if k.startswith("pretrained")), None)

    def _another(self) -> nn.Module:
        model = self.values.another_model()
        return self.values.the_model(wrap=self.wrap) if model is self.values.model else model

    def _several(self, name: str, call: Call) -> Any:
        items = {k: v for k, v in call.result.items().items() if isinstance(k, int)}
        if any(part.uses & {"model_arg", "loss_target"} for part in items.values()):
            return Source(self.loader(self.form(call.result)))
        made = [self.free(f"{name}()[{i}]", items[i]) for i in sorted(items)]
        if any(one is LATE for one in made):
            raise Unbound(name, "makes several things, one of which only the program can make")
        return lambda *_, **__: tuple(made)

    def reporter(self, name: str, node: Node) -> Any:
        """An object that does nothing; if a method of it is iterated, that yields batches."""
        fields = {}
        for key, part in node.attributes().items():
            yields = any(self.judge.role(call.result) == "loader" for call in part.calls)
            with contextlib.suppress(*(() if yields else (Unbound,))):
                fields[key] = self.free(f"{name}.{key}", part)
        return Reporter({key: found for key, found in fields.items() if found is not LATE})

    def _reports(self, name: str, calls: list[Call]) -> bool:
        """Whether what is made, and whatever is called on it, gets nothing that is trained."""
        made = [part for call in calls for part in call.result.attributes().values()]
        inner = [call for part in made for call in part.calls]
        given = {self.judge.role(a) for call in (*calls, *inner) for a in call.arguments()}
        names = [name, *(n for call in calls for n in call.result.all_names())]
        return not given & TRAINED or hints.first(names, ("ema",)) is not None

    def _effectless(self, name: str, calls: list[Call]) -> Any:
        """A helper that nobody wrote down: harmless only when it reports, never when it trains."""
        given = {self.judge.role(a) for call in calls for a in call.arguments()}
        if hints.suggests(name.rpartition(".")[2], "clips") and any(
            [*call.arguments()] for call in calls
        ):
            return _unknown(name, "clips, as its name says, and nobody says how")
        if hints.suggests(name, "effectless") or not given & TRAINED:
            shown = any(c.result.uses & {"format", "compare", "called with"} for c in calls)
            return (lambda *_, **__: 0.0) if shown else Inert()
        raise Unbound(name, "is called with what is trained, and nobody says what it does")


def _unknown(name: str, reason: str) -> Callable[..., Any]:
    """Stands for a function in a branch that may never be taken."""

    def called(*_: Any, **__: Any) -> Any:
        raise Unbound(name, reason)

    return called


def _is_part(node: Node) -> bool:
    """Whether what it returns goes into another module."""
    return any("model_arg" in call.result.uses for call in node.calls)


def _makes_contexts(node: Node) -> bool:
    """Whether it is called only for ``with``: ``autocast = get_autocast(precision)``."""
    return bool(node.calls) and all("context" in call.result.uses for call in node.calls)


REPORTING = frozenset({
    "discarded", "format", "compare", "compare:constant", "float", "guards", "round",
})  # fmt: skip
"""Uses of a value on which training does not depend."""


def _unused(node: Node) -> bool:
    return node.uses <= REPORTING


def _a_figure(node: Node) -> bool:
    """Whether it may be one number that is handed on: ``plateau.step(evaluate(model))``."""
    return (
        node.uses <= REPORTING | {"called with", "optimizer?"} and not node.parts and not node.calls
    )
