"""DQN on a self-contained CartPole."""
import argparse
import copy
import math
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class CartPole:
    """Classic cart-pole dynamics (Barto, Sutton & Anderson), Euler integration."""
    n_obs, n_actions, horizon = 4, 2, 200

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.s = self.rng.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.s.astype(np.float32)

    def step(self, action):
        x, v, th, w = self.s
        force = 10.0 if action == 1 else -10.0
        c, s = math.cos(th), math.sin(th)
        tmp = (force + 0.05 * w * w * s) / 1.1
        th_acc = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        x_acc = tmp - 0.05 * th_acc * c / 1.1
        self.s = np.array([x + 0.02 * v, v + 0.02 * x_acc, th + 0.02 * w, w + 0.02 * th_acc])
        self.t += 1
        terminated = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 12 * math.pi / 180
        truncated = self.t >= self.horizon
        return self.s.astype(np.float32), 1.0, terminated, truncated


class ReplayBuffer:
    def __init__(self, capacity, n_obs):
        self.obs = torch.zeros(capacity, n_obs)
        self.nxt = torch.zeros(capacity, n_obs)
        self.act = torch.zeros(capacity, dtype=torch.long)
        self.rew = torch.zeros(capacity)
        self.done = torch.zeros(capacity)
        self.capacity, self.size, self.ptr = capacity, 0, 0

    def push(self, obs, act, rew, nxt, done):
        i = self.ptr
        self.obs[i], self.nxt[i] = torch.from_numpy(obs), torch.from_numpy(nxt)
        self.act[i], self.rew[i], self.done[i] = act, rew, float(done)
        self.ptr = (i + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def sample(self, n):
        idx = torch.randint(self.size, (n,))
        return self.obs[idx], self.act[idx], self.rew[idx], self.nxt[idx], self.done[idx]

    def __len__(self):
        return self.size


class DQNAgent:
    def __init__(self, env, args):
        self.args = args
        self.n_actions = env.n_actions
        self.q = nn.Sequential(nn.Linear(env.n_obs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                               nn.Linear(64, env.n_actions))
        self.target = copy.deepcopy(self.q).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=args.lr)
        self.buffer = ReplayBuffer(args.buffer, env.n_obs)
        self.updates = 0

    @torch.no_grad()
    def act(self, obs, eps):
        if random.random() < eps:
            return random.randrange(self.n_actions)
        return int(self.q(torch.from_numpy(obs)).argmax())

    def learn(self):
        obs, act, rew, nxt, done = self.buffer.sample(self.args.batch)
        q = self.q(obs).gather(1, act[:, None]).squeeze(1)
        with torch.no_grad():
            best = self.q(nxt).argmax(1, keepdim=True)
            next_q = self.target(nxt).gather(1, best).squeeze(1)
            y = rew + self.args.gamma * (1 - done) * next_q
        loss = F.smooth_l1_loss(q, y)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.q.parameters(), 10.0)
        self.optimizer.step()
        self.updates += 1
        if self.updates % self.args.sync_every == 0:
            self.target.load_state_dict(self.q.state_dict())
        return loss.item(), q.mean().item()


def evaluate(agent, seed, episodes=3):
    env = CartPole(seed)
    returns = []
    for _ in range(episodes):
        obs, total, over = env.reset(), 0.0, False
        while not over:
            obs, r, terminated, truncated = env.step(agent.act(obs, 0.0))
            total += r
            over = terminated or truncated
        returns.append(total)
    return float(np.mean(returns))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=9000)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--gamma", type=float, default=0.99)
    p.add_argument("--buffer", type=int, default=10000)
    p.add_argument("--learn-start", type=int, default=500)
    p.add_argument("--train-every", type=int, default=2)
    p.add_argument("--sync-every", type=int, default=100)
    p.add_argument("--eps-end", type=float, default=0.05)
    p.add_argument("--eps-steps", type=int, default=3000)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()

    random.seed(args.seed)
    torch.manual_seed(args.seed)
    env = CartPole(args.seed)
    agent = DQNAgent(env, args)

    obs, ep_ret, returns, q_mean, loss = env.reset(), 0.0, deque(maxlen=20), 0.0, 0.0
    for step in range(1, args.steps + 1):
        eps = max(args.eps_end, 1 - (1 - args.eps_end) * step / args.eps_steps)
        action = agent.act(obs, eps)
        nxt, reward, terminated, truncated = env.step(action)
        agent.buffer.push(obs, action, reward, nxt, terminated)
        obs = nxt
        ep_ret += reward
        if terminated or truncated:
            returns.append(ep_ret)
            obs, ep_ret = env.reset(), 0.0
        if len(agent.buffer) >= args.learn_start and step % args.train_every == 0:
            loss, q_mean = agent.learn()
        if step % 1500 == 0:
            print(f"step {step:5d} eps {eps:.2f} train return {np.mean(returns):6.1f} "
                  f"q {q_mean:7.2f} loss {loss:.4f} eval {evaluate(agent, 1000 + step):.1f}")
    torch.save(agent.q.state_dict(), "dqn_cartpole.pt")


if __name__ == "__main__":
    main()
