"""DDPG on a damped 1-D tracking task."""
import copy
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Tracking:
    def reset(self):
        self.x, self.v, self.goal, self.t = 0.0, 0.0, random.uniform(-1, 1), 0
        return self._obs()

    def _obs(self):
        return np.array([self.x - self.goal, self.v], dtype=np.float32)

    def step(self, a):
        self.v = 0.8 * self.v + 0.2 * float(a)
        self.x += 0.2 * self.v
        self.t += 1
        return self._obs(), -abs(self.x - self.goal) - 0.01 * float(a) ** 2, self.t >= 40


def mlp(i, o, act=None):
    layers = [nn.Linear(i, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, o)]
    return nn.Sequential(*layers, act) if act else nn.Sequential(*layers)


class DDPG:
    def __init__(self, obs_dim=2, act_dim=1, gamma=0.95, tau=0.01):
        self.actor, self.critic = mlp(obs_dim, act_dim, nn.Tanh()), mlp(obs_dim + act_dim, 1)
        self.actor_t, self.critic_t = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.gamma, self.tau = gamma, tau

    def act(self, obs, noise):
        with torch.no_grad():
            a = self.actor(torch.from_numpy(obs)).numpy()
        return np.clip(a + noise * np.random.randn(*a.shape), -1, 1).astype(np.float32)

    def update(self, batch):
        s, a, r, s2 = batch
        with torch.no_grad():
            q_next = self.critic_t(torch.cat([s2, self.actor_t(s2)], 1))
            target = r + self.gamma * q_next
        critic_loss = F.mse_loss(self.critic(torch.cat([s, a], 1)), target)
        critic_loss.backward()
        self.critic_opt.step()
        self.critic_opt.zero_grad()

        actor_loss = -self.critic(torch.cat([s, self.actor(s)], 1)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()

        for live, target in ((self.actor, self.actor_t), (self.critic, self.critic_t)):
            for p, tp in zip(live.parameters(), target.parameters()):
                tp.data.mul_(1 - self.tau).add_(p.data, alpha=self.tau)
        return critic_loss.item(), actor_loss.item()


def sample(memory, n):
    s, a, r, s2 = zip(*random.sample(memory, n))
    return (torch.from_numpy(np.stack(s)), torch.from_numpy(np.stack(a)),
            torch.tensor(r).float().unsqueeze(1), torch.from_numpy(np.stack(s2)))


if __name__ == "__main__":
    for seeder in (random.seed, np.random.seed, torch.manual_seed):
        seeder(2)
    env, agent, memory = Tracking(), DDPG(), deque(maxlen=20_000)
    for episode in range(25):
        obs, total, done = env.reset(), 0.0, False
        while not done:
            act = agent.act(obs, noise=0.3)
            nxt, reward, done = env.step(act[0])
            memory.append((obs, act, reward, nxt))
            obs, total = nxt, total + reward
            if len(memory) > 200:
                c, a = agent.update(sample(memory, 64))
        if episode > 5 and episode % 6 == 0:
            print(f"episode {episode}: return {total:.2f} critic {c:.4f} actor {a:.4f}")
