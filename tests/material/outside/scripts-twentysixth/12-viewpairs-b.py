"""SimCLR style pre-training of a 1-d encoder on made-up waveforms, run through Accelerate."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset


class Waves(Dataset):
    """Items are two distorted views of the same mixture of sines."""

    def __init__(self, n, length=96, kinds=8, seed=0):
        g = torch.Generator().manual_seed(seed)
        t = torch.linspace(0, 1, length)
        self.kind = torch.randint(0, kinds, (n,), generator=g)
        freq = 2.0 + 2.5 * self.kind[:, None].float()
        phase = 6.28 * torch.rand(n, 1, generator=g)
        self.base = torch.sin(6.28 * freq * t + phase) + 0.3 * torch.sin(12.0 * freq * t)

    def __len__(self):
        return len(self.base)

    @staticmethod
    def view(x):
        x = torch.roll(x, int(torch.randint(0, 8, ())))
        return x * (0.7 + 0.6 * torch.rand(())) + 0.15 * torch.randn_like(x)

    def __getitem__(self, i):
        return self.view(self.base[i]), self.view(self.base[i])


class Encoder(nn.Module):
    def __init__(self, width=24, out=32):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv1d(1, width, 7, 2, 3), nn.ReLU(),
            nn.Conv1d(width, 2 * width, 5, 2, 2), nn.ReLU(),
            nn.AdaptiveAvgPool1d(4), nn.Flatten(),
        )
        self.project = nn.Sequential(nn.Linear(8 * width, 64), nn.ReLU(), nn.Linear(64, out))

    def forward(self, x):
        return F.normalize(self.project(self.trunk(x.unsqueeze(1))), dim=1)


def nt_xent(za, zb, temperature):
    z = torch.cat([za, zb])
    n = len(za)
    sim = z @ z.T / temperature
    sim.fill_diagonal_(-1e4)
    target = torch.arange(2 * n, device=z.device).roll(n)
    return F.cross_entropy(sim, target)


def cosine_with_warmup(optimizer, warmup, total):
    def f(step):
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / max(1, total - warmup))))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, f)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--items", type=int, default=512)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--lr", type=float, default=0.2)
    ap.add_argument("--temperature", type=float, default=0.3)
    ap.add_argument("--max-norm", type=float, default=4.0)
    ap.add_argument("--seed", type=int, default=9)
    args = ap.parse_args()

    accelerator = Accelerator(gradient_accumulation_steps=args.accum, cpu=not torch.cuda.is_available())
    set_seed(args.seed)
    loader = DataLoader(Waves(args.items), args.batch_size, shuffle=True, drop_last=True)
    model = Encoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    updates_per_epoch = math.ceil(len(loader) / args.accum)
    scheduler = cosine_with_warmup(optimizer.optimizer, 4, updates_per_epoch * args.epochs)

    update = 0
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for a, b in loader:
            with accelerator.accumulate(model):
                n = len(a)
                z = model(torch.cat([a, b]))
                loss = nt_xent(z[:n], z[n:], args.temperature)
                accelerator.backward(loss / args.accum)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), args.max_norm)
                optimizer.step()
                if accelerator.sync_gradients:
                    scheduler.step()
                    update += 1
                optimizer.zero_grad()
            total += loss.item()
        accelerator.print(
            f"epoch {epoch} update {update} loss {total / len(loader):.4f} lr {scheduler.get_last_lr()[0]:.4f}"
        )
    accelerator.wait_for_everyone()
    state = accelerator.unwrap_model(model).state_dict()
    accelerator.print("trunk norm %.4f" % sum(v.pow(2).sum() for k, v in state.items() if k.startswith("trunk")).sqrt())


if __name__ == "__main__":
    main()
