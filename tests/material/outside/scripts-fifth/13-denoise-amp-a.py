import argparse
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def parse_args():
    p = argparse.ArgumentParser("DnCNN style denoiser, fp16")
    p.add_argument("--steps", type=int, default=2000)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--patch", type=int, default=48)
    p.add_argument("--width", type=int, default=64)
    p.add_argument("--depth", type=int, default=8)
    p.add_argument("--sigma", type=float, default=0.1)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--log-every", type=int, default=50)
    p.add_argument("--seed", type=int, default=3)
    p.add_argument("--init-scale", type=float, default=2.0 ** 14)
    return p.parse_args()


class Denoiser(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        layers = [nn.Conv2d(1, width, 3, padding=1), nn.ReLU(inplace=True)]
        for _ in range(depth - 2):
            layers += [nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
        layers += [nn.Conv2d(width, 1, 3, padding=1)]
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return x - self.net(x)


def textures(n, size, device):
    ax = torch.linspace(0, 2 * math.pi, size, device=device)
    yy, xx = torch.meshgrid(ax, ax, indexing="ij")
    f = torch.rand(n, 4, 2, device=device) * 6
    ph = torch.rand(n, 4, device=device) * 2 * math.pi
    waves = torch.sin(f[..., 0, None, None] * xx + f[..., 1, None, None] * yy + ph[..., None, None])
    return (waves.mean(1, keepdim=True) + 1) / 2


def grad_norm(parameters):
    return torch.stack([p.grad.detach().norm() for p in parameters if p.grad is not None]).norm()


def psnr(a, b):
    return -10 * torch.log10(F.mse_loss(a, b)).item()


class LossScaledStep:
    """Runs one fp16 update and reports the norm of the gradient."""

    def __init__(self, model, optimizer, device, init_scale):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler(device.type, init_scale=init_scale)
        self.params = [p for g in optimizer.param_groups for p in g["params"]]

    def __call__(self, loss):
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        norm = grad_norm(self.params)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return norm.item()


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Denoiser(args.width, args.depth).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    update = LossScaledStep(model, optimizer, device, args.init_scale)
    val_clean = textures(32, args.patch, device)
    val_noisy = val_clean + args.sigma * torch.randn_like(val_clean)

    t0 = time.time()
    model.train()
    for step in range(1, args.steps + 1):
        clean = textures(args.batch, args.patch, device)
        noisy = clean + args.sigma * torch.randn_like(clean)
        with torch.autocast(device.type, dtype=torch.float16):
            pred = model(noisy)
        loss = F.mse_loss(pred.float(), clean)
        norm = update(loss)
        scheduler.step()
        if step % args.log_every == 0 or step == args.steps:
            model.eval()
            with torch.no_grad():
                score = psnr(model(val_noisy), val_clean)
            model.train()
            print(f"{step:6d} loss {loss.item():.5f} |g| {norm:.4f} scale {update.scaler.get_scale():.0f} "
                  f"psnr {score:.2f} dB  {time.time() - t0:.0f}s")


if __name__ == "__main__":
    main()
