"""Faults that show only where windows or norms are not alike, through the jail to their grade."""

import pytest

from tests.quality.judging import SCENARIOS

FOLLOWING = """import statistics
seen = []
for images, labels in train_loader:
    optimizer.zero_grad()
    criterion(model(images), labels).backward()
    limit = {} if len(seen) > 2 else float("inf")
    seen.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=limit).item())
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("statistics.median(seen)", "wrong"),
        ("statistics.mean(seen[-3:])", "wrong"),
        ("3.0 * statistics.median(seen)", "right"),
        ("statistics.mean(seen) + 3.0 * statistics.pstdev(seen)", "right"),
        ("max(seen)", "right"),
    ],
)
def test_a_threshold_amid_ordinary_norms_acts_on_a_stable_model(court, limit, code):
    found = court.judged(SCENARIOS["clipping-a-stable-model"], FOLLOWING.format(limit))

    assert found.code == code, found.story()


WEIGHED = """from itertools import islice
batches = iter(train_loader)
total = None
while chunk := list(islice(batches, 4)):
    rows = sum(len(y) for _, y in chunk)
    {}
    optimizer.zero_grad()
    for x, y in chunk:
        (criterion(model(x), y) * (len(y) / total)).backward()
    optimizer.step()
    total = rows
"""


@pytest.mark.parametrize(
    "scenario",
    [
        "accumulation-divided-twice",
        "accumulation-gradients-divided",
        "accumulation-loss-not-divided",
    ],
)
@pytest.mark.parametrize(
    ("line", "code"), [("total = rows", "right"), ("total = total or rows", "wrong")]
)
def test_samples_are_counted_in_their_own_window(court, scenario, line, code):
    found = court.judged(SCENARIOS[scenario], WEIGHED.format(line))

    assert found.code == code, found.story()


TAIL = """
n = len(train_loader)
for i, (x, y) in enumerate(train_loader):
    size = n % 4 if i >= n - n % 4 else 4
    (criterion(model(x), y) / {}).backward()
    if (i + 1) % 4 == 0 or i + 1 == n:
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("divisor", "code"),
    [("size", "right"), ("4", "right"), ("(size if size == 4 else size**2)", "wrong")],
)
def test_a_rest_is_divided_once(court, divisor, code):
    found = court.judged(SCENARIOS["accumulation-divided-twice"], TAIL.format(divisor))

    assert found.code == code, found.story()


LAYERED = """
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for layer in model.modules():
        own = list(layer.parameters(recurse=False))
        {}
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("clip", "code"),
    [
        ("torch.nn.utils.clip_grad_norm_(own, 1.0)", "right"),
        ("for p in own: torch.nn.utils.clip_grad_norm_(p, 1.0 / len(own))", "wrong"),
    ],
)
def test_a_layer_below_its_bound_is_left_alone_however_its_tensors_are_bounded(court, clip, code):
    found = court.judged(SCENARIOS["per-layer-clipping"], LAYERED.format(clip))

    assert found.code == code, found.story()
    assert ("single tensor" in found.story()) == (code == "wrong")
