"""What programs on data loading find, and what is read off their runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from pydantic import JsonValue
from torch import Tensor, nn
from torch.utils.data import Dataset

from harness.domain.event import Forward, OutputGradient, WorkloadNote
from harness.domain.recording import Recorded, TensorBytes
from harness.workloads import Workload, WorkloadBatch
from harness.workloads.workload import Note, cut, generator, initialise, random_state_kept

from .loading import Loading

ROUNDING = 1e-5
"""Rows are of size 1, and each is a sum of two numbers in single precision: 2**-22 and some room."""

FAR = 0.35
"""A row is taken for the nearest one of the data set where no other is within three times that
distance. Noise that programs add is a tenth of the distance between rows."""


class Rows(Dataset[tuple[Tensor, Tensor]]):
    """Rows by number, each as a copy. A copy of it is itself: nobody can change it."""

    def __init__(self, inputs: Tensor, targets: Tensor) -> None:
        self._inputs, self._targets = inputs, targets

    def __len__(self) -> int:
        return len(self._inputs)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"{index} of {len(self)} rows")
        return self._inputs[index].clone(), self._targets[index].clone()

    def __deepcopy__(self, memo: object) -> "Rows":
        return self


class LoadingWorkload(Workload):
    """A regression on numbered rows; every rank finds the same data set."""

    @property
    def parameters(self) -> Loading:
        """This workload's parameters."""
        assert isinstance(self.spec.parameters, Loading)
        return self.spec.parameters

    @random_state_kept()
    def model(self) -> nn.Module:
        """One hidden layer."""
        p = self.parameters
        layers = (nn.Linear(p.features, p.hidden), nn.Tanh(), nn.Linear(p.hidden, p.outputs))
        return initialise(nn.Sequential(*layers), generator(self.spec, 0))

    def batches(self, rank: int) -> tuple[WorkloadBatch, ...]:
        """The whole data set in its order, the same on every rank."""
        del rank
        inputs, targets = self._data(1, self.parameters.samples)
        full, rest = divmod(len(inputs), self.parameters.batch_size)
        sizes = [self.parameters.batch_size] * full + [rest] * bool(rest)
        return cut(inputs, targets, sizes)

    def criterion(self) -> Callable[..., Tensor]:
        """Mean squared error."""
        return nn.MSELoss()

    def sample_losses(self, output: Tensor, batch: WorkloadBatch) -> Tensor:
        """Squared error of each sample, averaged over the outputs. (n, outputs) -> (n,)"""
        return ((output - batch.target.to(output.dtype)) ** 2).mean(dim=1)

    def stage(self, rank: int, world_size: int, note: Note) -> Mapping[str, object]:
        """Data sets, model, loss and optimizer; ``report`` takes the validation loss."""
        p = self.parameters
        model = self.model()
        return {
            "dataset": Rows(*self._data(1, p.samples)),
            "val_dataset": Rows(*self._validation()),
            "model": model,
            "criterion": self.criterion(),
            "optimizer": self.optimizer(model.parameters()),
            "report": lambda value, *_, **__: note("report", value=float(value)),
            "num_epochs": p.epochs,
            "batch_size": p.batch_size,
            "num_workers": p.workers,
            "seed": 17,
            "device": torch.device("cuda", rank),
            "rank": rank,
            "local_rank": rank,
            "world_size": world_size,
        }

    def facts(self, ranks: Sequence[Sequence[Recorded]]) -> dict[str, JsonValue]:
        """Passes with the rows that were trained on, reported losses, copies, by rank."""
        inputs = self._data(1, self.parameters.samples)[0].numpy()
        added: list[np.ndarray[Any, Any]] = []
        ranks_seen: list[JsonValue] = [self._of_rank(events, inputs, added) for events in ranks]
        return {
            "samples": self.parameters.samples,
            "batch_size": self.parameters.batch_size,
            "ranks": ranks_seen,
        }

    def _of_rank(
        self,
        events: Sequence[Recorded],
        rows: np.ndarray[Any, Any],
        added: list[np.ndarray[Any, Any]],
    ) -> dict[str, JsonValue]:
        seen = _Seen()
        for event, tensors in events:
            seen.parameters |= {t.name[6:]: t for t in tensors if t.name.startswith("param:")}
            if isinstance(event, WorkloadNote):
                self._noted(event, seen)
            elif isinstance(event, Forward) and event.differentiable:
                seen.entered[event.id] = next(_arrays(tensors, "input:"))
            elif isinstance(event, OutputGradient) and event.forward in seen.entered:
                counts = _rows_reached(next(_arrays(tensors, "grad")))
                entered = seen.entered.pop(event.forward)
                if counts.any() and len(counts) == len(entered):
                    seen.trained(_recognised(entered[counts], rows, added))
        passes: list[JsonValue] = [one for one in seen.passes if one["batches"]]
        return {
            "passes": passes,
            "outside": seen.outside,
            "reports": seen.reports,
            "copies": seen.copies,
            "cuda_in_workers": seen.cuda,
        }

    def _noted(self, event: WorkloadNote, seen: "_Seen") -> None:
        if event.name == "pass":
            seen.passes.append({**event.facts, "batches": []})
        elif event.name == "copy":
            seen.copies.append(bool(event.facts["pinned"]))
        elif event.name == "cuda-in-worker":
            seen.cuda += 1
        elif event.name == "report":
            losses = self._validation_losses(seen.parameters)
            size = self.parameters.batch_size
            means = [float(part.mean()) for part in losses.split(size)]
            seen.reports.append(
                {
                    "said": event.facts["value"],
                    "over_samples": float(losses.mean()),
                    "over_batches": sum(means) / len(means),
                }
            )

    def _validation_losses(self, parameters: Mapping[str, TensorBytes]) -> Tensor:
        """The loss of each validation sample at recorded parameters, on the pristine model."""
        model = self.model().double()
        values = {n: torch.from_numpy(_array(t).copy()).double() for n, t in parameters.items()}
        model.load_state_dict({n: values[n] for n, _ in model.named_parameters()})
        inputs, targets = (part.double() for part in self._validation())
        batch = WorkloadBatch(inputs, targets, None, tuple(range(len(inputs))))
        with torch.no_grad():
            return self.sample_losses(model(inputs), batch)

    def _validation(self) -> tuple[Tensor, Tensor]:
        """The last rows are hard, so that it shows how much the last batch counts."""
        inputs, targets = self._data(2, self.parameters.validation)
        targets[-(self.parameters.validation % self.parameters.batch_size or 1) :] += 3.0
        return inputs, targets

    def _data(self, purpose: int, count: int) -> tuple[Tensor, Tensor]:
        p = self.parameters
        source = generator(self.spec, purpose)
        inputs = torch.randn(count, p.features, generator=source)
        truth = torch.randn(p.features, p.outputs, generator=generator(self.spec, 3))
        return inputs, inputs @ truth / p.features**0.5


