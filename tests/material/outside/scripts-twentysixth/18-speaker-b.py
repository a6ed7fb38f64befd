"""Speaker identification from stored filter bank frames, half precision.

data/speakers.npz: frames (n, 20, 16) float32, speaker (n,) int64
The encoder and the classifier have optimizers of their own."""
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

hp = dict(
    path="data/speakers.npz",
    epochs=8,
    batch=16,
    enc_lr=2e-3,
    head_lr=5e-2,
    max_norm=2.0,
    init_scale=2.0 ** 10,
    growth_interval=10,
    seed=12,
)


class Encoder(nn.Module):
    def __init__(self, bands, hidden=64, out=32):
        super().__init__()
        self.frame = nn.Sequential(nn.Linear(bands, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.embed = nn.Linear(2 * hidden, out)

    def forward(self, x):
        h = self.frame(x)
        return self.embed(torch.cat([h.mean(1), h.amax(1)], 1))


class SpeakerTrainer:
    def __init__(self, bands, n_speakers, device):
        self.device = device
        self.encoder = Encoder(bands).to(device)
        self.head = nn.Linear(32, n_speakers).to(device)
        self.opt_enc = torch.optim.AdamW(self.encoder.parameters(), lr=hp["enc_lr"], weight_decay=1e-2)
        self.opt_head = torch.optim.SGD(self.head.parameters(), lr=hp["head_lr"], momentum=0.9)
        self.scaler = torch.amp.GradScaler(
            device, init_scale=hp["init_scale"], growth_interval=hp["growth_interval"]
        )

    def step(self, x, y):
        self.opt_enc.zero_grad(set_to_none=True)
        self.opt_head.zero_grad(set_to_none=True)
        with torch.autocast(self.device, dtype=torch.float16):
            logits = self.head(self.encoder(x))
        loss = F.cross_entropy(logits.float(), y)
        self.scaler.scale(loss).backward()

        self.scaler.unscale_(self.opt_enc)
        nn.utils.clip_grad_norm_(self.encoder.parameters(), hp["max_norm"])
        self.scaler.step(self.opt_enc)

        self.scaler.unscale_(self.opt_head)
        nn.utils.clip_grad_norm_(self.head.parameters(), hp["max_norm"])
        self.scaler.step(self.opt_head)
        self.scaler.update()
        return loss.item()

    def fit(self, x, y, xv, yv):
        for epoch in range(hp["epochs"]):
            self.encoder.train()
            losses = []
            for idx in torch.randperm(len(x)).split(hp["batch"]):
                losses.append(self.step(x[idx].to(self.device), y[idx].to(self.device)))
            acc = self.score(xv, yv)
            print(f"epoch {epoch} loss {np.mean(losses):.4f} acc {acc:.3f} scale {self.scaler.get_scale():.0f}")

    @torch.no_grad()
    def score(self, x, y):
        self.encoder.eval()
        pred = self.head(self.encoder(x.to(self.device))).argmax(1).cpu()
        return (pred == y).float().mean().item()


def load(path):
    with np.load(path) as z:
        x, y = torch.from_numpy(z["frames"]), torch.from_numpy(z["speaker"])
    order = torch.randperm(len(x))
    cut = int(0.8 * len(x))
    x = (x - x[order[:cut]].mean((0, 1))) / x[order[:cut]].std((0, 1))
    return x[order[:cut]], y[order[:cut]], x[order[cut:]], y[order[cut:]]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        hp["path"] = sys.argv[1]
    torch.manual_seed(hp["seed"])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x, y, xv, yv = load(hp["path"])
    trainer = SpeakerTrainer(x.shape[2], int(y.max()) + 1, device)
    trainer.fit(x, y, xv, yv)
    torch.save({"encoder": trainer.encoder.state_dict(), "head": trainer.head.state_dict()}, "speaker.pt")
