import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class ResidualBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU(True), nn.Conv2d(ch, ch, 3, padding=1))

    def forward(self, x):
        return x + 0.2 * self.net(x)


class EDSR(nn.Module):
    def __init__(self, ch=48, blocks=6, scale=2):
        super().__init__()
        self.head = nn.Conv2d(1, ch, 3, padding=1)
        self.body = nn.Sequential(*[ResidualBlock(ch) for _ in range(blocks)], nn.Conv2d(ch, ch, 3, padding=1))
        self.tail = nn.Sequential(nn.Conv2d(ch, ch * scale ** 2, 3, padding=1), nn.PixelShuffle(scale),
                                  nn.Conv2d(ch, 1, 3, padding=1))

    def forward(self, x):
        h = self.head(x)
        return self.tail(h + self.body(h)) + F.interpolate(x, scale_factor=2, mode="bilinear")


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}
        self.backup = None

    @torch.no_grad()
    def update(self, model):
        for k, v in model.state_dict().items():
            if v.dtype.is_floating_point:
                self.shadow[k].lerp_(v, 1 - self.decay)
            else:
                self.shadow[k].copy_(v)

    def apply_to(self, model):
        self.backup = copy.deepcopy(model.state_dict())
        model.load_state_dict(self.shadow)

    def restore(self, model):
        model.load_state_dict(self.backup)
        self.backup = None


def cells(n, size, device):
    """Random Voronoi cells."""
    pts = torch.rand(n, 12, 2, device=device)
    val = torch.rand(n, 12, device=device)
    ax = torch.linspace(0, 1, size, device=device)
    grid = torch.stack(torch.meshgrid(ax, ax, indexing="ij"), -1).view(1, -1, 2).expand(n, -1, -1)
    idx = torch.cdist(grid, pts).argmin(-1)
    return val.gather(1, idx).view(n, 1, size, size)


def pair(n, size, device):
    hi = cells(n, size, device)
    return F.avg_pool2d(hi, 2), hi


@torch.no_grad()
def psnr(model, data):
    model.eval()
    lo, hi = data
    out = -10 * torch.log10(F.mse_loss(model(lo).clamp(0, 1), hi)).item()
    model.train()
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iters", type=int, default=5000)
    p.add_argument("--eval-every", type=int, default=200)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--size", type=int, default=48)
    p.add_argument("--channels", type=int, default=48)
    p.add_argument("--lr", type=float, default=2e-4)
    p.add_argument("--ema", type=float, default=0.999)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = EDSR(args.channels).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.99))
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, [args.iters // 2, 3 * args.iters // 4], gamma=0.5)
    ema = EMA(model, args.ema)
    val = pair(64, args.size, device)
    model.train()
    best = 0.0
    for it in range(1, args.iters + 1):
        lo, hi = pair(args.batch, args.size, device)
        loss = F.l1_loss(model(lo), hi)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        sched.step()
        ema.update(model)
        if it % args.eval_every == 0 or it == args.iters:
            raw = psnr(model, val)
            ema.apply_to(model)
            avg = psnr(model, val)
            if avg > best:
                best = avg
                torch.save(model.state_dict(), "edsr_ema.pt")
            print(f"iter {it} l1 {loss.item():.4f} psnr {raw:.2f} ema {avg:.2f} best {best:.2f}")


if __name__ == "__main__":
    main()
