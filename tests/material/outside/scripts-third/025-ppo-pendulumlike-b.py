import torch, torch.nn as nn
from torch.distributions import Normal


class PointMass:
    def __init__(self, n):
        self.n = n

    def reset(self):
        self.x = torch.randn(self.n, 1)
        self.v = torch.zeros(self.n, 1)
        return torch.cat([self.x, self.v], 1)

    def step(self, a):
        self.v = 0.9 * self.v + 0.1 * a.clamp(-2, 2)
        self.x = self.x + self.v
        r = -(self.x ** 2 + 0.1 * a ** 2).squeeze(1)
        return torch.cat([self.x, self.v], 1), r


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, o))


class PPO:
    def __init__(self, obs=2, act=1, lr_a=3e-4, lr_c=1e-3, eps=0.2, epochs=4, mb=128, gamma=.97, lam=.95):
        self.pi, self.vf = mlp(obs, act), mlp(obs, 1)
        self.log_std = nn.Parameter(torch.zeros(act))
        self.actor_params = list(self.pi.parameters()) + [self.log_std]
        self.actor_opt = torch.optim.Adam(self.actor_params, lr=lr_a)
        self.critic_opt = torch.optim.Adam(self.vf.parameters(), lr=lr_c)
        self.eps, self.epochs, self.mb, self.gamma, self.lam = eps, epochs, mb, gamma, lam

    def dist(self, o):
        return Normal(self.pi(o), self.log_std.exp())

    @torch.no_grad()
    def collect(self, env, T):
        o = env.reset()
        O, A, L, R, V = [], [], [], [], []
        for _ in range(T):
            d = self.dist(o)
            a = d.sample()
            O.append(o); A.append(a); L.append(d.log_prob(a).sum(1)); V.append(self.vf(o).squeeze(1))
            o, r = env.step(a)
            R.append(r)
        V.append(self.vf(o).squeeze(1))
        adv, gae = [], 0
        for t in reversed(range(T)):
            delta = R[t] + self.gamma * V[t + 1] - V[t]
            gae = delta + self.gamma * self.lam * gae
            adv.insert(0, gae)
        adv = torch.stack(adv)
        ret = adv + torch.stack(V[:-1])
        flat = lambda x: x.flatten(0, 1)
        return flat(torch.stack(O)), flat(torch.stack(A)), flat(torch.stack(L)), flat(adv), flat(ret), torch.stack(R).mean().item()

    def update(self, O, A, L, adv, ret):
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(self.epochs):
            for idx in torch.randperm(len(O)).split(self.mb):
                d = self.dist(O[idx])
                ratio = (d.log_prob(A[idx]).sum(1) - L[idx]).exp()
                clipped = ratio.clamp(1 - self.eps, 1 + self.eps)
                actor_loss = -torch.min(ratio * adv[idx], clipped * adv[idx]).mean() - 0.001 * d.entropy().mean()
                actor_loss.backward()
                nn.utils.clip_grad_norm_(self.actor_params, 0.5)
                self.actor_opt.step()

                critic_loss = (self.vf(O[idx]).squeeze(1) - ret[idx]).pow(2).mean()
                self.critic_opt.zero_grad()
                critic_loss.backward()
                nn.utils.clip_grad_norm_(self.vf.parameters(), 0.5)
                self.critic_opt.step()


torch.manual_seed(0)
agent, env = PPO(), PointMass(16)
for it in range(10):
    *batch, rew = agent.collect(env, 64)
    agent.update(*batch)
    print(f'iter {it} reward {rew:.3f}')
