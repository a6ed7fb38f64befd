"""Answers that nobody gave a scenario: what their programs are lent, and what that shows of them."""

import pytest

from tests.test_grade_alone import graded, written

PERCENTILE = """
```python
class Clipper:
    def __init__(self, model):
        self.model, self.norms = model, []

    def __call__(self):
        grads = [p.grad for p in self.model.parameters() if p.grad is not None]
        self.norms.append(torch.stack([g.norm() for g in grads]).norm().item())
        limit = torch.quantile(torch.tensor(self.norms), 0.9).item()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), limit)

clipper = Clipper(model)
for x, y in loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    clipper()
    optimizer.step()
```
"""
TWO_OPTIMIZERS = """
```python
def update(loss, opt_main, opt_aux, main_params, aux_params, scaler):
    opt_main.zero_grad()
    opt_aux.zero_grad()
    scaler.scale(loss).backward()
    for opt, params in ((opt_main, main_params), (opt_aux, aux_params)):
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(params, 1.0)
    scaler.step(opt_main)
    scaler.step(opt_aux)
    scaler.update()
```
"""
CLASS_AND_USE = """
The helper:

```python
class Accumulator:
    def __init__(self, optimizer, every):
        self.optimizer, self.every, self.seen = optimizer, every, 0

    def backward(self, loss):
        (loss / self.every).backward()

    def step(self):
        self.seen += 1
        if self.seen % self.every == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
```

In the loop:

```python
accumulator = Accumulator(optimizer, 4)
for x, y in loader:
    loss = criterion(model(x), y)
    accumulator.backward(loss)
    accumulator.step()
```
"""
FOR_BATCHES = """
```python
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=epochs * len(loader))
for epoch in range(epochs):
    for i, (x, y) in enumerate(loader):
        (criterion(model(x), y) / 4).backward()
        if (i + 1) % 4 == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
        scheduler.step()
```
"""
LOOKS = """
```python
def report(model, criterion, x, y):
    model.zero_grad()
    criterion(model(x), y).backward()
    norms = {name: p.grad.norm().item() for name, p in model.named_parameters()}
    model.zero_grad()
    return norms

print(report(model, criterion, xb, yb))
```
"""
CENTRALISED = """
```python
for x, y in loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for p in model.parameters():
        if p.dim() > 1:
            p.grad.sub_(0.5 * p.grad.mean(dim=1, keepdim=True))
    optimizer.step()
```
"""
RIGHT = {
    "a-threshold-that-moves-is-held-to-what-it-is-in-each-window": PERCENTILE,
    "two-optimizers-of-a-function-share-the-model": TWO_OPTIMIZERS,
    "a-class-and-the-loop-that-uses-it-are-one-program": CLASS_AND_USE,
    "a-schedule-made-for-batches-may-move-with-them": FOR_BATCHES,
    "what-is-done-to-fresh-gradients-does-not-make-them-stale": CENTRALISED,
}
INCONCLUSIVE = {
    "what-only-looks-at-gradients-is-not-accused": (LOOKS, "It makes no optimizer step itself"),
}


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    told = {**RIGHT, **{name: text for name, (text, _) in INCONCLUSIVE.items()}}
    files = [written(folder, f"{name}.md", text) for name, text in told.items()]
    _, found = graded(*files)
    return dict(zip(told, found, strict=True))


@pytest.mark.parametrize("claim", RIGHT)
def test_right(lines, claim):
    assert lines[claim]["code"] == "right", lines[claim]["why"]


@pytest.mark.parametrize("claim", INCONCLUSIVE)
def test_inconclusive_with_the_one_thing_to_add(lines, claim):
    assert lines[claim]["code"] not in ("right", "wrong")
    assert INCONCLUSIVE[claim][1] in " ".join(lines[claim]["why"])
