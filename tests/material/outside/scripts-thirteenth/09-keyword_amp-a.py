"""Keyword spotting on synthetic tones: log-spectrogram + CNN, AMP with gradient accumulation."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES = 5
SR = 4000


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--updates", type=int, default=40)
    p.add_argument("--accum", type=int, default=4)
    p.add_argument("--micro-batch", type=int, default=16)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--log-every", type=int, default=10)
    return p.parse_args()


def make_batch(n):
    """A keyword is a chirp with class specific start and end frequency."""
    t = torch.arange(SR // 2) / SR
    y = torch.randint(0, CLASSES, (n,))
    f0 = 200 + 150 * y.float() + 20 * torch.randn(n)
    f1 = 1200 - 180 * y.float() + 20 * torch.randn(n)
    freq = f0[:, None] + (f1 - f0)[:, None] * t[None] / t[-1]
    phase = 2 * torch.pi * torch.cumsum(freq / SR, dim=1)
    wav = torch.sin(phase) + 0.5 * torch.randn(n, t.numel())
    return wav, y


class LogSpec(nn.Module):
    def __init__(self, n_fft=128, hop=64):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, wav):
        spec = torch.stft(wav, self.n_fft, self.hop, window=self.window, return_complex=True).abs()
        return (spec.pow(2) + 1e-4).log().unsqueeze(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.GroupNorm(4, 16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.GroupNorm(4, 32), nn.ReLU(),
        )
        self.fc = nn.Linear(32 * 17, CLASSES)

    def forward(self, s):
        return self.fc(self.conv(s).mean(-1).flatten(1))


def grad_norm(model):
    return torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm().item()


@torch.no_grad()
def evaluate(model, feats, device):
    model.eval()
    wav, y = make_batch(256)
    acc = (model(feats(wav.to(device))).argmax(1).cpu() == y).float().mean().item()
    model.train()
    return acc


def main():
    args = parse()
    torch.manual_seed(7)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    amp_dtype = torch.float16 if device == "cuda" else torch.bfloat16
    feats, model = LogSpec().to(device), Net().to(device)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scaler = torch.amp.GradScaler(device)

    model.train()
    opt.zero_grad(set_to_none=True)
    for micro in range(args.updates * args.accum):
        wav, y = make_batch(args.micro_batch)
        spec = feats(wav.to(device))
        with torch.autocast(device, dtype=amp_dtype):
            logits = model(spec)
            loss = F.cross_entropy(logits, y.to(device))
        scaler.scale(loss / args.accum).backward()
        if (micro + 1) % args.accum == 0:
            scaler.unscale_(opt)
            norm = grad_norm(model)
            scaler.step(opt)
            scaler.update()
            opt.zero_grad(set_to_none=True)
            update = (micro + 1) // args.accum
            if update % args.log_every == 0:
                print(f"update {update}: loss {loss.item():.3f} |g| {norm:.3f} acc {evaluate(model, feats, device):.3f}")


if __name__ == "__main__":
    main()
