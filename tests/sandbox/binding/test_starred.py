"""A batch that is handed over with a star has as many parts as the call leaves places for."""

import pytest

PROGRAM = """
def loss_of({places}):
    log["calls"] = log.get("calls", 0) + 1
    return criterion(model(x), y)

for batch in train_loader:
    optimizer.zero_grad()
    loss_of({given}).backward()
    optimizer.step()
"""

CALLS = {
    "and something behind it": ("x, y, log", "*batch, {}"),
    "and something before it": ("log, x, y", "{}, *batch"),
    "and something by name": ("x, y, log", "*batch, log={}"),
    "and something with a default": ("x, y, log, scale=1.0", "*batch, {}"),
}


@pytest.mark.parametrize(("places", "given"), CALLS.values(), ids=CALLS)
def test_what_is_given_beside_a_batch_is_no_part_of_it(run, places, given):
    ran = run(PROGRAM.format(places=places, given=given))

    assert (ran.outcome, ran.steps) == ("ran", 14)
