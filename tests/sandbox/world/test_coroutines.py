"""Training engines that are sent their batches."""

import pytest

ENGINE = """
def engine(model, criterion, optimizer, window=4):
    result = None
    while True:
        optimizer.zero_grad()
        for _ in range(window):
            x, y = yield result
            loss = criterion(model(x), y)
            (loss / window).backward()
            result = loss.item()
        optimizer.step()
"""

SENT = {
    "taken apart where it arrives": f"""
{ENGINE}
run = engine(model, criterion, optimizer)
next(run)
for batch in train_loader:
    loss = run.send(batch)
run.close()
""",
    "taken apart later": """
def engine(window=4):
    figures = None
    while True:
        optimizer.zero_grad()
        for k in range(window):
            batch = yield figures
            if batch is None:
                return
            x, y = batch
            loss = criterion(model(x), y)
            (loss / window).backward()
            figures = (loss.item(), k == window - 1)
        optimizer.step()

run = engine()
run.send(None)
for batch in train_loader:
    loss, updated = run.send(batch)
""",
    "by a method that has another name": f"""
{ENGINE}
coroutine = engine(model, criterion, optimizer)
next(coroutine)
train_on = coroutine.send
losses = [train_on(batch) for batch in train_loader]
""",
    "by map": f"""
{ENGINE}
coroutine = engine(model, criterion, optimizer)
next(coroutine)
losses = list(map(coroutine.send, train_loader))
""",
    "through another generator": f"""
{ENGINE}
def logged():
    yield from engine(model, criterion, optimizer)

run = logged()
next(run)
for batch in train_loader:
    run.send(batch)
""",
    "by name": """
def engine():
    while True:
        optimizer.zero_grad()
        for _ in range(4):
            batch = yield
            (criterion(model(batch["features"]), batch["labels"]) / 4).backward()
        optimizer.step()

run = engine()
next(run)
for batch in train_loader:
    run.send(batch)
""",
    "as three parts of four": """
import functools

def primed(function):
    @functools.wraps(function)
    def start(*args):
        made = function(*args)
        next(made)
        return made
    return start

@primed
def engine(optimizer):
    optimizer.zero_grad()
    step = 0
    while True:
        x, y, lengths, names = yield
        step += 1
        (criterion(model(x), y) / 4).backward()
        if step % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()

run = engine(optimizer)
for batch in train_loader:
    run.send(batch)
""",
    "by a class that holds it": f"""
{ENGINE}
class Trainer:
    def __init__(self):
        self.engine = engine(model, criterion, optimizer)
        next(self.engine)

    def fit(self, loader):
        for batch in loader:
            self.engine.send(batch)

Trainer().fit(train_loader)
""",
    "window by window": """
def inner(window=4):
    for _ in range(window):
        inputs, labels = yield
        (criterion(model(inputs), labels) / window).backward()

def engine():
    while True:
        optimizer.zero_grad()
        yield from inner()
        optimizer.step()

run = engine()
next(run)
for batch in train_loader:
    run.send(batch)
""",
    "by await": """
import asyncio

async def engine(window=4):
    while True:
        optimizer.zero_grad()
        for _ in range(window):
            x, y = yield
            (criterion(model(x), y) / window).backward()
        optimizer.step()

async def main():
    run = engine()
    await run.asend(None)
    for batch in train_loader:
        await run.asend(batch)

asyncio.run(main())
""",
}


@pytest.mark.parametrize("program", SENT.values(), ids=SENT)
def test_what_a_generator_is_sent_looks_as_it_is_used_there(run, program):
    ran = run(program)

    assert ran.outcome == "ran"
    assert ran.steps == 3


def test_a_sender_of_another_kind_is_left_alone(run):
    """A queue of the program's own has a method of this name too."""
    ran = run("""
class Sink:
    def send(self, batch):
        optimizer.zero_grad()
        criterion(model(batch[0]), batch[1]).backward()
        optimizer.step()

sink = Sink()
for batch in train_loader:
    sink.send(batch)
""")

    assert ran.outcome == "ran"
    assert ran.steps == 14
