import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader
from dataclasses import dataclass

@dataclass
class Config:
    lr: float = 1e-3
    accum: int = 4
    max_norm: float = 1.0
    epochs: int = 2

class ToyDataset(Dataset):
    def __init__(self, size=400):
        g = torch.Generator().manual_seed(0)
        self.x = torch.randn(size, 32, generator=g)
        w = torch.randn(32, 1, generator=g)
        self.y = self.x @ w
    def __len__(self): return self.x.size(0)
    def __getitem__(self, i): return self.x[i], self.y[i]

class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)).to(self.device)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr)
        self.scaler = torch.amp.GradScaler("cuda")
        self.loader = DataLoader(ToyDataset(), batch_size=20, shuffle=True)
        self.loss_fn = nn.MSELoss()

    def fit(self):
        for epoch in range(self.cfg.epochs):
            self.opt.zero_grad(set_to_none=True)
            n = len(self.loader)
            for i, (x, y) in enumerate(self.loader):
                x, y = x.to(self.device), y.to(self.device)
                start = (i // self.cfg.accum) * self.cfg.accum
                window = min(self.cfg.accum, n - start)
                with torch.autocast(device_type=self.device.type, dtype=torch.float16):
                    loss = self.loss_fn(self.model(x), y) / window
                self.scaler.scale(loss).backward()
                if (i + 1) % self.cfg.accum == 0 or i + 1 == n:
                    pass
                    nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.max_norm)
                    self.scaler.step(self.opt)
                    self.scaler.update()
                    self.opt.zero_grad(set_to_none=True)

if __name__ == "__main__":
    Trainer(Config()).fit()
