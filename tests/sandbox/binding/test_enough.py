"""Training without an end is ended, between two updates, where the rest would be more of the same."""

import pytest

UPDATE = """
{0}optimizer.zero_grad()
{0}criterion(model(x), y).backward()
{0}optimizer.step()
"""

ENDLESS = {
    "a count of steps": """
step = 0
while step < 100000:
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
        scheduler.step()
        step += 1
    validate(model)
""",
    "a generator that begins again": """
def cycle(loader):
    while True:
        yield from loader

batches = cycle(train_loader)
for step in range(300_000):
    x, y = next(batches)
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
""",
    "a function, with what it calls": """
def step(x, y):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()

def train(max_steps=1_000_000):
    done, source = 0, iter(train_loader)
    while done < max_steps:
        try:
            x, y = next(source)
        except StopIteration:
            source = iter(train_loader)
            continue
        step(x, y)
        done += 1

if __name__ == "__main__":
    train()
    print("done")
""",
    "an except that takes whatever comes": """
epoch = 0
while epoch < 50_000:
    epoch += 1
    for x, y in train_loader:
        try:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        except Exception:
            continue
""",
}

FINITE = {
    "as many epochs as people write": ("for epoch in range(100):\n    ONE_PASS", "", 800),
    "an update that is still to come": ("for epoch in range(130):\n    ONE_PASS", "ONE_PASS", 1048),
    "a function that makes one": (
        "def one(x, y):\n    UPDATE\nfor epoch in range(130):\n    ONE_PASS",
        "x, y = next(iter(train_loader))\none(x, y)",
        1041,
    ),
}


@pytest.mark.parametrize("program", ENDLESS.values(), ids=list(ENDLESS))
def test_a_loop_without_an_end_is_ended(run, program):
    """After a thousand batches, with no batch that was handed out and not trained on."""
    went = run(program, parameters={"batches": 8})

    assert went.error == "Enough"
    assert went.message.endswith("1000 updates")
    assert (went.steps, went.batches) == (1000, {"train": 1000})


def test_a_window_is_not_cut_in_two(run):
    """What was accumulated is stepped with before it ends."""
    program = """
step = 0
while True:
    for x, y in train_loader:
        criterion(model(x), y).backward()
        step += 1
        if step % 7 == 0:
            optimizer.step()
            optimizer.zero_grad()
"""
    went = run(program, parameters={"batches": 8})

    assert went.error == "Enough"
    assert went.batches["train"] == 7 * went.steps == 1001


@pytest.mark.parametrize(("loop", "then", "steps"), FINITE.values(), ids=list(FINITE))
def test_a_loop_is_not_ended_before_what_is_still_to_come(run, loop, then, steps):
    """An update behind the loop is one that nobody would have seen."""
    went = run(f"{filled(loop)}\n{filled(then)}\n", parameters={"batches": 8})

    assert (went.outcome, went.steps) == ("ran", steps)


def filled(template: str) -> str:
    """A template with its updates."""
    lines = []
    for line in template.split("\n"):
        before = line[: len(line) - len(line.lstrip())]
        if line.strip() == "ONE_PASS":
            lines.append(f"{before}for x, y in train_loader:{UPDATE.format(before + '    ')}")
        elif line.strip() == "UPDATE":
            lines.append(UPDATE.format(before))
        else:
            lines.append(line)
    return "\n".join(lines)
