import json
import math
import os
from dataclasses import dataclass, field, asdict
from typing import Callable, List, Optional

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TrainerConfig:
    epochs: int = 3
    accumulate: int = 4
    max_norm: Optional[float] = 1.0
    lr: float = 2e-3
    bf16: bool = True
    device: str = "cuda" if torch.cuda.is_available() else "cpu"
    ckpt_dir: str = "checkpoints"


class Callback:
    def on_update(self, trainer, logs): ...
    def on_epoch_end(self, trainer, logs): ...


class History(Callback):
    def __init__(self):
        self.rows = []

    def on_epoch_end(self, trainer, logs):
        self.rows.append(dict(logs, epoch=trainer.epoch))
        print(json.dumps(self.rows[-1]))


class Trainer:
    def __init__(self, model, loss_fn: Callable, cfg: TrainerConfig, callbacks: List[Callback] = ()):
        self.cfg = cfg
        self.model = model.to(cfg.device)
        self.loss_fn = loss_fn
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr)
        self.callbacks = list(callbacks)
        self.epoch = 0
        self.updates = 0

    def _loss(self, batch):
        x, y = (t.to(self.cfg.device) for t in batch)
        with torch.autocast(self.cfg.device, dtype=torch.bfloat16, enabled=self.cfg.bf16):
            out = self.model(x)
        return self.loss_fn(out.float(), y)

    def _update(self):
        norm = None
        if self.cfg.max_norm is not None:
            norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.max_norm).item()
        self.opt.step()
        self.opt.zero_grad(set_to_none=True)
        self.updates += 1
        for cb in self.callbacks:
            cb.on_update(self, {"grad_norm": norm})

    def _train_epoch(self, loader):
        self.model.train()
        n, k, total = len(loader), self.cfg.accumulate, 0.0
        for i, batch in enumerate(loader):
            # the last window may be shorter
            window = k if i < n - n % k else n % k
            loss = self._loss(batch)
            (loss / window).backward()
            total += loss.item()
            if (i + 1) % k == 0 or i + 1 == n:
                self._update()
        return total / n

    @torch.no_grad()
    def _validate(self, loader):
        self.model.eval()
        return sum(self._loss(b).item() for b in loader) / len(loader)

    def fit(self, train, val=None):
        for self.epoch in range(self.cfg.epochs):
            logs = {"train_loss": self._train_epoch(train)}
            if val is not None:
                logs["val_loss"] = self._validate(val)
            for cb in self.callbacks:
                cb.on_epoch_end(self, logs)
        return self

    def save(self, name="last.pt"):
        os.makedirs(self.cfg.ckpt_dir, exist_ok=True)
        torch.save({"model": self.model.state_dict(), "opt": self.opt.state_dict(), "cfg": asdict(self.cfg)},
                   os.path.join(self.cfg.ckpt_dir, name))


def make_data(n):
    x = torch.rand(n, 6) * 2 - 1
    y = torch.sin(math.pi * x[:, :1]) * x[:, 1:2] + x[:, 2:3] ** 2
    return TensorDataset(x, y)


if __name__ == "__main__":
    torch.manual_seed(7)
    net = nn.Sequential(nn.Linear(6, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
    tr = DataLoader(make_data(800), batch_size=16, shuffle=True)
    va = DataLoader(make_data(200), batch_size=100)
    hist = History()
    Trainer(net, nn.MSELoss(), TrainerConfig(), [hist]).fit(tr, va).save()
