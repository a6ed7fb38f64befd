"""Synchronous advantage actor-critic on a vectorised cart-pole (own dynamics, no gym)."""
import argparse
import collections
import math
import os

import torch
import torch.nn as nn
from torch.distributions import Categorical


class VecCartPole:
    G, MC, MP, L, F, DT = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

    def __init__(self, n, device, max_steps=500):
        self.n, self.device, self.max_steps = n, device, max_steps
        self.s = torch.empty(n, 4, device=device)
        self.t = torch.zeros(n, device=device)
        self.reset(torch.ones(n, dtype=torch.bool, device=device))

    def reset(self, mask):
        k = int(mask.sum())
        if k:
            self.s[mask] = torch.rand(k, 4, device=self.device) * 0.1 - 0.05
            self.t[mask] = 0
        return self.s.clone()

    def step(self, a):
        x, xd, th, thd = self.s.unbind(1)
        force = torch.where(a == 1, self.F, -self.F)
        total = self.MC + self.MP
        tmp = (force + self.MP * self.L * thd ** 2 * th.sin()) / total
        tha = (self.G * th.sin() - th.cos() * tmp) / (self.L * (4 / 3 - self.MP * th.cos() ** 2 / total))
        xa = tmp - self.MP * self.L * tha * th.cos() / total
        self.s = torch.stack([x + self.DT * xd, xd + self.DT * xa, th + self.DT * thd, thd + self.DT * tha], 1)
        self.t += 1
        done = (self.s[:, 0].abs() > 2.4) | (self.s[:, 2].abs() > 12 * math.pi / 180) | (self.t >= self.max_steps)
        lengths = self.t[done].tolist()
        reward = torch.ones(self.n, device=self.device)
        self.reset(done)
        return self.s.clone(), reward, done.float(), lengths


class ActorCritic(nn.Module):
    def __init__(self, obs=4, act=2, hidden=128):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, act)
        self.v = nn.Linear(hidden, 1)
        nn.init.orthogonal_(self.pi.weight, 0.01)
        nn.init.zeros_(self.pi.bias)

    def forward(self, obs):
        h = self.trunk(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def gae(rewards, values, dones, last_value, gamma, lam):
    adv = torch.zeros_like(rewards)
    running = torch.zeros_like(last_value)
    nxt = last_value
    for t in reversed(range(rewards.size(0))):
        keep = 1.0 - dones[t]
        delta = rewards[t] + gamma * nxt * keep - values[t]
        running = delta + gamma * lam * keep * running
        adv[t] = running
        nxt = values[t]
    return adv


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--envs", type=int, default=32)
    p.add_argument("--horizon", type=int, default=16)
    p.add_argument("--updates", type=int, default=3000)
    p.add_argument("--lr", type=float, default=7e-4)
    p.add_argument("--gamma", type=float, default=0.99)
    p.add_argument("--lam", type=float, default=0.95)
    p.add_argument("--value-coef", type=float, default=0.5)
    p.add_argument("--entropy-coef", type=float, default=0.01)
    p.add_argument("--max-grad-norm", type=float, default=0.5)
    p.add_argument("--logdir", default="runs/a2c")
    args = p.parse_args()
    os.makedirs(args.logdir, exist_ok=True)

    device = torch.device("cpu")
    env = VecCartPole(args.envs, device)
    net = ActorCritic().to(device)
    opt = torch.optim.RMSprop(net.parameters(), lr=args.lr, eps=1e-5, alpha=0.99)
    recent = collections.deque(maxlen=100)
    best = 0.0
    obs = env.s.clone()

    for update in range(1, args.updates + 1):
        logps, ents, vals, rews, dones = [], [], [], [], []
        for _ in range(args.horizon):
            dist, value = net(obs)
            action = dist.sample()
            obs, reward, done, lengths = env.step(action)
            recent.extend(lengths)
            logps.append(dist.log_prob(action))
            ents.append(dist.entropy())
            vals.append(value)
            rews.append(reward)
            dones.append(done)

        values = torch.stack(vals)
        with torch.no_grad():
            last_value = net(obs)[1]
        adv = gae(torch.stack(rews), values.detach(), torch.stack(dones), last_value, args.gamma, args.lam)
        returns = (adv + values).detach()

        policy_loss = -(torch.stack(logps) * adv).mean()
        value_loss = (returns - values).pow(2).mean()
        entropy = torch.stack(ents).mean()
        loss = policy_loss + args.value_coef * value_loss - args.entropy_coef * entropy

        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), args.max_grad_norm)
        opt.step()

        if update % 50 == 0 and recent:
            mean_len = sum(recent) / len(recent)
            print(f"update {update} len {mean_len:.1f} pi {policy_loss.item():.3f} "
                  f"v {value_loss.item():.3f} H {entropy.item():.3f}")
            if mean_len > best:
                best = mean_len
                torch.save(net.state_dict(), os.path.join(args.logdir, "best.pt"))


if __name__ == "__main__":
    main()
