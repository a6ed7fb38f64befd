"""A class of the program's own that wraps the model has its own methods, and asks the model for others."""

import pytest

WRAPPER = """
class Windowed(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return {forward}

    def begin(self, every, total):
        self.every, self.total, self.at = every, total, 0

    @property
    def window(self):
        return min(self.every, self.total - self.at // self.every * self.every)

model = Windowed(model)
model.begin(4, len(train_loader))
for x, y in train_loader:
    (criterion(model(x), y) / model.window).backward()
    model.at += 1
    if model.at % 4 == 0 or model.at == model.total:
        optimizer.step()
        optimizer.zero_grad()
result = type(model.net).__name__
"""


@pytest.mark.parametrize("forward", ["self.net(x)", "self.net.predict(x)"])
def test_methods_of_the_wrapper_are_not_asked_of_the_model_inside(run, forward):
    """The model inside is the workload's, and computes what the wrapper asks it for."""
    ran = run(WRAPPER.format(forward=forward))

    assert (ran.outcome, ran.steps, ran.result) == ("ran", 4, "'Sequential'")


def test_a_method_that_the_wrapper_hands_on_is_the_inner_models(run):
    """One name, two methods: the wrapper's calls the model's, which the workload has to have."""
    ran = run(
        "class Outer(nn.Module):\n    def __init__(self, net):\n        super().__init__()\n        self.net = net\n"
        "    def predict(self, x):\n        return self.net.predict(x)\n"
        "model = Outer(model)\n"
        "for x, y in train_loader:\n    optimizer.zero_grad()\n    criterion(model.predict(x), y).backward()\n"
        "    optimizer.step()\n"
    )

    assert (ran.outcome, ran.steps) == ("ran", 14)
