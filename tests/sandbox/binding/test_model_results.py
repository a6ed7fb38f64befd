"""What a program expects a model to give back: outputs, a loss, or both in either order."""

import pytest

LOOP = """
for x, y in train_loader:
    {forward}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "forward",
    [
        "loss = model(x, y)",
        "logits, loss = model(x, y)",
        "loss, logits = model(x, y)",
        "loss, _ = model(x, labels=y)",
        "loss, logits = model(x, y)[:2]",
        "loss = model(x, y).loss",
        "loss = model(x, y)['loss']",
    ],
)
def test_a_model_gives_back_what_the_loop_takes(run, forward):
    """The loss was taken for the outputs, where it comes first."""
    ran = run(LOOP.format(forward=forward))

    assert (ran.error, ran.steps) == (None, 14), ran.message
