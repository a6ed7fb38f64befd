"""Parts of a model that are trained against each other, each as a run of its own.

What a generator is trained on flows back through the discriminator and leaves gradients there. So a
backward belongs to the update that comes next, and what it left in parts which that update does
not train is *foreign* to their next one: it should have been cleared, or never been computed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.domain.event import Backward, Event, OptimizerStep
from harness.oracle.facts import Consumed, Flow, Parameters, RankRun
from harness.oracle.gradient import Gradient


def apart(run: RankRun, parts: Sequence[str]) -> dict[str, RankRun]:
    """The run as each trained part saw it, by name; empty where the workload's model has no
    ``parts``.
    """
    found = _parts_of(run, parts) if parts else {}
    split = _Split(run, found, never=frozenset(parts) - found.keys())
    for update in run.updates:
        split.take(update)
    return {
        name: replace(
            run,
            initial=part.only(run.initial),
            final=part.only(run.final),
            updates=part.updates,
            open_flows=part.waiting,
        )
        for name, part in found.items()
    }


def passed_on(flow: Flow, flows: Sequence[Flow]) -> set[str]:
    """Other models that the same backward reached, to which the loss may belong."""
    reached = {f.forward.model for f in flows if f.backward == flow.backward}
    return reached - {flow.forward.model} if flow.forward.attached else set()


@dataclass(slots=True)
class _Part:
    """One part, while the run is walked through."""

    parameters: frozenset[str]
    """What its optimizer steps."""
    models: frozenset[str]
    """Tracked models that hold them."""
    updates: list[Consumed] = field(default_factory=list)
    """Its updates so far."""
    waiting: list[Flow] = field(default_factory=list)
    """What flowed into it since."""

    def only(self, values: Parameters) -> Parameters:
        """Those of its parameters."""
        return {name: value for name, value in values.items() if name in self.parameters}


def _parts_of(run: RankRun, parts: Sequence[str]) -> dict[str, _Part]:
    """The workload's parts that were trained, and the program's own models, optimizer by optimizer.

    One optimizer for all of the program's own models says nothing; then each of them is a part.
    """
    by_model = {
        name: (_model(name) if _model(name) in parts else f"optimizer {step.optimizer}")
        for update in run.updates
        for step in update.steps
        for name in _stepped(step)
    }
    if len(set(by_model.values())) == 1:
        by_model = {name: _model(name) for name in by_model}
    names: dict[str, set[str]] = {}
    for name, part in by_model.items():
        names.setdefault(part, set()).add(name)
    return {
        _label(part, held): _Part(frozenset(held), frozenset(map(_model, held)))
        for part, held in names.items()
    }


def _label(part: str, held: set[str]) -> str:
    models = {_model(name) for name in held}
    return next(iter(models)) if len(models) == 1 else part


def _model(parameter: str) -> str:
    return parameter.partition(".")[0]


def _stepped(step: OptimizerStep) -> set[str]:
    return {name for group in step.groups for name in group.parameters}


class _Split:
    """Hands every flow to the part that it flowed into, and every update to what it trained."""

    def __init__(self, run: RankRun, parts: Mapping[str, _Part], never: frozenset[str]) -> None:
        """``never``: parts of the workload's model that no optimizer steps."""
        self._run = run
        self._parts = parts
        self._never = never
        self._models = frozenset[str]().union(*(p.models for p in parts.values()))
        self._since = 0

    def take(self, update: Consumed) -> None:
        """The next update of the run."""
        if not update.steps:  # a scaler left it out: what flowed in is gone with it
            return
        trained = [p for p in self._parts.values() if _trains(update, p)]
        again = any(map(_differentiable, self._run.events[self._since : update.position]))
        self._since = update.position
        for part in self._parts.values():
            part.waiting += [
                replace(
                    flow,
                    left=part.only(flow.left),
                    added=part.only(flow.added),
                    foreign=part not in trained
                    or bool(
                        passed_on(flow, update.flows)
                        & (self._never if len(trained) == 1 else self._models - part.models)
                    ),
                    recorded_only=again,
                )
                for flow in update.flows
                if flow.forward.model in part.models
                and not _differentiable(self._run.events[flow.backward])
            ]
        for part in trained:
            part.updates.append(_share(update, part))
            part.waiting = []


def _differentiable(event: Event) -> bool:
    """Whether it computed a gradient that enters a loss, and added nothing itself."""
    return isinstance(event, Backward) and event.create_graph and event.function == "grad"


def _trains(update: Consumed, part: _Part) -> bool:
    """Whether an optimizer had gradients for the part, or held it alone and had none at all."""
    return any(
        (held := _stepped(step)) & part.parameters
        and (part.parameters & update.gradients.keys() or not held & update.gradients.keys())
        for step in update.steps
    )


def _share(update: Consumed, part: _Part) -> Consumed:
    return replace(
        update,
        flows=part.waiting,
        gradients=part.only(update.gradients),
        before=part.only(update.before),
        after=part.only(update.after),
        beside=max((_beside(flow, part) for flow in update.flows), default=(0, 0.0))[1],
        steps=[_of_part(s, part) for s in update.steps if _stepped(s) & part.parameters],
    )


def _beside(flow: Flow, part: _Part) -> tuple[int, float]:
    """When, and the norm of what a flow's backward left in everything but the part."""
    others = {name: g for name, g in flow.left.items() if name not in part.parameters}
    return flow.backward, Gradient.of(others).norm / flow.loss_scale


def _of_part(step: OptimizerStep, part: _Part) -> OptimizerStep:
    groups = (
        g.model_copy(update={"parameters": tuple(n for n in g.parameters if n in part.parameters)})
        for g in step.groups
    )
    return step.model_copy(update={"groups": tuple(groups)})
