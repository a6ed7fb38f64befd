import argparse
from pathlib import Path

import numpy as np
import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError:
    SummaryWriter = None


class VAE(nn.Module):
    def __init__(self, n_pixels, hidden, latent):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_pixels, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mu = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                     nn.Linear(hidden, n_pixels))
        self.latent = latent

    def encode(self, x):
        h = self.encoder(x)
        return self.mu(h), self.logvar(h)

    def reparameterize(self, mu, logvar):
        if not self.training:
            return mu
        return mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decoder(self.reparameterize(mu, logvar)), mu, logvar


def elbo_terms(logits, x, mu, logvar):
    recon = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return recon, kl


def load(path):
    blob = np.load(path)
    to_t = lambda a: torch.from_numpy(a.reshape(len(a), -1)).float() / 255.0
    return to_t(blob["x_train"]), to_t(blob["x_test"])


@torch.no_grad()
def test(model, loader, device):
    model.eval()
    recon = kl = 0.0
    n = 0
    for (x,) in loader:
        x = x.to(device)
        logits, mu, logvar = model(x)
        r, k = elbo_terms(logits, x, mu, logvar)
        recon += r.item() * len(x)
        kl += k.item() * len(x)
        n += len(x)
    return recon / n, kl / n


@torch.no_grad()
def sample(model, n, device):
    model.eval()
    z = torch.randn(n, model.latent, device=device)
    return model.decoder(z).sigmoid().cpu().numpy()


def train_epoch(model, loader, optimizer, device, epoch, warmup_steps, writer):
    model.train()
    sums = np.zeros(3)
    for step, (x,) in enumerate(loader):
        x = x.to(device)
        global_step = epoch * len(loader) + step
        beta = min(1.0, step / warmup_steps)
        logits, mu, logvar = model(x)
        recon, kl = elbo_terms(logits, x, mu, logvar)
        loss = recon + beta * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sums += [loss.item(), recon.item(), kl.item()]
        if writer is not None:
            writer.add_scalar("train/loss", loss.item(), global_step)
            writer.add_scalar("train/kl", kl.item(), global_step)
    return sums / len(loader)


def main():
    parser = argparse.ArgumentParser(description="VAE on digits (mnist.npz layout)")
    parser.add_argument("--data", type=str, default="mnist.npz")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--warmup-epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=400)
    parser.add_argument("--latent", type=int, default=20)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--out", type=str, default="runs/vae")
    opts = parser.parse_args()

    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    out = Path(opts.out)
    out.mkdir(parents=True, exist_ok=True)
    writer = SummaryWriter(str(out)) if SummaryWriter is not None else None

    x_train, x_test = load(opts.data)
    train_loader = DataLoader(TensorDataset(x_train), opts.batch_size, shuffle=True, drop_last=True)
    test_loader = DataLoader(TensorDataset(x_test), opts.batch_size)

    model = VAE(x_train.shape[1], opts.hidden, opts.latent).to(device)
    optimizer = optim.Adam(model.parameters(), lr=opts.lr)
    warmup_steps = opts.warmup_epochs * len(train_loader)

    for epoch in range(opts.epochs):
        loss, recon, kl = train_epoch(model, train_loader, optimizer, device, epoch, warmup_steps, writer)
        t_recon, t_kl = test(model, test_loader, device)
        print(f"epoch {epoch:3d} | train {loss:.2f} ({recon:.2f} + {kl:.2f}) | test recon {t_recon:.2f} kl {t_kl:.2f}")
        np.save(out / f"samples_{epoch:03d}.npy", sample(model, 64, device))
    torch.save(model.state_dict(), out / "vae.pt")


if __name__ == "__main__":
    main()