@dataclass
class _Seen:
    """What one rank did so far."""

    parameters: dict[str, TensorBytes] = field(default_factory=dict)
    passes: list[dict[str, Any]] = field(default_factory=list)
    reports: list[JsonValue] = field(default_factory=list)
    copies: list[JsonValue] = field(default_factory=list)
    entered: dict[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    outside: int = 0
    cuda: int = 0

    def trained(self, batch: dict[str, JsonValue]) -> None:
        """A batch that was trained on belongs to the pass that began last."""
        if self.passes:
            self.passes[-1]["batches"].append(batch)
        else:
            self.outside += 1


def _recognised(
    found: np.ndarray[Any, Any], rows: np.ndarray[Any, Any], added: list[np.ndarray[Any, Any]]
) -> dict[str, JsonValue]:
    """The row of each sample, ``null`` where that cannot be told, and the number of what was added to
    it: the same number is the same noise, and ``null`` is none.
    """
    if found.ndim != 2 or found.shape[1] != rows.shape[1]:
        return {"samples": [None] * len(found), "noise": [None] * len(found)}
    far = np.linalg.norm(found[:, None, :] - rows[None, :, :], axis=2)
    nearest = far.argmin(axis=1)
    second = np.partition(far, 1, axis=1)[:, 1]
    sure = far[np.arange(len(found)), nearest] <= FAR * second
    samples: list[JsonValue] = [int(n) if ok else None for n, ok in zip(nearest, sure, strict=True)]
    noise: list[JsonValue] = [
        _number_of(one, added) if ok else None
        for one, ok in zip(found - rows[nearest], sure, strict=True)
    ]
    return {"samples": samples, "noise": noise}


def _rows_reached(gradient: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Which rows of a batch got any gradient."""
    return np.asarray(gradient.reshape(len(gradient), -1).any(axis=1))


def _number_of(one: np.ndarray[Any, Any], added: list[np.ndarray[Any, Any]]) -> int | None:
    """Which of the noises seen so far it is, to the rounding of single precision."""
    if np.abs(one).max() < ROUNDING:
        return None
    if added:
        apart = np.abs(np.array(added) - one).max(axis=1)
        if apart.min() < ROUNDING:
            return int(apart.argmin())
    added.append(one)
    return len(added) - 1


def _arrays(tensors: Sequence[TensorBytes], prefix: str) -> Iterator[np.ndarray[Any, Any]]:
    yield from (_array(tensor) for tensor in tensors if tensor.name.startswith(prefix))


def _array(tensor: TensorBytes) -> np.ndarray[Any, Any]:
    found = np.frombuffer(tensor.data, dtype=np.dtype(tensor.dtype))
    return found.reshape(tensor.shape).astype(np.float64)
