"""Advantage actor-critic with a shared trunk on a small grid world."""
import argparse
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

from gridworld import GridWorld


class ActorCritic(nn.Module):
    def __init__(self, n_obs, n_act, hidden=64):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_obs, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, n_act)
        self.v = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.trunk(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class A2CAgent:
    def __init__(self, env, args):
        self.env = env
        self.net = ActorCritic(env.n_states, env.n_actions)
        self.opt = torch.optim.RMSprop(self.net.parameters(), lr=args.lr, eps=1e-5)
        self.args = args
        self.obs = env.reset()
        self.ep_ret = 0.0
        self.returns = deque(maxlen=50)

    def collect(self):
        obs, acts, rews, dones = [], [], [], []
        for _ in range(self.args.n_steps):
            with torch.no_grad():
                dist, _ = self.net(torch.from_numpy(self.obs))
                a = dist.sample().item()
            nxt, r, d = self.env.step(a)
            obs.append(self.obs)
            acts.append(a)
            rews.append(r)
            dones.append(float(d))
            self.ep_ret += r
            if d:
                self.returns.append(self.ep_ret)
                self.ep_ret = 0.0
                nxt = self.env.reset()
            self.obs = nxt
        return (torch.from_numpy(np.stack(obs)), torch.tensor(acts), rews, dones)

    def targets(self, rews, dones):
        with torch.no_grad():
            _, boot = self.net(torch.from_numpy(self.obs))
        ret, out = boot.item(), []
        for r, d in zip(reversed(rews), reversed(dones)):
            ret = r + self.args.gamma * ret * (1 - d)
            out.append(ret)
        return torch.tensor(out[::-1])

    def update(self):
        obs, acts, rews, dones = self.collect()
        returns = self.targets(rews, dones)
        dist, values = self.net(obs)
        adv = returns - values.detach()
        pg_loss = -(adv * dist.log_prob(acts)).mean()
        v_loss = F.mse_loss(values, returns)
        entropy = dist.entropy().mean()
        loss = pg_loss + self.args.vf_coef * v_loss - self.args.ent_coef * entropy

        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), self.args.max_grad_norm)
        self.opt.step()
        return pg_loss.item(), v_loss.item(), entropy.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--layout", type=str, default="data/grid.txt")
    ap.add_argument("--updates", type=int, default=150)
    ap.add_argument("--n-steps", type=int, default=20)
    ap.add_argument("--gamma", type=float, default=0.97)
    ap.add_argument("--lr", type=float, default=7e-3)
    ap.add_argument("--vf-coef", type=float, default=0.5)
    ap.add_argument("--ent-coef", type=float, default=0.01)
    ap.add_argument("--max-grad-norm", type=float, default=0.5)
    args = ap.parse_args()

    torch.set_num_threads(1)        # the net is tiny
    agent = A2CAgent(GridWorld(args.layout), args)
    for k in range(1, args.updates + 1):
        pg, vl, ent = agent.update()
        if k % 50 == 0:
            print(f"update {k:4d}  return {np.mean(agent.returns):+.3f}  "
                  f"pg {pg:+.4f}  vf {vl:.4f}  entropy {ent:.3f}")


if __name__ == "__main__":
    main()
