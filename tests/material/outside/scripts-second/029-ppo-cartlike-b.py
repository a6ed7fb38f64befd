"""PPO on a toy control task (single file)."""
from types import SimpleNamespace

import torch
from torch import nn
from torch.distributions import Normal

cfg = SimpleNamespace(iters=6, horizon=64, epochs=4, minibatch=32, clip=0.2, lr=0.02, ent=0.01, vf=0.5, max_grad=0.5)
torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
        self.v = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
        self.log_std = nn.Parameter(torch.zeros(1))

    def dist(self, s):
        return Normal(self.pi(s), self.log_std.exp())


def env_step(s, a):
    pos, vel = s[0], s[1]
    vel = 0.95 * vel + 0.1 * a.clamp(-1, 1)
    pos = pos + 0.1 * vel
    return torch.stack([pos, vel]), -(pos ** 2)


ac = ActorCritic()
opt = torch.optim.SGD(ac.parameters(), lr=cfg.lr, momentum=0.9)
for it in range(cfg.iters):
    S, A, LP, R = [], [], [], []
    s = torch.tensor([1.0, 0.0])
    with torch.no_grad():
        for _ in range(cfg.horizon):
            d = ac.dist(s)
            a = d.sample()
            S.append(s), A.append(a), LP.append(d.log_prob(a))
            s, r = env_step(s, a[0])
            R.append(r)
    S, A, LP = torch.stack(S), torch.stack(A), torch.stack(LP)
    ret, g = [], 0.0
    for r in reversed(R):
        g = r + 0.95 * g
        ret.insert(0, g)
    ret = torch.stack(ret).unsqueeze(1)
    with torch.no_grad():
        adv = ret - ac.v(S)
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(cfg.epochs):
        for idx in torch.randperm(cfg.horizon).split(cfg.minibatch):
            d = ac.dist(S[idx])
            ratio = (d.log_prob(A[idx]) - LP[idx]).exp()
            pg = -torch.min(ratio * adv[idx], ratio.clamp(1 - cfg.clip, 1 + cfg.clip) * adv[idx]).mean()
            v_loss = (ac.v(S[idx]) - ret[idx]).pow(2).mean()
            loss = pg + cfg.vf * v_loss - cfg.ent * d.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(ac.parameters(), cfg.max_grad)
            opt.step()
    print(f"iter {it} return {sum(R).item():.3f} v_loss {v_loss.item():.4f}")
