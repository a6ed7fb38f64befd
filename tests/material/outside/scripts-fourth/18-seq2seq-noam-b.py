"""Transformer seq2seq on a toy transduction task (reverse the digits), Noam schedule."""
import argparse
import math
import os

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR
from tqdm import tqdm

PAD, BOS, EOS = 0, 1, 2
VOCAB = 13


def parse():
    p = argparse.ArgumentParser()
    p.add_argument('--d-model', type=int, default=128)
    p.add_argument('--layers', type=int, default=2)
    p.add_argument('--heads', type=int, default=4)
    p.add_argument('--updates', type=int, default=3000)
    p.add_argument('--warmup', type=int, default=400)
    p.add_argument('--micro-batch', type=int, default=32)
    p.add_argument('--update-freq', type=int, default=4)
    p.add_argument('--clip-norm', type=float, default=1.0)
    p.add_argument('--factor', type=float, default=1.0)
    p.add_argument('--smoothing', type=float, default=0.1)
    p.add_argument('--max-len', type=int, default=20)
    p.add_argument('--eval-every', type=int, default=500)
    p.add_argument('--save-dir', default='')
    p.add_argument('--seed', type=int, default=0)
    return p.parse_args()


def make_batch(n, max_len, device):
    src = torch.full((n, max_len), PAD)
    tgt = torch.full((n, max_len + 2), PAD)
    for i in range(n):
        l = int(torch.randint(3, max_len + 1, ()))
        s = torch.randint(3, VOCAB, (l,))
        src[i, :l] = s
        tgt[i, 0], tgt[i, 1:l + 1], tgt[i, l + 1] = BOS, s.flip(0), EOS
    return src.to(device), tgt.to(device)


class Positional(nn.Module):
    def __init__(self, d, n=512):
        super().__init__()
        pos = torch.arange(n).unsqueeze(1)
        div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        pe = torch.zeros(n, d)
        pe[:, 0::2], pe[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)
        self.register_buffer('pe', pe)

    def forward(self, x):
        return x + self.pe[:x.size(1)]


class Seq2Seq(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.scale = math.sqrt(a.d_model)
        self.emb = nn.Embedding(VOCAB, a.d_model, padding_idx=PAD)
        nn.init.normal_(self.emb.weight, std=a.d_model ** -0.5)
        self.pos = Positional(a.d_model)
        self.tr = nn.Transformer(a.d_model, a.heads, a.layers, a.layers, 4 * a.d_model, 0.1, batch_first=True)
        self.out = nn.Linear(a.d_model, VOCAB)

    def forward(self, src, tgt):
        mask = torch.triu(torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool, device=src.device), 1)
        h = self.tr(self.pos(self.emb(src) * self.scale), self.pos(self.emb(tgt) * self.scale), tgt_mask=mask,
                    src_key_padding_mask=src == PAD, memory_key_padding_mask=src == PAD,
                    tgt_key_padding_mask=tgt == PAD)
        return self.out(h)


def noam(args):
    def f(step):
        step = step + 1
        return args.factor * args.d_model ** -0.5 * min(step ** -0.5, step * args.warmup ** -1.5)
    return f


@torch.no_grad()
def exact_match(model, args, device, n=200):
    model.eval()
    src, tgt = make_batch(n, args.max_len, device)
    ys = torch.full((n, 1), BOS, device=device)
    for _ in range(tgt.size(1) - 1):
        ys = torch.cat([ys, model(src, ys)[:, -1].argmax(-1, keepdim=True)], 1)
    ok = torch.ones(n, dtype=torch.bool, device=device)
    valid = tgt != PAD
    ok = ((ys == tgt) | ~valid).all(1)
    model.train()
    return ok.float().mean().item()


def main():
    args = parse()
    torch.manual_seed(args.seed)
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    model = Seq2Seq(args).to(device)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=args.smoothing, reduction='sum')
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    scheduler = LambdaLR(optimizer, noam(args))

    model.train()
    bar = tqdm(range(1, args.updates + 1))
    for update in bar:
        micro = [make_batch(args.micro_batch, args.max_len, device) for _ in range(args.update_freq)]
        # normalise by the number of target tokens of the whole update
        ntok = sum((t[:, 1:] != PAD).sum() for _, t in micro)
        optimizer.zero_grad()
        logged = 0.0
        for src, tgt in micro:
            logits = model(src, tgt[:, :-1])
            loss = criterion(logits.reshape(-1, VOCAB), tgt[:, 1:].reshape(-1)) / ntok
            loss.backward()
            scheduler.step()
            logged += loss.item()
        gnorm = nn.utils.clip_grad_norm_(model.parameters(), args.clip_norm)
        optimizer.step()
        bar.set_postfix(loss=f'{logged:.3f}', gnorm=f'{gnorm:.2f}', lr=f'{scheduler.get_last_lr()[0]:.2e}')

        if update % args.eval_every == 0:
            tqdm.write(f'update {update}: exact match {exact_match(model, args, device):.3f}')
            if args.save_dir:
                os.makedirs(args.save_dir, exist_ok=True)
                torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict(),
                            'scheduler': scheduler.state_dict(), 'update': update},
                           os.path.join(args.save_dir, 'checkpoint_last.pt'))


if __name__ == '__main__':
    main()
