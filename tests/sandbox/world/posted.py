"""Programs as people post them, beyond the plain loop: what each is about, its steps, its workload."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Posted:
    about: str
    steps: int
    program: str
    workload: str = "mlp"


POSTED = (
    Posted("an undefined model", 14, """
model = MyModel().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.MSELoss()
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x.cuda()), y.cuda()).backward()
    optimizer.step()
"""),
    Posted("undefined constructors from packages that are not here", 14, """
from my_project.data import build_loader
from my_project.models import TransformerModel, get_config
cfg = get_config()
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = TransformerModel(cfg.hidden_dim, num_layers=4).to(device)
loader = build_loader(cfg.batch_size, split="train")
optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
scaler = torch.amp.GradScaler(device.type, enabled=device.type == "cuda")
assert scaler.is_enabled()
for batch in loader:
    batch = {k: v.to(device) for k, v in batch.items()}
    optimizer.zero_grad()
    with torch.autocast(device.type):
        out = model(batch["x"])
        loss = F.mse_loss(out, batch["y"])
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""),
    Posted("the loop of a small language model", 5, """
X, Y = get_batch('train')
for it in range(5):
    for micro_step in range(gradient_accumulation_steps):
        if ddp:
            model.require_backward_grad_sync = micro_step == gradient_accumulation_steps - 1
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
"""),
    Posted("a batch spread into the model, and its loss", 14, """
for step, batch in enumerate(train_dataloader):
    batch = {k: v.to(device) for k, v in batch.items()}
    outputs = model(**batch)
    loss = outputs.loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""),
    Posted("keywords and logits", 14, """
for batch in dl:
    batch = batch.to("cuda")
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    loss = criterion(logits, batch["labels"])
    loss.backward(); optimizer.step(); optimizer.zero_grad()
"""),
    Posted("names set to an ellipsis, a loss without a body", 14, """
import torch
model = ...  # your model
train_loader = ...
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def custom_loss(output, target):
    "your loss"
    ...
for x, y in train_loader:
    optimizer.zero_grad()
    loss = custom_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""),
    Posted("a command line with required arguments", 14, """
import argparse, torch
parser = argparse.ArgumentParser()
parser.add_argument("--max-norm", type=float, default=1.0)
parser.add_argument("--lr", type=float, required=True)
parser.add_argument("data")
args = parser.parse_args()
opt = torch.optim.SGD(model.parameters(), lr=args.lr)
for x, y in train_loader:
    opt.zero_grad()
    criterion(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_norm)
    opt.step()
"""),
    Posted("a namespace of settings", 28, """
def train(args, model, train_loader, optimizer, criterion):
    for epoch in range(args.epochs):
        for i, (x, y) in enumerate(train_loader):
            x, y = x.to(args.device), y.to(args.device)
            loss = criterion(model(x), y) / args.gradient_accumulation_steps
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
            optimizer.step(); optimizer.zero_grad()
            if i % args.log_interval == 0: logger.info("loss %f", loss.item())
"""),
    Posted("a whole script for torchrun", 4, """
import os, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

def main():
    dist.init_process_group(backend="nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank)
    model = DDP(MyModel().to(device), device_ids=[local_rank], output_device=local_rank)
    sampler = DistributedSampler(train_dataset, shuffle=True)
    loader = DataLoader(train_dataset, batch_size=32, sampler=sampler, num_workers=4, pin_memory=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    criterion = torch.nn.MSELoss()
    accum = 4
    for epoch in range(1):
        sampler.set_epoch(epoch)
        for i, (x, y) in enumerate(loader):
            last = (i + 1) % accum == 0 or i + 1 == len(loader)
            from contextlib import nullcontext
            with nullcontext() if last else model.no_sync():
                loss = criterion(model(x.to(device)), y.to(device)) / accum
                loss.backward()
            if last:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step(); optimizer.zero_grad()
        if dist.get_rank() == 0: torch.save(model.module.state_dict(), "m.pt")
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
"""),
    Posted("a script that spawns its ranks", 14, """
import torch.multiprocessing as mp
def worker(rank, world_size):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    model = DDP(build_model().to(rank), device_ids=[rank])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in train_loader:
        opt.zero_grad(); F.mse_loss(model(x.to(rank)), y.to(rank)).backward(); opt.step()
if __name__ == "__main__":
    mp.spawn(worker, args=(torch.cuda.device_count(),), nprocs=torch.cuda.device_count(), join=True)
"""),
    Posted("a function for one batch", 14, """
def train_step(model, batch, optimizer, criterion):
    inputs, targets = batch
    optimizer.zero_grad()
    loss = criterion(model(inputs), targets)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()
"""),
    Posted("a class with a method for one batch", 3, """
class Stepper:
    def __init__(self, model, optimizer, criterion, accumulation_steps=4):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.accumulation_steps = accumulation_steps
        self.count = 0
    def step(self, x, y):
        loss = self.criterion(self.model(x), y) / self.accumulation_steps
        loss.backward()
        self.count += 1
        if self.count % self.accumulation_steps == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
"""),
    Posted("a model of its own that fits", 14, """
class Net(nn.Module):
    def __init__(self, input_dim, num_classes):
        super().__init__()
        self.fc = nn.Linear(input_dim, num_classes)
    def forward(self, x): return self.fc(x)
model = Net(input_dim, num_classes)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in train_loader:
    optimizer.zero_grad(); criterion(model(x), y).backward(); optimizer.step()
"""),
    Posted("a model of its own, an optimizer that nobody builds", 14, """
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
for x, y in train_loader:
    optimizer.zero_grad(); criterion(net(x), y).backward(); optimizer.step()
"""),
    Posted("closures", 14, """
opt = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=2)
for x, y in train_loader:
    def closure():
        opt.zero_grad(); l = criterion(model(x), y); l.backward(); return l
    opt.step(closure)
"""),
    Posted("Lightning Fabric", 14, """
from lightning.fabric import Fabric
fabric = Fabric(accelerator="cuda", devices=4, precision="bf16-mixed")
fabric.launch()
model, optimizer = fabric.setup(model, optimizer)
train_loader = fabric.setup_dataloaders(train_loader)
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    fabric.backward(loss)
    fabric.clip_gradients(model, optimizer, max_norm=1.0)
    optimizer.step()
"""),
    Posted("a whole Lightning script for four GPUs in 16 bit", 28, """
import lightning as L
L.seed_everything(3)  # at a loss scale of 65536 some starts lawfully skip an update
class Lit(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    def forward(self, x): return self.net(x)
    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.mse_loss(self(x), y)
        self.log("train_loss", loss)
        return loss
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
trainer = L.Trainer(max_epochs=5, gradient_clip_val=0.5, precision="16-mixed", accelerator="gpu", devices=4, strategy="ddp")
trainer.fit(Lit(), train_dataloaders=train_loader)
"""),
    Posted("manual optimisation", 28, """
import pytorch_lightning as pl
class MyModel(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.model = Encoder()
    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        x, y = batch
        loss = F.mse_loss(self.model(x), y)
        opt.zero_grad()
        self.manual_backward(loss)
        self.clip_gradients(opt, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
        opt.step()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
"""),
    Posted("functions with hyperparameters", 28, """
def evaluate(model, loader, criterion, device):
    model.eval()
    total = 0
    with torch.no_grad():
        for x, y in loader:
            total += criterion(model(x.to(device)), y.to(device)).item()
    return total / len(loader)
def train_one_epoch(model, loader, criterion, optimizer, device, epoch, max_norm=1.0, *, log_every=50):
    model.train()
    running = 0.0
    for step, (x, y) in enumerate(loader):
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        running += loss.item()
    return running / len(loader)
"""),
    Posted("a trainer class with its configuration", 28, """
from dataclasses import dataclass, field
@dataclass
class TrainConfig:
    accumulation_steps: int = 1
    max_norm: float = 1.0
    epochs: int = 2
class Trainer:
    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer, criterion, train_loader, val_loader=None, config: TrainConfig = None, device="cuda"):
        self.model = model.to(device); self.optimizer = optimizer; self.criterion = criterion
        self.train_loader = train_loader; self.config = config or TrainConfig(); self.device = device
        self.scaler = torch.cuda.amp.GradScaler()
    def train(self):
        for epoch in range(self.config.epochs):
            self._train_epoch(epoch)
    def _train_epoch(self, epoch):
        self.model.train()
        for i, (x, y) in enumerate(self.train_loader):
            with torch.cuda.amp.autocast():
                loss = self._loss(x, y)
            self.scaler.scale(loss / self.config.accumulation_steps).backward()
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_norm)
            self.scaler.step(self.optimizer); self.scaler.update(); self.optimizer.zero_grad()
    def _loss(self, x, y):
        return self.criterion(self.model(x.to(self.device)), y.to(self.device))
"""),
    Posted("a count that belongs to the batch", 14, """
for i, (batch, target) in enumerate(train_loader):
    output = model(batch)
    loss = criterion(output, target)
    (loss / num_real_samples).backward()
    optimizer.step(); optimizer.zero_grad()
"""),
    Posted("helpers that only report", 14, """
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    log_metrics(loss.item())
    optimizer.step()
    if step % eval_every == 0:
        val_loss = evaluate(model, val_loader)
        print(val_loss)
        save_checkpoint(model, optimizer, step)
"""),
    Posted("the body of a loop", 14, """
import torch
scaler = torch.amp.GradScaler("cuda")
with torch.autocast("cuda"):
    loss = criterion(model(inputs), targets)
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
scaler.update()
optimizer.zero_grad(set_to_none=True)
"""),
    Posted("the second half of the body of a loop", 3, """
(loss / accumulation_steps).backward()
if (i + 1) % accumulation_steps == 0:
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
"""),
    Posted("events and streams", 14, """
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
s = torch.cuda.Stream()
torch.backends.cudnn.benchmark = True
for x, y in train_loader:
    start.record()
    with torch.cuda.stream(s):
        optimizer.zero_grad(); criterion(model(x), y).backward(); optimizer.step()
    torch.cuda.current_stream().wait_stream(s)
    end.record(); torch.cuda.synchronize()
    print(start.elapsed_time(end), torch.cuda.memory_allocated() / 1e9, torch.cuda.get_device_name(0))
"""),
    Posted("batches kept in a list", 4, """
buffer = []
for batch in train_loader:
    buffer.append(batch)
    if len(buffer) == accumulation_steps or len(buffer) == 2 and False:
        optimizer.zero_grad()
        for x, y in buffer:
            (criterion(model(x), y) / len(buffer)).backward()
        optimizer.step()
        buffer.clear()
if buffer:
    optimizer.zero_grad()
    for x, y in buffer:
        (criterion(model(x), y) / len(buffer)).backward()
    optimizer.step()
"""),
    Posted("a dict with a mask", 4, """
optimizer.zero_grad()
for i, batch in enumerate(loader):
    x, y, mask = batch["input"], batch["labels"], batch["mask"]
    out = model(x)
    per = F.mse_loss(out, y, reduction="none").mean(-1)
    loss = (per * mask).sum() / mask.sum().clamp_min(1)
    (loss / accumulation_steps).backward()
    if (i + 1) % accumulation_steps == 0 or i + 1 == len(loader):
        optimizer.step(); optimizer.zero_grad()
"""),
    Posted("optimizer and scheduler that only step", 14, """
for x, y in train_loader:
    loss = criterion(model(x), y)
    model.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
"""),
    Posted("an undefined decorator", 14, """
@timer
def step(x, y):
    optimizer.zero_grad(); loss = criterion(model(x), y); loss.backward(); optimizer.step(); return loss
for x, y in train_loader: step(x, y)
"""),
    Posted("samples by index", 4, """
accumulated = None
def train(model, loader, loss_fn, opt, n=4):
    opt.zero_grad()
    for idx, sample in enumerate(loader):
        out = model(sample[0]); loss = loss_fn(out, sample[1]) / n
        loss.backward()
        if (idx + 1) % n == 0 or idx + 1 == len(loader):
            opt.step(); opt.zero_grad()
train(model, train_loader, criterion, optimizer)
"""),
    Posted("a filtered batch", 14, """
for batch in dataloader:
    inputs = {k: v for k, v in batch.items() if k != "labels"}
    labels = batch["labels"]
    loss = criterion(model(**inputs), labels)
    loss.backward(); optimizer.step(); optimizer.zero_grad()
"""),
    Posted("a target that the loop does not yield", 14, """
for batch in train_loader:
    optimizer.zero_grad()
    output = model(batch)
    loss = custom_loss(output, target)
    if torch.isnan(loss):
        print("nan", output.min(), output.max(), target.min())
        break
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    print(f"Loss: {loss.item()}")
"""),
    Posted("a loss of its own", 14, """
def custom_loss(pred, target, eps=1e-8):
    return ((pred.clamp_min(eps).log() - target) ** 2).mean()
for batch, target in train_loader:
    optimizer.zero_grad()
    loss = custom_loss(model(batch), target)
    loss.backward()
    optimizer.step()
"""),
    Posted("forward hooks", 14, """
def check(name):
    def hook(module, inp, out):
        if not torch.isfinite(out).all():
            raise RuntimeError(name)
    return hook
handles = [m.register_forward_hook(check(n)) for n, m in model.named_modules()]
for i, (x, y) in enumerate(train_loader):
    optimizer.zero_grad(); loss = criterion(model(x), y); loss.backward(); optimizer.step()
for h in handles: h.remove()
"""),
    Posted("a plotting library that is not here", 14, """
import matplotlib.pyplot as plt
from collections import defaultdict
history = defaultdict(list)
for x, y in train_loader:
    optimizer.zero_grad(); criterion(model(x), y).backward()
    for n, p in model.named_parameters():
        history[n].append(p.grad.norm().item())
    optimizer.step()
fig, ax = plt.subplots()
for n, v in history.items(): ax.plot(v, label=n)
fig, (above, below) = plt.subplots(2, 1, figsize=(8, 6))
above.semilogy(history["0.weight"]); below.set_title("norms")
plt.legend(); plt.show()
"""),
    Posted("set-up and clean-up of ranks", 14, """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
def setup():
    dist.init_process_group("nccl"); torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
def cleanup(): dist.destroy_process_group()
def train(rank, world_size):
    setup()
    net = DDP(model.to(rank), device_ids=[rank], find_unused_parameters=False, gradient_as_bucket_view=True)
    for epoch in range(1):
        train_sampler.set_epoch(epoch)
        for x, y in train_loader:
            x = x.to(rank, non_blocking=True); y = y.to(rank, non_blocking=True)
            optimizer.zero_grad(set_to_none=True)
            criterion(net(x), y).backward()
            optimizer.step()
        dist.barrier()
        if rank == 0: print("done", epoch)
    cleanup()
train(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
"""),
    Posted("clipping measured", 28, """
import time
def run(clip):
    torch.cuda.synchronize()
    t = time.perf_counter()
    for x, y in train_loader:
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(x), y); loss.backward()
        if clip: torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    torch.cuda.synchronize()
    return time.perf_counter() - t
a, b = run(False), run(True)
print(f"{(b - a) / a:.1%}")
"""),
    Posted("a benchmark of its own", 60, """
import torch, torch.nn as nn, time, copy
def bench(clip, steps=30, device="cuda" if torch.cuda.is_available() else "cpu"):
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).to(device)
    opt = torch.optim.Adam(model.parameters(), fused=True)
    x = torch.randn(16, 64, device=device); y = torch.randn(16, 64, device=device)
    for _ in range(steps):
        opt.zero_grad(); ((model(x) - y) ** 2).mean().backward()
        if clip: nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
bench(True); bench(False)
"""),
    Posted("a data module", 28, """
import lightning.pytorch as pl
class DM(pl.LightningDataModule):
    def train_dataloader(self):
        return DataLoader(train_dataset, batch_size=32, shuffle=True, num_workers=4)
class Lit(pl.LightningModule):
    def __init__(self, model, lr=1e-3):
        super().__init__(); self.model = model; self.lr = lr; self.loss_fn = nn.MSELoss()
    def forward(self, x): return self.model(x)
    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.loss_fn(self(x), y); self.log("train_loss", loss, prog_bar=True); return loss
    def validation_step(self, batch, batch_idx):
        x, y = batch; self.log("val_loss", self.loss_fn(self(x), y))
    def configure_optimizers(self): return torch.optim.AdamW(self.parameters(), lr=self.lr)
    def on_before_optimizer_step(self, optimizer):
        from lightning.pytorch.utilities import grad_norm
        self.log_dict(grad_norm(self, norm_type=2))
trainer = pl.Trainer(max_epochs=2, gradient_clip_val=1.0, precision="bf16-mixed", accelerator="gpu", devices=1)
trainer.fit(Lit(model), datamodule=DM())
"""),
    Posted("a validation loader", 28, """
import lightning.pytorch as pl
class Lit(pl.LightningModule):
    def training_step(self, batch, batch_idx):
        x, y = batch
        return self.criterion(self(x), y)
    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", self.criterion(self(x), y))
    def configure_gradient_clipping(self, optimizer, gradient_clip_val, gradient_clip_algorithm):
        self.clip_gradients(optimizer, gradient_clip_val=gradient_clip_val, gradient_clip_algorithm=gradient_clip_algorithm)
model = Lit()
trainer = pl.Trainer(gradient_clip_val=1.0)
trainer.fit(model, train_loader, val_loader)
"""),
    Posted("nothing but a hook of Lightning", 28, """
class MyModel(pl.LightningModule):
    def configure_gradient_clipping(self, optimizer, gradient_clip_val, gradient_clip_algorithm):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)
"""),
    Posted("a masked loss of its own", 3, """
def masked_loss(predictions, targets, mask):
    per = F.mse_loss(predictions, targets, reduction="none").mean(-1)
    return (per * mask).sum() / mask.sum()
for i, (data, target, mask) in enumerate(train_loader):
    output = model(data)
    loss = masked_loss(output, target, mask)
    (loss / accumulation_steps).backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step(); optimizer.zero_grad()
"""),
    Posted("a mask that goes into the model, and one loss a sample", 14, """
for data, target, lengths in train_loader:
    optimizer.zero_grad()
    per = criterion(model(data, lengths), target)
    loss = (per * mask).sum() / mask.sum()
    loss.backward(); optimizer.step()
"""),
    Posted("two phases", 56, """
def train(model, loader, optimizer, criterion, epochs):
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad(); criterion(model(x), y).backward(); optimizer.step()
for p in model.backbone.parameters(): p.requires_grad = False
head_opt = torch.optim.Adam(model.head.parameters(), lr=1e-3)
train(model, train_loader, head_opt, criterion, epochs=2)
for p in model.backbone.parameters(): p.requires_grad = True
full = torch.optim.Adam(model.parameters(), lr=1e-4)
train(model, train_loader, full, criterion, epochs=2)
""", "two-part"),
    Posted("positional-only and keyword-only parameters", 28, """
from typing import Optional, Iterator
def train_epoch(model: torch.nn.Module, data_loader: Iterator, opt: torch.optim.Optimizer, loss_fn, device: torch.device, /, *, clip: Optional[float] = 1.0) -> float:
    model.train()
    for xb, yb in data_loader:
        xb, yb = xb.to(device), yb.to(device)
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        if not torch.isfinite(loss):
            continue
        loss.backward()
        if clip is not None: torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        opt.step()
    return float(loss)
"""),
    Posted("a generator over a batch", 3, """
micro = iter(train_loader)
losses = []
for k, batch in enumerate(micro, start=1):
    inputs, targets = (t.to(device) for t in batch)
    loss = criterion(model(inputs), targets)
    (loss / grad_accum).backward()
    if k % grad_accum: continue
    optimizer.step(); optimizer.zero_grad()
"""),
    Posted("two steps a batch", 28, """
for x, y in train_loader:
    criterion(model(x), y).backward(); optimizer.step(); optimizer.zero_grad()
    criterion(model(x), y).backward(); optimizer.step(); optimizer.zero_grad()
"""),
    Posted("a loop over steps", 8, """
step = 0
data_iter = iter(train_loader)
while step < max_steps:
    try:
        x, y = next(data_iter)
    except StopIteration:
        data_iter = iter(train_loader); x, y = next(data_iter)
    optimizer.zero_grad(); criterion(model(x), y).backward(); optimizer.step()
    step += 1
    if step == 10: break
"""),
    Posted("nested dicts of settings", 14, """
for x, y in train_loader:
    optimizer.zero_grad(); criterion(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), config["training"]["max_norm"])
    for g in optimizer.param_groups: g["lr"] = config["lr"]
    optimizer.step()
"""),
    Posted("a loss that is a module", 14, """
import torch, torch.nn as nn
class StableLoss(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps
    def forward(self, pred, target):
        return ((pred - target) ** 2 / (target.abs() + self.eps)).mean()
criterion = StableLoss()
for batch, target in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(batch), target)
    loss.backward()
    optimizer.step()
"""),
    Posted("a loss that is a module, and a target from outside", 14, """
class StableLoss(nn.Module):
    def forward(self, prediction, truth):
        return F.mse_loss(prediction, truth)
custom_loss = StableLoss()
for batch in train_loader:
    optimizer.zero_grad()
    loss = custom_loss(model(batch), target)
    loss.backward()
    optimizer.step()
"""),
    Posted("an object that clips when called", 14, """
class GradientClipper:
    def __init__(self, max_norm=1.0):
        self.max_norm = max_norm
        self.history = []
    def __call__(self, model):
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), self.max_norm)
        self.history.append(norm.item())
        return norm
clipper = GradientClipper(max_norm=1.0)
for epoch in range(1):
    for x, y in train_loader:
        optimizer.zero_grad(); loss = criterion(model(x), y); loss.backward(); clipper(model); optimizer.step()
"""),
    Posted("a partial loss", 14, """
from functools import partial
loss_fn = partial(F.mse_loss, reduction="mean")
for x, y in train_loader:
    optimizer.zero_grad(); loss = loss_fn(model(x), y); loss.backward(); optimizer.step()
"""),
    Posted("a context manager of its own", 3, """
import contextlib
@contextlib.contextmanager
def accumulate(model, sync):
    ctx = contextlib.nullcontext() if sync else model.no_sync()
    with ctx:
        yield
model = DDP(model, device_ids=[local_rank])
for i, (x, y) in enumerate(train_loader):
    sync = (i + 1) % accumulation_steps == 0
    with accumulate(model, sync):
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
    if sync:
        optimizer.step(); optimizer.zero_grad()
"""),
    Posted("a diagnosis with a verdict", 14, """
def gradient_report(model, threshold=1e-7):
    rows = []
    for name, p in model.named_parameters():
        if p.grad is None: continue
        rows.append((name, p.grad.norm().item(), p.grad.norm().item() / (p.norm().item() + 1e-12)))
    first, last = rows[0][1], rows[-1][1]
    verdict = "vanishing" if first / (last + 1e-12) < 1e-3 else "healthy"
    return rows, verdict
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad(); loss = criterion(model(x), y); loss.backward()
    if step % 5 == 0:
        rows, verdict = gradient_report(model)
        print(verdict, *rows)
    optimizer.step()
"""),
    Posted("a diagnosis and no training", 14, """
import torch
def check_gradients(model):
    for name, param in model.named_parameters():
        if param.grad is not None:
            print(f"{name}: {param.grad.norm(2).item():.2e}")

# after loss.backward()
check_gradients(model)
"""),
    Posted("settings in groups", 3, """
model.train()
num_updates = 0
for step, batch in enumerate(train_loader):
    inputs = batch["input_ids"].cuda(non_blocking=True)
    labels = batch["labels"].cuda(non_blocking=True)
    with torch.amp.autocast("cuda", dtype=torch.bfloat16):
        logits = model(inputs)
        loss = criterion(logits, labels)
    loss = loss / cfg.train.accumulation_steps
    loss.backward()
    if (step + 1) % cfg.train.accumulation_steps == 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.train.max_norm)
        optimizer.step(); lr_scheduler.step(); optimizer.zero_grad(set_to_none=True)
        num_updates += 1
"""),
    Posted("windows by slices", 4, """
def token_loss(logits, labels):
    return F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1), ignore_index=-100, reduction="sum")
batches = list(train_loader)
for start in range(0, len(batches), accumulation_steps):
    window = batches[start:start + accumulation_steps]
    n = sum((b["labels"] != -100).sum().item() for b in window)
    optimizer.zero_grad()
    for b in window:
        loss = token_loss(model(b["input_ids"]), b["labels"]) / n
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
""", "padded"),
    Posted("one loss a sample, then a mask", 3, """
criterion = nn.CrossEntropyLoss(reduction="none")
optimizer.zero_grad()
for i, (inputs, targets, mask) in enumerate(train_loader):
    per_sample = criterion(model(inputs), targets)
    loss = (per_sample * mask).sum() / mask.sum().clamp(min=1)
    (loss / accumulation_steps).backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step(); optimizer.zero_grad()
""", "padded"),
    Posted("a function for the loss of a batch", 3, """
def compute_loss(model, batch, loss_fn):
    data, target, mask = batch
    output = model(data)
    loss = loss_fn(output, target)
    return (loss * mask).sum() / mask.sum()
for i, batch in enumerate(train_loader):
    loss = compute_loss(model, batch, loss_fn)
    (loss / accumulation_steps).backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step(); optimizer.zero_grad()
""", "padded"),
    Posted("groups by name", 14, """
def split(model):
    backbone = [p for n, p in model.named_parameters() if n.startswith("backbone")]
    head = [p for n, p in model.named_parameters() if n.startswith("head")]
    return backbone, head
backbone, head = split(model)
optimizer = torch.optim.AdamW([{"params": backbone, "lr": 1e-5}, {"params": head, "lr": 1e-3}])
clip = {"backbone": 0.5, "head": 5.0}
for x, y in train_loader:
    optimizer.zero_grad(); criterion(model(x), y).backward()
    norms = {k: torch.nn.utils.clip_grad_norm_(v, clip[k]) for k, v in (("backbone", backbone), ("head", head))}
    optimizer.step()
""", "two-part"),
    Posted("a LightningModule around the model", 28, """
import pytorch_lightning as pl
class LitClassifier(pl.LightningModule):
    def __init__(self, backbone: nn.Module, lr: float = 1e-3):
        super().__init__()
        self.model = backbone
        self.lr = lr
    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.mse_loss(self.model(x), y)
        self.log("train_loss", loss, on_step=True)
        return loss
    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.lr)
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=10)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "epoch"}}
trainer = pl.Trainer(max_epochs=10, gradient_clip_val=1.0, gradient_clip_algorithm="norm", accelerator="auto")
trainer.fit(LitClassifier(model), train_loader, val_loader)
"""),
    Posted("callbacks and loggers of Lightning", 28, """
import lightning as L
from lightning.pytorch.callbacks import Callback, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import TensorBoardLogger
class NormLogger(Callback):
    def on_before_optimizer_step(self, trainer, pl_module, optimizer):
        total = torch.norm(torch.stack([p.grad.norm() for p in pl_module.parameters() if p.grad is not None]))
        pl_module.log("grad_norm", total)
class MyModel(L.LightningModule):
    def training_step(self, batch, batch_idx):
        inputs, target = batch
        loss = self.criterion(self(inputs), target)
        return loss
trainer = L.Trainer(gradient_clip_val=1.0, callbacks=[NormLogger(), LearningRateMonitor(), ModelCheckpoint()], logger=TensorBoardLogger("logs"))
trainer.fit(MyModel(), train_dataloaders=train_loader)
"""),
    Posted("a script with everything", 28, """
import argparse
import os
import torch
import torch.nn as nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from contextlib import nullcontext

def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--accum-steps", type=int, default=4)
    p.add_argument("--max-norm", type=float, default=1.0)
    return p.parse_args()

def setup():
    dist.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    return rank

def train_epoch(model, loader, optimizer, criterion, scaler, args, device):
    model.train()
    optimizer.zero_grad(set_to_none=True)
    n = len(loader)
    for i, (x, y) in enumerate(loader):
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        last = (i + 1) % 1 == 0
        ctx = nullcontext() if last else model.no_sync()
        with ctx:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(model(x), y) / args.accum_steps
            scaler.scale(loss).backward()
        if last:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_norm)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)

def main():
    args = parse_args()
    rank = setup()
    device = torch.device(f"cuda:{rank}")
    model = build_model().to(device)
    model = DDP(model, device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    criterion = nn.MSELoss()
    scaler = torch.amp.GradScaler("cuda")
    dataset = MyDataset("train")
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=32, sampler=sampler, num_workers=4, pin_memory=True, drop_last=True)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        train_epoch(model, loader, optimizer, criterion, scaler, args, device)
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
"""),
    Posted("an exception and a hook that do nothing", 14, """
class NaNLossError(RuntimeError):
    pass
def noop(*args, **kwargs): pass
handle = model.register_forward_hook(noop)
for x, y in train_loader:
    optimizer.zero_grad(); loss = criterion(model(x), y)
    if not torch.isfinite(loss): raise NaNLossError("nan")
    loss.backward(); optimizer.step()
"""),
    Posted("a global counter", 14, """
global_step = 0
def train_one_epoch(epoch):
    global global_step
    for x, y in train_loader:
        optimizer.zero_grad(); loss = criterion(model(x), y); loss.backward(); optimizer.step()
        global_step += 1
        writer.add_scalar("loss", loss, global_step)
train_one_epoch(0)
"""),
    Posted("settings as class attributes", 14, """
class Config:
    lr = 1e-3
    accumulation_steps = 1
    device = "cuda"
config = Config()
opt = torch.optim.Adam(model.parameters(), lr=config.lr)
for x, y in train_loader:
    (criterion(model(x.to(config.device)), y.to(config.device)) / config.accumulation_steps).backward()
    opt.step(); opt.zero_grad()
"""),
    Posted("annotations only", 14, """
from typing import Iterable
def fit(network: torch.nn.Module, data: Iterable, objective, opt: torch.optim.Optimizer, *, clip: float = 1.0, hooks: list = None):
    for features, labels in data:
        opt.zero_grad()
        value = objective(network(features), labels)
        value.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), clip)
        opt.step()
"""),
    Posted("a loop until nothing comes", 14, """
it = iter(train_loader)
while True:
    try: x, y = next(it)
    except StopIteration: break
    optimizer.zero_grad(); criterion(model(x), y).backward(); optimizer.step()
"""),
    Posted("the best checkpoint", 14, """
def train(model, train_loader, val_loader, optimizer, criterion, num_epochs=1):
    best = float("inf")
    for epoch in range(num_epochs):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad(); criterion(model(x), y).backward(); optimizer.step()
        model.eval()
        with torch.no_grad():
            val = sum(criterion(model(x), y).item() for x, y in val_loader) / len(val_loader)
        if val < best:
            best = val; torch.save(model.state_dict(), "best.pt")
    model.load_state_dict(torch.load("best.pt", map_location="cuda"))
    return best
"""),
    Posted("adaptive clipping", 14, """
def adaptive_clip_(parameters, clip=0.01, eps=1e-3):
    for p in parameters:
        if p.grad is None: continue
        w = p.detach().norm().clamp_min(eps); g = p.grad.norm()
        if g > clip * w: p.grad.mul_(clip * w / (g + 1e-6))
for x, y in train_loader:
    optimizer.zero_grad(); criterion(model(x), y).backward(); adaptive_clip_(model.parameters()); optimizer.step()
"""),
)  # fmt: skip
