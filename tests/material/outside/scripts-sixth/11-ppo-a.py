"""PPO with a shared-trunk actor-critic on a small pole-balancing environment written in torch.

Each rollout is optimised for `epochs` passes; every minibatch is one clipped-gradient update.
"""
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.distributions import Categorical


@dataclass
class PPOConfig:
    envs: int = 16
    horizon: int = 64
    iterations: int = 30
    epochs: int = 4
    minibatches: int = 4
    gamma: float = 0.99
    lam: float = 0.95
    clip: float = 0.2
    vf_coef: float = 0.5
    ent_coef: float = 0.01
    max_grad_norm: float = 0.5
    lr: float = 3e-4
    seed: int = 1


class VecPole:
    def __init__(self, n, seed):
        self.n = n
        self.gen = torch.Generator().manual_seed(seed)
        self.state = self._fresh(n)
        self.t = torch.zeros(n)

    def _fresh(self, n):
        return 0.1 * torch.rand(n, 4, generator=self.gen) - 0.05

    def step(self, action):
        x, v, th, om = self.state.unbind(1)
        force = torch.where(action == 1, 10.0, -10.0)
        tmp = (force + 0.05 * om**2 * th.sin()) / 1.1
        acc_th = (9.8 * th.sin() - th.cos() * tmp) / (0.5 * (4 / 3 - 0.1 * th.cos() ** 2 / 1.1))
        acc = tmp - 0.05 * acc_th * th.cos() / 1.1
        self.state = torch.stack([x + 0.02 * v, v + 0.02 * acc, th + 0.02 * om, om + 0.02 * acc_th], 1)
        self.t += 1
        done = (self.state[:, 0].abs() > 2.4) | (self.state[:, 2].abs() > 12 * math.pi / 180) | (self.t >= 500)
        lengths = self.t[done].tolist()
        self.state[done] = self._fresh(int(done.sum()))
        self.t[done] = 0
        return self.state.clone(), torch.ones(self.n), done.float(), lengths


class ActorCritic(nn.Module):
    def __init__(self, obs=4, actions=2, hidden=64):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, actions)
        self.v = nn.Linear(hidden, 1)
        nn.init.orthogonal_(self.pi.weight, 0.01)

    def forward(self, obs):
        h = self.trunk(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class PPO:
    def __init__(self, cfg):
        self.cfg = cfg
        self.env = VecPole(cfg.envs, cfg.seed)
        self.net = ActorCritic()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=cfg.lr, eps=1e-5)
        self.obs = self.env.state.clone()
        self.finished = []

    @torch.no_grad()
    def rollout(self):
        c = self.cfg
        buf = {k: [] for k in ("obs", "act", "logp", "val", "rew", "done")}
        for _ in range(c.horizon):
            dist, value = self.net(self.obs)
            action = dist.sample()
            nxt, rew, done, lengths = self.env.step(action)
            self.finished += lengths
            for k, item in zip(buf, (self.obs, action, dist.log_prob(action), value, rew, done)):
                buf[k].append(item)
            self.obs = nxt
        buf = {k: torch.stack(v) for k, v in buf.items()}
        last = self.net(self.obs)[1]
        adv, running = torch.zeros_like(buf["rew"]), torch.zeros(c.envs)
        for t in reversed(range(c.horizon)):
            nxt_v = last if t == c.horizon - 1 else buf["val"][t + 1]
            alive = 1 - buf["done"][t]
            delta = buf["rew"][t] + c.gamma * nxt_v * alive - buf["val"][t]
            running = delta + c.gamma * c.lam * alive * running
            adv[t] = running
        buf["adv"], buf["ret"] = adv, adv + buf["val"]
        return {k: v.flatten(0, 1) for k, v in buf.items()}

    def update(self, data):
        c = self.cfg
        n = len(data["act"])
        for _ in range(c.epochs):
            perm = torch.randperm(n)
            self.opt.zero_grad()
            for idx in perm.chunk(c.minibatches):
                dist, value = self.net(data["obs"][idx])
                ratio = (dist.log_prob(data["act"][idx]) - data["logp"][idx]).exp()
                adv = data["adv"][idx]
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                pg = -torch.min(ratio * adv, ratio.clamp(1 - c.clip, 1 + c.clip) * adv).mean()
                vf = 0.5 * (value - data["ret"][idx]).pow(2).mean()
                loss = pg + c.vf_coef * vf - c.ent_coef * dist.entropy().mean()
                loss.backward()
                nn.utils.clip_grad_norm_(self.net.parameters(), c.max_grad_norm)
                self.opt.step()
        return pg.item(), vf.item()

    def fit(self):
        for it in range(self.cfg.iterations):
            pg, vf = self.update(self.rollout())
            recent = self.finished[-50:]
            mean_len = sum(recent) / max(len(recent), 1)
            print(f"iter {it} policy {pg:.4f} value {vf:.3f} episode length {mean_len:.1f}")
        torch.save(self.net.state_dict(), "ppo_pole.pt")


if __name__ == "__main__":
    cfg = PPOConfig()
    torch.manual_seed(cfg.seed)
    PPO(cfg).fit()
