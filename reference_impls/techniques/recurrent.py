"""Truncated backpropagation through time: long sequences in chunks, each with an update of its own.

Source: Williams and Peng 1990; clipping for recurrent nets after Pascanu et al. 2013. The state is
carried on and its history is cut: without ``detach`` the second backward would run into a graph
that is gone, and with ``retain_graph`` it would grow with every chunk.
"""

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer

State = Tensor | tuple[Tensor, ...]


def detached(state: State) -> State:
    """The same values without history; an LSTM's state is a pair."""
    return tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()


def train_sequence(
    model: nn.Module,
    optimizer: Optimizer,
    criterion: Callable[[Tensor, Tensor], Tensor],
    batch: tuple[Tensor, Tensor],
    chunk: int,
    max_norm: float = 1.0,
) -> list[float]:
    """One pass over a batch of sequences, one clipped update a chunk.

    Args:
        model: ``(x, state or None) -> (output, state)``, batch first.
        optimizer: over its parameters.
        criterion: ``(output, target) -> scalar``, a mean.
        batch: inputs and targets. (n, time, ...) each
        chunk: steps of time in one backward; the last chunk may be shorter.
        max_norm: threshold for the L2 norm of the whole gradient.

    Returns:
        The gradient norm of each chunk before clipping.

    Raises:
        ValueError: chunk is less than 1, or inputs and targets differ in time.
    """
    inputs, targets = batch
    if chunk < 1 or inputs.shape[:2] != targets.shape[:2]:
        raise ValueError(f"chunk {chunk}, inputs {inputs.shape}, targets {targets.shape}")
    state: State | None = None
    norms = []
    for x, y in zip(inputs.split(chunk, dim=1), targets.split(chunk, dim=1), strict=True):
        optimizer.zero_grad()
        output, state = model(x, state if state is None else detached(state))
        criterion(output, y).backward()
        norms.append(clip_grad_norm_(model.parameters(), max_norm).item())
        optimizer.step()
    return norms
