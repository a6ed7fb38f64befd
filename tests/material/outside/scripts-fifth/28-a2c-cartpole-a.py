"""Advantage actor-critic on a vectorised cart-pole (own physics, no gym)."""
import argparse
import math
from collections import deque

import torch
import torch.nn as nn
from torch.distributions import Categorical


class CartPoles:
    def __init__(self, n, device, limit=300):
        self.n, self.device, self.limit = n, device, limit
        self.state = torch.zeros(n, 4, device=device)
        self.age = torch.zeros(n, device=device)
        self.reset(torch.ones(n, dtype=torch.bool, device=device))

    def reset(self, mask):
        self.state[mask] = torch.rand(int(mask.sum()), 4, device=self.device) * 0.1 - 0.05
        self.age[mask] = 0

    def step(self, action):
        x, v, th, w = self.state.unbind(1)
        force = torch.where(action == 1, 10.0, -10.0)
        tmp = (force + 0.05 * w ** 2 * th.sin()) / 1.1
        acc = (9.8 * th.sin() - th.cos() * tmp) / (0.5 * (4.0 / 3.0 - 0.1 * th.cos() ** 2 / 1.1))
        xacc = tmp - 0.05 * acc * th.cos() / 1.1
        self.state = torch.stack([x + 0.02 * v, v + 0.02 * xacc, th + 0.02 * w, w + 0.02 * acc], 1)
        self.age += 1
        fell = (self.state[:, 0].abs() > 2.4) | (self.state[:, 2].abs() > 12 * math.pi / 180)
        done = fell | (self.age >= self.limit)
        lengths = self.age[done].tolist()
        self.reset(done)
        return self.state.clone(), torch.ones(self.n, device=self.device), done, lengths


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh(), nn.Linear(h, o))


def gae(rewards, values, dones, last_value, gamma, lam):
    adv, running = torch.zeros_like(rewards), torch.zeros_like(last_value)
    nxt = last_value
    for t in reversed(range(rewards.size(0))):
        alive = 1.0 - dones[t]
        delta = rewards[t] + gamma * nxt * alive - values[t]
        running = delta + gamma * lam * alive * running
        adv[t] = running
        nxt = values[t]
    return adv


class A2C:
    def __init__(self, args):
        self.args = args
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.env = CartPoles(args.envs, self.device)
        self.actor, self.critic = mlp(4, args.hidden, 2).to(self.device), mlp(4, args.hidden, 1).to(self.device)
        self.opt_actor = torch.optim.Adam(self.actor.parameters(), lr=args.actor_lr)
        self.opt_critic = torch.optim.Adam(self.critic.parameters(), lr=args.critic_lr)
        self.obs = self.env.state.clone()
        self.lengths = deque(maxlen=100)

    @torch.no_grad()
    def rollout(self):
        obs, acts, rews, dones = [], [], [], []
        for _ in range(self.args.horizon):
            a = Categorical(logits=self.actor(self.obs)).sample()
            nxt, r, d, ended = self.env.step(a)
            obs.append(self.obs), acts.append(a), rews.append(r), dones.append(d.float())
            self.lengths.extend(ended)
            self.obs = nxt
        return torch.stack(obs), torch.stack(acts), torch.stack(rews), torch.stack(dones)

    def update(self):
        obs, acts, rews, dones = self.rollout()
        values = self.critic(obs).squeeze(-1)
        with torch.no_grad():
            last = self.critic(self.obs).squeeze(-1)
            returns = gae(rews, values, dones, last, self.args.gamma, self.args.lam) + values
        advantage = (returns - values).detach()
        dist = Categorical(logits=self.actor(obs))
        policy_loss = -(dist.log_prob(acts) * advantage).mean()
        entropy = dist.entropy().mean()
        value_loss = 0.5 * (returns - values).pow(2).mean()

        self.opt_actor.zero_grad()
        self.opt_critic.zero_grad()
        (policy_loss - self.args.entropy * entropy + value_loss).backward()
        nn.utils.clip_grad_norm_(self.actor.parameters(), self.args.clip)
        nn.utils.clip_grad_norm_(self.critic.parameters(), self.args.clip)
        self.opt_actor.step()
        self.opt_critic.step()
        return policy_loss.item(), value_loss.item(), entropy.item()

    def learn(self):
        for it in range(1, self.args.updates + 1):
            pl, vl, ent = self.update()
            if it % self.args.log_every == 0:
                mean_len = sum(self.lengths) / max(1, len(self.lengths))
                print(f"{it:5d} length {mean_len:6.1f} policy {pl:+.3f} value {vl:8.3f} entropy {ent:.3f}")
        torch.save({"actor": self.actor.state_dict(), "critic": self.critic.state_dict()}, "a2c.pt")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--envs", type=int, default=16)
    p.add_argument("--horizon", type=int, default=32)
    p.add_argument("--updates", type=int, default=1500)
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--actor-lr", type=float, default=1e-3)
    p.add_argument("--critic-lr", type=float, default=3e-3)
    p.add_argument("--gamma", type=float, default=0.99)
    p.add_argument("--lam", type=float, default=0.95)
    p.add_argument("--entropy", type=float, default=0.01)
    p.add_argument("--clip", type=float, default=10.0)
    p.add_argument("--log-every", type=int, default=50)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    A2C(args).learn()
