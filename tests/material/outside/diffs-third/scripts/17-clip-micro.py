"""keypoint MLP trainer"""
import logging
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

log = logging.getLogger(__name__)


class Trainer:
    def __init__(self, model, lr=1e-3, accum=4, clip=1.0):
        self.model, self.accum, self.clip = model, accum, clip
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.crit = nn.SmoothL1Loss()

    def fit(self, loader, epochs):
        for ep in range(epochs):
            self.model.train()
            for i, (x, y) in enumerate(loader):
                loss = self.crit(self.model(x), y) / self.accum
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
                if (i + 1) % self.accum == 0:
                    self.opt.step()
                    self.opt.zero_grad()
            log.info('epoch %d loss %.4f', ep, loss.item() * self.accum)


if __name__ == '__main__':
    logging.basicConfig(level=logging.INFO)
    torch.manual_seed(0)
    x = torch.randn(640, 34)
    y = x @ torch.randn(34, 6) * 0.1
    Trainer(nn.Sequential(nn.Linear(34, 128), nn.ReLU(), nn.Linear(128, 6))).fit(
        DataLoader(TensorDataset(x, y), 16, shuffle=True), 3)
