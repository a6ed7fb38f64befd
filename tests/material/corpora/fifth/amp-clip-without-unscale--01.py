"""fp16 training with gradient clipping.

The original loop clipped the *scaled* gradients (norm x 65536), so every update was cut to 1.0 and then divided by
the scale in scaler.step: steps of 1.5e-5, the model stands still. `Trainer.update` takes the scale out first.
"""
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass(frozen=True)
class Config:
    max_norm: float = 1.0
    lr: float = 0.05
    epochs: int = 3
    batch_size: int = 32
    device: str = "cuda" if torch.cuda.is_available() else "cpu"


class Trainer:
    def __init__(self, net: nn.Module, loss_fn, cfg: Config, opt=None):
        self.net, self.loss_fn, self.cfg = net.to(cfg.device), loss_fn, cfg
        self.opt = opt or torch.optim.SGD(net.parameters(), lr=cfg.lr)
        self.scaler = torch.amp.GradScaler(cfg.device)

    def forward_loss(self, x, y):
        with torch.amp.autocast(self.cfg.device, dtype=torch.float16 if self.cfg.device == "cuda" else torch.bfloat16):
            return self.loss_fn(self.net(x).float(), y)

    def update(self, loss):
        self.opt.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.opt)  # before the clip!
        norm = nn.utils.clip_grad_norm_(self.net.parameters(), self.cfg.max_norm)
        self.scaler.step(self.opt)
        self.scaler.update()
        return norm

    def fit(self, loader):
        for epoch in range(self.cfg.epochs):
            for x, y in loader:
                x, y = x.to(self.cfg.device), y.to(self.cfg.device)
                loss = self.forward_loss(x, y)
                norm = self.update(loss)
            print(f"epoch {epoch}: loss {loss.item():.4f}, norm before clipping {norm:.3f}")


def main():
    torch.manual_seed(0)
    cfg = Config()
    x = torch.randn(512, 16)
    y = x @ torch.randn(16, 3) * 0.5
    net = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 3))
    loader = DataLoader(TensorDataset(x, y), batch_size=cfg.batch_size, shuffle=True)
    Trainer(net, nn.MSELoss(), cfg).fit(loader)


if __name__ == "__main__":
    main()
