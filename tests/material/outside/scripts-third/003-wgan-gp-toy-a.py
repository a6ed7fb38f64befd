# WGAN-GP, eight gaussians
import numpy as np
import torch
from torch import nn, optim, autograd

torch.manual_seed(0)
np.random.seed(0)
LAMBDA, CRITIC_ITERS, BATCH, ITERS = 0.1, 5, 256, 60


def make(dims):
    layers = []
    for a, b in zip(dims[:-2], dims[1:-1]):
        layers += [nn.Linear(a, b), nn.ReLU(True)]
    layers.append(nn.Linear(dims[-2], dims[-1]))
    return nn.Sequential(*layers)


def inf_data():
    centers = np.array([(np.cos(a), np.sin(a)) for a in np.linspace(0, 2 * np.pi, 8, endpoint=False)]) * 2.0
    while True:
        pts = np.random.randn(BATCH, 2) * .02 + centers[np.random.randint(0, 8, BATCH)]
        yield torch.tensor(pts / 1.414, dtype=torch.float32)


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1)
    inter = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    out = critic(inter)
    grads = autograd.grad(out, inter, grad_outputs=torch.ones_like(out),
                          create_graph=True, retain_graph=True)[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


gen = make([2, 128, 128, 2])
critic = make([2, 128, 128, 1])
opt_c = optim.Adam(critic.parameters(), lr=1e-4, betas=(0.5, 0.9))
opt_g = optim.Adam(gen.parameters(), lr=1e-4, betas=(0.5, 0.9))
data = inf_data()

for it in range(ITERS):
    for p in critic.parameters():
        p.requires_grad_(True)
    for _ in range(CRITIC_ITERS):
        real = next(data)
        with torch.no_grad():
            fake = gen(torch.randn(BATCH, 2))
        opt_c.zero_grad()
        c_real, c_fake = critic(real).mean(), critic(fake).mean()
        gp = gradient_penalty(critic, real, fake)
        c_loss = c_fake - c_real + gp
        c_loss.backward()
        opt_c.step()

    for p in critic.parameters():
        p.requires_grad_(False)
    opt_g.zero_grad()
    g_loss = -critic(gen(torch.randn(BATCH, 2))).mean()
    g_loss.backward()
    opt_g.step()
    if it % 10 == 0:
        print(it, 'W', (c_real - c_fake).item(), 'gp', gp.item(), 'G', g_loss.item())
