from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    pretrain_epochs: int = 1
    epochs: int = 9
    unfreeze_at: int = 3
    head_lr: float = 1e-2
    encoder_lr: float = 3e-3
    batch_size: int = 30
    seed: int = 11


class ToneDataset(Dataset):
    def __init__(self, path, lo, hi):
        z = np.load(path)
        self.wav = z["wav"][lo:hi].astype(np.float32) / 8000.0
        self.label = z["label"][lo:hi]

    def __len__(self):
        return len(self.wav)

    def __getitem__(self, i):
        return torch.from_numpy(self.wav[i]).unsqueeze(0), int(self.label[i])


class Encoder(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 12, 25, stride=4), nn.GELU(), nn.Conv1d(12, dim, 9, stride=4), nn.GELU())
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return self.norm(self.conv(x).transpose(1, 2))


def pretrain(encoder, loader, cfg):
    """autoencode the mean absolute envelope so that the encoder has something to start from"""
    dec = nn.Linear(24, 1)
    opt = torch.optim.AdamW([*encoder.parameters(), *dec.parameters()], lr=1e-3)
    for _ in range(cfg.pretrain_epochs):
        for x, _ in loader:
            target = x.abs().mean((1, 2)).unsqueeze(1)
            loss = (dec(encoder(x).mean(1)) - target).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)


def main(cfg=Config()):
    torch.manual_seed(cfg.seed)
    train = DataLoader(ToneDataset("data/tones.npz", 0, 180), cfg.batch_size, shuffle=True)
    test = DataLoader(ToneDataset("data/tones.npz", 180, 240), 60)
    encoder, head = Encoder(), nn.Linear(24, 3)
    pretrain(encoder, train, cfg)

    model = nn.ModuleDict({"encoder": encoder, "head": head})
    set_trainable(encoder, False)
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=cfg.head_lr)

    for epoch in range(cfg.epochs):
        if epoch == cfg.unfreeze_at:
            set_trainable(encoder, True)
            optimizer.add_param_group({"params": list(encoder.parameters()), "lr": cfg.encoder_lr})
            print("encoder unfrozen")
        model.train()
        for x, y in train:
            logits = head(encoder(x).mean(1))
            loss = nn.functional.cross_entropy(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        hit = n = 0
        with torch.no_grad():
            for x, y in test:
                hit += (head(encoder(x).mean(1)).argmax(1) == y).sum().item()
                n += len(y)
        print(f"{epoch=} loss={loss.item():.3f} acc={hit / n:.3f}")


if __name__ == "__main__":
    main()
