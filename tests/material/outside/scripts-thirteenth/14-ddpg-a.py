"""DDPG on a one dimensional cart that has to stop at x = 0."""
import argparse
import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F


class Cart:
    """state: position, velocity; action: force in [-1, 1]"""
    def reset(self):
        self.s = torch.tensor([random.uniform(-1, 1), 0.0])
        self.t = 0
        return self.s

    def step(self, a):
        x, v = self.s.tolist()
        v = 0.95 * v + 0.1 * float(a)
        x = max(-2.0, min(2.0, x + 0.2 * v))
        self.s = torch.tensor([x, v])
        self.t += 1
        return self.s, -(x * x + 0.1 * v * v + 0.01 * float(a) ** 2), self.t >= 50


def net(i, o):
    return nn.Sequential(nn.Linear(i, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, o))


class DDPG:
    def __init__(self, lr_actor, lr_critic, gamma=0.97, tau=0.01):
        self.actor, self.critic = nn.Sequential(net(2, 1), nn.Tanh()), net(3, 1)
        self.actor_t = copy.deepcopy(self.actor).requires_grad_(False)
        self.critic_t = copy.deepcopy(self.critic).requires_grad_(False)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=lr_actor)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=lr_critic)
        self.gamma, self.tau = gamma, tau

    @torch.no_grad()
    def act(self, s, noise):
        return (self.actor(s) + noise * torch.randn(1)).clamp(-1, 1)

    def update(self, s, a, r, s2):
        with torch.no_grad():
            q2 = self.critic_t(torch.cat([s2, self.actor_t(s2)], 1))
            target = r + self.gamma * q2

        critic_loss = F.mse_loss(self.critic(torch.cat([s, a], 1)), target)
        critic_loss.backward()
        self.critic_opt.step()
        self.critic_opt.zero_grad()

        actor_loss = -self.critic(torch.cat([s, self.actor(s)], 1)).mean()
        actor_loss.backward()
        self.actor_opt.step()
        self.actor_opt.zero_grad()

        with torch.no_grad():
            for net_t, net_o in ((self.actor_t, self.actor), (self.critic_t, self.critic)):
                for pt, po in zip(net_t.parameters(), net_o.parameters()):
                    pt.lerp_(po, self.tau)
        return critic_loss.item(), actor_loss.item()


def sample(buffer, n):
    s, a, r, s2 = zip(*random.sample(buffer, n))
    return torch.stack(s), torch.stack(a), torch.tensor(r).unsqueeze(1), torch.stack(s2)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--episodes", type=int, default=20)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr-actor", type=float, default=5e-4)
    p.add_argument("--lr-critic", type=float, default=1e-3)
    p.add_argument("--noise", type=float, default=0.3)
    args = p.parse_args()
    random.seed(0)
    torch.manual_seed(0)

    env, agent, buffer = Cart(), DDPG(args.lr_actor, args.lr_critic), deque(maxlen=20000)
    for ep in range(args.episodes):
        s, done, ret = env.reset(), False, 0.0
        closs = aloss = float("nan")
        while not done:
            a = agent.act(s, args.noise)
            s2, r, done = env.step(a)
            buffer.append((s, a, r, s2))
            s, ret = s2, ret + r
            if len(buffer) >= 4 * args.batch:
                closs, aloss = agent.update(*sample(buffer, args.batch))
        if (ep + 1) % 5 == 0:
            print(f"episode {ep + 1}: return {ret:.2f} critic {closs:.4f} actor {aloss:.3f}")


if __name__ == "__main__":
    main()
