"""Values on a way from where they are made to where they are used: arguments, attributes, lists."""

import pytest

TRAIN = """
def fit(net, loader, known, opt):
    for batch in loader:
        opt.zero_grad()
        loss = criterion(net(batch), known)
        loss.backward()
        opt.step()
"""
BY_ATTRIBUTE = """
class Job:
    def __init__(self, loader, known):
        self.loader, self.known = loader, known

    def fit(self):
        for batch in self.loader:
            optimizer.zero_grad()
            nn.MSELoss()(model(batch), self.known).backward()
            optimizer.step()
"""
NAMED = """
for batch in train_loader:
    optimizer.zero_grad()
    criterion(model(batch), target).backward()
    optimizer.step()
"""
BY_CLASS_METHOD = """
class Window:
    def __init__(self, batches):
        self.batches = batches

    @classmethod
    def of(cls, batches):
        return cls(list(batches))


def windows(loader):
    pending = []
    for batch in loader:
        pending.append(batch)
        if len(pending) == 2:
            yield Window.of(pending)
            pending = []


for window in windows(train_loader):
    for known, seen in window.batches:
        optimizer.zero_grad()
        criterion(model(seen), known).backward()
        optimizer.step()
"""
HANDED = {
    "as an argument": TRAIN + "fit(model, train_loader, target, optimizer)\n",
    "as an attribute": BY_ATTRIBUTE + "Job(train_loader, target).fit()\n",
}
JOINED = """
for x, y in train_loader:
    optimizer.zero_grad()
    made = []
    for part in x.chunk(2):
        made.append(model(part))
    {0}
    optimizer.step()
"""
WEIGHTS = "result = [round(v, 6) for v in next(iter(model.parameters())).flatten().tolist()]\n"
IMPORTS = "import torch\nfrom torch import nn\n"


@pytest.mark.parametrize("way", HANDED.values(), ids=HANDED)
def test_a_target_that_is_handed_on_before_the_loop_is_that_of_the_batch(run, way):
    there, here = (run(IMPORTS + text + WEIGHTS) for text in (way, NAMED))

    assert (there.outcome, there.steps) == ("ran", 14)
    assert there.result == here.result


@pytest.mark.parametrize(
    "join", ["torch.cat(made)", "torch.cat(made, dim=0)", "torch.vstack(made)"]
)
def test_outputs_that_were_joined_enter_the_loss(run, join):
    joined = JOINED.format(f"criterion({join}, y).backward()")
    ran, plain = (
        run(IMPORTS + text + WEIGHTS)
        for text in (joined, JOINED.format("criterion(model(x), y).backward()"))
    )

    assert (ran.outcome, ran.steps) == ("ran", 14)
    assert ran.result == plain.result


def test_batches_go_through_a_class_method_that_makes_an_instance(run):
    """What comes second is the input: it is said by what is done with it, behind the class."""
    there, here = (run(IMPORTS + text + WEIGHTS) for text in (BY_CLASS_METHOD, NAMED))

    assert (there.outcome, there.steps) == ("ran", 14)
    assert there.result == here.result
