"""Keyword spotting from wav files:  <root>/<word>/<utterance>.wav  (16 bit, mono)."""
import sys
import wave
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SETTINGS = {
    "root": "data/keywords",
    "rate": 8000,
    "seconds": 1.0,
    "batch_size": 16,
    "epochs": 6,
    "lr": 2e-2,
    "momentum": 0.9,
    "max_norm": 0.5,
    "warmup_updates": 10,
    "seed": 7,
}


class WavFolder(Dataset):
    def __init__(self, root, rate, seconds):
        self.words = sorted(d.name for d in Path(root).iterdir() if d.is_dir())
        self.files = [(f, i) for i, w in enumerate(self.words) for f in sorted((Path(root) / w).glob("*.wav"))]
        self.n = int(rate * seconds)

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        path, label = self.files[i]
        with wave.open(str(path), "rb") as w:
            pcm = np.frombuffer(w.readframes(w.getnframes()), dtype=np.int16)
        x = np.zeros(self.n, dtype=np.float32)
        m = min(self.n, len(pcm))
        x[:m] = pcm[:m] / 32768.0
        return torch.from_numpy(x), label


class Frontend(nn.Module):
    """Fixed filter bank; the filters are parameters so that they travel with the checkpoint."""

    def __init__(self, n_fft=256, hop=128, bands=32):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))
        centre = torch.linspace(0, n_fft // 2, bands)[:, None]
        bins = torch.arange(n_fft // 2 + 1)[None]
        self.bank = nn.Parameter((1 - (bins - centre).abs() / 6.0).clamp(min=0), requires_grad=False)

    def forward(self, wav):
        spec = torch.stft(wav, self.n_fft, self.hop, window=self.window, return_complex=True).abs()
        return torch.log(self.bank @ spec + 1e-3)


class KeywordNet(nn.Module):
    def __init__(self, n_words, bands=32, width=48):
        super().__init__()
        self.frontend = Frontend(bands=bands)
        self.conv = nn.Sequential(
            nn.Conv1d(bands, width, 5, padding=2), nn.ReLU(),
            nn.Conv1d(width, width, 5, padding=2, stride=2), nn.ReLU(),
        )
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, n_words)

    def forward(self, wav):
        h = self.conv(self.frontend(wav)).transpose(1, 2)
        h, _ = self.rnn(h)
        return self.out(h.mean(1))


class Trainer:
    def __init__(self, model, settings):
        self.model = model
        self.s = settings
        self.params = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.SGD(self.params, lr=settings["lr"], momentum=settings["momentum"], nesterov=True)
        self.scheduler = torch.optim.lr_scheduler.LinearLR(
            self.optimizer, start_factor=0.1, total_iters=settings["warmup_updates"]
        )
        self.loss_fn = nn.CrossEntropyLoss()
        self.updates = 0

    def training_step(self, wav, label):
        self.optimizer.zero_grad()
        loss = self.loss_fn(self.model(wav), label)
        loss.backward()
        nn.utils.clip_grad_norm_(self.params, self.s["max_norm"])
        self.optimizer.step()
        self.scheduler.step()
        self.updates += 1
        return loss.item()

    def fit(self, train, val):
        for epoch in range(self.s["epochs"]):
            self.model.train()
            losses = [self.training_step(w, y) for w, y in train]
            acc = self.validate(val)
            print(f"[{epoch}] loss={np.mean(losses):.4f} acc={acc:.3f} updates={self.updates}")

    @torch.no_grad()
    def validate(self, loader):
        self.model.eval()
        right = sum((self.model(w).argmax(1) == y).sum().item() for w, y in loader)
        return right / max(1, len(loader.dataset))


def main():
    s = dict(SETTINGS)
    if len(sys.argv) > 1:
        s["root"] = sys.argv[1]
    torch.manual_seed(s["seed"])
    ds = WavFolder(s["root"], s["rate"], s["seconds"])
    n_val = len(ds) // 5
    tr, va = torch.utils.data.random_split(ds, [len(ds) - n_val, n_val])
    model = KeywordNet(len(ds.words))
    trainer = Trainer(model, s)
    trainer.fit(DataLoader(tr, s["batch_size"], shuffle=True), DataLoader(va, 64))
    torch.save(model.state_dict(), "keywords.pt")


if __name__ == "__main__":
    main()
