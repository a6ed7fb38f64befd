import random
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class Grid:
    """5x5, start in a corner, goal in the opposite one."""
    def reset(self):
        self.pos, self.t = [0, 0], 0
        return self.obs()

    def obs(self):
        o = torch.zeros(25)
        o[self.pos[0] * 5 + self.pos[1]] = 1
        return o

    def step(self, a):
        d = [(0, 1), (0, -1), (1, 0), (-1, 0)][a]
        self.pos = [min(4, max(0, p + q)) for p, q in zip(self.pos, d)]
        self.t += 1
        win = self.pos == [4, 4]
        return self.obs(), 1.0 if win else -0.02, win or self.t >= 50


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(25, 64)
        self.pi = nn.Linear(64, 4)
        self.v = nn.Linear(64, 1)

    def forward(self, s):
        h = torch.tanh(self.body(s))
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


torch.manual_seed(0)
random.seed(0)
env, ac = Grid(), Actor()
optim = torch.optim.RMSprop(ac.parameters(), lr=2e-3)
GAMMA, ENT = 0.98, 0.01

scores = []
for ep in range(60):
    s, done = env.reset(), False
    logps, vals, rews, ents = [], [], [], []
    while not done:
        dist, v = ac(s)
        a = dist.sample()
        s, r, done = env.step(a.item())
        logps.append(dist.log_prob(a))
        ents.append(dist.entropy())
        vals.append(v)
        rews.append(r)

    R, rets = 0.0, []
    for r in reversed(rews):
        R = r + GAMMA * R
        rets.insert(0, R)
    rets = torch.tensor(rets)
    vals = torch.stack(vals)
    adv = rets - vals
    pg = -(torch.stack(logps) * adv).mean()
    vloss = F.smooth_l1_loss(vals, rets)
    loss = pg + 0.5 * vloss - ENT * torch.stack(ents).mean()

    optim.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(ac.parameters(), 0.5)
    optim.step()
    scores.append(sum(rews))
    if ep % 10 == 9:
        print(ep + 1, sum(scores[-10:]) / 10)
