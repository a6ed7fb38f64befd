"""Toy translation with nn.Transformer. Numbers written out in words -> digits."""
import random

import torch
import torch.nn as nn

CFG = dict(d_model=32, nhead=4, layers=1, ff=64, batch=16, accumulate=4, updates=40, warmup=10,
           factor=0.5, smoothing=0.1, seed=11, max_len=12)
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
PAD, BOS, EOS = 0, 1, 2


def build_vocab(tokens):
    itos = ["<pad>", "<s>", "</s>"] + sorted(tokens)
    return itos, {t: i for i, t in enumerate(itos)}


SRC_ITOS, SRC = build_vocab(WORDS)
TGT_ITOS, TGT = build_vocab(list("0123456789"))


def sample_pair():
    digits = [random.randrange(10) for _ in range(random.randint(2, CFG["max_len"] - 2))]
    src = [SRC[WORDS[d]] for d in digits] + [EOS]
    tgt = [BOS] + [TGT[str(d)] for d in reversed(digits)] + [EOS]
    return torch.tensor(src), torch.tensor(tgt)


def make_batch(size):
    pairs = [sample_pair() for _ in range(size)]
    pad = nn.utils.rnn.pad_sequence
    return (pad([p[0] for p in pairs], batch_first=True, padding_value=PAD),
            pad([p[1] for p in pairs], batch_first=True, padding_value=PAD))


class Translator(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        d = cfg["d_model"]
        self.src_emb = nn.Embedding(len(SRC_ITOS), d, padding_idx=PAD)
        self.tgt_emb = nn.Embedding(len(TGT_ITOS), d, padding_idx=PAD)
        self.pos = nn.Parameter(torch.randn(32, d) * 0.1)
        self.core = nn.Transformer(d, cfg["nhead"], cfg["layers"], cfg["layers"], cfg["ff"], 0.0, batch_first=True)
        self.out = nn.Linear(d, len(TGT_ITOS))

    def forward(self, src, tgt):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(1)).to(src.device)
        h = self.core(self.src_emb(src) + self.pos[:src.size(1)], self.tgt_emb(tgt) + self.pos[:tgt.size(1)],
                      tgt_mask=mask, src_key_padding_mask=(src == PAD).float().masked_fill(src == PAD, -1e9),
                      tgt_key_padding_mask=(tgt == PAD).float().masked_fill(tgt == PAD, -1e9),
                      memory_key_padding_mask=(src == PAD).float().masked_fill(src == PAD, -1e9))
        return self.out(h)


def noam(step, d_model, warmup, factor):
    step = max(step, 1)
    return factor * d_model ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)


def run_epoch(model, criterion, optimizer, scheduler, cfg):
    device = next(model.parameters()).device
    model.train()
    micro, update, running = 0, 0, 0.0
    while update < cfg["updates"]:
        src, tgt = (t.to(device) for t in make_batch(cfg["batch"]))
        logits = model(src, tgt[:, :-1])
        loss = criterion(logits.flatten(0, 1), tgt[:, 1:].flatten())
        (loss / cfg["accumulate"]).backward()
        running += loss.item()
        micro += 1
        if micro % cfg["accumulate"] == 0:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            update += 1
            if update % 10 == 0:
                print(f"update {update:4d} | loss {running / (10 * cfg['accumulate']):.3f} | "
                      f"lr {scheduler.get_last_lr()[0]:.2e}")
                running = 0.0
        scheduler.step()


@torch.no_grad()
def greedy(model, src):
    model.eval()
    ys = torch.full((src.size(0), 1), BOS)
    for _ in range(CFG["max_len"]):
        ys = torch.cat([ys, model(src, ys)[:, -1].argmax(-1, keepdim=True)], 1)
    return ys


def main():
    random.seed(CFG["seed"])
    torch.manual_seed(CFG["seed"])
    model = Translator(CFG)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=CFG["smoothing"])
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: noam(s, CFG["d_model"], CFG["warmup"], CFG["factor"]))
    run_epoch(model, criterion, optimizer, scheduler, CFG)
    src, tgt = make_batch(2)
    for row, ref in zip(greedy(model, src), tgt):
        print("hyp", " ".join(TGT_ITOS[t] for t in row.tolist()), "| ref", " ".join(TGT_ITOS[t] for t in ref.tolist()))


if __name__ == "__main__":
    main()
