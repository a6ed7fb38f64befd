"""Pieces of programs, as people paste them: what they are lent, and what that shows of them."""

import pytest

from tests.test_grade_alone import written

PREPARED = """
```python
from accelerate import Accelerator

accelerator = Accelerator(gradient_accumulation_steps=4)
net, opt, train_dl = accelerator.prepare(net, opt, train_dl)
for batch in train_dl:
    with accelerator.accumulate(net):
        loss = net(**batch).loss
        accelerator.backward(loss)
        opt.step()
        opt.zero_grad()
```
"""
SIZES = """
```python
loss = F.cross_entropy(logits.view(-1, V), tgt.view(-1), ignore_index=pad)
opt.zero_grad()
loss.backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
opt.step()
```
"""
CHUNKS = """
```python
h = torch.zeros(1, B, H, device=dev)
for chunk, target in stream:
    h = h.detach()
    out, h = gru(chunk, h)
    loss = mse(head(out), target)
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
```
"""
SEGMENTED = """
```python
for image, mask in dl:
    opt.zero_grad()
    loss = dice(unet(image.cuda()), mask.cuda())
    loss.backward()
    opt.step()
```
"""
OWN_LOSS = """
```python
for x, y in loader:
    optimizer.zero_grad()
    loss = model.training_loss(x, y)
    loss.backward()
    optimizer.step()
```
"""
WEIGHED = """
```python
first, second = model(x)
loss = F.cross_entropy(first, y_first) + w * F.l1_loss(second, y_second)
optimizer.zero_grad()
loss.backward()
optimizer.step()
```
"""
SIXTEEN = """
```python
it = iter(loader)
while len(group := list(itertools.islice(it, 16))) == 16:
    optimizer.zero_grad()
    for x, y in group:
        (criterion(model(x), y) / 16).backward()
    optimizer.step()
```
"""
EVALUATED = """
```python
def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(dim=1) == y).sum().item()
    return correct

def fit(model, train_loader, val_loader, epochs=3):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        print(evaluate(model, val_loader))
```
"""
BY_HAND = """
```python
def training_step(self, batch, batch_idx):
    opt = self.optimizers()
    loss = self.compute_loss(batch)
    opt.zero_grad()
    self.manual_backward(loss)
    self.clip_gradients(opt, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
    opt.step()
```
"""
ONE_CYCLE = """
```python
updates = 10 * len(loader) // 4
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=updates)
for epoch in range(10):
    for i, (x, y) in enumerate(loader):
        (criterion(model(x), y) / 4).backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
        schedule.step()
```
"""
FORCED = """
```python
loss = model(**batch).loss
loss.requires_grad_(True)
loss.backward()
optimizer.step()
optimizer.zero_grad()
```
"""
LARGE = """
```python
model = nn.Sequential(nn.Linear(900, 900), nn.Tanh(), nn.Linear(900, 900), nn.Tanh(), nn.Linear(900, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    x = torch.randn(16, 900) * 2.0**step
    optimizer.zero_grad()
    (model(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    optimizer.step()
```
"""
EVALUATED_WHOLE = """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(6, 8), LAYER, nn.Linear(8, 2))
data = [(torch.randn(8, 6), torch.randint(0, 2, (8,))) for _ in range(6)]
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in data:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(sum((model(x).argmax(1) == y).sum().item() for x, y in data))
"""

RIGHT = {
    "names-that-their-first-line-binds-anew-are-lent": PREPARED,
    "a-name-that-stands-for-a-size-is-lent-one": SIZES,
    "a-state-that-is-cut-off-may-be-carried-on": CHUNKS,
    "a-mask-that-comes-alone-with-an-image-is-the-target": SEGMENTED,
    "a-model-may-compute-its-loss-by-a-method-that-is-not-shown": OWN_LOSS,
    "a-factor-of-a-loss-is-a-number": WEIGHED,
    "a-loader-is-long-enough-for-windows-of-sixteen": SIXTEEN,
    "classes-are-lent-where-an-evaluation-compares-them": EVALUATED,
    "a-step-with-a-backward-by-hand-gets-a-module-that-allows-it": BY_HAND,
}
WRONG = {
    "a-state-that-is-carried-on-with-its-graph": (
        CHUNKS.replace("    h = h.detach()\n", ""), "gradients-start-fresh",
    ),
    "training-that-goes-on-in-evaluation-mode": (
        EVALUATED.replace("        model.train()\n", ""), "training-mode-kept",
    ),
    "a-schedule-that-is-moved-past-its-end-by-micro-batches": (ONE_CYCLE, "scheduler-per-update"),
}  # fmt: skip
INCONCLUSIVE = {
    "a-loss-that-is-told-to-have-a-gradient": (FORCED, "a loss is told to have one"),
}


@pytest.fixture(scope="module")
def lines(graded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pieces")
    told = {**RIGHT, **{name: text for name, (text, _) in (WRONG | INCONCLUSIVE).items()}}
    files = [written(folder, f"{name}.md", text) for name, text in told.items()]
    _, found = graded(*files)
    return dict(zip(told, found, strict=True))


@pytest.mark.parametrize("claim", RIGHT)
def test_right(lines, claim):
    assert lines[claim]["code"] == "right", lines[claim]["why"]


@pytest.mark.parametrize("claim", WRONG)
def test_wrong(lines, claim):
    assert WRONG[claim][1] in lines[claim]["failed"], lines[claim]["why"]


@pytest.mark.parametrize("claim", INCONCLUSIVE)
def test_inconclusive(lines, claim):
    assert INCONCLUSIVE[claim][1] in " ".join(lines[claim]["why"])


@pytest.mark.full
def test_a_large_model_is_clipped_at_its_true_norm(graded, tmp_path):
    _, (line,) = graded(written(tmp_path, "large.md", LARGE))
    assert line["code"] == "right", line["why"]


@pytest.fixture(scope="module")
def evaluated(graded, tmp_path_factory):
    """Codes of a script that never returns to training mode, by the layer in its midst."""
    folder = tmp_path_factory.mktemp("evaluated")
    layers = [*LIKE_BEFORE, *OTHERWISE]
    text = EVALUATED_WHOLE.replace
    files = [written(folder, f"{i}.py", text("LAYER", layer)) for i, layer in enumerate(layers)]
    return dict(zip(layers, (line["code"] for line in graded(*files)[1]), strict=True))


LIKE_BEFORE = ("nn.Tanh()", "nn.Dropout(0.0)", "nn.BatchNorm1d(8, track_running_stats=False)")
OTHERWISE = ("nn.Dropout(0.5)", "nn.BatchNorm1d(8)")


@pytest.mark.parametrize("layer", LIKE_BEFORE)
def test_evaluation_mode_is_no_fault_where_no_layer_works_differently_in_it(evaluated, layer):
    assert evaluated[layer] == "right"


@pytest.mark.parametrize("layer", OTHERWISE)
def test_evaluation_mode_is_a_fault_of_a_model_with_a_layer_that_works_differently(
    evaluated, layer
):
    assert evaluated[layer] == "wrong"
