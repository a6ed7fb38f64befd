# %% [markdown]
# VAE on 8x8 stripes. Look at recon vs kl.

# %%
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

torch.manual_seed(7)
device = "cuda" if torch.cuda.is_available() else "cpu"

# %%
def stripes(n):
    phase = torch.rand(n, 1, 1) * 6.28
    freq = 0.5 + torch.rand(n, 1, 1)
    grid = torch.arange(8.0).view(1, 1, 8)
    img = torch.sin(freq * grid + phase).expand(n, 8, 8)
    return img.reshape(n, 64) + 0.05 * torch.randn(n, 64)

data = stripes(768).to(device)

# %%
enc = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2 * 4)).to(device)
dec = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64)).to(device)
params = list(enc.parameters()) + list(dec.parameters())
opt = torch.optim.Adam(params, lr=2e-3)
beta = 0.05

# %%
for epoch in range(12):
    perm = torch.randperm(len(data), device=device)
    rec_sum = kl_sum = 0.0
    for i in range(0, len(data), 64):
        x = data[perm[i:i + 64]]
        mu, log_sigma = enc(x).chunk(2, dim=-1)
        q = Normal(mu, log_sigma.clamp(-6, 3).exp())
        z = q.rsample()
        rec = ((dec(z) - x) ** 2).mean(0).sum()
        kl = kl_divergence(q, Normal(torch.zeros_like(mu), torch.ones_like(mu))).sum(-1).mean()
        loss = rec + beta * kl
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 5.0)
        opt.step()
        rec_sum += rec.item() * len(x)
        kl_sum += kl.item() * len(x)
    if epoch % 3 == 2:
        print(f"{epoch:2d} rec {rec_sum / len(data):.3f} kl {kl_sum / len(data):.3f}")
