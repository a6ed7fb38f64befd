from __future__ import annotations

import argparse
import os

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
from torchvision.utils import save_image


class VAE(nn.Module):
    def __init__(self, latent=20, hidden=400):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(784, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.fc_mu, self.fc_logvar = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                     nn.Linear(hidden, 784))
        self.latent = latent

    def encode(self, x):
        h = self.encoder(x.flatten(1))
        return self.fc_mu(h), self.fc_logvar(h)

    @staticmethod
    def reparameterize(mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = self.reparameterize(mu, logvar)
        return self.decoder(z), mu.detach(), logvar.detach()


def elbo(recon, x, mu, logvar, beta=1.0):
    bce = F.binary_cross_entropy_with_logits(recon, x.flatten(1), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (bce + beta * kld) / x.size(0), bce / x.size(0), kld / x.size(0)


def train(model, loader, optimizer, device, epoch, beta, log_interval):
    model.train()
    total = 0.0
    for i, (x, _) in enumerate(loader):
        x = x.to(device)
        optimizer.zero_grad()
        recon, mu, logvar = model(x)
        loss, bce, kld = elbo(recon, x, mu, logvar, beta)
        loss.backward()
        optimizer.step()
        total += loss.item() * x.size(0)
        if i % log_interval == 0:
            print(f"epoch {epoch} [{i * len(x)}/{len(loader.dataset)}] loss {loss.item():.2f} "
                  f"bce {bce.item():.2f} kld {kld.item():.2f}")
    print(f"====> epoch {epoch} average loss {total / len(loader.dataset):.4f}")


@torch.no_grad()
def test(model, loader, device, beta, out, epoch):
    model.eval()
    total = 0.0
    for i, (x, _) in enumerate(loader):
        x = x.to(device)
        recon, mu, logvar = model(x)
        total += elbo(recon, x, mu, logvar, beta)[0].item() * x.size(0)
        if i == 0:
            n = min(8, x.size(0))
            grid = torch.cat([x[:n], torch.sigmoid(recon[:n]).view(-1, 1, 28, 28)])
            save_image(grid.cpu(), os.path.join(out, f"recon_{epoch}.png"), nrow=n)
    print(f"====> test loss {total / len(loader.dataset):.4f}")


def main(argv: list[str] | None = None):
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data")
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--latent", type=int, default=20)
    p.add_argument("--beta", type=float, default=1.0)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--log-interval", type=int, default=100)
    p.add_argument("--out", default="vae_out")
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args(argv)
    torch.manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tf = transforms.ToTensor()
    train_loader = DataLoader(datasets.MNIST(args.data, train=True, download=True, transform=tf), args.batch_size,
                              shuffle=True)
    test_loader = DataLoader(datasets.MNIST(args.data, train=False, download=True, transform=tf), args.batch_size)
    model = VAE(args.latent).to(device)
    optimizer = optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        train(model, train_loader, optimizer, device, epoch, args.beta, args.log_interval)
        test(model, test_loader, device, args.beta, args.out, epoch)
        with torch.no_grad():
            sample = torch.sigmoid(model.decoder(torch.randn(64, model.latent, device=device)))
        save_image(sample.view(64, 1, 28, 28).cpu(), os.path.join(args.out, f"sample_{epoch}.png"))
    torch.save(model.state_dict(), os.path.join(args.out, "vae.pt"))


if __name__ == "__main__":
    main()
