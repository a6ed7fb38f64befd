"""Prints what workers draw: ``real`` ones in processes of their own, ``played`` ones in this one."""

import json
import random
import sys

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

from harness.sandbox.stage.workers import PlayedWorkers

LIBRARY = np.random.default_rng(5)


class Draws(Dataset):
    """Draws from whatever a program may draw from."""

    def __init__(self):
        self.own = np.random.default_rng(0)
        self.torchs = torch.Generator().manual_seed(3)
        self.count = 0

    def __len__(self):
        return 11

    def __getitem__(self, i):
        self.count += 1
        return torch.tensor(
            [
                i, self.count, random.random(), np.random.random(), torch.rand(()).item(),  # noqa: NPY002 - programs use it
                self.own.random(), torch.rand((), generator=self.torchs).item(), LIBRARY.random(),
                get_worker_info().id, get_worker_info().seed % 1009, get_worker_info().num_workers,
            ],
            dtype=torch.float64,
        )  # fmt: skip


class Stream(IterableDataset):
    """As many rows from each worker as its number says."""

    def __iter__(self):
        info = get_worker_info()
        for i in range(3 + 2 * info.id):
            yield torch.tensor([info.id, i, np.random.random()], dtype=torch.float64)  # noqa: NPY002 - as above


def reseed(worker):
    np.random.seed(7 + worker)  # noqa: NPY002 - as above
    get_worker_info().dataset.own = np.random.default_rng(worker)


LOADERS = {
    "as it comes": lambda: DataLoader(Draws(), 2, shuffle=True, num_workers=2),
    "three, reseeded": lambda: DataLoader(
        Draws(), 2, num_workers=3, worker_init_fn=reseed, drop_last=True
    ),
    "persistent": lambda: DataLoader(Draws(), 3, num_workers=2, persistent_workers=True),
    "own generator": lambda: DataLoader(
        Draws(), 2, shuffle=True, num_workers=2, generator=torch.Generator().manual_seed(9)
    ),
    "a stream": lambda: DataLoader(Stream(), 2, num_workers=3),
    "a stream by rows": lambda: DataLoader(Stream(), None, num_workers=2, prefetch_factor=1),
}


def drawn(make):
    torch.manual_seed(1)
    loader = make()
    found = [[batch.tolist() for batch in loader] for _ in range(2)]
    return [found, torch.rand(()).item(), LIBRARY.random()]


def drawn_by_each():
    LIBRARY.bit_generator.state = np.random.default_rng(5).bit_generator.state
    return {name: drawn(make) for name, make in LOADERS.items()}


if __name__ == "__main__":
    found = {"real": drawn_by_each()}
    DataLoader._get_iterator = lambda loader: PlayedWorkers(  # noqa: SLF001 - what the stage patches
        loader, globals(), lambda *_, **__: None
    )
    found["played"] = drawn_by_each()
    sys.stdout.write(json.dumps(found))
