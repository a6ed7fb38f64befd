"""Loops over places in a data set, which a sampler yields."""

import pytest

UPDATE = """
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""

LOOPS = {
    "a sampler that nobody makes": "for idx in sampler:\n    x, y = dataset[idx]",
    "over tensors of all data": "for idx in batch_sampler:\n    x, y = inputs[idx], targets[idx]",
    "sample by sample": (
        "from torch.utils.data import default_collate\n"
        "for idx in batch_sampler:\n    x, y = default_collate([train_ds[i] for i in idx])"
    ),
    "one of torch's own": (
        "from torch.utils.data import BatchSampler, SequentialSampler\n"
        "for idx in BatchSampler(SequentialSampler(dataset), 6, False):\n    x, y = dataset[idx]"
    ),
    "stacked": (
        "import torch\nfrom torch.utils.data import BatchSampler, RandomSampler\n"
        "for idx in BatchSampler(RandomSampler(dataset), 6, False):\n"
        "    rows = [dataset[i] for i in idx]\n"
        "    x, y = torch.stack([r[0] for r in rows]), torch.stack([r[1] for r in rows])"
    ),
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_places_that_a_sampler_yields_are_looked_up_in_the_data(run, loop):
    ran = run(loop + UPDATE)

    assert ran.outcome == "ran"
    assert ran.steps >= 14
