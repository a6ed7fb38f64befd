"""Seq2seq transformer on jsonl pairs: {"src": "...", "tgt": "..."} per line (whitespace tokens)."""
import argparse
import json
import logging
import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, EOS, UNK = 0, 1, 2, 3
log = logging.getLogger("seq2seq")


def read_jsonl(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


class Vocab:
    def __init__(self, texts):
        words = sorted({w for t in texts for w in t.split()})
        self.itos = ["<pad>", "<s>", "</s>", "<unk>"] + words
        self.stoi = {w: i for i, w in enumerate(self.itos)}

    def __len__(self):
        return len(self.itos)

    def encode(self, text):
        return [self.stoi.get(w, UNK) for w in text.split()] + [EOS]


def pad(seqs):
    out = torch.full((len(seqs), max(map(len, seqs))), PAD)
    for i, s in enumerate(seqs):
        out[i, :len(s)] = torch.tensor(s)
    return out


class Seq2Seq(nn.Module):
    def __init__(self, n_src, n_tgt, d=64, heads=4, layers=2, max_len=128):
        super().__init__()
        self.src_emb = nn.Embedding(n_src, d, padding_idx=PAD)
        self.tgt_emb = nn.Embedding(n_tgt, d, padding_idx=PAD)
        self.pos = nn.Embedding(max_len, d)
        self.core = nn.Transformer(d, heads, layers, layers, 4 * d, dropout=0.0, batch_first=True, norm_first=True)
        self.out = nn.Linear(d, n_tgt)

    def forward(self, src, tgt_in):
        pos = lambda t: self.pos(torch.arange(t.shape[1], device=t.device))
        causal = torch.ones(tgt_in.shape[1], tgt_in.shape[1], dtype=torch.bool, device=src.device).triu(1)
        h = self.core(self.src_emb(src) + pos(src), self.tgt_emb(tgt_in) + pos(tgt_in), tgt_mask=causal,
                      src_key_padding_mask=src == PAD, memory_key_padding_mask=src == PAD,
                      tgt_key_padding_mask=tgt_in == PAD)
        return self.out(h)


class Trainer:
    def __init__(self, args):
        self.args = args
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        train, valid = read_jsonl(args.train_file), read_jsonl(args.valid_file)
        self.sv, self.tv = Vocab(r["src"] for r in train), Vocab(r["tgt"] for r in train)
        self.train_data, self.valid_data = self.encode(train), self.encode(valid)
        self.model = Seq2Seq(len(self.sv), len(self.tv)).to(self.device)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=args.lr, betas=(0.9, 0.98), weight_decay=0.01)
        self.sched = torch.optim.lr_scheduler.LambdaLR(
            self.opt, lambda u: min((u + 1) / args.warmup, math.sqrt(args.warmup / (u + 1))))
        self.updates, self.epoch = 0, 0
        self.ckpt = os.path.join(args.save_dir, "checkpoint_last.pt")
        os.makedirs(args.save_dir, exist_ok=True)
        if args.resume and os.path.exists(self.ckpt):
            state = torch.load(self.ckpt, map_location=self.device)
            self.model.load_state_dict(state["model"])
            self.opt.load_state_dict(state["opt"])
            self.sched.load_state_dict(state["sched"])
            self.updates, self.epoch = state["updates"], state["epoch"]

    def encode(self, rows):
        return [(self.sv.encode(r["src"]), self.tv.encode(r["tgt"])) for r in rows]

    def batches(self, data, shuffle):
        order = torch.randperm(len(data)).tolist() if shuffle else range(len(data))
        order = list(order)
        for i in range(0, len(order), self.args.batch_size):
            chunk = [data[j] for j in order[i:i + self.args.batch_size]]
            src = pad([s for s, _ in chunk]).to(self.device)
            tgt = pad([[BOS] + t for _, t in chunk]).to(self.device)
            yield src, tgt[:, :-1], tgt[:, 1:]

    def grouped(self):
        group = []
        for batch in self.batches(self.train_data, shuffle=True):
            group.append(batch)
            if len(group) == self.args.update_freq:
                yield group
                group = []
        if group:
            yield group

    def loss_sum(self, src, tgt_in, tgt_out):
        logits = self.model(src, tgt_in)
        return F.cross_entropy(logits.reshape(-1, logits.size(-1)), tgt_out.reshape(-1),
                               ignore_index=PAD, reduction="sum")

    def train_step(self, group):
        self.model.train()
        self.opt.zero_grad()
        total = 0.0
        n_tokens = sum((tgt_out != PAD).sum() for _, _, tgt_out in group)
        for src, tgt_in, tgt_out in group:
            loss = self.loss_sum(src, tgt_in, tgt_out) / n_tokens
            loss.backward()
            total += loss.item()
        gnorm = nn.utils.clip_grad_norm_(self.model.parameters(), self.args.clip_norm)
        self.opt.step()
        self.sched.step()
        self.updates += 1
        return total, gnorm.item()

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        loss = tokens = 0
        for src, tgt_in, tgt_out in self.batches(self.valid_data, shuffle=False):
            loss += self.loss_sum(src, tgt_in, tgt_out).item()
            tokens += (tgt_out != PAD).sum().item()
        return loss / tokens

    def train(self):
        while self.epoch < self.args.max_epoch:
            for group in self.grouped():
                loss, gnorm = self.train_step(group)
                if self.updates % self.args.log_interval == 0:
                    log.info("update %d loss %.3f gnorm %.2f lr %.2e", self.updates, loss, gnorm,
                             self.sched.get_last_lr()[0])
            self.epoch += 1
            nll = self.evaluate()
            log.info("epoch %d valid nll %.3f ppl %.2f", self.epoch, nll, math.exp(nll))
            torch.save({"model": self.model.state_dict(), "opt": self.opt.state_dict(),
                        "sched": self.sched.state_dict(), "updates": self.updates, "epoch": self.epoch,
                        "src_vocab": self.sv.itos, "tgt_vocab": self.tv.itos}, self.ckpt)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train-file", required=True)
    ap.add_argument("--valid-file", required=True)
    ap.add_argument("--save-dir", default="checkpoints")
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--update-freq", type=int, default=4)
    ap.add_argument("--max-epoch", type=int, default=3)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--warmup", type=int, default=20)
    ap.add_argument("--clip-norm", type=float, default=1.0)
    ap.add_argument("--log-interval", type=int, default=10)
    ap.add_argument("--resume", action="store_true")
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(message)s")
    torch.manual_seed(args.seed)
    Trainer(args).train()


if __name__ == "__main__":
    main()
