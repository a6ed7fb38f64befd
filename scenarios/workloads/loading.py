"""The workload of scenarios on data loading, declared without torch."""

from pydantic import Field

from harness.domain.workload import DeclaredWorkload, WorkloadParameters, WorkloadSpec


class Loading(WorkloadParameters):
    """A data set of numbered rows, a small network, and whatever loaders a program makes."""

    samples: int = Field(default=42, ge=4, le=4096)
    """Rows of the training set. The default leaves 2 over after batches of 8."""
    validation: int = Field(default=21, ge=2, le=4096)
    """Rows of the validation set; its last ones are far from the others."""
    batch_size: int = Field(default=8, ge=1, le=4096)
    """Value of the free name that means it."""
    workers: int = Field(default=2, ge=0, le=16)
    """Value of the free name ``num_workers``."""
    epochs: int = Field(default=3, ge=1, le=50)
    """Value of free names such as ``num_epochs``."""
    hidden: int = Field(default=8, ge=1, le=4096)
    """Width of the hidden layer."""
    outputs: int = Field(default=2, ge=1, le=512)
    """Width of the output."""


def build(spec: WorkloadSpec) -> object:
    """The workload, with torch."""
    from ._loading import LoadingWorkload

    return LoadingWorkload(spec)


WORKLOAD = DeclaredWorkload(name="loading", parameters=Loading, builder=build)
