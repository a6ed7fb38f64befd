"""MoCo-style contrastive pre-training on synthetic image patches.

The query encoder is trained by SGD. The key encoder is a slow moving average of the query
encoder (momentum m = 0.99) and gets no gradient; its outputs fill the queue of negatives.
"""
import argparse
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def make_images(n, seed):
    g = torch.Generator().manual_seed(seed)
    base = torch.randn(n, 3, 6, 6, generator=g)
    return F.interpolate(base, size=(24, 24), mode="bicubic", align_corners=False)


def augment(x):
    """random flip, shift, colour gain, noise"""
    n = x.size(0)
    flip = torch.rand(n, device=x.device) < 0.5
    x = torch.where(flip.view(-1, 1, 1, 1), x.flip(3), x)
    x = F.pad(x, (4, 4, 4, 4), mode="reflect")
    dy, dx = torch.randint(0, 9, (2,)).tolist()
    x = x[:, :, dy:dy + 24, dx:dx + 24]
    gain = 0.6 + 0.8 * torch.rand(n, 3, 1, 1, device=x.device)
    return x * gain + 0.2 * torch.randn_like(x)


def conv(i, o, stride):
    # group norm: no leakage through batch statistics
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.GroupNorm(8, o), nn.ReLU())


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.trunk = nn.Sequential(conv(3, 32, 1), conv(32, 64, 2), conv(64, 128, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, dim))

    def forward(self, x):
        return F.normalize(self.head(self.trunk(x)), dim=1)


class MoCo(nn.Module):
    def __init__(self, dim=64, K=2048, m=0.99, T=0.1):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q = Encoder(dim)
        self.encoder_k = copy.deepcopy(self.encoder_q)
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update_key_encoder(self):
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data = param_q.data * self.m + param_k.data * (1.0 - self.m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        n, ptr = keys.shape[0], int(self.queue_ptr)
        assert self.K % n == 0
        self.queue[:, ptr:ptr + n] = keys.T
        self.queue_ptr[0] = (ptr + n) % self.K

    def forward(self, im_q, im_k):
        q = self.encoder_q(im_q)
        with torch.no_grad():
            self._momentum_update_key_encoder()
            k = self.encoder_k(im_k)
        l_pos = (q * k).sum(1, keepdim=True)
        l_neg = q @ self.queue.clone().detach()
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        labels = torch.zeros(len(q), dtype=torch.long, device=q.device)
        self._dequeue_and_enqueue(k)
        return logits, labels


def adjust_lr(optimizer, base, step, total, warmup):
    if step < warmup:
        lr = base * (step + 1) / warmup
    else:
        lr = 0.5 * base * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))
    for g in optimizer.param_groups:
        g["lr"] = lr
    return lr


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--n-images", type=int, default=8192)
    p.add_argument("--lr", type=float, default=0.06)
    p.add_argument("--wd", type=float, default=1e-4)
    p.add_argument("--moco-k", type=int, default=2048)
    p.add_argument("--moco-m", type=float, default=0.99)
    p.add_argument("--moco-t", type=float, default=0.1)
    p.add_argument("--seed", type=int, default=3)
    p.add_argument("--save", default="moco.pt")
    args = p.parse_args()

    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    images = make_images(args.n_images, args.seed)
    model = MoCo(K=args.moco_k, m=args.moco_m, T=args.moco_t).to(device)
    optimizer = torch.optim.SGD(model.encoder_q.parameters(), lr=args.lr, momentum=0.9, weight_decay=args.wd)

    per_epoch = len(images) // args.batch_size
    total, step = args.epochs * per_epoch, 0
    for epoch in range(args.epochs):
        model.train()
        perm = torch.randperm(len(images))
        loss_sum = acc_sum = 0.0
        for i in range(per_epoch):
            lr = adjust_lr(optimizer, args.lr, step, total, warmup=2 * per_epoch)
            x = images[perm[i * args.batch_size:(i + 1) * args.batch_size]].to(device)
            logits, labels = model(augment(x), augment(x))
            loss = F.cross_entropy(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss_sum += loss.item()
            acc_sum += (logits.argmax(1) == 0).float().mean().item()
            step += 1
        print(f"epoch {epoch} lr {lr:.4f} loss {loss_sum / per_epoch:.4f} acc@1 {acc_sum / per_epoch:.4f}")
        torch.save(model.encoder_q.state_dict(), args.save)


if __name__ == "__main__":
    main()
