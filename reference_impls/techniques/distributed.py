"""Accumulation under DDP with one synchronisation an update.

Source: torch.nn.parallel.DistributedDataParallel.no_sync. DDP decides in forward whether the coming
backward synchronises, so the forward belongs inside as well. It averages over ranks: nothing is to
be divided by their number.
"""

from contextlib import AbstractContextManager, nullcontext

from torch.nn.parallel import DistributedDataParallel


def sync_on_last(model: DistributedDataParallel, *, last: bool) -> AbstractContextManager[None]:
    """The context for forward and backward of one micro-batch.

    Args:
        model: the wrapped model; it, and not ``model.module``, has to be called inside.
        last: whether the micro-batch ends its window, the short one of an epoch included. Ranks
            have to agree on it.
    """
    return nullcontext() if last else model.no_sync()
