# %% [markdown]
# # A variational autoencoder on two moons

# %%
import math
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
device = torch.device("cpu")

# %%
def moons(n):
    t = torch.rand(n) * math.pi
    flip = torch.randint(0, 2, (n,)) * 2 - 1
    x = torch.stack([t.cos() * flip + (flip < 0) * 1.0, t.sin() * flip + (flip < 0) * 0.5], 1)
    return x + 0.05 * torch.randn(n, 2)

x_train = moons(1024)

# %%
class VAE(nn.Module):
    def __init__(self, d=2, h=32, z=2):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, h), nn.SiLU(), nn.Linear(h, 2 * z))
        self.dec = nn.Sequential(nn.Linear(z, h), nn.SiLU(), nn.Linear(h, d))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar

vae = VAE().to(device)
optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)

# %%
def elbo(x, beta):
    recon, mu, logvar = vae(x)
    rec = F.mse_loss(recon, x, reduction="sum") / len(x)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return rec + beta * kl, rec, kl

# %%
losses = []
for epoch in range(40):
    beta = min(1.0, epoch / 10)
    for xb in x_train[torch.randperm(len(x_train))].split(128):
        loss, rec, kl = elbo(xb.to(device), beta)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(vae.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    if epoch % 10 == 0:
        print(epoch, sum(losses[-8:]) / 8)

# %%
import matplotlib.pyplot as plt
plt.plot(losses)
plt.show()
