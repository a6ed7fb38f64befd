import json
import os
import random
from collections import Counter

import torch
import torch.nn as nn
import torch.nn.functional as F

BASE = os.path.dirname(os.path.abspath(__file__))


class Config:
    d_model = 32
    n_layers = 2
    pre_epochs = 2
    head_epochs = 2
    full_epochs = 3
    batch = 25
    head_lr = 5e-3
    body_lr = 1e-3
    max_len = 18


class Encoder(nn.Module):
    def __init__(self, vocab, cfg):
        super().__init__()
        self.tok = nn.Embedding(vocab, cfg.d_model, padding_idx=0)
        self.pos = nn.Parameter(0.02 * torch.randn(cfg.max_len, cfg.d_model))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(cfg.d_model, 2, 64, dropout=0.1, batch_first=True) for _ in range(cfg.n_layers))

    def forward(self, ids):
        mask = ids == 0
        h = self.tok(ids) + self.pos[: ids.shape[1]]
        for layer in self.layers:
            h = layer(h, src_key_padding_mask=mask)
        return h, mask


class Classifier(nn.Module):
    def __init__(self, encoder, cfg):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(cfg.d_model, 2)

    def forward(self, ids):
        h, mask = self.encoder(ids)
        keep = (~mask).unsqueeze(-1).float()
        return self.head((h * keep).sum(1) / keep.sum(1))


def load_reviews():
    with open(os.path.join(BASE, "data", "reviews.jsonl")) as fh:
        rows = [json.loads(l) for l in fh]
    vocab = {w: i + 2 for i, (w, _) in enumerate(Counter(w for r in rows for w in r["text"].split()).most_common())}
    L = Config.max_len
    ids = torch.zeros(len(rows), L, dtype=torch.long)
    for i, r in enumerate(rows):
        t = [vocab[w] for w in r["text"].split()][:L]
        ids[i, : len(t)] = torch.tensor(t)
    return ids, torch.tensor([r["stars"] for r in rows]), len(vocab) + 2


def pretrain(encoder, ids, cfg, vocab):
    """masked words, id 1 is [MASK]"""
    lm = nn.Linear(cfg.d_model, vocab)
    opt = torch.optim.AdamW([*encoder.parameters(), *lm.parameters()], lr=3e-3)
    encoder.train()
    for _ in range(cfg.pre_epochs):
        for idx in torch.randperm(len(ids)).split(cfg.batch):
            x = ids[idx]
            m = (torch.rand(x.shape) < 0.25) & (x != 0)
            h, _ = encoder(x.masked_fill(m, 1))
            loss = F.cross_entropy(lm(h[m]), x[m])
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(f"pretraining done, last mlm loss {loss.item():.3f}")


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)


def run_epoch(model, opt, ids, y, cfg):
    model.train()
    for idx in torch.randperm(len(ids)).split(cfg.batch):
        opt.zero_grad()
        loss = F.cross_entropy(model(ids[idx]), y[idx])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()


def accuracy(model, ids, y):
    model.eval()
    with torch.no_grad():
        return (model(ids).argmax(-1) == y).float().mean().item()


def main():
    cfg = Config()
    random.seed(3)
    torch.set_num_threads(1)
    torch.manual_seed(3)
    ids, y, vocab = load_reviews()
    tr, te = slice(0, 300), slice(300, None)
    enc = Encoder(vocab, cfg)
    pretrain(enc, ids[tr], cfg, vocab)
    model = Classifier(enc, cfg)

    # stage 1: head only
    set_trainable(model.encoder, False)
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=cfg.head_lr)
    for ep in range(cfg.head_epochs):
        run_epoch(model, opt, ids[tr], y[tr], cfg)
        print(f"head {ep}: acc {accuracy(model, ids[te], y[te]):.3f}")

    # stage 2: everything, the encoder at a lower rate
    set_trainable(model.encoder, True)
    opt.param_groups[0]["lr"] = cfg.body_lr
    for ep in range(cfg.full_epochs):
        run_epoch(model, opt, ids[tr], y[tr], cfg)
        print(f"full {ep}: acc {accuracy(model, ids[te], y[te]):.3f}")


if __name__ == "__main__":
    main()
