import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader

PAD, BOS, EOS = 0, 1, 2


class Vocab:
    def __init__(self, sentences):
        words = sorted({w for s in sentences for w in s})
        self.index = {w: i + 3 for i, w in enumerate(words)}

    def __len__(self):
        return len(self.index) + 3

    def encode(self, words):
        return torch.tensor([BOS] + [self.index[w] for w in words] + [EOS])


def load_pairs(path):
    with open(path, encoding="utf-8") as f:
        return [tuple(side.split() for side in line.rstrip("\n").split("\t")) for line in f]


class Translator(nn.Module):
    def __init__(self, src_vocab, tgt_vocab, cfg, max_len=256):
        super().__init__()
        d = cfg["d_model"]
        self.src = nn.Embedding(src_vocab, d, padding_idx=PAD)
        self.tgt = nn.Embedding(tgt_vocab, d, padding_idx=PAD)
        pos = torch.arange(max_len)[:, None]
        div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        pe = torch.zeros(max_len, d)
        pe[:, 0::2], pe[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)
        self.register_buffer("pe", pe)
        self.scale = math.sqrt(d)
        self.core = nn.Transformer(
            d, cfg["heads"], cfg["layers"], cfg["layers"], 4 * d, cfg["dropout"], batch_first=True
        )
        self.out = nn.Linear(d, tgt_vocab)

    def forward(self, src, tgt):
        causal = torch.ones(tgt.size(1), tgt.size(1), device=tgt.device).triu(1).bool()
        h = self.core(
            self.src(src) * self.scale + self.pe[: src.size(1)],
            self.tgt(tgt) * self.scale + self.pe[: tgt.size(1)],
            tgt_mask=causal,
            src_key_padding_mask=src == PAD,
            tgt_key_padding_mask=tgt == PAD,
            memory_key_padding_mask=src == PAD,
        )
        return self.out(h)


def main():
    cfg = yaml.safe_load(open(sys.argv[1] if len(sys.argv) > 1 else "translate.yaml"))
    set_seed(13)
    accelerator = Accelerator(gradient_accumulation_steps=cfg["accumulation"])

    pairs = load_pairs(cfg["data"])
    n_val = max(1, len(pairs) // 10)
    src_vocab, tgt_vocab = Vocab([p[0] for p in pairs]), Vocab([p[1] for p in pairs])

    def collate(batch):
        src = [src_vocab.encode(s) for s, _ in batch]
        tgt = [tgt_vocab.encode(t) for _, t in batch]
        pad = lambda seqs: nn.utils.rnn.pad_sequence(seqs, batch_first=True, padding_value=PAD)
        return pad(src), pad(tgt)

    train_dl = DataLoader(pairs[n_val:], cfg["batch_size"], shuffle=True, collate_fn=collate)
    val_dl = DataLoader(pairs[:n_val], cfg["batch_size"], collate_fn=collate)

    model = Translator(len(src_vocab), len(tgt_vocab), cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], betas=(0.9, 0.98))
    warmup = cfg["warmup"] * accelerator.num_processes
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / warmup, math.sqrt(warmup / (s + 1)))
    )
    model, optimizer, scheduler, train_dl, val_dl = accelerator.prepare(
        model, optimizer, scheduler, train_dl, val_dl
    )

    for epoch in range(cfg["epochs"]):
        model.train()
        for src, tgt in train_dl:
            with accelerator.accumulate(model):
                logits = model(src, tgt[:, :-1])
                loss = F.cross_entropy(
                    logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD, label_smoothing=0.1
                )
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), cfg["clip"])
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()

        model.eval()
        nll = torch.zeros((), device=accelerator.device)
        count = torch.zeros((), device=accelerator.device)
        for src, tgt in val_dl:
            with torch.no_grad():
                logits = model(src, tgt[:, :-1])
            nll += F.cross_entropy(
                logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD, reduction="sum"
            )
            count += (tgt[:, 1:] != PAD).sum()
        nll, count = accelerator.reduce(nll), accelerator.reduce(count)
        accelerator.print(f"epoch {epoch} val ppl {math.exp(nll.item() / count.item()):.2f}")
        accelerator.save_state(cfg["out"])


if __name__ == "__main__":
    main()
