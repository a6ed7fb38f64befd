"""Tensors of all data, of which a program takes its batches by hand."""

import pytest

PERMUTED = """
for epoch in range(num_epochs):
    order = torch.randperm(len(X))
    for start in range(0, len(X), batch_size):
        idx = order[start:start + batch_size]
        optimizer.zero_grad()
        criterion(model(X[idx]), y[idx]).backward()
        optimizer.step()
result = len(X)
"""

HAND_MADE = {
    "places of a permutation": PERMUTED,
    "slices": """
for start in range(0, X_train.shape[0], 12):
    optimizer.zero_grad()
    criterion(model(X_train[start:start + 12]), y_train[start:start + 12]).backward()
    optimizer.step()
result = len(X_train)
""",
    "a while loop": """
start = 0
while start < len(X):
    optimizer.zero_grad()
    criterion(model(X[start:start + 12]), y[start:start + 12]).backward()
    optimizer.step()
    start += 12
result = len(X)
""",
    "stretches": """
for xb, yb in zip(torch.split(X, 12), torch.split(y, 12)):
    optimizer.zero_grad()
    criterion(model(xb), yb).backward()
    optimizer.step()
result = len(X)
""",
    "a generator": """
def batches(X, y, size):
    for places in torch.randperm(len(X)).split(size):
        yield X[places], y[places]

for epoch in range(num_epochs):
    for xb, yb in batches(X_train, y_train, 12):
        optimizer.zero_grad()
        criterion(model(xb), yb).backward()
        optimizer.step()
result = len(X_train)
""",
    "a TensorDataset": """
from torch.utils.data import DataLoader, TensorDataset

for xb, yb in DataLoader(TensorDataset(X, y), batch_size=12, shuffle=True):
    optimizer.zero_grad()
    criterion(model(xb), yb).backward()
    optimizer.step()
result = len(X)
""",
    "the tensors of a data set": """
X, y = train_dataset.tensors
for places in torch.randperm(len(X)).split(12):
    optimizer.zero_grad()
    criterion(model(X[places]), y[places]).backward()
    optimizer.step()
result = len(X)
""",
    "samples of a data set": """
for start in range(0, len(train_dataset), 12):
    rows = [train_dataset[i] for i in range(start, min(start + 12, len(train_dataset)))]
    xb, yb = torch.stack([x for x, _ in rows]), torch.stack([y for _, y in rows])
    optimizer.zero_grad()
    criterion(model(xb), yb).backward()
    optimizer.step()
result = len(train_dataset)
""",
}


@pytest.fixture(scope="module")
def samples(run) -> str:
    counted = run("result = 0\nfor x, y in train_loader:\n    result += len(model(x))")
    return str(counted.result)


@pytest.mark.parametrize("program", HAND_MADE.values(), ids=HAND_MADE)
def test_it_takes_its_batches_of_all_samples(run, samples, program):
    """Not of one batch, of which it would make tiny ones."""
    ran = run(program)

    assert ran.outcome == "ran"
    assert ran.result == samples
    assert ran.steps >= int(samples) // 12


def test_the_whole_data_may_be_the_batch_of_every_update(run):
    ran = run(
        "for epoch in range(num_epochs):\n"
        "    optimizer.zero_grad()\n    criterion(model(X), y).backward()\n    optimizer.step()\n",
        parameters={"epochs": 5},
    )

    assert (ran.outcome, ran.steps) == ("ran", 5)


def test_a_function_that_nobody_calls_is_given_all_of_it_once(run, samples):
    ran = run("""
def fit(model, X, y, optimizer, criterion, batch_size=12):
    print(len(X))
    for start in range(0, len(X), batch_size):
        optimizer.zero_grad()
        criterion(model(X[start:start + batch_size]), y[start:start + batch_size]).backward()
        optimizer.step()
""")

    assert ran.outcome == "ran"
    assert ran.printed.split() == [samples]


FOR_ONE_BATCH = {
    "stretches of a batch, and one update": """
optimizer.zero_grad()
for xm, ym in zip(x.chunk(4), y.chunk(4)):
    (criterion(model(xm), ym) * len(xm) / len(x)).backward()
optimizer.step()
""",
    "one update by each of several": """
optimizer.zero_grad()
criterion(model(x), y).backward()
for each in [optimizer]:
    each.step()
""",
    "a second attempt": """
for attempt in range(3):
    try:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
        break
    except RuntimeError:
        continue
""",
}


@pytest.mark.parametrize("program", FOR_ONE_BATCH.values(), ids=FOR_ONE_BATCH)
def test_code_for_one_batch_still_runs_for_every_batch(run, program):
    ran = run(program)

    assert (ran.outcome, ran.steps) == ("ran", 14)


def test_inputs_beside_a_loader_are_a_batch(run):
    """What yields batches holds all the data; a name beside it need not."""
    ran = run("""
for xb, yb in train_loader:
    optimizer.zero_grad()
    criterion(model(xb), yb).backward()
    optimizer.step()
    result = len(X) == len(xb)
    criterion(model(X), y)
""")

    assert (ran.outcome, ran.steps) == ("ran", 14)
    assert ran.result == "True"


def test_a_list_of_batches_is_not_taken_for_all_samples(run, samples):
    """Counted places pick batches; places in a tensor pick samples."""
    ran = run("""
for i in range(len(inputs)):
    optimizer.zero_grad()
    criterion(model(inputs[i]), targets[i]).backward()
    optimizer.step()
result = len(inputs)
""")

    assert ran.result != samples
