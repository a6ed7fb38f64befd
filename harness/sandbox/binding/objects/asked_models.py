"""The workload's model, extended by what a program asks of it: methods, settings, another kind of
result.
"""

from collections.abc import Iterable
from typing import Any

from torch import nn

from harness.sandbox.binding.flow.definitions import Instance
from harness.sandbox.binding.flow.graph import Call, Node
from harness.sandbox.binding.objects import models
from harness.sandbox.binding.objects.makers import Makers
from harness.sandbox.binding.roles import plain
from harness.sandbox.binding.roles.results import SPLIT, Paths
from harness.sandbox.binding.unbound import Unbound


class Models(Makers):
    """The part of ``Resolver`` that is about models."""

    paths: Paths

    def note(self, name: str, role: str) -> None:
        """Say what ``name`` was taken for. Written in ``Resolver``."""
        raise NotImplementedError

    def the_model(self, name: str, node: Node) -> nn.Module:
        """The workload's model, in the form in which the program uses it."""
        self.fit_model(name, node)
        self.values.another_model()
        return self.values.the_model(wrap=self.wrap)

    def fit_model(self, name: str, node: Node) -> None:
        """Add to the workload's model what the program uses of it."""
        self.prepare_model([node])
        for field in self._fields(node):
            if hasattr(self.values.model, field):
                continue
            part = node.attributes()[field]
            if self.judge.role(part) == "parameters":
                object.__setattr__(self.values.model, field, [*self.values.model.parameters()])
                continue
            if not part.calls:
                object.__setattr__(self.values.model, field, self._beside(f"{name}.{field}", part))
                continue
            if any(self._computes(call) for call in part.calls):
                self.note(f"{name}.{field}", "what the model computes")
                models.answers_by(self.values.model, field, self._answering(part.calls))
                continue
            object.__setattr__(self.values.model, field, self.maker(f"{name}.{field}", part))

    def _beside(self, name: str, node: Node) -> Any:
        """What a program reads of its model that is no part of it: a size, a setting, a writer."""
        role = self.judge.role(node)
        if role not in (*plain.BY_NAME, "choice", "logger", "shown", "interval"):
            raise Unbound(name, "does not exist on the workload's model")
        found = self.of(role, name, node)
        self.note(name, role)
        return found

    def _computes(self, call: Call) -> bool:
        """Whether a method of the model takes a batch and returns what a loss compares, or the loss."""
        given = set[str]().union(*(a.tags for a in call.arguments()))
        batch = "data" in given and not given & {"made", "output"}
        loss = self.paths.result(call).has_loss
        return batch and (loss or self.judge.role(call.result) == "output")

    def _fields(self, node: Node) -> list[str]:
        wrappers = (t for n in node.downstream() for t in n.targets if isinstance(t, Instance))
        kept = [node, *(wrapper.cls.instance for wrapper in wrappers)]
        written = {use[1:] for n in kept for use in n.uses if use.startswith("=")}
        known = {"module", "require_backward_grad_sync", "device", "config", "_orig_mod"}
        return [a for a in node.attributes() if a not in written | known and not hasattr(nn.Module, a)
                and a not in ("no_sync", "join", "register_comm_hook", "training")
                and not _of_wrappers(node, a)]  # fmt: skip

    def prepare_model(self, nodes: Iterable[Node]) -> None:
        """Make the workload's model accept calls as the program makes them."""
        answering = self._answering([call for node in nodes for call in node.calls])
        models.adapt(self.values.model, answering)

    def _answering(self, calls: list[Call]) -> models.Answering:
        """How the workload's model answers calls like these."""
        wanted = models.protocol(calls, self.paths)
        if wanted.result.split:
            raise Unbound("model", SPLIT)
        return models.Answering(wanted, self.values.criterion, self.values.targets)


def _of_wrappers(node: Node, name: str) -> bool:
    """Whether the attribute is a method of the class that wraps the model, wherever it is asked for.

    What is asked of a value is noted for all values that flow into it too, so the last ones count: a
    wrapper that hands on to ``self.inner.name`` asks the model inside.
    """
    asked = [n for n in node.downstream() if (".", name) in n.parts]
    last = [n for n in asked if not any((".", name) in after.parts for after in n.after)]
    return bool(last) and all(
        any(isinstance(t, Instance) and t.cls.method(name) is not None for t in n.targets)
        for n in last
    )
