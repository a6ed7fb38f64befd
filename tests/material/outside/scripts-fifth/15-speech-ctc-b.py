import os
import random
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Sampler


@dataclass
class Settings:
    utterances: int = int(os.environ.get("UTTS", 2000))
    epochs: int = int(os.environ.get("EPOCHS", 15))
    batch: int = 16
    n_mels: int = 40
    symbols: int = 20
    hidden: int = 192
    layers: int = 3
    lr: float = 5e-4
    clip: float = 5.0
    seed: int = 5


class ToySpeech(Dataset):
    """Every symbol is a fixed spectral pattern that lasts 4 to 9 frames."""

    def __init__(self, n, cfg, seed):
        proto = torch.randn(cfg.symbols, cfg.n_mels, generator=torch.Generator().manual_seed(0))
        rng = random.Random(seed)
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            seq = [rng.randrange(cfg.symbols) for _ in range(rng.randint(3, 14))]
            frames = torch.cat([proto[s].expand(rng.randint(4, 9), -1) for s in seq])
            self.items.append((frames + 0.6 * torch.randn(frames.shape, generator=g), torch.tensor(seq) + 1))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class BucketSampler(Sampler):
    def __init__(self, lengths, batch, shuffle=True):
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        self.batches = [order[i:i + batch] for i in range(0, len(order), batch)]
        self.shuffle = shuffle

    def __iter__(self):
        batches = list(self.batches)
        if self.shuffle:
            random.shuffle(batches)
        return iter(batches)

    def __len__(self):
        return len(self.batches)


def collate(items):
    x = nn.utils.rnn.pad_sequence([a for a, _ in items], batch_first=True)
    y = torch.cat([b for _, b in items])
    return x, torch.tensor([len(a) for a, _ in items]), y, torch.tensor([len(b) for _, b in items])


class Acoustic(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.conv = nn.Conv1d(cfg.n_mels, cfg.hidden, 3, padding=1)
        self.rnn = nn.LSTM(cfg.hidden, cfg.hidden // 2, cfg.layers, batch_first=True, bidirectional=True, dropout=0.1)
        self.out = nn.Linear(cfg.hidden, cfg.symbols + 1)

    def forward(self, x):
        x = F.gelu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        return self.out(self.rnn(x)[0])


def greedy(logits, lengths):
    out = []
    for row, n in zip(logits.argmax(-1), lengths):
        ids = torch.unique_consecutive(row[:n])
        out.append(ids[ids != 0].tolist())
    return out


class Runner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.use_amp = self.device.type == "cuda"
        train, valid = ToySpeech(cfg.utterances, cfg, 1), ToySpeech(100, cfg, 2)
        self.train_dl = DataLoader(train, batch_sampler=BucketSampler([len(a) for a, _ in train.items], cfg.batch),
                                   collate_fn=collate)
        self.valid_dl = DataLoader(valid, cfg.batch, collate_fn=collate)
        self.model = Acoustic(cfg).to(self.device)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr)
        self.ctc = nn.CTCLoss(blank=0, zero_infinity=True)

    def train_step(self, x, xl, y, yl):
        scaler = torch.amp.GradScaler("cuda", enabled=self.use_amp)
        self.opt.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, dtype=torch.float16, enabled=self.use_amp):
            logits = self.model(x.to(self.device))
        logp = logits.float().log_softmax(-1).transpose(0, 1)
        loss = self.ctc(logp, y.to(self.device), xl, yl)
        scaler.scale(loss).backward()
        scaler.unscale_(self.opt)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip)
        scaler.step(self.opt)
        scaler.update()
        return loss.item()

    @torch.no_grad()
    def sequence_accuracy(self):
        self.model.eval()
        ok = n = 0
        for x, xl, y, yl in self.valid_dl:
            hyps = greedy(self.model(x.to(self.device)).cpu(), xl)
            refs = [r.tolist() for r in y.split(yl.tolist())]
            ok += sum(h == r for h, r in zip(hyps, refs))
            n += len(refs)
        return ok / n

    def run(self):
        for epoch in range(self.cfg.epochs):
            self.model.train()
            losses = [self.train_step(*b) for b in self.train_dl]
            print(f"epoch {epoch} ctc {sum(losses) / len(losses):.3f} exact {self.sequence_accuracy():.3f}", flush=True)
        torch.save(self.model.state_dict(), "ctc.pt")


if __name__ == "__main__":
    settings = Settings()
    random.seed(settings.seed)
    torch.manual_seed(settings.seed)
    Runner(settings).run()
