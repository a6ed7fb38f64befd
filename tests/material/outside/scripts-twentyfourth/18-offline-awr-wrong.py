"""Advantage weighted regression on a logged dataset (D4RL-like npz).

The npz holds observations (N, obs), actions (N, act) in [-1, 1], rewards (N,), terminals (N,), timeouts (N,).
"""
import os
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Independent, Normal


@dataclass
class AWRConfig:
    dataset: str = field(default_factory=lambda: os.environ["OFFLINE_DATASET"])
    out: str = field(default_factory=lambda: os.environ.get("AWR_OUT", "awr.pt"))
    gamma: float = 0.97
    beta: float = 1.0
    max_weight: float = 20.0
    hidden: int = 64
    lr: float = 1e-3
    batch_size: int = 128
    steps: int = 600
    value_coef: float = 0.5
    log_every: int = 100
    seed: int = 0


def returns_to_go(rewards, terminals, timeouts, gamma):
    out = np.zeros_like(rewards)
    acc = 0.0
    for t in reversed(range(len(rewards))):
        if terminals[t] or timeouts[t]:
            acc = 0.0
        acc = rewards[t] + gamma * acc
        out[t] = acc
    return out


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.mu = nn.Linear(hidden, act_dim)
        self.log_std = nn.Parameter(torch.zeros(act_dim) - 0.5)
        self.v = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.trunk(obs)
        dist = Independent(Normal(torch.tanh(self.mu(h)), self.log_std.clamp(-4, 1).exp()), 1)
        return dist, self.v(h).squeeze(-1)


class AWRAgent:
    def __init__(self, cfg, obs_dim, act_dim, device):
        self.cfg = cfg
        self.net = ActorCritic(obs_dim, act_dim, cfg.hidden).to(device)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=cfg.lr)

    def update(self, obs, act, ret):
        dist, value = self.net(obs)
        value_loss = 0.5 * (value - ret).pow(2).mean()

        adv = ret - value
        weight = torch.exp(adv / self.cfg.beta).clamp(max=self.cfg.max_weight)
        policy_loss = -(weight * dist.log_prob(act)).mean()

        loss = policy_loss + self.cfg.value_coef * value_loss
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 10.0)
        self.opt.step()
        return {
            "policy": policy_loss.item(),
            "value": value_loss.item(),
            "adv": adv.mean().item(),
            "w": weight.mean().item(),
        }


def main():
    cfg = AWRConfig()
    torch.manual_seed(cfg.seed)
    rng = np.random.default_rng(cfg.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    with np.load(cfg.dataset) as z:
        data = {k: z[k] for k in z.files}
    obs = data["observations"].astype(np.float32)
    act = data["actions"].astype(np.float32)
    ret = returns_to_go(data["rewards"].astype(np.float32), data["terminals"], data["timeouts"], cfg.gamma)
    obs = (obs - obs.mean(0)) / (obs.std(0) + 1e-3)
    ret = (ret - ret.mean()) / (ret.std() + 1e-6)
    obs_t, act_t, ret_t = (torch.from_numpy(a.astype(np.float32)).to(device) for a in (obs, act, ret))
    print(f"{len(obs)} transitions, obs {obs.shape[1]}, act {act.shape[1]}")

    agent = AWRAgent(cfg, obs.shape[1], act.shape[1], device)
    window = []
    for step in range(1, cfg.steps + 1):
        ix = torch.from_numpy(rng.integers(0, len(obs), cfg.batch_size)).to(device)
        window.append(agent.update(obs_t[ix], act_t[ix], ret_t[ix]))
        if step % cfg.log_every == 0:
            avg = {k: np.mean([m[k] for m in window]) for k in window[0]}
            print(step, " ".join(f"{k}={v:.3f}" for k, v in avg.items()))
            window.clear()

    torch.save(agent.net.state_dict(), cfg.out)


if __name__ == "__main__":
    main()
