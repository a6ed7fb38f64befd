import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class GridWorld:
    def __init__(self, n=6, max_steps=40, seed=0):
        self.n, self.max_steps = n, max_steps
        self.rng = np.random.default_rng(seed)

    def obs(self):
        return np.concatenate([self.pos, self.goal]).astype(np.float32) / self.n

    def reset(self):
        self.pos = self.rng.integers(0, self.n, 2)
        self.goal = self.rng.integers(0, self.n, 2)
        self.t = 0
        return self.obs()

    def step(self, a):
        move = np.array([(0, 1), (0, -1), (1, 0), (-1, 0)][a])
        self.pos = np.clip(self.pos + move, 0, self.n - 1)
        self.t += 1
        done = bool((self.pos == self.goal).all())
        truncated = self.t >= self.max_steps
        return self.obs(), 1.0 if done else -0.02, done, truncated


class QNet(nn.Module):
    def __init__(self, obs=4, actions=4, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.value = nn.Linear(hidden, 1)
        self.adv = nn.Linear(hidden, actions)

    def forward(self, x):
        h = self.body(x)
        a = self.adv(h)
        return self.value(h) + a - a.mean(1, keepdim=True)


class Agent:
    def __init__(self, lr=1e-3, gamma=0.97, capacity=20000, batch=64, sync=250):
        self.q = QNet()
        self.target = QNet()
        self.target.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.buffer = deque(maxlen=capacity)
        self.gamma, self.batch, self.sync = gamma, batch, sync
        self.updates = 0

    @torch.no_grad()
    def act(self, obs, eps):
        if random.random() < eps:
            return random.randrange(4)
        return self.q(torch.from_numpy(obs)[None]).argmax(1).item()

    @torch.no_grad()
    def bellman_target(self, r, s2, done):
        next_q = torch.minimum(self.q(s2), self.target(s2))
        boot = next_q.max(1).values
        return r + self.gamma * (1 - done) * boot

    def learn(self):
        s, a, r, s2, d = zip(*random.sample(self.buffer, self.batch))
        s, s2 = torch.from_numpy(np.stack(s)), torch.from_numpy(np.stack(s2))
        a = torch.tensor(a).unsqueeze(1)
        r, d = torch.tensor(r, dtype=torch.float32), torch.tensor(d, dtype=torch.float32)
        q = self.q(s).gather(1, a).squeeze(1)
        loss = F.smooth_l1_loss(q, self.bellman_target(r, s2, d))
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.q.parameters(), 10.0)
        self.opt.step()
        self.updates += 1
        if self.updates % self.sync == 0:
            self.target.load_state_dict(self.q.state_dict())
        return loss.item()


def main(episodes=400, warmup=200):
    random.seed(0)
    torch.manual_seed(0)
    env, agent = GridWorld(), Agent()
    returns = deque(maxlen=50)
    for ep in range(episodes):
        obs, total = env.reset(), 0.0
        eps = max(0.05, 1 - ep / (0.6 * episodes))
        while True:
            a = agent.act(obs, eps)
            nxt, r, done, trunc = env.step(a)
            agent.buffer.append((obs, a, r, nxt, done))
            obs, total = nxt, total + r
            if len(agent.buffer) >= warmup:
                agent.learn()
            if done or trunc:
                break
        returns.append(total)
        if (ep + 1) % 50 == 0:
            print(f"episode {ep + 1} eps {eps:.2f} mean return {np.mean(returns):.3f}")
    torch.save(agent.q.state_dict(), "gridworld_dqn.pt")


if __name__ == "__main__":
    main()
