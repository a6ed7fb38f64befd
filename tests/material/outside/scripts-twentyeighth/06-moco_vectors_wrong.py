"""Momentum contrast (MoCo style) on generated cluster data, with a linear probe at the end."""
import copy
import math
import sys
from argparse import ArgumentParser

import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class TwoViews(Dataset):
    def __init__(self, n=1024, dim=24, n_clusters=6, seed=0):
        g = torch.Generator().manual_seed(seed)
        centers = torch.randn(n_clusters, dim, generator=torch.Generator().manual_seed(99))
        self.y = torch.randint(0, n_clusters, (n,), generator=g)
        self.x = centers[self.y] + 0.5 * torch.randn(n, dim, generator=g)

    def __len__(self):
        return len(self.x)

    def augment(self, x):
        mask = (torch.rand_like(x) > 0.15).float()
        return x * mask + 0.2 * torch.randn_like(x)

    def __getitem__(self, i):
        x = self.x[i]
        return self.augment(x), self.augment(x)


def mlp_encoder(dim=24, hidden=64, out=32):
    return nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, out))


class MoCo(nn.Module):
    def __init__(self, make_encoder, dim=32, queue_size=256, momentum=0.99, temperature=0.2):
        super().__init__()
        self.m, self.t, self.size = momentum, temperature, queue_size
        self.encoder_q = make_encoder()
        self.encoder_k = copy.deepcopy(self.encoder_q)
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(queue_size, dim), dim=1))
        self.register_buffer("ptr", torch.zeros((), dtype=torch.long))

    @torch.no_grad()
    def update_key_encoder(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data.mul_(self.m).add_(q.data, alpha=1 - self.m)

    @torch.no_grad()
    def enqueue(self, keys):
        p = int(self.ptr)
        self.queue[p:p + len(keys)] = keys
        self.ptr.fill_((p + len(keys)) % self.size)

    def forward(self, xq, xk):
        q = F.normalize(self.encoder_q(xq), dim=1)
        with torch.no_grad():
            k = F.normalize(self.encoder_k(xk), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue.clone().t()
        logits = torch.cat([pos, neg], 1) / self.t
        loss = F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long, device=q.device))
        return loss, k


def cosine_lr(base, step, total, warmup):
    if step < warmup:
        return base * (step + 1) / warmup
    return base * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


def linear_probe(encoder, train_set, test_set, device, steps=100):
    encoder.eval()
    with torch.no_grad():
        xtr, xte = encoder(train_set.x.to(device)), encoder(test_set.x.to(device))
    probe = nn.Linear(xtr.size(1), 6).to(device)
    opt = torch.optim.Adam(probe.parameters(), lr=0.05)
    for _ in range(steps):
        opt.zero_grad()
        F.cross_entropy(probe(xtr), train_set.y.to(device)).backward()
        opt.step()
    return (probe(xte).argmax(1) == test_set.y.to(device)).float().mean().item()


def main(argv):
    ap = ArgumentParser()
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--accumulate", type=int, default=2)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--momentum", type=float, default=0.95, help="of the key encoder, per optimizer update")
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--save", default="moco.pt")
    args = ap.parse_args(argv)

    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train_set, test_set = TwoViews(seed=0), TwoViews(n=300, seed=1)
    loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True)
    model = MoCo(mlp_encoder, momentum=args.momentum).to(device)
    optimizer = torch.optim.SGD(model.encoder_q.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)

    assert len(loader) % args.accumulate == 0
    total = args.epochs * len(loader) // args.accumulate
    update = 0
    for epoch in range(args.epochs):
        model.train()
        meter = 0.0
        for i, (v1, v2) in enumerate(loader):
            loss, keys = model(v1.to(device), v2.to(device))
            (loss / args.accumulate).backward()
            model.enqueue(keys)
            meter += loss.item()
            if (i + 1) % args.accumulate == 0:
                for group in optimizer.param_groups:
                    group["lr"] = cosine_lr(args.lr, update, total, warmup=4)
                optimizer.step()
                optimizer.zero_grad()
                update += 1
            model.update_key_encoder()
        print(f"epoch {epoch}: loss {meter / len(loader):.4f} updates {update}")
        torch.save({"state_dict": model.state_dict(), "optimizer": optimizer.state_dict(), "update": update}, args.save)

    print(f"linear probe accuracy {linear_probe(model.encoder_q, train_set, test_set, device):.3f}")
    return model


if __name__ == "__main__":
    main(sys.argv[1:])
