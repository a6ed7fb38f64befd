"""Soft actor-critic pieces on a one-step problem: two optimizers and a learned temperature."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
log_alpha = torch.zeros(1, requires_grad=True)
opt_actor = torch.optim.Adam(actor.parameters(), lr=3e-3)
opt_critic = torch.optim.SGD(critic.parameters(), lr=2e-2)
opt_alpha = torch.optim.Adam([log_alpha], lr=1e-2)
target_entropy = -1.0


def policy(s):
    mu, log_std = actor(s).chunk(2, -1)
    d = torch.distributions.Normal(mu, log_std.clamp(-4, 1).exp())
    u = d.rsample()
    a = torch.tanh(u)
    logp = d.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)
    return a, logp


for step in range(60):
    s = torch.randn(64, 3)
    with torch.no_grad():
        a, _ = policy(s)
        r = -(a - s[:, :1].tanh()).pow(2)

    q_loss = F.mse_loss(critic(torch.cat([s, a], 1)), r)
    q_loss.backward()
    opt_critic.step()
    opt_critic.zero_grad()

    a_new, logp = policy(s)
    alpha = log_alpha.exp().detach()
    pi_loss = (alpha * logp - critic(torch.cat([s, a_new], 1))).mean()
    opt_actor.zero_grad()
    pi_loss.backward()
    opt_actor.step()

    alpha_loss = -(log_alpha.exp() * (logp.detach() + target_entropy)).mean()
    opt_alpha.zero_grad()
    alpha_loss.backward()
    opt_alpha.step()
    if step % 20 == 0:
        print(f"{step} q {q_loss.item():.4f} pi {pi_loss.item():.4f} alpha {log_alpha.exp().item():.4f}")
