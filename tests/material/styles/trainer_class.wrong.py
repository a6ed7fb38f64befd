from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, random_split


@dataclass
class Config:
    epochs: int = 30
    batch_size: int = 32
    lr: float = 1e-3
    max_grad_norm: float = 5.0
    grad_accum: int = 3
    ckpt_dir: Path = Path("checkpoints")


class Sines(Dataset):
    def __init__(self, n: int = 1500, length: int = 24):
        g = torch.Generator().manual_seed(0)
        phase = torch.rand(n, 1, generator=g) * 6.28
        t = torch.arange(length + 1) * 0.3
        self.series = torch.sin(t + phase)

    def __len__(self) -> int:
        return len(self.series)

    def __getitem__(self, i: int) -> dict[str, Tensor]:
        return {"past": self.series[i, :-1].unsqueeze(-1), "next": self.series[i, -1:]}


class Forecaster(nn.Module):
    def __init__(self, hidden: int = 32):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, past: Tensor) -> Tensor:
        states, _ = self.rnn(past)
        return self.out(states[:, -1])


@dataclass
class Trainer:
    model: nn.Module
    config: Config
    loss_fn: Callable[[Tensor, Tensor], Tensor]
    history: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=self.config.lr)
        self.step = 0

    def fit(self, train: DataLoader, valid: DataLoader) -> None:
        for epoch in range(self.config.epochs):
            self._run_epoch(train)
            self.history.append(self.evaluate(valid))
            if self.history[-1] == min(self.history):
                self.save(epoch)

    def _run_epoch(self, loader: DataLoader) -> None:
        self.model.train()
        window: list[dict[str, Tensor]] = []
        for batch in loader:
            window.append(batch)
            if len(window) == self.config.grad_accum:
                self._update(window)
                window = []
        if window:
            self._update(window)

    def _update(self, window: list[dict[str, Tensor]]) -> None:
        self.optimizer.zero_grad()
        for batch in window:
            loss = self.loss_fn(self.model(batch["past"]), batch["next"]) / len(window)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_grad_norm)
        self.optimizer.step()
        self.step += 1

    @torch.inference_mode()
    def evaluate(self, loader: DataLoader) -> float:
        self.model.eval()
        errors = [self.loss_fn(self.model(b["past"]), b["next"]).item() for b in loader]
        return sum(errors) / len(errors)

    def save(self, epoch: int) -> None:
        self.config.ckpt_dir.mkdir(parents=True, exist_ok=True)
        torch.save({"model": self.model.state_dict(), "epoch": epoch, "step": self.step}, self.config.ckpt_dir / "best.pt")


def run() -> None:
    config = Config()
    train, valid = random_split(Sines(), [1200, 300], generator=torch.Generator().manual_seed(1))
    trainer = Trainer(Forecaster(), config, nn.SmoothL1Loss())
    trainer.fit(
        DataLoader(train, config.batch_size, shuffle=True),
        DataLoader(valid, config.batch_size),
    )
    print(f"best {min(trainer.history):.5f} after {trainer.step} updates")


if __name__ == "__main__":
    run()
