"""What calls are: of a model, of a criterion, of a helper, of something that only reports."""

from harness.sandbox.binding.flow import hints
from harness.sandbox.binding.flow.definitions import Class, Function, Instance, Partial
from harness.sandbox.binding.flow.graph import Call, Node
from harness.sandbox.binding.roles import known
from harness.sandbox.binding.roles.arithmetic import Arithmetic
from harness.sandbox.binding.roles.results import Paths
from harness.sandbox.binding.roles.signs import (
    METHODS,
    NO_OPTIMIZER,
    asks_for_a_loss,
    is_called_scaler,
    is_model,
    is_plain,
    named_criterion,
)

GIVEN_BEHIND = {"checkpoint": 1, "checkpoint_sequential": 2, "functional_call": 2}
"""Library functions that call their first argument: position of the first argument that they pass
to it.
"""

JOINING = frozenset({"cat", "concat", "concatenate", "stack", "vstack", "hstack"})
"""Functions of torch that make one tensor of several."""


class Meaning(Arithmetic):
    """Calls as evidence."""

    several: bool
    """Whether several networks are trained."""
    paths: Paths
    """Paths of values to a backward, once they are known."""

    def optimizers(self, call: Call) -> None:
        """``scaler.step(optimizer)``; but ``scheduler.step(loss)`` takes none."""
        named = call.callee.names & {"step", "unscale_"} if not self.schedules(call) else set()
        if named and call.args and not call.args[0].tags & NO_OPTIMIZER:
            self.graph.use(call.args[0], "optimizer" if "unscale_" in named else "optimizer?")

    def meaning(self, call: Call) -> None:
        """Note what is certain about a call."""
        callee = call.callee
        if callee.library.endswith("()"):
            self.library(callee.library, call)
        own = any(isinstance(t, Function | Class | Partial) for t in callee.targets)
        if callee.library or own or self._is_known(call):
            return
        tags = set[str]().union(*(a.tags for a in call.arguments()))
        if is_model(callee) and named_criterion(call):
            if "output" in tags:
                self._criterion_call(call)
        elif self._unwraps(call):
            self.graph.use(callee, "unwraps")
            self.graph.flow(call.args[0], call.result)
        elif self._is_model_call(call):
            self.model_call(call)
        elif not (is_plain(_instances(call)) or callee.names & METHODS):
            self._by_what_it_is_given(call, tags)

    def _is_model_call(self, call: Call) -> bool:
        callee = call.callee
        known = "model_call" in callee.uses and not callee.names & METHODS
        return known or (is_model(callee) and not is_plain(_instances(call)))

    def _by_what_it_is_given(self, call: Call, tags: set[str]) -> None:
        if self.several and tags & {"data", "output"} and len([*call.arguments()]) == 1:
            self.model_call(call)  # one network judges what another made; a loss compares two
        elif self._only_reports(call):
            self._gathers(call)
        elif "output" in tags and (not call.inner or asks_for_a_loss(call)):
            self._criterion_call(call)
        elif "data" in tags:
            self.graph.tag(call.result, "made")

    def _is_known(self, call: Call) -> bool:
        """Whether it is a helper of a well-known script; what it does with its arguments is marked."""
        name = next((n for n in call.callee.names if n in known.HELPERS), "")
        scales = is_called_scaler(call)
        if call.callee.targets or not (name or scales):
            return False
        places = ("to_loss", "optimizer", "max_norm") if scales else known.USES.get(name, ())
        for argument, use in zip(call.args, places, strict=False):
            self.graph.use(argument, use)
        for key, argument in call.keywords.items():
            if key in known.NAMED:
                self.graph.use(argument, known.NAMED[key])
        if scales:
            self.graph.use(call.callee, "called_scaler")
        return True

    def _unwraps(self, call: Call) -> bool:
        """Whether it takes a model and gives the one inside: ``unwrap_model(model)``."""
        named = hints.first(sorted(call.callee.names), ("unwrap",)) is not None
        return named and len(call.args) == 1 and is_model(call.args[0])

    def model_call(self, call: Call) -> None:
        """Note that the call calls a model."""
        graph = self.graph
        graph.use(call.callee, "model_call")
        graph.tag(call.result, "output")
        for i, argument in enumerate((*call.args, *call.keywords.values())):
            graph.use(argument, "model_extra" if i else "model_arg")
        for argument in call.spread:
            graph.use(argument, "model_spread")

    def _criterion_call(self, call: Call) -> None:
        graph = self.graph
        graph.use(call.callee, "criterion")
        graph.tag(call.result, "loss")
        others = [
            a for a in call.arguments() if not a.tags & {"output", "constant"} and not is_model(a)
        ]
        for argument in call.arguments():
            if "output" in argument.tags:
                graph.use(argument, "loss_output")
        for i, argument in enumerate(others):
            graph.use(argument, "loss_extra" if i else "loss_target")

    def _only_reports(self, call: Call) -> bool:
        """Whether it is given losses, that go back without it: ``reduce_dict(losses)``."""
        if call.inner or "criterion" in call.callee.uses or "to_loss" in call.result.uses:
            return False
        given = [a for a in call.arguments() if "output" in a.tags or _holds_losses(a)]
        return bool(given) and all(
            "number" in argument.tags or self.paths.hold_a_loss(argument) for argument in given
        )

    def _gathers(self, call: Call) -> None:
        """What is reported of losses is what they are, or nothing is done with it."""
        self.graph.use(call.callee, "transform")
        if "discarded" not in call.result.uses:
            for argument in call.args[:1]:
                self.graph.flow(argument, call.result)

    def library(self, path: str, call: Call) -> None:
        """Note what is certain about a call of a library."""
        last = path.removesuffix("()").rpartition(".")[2]
        if path.endswith("()") and path.startswith("torch.nn."):
            if last.endswith("Loss"):
                self.reader.losses(call)
                self.graph.use(call.callee, "criterion")
            elif any(a.tags & {"data", "output"} for a in call.args):
                self.model_call(call)
        elif last in ("clip_grad_norm_", "clip_grad_norm", "get_total_norm"):
            self.graph.tag(call.result, "norm")
        elif last in JOINING and path.startswith("torch.") and call.args:
            self._joins(call)
        elif last in GIVEN_BEHIND and len(call.args) > GIVEN_BEHIND[last] and not call.linked:
            call.linked.add(0)
            self._calls_for_it(call, call.args[GIVEN_BEHIND[last] :])

    def _joins(self, call: Call) -> None:
        """``torch.cat(outputs)`` is what was put into the list."""
        if "literal" in call.args[0].tags:
            self.graph.flow(self.graph.part(call.args[0], ("for", 0)), call.result)

    def _calls_for_it(self, call: Call, given: list[Node]) -> None:
        """``checkpoint(model, x)`` calls the model, and so do others that take it first."""
        if len(given) == 1 and "literal" in given[0].tags:
            given = [item for _, item in sorted(given[0].items().items(), key=str)]
        inside = Call(call.args[0], given, {}, [], call.result, None, call.inner)
        call.args[0].calls.append(inside)
        self.graph.calls.append(inside)
        self.graph.touch(call.args[0])


def _instances(call: Call) -> list[Instance]:
    return [target for target in call.callee.targets if isinstance(target, Instance)]


def _holds_losses(node: Node) -> bool:
    return any(kind == "[]" and "loss" in part.tags for (kind, _), part in node.parts.items())
