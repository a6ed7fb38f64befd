"""Models that a program builds itself: they are watched if they fit the data, and replaced if that
is allowed.
"""

from collections.abc import Callable
from typing import Any

from torch import nn

from harness.sandbox.binding.analysis import Analysis
from harness.sandbox.binding.frameworks.fitting import Fitting
from harness.sandbox.binding.objects import models
from harness.sandbox.binding.replaced import derivatives
from harness.sandbox.binding.resolver import Resolver
from harness.sandbox.binding.unbound import Unbound

Track = Callable[..., nn.Module]
"""``(model, name)``: watch a model."""


class OwnModels:
    """Decides about each model that the program builds."""

    def __init__(
        self, analysis: Analysis, resolver: Resolver, fitting: Fitting, track: Track
    ) -> None:
        """None is built yet."""
        self.untrue: str | None = None
        """Which model that stays gives other gradients than the derivatives of its outputs."""
        self.stay = False
        """Whether all of them stay, as parts of a model that the program puts together itself."""
        self._analysis = analysis
        self._resolver = resolver
        self._values = resolver.values
        self._fitting = fitting
        self._track = track
        self._inputs = self._values.batches[0].inputs
        self._kept = 0
        self._output_shape = (
            models.shape_of(self._values.model, self._inputs) if analysis.constructors else None
        )

    def built(self, model: Any, name: str) -> Any:
        """The model to use in its place, or itself. Raises ``Unbound`` for one about which nothing
        could be told.
        """
        if not isinstance(model, nn.Module):
            return model
        self._fitting.complete(model)
        if self._values.parts:
            used = self._analysis.fields_used(name)
            return self._values.parts.built(model, name, used, self._track, self._resolver.notes)
        if any(part is self._values.model for part in model.modules()):
            return model
        if self.stay or self._analysis.grows(name):  # it is watched from its first call on
            self._values.trained = model
            return model
        self._refuse_containers(model, name)
        problem = self._problem(model)
        if problem is None or self._carries_a_state(model, name):
            return self._watched(model, name, problem)
        self._may_be_replaced(model, name, problem)
        self._resolver.notes.append(
            f"{name} does not take the workload's data: its model is used instead"
        )
        self._values.trained = self._values.model
        return self._values.another_model()

    def _refuse_containers(self, model: nn.Module, name: str) -> None:
        if self._analysis.uses_workload_data and _is_container(model):
            raise Unbound(name, "cannot be called: what it holds is called part by part")

    def _problem(self, model: nn.Module) -> str | None:
        if not self._analysis.uses_workload_data:
            return None
        return models.misfit(model, self._inputs, self._output_shape)

    def _watched(self, model: nn.Module, name: str, problem: str | None) -> nn.Module:
        """It stays: its gradients are taken from the record, and it is told whether they are true. A
        recurrent one gets from the program what it does not take as it stands.
        """
        if problem is not None:
            self._refuse_losses(Begun(model), name, problem)
        elif (flaw := derivatives.unseen_flaw(model, self._inputs)) is not None:
            if flaw.foreign:
                raise Unbound(name, flaw.said)
            self.untrue = self.untrue or f"`{name}` {flaw.said}"
        self._values.trained = model
        self._kept += 1
        return self._track(model, f"model{self._kept}")

    def _carries_a_state(self, model: nn.Module, name: str) -> bool:
        """Whether it is recurrent and handed more than a batch: no other model takes its state."""
        layers = any(isinstance(m, nn.RNNBase | nn.RNNCellBase) for m in model.modules())
        return layers and self._analysis.is_handed_more(name)

    def _may_be_replaced(self, model: nn.Module, name: str, problem: str) -> None:
        """Raises ``Unbound`` for a model that no other can stand for."""
        analysis, other = self._analysis, self._values.model
        missing = [field for field in analysis.model_fields(name) if not hasattr(other, field)]
        if missing or analysis.takes_more_than_inputs(name):
            raise Unbound(name, f"does not take the workload's data: {problem}")
        self._refuse_losses(model, name, problem)

    def _refuse_losses(self, model: nn.Module, name: str, problem: str) -> None:
        written = self._analysis.class_of(name)
        if (lost := derivatives.lost_with(model, self._inputs, written)) is not None:
            raise Unbound(name, f"does not take the workload's data ({problem}), and {lost}")


def _is_container(model: nn.Module) -> bool:
    """Whether it has no forward, and no trainer calls anything else."""
    return type(model).forward is nn.Module.forward and not hasattr(model, "training_step")


class Begun(nn.Module):
    """A recurrent model at the beginning of a sequence, without a state."""

    def __init__(self, model: nn.Module) -> None:
        """``model`` takes a batch and a state."""
        super().__init__()
        self.model = model

    def forward(self, batch: Any) -> Any:
        """What it says to a batch; with ``None`` for the state where it insists on one."""
        try:
            return self.model(batch)
        except TypeError:
            return self.model(batch, None)
