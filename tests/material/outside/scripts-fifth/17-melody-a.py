import argparse
import logging
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

logger = logging.getLogger("melody")


class MelodyTransformer(nn.Module):
    def __init__(self, vocab, dim, heads, layers, length):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.register_buffer("pe", self._sinusoid(length, dim))
        enc = nn.TransformerEncoderLayer(dim, heads, 4 * dim, 0.1, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(enc, layers, enable_nested_tensor=False)
        self.out = nn.Linear(dim, vocab)

    @staticmethod
    def _sinusoid(n, d):
        pos = torch.arange(n).unsqueeze(1)
        div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        pe = torch.zeros(n, d)
        pe[:, 0::2], pe[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)
        return pe

    def forward(self, x):
        n = x.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(n, device=x.device)
        return self.out(self.body(self.emb(x) + self.pe[:n], mask=mask, is_causal=True))


def melodies(n, length, vocab, generator):
    """Random walks on a scale with motifs that return."""
    steps = torch.randint(-2, 3, (n, length // 2), generator=generator)
    walk = steps.cumsum(1)
    start = torch.randint(0, vocab, (n, 1), generator=generator)
    return ((torch.cat([walk, walk], 1) + start) % vocab)[:, :length]


def recordings(n, size, length, vocab, generator, broken=0.04):
    """Sessions of `size` melodies; a few sessions are broken (an instrument stuck on two notes)."""
    x = melodies(n * size, length, vocab, generator).view(n, size, length)
    for i in (torch.rand(n, generator=generator) < broken).nonzero().flatten().tolist():
        x[i] = torch.randint(0, 2, (size, length), generator=generator)
    return x


def fit(args):
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    amp = torch.autocast(device.type, dtype=torch.bfloat16, enabled=args.bf16)
    gen = torch.Generator().manual_seed(args.seed)
    train = recordings(args.samples // args.batch_size, args.batch_size, args.length, args.vocab, gen)
    valid = melodies(256, args.length, args.vocab, gen)
    model = MelodyTransformer(args.vocab, args.dim, args.heads, args.layers, args.length).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.98))
    updates = args.epochs * len(train)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=updates, pct_start=0.1)
    skipped = step = 0
    typical = None

    for epoch in range(args.epochs):
        model.train()
        order = torch.randperm(len(train), generator=gen)
        losses = []
        for session in order.tolist():
            x = train[session].to(device)
            with amp:
                logits = model(x[:, :-1])
            loss = F.cross_entropy(logits.float().flatten(0, 1), x[:, 1:].flatten())
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            step += 1
            bad = not torch.isfinite(norm) or (typical is not None and norm > args.spike * typical)
            if torch.isfinite(norm):
                typical = norm if typical is None else 0.95 * typical + 0.05 * norm
            if bad:
                skipped += 1
                logger.debug("step %d: gradient norm %.3f, update skipped", step, norm.item())
                opt.zero_grad()
                continue
            opt.step()
            sched.step()
            opt.zero_grad()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad(), amp:
            v = valid.to(device)
            vl = F.cross_entropy(model(v[:, :-1]).float().flatten(0, 1), v[:, 1:].flatten()).item()
        logger.info("epoch %d train %.4f valid %.4f skipped %d", epoch, sum(losses) / max(1, len(losses)), vl, skipped)
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict()}, args.ckpt)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    p = argparse.ArgumentParser()
    for name, default in dict(samples=8000, length=64, vocab=48, dim=192, heads=6, layers=4, batch_size=64, epochs=10,
                              lr=1e-3, clip=1.0, spike=1.5, seed=0).items():
        p.add_argument("--" + name.replace("_", "-"), type=type(default), default=default)
    p.add_argument("--bf16", action="store_true")
    p.add_argument("--ckpt", default="melody.pt")
    fit(p.parse_args())
