"""Beta-VAE on MNIST with Accelerate. The effective batch is batch * accum * processes and the
gradient is that of the mean ELBO over it; plain SGD with momentum, so its scale matters."""
import argparse
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


class VAE(nn.Module):
    def __init__(self, latent=16, hidden=256):
        super().__init__()
        self.enc = nn.Sequential(nn.Flatten(), nn.Linear(784, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU())
        self.mu, self.logvar = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, 784))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h).clamp(-10, 10)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def negative_elbo(logits, x, mu, logvar, beta):
    rec = F.binary_cross_entropy_with_logits(logits, x.flatten(1), reduction="none").sum(1)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1)
    return (rec + beta * kl).mean()


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data")
    p.add_argument("--batch", type=int, default=100)
    p.add_argument("--accum", type=int, default=4)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--beta", type=float, default=1.0)
    p.add_argument("--precision", default="no", choices=["no", "bf16"])
    p.add_argument("--out", default="vae")
    return p.parse_args()


def main():
    args = parse()
    torch.manual_seed(0)
    accelerator = Accelerator(mixed_precision=args.precision, gradient_accumulation_steps=args.accum)
    with accelerator.main_process_first():
        tf = transforms.ToTensor()
        train = datasets.MNIST(args.data, True, tf, download=True)
        test = datasets.MNIST(args.data, False, tf, download=True)
    train_dl = DataLoader(train, args.batch, shuffle=True, num_workers=2, drop_last=True)
    test_dl = DataLoader(test, 500, num_workers=2)
    model = VAE()
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    model, opt, train_dl, test_dl = accelerator.prepare(model, opt, train_dl, test_dl)
    sched = CosineAnnealingLR(opt.optimizer, args.epochs)

    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for x, _ in train_dl:
            with accelerator.accumulate(model):
                logits, mu, logvar = model(x)
                loss = negative_elbo(logits.float(), x, mu.float(), logvar.float(), args.beta)
                accelerator.backward(loss)
                opt.step()
                opt.zero_grad()
            running += loss.item()
        sched.step()

        model.eval()
        elbo = torch.zeros(2, device=accelerator.device)
        with torch.no_grad():
            for x, _ in test_dl:
                logits, mu, logvar = model(x)
                elbo[0] += negative_elbo(logits.float(), x, mu.float(), logvar.float(), 1.0) * len(x)
                elbo[1] += len(x)
        elbo = accelerator.reduce(elbo, reduction="sum")
        accelerator.print(f"epoch {epoch} loss {running / len(train_dl):.2f} test -ELBO {(elbo[0] / elbo[1]).item():.2f}")

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        os.makedirs(args.out, exist_ok=True)
        torch.save(accelerator.unwrap_model(model).state_dict(), os.path.join(args.out, "vae.pt"))


if __name__ == "__main__":
    main()
