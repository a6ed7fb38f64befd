"""Answers that nobody gave a scenario: what their programs are lent, and what that shows of them."""

import pytest

from tests.test_grade_alone import written

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
TEXT = """
```python
hidden = model.init_hidden(train_data.size(1))
for i in range(0, train_data.size(0) - 1, 35):
    n = min(35, train_data.size(0) - 1 - i)
    data, targets = train_data[i:i + n], train_data[i + 1:i + 1 + n].reshape(-1)
    hidden = tuple(h.detach() for h in hidden)
    optimizer.zero_grad()
    output, hidden = model(data, hidden)
    criterion(output.reshape(-1, ntokens), targets).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optimizer.step()
```
"""
PADDED = """
```python
for batch in loader:
    ids, labels = batch["input_ids"].to(device), batch["labels"].to(device)
    logits = model(ids, attention_mask=batch["attention_mask"])
    loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""
PARTS = """
```python
for p in model.encoder.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.SGD(model.classifier.parameters(), lr=0.1)
for epoch in range(num_epochs):
    if epoch == 4:
        block = model.encoder.blocks[-1]
        block.requires_grad_(True)
        optimizer.add_param_group({"params": list(block.parameters()), "lr": 0.01})
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
```
"""
NETWORKS = """
```python
for real in loader:
    noise = torch.randn(len(real), latent_dim)
    optD.zero_grad()
    (F.softplus(-netD(real)) + F.softplus(netD(netG(noise).detach()))).mean().backward()
    optD.step()
    optG.zero_grad()
    F.softplus(-netD(netG(noise))).mean().backward()
    optG.step()
```
"""
SYNCS = """
```python
for i, (x, y) in enumerate(loader):
    last = (i + 1) % 8 == 0
    with contextlib.nullcontext() if LAST else model.no_sync():
        (criterion(model(x), y) / 8).backward()
    if last:
        optimizer.step()
        optimizer.zero_grad()
```
"""
TWO_MODELS = """
```python
model_a = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))
model_b = copy.deepcopy(model_a)
opt_a, opt_b = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (model_a, model_b))
for update in range(6):
    x, y = torch.randn(16, 6), torch.randint(0, 2, (16,))
    opt_a.zero_grad()
    F.cross_entropy(model_a(x), y).backward()
    opt_a.step()
    opt_b.zero_grad()
    for k in range(4):
        part = slice(4 * k, 4 * k + 4)
        (F.cross_entropy(model_b(x[part]), y[part]) / 4).backward()
    opt_b.step()
```
"""
MERGES = """
```python
optimizer.zero_grad()
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / 4
    if not torch.isfinite(loss):
        continue
    loss.backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
```
"""
DROPS = """
```python
bad = False
optimizer.zero_grad()
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
    if torch.isfinite(loss):
        (loss / 4).backward()
    else:
        print(f"batch {i}: {loss.item()}")
        bad = True
    if (i + 1) % 4 == 0:
        if not bad:
            optimizer.step()
        optimizer.zero_grad()
        bad = False
```
"""
LATER = """\
```python
for epoch in range(4, num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
```
"""
INFINITE = """\
```python
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
    print(norm.item())
    optimizer.step()
```
"""
AHEAD = """\
```python
for micro_step in range(gradient_accumulation_steps):
    with ctx:
        logits, loss = model(X, Y)
        loss = loss / gradient_accumulation_steps
    X, Y = get_batch('train')
    scaler.scale(loss).backward()
if grad_clip != 0.0:
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
scaler.step(optimizer)
scaler.update()
optimizer.zero_grad(set_to_none=True)
```
"""

RIGHT = {
    "enough-epochs-are-lent-to-a-loop-that-goes-on-from-the-fourth": LATER,
    "a-clip-at-infinity-measures": INFINITE,
    "the-next-batch-may-be-fetched-before-backward": AHEAD,
    "a-threshold-that-moves-is-held-to-what-it-is-in-each-window": PERCENTILE,
    "a-class-and-the-loop-that-uses-it-are-one-program": CLASS_AND_USE,
    "a-schedule-made-for-batches-may-move-with-them": FOR_BATCHES,
    "a-text-in-columns-is-lent-with-a-model-that-keeps-its-state": TEXT,
    "rows-of-tokens-are-lent-where-rows-of-numbers-do-not-fit": PADDED,
    "parts-of-the-lent-model-have-the-names-that-are-read": PARTS,
    "two-networks-are-lent-where-a-program-speaks-of-two": NETWORKS,
    "windows-of-eight-fit-into-what-is-lent": SYNCS.replace("LAST", "last"),
    "two-models-that-are-updated-apart-have-windows-of-their-own": TWO_MODELS,
    "a-window-with-a-bad-batch-may-be-dropped-whole": DROPS,
    "what-is-done-to-fresh-gradients-does-not-make-them-stale": CENTRALISED,
}
WRONG = {
    "a-sum-of-micro-batches-whose-next-batch-is-fetched-ahead": (
        AHEAD.replace("        loss = loss / gradient_accumulation_steps\n", ""),
        "accumulation-equals-large-batch",
    ),
    "ranks-that-step-on-what-was-not-synchronised": (SYNCS.replace("LAST", "not last"), "ranks-agree"),
    "a-graph-that-is-carried-over": (
        TEXT.replace("    hidden = tuple(h.detach() for h in hidden)\n", ""), "gradients-start-fresh",
    ),
    "a-skipped-batch-that-joins-two-windows": (MERGES, "one-update-per-window"),
}  # fmt: skip
INCONCLUSIVE = {
    "which-part-each-of-two-optimizers-has-is-asked-for": (
        TWO_OPTIMIZERS,
        "`opt_main`: it is one of 2 for one model",
    ),
    "what-only-looks-at-gradients-is-not-accused": (LOOKS, "It makes no optimizer step itself"),
}


@pytest.fixture(scope="module")
def lines(graded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
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
def test_inconclusive_with_the_one_thing_to_add(lines, claim):
    assert lines[claim]["code"] not in ("right", "wrong")
    assert INCONCLUSIVE[claim][1] in " ".join(lines[claim]["why"])
