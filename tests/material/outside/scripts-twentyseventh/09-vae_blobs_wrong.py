"""beta-VAE on synthetic blob images."""
import logging
import pathlib

import torch
from torch import nn
from torch.nn import functional as F

logging.basicConfig(level=logging.INFO, format="%(message)s")
logger = logging.getLogger()

CFG = dict(
    n_train=1500, n_val=300, size=16, latent=6, hidden=128,
    batch_size=50, accum=2, epochs=6,
    enc_lr=1e-3, dec_lr=2e-3, kl_warmup_updates=40, beta=1.0, clip=5.0,
    seed=5, out="runs/vae",
)


def blobs(n, size, generator):
    pos = torch.rand(n, 2, 1, 1, generator=generator) * (size - 6) + 3
    sigma = torch.rand(n, 1, 1, generator=generator) * 2 + 1
    grid = torch.arange(size).float()
    d2 = (grid[None, :, None] - pos[:, 0]) ** 2 + (grid[None, None, :] - pos[:, 1]) ** 2
    return torch.exp(-d2 / (2 * sigma ** 2)).flatten(1)


class VAE(nn.Module):
    def __init__(self, d, hidden, latent):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(),
                                     nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(),
                                     nn.Linear(hidden, d))

    def forward(self, x):
        mu, logvar = self.encoder(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp() if self.training else mu
        return self.decoder(z), mu, logvar


def elbo_terms(logits, x, mu, logvar):
    recon = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
    kl = (-0.5 * (1 + logvar - mu.pow(2) - logvar.exp())).sum(1).mean()
    return recon, kl


@torch.no_grad()
def validate(model, data):
    model.eval()
    logits, mu, logvar = model(data)
    recon, kl = elbo_terms(logits, data, mu, logvar)
    return recon.item(), kl.item()


def main(cfg=CFG, resume=False):
    torch.manual_seed(cfg["seed"])
    gen = torch.Generator().manual_seed(cfg["seed"])
    train = blobs(cfg["n_train"], cfg["size"], gen)
    val = blobs(cfg["n_val"], cfg["size"], gen)
    out = pathlib.Path(cfg["out"])
    out.mkdir(parents=True, exist_ok=True)

    model = VAE(train.shape[1], cfg["hidden"], cfg["latent"])
    optimizer = torch.optim.Adam([
        {"params": list(model.encoder.parameters()), "lr": cfg["enc_lr"]},
        {"params": list(model.decoder.parameters()), "lr": cfg["dec_lr"]},
    ], eps=1e-3)
    update, first = 0, 0
    if resume and (out / "last.pt").exists():
        ck = torch.load(out / "last.pt")
        model.load_state_dict(ck["model"])
        optimizer.load_state_dict(ck["optimizer"])
        update, first = ck["update"], ck["epoch"] + 1

    for epoch in range(first, cfg["epochs"]):
        model.train()
        batches = torch.randperm(len(train)).split(cfg["batch_size"])
        sums = torch.zeros(2)
        for start in range(0, len(batches), cfg["accum"]):
            window = batches[start:start + cfg["accum"]]
            n_window = sum(len(b) for b in window)
            beta = cfg["beta"] * min(1.0, update / cfg["kl_warmup_updates"])
            optimizer.zero_grad()
            for b in window:
                x = train[b]
                logits, mu, logvar = model(x)
                recon, kl = elbo_terms(logits, x, mu, logvar)
                loss = (recon + beta * kl) * (len(b) / n_window)
                loss.backward()
                sums += torch.tensor([recon.item(), kl.item()]) * len(b)
            norm = nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], cfg["clip"])
            optimizer.step()
            update += 1
        r, k = (sums / len(train)).tolist()
        vr, vk = validate(model, val)
        logger.info("epoch %d: recon %.2f kl %.2f | val recon %.2f kl %.2f | beta %.2f grad norm %.1f",
                    epoch, r, k, vr, vk, beta, norm)
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "update": update,
                    "epoch": epoch}, out / "last.pt")
    return model


if __name__ == "__main__":
    import sys
    main(resume="--resume" in sys.argv)
