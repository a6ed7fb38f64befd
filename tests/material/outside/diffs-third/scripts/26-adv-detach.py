import torch, torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)
pi = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
v = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(list(pi.parameters()) + list(v.parameters()), lr=3e-3)

for it in range(200):
    s = torch.randn(128, 4)
    d = Categorical(logits=pi(s))
    a = d.sample()
    r = (a == s[:, :3].argmax(1)).float()      # bandit reward
    adv = r - v(s).squeeze(1)
    actor = -(d.log_prob(a) * adv).mean()
    critic = adv.pow(2).mean()
    loss = actor + 0.5 * critic
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(it, r.mean().item(), critic.item())
