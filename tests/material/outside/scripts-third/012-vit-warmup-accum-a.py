import math, argparse, time
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def parse():
    p = argparse.ArgumentParser('tiny ViT')
    p.add_argument('--epochs', default=3, type=int)
    p.add_argument('--micro', default=16, type=int)
    p.add_argument('--update-freq', default=4, type=int)
    p.add_argument('--lr', default=1e-3, type=float)
    p.add_argument('--warmup', default=3, type=int)
    p.add_argument('--clip-grad', default=1.0, type=float)
    return p.parse_args()


class PatchEmbed(nn.Module):
    def __init__(self, img, patch, dim):
        super().__init__()
        self.n = (img // patch) ** 2
        self.proj = nn.Conv2d(3, dim, patch, patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class ViT(nn.Module):
    def __init__(self, img=32, patch=8, dim=64, depth=2, heads=4, classes=10):
        super().__init__()
        self.pe = PatchEmbed(img, patch, dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.randn(1, self.pe.n + 1, dim) * .02)
        self.blocks = nn.Sequential(*[
            nn.TransformerEncoderLayer(dim, heads, dim * 4, dropout=0., activation='gelu', batch_first=True, norm_first=True)
            for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x):
        x = self.pe(x)
        x = torch.cat([self.cls.expand(x.size(0), -1, -1), x], 1) + self.pos
        return self.head(self.norm(self.blocks(x))[:, 0])


def main():
    args = parse()
    torch.manual_seed(0)
    X = torch.randn(512, 3, 32, 32)
    Y = (X.mean(dim=(1, 2, 3)) > 0).long() + 2 * (X[:, 0].mean(dim=(1, 2)) > 0).long()
    loader = DataLoader(TensorDataset(X, Y), batch_size=args.micro, shuffle=True, drop_last=True)

    model = ViT(classes=4)
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        (no_decay if p.ndim == 1 or name in ('cls', 'pos') else decay).append(p)
    optimizer = torch.optim.AdamW([{'params': decay, 'weight_decay': 0.05}, {'params': no_decay, 'weight_decay': 0.}], lr=args.lr)

    updates_per_epoch = len(loader) // args.update_freq
    total = updates_per_epoch * args.epochs

    def lr_lambda(u):
        if u < args.warmup:
            return (u + 1) / args.warmup
        t = (u - args.warmup) / max(1, total - args.warmup)
        return 0.5 * (1 + math.cos(math.pi * t))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda)
    crit = nn.CrossEntropyLoss()

    for epoch in range(args.epochs):
        model.train()
        optimizer.zero_grad()
        t0, loss_sum = time.time(), 0.
        for i, (x, y) in enumerate(loader):
            loss = crit(model(x), y)
            loss_sum += loss.item()
            loss = loss / args.update_freq
            loss.backward()
            if (i + 1) % args.update_freq == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip_grad)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        print(f'epoch {epoch} loss {loss_sum / len(loader):.4f} lr {scheduler.get_last_lr()[0]:.2e} {time.time() - t0:.1f}s')


if __name__ == '__main__':
    main()
