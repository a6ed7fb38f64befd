import copy
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.distributions import Normal


@dataclass
class PPOConfig:
    num_envs: int = 16
    horizon: int = 40
    iterations: int = 25
    epochs: int = 4
    minibatches: int = 4
    gamma: float = 0.95
    lam: float = 0.9
    clip_eps: float = 0.2
    vf_coef: float = 0.5
    ent_coef: float = 0.001
    lr: float = 3e-3
    max_grad_norm: float = 0.5
    seed: int = 3


class PointMass:
    """1-D point mass that should come to rest at the origin. Runs n copies at once."""

    def __init__(self, n):
        self.n = n

    def reset(self):
        self.state = torch.randn(self.n, 2)
        return self.state.clone()

    def step(self, a):
        a = a.clamp(-2, 2).squeeze(-1)
        x, v = self.state.unbind(1)
        v = 0.9 * v + 0.2 * a
        x = (x + 0.1 * v).clamp(-3, 3)
        self.state = torch.stack([x, v], 1)
        return self.state.clone(), -0.1 * (x ** 2 + 0.1 * v ** 2 + 0.01 * a ** 2)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.mu = nn.Linear(64, 1)
        self.v = nn.Linear(64, 1)
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, obs):
        h = self.body(obs)
        return Normal(self.mu(h), self.log_std.exp()), self.v(h).squeeze(-1)


def rollout(env, policy, obs, cfg):
    data = {k: [] for k in ("obs", "act", "logp", "rew", "val")}
    with torch.no_grad():
        for _ in range(cfg.horizon):
            dist, val = policy(obs)
            act = dist.sample()
            nxt, rew = env.step(act)
            for k, v in zip(data, (obs, act, dist.log_prob(act).sum(-1), rew, val)):
                data[k].append(v)
            obs = nxt
        _, last = policy(obs)
    data = {k: torch.stack(v) for k, v in data.items()}
    adv = torch.zeros_like(data["rew"])
    gae = torch.zeros(env.n)
    for t in reversed(range(cfg.horizon)):
        nv = last if t == cfg.horizon - 1 else data["val"][t + 1]
        delta = data["rew"][t] + cfg.gamma * nv - data["val"][t]
        gae = delta + cfg.gamma * cfg.lam * gae
        adv[t] = gae
    data["adv"], data["ret"] = adv, adv + data["val"]
    return {k: v.flatten(0, 1) for k, v in data.items()}, obs


def main():
    cfg = PPOConfig()
    torch.manual_seed(cfg.seed)
    env = PointMass(cfg.num_envs)
    policy = ActorCritic()
    old_policy = copy.deepcopy(policy)
    optimizer = torch.optim.Adam(policy.parameters(), lr=cfg.lr, eps=1e-5)
    obs = env.reset()

    for it in range(cfg.iterations):
        old_policy.load_state_dict(policy.state_dict())
        batch, obs = rollout(env, old_policy, obs, cfg)
        n = batch["obs"].size(0)
        norms = []
        for _ in range(cfg.epochs):
            for idx in torch.randperm(n).chunk(cfg.minibatches):
                mb = {k: v[idx] for k, v in batch.items()}
                adv = (mb["adv"] - mb["adv"].mean()) / (mb["adv"].std() + 1e-8)
                dist, val = policy(mb["obs"])
                ratio = (dist.log_prob(mb["act"]).sum(-1) - mb["logp"]).exp()
                pg = -torch.min(ratio * adv, ratio.clamp(1 - cfg.clip_eps, 1 + cfg.clip_eps) * adv).mean()
                vf = 0.5 * (val - mb["ret"]).pow(2).mean()
                loss = pg + cfg.vf_coef * vf - cfg.ent_coef * dist.entropy().mean()

                optimizer.zero_grad()
                loss.backward()
                norms.append(nn.utils.clip_grad_norm_(old_policy.parameters(), cfg.max_grad_norm).item())
                optimizer.step()
        print(f"iter {it}: reward {batch['rew'].mean():.3f}  pg {pg.item():.4f}  vf {vf.item():.4f}  "
              f"grad {sum(norms) / len(norms):.3f}")
        obs = env.reset()


if __name__ == "__main__":
    main()
