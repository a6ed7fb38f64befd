"""Torch's optimizers without torch's compiler.

They import it when they are made and when they step, to say what it is to leave alone. Nothing is
compiled by the oracle, and that import took as long as all others of its processes together.
"""

import inspect

import torch

for _method in vars(torch.optim.Optimizer).values():
    _alone = getattr(_method, "__wrapped__", None)
    if _alone is not None:
        setattr(_alone, "__dynamo_disable", _alone)  # as torch does itself, after the import


def step(optimizer: torch.optim.Optimizer) -> None:
    """Let an optimizer step; one that is not torch's own as it does that itself."""
    kind = type(optimizer)
    if kind.__module__.startswith("torch.optim."):
        with torch.no_grad():
            inspect.unwrap(kind.step)(optimizer)
    else:
        optimizer.step()
