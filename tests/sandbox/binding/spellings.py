"""Training loops as people spell them: the material from which test programs are generated.

Each is written once, at module level, with tuple batches and the usual names. ``steps`` is the number
of optimizer steps that one pass over 14 batches makes with 4 batches a window.
"""

from dataclasses import dataclass

WITH_LOSS = """
import torch

class WithLoss(torch.nn.Module):
    def __init__(self, net, criterion):
        super().__init__()
        self.net, self.criterion = net, criterion

    def forward(self, batch):
        x, y = batch
        return self.criterion(self.net(x), y)

model = WithLoss(model, criterion)
"""
"""A model that returns the loss of a batch."""

BATCHES, WINDOW = 14, 4
WINDOWS, FULL = 4, 3


@dataclass(frozen=True)
class Spelling:
    name: str
    steps: int
    body: str


def _spelling(name: str, steps: int, body: str) -> Spelling:
    return Spelling(name, steps, body.strip("\n") + "\n")


SPELLINGS = (
    _spelling("plain", BATCHES, """
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
"""),
    _spelling("clip", BATCHES, """
model.train()
for i, (x, y) in enumerate(train_loader):
    optimizer.zero_grad(set_to_none=True)
    output = model(x)
    loss = criterion(output, y)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    if i % 10 == 0:
        print(f"{i} {loss.item():.3f} {norm.item():.3f}")
"""),
    _spelling("accumulate", FULL, """
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / accumulation_steps
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""),
    _spelling("accumulate-tail", WINDOWS, """
model.train()
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y)
    (loss / accumulation_steps).backward()
    if (i + 1) % accumulation_steps == 0 or (i + 1) == len(train_loader):
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
"""),
    _spelling("model-zero-grad", BATCHES, """
for x, y in train_loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""),
    _spelling("grad-none", BATCHES, """
for x, y in train_loader:
    for p in model.parameters():
        p.grad = None
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
"""),
    _spelling("amp", FULL, """
scaler = torch.cuda.amp.GradScaler()
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
    with torch.cuda.amp.autocast():
        loss = criterion(model(x), y) / accumulation_steps
    scaler.scale(loss).backward()
    if (i + 1) % accumulation_steps == 0:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
"""),
    _spelling("amp-free-scaler", BATCHES, """
for x, y in train_loader:
    x, y = x.to(device), y.to(device)
    optimizer.zero_grad()
    with torch.autocast(device_type="cuda", dtype=torch.float16):
        output = model(x)
        loss = criterion(output, y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=max_norm)
    scaler.step(optimizer)
    scaler.update()
"""),
    _spelling("disabled-scaler", BATCHES, """
scaler = torch.amp.GradScaler("cuda", enabled=False)
for x, y in train_loader:
    optimizer.zero_grad(set_to_none=True)
    loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""),
    _spelling("scheduler", FULL, """
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y)
    (loss / accumulation_steps).backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        print(scheduler.get_last_lr())
"""),
    _spelling("own-scheduler", BATCHES, """
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=num_epochs * len(train_loader))
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    scheduler.step()
"""),
    _spelling("own-optimizer", BATCHES, """
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_value_(model.parameters(), clip_value=0.5)
    optimizer.step()
"""),
    _spelling("epochs", 2 * BATCHES, """
for epoch in range(num_epochs):
    model.train()
    total = 0.0
    for step, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / len(train_loader):.4f}")
"""),
    _spelling("validation", 2 * BATCHES, """
for epoch in range(num_epochs):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in val_loader:
            total += criterion(model(x), y).item()
    print(f"validation {total / len(val_loader):.4f}")
"""),
    _spelling("window-sum", FULL, """
total = 0.0
for i, (x, y) in enumerate(train_loader):
    total = total + criterion(model(x), y) / accumulation_steps
    if (i + 1) % accumulation_steps == 0:
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        total = 0.0
"""),
    _spelling("flag", WINDOWS, """
num_batches = len(train_loader)
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    is_update = (i + 1) % accumulation_steps == 0 or i + 1 == num_batches
    loss = criterion(model(x), y)
    (loss / accumulation_steps).backward()
    if not is_update:
        continue
    clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad()
"""),
    _spelling("counter", FULL, """
pending = 0
optimizer.zero_grad()
for x, y in train_loader:
    (criterion(model(x), y) / accumulation_steps).backward()
    pending += 1
    if pending == accumulation_steps:
        optimizer.step()
        optimizer.zero_grad()
        pending = 0
"""),
    _spelling("islice", WINDOWS, """
from itertools import islice
it = iter(train_loader)
while window := list(islice(it, accumulation_steps)):
    optimizer.zero_grad()
    for x, y in window:
        loss = criterion(model(x), y) / len(window)
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
"""),
    _spelling("next", FULL, """
it = iter(train_loader)
for update in range(len(train_loader) // accumulation_steps):
    optimizer.zero_grad()
    for micro in range(accumulation_steps):
        x, y = next(it)
        (criterion(model(x), y) / accumulation_steps).backward()
    optimizer.step()
"""),
    _spelling("manual-clip", BATCHES, """
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    total_norm = torch.norm(torch.stack([g.norm() for g in grads]))
    factor = max_norm / (total_norm + 1e-6)
    if factor < 1:
        for g in grads:
            g.mul_(factor)
    optimizer.step()
"""),
    _spelling("total-norm", BATCHES, """
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    params = list(model.parameters())
    total_norm = torch.nn.utils.get_total_norm([p.grad for p in params])
    torch.nn.utils.clip_grads_with_norm_(params, max_norm, total_norm)
    optimizer.step()
"""),
    _spelling("param-groups", BATCHES, """
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for group in optimizer.param_groups:
        torch.nn.utils.clip_grad_norm_(group["params"], 1.0)
    optimizer.step()
"""),
    _spelling("closure", BATCHES, """
for x, y in train_loader:
    def closure():
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        return loss
    optimizer.step(closure)
"""),
    _spelling("tqdm", BATCHES, """
from tqdm import tqdm
bar = tqdm(train_loader, desc="training")
for x, y in bar:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    bar.set_postfix(loss=loss.item())
"""),
    _spelling("logger", BATCHES, """
import wandb
wandb.init(project="x")
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    wandb.log({"loss": loss.item(), "step": step})
"""),
    _spelling("finite-check", BATCHES, """
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    output = model(x)
    loss = criterion(output, y)
    if not torch.isfinite(loss):
        raise RuntimeError(f"loss {loss.item()} at {step}; target {y.min().item()} to {y.max().item()}")
    loss.backward()
    optimizer.step()
"""),
    _spelling("ddp-flag", FULL, """
for i, (x, y) in enumerate(train_loader):
    model.require_backward_grad_sync = (i + 1) % accumulation_steps == 0
    (criterion(model(x), y) / accumulation_steps).backward()
    if (i + 1) % accumulation_steps == 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
"""),
    _spelling("no-sync", FULL, """
from contextlib import nullcontext
for i, (x, y) in enumerate(train_loader):
    stepping = (i + 1) % accumulation_steps == 0
    with nullcontext() if stepping else model.no_sync():
        (criterion(model(x), y) / accumulation_steps).backward()
    if stepping:
        optimizer.step()
        optimizer.zero_grad()
"""),
    _spelling("checkpoint", BATCHES, """
from torch.utils.checkpoint import checkpoint
for x, y in train_loader:
    optimizer.zero_grad()
    output = checkpoint(model, x, use_reentrant=False)
    criterion(output, y).backward()
    optimizer.step()
"""),
    _spelling("compiled", BATCHES, """
model = torch.compile(model)
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""),
)  # fmt: skip
