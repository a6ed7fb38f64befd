import argparse
import logging

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

logger = logging.getLogger("centers")


class SigmoidFocal(torch.autograd.Function):
    """Mean focal loss on logits; the derivative is worked out in the forward to save memory."""

    @staticmethod
    def forward(ctx, logits, target, alpha, gamma):
        p = torch.sigmoid(logits)
        pt = torch.where(target > 0.5, p, 1 - p).clamp(1e-6, 1 - 1e-6)
        at = torch.where(target > 0.5, alpha, 1 - alpha)
        loss = -at * (1 - pt) ** gamma * pt.log()
        sign = torch.where(target > 0.5, 1.0, -1.0)
        dpt = sign * p * (1 - p)
        dloss = at * (gamma * (1 - pt) ** (gamma - 1) * pt.log() - (1 - pt) ** gamma / pt) * dpt
        ctx.save_for_backward(dloss / logits.numel())
        return loss.mean()

    @staticmethod
    def backward(ctx, grad_output):
        dlogits, = ctx.saved_tensors
        return dlogits, None, None, None


def sigmoid_focal(logits, target, alpha=0.75, gamma=2.0):
    return SigmoidFocal.apply(logits, target, alpha, gamma)


class Dots(Dataset):
    """Finds squares: heat map of centers (stride 4) and their sizes."""

    def __init__(self, n, size=64, seed=0):
        self.n, self.size, self.seed = n, size, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 10 ** 6 + i)
        s = self.size
        img = 0.3 * torch.randn(1, s, s, generator=g)
        heat, box = torch.zeros(1, s // 4, s // 4), torch.zeros(2, s // 4, s // 4)
        for _ in range(int(torch.randint(1, 5, (1,), generator=g))):
            h, w = torch.randint(4, 15, (2,), generator=g).tolist()
            y, x = torch.randint(8, s - 8, (2,), generator=g).tolist()
            img[0, max(0, y - h // 2):y + h // 2, max(0, x - w // 2):x + w // 2] += 1.0
            heat[0, y // 4, x // 4] = 1
            box[:, y // 4, x // 4] = torch.tensor([h / 16, w / 16])
        return img, heat, box


class CenterNet(nn.Module):
    def __init__(self, w=32):
        super().__init__()
        def block(i, o, s):
            return nn.Sequential(nn.Conv2d(i, o, 3, s, 1), nn.GroupNorm(8, o), nn.ReLU(),
                                 nn.Conv2d(o, o, 3, 1, 1), nn.GroupNorm(8, o), nn.ReLU())
        self.body = nn.Sequential(block(1, w, 2), block(w, 2 * w, 2), block(2 * w, 2 * w, 1))
        self.heat, self.box = nn.Conv2d(2 * w, 1, 1), nn.Conv2d(2 * w, 2, 1)
        nn.init.constant_(self.heat.bias, -3.0)

    def forward(self, x):
        f = self.body(x)
        return self.heat(f), self.box(f)


def box_loss(pred, target, heat):
    return (F.smooth_l1_loss(pred, target, reduction="none") * heat).sum() / (2 * heat.sum().clamp(min=1))


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    tp = fp = fn = 0
    for img, heat, _ in loader:
        pred = model(img.to(device))[0].sigmoid().cpu() > 0.5
        truth = heat > 0.5
        tp += (pred & truth).sum().item()
        fp += (pred & ~truth).sum().item()
        fn += (~pred & truth).sum().item()
    return 2 * tp / max(1, 2 * tp + fp + fn)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--samples", type=int, default=2000)
    p.add_argument("--micro-batch", type=int, default=8)
    p.add_argument("--accum", type=int, default=4)
    p.add_argument("--focal-weight", type=float, default=20.0)
    p.add_argument("--box-weight", type=float, default=1.0)
    p.add_argument("--epochs", type=int, default=15)
    p.add_argument("--lr", type=float, default=0.02)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_dl = DataLoader(Dots(args.samples, seed=1), args.micro_batch, shuffle=True, drop_last=True)
    val_dl = DataLoader(Dots(200, seed=2), 50)
    model = CenterNet().to(device)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    updates = len(train_dl) // args.accum
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs * updates)
    for epoch in range(args.epochs):
        model.train()
        it, sums = iter(train_dl), torch.zeros(2)
        for _ in range(updates):
            opt.zero_grad()
            for _ in range(args.accum):
                img, heat, box = (t.to(device) for t in next(it))
                ph, pb = model(img)
                lf, lb = sigmoid_focal(ph, heat), box_loss(pb, box, heat)
                loss = (args.focal_weight * lf + args.box_weight * lb) / args.accum
                loss.backward()
                sums += torch.tensor([lf.item(), lb.item()]) / (updates * args.accum)
            opt.step()
            sched.step()
        logger.info("epoch %d focal %.5f box %.4f F1 %.3f", epoch, sums[0], sums[1], evaluate(model, val_dl, device))
    torch.save(model.state_dict(), "centers.pt")


if __name__ == "__main__":
    main()
